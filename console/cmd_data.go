package console

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"hdb/console/screen"
	"hdb/console/shell"
	"hdb/query"
)

func dataCommands(c *Desk) []*shell.Command {
	return []*shell.Command{
		{Name: "list", Aliases: []string{"l", "ls"}, Group: shell.GroupData, Raw: true, Args: []shell.ArgKind{shell.ArgLocation}, Repeat: shell.RepeatNext, Needs: shell.NeedProgram, Run: c.does(runList),
			Synopsis: "[-cost]\n-\n[-cost] N\n[-cost] A,B\n[-cost] [FILE:]FUNCTION\n[-cost] FILE:LINE\n[-cost] -function NAME | -line N | -source FILE -line N\n[-cost] *ADDRESS\n[-cost] #EVENT", Short: "show source lines",
			Long: "Alone it shows the lines around where the selected frame is, then the lines after those; `list -` goes back. The arrow => marks the frame's line. `set listsize` says how many lines.\n\n" +
				"-cost puts before each line the bytes and calls of the recorded allocations whose innermost line of the user's code it is. What inlined functions allocate counts for their lines and for the line of the call, once for each.\n\n" +
				"Examples:\n  list\n  list 120\n  list 100,140\n  list Index::read_page\n  list index.cc:188\n  list -source index.cc -line 188\n  list #4711\n  list -cost Index::read_page"},
		{Name: "x", Group: shell.GroupData, Raw: true, Args: []shell.ArgKind{shell.ArgExpression}, Synopsis: "[/NFU] [ADDRESS]", Short: "show memory", Repeat: shell.RepeatNext, Needs: shell.NeedMemory, Run: c.does(runExamine),
			Long: "N is how many, -N as many before ADDRESS; F is x (hexadecimal), d, u, o, t (binary), a (address with its symbol), c, f, s (string) or i (instruction); U is b, h, w or g for 1, 2, 4 or 8 bytes. " +
				"ADDRESS is a number, $register or symbol, with + and -. An empty line goes on behind what was shown, or before it.\n\nExamples:\n  x/4xg $rsp\n  x/s 0x55555578a2c0\n  x/5i $pc\n  x/-5i $pc"},
		{Name: "directory", Aliases: []string{"dir"}, Group: shell.GroupData, Synopsis: "[DIRECTORY...]", Short: "look for sources in more directories, or in no others", Args: []shell.ArgKind{shell.ArgFile}, Repeat: shell.RepeatNone, Run: c.does(runDirectory),
			Long: "Example:\n  directory /home/me/src"},
	}
}

// listRange is the lines that list is to show.
type listRange struct {
	file        string
	language    string
	first, last int
	current     int
	asked       int // the line in the middle that the user named, or 0
}

func runList(_ context.Context, c *Desk, in shell.Input) error {
	raw, cost := strings.CutPrefix(in.Raw, "-cost")
	in.Raw = strings.TrimSpace(raw)
	cost = cost || in.Repeated && c.source.listing.cost
	r, err := c.source.parse(in.Raw)
	if err != nil {
		return err
	}
	var costs map[int]query.LineCost
	if cost {
		if costs, err = c.s.Queries.LineCosts(r.file); err != nil {
			return err
		}
	}
	w, err := c.source.window(r.file, r.language, r.first, r.last, r.current)
	var past *pastEndError
	if errors.As(err, &past) && r.asked > 0 {
		past.line = r.asked
	}
	if err != nil {
		return err
	}
	last := w.First + len(w.Lines) - 1
	c.source.listing = listing{file: r.file, language: r.language, first: w.First, last: last, current: r.current, cost: cost}
	type lineView struct {
		Line  int    `json:"line"`
		Text  string `json:"text"`
		Bytes uint64 `json:"allocated_bytes,omitempty"`
		Calls uint64 `json:"allocations,omitempty"`
	}
	var lines []lineView
	for i, l := range w.Lines {
		lines = append(lines, lineView{w.First + i, l, costs[w.First+i].Bytes, costs[w.First+i].Count})
	}
	show := c.Show
	if cost {
		show = c.answer
	}
	show(in, struct {
		File    string     `json:"file"`
		Current int        `json:"current_line,omitempty"`
		Lines   []lineView `json:"lines"`
	}{r.file, r.current, lines}, func(o *screen.Output) {
		if c.Split.Shows(o) && !cost {
			return // before the next prompt
		}
		if in.Raw != "" && in.Raw != "-" {
			o.Line(screen.File(screen.ShortPath(r.file)))
		}
		if cost {
			o.Line(screen.Guess(costHead))
			costMargin(c.Out.Sizes, &w, costs)
		}
		w.Print(o, c.Set.Count("tab-width"))
	})
	return nil
}

// A sourceViewer shows source lines. It keeps what list and search go on with.
type sourceViewer struct {
	c       *Desk
	listing listing
	missing map[string]bool // sources that were reported missing
	newer   map[string]bool // sources that were reported newer than the program
}

