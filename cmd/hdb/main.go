// Command hdb is an interactive allocation debugger.
package main

import (
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"syscall"

	"hdb/console"
	"hdb/console/allocs"
	"hdb/console/desk"
	"hdb/console/line"
	"hdb/console/screen"
	"hdb/console/shell"
	"hdb/inferior/corefile"
	"hdb/inferior/machine"
	_ "hdb/internal/limits"
	"hdb/internal/spelling"
	"hdb/names"
	"hdb/session"
	"hdb/session/target"
)

const usage = `hdb stops on allocations, records them, and answers questions about the heap.

usage:
  hdb [flags] PROG [ARGS...]       console, program loaded and not yet started
  hdb [flags] attach PID           console on a running process
  hdb [flags] core [PROG] CORE     console on the core file of a process that died
  hdb [flags] CAPTURE              console on a saved session, as hdb open CAPTURE
  hdb COMMAND [ARGS...] CAPTURE    run one console command on a capture:
                                   hdb top run.hdb, hdb leaks 5 run.hdb, hdb allocs run.hdb
  hdb leaks [ARGS...] -- PROG [ARGS...]   show the blocks that nothing points to when a program exits
  hdb record [-o FILE] PROG [ARGS...]
  hdb record [-o FILE] -p PID      record without a console: see hdb record --help
  hdb live PROG [ARGS...]          a screen of what a program allocates while it runs,
  hdb live -p PID                  function by function: see hdb live --help
  hdb symbolize -e FILE [ADDR...]  file and line of addresses, like addr2line; with
                                   -f -i -C also functions: see hdb symbolize --help
  hdb doctor PROG | PID | CAPTURE  which names and lines are missing, and how to
                                   get them; without arguments, what the machine
                                   lacks: see hdb doctor --help
  hdb py PID | CORE                show the Python stacks of a program's threads: see
                                   hdb py --help
  hdb header|python-module [DIR]   hdb.h and hdb_mark.py, with which programs set marks
                                   and describe their pools: see hdb header --help
  hdb export FORMAT CAPTURE        write a capture for other tools, such as pprof: see
                                   hdb export --help
  hdb assert LIMITS CAPTURE        check memory against limits, in CI: exit code 3 if
  hdb assert LIMITS -- PROG [ARGS...]   one does not hold; see hdb assert --help
  hdb capture VERB CAPTURE...      check, repair, trim, merge and anonymize captures, and
                                   show what is in them: see hdb capture --help
  hdb stats|summary|tree|timeline CAPTURE   reports on what was allocated: see
                                   hdb tree --help and the like
  hdb flamegraph CAPTURE           write a flame graph for a browser: see
                                   hdb flamegraph --help
  hdb table CAPTURE                functions with what they allocated, as text or as an
                                   HTML page: see hdb table --help
  hdb completion bash|zsh|fish     completion of command lines: see hdb completion --help

flags, with one dash or two:
  -x FILE     run the commands of FILE up to its first error
  -ex CMD     run CMD; -x and -ex may be repeated: they run in order, each even if
              an earlier one failed
  -batch      no prompt, no questions, no colour; exit after the commands
  -nx         read no configuration and no project file
  -q          no greeting
  --json      one JSON object per result
  -p PID      attach
  --args      the rest is PROG [ARGS...]
  -iex CMD    run CMD before PROG is loaded; -ix FILE the commands of FILE
  -c CORE     open a core file
  -d DIR      search for sources in DIR, too
  -tui        split the screen
  -nh         do not read the user's configuration
  -cd DIR     working directory of PROG       -tty DEV  terminal of PROG
  --echo      print each command of standard input before its output
  --return-child-result                       exit with PROG's own status
  --version   this hdb's version
  --help      this text; after a command its help, as hdb help COMMAND

exit codes: 0 all commands ran, 1 one failed, 2 usage, 3 an assertion failed,
4 cannot begin: no such program, process or capture, or it cannot be used,
5 the program was killed by a signal, or is stopped at a fatal one,
6 an assertion is undecided
`

const openUsage = `hdb open starts the console on a saved session; it needs neither the program nor its
source.

usage:
  hdb [flags] open CAPTURE [flags]
  hdb [flags] CAPTURE [flags]

flags:
` + openFlags + `
In the console, help lists the commands: summary, top, leaks and allocs work as for a
process; goto, prev-alloc and reverse-continue move within the recording.

A single command needs no console: hdb leaks pages.hdb.

example:
  hdb open pages.hdb -batch -ex 'goto peak' -ex leaks
` + openCodes

const attachUsage = `hdb attach starts the console on a running process, as hdb -p PID does.

usage:
  hdb [flags] attach PID [flags]

flags:
` + openFlags + `
example:
  hdb -batch -ex bt attach 4711
` + openCodes

