package stops

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"hdb/breakpoints"
	"hdb/console/data"
	"hdb/console/desk"
	"hdb/console/screen"
	"hdb/console/shell"
	"hdb/inferior"
	"hdb/internal/spelling"
	"hdb/internal/units"
	"hdb/session"
)

func stopCommands(c *desk.Desk) []*shell.Command {
	return []*shell.Command{
		{Name: "break", Aliases: []string{"b", "br"}, Group: shell.GroupStops, Raw: true, Args: []shell.ArgKind{shell.ArgLocation}, Repeat: shell.RepeatNone, Run: c.Does(Breaker(false, false)),
			Synopsis: "[LOCATION] [thread N] [if CONDITION]\nalloc|free|FUNCTION [#N] [if CONDITION]\nat FILE.hdb#N\nwhen STATE [&& STATE]...", Short: "stop at a place in the code, or at allocations",
			Long: "LOCATION is a function, FILE:LINE, LINE, +N, -N, *ADDRESS or /REGEXP/; without one it is where the program is stopped. A place not found in any loaded module stays pending. An ADDRESS that is certainly inside an instruction is refused, because a trap there would change the instruction.\n\n" +
				"`alloc` is every call that allocates memory, `free` every call that frees it; malloc, calloc, realloc ... or `operator new` selects calls of that function only. #N is the N-th event; `alloc #N` stops there even if the event is a free. `alloc` and `free` apply to the heap only: mmap, mremap, munmap, brk and sbrk are recorded, counted and shown by allocs too, but to stop at them name the function, as in `break mmap`. `at FILE.hdb#N` finds the event of a capture in this run: the same allocator function with the same stack, on the same occurrence, wherever the code is now mapped; set it before the program runs.\n`pyalloc` and `pyfree` are the calls of CPython's own allocators, most of whose blocks come from its arenas and not from malloc; they imply `set python-allocators on`." +
				"\n\n" +
				"A condition compares size, addr, old, thread, nth, live, blocks, align, count and goroutine, and tests func(\"f\"), module(\"lib\"), caller(\"f\"), kind, domain, type(\"T\") in Go programs; with && || ! and sizes like 64k or 1MiB: see `help conditions`.\n\n" +
				"`when` stops when a condition on the heap becomes true: live > 2GiB, blocks > 20k, growth(10s) > 50MiB, live(func(\"f\")) or blocks(func(\"f\")) for the blocks that f allocated, age > 30s for any live block; join several with &&. Other terms, such as thread == 2 or size > 1k, apply to the event, or with age to the block. If only an allocation can make the condition true, as in live > 2GiB && thread == 2, the first stop is exactly at the event, and later stops usually are too; in all other cases the program stops soon after, and the event is shown with its stack. It stops again once the condition has become false and then true. While the stop is set, all events are followed. `leaked(f)` stops when a call of f ends while blocks that the calling thread allocated during the call are still live: leaked(f) > 1k stops only if they exceed 1 KiB; size > 100 counts only larger blocks. See docs/heap.md.\n\n" +
				"Examples:\n  break main\n  break when growth(10s) > 50MiB\n  break when age > 30s && func(\"load\") && size > 1k\n  break when leaked(handle_request)\n  break parse.c:120 if func(\"load\")\n  break alloc if size >= 1MiB && thread == 3\n  break free if addr == 0x55555578a2c0\n  break alloc #4711\n  break realloc\n  break pyalloc if size >= 1k && domain == obj\n  break at yesterday.hdb#4711"},
		{Name: "tbreak", Aliases: []string{"tb"}, Group: shell.GroupStops, Raw: true, Args: []shell.ArgKind{shell.ArgLocation}, Repeat: shell.RepeatNone, Run: c.Does(Breaker(true, false)),
			Synopsis: "LOCATION [if CONDITION]\nalloc|free|FUNCTION [#N] [if CONDITION]", Short: "set a stop like break, deleted at its first hit", Long: "Example:\n  tbreak alloc if size > 1GiB"},
		{Name: "hbreak", Group: shell.GroupStops, Raw: true, Args: []shell.ArgKind{shell.ArgLocation}, Repeat: shell.RepeatNone, Run: c.Does(Breaker(false, true)), Synopsis: "LOCATION [thread N] [if CONDITION]", Short: "stop at a place in the code, using a debug register",
			Long: "The code is not modified: use it for programs that read or change their own code. Each place takes one of the four registers, which watchpoints use too. If none is free, or the machine has none that stop threads (`hdb doctor`), hdb uses a trap in the code instead, and a line says so.\n\nExample:\n  hbreak parse.c:120 if size > 4k"},
		{Name: "thbreak", Group: shell.GroupStops, Raw: true, Args: []shell.ArgKind{shell.ArgLocation}, Repeat: shell.RepeatNone, Run: c.Does(Breaker(true, true)), Synopsis: "LOCATION [thread N] [if CONDITION]", Short: "set a stop like hbreak, deleted at its first hit", Long: "Example:\n  thbreak main"},
		{Name: "rbreak", Group: shell.GroupStops, Raw: true, Synopsis: "REGEXP", Short: "break at every function whose name matches", Repeat: shell.RepeatNone, Run: c.Does(runRbreak), Needs: shell.NeedRunnable,
			Long: "Example:\n  rbreak ^Index::"},
		{Name: "watch", Aliases: []string{"w"}, Group: shell.GroupStops, Raw: true, Args: []shell.ArgKind{shell.ArgExpression}, Synopsis: "[-rw] [-l] EXPRESSION [SIZE] [if CONDITION]\n[-rw] *ADDRESS [SIZE] [if CONDITION]", Short: "stop when memory is written", Needs: shell.NeedLive, Repeat: shell.RepeatNone, Run: c.Does(watcher(inferior.Write)),
			Long: "EXPRESSION is a variable or a part of one, also a struct or an array; SIZE is in bytes, by default the variable's size. hdb watches the memory that EXPRESSION has now. For a local variable, the program stops when its function has returned, and the watchpoint is disabled; with -l or -location it stays. -rw stops at reads too. In Go programs EXPRESSION is a package variable or an address: `watch main.counter`. If CONDITION does not hold after the write, the program continues. If several threads write at the same time, the change shown for one hit may include the write of another thread, whose own hit then says so.\n\n" +
				"The processor watches with 4 debug registers of 1, 2, 4 or 8 aligned bytes each. Memory that needs more registers than are free is watched by single steps. So is all memory if the machine has no debug registers that stop threads (`hdb doctor`), and with `set can-use-hw-watchpoints 0`. The threads then take turns, one instruction at a time, and hdb compares the memory after each, some 20 µs an instruction; on a terminal, a line every 10 s says how many instructions have run. Single-stepping recognizes a read by decoding the instruction's operands, except for vector gathers; a system call's write is seen when the call returns, another process's write to shared memory at the next instruction.\n\nExamples:\n  watch list->used if list->used > 100\n  watch *list\n  watch *0x55555578a2c0 4\n  watch *0x55555578a2c0 64"},
		{Name: "rwatch", Group: shell.GroupStops, Raw: true, Args: []shell.ArgKind{shell.ArgExpression}, Synopsis: "*ADDRESS [SIZE] [if CONDITION]", Short: "stop when memory is read or written", Needs: shell.NeedLive, Repeat: shell.RepeatNone, Run: c.Does(watcher(inferior.Read)),
			Long: "x86 cannot watch for reads alone. rwatch uses debug registers, or single steps if too few are free: see `help watch`. Single steps do not see accesses by system calls and by vector gathers and scatters.\n\nExample:\n  rwatch *0x55555578a2c0"},
		{Name: "awatch", Group: shell.GroupStops, Raw: true, Args: []shell.ArgKind{shell.ArgExpression}, Synopsis: "*ADDRESS [SIZE] [if CONDITION]", Short: "stop when memory is read or written", Needs: shell.NeedLive, Repeat: shell.RepeatNone, Run: c.Does(watcher(inferior.ReadWrite)), Long: "Example:\n  awatch *0x55555578a2c0 4"},
		{Name: "delete", Aliases: []string{"d", "del"}, Group: shell.GroupStops, Synopsis: "[breakpoints] [N | N-M]...", Short: "delete stops, or all of them", Args: []shell.ArgKind{shell.ArgStop}, Repeat: shell.RepeatNone, Run: c.Does(runDelete),
			Long: "Examples:\n  delete 2\n  delete 3-5"},
		{Name: "clear", Group: shell.GroupStops, Raw: true, Synopsis: "[LOCATION]", Short: "delete the stops at a location", Args: []shell.ArgKind{shell.ArgLocation}, Repeat: shell.RepeatNone, Run: c.Does(runClear), Long: "Example:\n  clear parse.c:120"},
		{Name: "clearall", Group: shell.GroupStops, Short: "delete all stops", Repeat: shell.RepeatNone, Run: c.Does(runDelete)},
		{Name: "enable", Aliases: []string{"en"}, Group: shell.GroupStops, Synopsis: "[N | N-M]...\nonce|delete [N | N-M]...\ncount COUNT [N | N-M]...", Short: "enable stops", Args: []shell.ArgKind{shell.ArgStop}, Repeat: shell.RepeatNone, Run: c.Does(runEnable),
			Long: "With `once` the next hit disables the stop again, with `delete` the next hit deletes it, with `count` the COUNT-th hit disables it.\n\nExamples:\n  enable 2\n  enable delete 3"},
		{Name: "disable", Aliases: []string{"dis"}, Group: shell.GroupStops, Synopsis: "[N | N-M]...", Short: "disable stops, without deleting them", Args: []shell.ArgKind{shell.ArgStop}, Repeat: shell.RepeatNone, Run: c.Does(runDisable), Long: "Examples:\n  disable\n  disable 2-4"},
		{Name: "toggle", Group: shell.GroupStops, Synopsis: "N...", Short: "enable a disabled stop, disable an enabled one", Args: []shell.ArgKind{shell.ArgStop}, Repeat: shell.RepeatNone, Run: c.Does(runToggle), Long: "Example:\n  toggle 2"},
		{Name: "catch", Group: shell.GroupStops, Raw: true, Synopsis: "throw|catch [REGEXP] [if CONDITION]\nrethrow|panic [if CONDITION]\nsyscall [NAME | NUMBER]... [if CONDITION]\nload|unload [REGEXP] [if CONDITION]\nfork|vfork|exec [if CONDITION]\nsignal [SIGNAL... | all] [if CONDITION]", Short: "stop at exceptions, system calls, libraries, signals, or when the program forks or executes another", Args: []shell.ArgKind{shell.ArgWord}, Repeat: shell.RepeatNone, Run: c.Does(catcher(false)),
			Long: "throw, rethrow and catch stop when the C++ runtime throws, rethrows or catches an exception, panic stops when Rust code panics. The stop reports the type that is thrown, and selects the user's frame. REGEXP matches the name of the type: other exceptions do not stop the program.\n\n`catch syscall` stops before a system call of any thread, and when it has returned; without a name it catches all system calls. Each system call of the program then costs two stops, a caught one four. `catch load` stops when a library has been loaded, `unload` when one was unloaded: REGEXP matches its path.\n\n`catch fork` stops when the program has forked, `catch vfork` at a vfork, as in posix_spawn and system, and `catch exec` when it has executed another program, before that program's first instruction. `catch signal` stops at signals that arrive, whatever `handle` says: without a SIGNAL, at all except SIGINT and SIGTRAP, which debuggers use; with `all`, at those too. A caught signal passes silently if CONDITION does not hold. `handle` decides whether the signal reaches the program.\n\nExamples:\n  catch throw\n  catch throw runtime_error\n  catch syscall openat close\n  catch load libssl\n  catch exec\n  catch signal SIGUSR1 if round > 3"},
		{Name: "tcatch", Group: shell.GroupStops, Raw: true, Synopsis: "EVENT [if CONDITION]", Short: "set a stop like catch, deleted at its first hit", Args: []shell.ArgKind{shell.ArgWord}, Repeat: shell.RepeatNone, Run: c.Does(catcher(true)), Long: "EVENT is what catch takes.\n\nExample:\n  tcatch signal SIGUSR1"},
		{Name: "uncatch", Group: shell.GroupStops, Synopsis: "fork|vfork|exec\nsignal [SIGNAL... | all]", Short: "delete the stops that catch set at forks, execs or signals", Args: []shell.ArgKind{shell.ArgWord}, Repeat: shell.RepeatNone, Run: c.Does(runUncatch), Long: "`delete N` deletes one of them by its number.\n\nExamples:\n  uncatch exec\n  uncatch signal SIGUSR1"},
		{Name: "condition", Aliases: []string{"cond"}, Group: shell.GroupStops, Raw: true, Synopsis: "N [CONDITION]", Short: "give a stop another condition, or none", Args: []shell.ArgKind{shell.ArgStop, shell.ArgCondition}, Repeat: shell.RepeatNone, Run: c.Does(runCondition),
			Long: "Example:\n  condition 1 size > 64k && live > 1GiB"},
		{Name: "ignore", Group: shell.GroupStops, Synopsis: "N COUNT", Short: "ignore the next COUNT hits of a stop", Args: []shell.ArgKind{shell.ArgStop}, Repeat: shell.RepeatNone, Run: c.Does(runIgnore), Long: "COUNT is a number, such as 99; 20k means 20,000.\n\nExamples:\n  ignore 1 99\n  ignore 1 20k"},
		{Name: "commands", Group: shell.GroupStops, Synopsis: "[N]", Short: "run commands at each hit of a stop: the lines up to `end`", Args: []shell.ArgKind{shell.ArgStop}, Repeat: shell.RepeatNone, Run: c.Does(runCommands),
			Long: "Without N it applies to the last stop that was set. `silent` as the first line suppresses the report of the stop. An empty list removes the commands. An error ends the list, and the script that led to the stop; the program stays stopped.\n\nExample:\n  commands 1\n    silent\n    bt 3\n    continue\n  end"},
		{Name: "on", Group: shell.GroupStops, Raw: true, Synopsis: "N COMMAND", Short: "run one more command at each hit of a stop", Args: []shell.ArgKind{shell.ArgStop, shell.ArgCommand}, Repeat: shell.RepeatNone, Run: c.Does(runOn), Long: "Example:\n  on 1 bt 3"},
		{Name: "handle", Group: shell.GroupStops, Synopsis: "SIGNAL [stop|nostop] [pass|nopass] [print|noprint]", Short: "choose what happens when a signal arrives", Args: []shell.ArgKind{shell.ArgSignal, shell.ArgWord}, Repeat: shell.RepeatNone, Run: c.Does(runHandle),
			Long: "stop stops the program at the signal, print reports it, pass delivers it to the program when that continues. SIGTSTP, which Ctrl-Z sends, passes to a program that handles or ignores it; a program that it would suspend stops instead. With pass it is suspended; with nopass no SIGTSTP reaches it.\n\nExample:\n  handle SIGUSR1 nostop noprint pass"},
	}
}

