package data

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"hdb/console/desk"
	"hdb/console/screen"
	"hdb/console/shell"
	"hdb/internal/addr"
	"hdb/names"
	"hdb/session"
	"hdb/session/variables"
	"hdb/session/view"
)

// infoCommands tell about the program.
func infoCommands(c *desk.Desk) []*shell.Command {
	return []*shell.Command{
		{Name: "threads", Under: "info", Aliases: []string{"t"}, Short: "list the threads", Synopsis: "[N...]", Args: []shell.ArgKind{shell.ArgThread}, Needs: shell.NeedData, Run: c.Does(infoThreads), Repeat: shell.RepeatNone, Long: "It lists the threads with these numbers, or all threads.\n\nExample:\n  info threads 2-4 7"},
		{Name: "inferiors", Under: "info", Short: "list the processes of the session", Needs: shell.NeedLive, Run: c.Does(infoInferiors), Repeat: shell.RepeatNone},
		{Name: "goroutines", Under: "info", Synopsis: goroutinesSynopsis, Short: "list the goroutines of a Go program, or group them", Needs: shell.NeedMemory, Run: c.Does(runGoroutines), Repeat: shell.RepeatNone,
			Long: "It is the same as `goroutines`.\n\nExample:\n  info goroutines"},
		{Name: "frame", Under: "info", Aliases: []string{"f"}, Short: "show details of the selected frame", Needs: shell.NeedData, Run: c.Does(infoFrame), Repeat: shell.RepeatNone},
		{Name: "registers", Under: "info", Aliases: []string{"r", "reg"}, Short: "show the registers of the selected frame", Synopsis: "[NAME...]", Needs: shell.NeedMemory, Run: c.Does(infoRegisters), Repeat: shell.RepeatNone,
			Long: "In an outer frame they have the values that this frame will see when its callee returns; <not saved> registers cannot be recovered. xmmN, ymmN, stN and mxcsr are shown only when they are named; `float` and `vector` select all registers of that kind.\n\nExamples:\n  info registers rip rsp\n  info registers xmm0\n  info registers float"},
		{Name: "all-registers", Under: "info", Short: "show all registers of the selected frame", Synopsis: "[NAME...]", Needs: shell.NeedMemory, Run: c.Does(infoAllRegisters), Repeat: shell.RepeatNone,
			Long: "These are the general registers, segments and flags, floating point, and vectors; or only those named.\n\nExample:\n  info all-registers"},
		{Name: "sharedlibrary", Under: "info", Aliases: []string{"shared", "dll", "modules", "libraries"}, Short: "list the files mapped into the program", Synopsis: "[REGEXP]", Needs: shell.NeedData, Run: c.Does(infoModules), Repeat: shell.RepeatNone, Long: "Example:\n  info sharedlibrary libc"},
		{Name: "sources", Under: "info", Short: "list the source files of the debug information", Synopsis: "[-basename|-dirname] [--] [REGEXP]", Raw: true, Needs: shell.NeedProgram, Run: c.Does(infoSources), Repeat: shell.RepeatNone, Long: "Example:\n  info sources \\.cc$"},
		{Name: "source", Under: "info", Short: "show facts about the source file of the selected frame", Needs: shell.NeedProgram, Run: c.Does(infoSource), Repeat: shell.RepeatNone},
		{Name: "functions", Under: "info", Aliases: []string{"fu", "func"}, Short: "list the functions whose name matches", Synopsis: "[REGEXP]", Raw: true, Needs: shell.NeedProgram, Run: c.Does(infoFunctions), Repeat: shell.RepeatNone,
			Long: "Example:\n  info functions ^Index::"},
		{Name: "types", Under: "info", Short: "list the types whose name matches", Synopsis: "[REGEXP]", Raw: true, Needs: shell.NeedProgram, Run: c.Does(infoTypes), Repeat: shell.RepeatNone,
			Long: "It lists the types outside of functions, from debug information.\n\nExample:\n  info types ^Index"},
		{Name: "variables", Under: "info", Short: "list the global and static variables whose name matches", Synopsis: "[REGEXP]", Raw: true, Needs: shell.NeedProgram, Run: c.Does(infoVariables), Repeat: shell.RepeatNone,
			Long: "Each is shown with its address, if it has one. Variables without debug information come last.\n\nExample:\n  info variables ^g_"},
		{Name: "scope", Under: "info", Short: "list the variables in scope at a location", Synopsis: "LOCATION", Raw: true, Args: []shell.ArgKind{shell.ArgLocation}, Needs: shell.NeedProgram, Run: c.Does(infoScope), Repeat: shell.RepeatNone,
			Long: "These are the parameters and local variables of the enclosing blocks and of the function, innermost first. The program need not be running.\n\nExample:\n  info scope index.cc:188"},
		{Name: "line", Under: "info", Aliases: []string{"li"}, Short: "show the code addresses of a source line", Synopsis: "[LOCATION]", Raw: true, Args: []shell.ArgKind{shell.ArgLocation}, Needs: shell.NeedProgram, Run: c.Does(infoLine), Repeat: shell.RepeatNone, Long: "For a function it shows the code of its first line. If a line has several ranges of code, it shows the first, and the others after `also at`.\n\nExamples:\n  info line index.cc:188\n  info line main"},
		{Name: "symbol", Under: "info", Aliases: []string{"sym", "sy", "symb", "symbo"}, Short: "name the symbol at an address", Synopsis: "ADDRESS", Raw: true, Needs: shell.NeedProgram, Run: c.Does(InfoSymbol), Repeat: shell.RepeatNone, Long: "Example:\n  info symbol 0x55555555513a"},
		{Name: "address", Under: "info", Short: "show where a symbol is", Synopsis: "SYMBOL", Raw: true, Args: []shell.ArgKind{shell.ArgFunction}, Needs: shell.NeedProgram, Run: c.Does(infoAddress), Repeat: shell.RepeatNone, Long: "Example:\n  info address main"},
		{Name: "debuginfod", Under: "info", While: shell.RunsAlongside, Short: "show the servers for debug files and sources, and what they delivered", Run: c.Does(infoDebuginfod), Repeat: shell.RepeatNone,
			Long: "The environment variables DEBUGINFOD_* give servers and limits; files are cached where debuginfod-find caches them. `set debuginfod on` asks the servers, `set debuginfod off` stops that and cancels downloads in progress.\n\nExample:\n  info debuginfod"},
		{Name: "libraries", Group: shell.GroupStatus, Short: "list the files mapped into the program", Synopsis: "[REGEXP]", Needs: shell.NeedData, Run: c.Does(infoModules), Repeat: shell.RepeatNone, Long: "Example:\n  libraries libc"},
		{Name: "sources", Group: shell.GroupStatus, Short: "list the source files of the debug information", Synopsis: "[-basename|-dirname] [--] [REGEXP]", Raw: true, Needs: shell.NeedProgram, Run: c.Does(infoSources), Repeat: shell.RepeatNone, Long: "Example:\n  sources \\.cc$"},
		{Name: "funcs", Group: shell.GroupStatus, Short: "list the functions whose name matches", Synopsis: "[REGEXP]", Raw: true, Needs: shell.NeedProgram, Run: c.Does(infoFunctions), Repeat: shell.RepeatNone, Long: "Example:\n  funcs ^Index::"},
		{Name: "regs", Group: shell.GroupStatus, Short: "show the registers of the selected frame", Synopsis: "[NAME...]", Needs: shell.NeedMemory, Run: c.Does(infoRegisters), Repeat: shell.RepeatNone, Long: "Example:\n  regs rip rsp"},
	}
}

