package console

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"hdb/breakpoints"
	"hdb/capture"
	"hdb/console/screen"
	"hdb/console/shell"
	"hdb/internal/units"
	"hdb/names"
	"hdb/query"
	"hdb/report"
	"hdb/session"
	"hdb/session/view"
	"hdb/values"
)

func statusCommands(c *Desk) []*shell.Command {
	none := shell.RepeatNone
	return []*shell.Command{
		{Name: "info", Aliases: []string{"i", "inf", "in"}, Group: shell.GroupStatus, Synopsis: "WORD [ARGS...]", Short: "tell about the program and the session", Args: []shell.ArgKind{shell.ArgSub},
			Sub: append([]*shell.Command{
				{Name: "breakpoints", Aliases: []string{"b", "bp"}, Beside: shell.RunsBeside, Short: "list the stops", Synopsis: "[N]", Args: []shell.ArgKind{shell.ArgStop}, Run: c.does(infoBreakpoints), Repeat: none, Long: "Example:\n  info breakpoints"},
				{Name: "watchpoints", Beside: shell.RunsBeside, Short: "list the watchpoints", Synopsis: "[N]", Args: []shell.ArgKind{shell.ArgStop}, Run: c.does(infoWatchpoints), Repeat: none, Long: "Example:\n  info watchpoints"},
				{Name: "threads", Aliases: []string{"t"}, Short: "list the threads", Synopsis: "[N...]", Args: []shell.ArgKind{shell.ArgThread}, Needs: shell.NeedData, Run: c.does(infoThreads), Repeat: none, Long: "Those of these numbers, or all of them.\n\nExample:\n  info threads 2-4 7"},
				{Name: "inferiors", Short: "list the processes of the session", Needs: shell.NeedLive, Run: c.does(infoInferiors), Repeat: none},
				{Name: "goroutines", Synopsis: goroutinesSynopsis, Short: "list the goroutines of a Go program, or group them", Needs: shell.NeedMemory, Run: c.does(runGoroutines), Repeat: none,
					Long: "As `goroutines`.\n\nExample:\n  info goroutines"},
				{Name: "frame", Aliases: []string{"f"}, Short: "tell all about the selected frame", Needs: shell.NeedData, Run: c.does(infoFrame), Repeat: none},
				{Name: "registers", Aliases: []string{"r", "reg"}, Short: "show the registers of the selected frame", Synopsis: "[NAME...]", Needs: shell.NeedMemory, Run: c.does(infoRegisters), Repeat: none,
					Long: "In a frame further out they are as that frame will see them; <not saved> ones cannot be known. xmmN, ymmN, stN and mxcsr are shown when they are named, float and vector name all of them.\n\nExamples:\n  info registers rip rsp\n  info registers xmm0\n  info registers float"},
				{Name: "all-registers", Short: "show all registers of the selected frame", Synopsis: "[NAME...]", Needs: shell.NeedMemory, Run: c.does(infoAllRegisters), Repeat: none,
					Long: "The general ones, segments and flags, those of floating point, and vectors; or those that are named.\n\nExample:\n  info all-registers"},
				{Name: "auxv", Short: "show the auxiliary vector that the kernel gave the program", Needs: shell.NeedMemory, Run: c.does(infoAuxv), Repeat: none},
				{Name: "sharedlibrary", Aliases: []string{"shared", "dll", "modules", "libraries"}, Short: "list the files mapped into the program", Synopsis: "[REGEXP]", Needs: shell.NeedData, Run: c.does(infoModules), Repeat: none, Long: "Example:\n  info sharedlibrary libc"},
				{Name: "sources", Short: "list the source files of the debug information", Synopsis: "[-basename|-dirname] [--] [REGEXP]", Raw: true, Needs: shell.NeedProgram, Run: c.does(infoSources), Repeat: none, Long: "Example:\n  info sources \\.cc$"},
				{Name: "source", Short: "tell about the source file of the selected frame", Needs: shell.NeedProgram, Run: c.does(infoSource), Repeat: none},
				{Name: "functions", Aliases: []string{"fu", "func"}, Short: "list the functions whose name matches", Synopsis: "[REGEXP]", Raw: true, Needs: shell.NeedProgram, Run: c.does(infoFunctions), Repeat: none,
					Long: "Example:\n  info functions ^Index::"},
				{Name: "types", Short: "list the types whose name matches", Synopsis: "[REGEXP]", Raw: true, Needs: shell.NeedProgram, Run: c.does(infoTypes), Repeat: none,
					Long: "Those outside of functions, as debug information has them.\n\nExample:\n  info types ^Index"},
				{Name: "variables", Short: "list the global and static variables whose name matches", Synopsis: "[REGEXP]", Raw: true, Needs: shell.NeedProgram, Run: c.does(infoVariables), Repeat: none,
					Long: "With the address of each, where it has one. The ones that only the linker knows stand last.\n\nExample:\n  info variables ^g_"},
				{Name: "scope", Short: "list the variables that code at a location can name", Synopsis: "LOCATION", Raw: true, Args: []shell.ArgKind{shell.ArgLocation}, Needs: shell.NeedProgram, Run: c.does(infoScope), Repeat: none,
					Long: "The parameters and local variables of the function and of the blocks around the place, innermost first. The program need not run.\n\nExample:\n  info scope index.cc:188"},
				{Name: "line", Aliases: []string{"li"}, Short: "tell which code a source line has", Synopsis: "[LOCATION]", Raw: true, Args: []shell.ArgKind{shell.ArgLocation}, Needs: shell.NeedProgram, Run: c.does(infoLine), Repeat: none, Long: "Of a function it is the code of the line that it begins with. Where a line has several ranges of code, the first is shown and the others follow behind `also at`.\n\nExamples:\n  info line index.cc:188\n  info line main"},
				{Name: "symbols", Short: "tell where the names of each module come from, and what would bring more", Synopsis: "[ADDRESS]", Raw: true, Needs: shell.NeedProgram, Run: c.does(infoSymbols), Repeat: none,
					Long: "For each module the share of the recorded frames that are in it, what was found (DWARF, minidebuginfo, a symbol table, dynamic symbols, nothing), where debug files were looked for, and what to install or to set. `hdb doctor` prints the same. With an address it is info symbol.\n\nExample:\n  info symbols"},
				{Name: "symbol", Aliases: []string{"sym", "sy", "symb", "symbo"}, Short: "name the symbol at an address", Synopsis: "ADDRESS", Raw: true, Needs: shell.NeedProgram, Run: c.does(infoSymbol), Repeat: none, Long: "Example:\n  info symbol 0x55555555513a"},
				{Name: "address", Short: "tell where a symbol is", Synopsis: "SYMBOL", Raw: true, Args: []shell.ArgKind{shell.ArgFunction}, Needs: shell.NeedProgram, Run: c.does(infoAddress), Repeat: none, Long: "Example:\n  info address main"},
				{Name: "signals", Aliases: []string{"handle"}, Short: "tell what happens at signals", Synopsis: "[SIGNAL]", Args: []shell.ArgKind{shell.ArgSignal}, Run: c.does(infoSignals), Repeat: none, Long: "Example:\n  info signals SIGUSR1"},
				{Name: "skip", Beside: shell.RunsBeside, Short: "list what step does not enter", Run: c.does(infoSkip), Repeat: none},
				{Name: "proc", Short: "tell about the process", Synopsis: "[cmdline|cwd|exe|mappings|stat|status]", Args: []shell.ArgKind{shell.ArgWord}, Needs: shell.NeedMemory, Run: c.does(infoProc), Repeat: none,
					Long: "A word asks for that part only, as the kernel tells it.\n\nExamples:\n  info proc mappings\n  info proc cwd"},
				{Name: "mappings", Aliases: []string{"maps"}, Short: "list the process's memory", Needs: shell.NeedMemory, Run: c.does(infoMappings), Repeat: none},
				{Name: "program", Aliases: []string{"file", "files"}, Short: "tell about the program's file, and where its process stands", Needs: shell.NeedProgram, Run: c.does(infoProgram), Repeat: none},
				{Name: "allocs", Beside: shell.RunsBeside, Short: "sum up the allocation events", Run: c.does(runRecordStatus), Repeat: none},
				{Name: "stops", Beside: shell.RunsBeside, Short: "list where this session or capture stopped", Run: c.does(infoStops), Repeat: none},
				{Name: "log", Beside: shell.RunsBeside, Short: "show what was typed and printed in this session, or while the capture was made", Synopsis: "[N]", Args: []shell.ArgKind{shell.ArgWord}, Run: c.does(infoLog), Repeat: none,
					Long: "With N the last N lines. Each stands behind the last event recorded before, and its time. `save` keeps the log in the capture, except for what is older than its last 32,768 lines or MiB. A typed line that begins with a blank is left out; `set log off` keeps none and forgets what there is; `hdb capture anonymize` leaves it out.\n\nExample:\n  info log 20"},
				{Name: "debuginfod", Beside: shell.RunsBeside, Short: "tell which servers are asked for debug files and sources, and what came", Run: c.does(infoDebuginfod), Repeat: none,
					Long: "Servers and limits are those of the environment variables DEBUGINFOD_*, files are kept where debuginfod-find keeps them. `set debuginfod on` asks the servers, `set debuginfod off` also ends downloads.\n\nExample:\n  info debuginfod"},
				{Name: "capture", Beside: shell.RunsBeside, Short: "tell where a capture comes from", Run: c.does(infoCapture), Repeat: none},
			}, append(valueInfos(c), macroInfos(c)...)...)},
		{Name: "breakpoints", Aliases: []string{"bp"}, Beside: shell.RunsBeside, Group: shell.GroupStatus, Short: "list the stops", Synopsis: "[N]", Args: []shell.ArgKind{shell.ArgStop}, Run: c.does(infoBreakpoints), Repeat: none, Long: "Example:\n  breakpoints 2"},
		{Name: "libraries", Group: shell.GroupStatus, Short: "list the files mapped into the program", Synopsis: "[REGEXP]", Needs: shell.NeedData, Run: c.does(infoModules), Repeat: none, Long: "Example:\n  libraries libc"},
		{Name: "sources", Group: shell.GroupStatus, Short: "list the source files of the debug information", Synopsis: "[-basename|-dirname] [--] [REGEXP]", Raw: true, Needs: shell.NeedProgram, Run: c.does(infoSources), Repeat: none, Long: "Example:\n  sources \\.cc$"},
		{Name: "funcs", Group: shell.GroupStatus, Short: "list the functions whose name matches", Synopsis: "[REGEXP]", Raw: true, Needs: shell.NeedProgram, Run: c.does(infoFunctions), Repeat: none, Long: "Example:\n  funcs ^Index::"},
		{Name: "regs", Group: shell.GroupStatus, Short: "show the registers of the selected frame", Synopsis: "[NAME...]", Needs: shell.NeedMemory, Run: c.does(infoRegisters), Repeat: none, Long: "Example:\n  regs rip rsp"},
	}
}