type stopView struct {
	ID        int                 `json:"stop"`
	Spec      string              `json:"spec"`
	Condition string              `json:"condition,omitempty"`
	Enabled   bool                `json:"enabled"`
	Temporary bool                `json:"temporary,omitempty"`
	Pending   bool                `json:"pending,omitempty"`
	Meant     string              `json:"did_you_mean,omitempty"` // of a pending one that was just made
	Why       string              `json:"why,omitempty"`          // it is pending, likewise
	Thread    int                 `json:"thread,omitempty"`
	Hits      uint64              `json:"hits"`
	Ignore    uint64              `json:"ignore,omitempty"`
	Commands  []string            `json:"commands,omitempty"`
	Format    string              `json:"format,omitempty"` // of dprintf, with its arguments
	Places    []breakpoints.Place `json:"places,omitempty"`
	Cost      string              `json:"cost,omitempty"` // of a watchpoint: what it takes

	// Of stops at allocations: where the names of the condition are decided, and
	// the events of this run that were no hit.
	InProcess []string `json:"in_process,omitempty"`
	Outside   []string `json:"outside,omitempty"`
	Passed    *uint64  `json:"passed_events,omitempty"`
	Unsized   uint64   `json:"unsized_frees,omitempty"`    // blocks freed whose size is not known
	Undecided uint64   `json:"undecided_events,omitempty"` // at which a variable of the condition had no value

	Warnings []string `json:"warnings,omitempty"` // why its condition may not be right
}