// sourcesPart reads gdb's flags of info sources: which part of a file's name the pattern is for.
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

func infoSources(_ context.Context, c *desk.Desk, in shell.Input) error {
	files, err := c.Session.Names().Symbols.SourceFiles()
	if err != nil {
		return err
	}
	part, text, err := sourcesPart(in.Raw)
	if err != nil {
		return err
	}
	re, err := desk.Pattern(text)
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

func infoFunctions(_ context.Context, c *desk.Desk, in shell.Input) error {
	re, err := desk.Pattern(in.Raw)
	if err != nil {
		return err
	}
	fns, err := c.Session.Names().Symbols.Functions(re)
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

func infoLine(_ context.Context, c *desk.Desk, in shell.Input) error {
	rows, err := c.Session.Locations.Lines(in.Raw)
	if err != nil {
		return err
	}
	if len(rows) == 0 {
		return fmt.Errorf("info line: no code for %q", in.Raw)
	}
	asked := 0 // the line, when it has no code itself
	if _, number, ok := desk.CutLast(":"+in.Raw, ':'); ok || !strings.Contains(in.Raw, ":") {
		if asked, _ = strconv.Atoi(number); asked == rows[0].Line {
			asked = 0
		}
	}
	c.Show(in, struct {
		Lines []names.LineInfo `json:"lines"`
	}{rows}, func(o *screen.Output) {
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
			o.Printf("%s:%d is %s up to %s in %s [%s]\n", screen.ShortPath(r.File), r.Line, r.Addr, r.End, OrUnknown(c.Out.Names.Short(r.Function)), OrUnknown(screen.ShortPath(r.Module)))
			var also []string
			for in := r.Function; i < len(rows) && rows[i].File == r.File && rows[i].Line == r.Line && rows[i].Module == r.Module; i++ {
				text := fmt.Sprintf("%s up to %s", rows[i].Addr, rows[i].End)
				if rows[i].Function != in {
					in = rows[i].Function
					text += " in " + OrUnknown(c.Out.Names.Short(in))
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
	return desk.SymbolText(sym.Name, sym.Offset), nil
}

// InfoSymbol is info symbol.
func InfoSymbol(_ context.Context, c *desk.Desk, in shell.Input) error {
	a, err := c.Eval.Named(in.Raw)
	if err != nil {
		return err
	}
	sym, err := c.Session.Names().Symbols.At(a)
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
		o.Printf("%s is %s of %s\n", a, desk.SymbolText(sym.Name, sym.Offset), sym.Module)
		if sym.Linkage != "" {
			o.Printf("linked as %s\n", sym.Linkage)
		}
	})
	return nil
}

func infoAddress(_ context.Context, c *desk.Desk, in shell.Input) error {
	p, err := c.Session.Values.Place(in.Raw)
	at, where := "", ""
	switch {
	case err != nil: // what debug information does not know, as a symbol of assembly
		a, other := c.Session.Memory.Address(in.Raw)
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

func infoScope(_ context.Context, c *desk.Desk, in shell.Input) error {
	if in.Raw == "" {
		return errors.New("info scope: a location must follow: a function, FILE:LINE or *ADDRESS")
	}
	scopes, err := c.Session.Scopes.At(in.Raw)
	if err != nil {
		return fmt.Errorf("info scope: %w", err)
	}
	type rowView struct {
		Place     string                    `json:"place"`
		Variables []variables.ScopeVariable `json:"variables"`
	}
	var views []rowView
	for _, s := range scopes {
		views = append(views, rowView{view.PlaceText(s.Place), shell.List(s.Variables)})
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

func infoModules(_ context.Context, c *desk.Desk, in shell.Input) error {
	mods := c.Session.Names().ModuleInfos()
	re, err := desk.Pattern(in.Arg(0))
	if err != nil {
		return err
	}
	type view struct {
		Path      string `json:"path"`
		Low       string `json:"low"`
		High      string `json:"high"`
		Bias      string `json:"bias"`
		BuildID   string `json:"build_id,omitempty"`
		Debug     string `json:"debug"`
		DebugFile string `json:"debug_file,omitempty"`
		Error     string `json:"error,omitempty"`
	}
	views := []view{}
	var rows [][]screen.Span
	for _, m := range mods {
		if !re.MatchString(m.Name) {
			continue
		}
		v := view{Path: m.Name, Low: m.Low.String(), High: m.High.String(), Bias: fmt.Sprintf("%#x", uint64(m.Bias)), BuildID: m.BuildID, Debug: m.Debug, DebugFile: m.DebugFile}
		debug := screen.Plain(m.Debug)
		if m.Err != nil {
			v.Error = m.Err.Error()
			debug = screen.Warning(v.Error)
		}
		views = append(views, v)
		rows = append(rows, []screen.Span{screen.Addr(v.Low), screen.Addr(v.High), debug, screen.File(m.Name)})
	}
	c.Show(in, struct {
		Modules []view `json:"modules"`
	}{views}, func(o *screen.Output) {
		switch {
		case len(rows) > 0:
			o.Table([]screen.Column{{Head: "from"}, {Head: "to"}, {Head: "names from"}, {Head: "file"}}, rows)
		case len(mods) > 0:
			o.Printf("no mapped file matches %s\n", in.Arg(0))
		default:
			o.Printf("no file is mapped into the program\n")
		}
	})
	return nil
}