const coreUsage = `hdb core starts the console on a core file: the process as it was when it died, with its
threads, stacks and memory. It cannot be continued; run starts the program again.

usage:
  hdb [flags] core [PROG] CORE [flags]

Without PROG the program is the file that the core names. Its build ID must match
the core's.

flags:
` + openFlags + `
examples:
  hdb core ./server core.4711
  hdb core core.4711 -batch -ex 'thread apply all bt'
` + openCodes

const openFlags = `  -batch      no prompt, no questions, no colour; exit after the commands
  -ex CMD     run CMD        -x FILE   run the commands of FILE; both repeatable, in order
  --json      one JSON object per result      -q, -nx   and the others of hdb --help
`

const openCodes = `
exit codes: 0 all commands ran, 1 one failed, 2 usage, 3 an assertion failed,
4 cannot begin: no such process or capture, or it cannot be used, 5 the program was
killed by a signal, or is stopped at a fatal one, 6 an assertion is undecided
`

// Exit codes that main itself decides.
const (
	exitUsage  = desk.ExitUsage
	exitTarget = desk.ExitLaunch
)

func main() {
	// ptrace belongs to one thread: the console, the session and the engine
	// stay on this one.
	runtime.LockOSThread()
	if len(os.Args) > 1 && os.Args[1] == guardFlag {
		os.Exit(guard(os.Args[2:]))
	}
	surviveBrokenPipes()
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// surviveBrokenPipes makes a write to a closed pipe fail with EPIPE instead of killing hdb: then
// its exit code says so, and no int3 is left in an attached process. SIGPIPE is not ignored,
// because programs that hdb starts would inherit that.
func surviveBrokenPipes() {
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
}

func run(argv []string, in *os.File, out, errw io.Writer) int {
	if len(argv) > 0 && argv[0] == "--complete" {
		return complete(argv[1:], in, out)
	}
	if len(argv) > 0 && argv[0] == "symbolize" {
		return symbolize(argv[1:], in, out, errw)
	}
	o, err := parseFlags(argv)
	if err == nil {
		err = machine.Check()
	}
	if err != nil {
		return fail(errw, err, exitUsage)
	}
	switch {
	case o.help:
		return printText(out, errw, usage)
	case o.command("help"):
		return help(o.words[1:], in, out, errw)
	case o.command("open") && wantsHelp(o.words[1:]):
		return printText(out, errw, openUsage)
	case o.command("core") && wantsHelp(o.words[1:]):
		return printText(out, errw, coreUsage)
	case o.command("attach") && wantsHelp(o.words[1:]):
		return printText(out, errw, attachUsage)
	case o.command("version") && !isHere("version") && wantsHelp(o.words[1:]):
		return printText(out, errw, usage)
	case o.command("version") && len(o.words) > 1 && !isHere("version"):
		return fail(errw, fmt.Errorf("version takes no arguments: %q: %w", o.words[1], errUsage), exitUsage)
	case o.version, o.command("version") && !isHere("version"):
		return printText(out, errw, fullVersion()+"\n")
	case o.docs:
		return docs(out, errw)
	case o.manual != "":
		return writeManual(o.manual, in, errw)
	}
	for word, verb := range verbs() {
		if o.command(word) {
			return verb(o, in, out, errw)
		}
	}
	if o.wantsCommandHelp() {
		return help(o.words[:1], in, out, errw)
	}
	if err := o.settle(); err != nil {
		return fail(errw, err, exitUsage)
	}
	return converse(o, in, out, errw)
}

// A verb answers and ends, without a console, and returns the exit code.
type verb func(o *options, in *os.File, out, errw io.Writer) int

// verbs are those of the command line, but for symbolize, whose flags are addr2line's.
func verbs() map[string]verb {
	printing := func(f func(o *options, out, errw io.Writer) int) verb {
		return func(o *options, _ *os.File, out, errw io.Writer) int { return f(o, out, errw) }
	}
	// Those that read a whole capture need much memory for a short time.
	reading := func(f func(o *options, out, errw io.Writer) int) verb {
		return func(o *options, _ *os.File, out, errw io.Writer) int {
			collectLate()
			return f(o, out, errw)
		}
	}
	all := map[string]verb{
		"record": printing(record), "live": live, "doctor": printing(doctor), "py": printing(showPython), "capture": printing(captures), "completion": printing(completion),
		"assert": reading(assert), "export": reading(export), "flamegraph": reading(page), "table": reading(page),
	}
	for _, word := range allocs.Reports {
		all[word] = reading(reports)
	}
	for word, verb := range givenVerbs() {
		all[word] = printing(verb)
	}
	return all
}

// fail prints an error and returns the exit code, which alone tells that the reader of the output is gone.
func fail(w io.Writer, err error, code int) int {
	if screen.Unread(err) {
		return code
	}
	fmt.Fprintf(w, "error: %s\n", screen.Clean(err.Error()))
	return code
}

// warn prints a line about what went wrong and does not end the command.
func warn(w io.Writer, line string) { fmt.Fprintf(w, "warning: %s\n", screen.Clean(line)) }

// guardCommand starts this program as a guard, nil if it cannot be found.
func guardCommand() []string {
	self, err := os.Executable()
	if err != nil {
		return nil
	}
	return []string{self, guardFlag}
}

// docs prints docs/commands.md.
func docs(out, errw io.Writer) int {
	return printText(out, errw, console.Markdown())
}

// converse prepares the session that the command line asks for, and lets the
// console talk.
func converse(o *options, in *os.File, out, errw io.Writer) int {
	var c *console.Console
	s := session.New(target.Config{Version: version(), Guard: guardCommand(), Cache: cache(), DropsTyped: line.DropsTyped(in),
		Notify: func(line string) { c.Notify(line) }, Print: func(texts ...string) { c.Print(texts...) }, Fetched: func(f names.Fetched) { c.Fetched(f) }})
	s.Traces.Reported = func(t session.Traced) { c.Traced(t) }
	// The console closes the session; this is for an attach that ended halfway and
	// for a panic, which must not leave traps in the process.
	defer s.Close()
	if o.tui && !o.batch {
		o.startup = append([]shell.Startup{{Text: "tui enable"}}, o.startup...)
	}
	cfg := console.Config{
		Options: shell.Options{Out: out, Err: errw, Startup: o.startup, Version: version(),
			Echo: o.echo, Batch: o.batch, JSON: o.json, Quiet: o.quiet || o.batch},
		Session: s, Early: o.early, NoInit: o.noInit, NoHome: o.noHome, ReturnChildResult: o.returnChildResult, Finish: o.finish,
	}
	if !o.batch {
		cfg.In = line.NewReader(in, os.Stdout)
		defer cfg.In.Close()
	}
	s.Settings.Dir, s.Settings.TTY = o.dir, o.tty
	var refused error
	var code int
	cfg.Begin = func() error {
		code, refused = loadTarget(s, c, o)
		return refused
	}
	c = console.New(cfg)
	ended := c.Run()
	if refused != nil {
		return fail(errw, refused, code)
	}
	return ended
}

// target loads, attaches or opens what the command line names.
func loadTarget(s *session.Session, c *console.Console, o *options) (int, error) {
	words := o.words
	switch {
	case o.pid != 0 && o.core != "":
		return exitUsage, fmt.Errorf("-p and -c: a process or a core file: %w", errUsage)
	case o.pid != 0:
		return exitTarget, c.Attach(o.pid)
	case o.core != "" && len(words) > 1:
		return exitUsage, fmt.Errorf("-c %s: one program at most, not %d words: %w", o.core, len(words), errUsage)
	case o.core != "":
		return exitTarget, c.Core(o.core, strings.Join(words, ""))
	case o.asked != "":
		_, err := s.Captures.Open(o.asked) // what there is to say of it is not what was asked
		return exitTarget, err
	case len(words) == 0:
		c.Greet()
		return 0, nil
	case o.args:
	case words[0] == "attach" && len(words) == 2:
		if err := o.setPID(words[1]); err != nil {
			return exitUsage, fmt.Errorf("%w: %w", err, errUsage)
		}
		return exitTarget, c.Attach(o.pid)
	case words[0] == "open" && len(words) == 2:
		return exitTarget, c.Open(words[1])
	case words[0] == "core" && len(words) == 2:
		return exitTarget, c.Core(words[1], "")
	case words[0] == "core" && len(words) == 3:
		program, core := words[1], words[2]
		if corefile.Is(program) && !corefile.Is(core) {
			program, core = core, program
		}
		return exitTarget, c.Core(core, program)
	case words[0] == "attach", words[0] == "open", words[0] == "core":
		return exitUsage, wrongWords(words)
	case len(words) == 2 && corefile.Is(words[1]): // as gdb takes it
		return exitTarget, c.Core(words[1], words[0])
	}
	if err := o.meansCommand(); err != nil {
		return exitUsage, err
	}
	if err := c.Load(words[0]); err != nil {
		if near := spelling.Nearest(words[0], firstWords()); near != "" && !o.args && !isProgram(words[0]) {
			err = fmt.Errorf("%w: did you mean hdb %s?", err, near)
		}
		return exitTarget, err
	}
	s.Settings.Args = quoteArgs(words[1:])
	if o.finish {
		return exitTarget, s.Recorder.Start()
	}
	return 0, nil
}

// wrongWords is the error for words behind open or attach that are not one.
func wrongWords(words []string) error {
	verb, rest := words[0], words[1:]
	if verb == "core" {
		return fmt.Errorf("core: a program and a core file, or the core alone, not %d words: see hdb core --help", len(rest))
	}
	return fmt.Errorf("%s: one argument, not %d: see hdb %s --help", verb, len(rest), verb)
}

// quoteArgs writes arguments so that they are read back as they are.
func quoteArgs(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
	}
	return strings.Join(quoted, " ")
}