func infoBreakpoints(_ context.Context, c *Desk, in shell.Input) error {
	return listStops(c, in, "no breakpoints: see `help break`", func(*breakpoints.Stop) bool { return true })
}

func infoWatchpoints(_ context.Context, c *Desk, in shell.Input) error {
	return listStops(c, in, "no watchpoints: see `help watch`", func(st *breakpoints.Stop) bool { return st.Kind == breakpoints.StopWatch })
}

// listStops lists the stops that are wanted; none says that there is none.
func listStops(c *Desk, in shell.Input, none string, wanted func(*breakpoints.Stop) bool) error {
	ids, err := stopIDs(c.s, in, in.Args)
	if err != nil {
		return err
	}
	ids = slices.DeleteFunc(ids, func(id int) bool {
		st, err := c.s.Stops.At(id)
		return err == nil && !wanted(st)
	})
	views := make([]stopView, 0, len(ids))
	for _, id := range ids {
		st, err := c.s.Stops.At(id)
		if err != nil {
			return err
		}
		v := viewStop(st)
		v.Cost = c.s.Stops.Cost(st)
		d, atAllocs := c.s.Stops.Detail(st)
		if v.Warnings = warnings(d.Doubt); atAllocs {
			v.InProcess, v.Outside, v.Passed, v.Unsized, v.Undecided = d.InProcess, d.Outside, &d.Passed, d.Unsized, d.Undecided
		}
		views = append(views, v)
	}
	c.Show(in, struct {
		Stops []stopView `json:"stops"`
	}{views}, func(o *screen.Output) {
		if len(ids) == 0 {
			o.Printf("%s\n", none)
			return
		}
		for _, id := range ids {
			if st, err := c.s.Stops.At(id); err == nil {
				printStop(c.s, o, st)
			}
		}
	})
	return nil
}