// listing is where list goes on.
type listing struct {
	file        string
	language    string
	first, last int // shown last; 0 nothing yet
	current     int // the line of the frame, for the arrow
	found       int // the line that search found: list shows what is around it
	cost        bool
}

// size is the number of lines of a listing.
func (v *sourceViewer) size() int {
	if n := v.c.Set.Count("listsize"); n > 0 {
		return n
	}
	return 1 << 20
}

// parse reads list's argument.
func (v *sourceViewer) parse(arg string) (listRange, error) {
	size := v.size()
	switch {
	case arg == "" || arg == "+":
		return v.more(size)
	case arg == "-":
		return v.back(size)
	}
	arg, err := explicitLines(arg)
	if err != nil {
		return listRange{}, err
	}
	if from, to, ok := cutComma(arg); ok {
		return v.between(strings.TrimSpace(from), strings.TrimSpace(to), size)
	}
	r, err := v.lineOf(arg)
	if err != nil {
		return r, err
	}
	r.asked = r.first
	r.first = max(1, r.first-size/2)
	r.last = r.first + size - 1
	return r, nil
}

// explicitLines rewrites gdb's explicit locations, -function NAME, -line N and -source FILE
// with one of them, as NAME, N and FILE:NAME or FILE:N. Behind a comma the source is the same.
func explicitLines(arg string) (string, error) {
	if !strings.HasPrefix(arg, "-") {
		return arg, nil
	}
	first, second, two := cutComma(arg)
	if !two {
		first = arg
	}
	words := strings.Fields(first)
	var file, place string
	for i := 0; i < len(words); i += 2 {
		option := words[i]
		if i+1 == len(words) {
			return "", fmt.Errorf("list: %s: a value must follow", option)
		}
		switch value := words[i+1]; {
		case len(option) > 1 && strings.HasPrefix("-source", option):
			file = value
		case len(option) > 1 && (strings.HasPrefix("-function", option) || strings.HasPrefix("-line", option)) && place == "":
			place = value
		default:
			return "", fmt.Errorf("list: %s: -function NAME, -line N or -source FILE with one of them expected", option)
		}
	}
	if place == "" {
		return "", errors.New("list: -source: -function or -line must follow")
	}
	if file != "" {
		place = file + ":" + place
	}
	if two {
		second = strings.TrimSpace(second)
		if explicit, err := explicitLines(second); err == nil {
			second = explicit
		}
		place += "," + second
	}
	return place, nil
}

// cutComma splits A,B at a comma that is not part of a function's parameters.
func cutComma(s string) (a, b string, ok bool) {
	depth := 0
	for i, r := range s {
		switch r {
		case '(', '<':
			depth++
		case ')', '>':
			depth--
		case ',':
			if depth <= 0 {
				return s[:i], s[i+1:], true
			}
		}
	}
	return "", "", false
}

func (v *sourceViewer) more(size int) (listRange, error) {
	l := v.listing
	if l.found > 0 {
		first := max(1, l.found-size/2)
		return listRange{file: l.file, language: l.language, first: first, last: first + size - 1, current: l.current}, nil
	}
	if l.last > 0 {
		return listRange{file: l.file, language: l.language, first: l.last + 1, last: l.last + size, current: l.current}, nil
	}
	file, line, language, current := v.here()
	if file == "" {
		return listRange{}, errors.New("list: no source here: give FUNCTION or FILE:LINE")
	}
	first := max(1, line-size/2)
	return listRange{file: file, language: language, first: first, last: first + size - 1, current: current}, nil
}

func (v *sourceViewer) back(size int) (listRange, error) {
	l := v.listing
	if l.last == 0 {
		r, err := v.more(size)
		if err != nil {
			return r, err
		}
		l = listing{file: r.file, language: r.language, first: r.first, current: r.current}
	}
	if l.first <= 1 {
		return listRange{}, fmt.Errorf("list: that was the beginning of %s", screen.ShortPath(l.file))
	}
	return listRange{file: l.file, language: l.language, first: max(1, l.first-size), last: l.first - 1, current: l.current}, nil
}

// here is the source position of the selected frame, or of main before the run.
func (v *sourceViewer) here() (file string, line int, language string, current int) {
	if f, ok := v.c.s.Python.Here(); ok {
		return f.File, f.Line, f.Language.String(), f.Line
	}
	if f, err := v.c.s.Selection.Frame(); err == nil && f.File != "" && f.Line > 0 {
		return f.File, f.Line, f.Language.String(), f.Line
	}
	file, line = v.c.s.Locations.DefaultLine()
	return file, line, "", 0
}

