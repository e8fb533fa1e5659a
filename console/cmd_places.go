package console

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"hdb/breakpoints"
	"hdb/console/screen"
	"hdb/console/shell"
	"hdb/internal/addr"
	"hdb/internal/units"
	"hdb/report"
	"hdb/session"
	"hdb/session/target"
	"hdb/session/view"
)

// typedStop is a stop in the words of the command that has set it.
func typedStop(st *breakpoints.Stop) string {
	if st.Caught == "" {
		return st.Spec.String()
	}
	spec := st.Spec
	spec.Location, spec.Thrown = "catch "+st.Event(), nil
	return spec.String()
}

// printStop is a row of info breakpoints and what hangs below it, as gdb's.
func printStop(s *session.Session, o *screen.Output, st *breakpoints.Stop) {
	state := []string{}
	if !st.Enabled {
		state = append(state, "disabled")
	}
	if st.Hardware {
		state = append(state, "hardware")
	}
	if st.Temporary {
		state = append(state, "temporary")
	}
	if st.Pending {
		state = append(state, "pending")
	}
	row := []screen.Span{screen.Head(fmt.Sprintf("%-4d", st.ID)), screen.Plain(typedStop(st))}
	if len(st.Places) == 1 {
		row = append(row, screen.File("  "+placeText(st.Places[0])))
	}
	if len(state) > 0 {
		row = append(row, screen.Guess("  ("+strings.Join(state, ", ")+")"))
	}
	o.Line(row...)
	below := func(format string, args ...any) { o.Printf("      "+format+"\n", args...) }
	if len(st.Places) > 1 {
		for i, p := range st.Places {
			below("%d.%d  %s", st.ID, i+1, placeText(p))
		}
	}
	if st.Print != nil {
		below("prints %s", st.Print)
	}
	if st.Trace {
		below("tells of calls and returns")
	}
	if text := s.Stops.Cost(st); text != "" {
		below("%s", text)
	}
	d, _ := s.Stops.Detail(st)
	if text := whereDecided(d); text != "" {
		below("%s", text)
	}
	if d.Doubt != report.NoDoubt {
		below("%s", report.DoubtText(d.Doubt))
	}
	switch hits := units.Count(st.Hits, "time"); {
	case d.Passed > 0 && st.Hits > 0:
		below("hit %s; %s, frees counted too, did not match", hits, units.Count(d.Passed, "other event"))
	case d.Passed > 0:
		below("not hit; %s, frees counted too, did not match", units.Count(d.Passed, "event"))
	case st.Hits > 0:
		below("hit %s", hits)
	}
	if d.Unsized > 0 {
		below("%s of unknown size freed meanwhile: no comparison with it holds", units.Count(d.Unsized, "block"))
	}
	if d.Undecided > 0 {
		below("at %s a variable had no value, so the condition did not hold: %s", units.Count(d.Undecided, "event"), d.Why)
	}
	if st.Ignore > 0 {
		below("passes the next %s", units.Count(st.Ignore, "hit"))
	}
	if st.Silent {
		below("    silent")
	}
	for _, l := range st.Commands {
		below("    %s", l)
	}
}

// sourcesPart reads gdb's flags of info sources: what of a file's name the pattern is for.
func sourcesPart(raw string) (part func(string) string, pattern string, err error) {
	part = func(file string) string { return file }
	for strings.HasPrefix(raw, "-") {
		var word string
		word, raw = shell.SplitWord(raw)
		switch word {
		case "--":
			return part, raw, nil
		case "-basename":
			part = filepath.Base
		case "-dirname":
			part = filepath.Dir
		default:
			return nil, "", fmt.Errorf("info sources: %q: -basename, -dirname or -- expected before a pattern", word)
		}
	}
	return part, raw, nil
}