func infoFrame(_ context.Context, c *Desk, in shell.Input) error {
	f, err := c.s.Selection.Frame()
	if err != nil {
		return err
	}
	passed := c.s.Selection.Passed()
	c.Show(in, struct {
		frameView
		Passed string `json:"passed_over,omitempty"`
	}{viewFrame(f), passedWords[passed]}, func(o *screen.Output) {
		printFull(o, []names.Frame{f}, nil, nil, -1)
		if c.s.Mode().Readable() {
			o.Printf("     canonical frame address %s\n", f.CFA)
		}
		if lang := f.Language.String(); lang != "" {
			o.Printf("     language %s\n", lang)
		}
		if text := passedText[passed]; text != "" {
			o.Printf("     %s\n", text)
		}
	})
	return nil
}

// passedWords are the reasons why no block belongs to a frame, in JSON.
var passedWords = map[query.Passed]string{
	query.PassedAllocator: "allocator", query.PassedWrapper: "wrapper", query.PassedRuntime: "runtime", query.PassedLibrary: "library", query.PassedStart: "start",
}

// passedText says why blocks belong to a frame further out, and what changes that.
var passedText = map[query.Passed]string{
	query.PassedAllocator: "an allocator's function: blocks belong to a frame further out",
	query.PassedWrapper:   "a wrapper by its name: blocks belong to a frame further out; `show wrappers` has the expression, `set wrappers` another",
	query.PassedRuntime:   "of a runtime, or made by a compiler: blocks belong to a frame further out",
	query.PassedLibrary:   "a library's by its name, source or module: blocks belong to a frame further out; `show library-frames` has the expression, `set library-frames` another",
}

