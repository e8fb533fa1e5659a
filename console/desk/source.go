package desk

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"hdb/console/line"
	"hdb/console/screen"
	"hdb/names"
)

// listRange is the lines that list is to show.
type listRange struct {
	File        string
	Language    string
	First, Last int
	Current     int
	Asked       int // the line in the middle that the user named, or 0
}

// A SourceViewer shows source lines. It keeps what list and search continue with.
type SourceViewer struct {
	c       *Desk
	Listing Listing
	Missing map[string]bool // sources that were reported missing
	newer   map[string]bool // sources that were reported newer than the program
}

// Listing is where list continues.
type Listing struct {
	File        string
	Language    string
	First, Last int // shown last; 0 nothing yet
	Current     int // the line of the frame, for the arrow
	Found       int // the line that search found: list shows what is around it
	Cost        bool
}

// size is the number of lines of a listing.
func (v *SourceViewer) size() int {
	if n := v.c.Set.Count("listsize"); n > 0 {
		return n
	}
	return 1 << 20
}

// Parse reads list's argument.
func (v *SourceViewer) Parse(arg string) (listRange, error) {
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
	if from, to, ok := CutComma(arg); ok {
		return v.between(strings.TrimSpace(from), strings.TrimSpace(to), size)
	}
	r, err := v.lineOf(arg)
	if err != nil {
		return r, err
	}
	r.Asked = r.First
	r.First = max(1, r.First-size/2)
	r.Last = r.First + size - 1
	return r, nil
}