// whereDecided says which part of a condition the probe decides inside the
// process, "" when there is nothing to say.
func whereDecided(d session.StopDetail) string {
	switch {
	case !d.Live:
		return ""
	case !d.Plane.Probe:
		return fmt.Sprintf("decided outside the process, at two stops a call: %s", d.Plane.Reason)
	}
	isIn := func(name string) bool { return slices.Contains(d.InProcess, name) }
	isOut := func(name string) bool { return slices.Contains(d.Outside, name) }
	var parts []string
	for _, group := range []struct {
		names []string
		where string
	}{
		{slices.DeleteFunc(slices.Clone(d.InProcess), isOut), " in the process"},
		{slices.DeleteFunc(slices.Clone(d.InProcess), func(name string) bool { return !isOut(name) }), " narrowed in the process, decided outside"},
		{slices.DeleteFunc(slices.Clone(d.Outside), func(name string) bool { return isIn(name) || asksStack(name) }), " outside the process"},
		{slices.DeleteFunc(slices.Clone(d.Outside), func(name string) bool { return isIn(name) || !asksStack(name) }), " outside the process, once for each stack"},
	} {
		if len(group.names) > 0 {
			parts = append(parts, strings.Join(group.names, ", ")+group.where)
		}
	}
	return strings.Join(parts, "; ")
}