func infoRegisters(_ context.Context, c *Desk, in shell.Input) error {
	return showRegisters(c, in, false)
}

func infoAllRegisters(_ context.Context, c *Desk, in shell.Input) error {
	if len(in.Args) > 0 {
		return showRegisters(c, in, false)
	}
	in.Args = []string{"float", "vector", "ymm"}
	return showRegisters(c, in, true)
}

// showRegisters shows the registers that are named; with general, or if none is, all
// those that are no vectors.
func showRegisters(c *Desk, in shell.Input, general bool) error {
	regs, err := c.s.Selection.Registers()
	if err != nil {
		return err
	}
	wanted := map[string]bool{}
	for _, a := range in.Args {
		wanted[map[string]string{"pc": "rip", "sp": "rsp", "fp": "rbp"}[strings.TrimPrefix(a, "$")]] = true
		wanted[strings.TrimPrefix(a, "$")] = true
	}
	views := map[string]*string{}
	var rows [][]screen.Span
	for _, r := range regs {
		if len(in.Args) > 0 && !general && !wanted[r.Name] {
			continue
		}
		if !r.Known {
			views[r.Name] = nil
			rows = append(rows, []screen.Span{screen.Head(r.Name), screen.Guess("<not saved>"), {}})
			continue
		}
		value := fmt.Sprintf("%#x", r.Value)
		views[r.Name] = &value
		rows = append(rows, []screen.Span{screen.Head(r.Name), screen.Addr(value), screen.Plain(registerText(c.s, r))})
	}
	for _, name := range vectorNames(in.Args) {
		value, err := c.s.Values.Show("$"+name, registerOptions(name))
		if errors.Is(err, values.ErrNotSaved) {
			views[name] = nil
			rows = append(rows, []screen.Span{screen.Head(name), screen.Guess("<not saved>"), {}})
			continue
		}
		if general && errors.Is(err, values.ErrAbsent) {
			continue
		}
		if err != nil {
			return fmt.Errorf("%s: %w", in.Name, err)
		}
		views[name] = &value
		rows = append(rows, []screen.Span{screen.Head(name), {}, screen.Plain(value)})
	}
	if len(rows) == 0 {
		return fmt.Errorf("no register %q", strings.Join(in.Args, " "))
	}
	c.Show(in, struct {
		Registers map[string]*string `json:"registers"`
	}{views}, func(o *screen.Output) { o.Table([]screen.Column{{}, {}, {}}, rows) })
	return nil
}