func infoSources(_ context.Context, c *Desk, in shell.Input) error {
	files, err := c.s.Names().Symbols.SourceFiles()
	if err != nil {
		return err
	}
	part, text, err := sourcesPart(in.Raw)
	if err != nil {
		return err
	}
	re, err := pattern(text)
	if err != nil {
		return err
	}
	kept := []string{}
	for _, f := range files {
		if re.MatchString(part(f)) {
			kept = append(kept, f)
		}
	}
	c.Show(in, struct {
		Files []string `json:"files"`
	}{kept}, func(o *screen.Output) {
		for _, f := range kept {
			o.Line(screen.File(f))
		}
		if len(kept) == 0 {
			o.Printf("no source file in the debug information matches\n")
		}
	})
	return nil
}

func infoFunctions(_ context.Context, c *Desk, in shell.Input) error {
	re, err := pattern(in.Raw)
	if err != nil {
		return err
	}
	fns, err := c.s.Names().Symbols.Functions(re)
	if err != nil {
		return err
	}
	type rowView struct {
		Name    string `json:"function"`
		Linkage string `json:"linkage,omitempty"`
		Addr    string `json:"address"`
		File    string `json:"file,omitempty"`
		Line    int    `json:"line,omitempty"`
		Module  string `json:"module"`
		Source  string `json:"source"`
		Inlined bool   `json:"inlined,omitempty"`
	}
	views := make([]rowView, 0, len(fns))
	var rows [][]screen.Span
	for _, f := range fns {
		views = append(views, rowView{f.Name, f.Linkage, f.Addr.String(), f.DeclFile, f.DeclLine, f.Module, f.Source.String(), f.Inlined})
		place := screen.Guess("[" + f.Module + "]")
		if f.DeclFile != "" {
			place = screen.File(fmt.Sprintf("%s:%d", screen.ShortPath(f.DeclFile), f.DeclLine))
		}
		name := f.Name
		if f.Inlined {
			name += " [inlined]"
		}
		rows = append(rows, []screen.Span{screen.Addr(f.Addr.String()), place, screen.Func(name)})
	}
	c.Show(in, struct {
		Functions []rowView `json:"functions"`
	}{views}, func(o *screen.Output) {
		if len(rows) == 0 {
			o.Printf("no function matches %s\n", in.Raw)
			return
		}
		o.Table([]screen.Column{{Head: "address"}, {Head: "place"}, {Head: "function"}}, rows)
	})
	return nil
}

func infoLine(_ context.Context, c *Desk, in shell.Input) error {
	rows, err := c.s.Locations.Lines(in.Raw)
	if err != nil {
		return err
	}
	if len(rows) == 0 {
		return fmt.Errorf("info line: no code for %q", in.Raw)
	}
	asked := 0 // the line, when it has no code itself
	if _, number, ok := cutLast(":"+in.Raw, ':'); ok || !strings.Contains(in.Raw, ":") {
		if asked, _ = strconv.Atoi(number); asked == rows[0].Line {
			asked = 0
		}
	}
	type rowView struct {
		File     string `json:"file,omitempty"`
		Line     int    `json:"line,omitempty"`
		Low      string `json:"low"`
		High     string `json:"high"`
		Function string `json:"function,omitempty"`
		Module   string `json:"module,omitempty"`
	}
	var views []rowView
	for _, r := range rows {
		views = append(views, rowView{r.File, r.Line, r.Addr.String(), r.End.String(), r.Function, r.Module})
	}
	c.Show(in, struct {
		Lines []rowView `json:"lines"`
	}{views}, func(o *screen.Output) {
		if asked > 0 && rows[0].Line > 0 {
			o.Printf("line %d has no code; the next that has is %d\n", asked, rows[0].Line)
		}
		for i := 0; i < len(rows); {
			r := rows[i]
			i++
			if r.File == "" {
				o.Printf("%s: no line information\n", r.Addr)
				continue
			}
			o.Printf("%s:%d is %s up to %s in %s [%s]\n", screen.ShortPath(r.File), r.Line, r.Addr, r.End, orUnknown(c.Out.Names.Short(r.Function)), orUnknown(screen.ShortPath(r.Module)))
			var also []string
			for in := r.Function; i < len(rows) && rows[i].File == r.File && rows[i].Line == r.Line && rows[i].Module == r.Module; i++ {
				text := fmt.Sprintf("%s up to %s", rows[i].Addr, rows[i].End)
				if rows[i].Function != in {
					in = rows[i].Function
					text += " in " + orUnknown(c.Out.Names.Short(in))
				}
				also = append(also, text)
			}
			if len(also) > 0 {
				o.Printf("also at %s\n", strings.Join(also, ", "))
			}
		}
	})
	return nil
}