// asksStack tells names of a condition that ask about the stack: what they say of one stack is
// kept.
func asksStack(name string) bool { return name == "func()" || name == "module()" || name == "caller()" }

func viewStop(st *breakpoints.Stop) stopView {
	v := stopView{
		ID: st.ID, Spec: st.Spec.String(), Enabled: st.Enabled, Temporary: st.Temporary, Pending: st.Pending,
		Thread: st.Thread, Hits: st.Hits, Ignore: st.Ignore, Commands: st.Commands,
	}
	if st.Cond != nil {
		v.Condition = st.Cond.String()
	}
	if st.Asks != "" {
		v.Condition = st.Asks
	}
	if st.Print != nil {
		v.Format = st.Print.String()
	}
	v.Places = st.Places
	return v
}

// what says in one line where a stop is.
func what(st *breakpoints.Stop) string {
	switch {
	case st.Kind == breakpoints.StopAlloc, st.Kind == breakpoints.StopFree, st.Kind == breakpoints.StopWatch, st.Kind == breakpoints.StopState, st.Occurs():
		return st.Spec.String()
	case st.Caught != "" && st.Pending:
		return st.Event() + ": the runtime is not loaded yet, pending"
	case st.Pending:
		return st.Spec.String() + ": no such place yet, pending"
	case st.Caught != "":
		return fmt.Sprintf("%s: %s", st.Event(), desk.PlaceText(st.Places[0]))
	case len(st.Places) == 1 && st.When != nil:
		return fmt.Sprintf("%s: %s", st.Spec, desk.PlaceText(st.Places[0]))
	case len(st.Places) == 1:
		return desk.PlaceText(st.Places[0])
	}
	return fmt.Sprintf("%s: %s", st.Spec, units.Count(len(st.Places), "place"))
}