// vectorNames are the registers of x87, SSE and AVX that words of info registers ask
// for: float and vector stand for all of a kind.
func vectorNames(words []string) []string {
	var out []string
	for _, w := range words {
		w = strings.TrimPrefix(w, "$")
		switch {
		case w == "float":
			for i := range 8 {
				out = append(out, fmt.Sprintf("st%d", i))
			}
		case w == "vector":
			for i := range 16 {
				out = append(out, fmt.Sprintf("xmm%d", i))
			}
			out = append(out, "mxcsr")
		case w == "ymm":
			for i := range 16 {
				out = append(out, fmt.Sprintf("ymm%d", i))
			}
		case strings.HasPrefix(w, "xmm"), strings.HasPrefix(w, "ymm"), strings.HasPrefix(w, "st"), w == "mxcsr":
			out = append(out, w)
		}
	}
	return out
}

// registerOptions show vectors in hexadecimal, as gdb does.
func registerOptions(name string) values.Options {
	o := values.Options{}
	if strings.HasPrefix(name, "xmm") || strings.HasPrefix(name, "ymm") {
		o.Letter = 'x'
	}
	return o
}

// registerText says what a register's value could be: a symbol or a number.
func registerText(s *session.Session, r view.Register) string {
	if r.Name == "eflags" {
		if text, err := s.Values.Show("$eflags", values.Options{}); err == nil {
			return text
		}
	}
	if sym, err := symbolAt(s, r.Value); err == nil {
		return "<" + sym + ">"
	}
	if r.Name == "rsp" || r.Name == "rbp" || strings.HasSuffix(r.Name, "_base") {
		return fmt.Sprintf("%#x", r.Value)
	}
	return fmt.Sprint(int64(r.Value))
}

func infoModules(_ context.Context, c *Desk, in shell.Input) error {
	mods := c.s.Names().ModuleInfos()
	re, err := pattern(in.Arg(0))
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
		o.Table([]screen.Column{{Head: "from"}, {Head: "to"}, {Head: "names from"}, {Head: "file"}}, rows)
	})
	return nil
}

type captureView struct {
	Program string   `json:"program"`
	Args    []string `json:"args,omitempty"`
	PID     int      `json:"pid"`
	Start   string   `json:"start"`
	Host    string   `json:"host,omitempty"`
	Kernel  string   `json:"kernel,omitempty"`
	Arch    string   `json:"arch"`
	Created string   `json:"created_by"`
	Version string   `json:"format,omitempty"`
	Events  uint64   `json:"event_count"`
	Allocs  uint64   `json:"allocations"`
	Frees   uint64   `json:"frees"`
	Failed  uint64   `json:"failed"`
	Bytes   uint64   `json:"allocated_bytes"`
	Last    int64    `json:"duration_ns"`
	Partial []string `json:"partial,omitempty"`
	Lost    uint64   `json:"lost_events,omitempty"` // calls
	Damage  string   `json:"damage,omitempty"`
}