// symbolAt is the symbol at an address, with the distance from its beginning.
func symbolAt(s *session.Session, a uint64) (string, error) {
	sym, err := s.Names().Symbols.At(addr.Run(a))
	if err != nil {
		return "", err
	}
	return symbolText(sym.Name, sym.Offset), nil
}

func infoSymbol(_ context.Context, c *Desk, in shell.Input) error {
	a, err := c.eval.named(in.Raw)
	if err != nil {
		return err
	}
	sym, err := c.s.Names().Symbols.At(a)
	if err != nil {
		return err
	}
	c.Show(in, struct {
		Addr    string `json:"address"`
		Symbol  string `json:"symbol"`
		Linkage string `json:"linkage,omitempty"`
		Offset  uint64 `json:"offset"`
		Size    uint64 `json:"size"`
		Module  string `json:"module"`
	}{a.String(), sym.Name, sym.Linkage, sym.Offset, sym.Size, sym.Module}, func(o *screen.Output) {
		o.Printf("%s is %s of %s\n", a, symbolText(sym.Name, sym.Offset), sym.Module)
		if sym.Linkage != "" {
			o.Printf("linked as %s\n", sym.Linkage)
		}
	})
	return nil
}

func infoAddress(_ context.Context, c *Desk, in shell.Input) error {
	p, err := c.s.Values.Place(in.Raw)
	at, where := "", ""
	switch {
	case err != nil: // what debug information does not know, as a symbol of assembly
		a, other := c.s.Memory.Address(in.Raw)
		if other != nil {
			return err
		}
		at = a.String()
	case p.InMemory && p.Local:
		at, where = p.Addr.String(), " in the selected frame"
	case p.InMemory:
		at = p.Addr.String()
	case p.Register != "":
		where = fmt.Sprintf("%s is in $%s of the selected frame", in.Raw, p.Register)
	case p.Lost:
		where = in.Raw + " is optimized out here"
	default:
		where = in.Raw + " is computed: it lies nowhere"
	}
	if at != "" {
		where = fmt.Sprintf("%s is at %s%s", in.Raw, at, where)
	}
	c.Show(in, struct {
		Symbol   string `json:"symbol"`
		Addr     string `json:"address,omitempty"`
		Register string `json:"register,omitempty"`
		Where    string `json:"where"`
	}{in.Raw, at, p.Register, where}, func(o *screen.Output) { o.Printf("%s\n", where) })
	return nil
}

func infoProc(ctx context.Context, c *Desk, in shell.Input) error {
	if len(in.Args) > 0 {
		return infoProcWord(ctx, c, in)
	}
	pid, exe, attached, lives := c.s.Process()
	core, isCore := c.s.Cores.Opened()
	if isCore {
		pid, exe = core.PID, core.Program
	}
	threads, err := c.s.Selection.Threads()
	if err != nil {
		return err
	}
	args := c.s.Settings.Args
	if isCore {
		args = core.Args
	}
	c.Show(in, struct {
		PID      int    `json:"pid"`
		Exe      string `json:"program"`
		Args     string `json:"args,omitempty"`
		Attached bool   `json:"attached"`
		Threads  int    `json:"thread_count"`
		Core     string `json:"core,omitempty"`
	}{pid, exe, args, attached, len(threads), core.Path}, func(o *screen.Output) {
		how := "launched"
		switch {
		case attached:
			how = "attached"
		case !lives:
			how = "of a core file"
		}
		o.Printf("process %d, %s, %s\n", pid, how, units.Count(len(threads), "thread"))
		o.Printf("program %s\n", exe)
		if args != "" {
			o.Printf("arguments %s\n", args)
		}
	})
	return nil
}