func TellStop(c *desk.Desk, in shell.Input, st *breakpoints.Stop) {
	v := viewStop(st)
	v.Cost = c.Session.Stops.Cost(st)
	hint := ""
	if v.Why = c.Session.Python.WhyNoPlace(st); v.Why != "" {
		hint = "; " + v.Why
	}
	c.Show(in, v, func(o *screen.Output) {
		o.Printf("%s %d: %s%s\n", st.Word(), st.ID, what(st), hint)
		if v.Cost != "" {
			o.Line(screen.Guess("(" + v.Cost + ")"))
		}
	})
}

func Breaker(temporary, hardware bool) func(context.Context, *desk.Desk, shell.Input) error {
	return func(_ context.Context, c *desk.Desk, in shell.Input) error {
		set := c.Session.Stops.Break
		if hardware {
			set = c.Session.Stops.HardwareBreak
		}
		st, err := set(in.Raw, temporary)
		if err != nil {
			return err
		}
		v, hint := viewStop(st), ""
		if v.Why = c.PythonFunction(st); v.Why != "" {
			hint = "; " + v.Why
		} else if v.Meant = meant(c.Session, st); v.Meant != "" {
			hint = "; did you mean " + v.Meant + "?"
		} else if st.Pending && st.Kind == breakpoints.StopLine {
			if v.Why = c.Session.Locations.WhyNoLine(st.Location); v.Why != "" {
				hint = "; " + v.Why
			}
		}
		v.Cost = c.Session.Stops.Cost(st)
		c.Show(in, v, func(o *screen.Output) {
			o.Printf("%s %d: %s%s\n", st.Word(), st.ID, what(st), hint)
			if v.Cost != "" {
				o.Line(screen.Guess("(" + v.Cost + ")"))
			}
		})
		return nil
	}
}

// meant is what a function that is nowhere was most likely to be: a word of break, an
// allocator or a function of the program. "" when nothing is near.
func meant(s *session.Session, st *breakpoints.Stop) string {
	if !st.Pending || st.Kind != breakpoints.StopFunction {
		return ""
	}
	if st.File != "" {
		if near := s.Locations.Meant(st.Function); near != "" && near != st.Function {
			return st.File + ":" + near
		}
		return ""
	}
	words := StopWords()
	for _, f := range s.Allocators.All() {
		words = append(words, f.Name)
	}
	return s.Locations.Meant(st.Function, words...)
}