// viewCapture is info of the recording, with what makes its numbers less sure.
func viewCapture(s *session.Session, i capture.Info) captureView {
	t, careful := i.Totals, s.Recorded.Caveats()
	return captureView{i.Program, i.Args, i.PID, i.Start.UTC().Format("2006-01-02T15:04:05Z"), i.Host, i.Kernel, i.Arch, i.Created, i.Version,
		t.Events, t.Allocs, t.Frees, t.Failed, t.Bytes, t.Last.Nanoseconds(), report.ReasonTexts(careful.Partial), careful.Lost, report.DamageText(careful.Damage)}
}

func infoCapture(_ context.Context, c *Desk, in shell.Input) error {
	info, err := c.s.Recorded.Info()
	if err != nil {
		return err
	}
	v := viewCapture(c.s, info)
	c.Show(in, v, func(o *screen.Output) {
		process := fmt.Sprintf("%d on %s, %s", v.PID, orUnknown(v.Host), v.Arch)
		if v.Kernel != "" {
			process += ", kernel " + v.Kernel
		}
		rows := [][]screen.Span{
			{screen.Head("program"), screen.Plain(strings.Join(append([]string{v.Program}, v.Args...), " "))},
			{screen.Head("process"), screen.Plain(process)},
			{screen.Head("started"), screen.Plain(v.Start)},
			{screen.Head("recorded by"), screen.Plain(v.Created)},
			{screen.Head("events"), screen.Plain(fmt.Sprintf("%s; blocks and mappings: %s of %s, %s given back, %s failed", units.Grouped(v.Events), units.Grouped(v.Allocs), c.Out.Sizes.Long(v.Bytes), units.Grouped(v.Frees), units.Grouped(v.Failed)))},
			{screen.Head("until"), screen.Plain(screen.ShortTime(info.Totals.Last))},
		}
		if len(v.Partial) > 0 {
			rows = append(rows, []screen.Span{screen.Head("partial"), screen.Plain(strings.Join(v.Partial, "; "))})
		}
		if v.Lost > 0 {
			rows = append(rows, []screen.Span{screen.Head("lost"), screen.Warning(units.Count(v.Lost, "call") + ": record status tells why")})
		}
		if v.Damage != "" {
			rows = append(rows, []screen.Span{screen.Head("damage"), screen.Warning(v.Damage)})
		}
		o.Table([]screen.Column{{}, {}}, rows)
	})
	return nil
}

func infoStops(_ context.Context, c *Desk, in shell.Input) error {
	type view struct {
		Num   int    `json:"stop"`
		Text  string `json:"text"`
		Seq   uint64 `json:"after"`
		Event uint64 `json:"event,omitempty"`
		Time  int64  `json:"time_ns"`
	}
	views := []view{}
	var rows [][]screen.Span
	for i, r := range c.s.Recorded.Stops() {
		views = append(views, view{i + 1, r.Text, r.Seq, r.Event, r.Time.Nanoseconds()})
		rows = append(rows, []screen.Span{screen.Head(fmt.Sprint(i + 1)), screen.Plain(screen.ShortTime(r.Time)), screen.Plain(withSizes(c, r.Text))})
	}
	if len(rows) == 0 && !c.Opt.JSON {
		return errors.New("no stop yet")
	}
	c.Show(in, struct {
		Stops []view `json:"stops"`
	}{views}, func(o *screen.Output) {
		o.Table([]screen.Column{{Head: "stop", Right: true}, {Head: "time", Right: true}, {Head: "why"}}, rows)
	})
	return nil
}