// infoProcWord shows one part of what the kernel tells about the process.
func infoProcWord(ctx context.Context, c *Desk, in shell.Input) error {
	word := in.Arg(0)
	if strings.HasPrefix("mappings", word) {
		return infoMappings(ctx, c, in)
	}
	words := []session.ProcWord{session.ProcCmdline, session.ProcCwd, session.ProcExe, session.ProcStat, session.ProcStatus}
	for _, w := range words {
		if !strings.HasPrefix(string(w), word) || (len(word) == 1 && word != "e") {
			continue
		}
		text, err := c.s.ProcText(w)
		if err != nil {
			return fmt.Errorf("info proc: %w", err)
		}
		c.Show(in, struct {
			Word string `json:"word"`
			Text string `json:"text"`
		}{string(w), text}, func(o *screen.Output) {
			if w == session.ProcStat || w == session.ProcStatus {
				for line := range strings.Lines(text) {
					o.Printf("%s\n", strings.ReplaceAll(strings.TrimRight(line, " \n"), "\t", " "))
				}
				return
			}
			o.Printf("%s = '%s'\n", w, text)
		})
		return nil
	}
	return fmt.Errorf("info proc: %q is none of cmdline, cwd, exe, mappings, stat, status", word)
}

func infoMappings(_ context.Context, c *Desk, in shell.Input) error {
	maps, err := c.s.Memory.Mappings()
	if err != nil {
		return err
	}
	type rowView struct {
		Low    string `json:"low"`
		High   string `json:"high"`
		Perm   string `json:"perm"`
		Offset uint64 `json:"offset"`
		Path   string `json:"path,omitempty"`
	}
	views := make([]rowView, 0, len(maps))
	var rows [][]screen.Span
	for _, m := range maps {
		views = append(views, rowView{m.Low.String(), m.High.String(), m.Perm, m.Offset, m.Path})
		rows = append(rows, []screen.Span{screen.Addr(m.Low.String()), screen.Addr(m.High.String()), screen.Plain(c.Out.Sizes.Short(uint64(m.High - m.Low))), screen.Plain(m.Perm), screen.Plain(fmt.Sprintf("%#x", m.Offset)), screen.File(m.Path)})
	}
	c.Show(in, struct {
		Mappings []rowView `json:"mappings"`
	}{views}, func(o *screen.Output) {
		o.Table([]screen.Column{{Head: "from", Right: true}, {Head: "to", Right: true}, {Head: "size", Right: true}, {Head: "perm"}, {Head: "in file", Right: true}, {Head: "file"}}, rows)
	})
	return nil
}

func infoProgram(_ context.Context, c *Desk, in shell.Input) error {
	p, ok := c.s.Program()
	if !ok {
		return target.ErrNoProgram
	}
	v := struct {
		programView
		Process *processView `json:"process,omitempty"`
	}{programView: viewProgram(p)}
	if c.s.Mode() == target.Live {
		v.Process = viewProcess(c)
	}
	c.Show(in, v, func(o *screen.Output) {
		kind := v.Type
		if v.PIE {
			kind = "position-independent " + kind
		}
		if v.Static {
			kind = "static " + kind
		}
		o.Printf("%s: %s, %s\n", v.Path, kind, debugText(p))
		if v.BuildID != "" {
			o.Printf("build ID %s, entry point %s\n", v.BuildID, v.Entry)
		}
		if len(v.Languages) > 0 {
			o.Printf("languages %s\n", strings.Join(v.Languages, ", "))
		}
		if v.Process != nil {
			v.Process.print(o)
		}
	})
	return nil
}