func runRbreak(_ context.Context, c *desk.Desk, in shell.Input) error {
	if in.Raw == "" {
		return errors.New("rbreak: a regular expression must follow")
	}
	stops, err := c.Session.Stops.BreakRegexp(in.Raw)
	for _, st := range stops {
		TellStop(c, in, st)
	}
	return err
}

// stopNumber reads a number, or a variable of the debugger's that holds one.
func stopNumber(s *session.Session, text string) (int, error) {
	if !strings.HasPrefix(text, "$") {
		return strconv.Atoi(text)
	}
	n, _, err := s.Values.Address(text)
	return int(n), err
}

// stopIDs reads numbers and ranges; none is all stops.
func stopIDs(s *session.Session, in shell.Input, args []string) ([]int, error) {
	var ids []int
	for _, a := range args {
		from, to, err := data.NumberRange(a, func(text string) (int, error) { return stopNumber(s, text) })
		if err != nil || from < 1 || to < from || to-from > 100000 {
			return nil, fmt.Errorf("%s: %q: the number of a stop expected: see info breakpoints", in.Name, a)
		}
		for id := from; id <= to; id++ {
			if _, err := s.Stops.At(id); err != nil {
				if to > from {
					continue
				}
				return nil, err
			}
			ids = append(ids, id)
		}
	}
	if len(args) == 0 {
		for _, st := range s.Stops.All() {
			ids = append(ids, st.ID)
		}
	}
	return ids, nil
}

func runDelete(_ context.Context, c *desk.Desk, in shell.Input) error {
	if len(in.Args) > 0 && in.Args[0] == "breakpoints" { // gdb's long form
		in.Args = in.Args[1:]
	}
	ids, err := stopIDs(c.Session, in, in.Args)
	if err != nil {
		return err
	}
	if len(in.Args) == 0 && len(ids) > 0 {
		which := fmt.Sprintf("all %d stops", len(ids))
		if len(ids) == 1 {
			which = fmt.Sprintf("stop %d", ids[0])
		}
		if !c.Confirm("Delete %s?", which) {
			return nil
		}
	}
	for _, id := range ids {
		if err := c.Session.Stops.Delete(id); err != nil {
			return err
		}
	}
	return nil
}

func runClear(_ context.Context, c *desk.Desk, in shell.Input) error {
	ids, err := c.Session.Stops.Clear(in.Raw)
	if err != nil {
		return err
	}
	c.Say("deleted %s", joinInts(ids))
	return nil
}

func joinInts(ids []int) string {
	var parts []string
	for _, id := range ids {
		parts = append(parts, strconv.Itoa(id))
	}
	return strings.Join(parts, ", ")
}

func runEnable(_ context.Context, c *desk.Desk, in shell.Input) error {
	args, change, err := enableMode(in.Args)
	if err != nil {
		return err
	}
	ids, err := stopIDs(c.Session, in, args)
	if err != nil {
		return err
	}
	for _, id := range ids {
		if err := c.Session.Stops.EnableFor(id, change); err != nil {
			return err
		}
	}
	return nil
}

// enableMode reads the words before the numbers of enable; change is nil without.
func enableMode(args []string) (rest []string, change func(*breakpoints.Stop), err error) {
	if len(args) == 0 {
		return args, nil, nil
	}
	mode := args[0]
	switch mode {
	case "once":
		args, change = args[1:], func(st *breakpoints.Stop) { st.Left = 1 }
	case "delete":
		args, change = args[1:], func(st *breakpoints.Stop) { st.Temporary = true }
	case "count":
		if len(args) < 2 {
			return nil, nil, errors.New("enable count: a count and the number of a stop must follow")
		}
		n, ok := desk.CountOf(args[1])
		if !ok || n == 0 {
			return nil, nil, fmt.Errorf("enable count: %q: a count of at least 1 expected", args[1])
		}
		args, change = args[2:], func(st *breakpoints.Stop) { st.Left = n }
	default:
		return args, nil, nil
	}
	if len(args) == 0 {
		return nil, nil, fmt.Errorf("enable %s: the number of a stop must follow", mode)
	}
	return args, change, nil
}