func (v *sourceViewer) between(from, to string, size int) (listRange, error) {
	switch {
	case from == "" && to == "":
		return listRange{}, errors.New("list: A,B expected")
	case from == "":
		r, err := v.lineOf(to)
		r.last = r.first
		r.first = max(1, r.last-size+1)
		return r, err
	}
	r, err := v.lineOf(from)
	if err != nil {
		return r, err
	}
	r.last = r.first + size - 1
	if to == "" {
		return r, nil
	}
	end, err := strconv.Atoi(to)
	if err == nil && to[0] == '+' { // so many lines more, as in gdb
		end += r.first
	}
	if err != nil {
		other, err := v.lineOf(to)
		if err != nil {
			return r, err
		}
		end = other.first
	}
	if end < r.first {
		return r, fmt.Errorf("list: %d,%d: the last line comes before the first", r.first, end)
	}
	r.last = end
	return r, nil
}

// lineOf resolves one end of a listing: a line, a place in the code, an event.
func (v *sourceViewer) lineOf(text string) (listRange, error) {
	file, line, language, current := v.here()
	if v.listing.file != "" {
		file, language, current = v.listing.file, v.listing.language, v.listing.current
	}
	if n, err := strconv.Atoi(strings.TrimPrefix(text, "+")); err == nil {
		if file == "" {
			return listRange{}, fmt.Errorf("list %s: no default source file: use FILE:LINE", text)
		}
		switch {
		case text[0] == '+' && v.listing.last > 0:
			n += v.listing.last
		case text[0] == '-' && v.listing.last > 0:
			n += v.listing.first
		case text[0] == '+' || text[0] == '-':
			n += line
		}
		return listRange{file: file, language: language, first: max(n, 1), current: current}, nil
	}
	if seq, ok := eventNumber(text); ok {
		return v.eventLine(seq)
	}
	if name, number, ok := cutLast(text, ':'); ok {
		if n, err := strconv.Atoi(number); err == nil {
			return v.fileLine(name, n)
		}
	}
	return v.placeLine(text)
}

func cutLast(s string, sep byte) (before, after string, ok bool) {
	i := strings.LastIndexByte(s, sep)
	if i <= 0 {
		return "", "", false
	}
	return s[:i], s[i+1:], true
}

// eventLine is where an event's stack enters code with sources.
func (v *sourceViewer) eventLine(seq uint64) (listRange, error) {
	_, st, err := v.c.s.Queries.EventStack(seq)
	if err != nil {
		return listRange{}, err
	}
	if len(st.Frames) > 0 {
		if f := st.Frames[v.c.s.Selection.UserFrame(st.Frames)]; f.Line > 0 {
			return listRange{file: f.File, language: f.Language.String(), first: f.Line, current: f.Line}, nil
		}
	}
	return listRange{}, fmt.Errorf("list: #%d: its stack has no line information", seq)
}

// fileLine finds a source file by the end of its path.
func (v *sourceViewer) fileLine(name string, line int) (listRange, error) {
	current := 0
	f, frameErr := v.c.s.Selection.Frame()
	files, err := v.c.s.Locations.FindSources(name)
	if err != nil {
		return listRange{}, err
	}
	if len(files) > 0 {
		file := files[0]
		if frameErr == nil && f.File == file {
			current = f.Line
		}
		return listRange{file: file, first: max(line, 1), current: current}, nil
	}
	if _, err := v.c.s.Names().Source(name); err == nil {
		return listRange{file: name, first: max(line, 1)}, nil
	}
	return listRange{}, fmt.Errorf("list: no source file %q in the debug information: see info sources", name)
}

// placeLine is the line of a function or address.
func (v *sourceViewer) placeLine(text string) (listRange, error) {
	if file, line, ok := v.c.s.Names().Symbols.Definition(text); ok {
		r := listRange{file: file, first: line}
		if f, err := v.c.s.Selection.Frame(); err == nil && f.File == file {
			r.current, r.language = f.Line, f.Language.String()
		}
		return r, nil
	}
	places, err := v.c.s.Locations.Places(text)
	if err != nil {
		return listRange{}, err
	}
	for _, p := range places {
		if p.File == "" || p.Line == 0 {
			continue
		}
		r := listRange{file: p.File, first: p.Line}
		if f, err := v.c.s.Selection.Frame(); err == nil && f.File == p.File {
			r.current, r.language = f.Line, f.Language.String()
		}
		return r, nil
	}
	if len(places) > 0 {
		return listRange{}, fmt.Errorf("list: %s has no line information", text)
	}
	return listRange{}, fmt.Errorf("list: no function or line %q", text)
}

func runDirectory(_ context.Context, c *Desk, in shell.Input) error {
	if len(in.Args) == 0 {
		if !c.Confirm("Look for sources in no other directories any more?") {
			return nil
		}
		setSources(c, c.s.Names().Sources.Substitute, nil)
		return nil
	}
	dirs := splitPath(strings.Join(in.Args, ":"))
	setSources(c, c.s.Names().Sources.Substitute, append(dirs, c.s.Names().Sources.Dirs...))
	clear(c.source.missing)
	c.Say("sources are looked for in %s", strings.Join(c.s.Names().Sources.Dirs, ":"))
	return nil
}