// processView is where a process stands.
type processView struct {
	PID      int    `json:"pid"`
	Attached bool   `json:"attached,omitempty"`
	Thread   int    `json:"thread,omitempty"`
	PC       string `json:"pc,omitempty"`
	Stop     string `json:"headline,omitempty"` // the headline of its last stop
}

func viewProcess(c *Desk) *processView {
	var v processView
	v.PID, _, v.Attached, _ = c.s.Process()
	v.Stop = c.stopped[v.PID]
	threads, err := c.s.Selection.Threads()
	if err != nil {
		return &v
	}
	for _, t := range threads {
		if t.Selected && t.Err == nil {
			v.Thread, v.PC = t.Num, t.Frame.Code.Addr().String()
		}
	}
	return &v
}

func (v *processView) print(o *screen.Output) {
	how := "was started by hdb"
	if v.Attached {
		how = "was attached to"
	}
	where := ""
	if v.PC != "" {
		where = fmt.Sprintf(", thread %d is at %s", v.Thread, v.PC)
	}
	o.Printf("process %d %s%s\n", v.PID, how, where)
	if v.Stop != "" {
		o.Printf("it stopped last at: %s\n", v.Stop)
	}
}

func infoScope(_ context.Context, c *Desk, in shell.Input) error {
	if in.Raw == "" {
		return errors.New("info scope: a location must follow: a function, FILE:LINE or *ADDRESS")
	}
	scopes, err := c.s.Scopes.At(in.Raw)
	if err != nil {
		return fmt.Errorf("info scope: %w", err)
	}
	type variableView struct {
		Name     string `json:"name"`
		Type     string `json:"type"`
		Argument bool   `json:"argument,omitempty"`
		Depth    int    `json:"depth,omitempty"`
	}
	type rowView struct {
		Place     string         `json:"place"`
		Variables []variableView `json:"variables"`
	}
	var views []rowView
	for _, s := range scopes {
		v := rowView{Place: view.PlaceText(s.Place), Variables: []variableView{}}
		for _, x := range s.Variables {
			v.Variables = append(v.Variables, variableView{x.Name, x.Type, x.Argument, x.Depth})
		}
		views = append(views, v)
	}
	c.Show(in, struct {
		Scopes []rowView `json:"scopes"`
	}{views}, func(o *screen.Output) {
		for _, v := range views {
			o.Printf("%s\n", v.Place)
			if len(v.Variables) == 0 {
				o.Printf("  no variables of a function\n")
			}
			var rows [][]screen.Span
			for _, x := range v.Variables {
				kind := "local"
				if x.Argument {
					kind = "argument"
				}
				rows = append(rows, []screen.Span{screen.Plain(" " + kind), screen.Head(x.Name), screen.Plain(x.Type)})
			}
			o.Table([]screen.Column{{}, {}, {}}, rows)
		}
	})
	return nil
}

func infoAuxv(_ context.Context, c *Desk, in shell.Input) error {
	entries, err := c.s.Memory.Auxv()
	if err != nil {
		return err
	}
	type rowView struct {
		Type  uint64 `json:"type"`
		Name  string `json:"name,omitempty"`
		Value uint64 `json:"value"`
		Text  string `json:"text"`
	}
	views := []rowView{}
	var rows [][]screen.Span
	for _, e := range entries {
		views = append(views, rowView{e.Type, e.Name, e.Value, e.Text})
		rows = append(rows, []screen.Span{screen.Plain(fmt.Sprint(e.Type)), screen.Head(orUnknown(e.Name)), screen.Guess(e.Meaning), screen.Plain(e.Text)})
	}
	c.Show(in, struct {
		Entries []rowView `json:"entries"`
	}{views}, func(o *screen.Output) {
		o.Table([]screen.Column{{Right: true}, {Head: "entry"}, {Head: "meaning"}, {Head: "value"}}, rows)
	})
	return nil
}