func runDisable(_ context.Context, c *desk.Desk, in shell.Input) error {
	ids, err := stopIDs(c.Session, in, in.Args)
	if err != nil {
		return err
	}
	for _, id := range ids {
		if err := c.Session.Stops.Enable(id, false); err != nil {
			return err
		}
	}
	return nil
}

func runToggle(_ context.Context, c *desk.Desk, in shell.Input) error {
	if len(in.Args) == 0 {
		return errors.New("toggle: the number of a stop must follow")
	}
	ids, err := stopIDs(c.Session, in, in.Args)
	if err != nil {
		return err
	}
	for _, id := range ids {
		st, err := c.Session.Stops.At(id)
		if err != nil {
			return err
		}
		if err := c.Session.Stops.Enable(id, !st.Enabled); err != nil {
			return err
		}
	}
	return nil
}

// catcher sets a stop at an event; temporary: it is deleted by its first hit.
func catcher(temporary bool) func(context.Context, *desk.Desk, shell.Input) error {
	return func(_ context.Context, c *desk.Desk, in shell.Input) error {
		event, rest := shell.SplitWord(in.Raw)
		if event == "" {
			return fmt.Errorf("%s: throw, rethrow, catch, panic, syscall, load, unload, signal, fork, vfork or exec must follow", in.Name)
		}
		st, err := catchEvent(c.Session.Catches, event, rest)
		if err != nil {
			return err
		}
		st.Temporary = temporary
		TellStop(c, in, st)
		return nil
	}
}

// catchEvent sets a stop at an event; rest is what follows its name.
func catchEvent(s *session.Catches, event, rest string) (*breakpoints.Stop, error) {
	before, condition := cutCondition(" " + rest)
	before = strings.TrimSpace(before)
	if before == "if" || strings.HasSuffix(before, " if") {
		return nil, fmt.Errorf("catch %s: %q: `if CONDITION` expected", event, rest)
	}
	switch event {
	case "syscall":
		return s.SystemCalls(strings.Fields(before), condition)
	case "load", "unload":
		return s.Libraries(event == "unload", before, condition)
	case "signal":
		return s.Arriving(strings.Fields(before), condition)
	case "fork", "vfork", "exec":
		if before != "" {
			return nil, fmt.Errorf("catch %s: %q: `if CONDITION` expected", event, before)
		}
		return s.Process(event, condition)
	}
	return s.Exception(event, before, condition)
}

func runUncatch(_ context.Context, c *desk.Desk, in shell.Input) error {
	if len(in.Args) == 0 {
		return errors.New("uncatch: fork, vfork, exec or signal must follow")
	}
	if in.Args[0] != "signal" && len(in.Args) > 1 {
		return fmt.Errorf("uncatch %s: %q: nothing more expected", in.Args[0], in.Args[1])
	}
	return c.Session.Catches.Uncatch(in.Args[0], in.Args[1:])
}

// oneStop reads the number that a line begins with.
func oneStop(s *session.Session, in shell.Input) (*breakpoints.Stop, string, error) {
	word, rest := shell.SplitWord(in.Raw)
	id, err := stopNumber(s, word)
	if err != nil {
		return nil, "", fmt.Errorf("%s: %q: the number of a stop expected: see info breakpoints", in.Name, word)
	}
	st, err := s.Stops.At(id)
	return st, rest, err
}

func runCondition(_ context.Context, c *desk.Desk, in shell.Input) error {
	in.Raw = strings.TrimPrefix(in.Raw, "-clear ")
	st, rest, err := oneStop(c.Session, in)
	if err != nil {
		return err
	}
	if err := c.Session.Stops.SetCondition(st.ID, rest); err != nil {
		return err
	}
	if st.Cond == nil && st.Asks == "" && st.When == nil {
		c.Say("%s %d has no condition now", st.Word(), st.ID)
	}
	return nil
}

func runIgnore(_ context.Context, c *desk.Desk, in shell.Input) error {
	in.Raw = strings.Join(in.Args, " ")
	st, rest, err := oneStop(c.Session, in)
	if err != nil {
		return err
	}
	n, ok := desk.CountOf(rest)
	if !ok {
		return fmt.Errorf("ignore: %q: a count expected", rest)
	}
	st.Ignore = n
	if n == 0 {
		c.Say("%s %d stops at its next hit", st.Word(), st.ID)
		return nil
	}
	c.Say("%s %d: %s will be passed", st.Word(), st.ID, units.Count(n, "hit"))
	return nil
}