// explicitLines rewrites gdb's explicit locations, -function NAME, -line N and -source FILE
// with one of them, as NAME, N and FILE:NAME or FILE:N. Behind a comma the source is the same.
func explicitLines(arg string) (string, error) {
	if !strings.HasPrefix(arg, "-") {
		return arg, nil
	}
	first, second, two := CutComma(arg)
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

// CutComma splits A,B at a comma that is not part of a function's parameters.
func CutComma(s string) (a, b string, ok bool) {
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

func (v *SourceViewer) more(size int) (listRange, error) {
	l := v.Listing
	if l.Found > 0 {
		first := max(1, l.Found-size/2)
		return listRange{File: l.File, Language: l.Language, First: first, Last: first + size - 1, Current: l.Current}, nil
	}
	if l.Last > 0 {
		return listRange{File: l.File, Language: l.Language, First: l.Last + 1, Last: l.Last + size, Current: l.Current}, nil
	}
	file, line, language, current := v.Here()
	if file == "" {
		return listRange{}, errors.New("list: no source here: give FUNCTION or FILE:LINE")
	}
	first := max(1, line-size/2)
	return listRange{File: file, Language: language, First: first, Last: first + size - 1, Current: current}, nil
}

func (v *SourceViewer) back(size int) (listRange, error) {
	l := v.Listing
	if l.Last == 0 {
		r, err := v.more(size)
		if err != nil {
			return r, err
		}
		l = Listing{File: r.File, Language: r.Language, First: r.First, Current: r.Current}
	}
	if l.First <= 1 {
		return listRange{}, fmt.Errorf("list: no lines before the beginning of %s", screen.ShortPath(l.File))
	}
	return listRange{File: l.File, Language: l.Language, First: max(1, l.First-size), Last: l.First - 1, Current: l.Current}, nil
}

// Here is the source position of the selected frame, or of main before the run.
func (v *SourceViewer) Here() (file string, line int, language string, current int) {
	if f, ok := v.c.Session.Python.Here(); ok {
		return f.File, f.Line, f.Language.String(), f.Line
	}
	if f, err := v.c.Session.Selection.Frame(); err == nil && f.File != "" && f.Line > 0 {
		return f.File, f.Line, f.Language.String(), f.Line
	}
	file, line = v.c.Session.Locations.DefaultLine()
	return file, line, "", 0
}

func (v *SourceViewer) between(from, to string, size int) (listRange, error) {
	switch {
	case from == "" && to == "":
		return listRange{}, errors.New("list: A,B expected")
	case from == "":
		r, err := v.lineOf(to)
		r.Last = r.First
		r.First = max(1, r.Last-size+1)
		return r, err
	}
	r, err := v.lineOf(from)
	if err != nil {
		return r, err
	}
	r.Last = r.First + size - 1
	if to == "" {
		return r, nil
	}
	end, err := strconv.Atoi(to)
	if err == nil && to[0] == '+' { // this number of lines more, as in gdb
		end += r.First
	}
	if err != nil {
		other, err := v.lineOf(to)
		if err != nil {
			return r, err
		}
		end = other.First
	}
	if end < r.First {
		return r, fmt.Errorf("list: %d,%d: the last line comes before the first", r.First, end)
	}
	r.Last = end
	return r, nil
}

// lineOf resolves one end of a listing: a line, a place in the code, an event.
func (v *SourceViewer) lineOf(text string) (listRange, error) {
	file, line, language, current := v.Here()
	if v.Listing.File != "" {
		file, language, current = v.Listing.File, v.Listing.Language, v.Listing.Current
	}
	if n, err := strconv.Atoi(strings.TrimPrefix(text, "+")); err == nil {
		if file == "" {
			return listRange{}, fmt.Errorf("list %s: no default source file: use FILE:LINE", text)
		}
		switch {
		case text[0] == '+' && v.Listing.Last > 0:
			n += v.Listing.Last
		case text[0] == '-' && v.Listing.Last > 0:
			n += v.Listing.First
		case text[0] == '+' || text[0] == '-':
			n += line
		}
		return listRange{File: file, Language: language, First: max(n, 1), Current: current}, nil
	}
	if seq, ok := EventNumber(text); ok {
		return v.eventLine(seq)
	}
	if name, number, ok := CutLast(text, ':'); ok {
		if n, err := strconv.Atoi(number); err == nil {
			return v.fileLine(name, n)
		}
	}
	return v.placeLine(text)
}

// CutLast cuts a text at the last separator.
func CutLast(s string, sep byte) (before, after string, ok bool) {
	i := strings.LastIndexByte(s, sep)
	if i <= 0 {
		return "", "", false
	}
	return s[:i], s[i+1:], true
}

// eventLine is where an event's stack enters code with sources.
func (v *SourceViewer) eventLine(seq uint64) (listRange, error) {
	_, st, err := v.c.Session.Queries.EventStack(seq)
	if err != nil {
		return listRange{}, err
	}
	if len(st.Frames) > 0 {
		if f := st.Frames[v.c.Session.Selection.UserFrame(st.Frames)]; f.Line > 0 {
			return listRange{File: f.File, Language: f.Language.String(), First: f.Line, Current: f.Line}, nil
		}
	}
	return listRange{}, fmt.Errorf("list: #%d: its stack has no line information", seq)
}

// fileLine finds a source file by the end of its path.
func (v *SourceViewer) fileLine(name string, line int) (listRange, error) {
	current := 0
	f, frameErr := v.c.Session.Selection.Frame()
	files, err := v.c.Session.Locations.FindSources(name)
	if err != nil {
		return listRange{}, err
	}
	if len(files) > 0 {
		file := files[0]
		if frameErr == nil && f.File == file {
			current = f.Line
		}
		return listRange{File: file, First: max(line, 1), Current: current}, nil
	}
	if _, err := v.c.Session.Names().Source(name); err == nil {
		return listRange{File: name, First: max(line, 1)}, nil
	}
	return listRange{}, fmt.Errorf("list: no source file %q in the debug information: see info sources", name)
}

// placeLine is the line of a function or address.
func (v *SourceViewer) placeLine(text string) (listRange, error) {
	if file, line, ok := v.c.Session.Names().Symbols.Definition(text); ok {
		r := listRange{File: file, First: line}
		if f, err := v.c.Session.Selection.Frame(); err == nil && f.File == file {
			r.Current, r.Language = f.Line, f.Language.String()
		}
		return r, nil
	}
	places, err := v.c.Session.Locations.Places(text)
	if err != nil {
		return listRange{}, err
	}
	for _, p := range places {
		if p.File == "" || p.Line == 0 {
			continue
		}
		r := listRange{File: p.File, First: p.Line}
		if f, err := v.c.Session.Selection.Frame(); err == nil && f.File == p.File {
			r.Current, r.Language = f.Line, f.Language.String()
		}
		return r, nil
	}
	if len(places) > 0 {
		return listRange{}, fmt.Errorf("list: %s has no line information", text)
	}
	return listRange{}, fmt.Errorf("list: no function or line %q", text)
}

// Show prints n lines around a frame's line, or one line on why there are none, and reports whether
// there were. Code without line information says nothing: the frame did.
func (v *SourceViewer) Show(o *screen.Output, f names.Frame, n int) (printed bool) {
	printed, err := v.print(o, f, n)
	if err != nil && !withoutSource(f) {
		v.noSource(o, f.File, err)
	}
	return printed
}

// showFound is like show, but prints nothing if there is no source.
func (v *SourceViewer) showFound(o *screen.Output, f names.Frame, n int) (printed bool) {
	printed, _ = v.print(o, f, n)
	return printed
}

// print prints n lines around a frame's line. The error says why the source cannot be
// shown; it is nil for code without a line.
func (v *SourceViewer) print(o *screen.Output, f names.Frame, n int) (printed bool, err error) {
	if f.File == "" || f.Line == 0 || n == 0 {
		return n == 0, nil
	}
	v.Listing = Listing{File: f.File, Language: f.Language.String(), Current: f.Line}
	if v.c.Split.Shows(o) {
		return true, nil
	}
	first := max(1, f.Line-n/2)
	w, err := v.Window(f.File, f.Language.String(), first, first+n-1, f.Line)
	if err != nil {
		return false, err
	}
	w.Print(o, v.c.Set.Count("tab-width"))
	return true, nil
}

// noSource says once per file where its source was looked for.
func (v *SourceViewer) noSource(o *screen.Output, file string, err error) {
	if v.Missing[file] {
		return
	}
	v.Missing[file] = true
	o.Line(screen.Guess("   no source: " + err.Error()))
}

// Window reads the lines [first, last] of a source file, as far as there are any.
func (v *SourceViewer) Window(file, language string, first, last, current int) (screen.Window, error) {
	python := language == PythonLanguage || strings.HasSuffix(file, ".py") // of a line that was named
	if python {
		if err := v.c.Session.Python.Find(file); err != nil {
			return screen.Window{}, err
		}
	}
	src, err := v.c.Session.Names().Source(file)
	if err != nil {
		return screen.Window{}, err
	}
	switch {
	case v.newer[src.Path]:
	case python && v.c.Session.Python.Changed(src.Path):
		v.newer[src.Path] = true
		v.c.Notify(screen.ShortPath(src.Path) + " was changed after the process started: these may not be the lines that run")
	case !python && v.c.Session.Names().Newer(src):
		v.newer[src.Path] = true
		v.c.Notify(screen.ShortPath(src.Path) + " is newer than the program: these may not be the lines that it was built from")
	}
	w := screen.Window{File: file, Language: language, First: max(first, 1), Current: current}
	if src.Whole() {
		for n := max(1, w.First-screen.ContextLines); n < w.First; n++ {
			if text, ok := src.Line(n); ok {
				w.Before = append(w.Before, text)
			}
		}
	}
	for n := w.First; n <= last; n++ {
		text, ok := src.Line(n)
		if !ok && len(w.Lines) == 0 && !src.Whole() {
			w.First++ // a capture keeps some lines only
			continue
		}
		if !ok {
			break
		}
		w.Lines = append(w.Lines, text)
	}
	if len(w.Lines) == 0 {
		if first > src.Last() {
			return w, &PastEndError{screen.ShortPath(file), first, src.Last(), src.Whole()}
		}
		return w, fmt.Errorf("%s:%d: not among the lines that the capture keeps", screen.ShortPath(file), first)
	}
	return w, nil
}

// SplitPath splits a list of directories; "$cwd" and "$cdir" of gdb's habit are
// what hdb does anyway.
func SplitPath(v string) []string {
	var dirs []string
	for d := range strings.SplitSeq(v, ":") {
		if d != "" && d != "$cwd" && d != "$cdir" {
			dirs = append(dirs, line.ExpandHome(d))
		}
	}
	return dirs
}

// SetSources makes the rules anew, so that files found by the old ones are
// looked for again.
func SetSources(c *Desk, rules [][2]string, dirs []string) {
	c.Session.Names().Sources.Search(rules, dirs)
	c.Session.Cython.Forget() // generated C is a source, too
}