func runCommands(_ context.Context, c *desk.Desk, in shell.Input) error {
	var st *breakpoints.Stop
	var err error
	if all := c.Session.Stops.All(); len(in.Args) == 0 && len(all) > 0 {
		st = all[len(all)-1]
	} else {
		in.Raw = strings.Join(in.Args, " ")
		st, _, err = oneStop(c.Session, in)
	}
	lines, blockErr := c.Block() // also after an error: the lines are no commands of now
	if err := errors.Join(err, blockErr); err != nil {
		return err
	}
	st.Silent = len(lines) > 0 && lines[0] == "silent"
	if st.Silent {
		lines = lines[1:]
	}
	st.Commands = lines
	return nil
}

func runOn(_ context.Context, c *desk.Desk, in shell.Input) error {
	st, rest, err := oneStop(c.Session, in)
	if err != nil {
		return err
	}
	if rest == "" {
		return errors.New("on: a command must follow")
	}
	st.Commands = append(st.Commands, rest)
	return nil
}

func runHandle(ctx context.Context, c *desk.Desk, in shell.Input) error {
	if len(in.Args) < 2 {
		return errors.New("handle: SIGNAL and one or more of stop, nostop, pass, nopass, print, noprint must follow")
	}
	name := strings.ToUpper(in.Args[0])
	if !strings.HasPrefix(name, "SIG") {
		name = "SIG" + name
	}
	var all []string
	for _, row := range c.Session.Catches.Signals() {
		if all = append(all, row.Name); row.Name != name {
			continue
		}
		p, err := changePolicy(row.Policy, in.Args[1:])
		if err != nil {
			return err
		}
		if err := c.Session.Catches.HandleSignal(name, p); err != nil {
			return err
		}
		return infoSignals(ctx, c, shell.Input{Name: "handle", Args: []string{name}})
	}
	if near := spelling.Nearest(name, all); near != "" {
		return fmt.Errorf("handle: no signal %q: did you mean %s?", in.Args[0], near)
	}
	return fmt.Errorf("handle: no signal %q: see info signals", in.Args[0])
}

// changePolicy applies gdb's words: stop implies print, noprint implies nostop.
func changePolicy(p inferior.Policy, words []string) (inferior.Policy, error) {
	for _, w := range words {
		switch w {
		case "stop":
			p.Stop, p.Print = true, true
		case "nostop":
			p.Stop = false
		case "pass", "noignore":
			p.Pass, p.Hold = true, false
		case "nopass", "ignore":
			p.Pass, p.Hold = false, false
		case "print":
			p.Print = true
		case "noprint":
			p.Print, p.Stop = false, false
		default:
			return p, fmt.Errorf("handle: %q: stop, nostop, pass, nopass, print or noprint expected", w)
		}
	}
	return p, nil
}

// StopWords complete the first word of break.
func StopWords() []string { return []string{"alloc", "free", "pyalloc", "pyfree", "when"} }

func infoSignals(_ context.Context, c *desk.Desk, in shell.Input) error {
	type view struct {
		Name  string `json:"signal"`
		Stop  bool   `json:"stop"`
		Print bool   `json:"print"`
		Pass  bool   `json:"pass"`
		Hold  bool   `json:"held_if_suspends,omitempty"`
	}
	views := []view{}
	var rows [][]screen.Span
	want := strings.TrimPrefix(strings.ToUpper(in.Arg(0)), "SIG")
	for _, s := range c.Session.Catches.Signals() {
		if want != "" && strings.TrimPrefix(s.Name, "SIG") != want {
			continue
		}
		views = append(views, view{s.Name, s.Stop, s.Print, s.Pass, s.Hold})
		pass := yesNo(s.Pass)
		if s.Hold {
			pass = "unless it suspends"
		}
		rows = append(rows, []screen.Span{screen.Head(s.Name), screen.Plain(yesNo(s.Stop)), screen.Plain(yesNo(s.Print)), screen.Plain(pass)})
	}
	if len(views) == 0 {
		return fmt.Errorf("no signal %q", in.Arg(0))
	}
	c.Show(in, struct {
		Signals []view `json:"signals"`
	}{views}, func(o *screen.Output) {
		o.Table([]screen.Column{{Head: "signal"}, {Head: "stop"}, {Head: "print"}, {Head: "pass to program"}}, rows)
	})
	return nil
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}
