package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"time"

	"hdb/breakpoints"
	"hdb/capture/file"
	"hdb/console/allocs"
	"hdb/console/desk"
	"hdb/console/screen"
	"hdb/inferior"
	"hdb/internal/cond"
	"hdb/internal/flags"
	"hdb/internal/outfile"
	"hdb/internal/panics"
	"hdb/internal/regular"
	"hdb/internal/units"
	"hdb/recording"
	"hdb/report"
	"hdb/session"
	"hdb/session/recordings"
	"hdb/session/stopped"
	"hdb/session/target"
)

const recordUsage = `hdb record writes every allocation event of a program to a file, without a console.

usage:
  hdb record [flags] PROG [ARGS...]
  hdb record [flags] -p PID

flags, with one dash or two:
  -o FILE         the capture; by default PROG.PID.hdb in the working directory
  -f, --force     replace FILE
  --alloc SPEC    also record calls of a function of PROG's own, as with the console's
                  alloc add: 'Pool::get size=ARG2 ptr=RET'; may be repeated
  --filter COND   record only events that match, and the frees of their blocks
  --duration D    record for this time (10s, 5m), then let the program run on; hdb waits
                  for the end of a program that it started
  --max-depth N   largest number of frames in a stack, by default 2048; at most 4095
                  for the probe, hdb's code inside the process
` + desk.PausedFlag + desk.PythonFlag + `  --system-calls  also record the system calls mmap, munmap, mremap and brk that PROG makes
                  without libc's functions; each system call then costs two stops
` + desk.BoundFlags + `  -q              no progress, no summary
  --return-child-result
                  exit with PROG's own status, 128+N for signal N

The program inherits hdb's standard input, output and error; hdb itself writes only to
standard error. Ctrl-C reaches the program, which may handle it; a second one within two
seconds kills it. SIGTERM and the like reach it too; a second one kills it; after a
third, hdb exits without completing the file. A process attached with -p keeps running.

exit codes: 0 recorded, whatever PROG's own status, 1 the recording failed later,
2 usage, 4 cannot begin: no such program or process, or FILE cannot be made,
5 PROG was killed by a signal
`

// recordOptions are the command line of hdb record.
type recordOptions struct {
	file     string
	force    bool
	filter   string
	allocs   []string // functions of the program's own
	duration time.Duration
	depth    int // frames of a stack, 0 for the session's setting
	bounds   recording.Bounds
	pid      int
	quiet    bool
	status   bool // --return-child-result
	syscalls bool
	python   bool // CPython's own allocators, too
	paused   bool // nothing, until the program says so
	walks    bool // what a program has lost at its end is asked for, though nothing may be recorded
	help     bool
	words    []string // the program and its arguments
}

func parseRecordFlags(argv []string) (*recordOptions, error) {
	o := &recordOptions{}
	var err error
	if o.words, err = flags.Program(argv, o.flag); err != nil {
		return nil, fmt.Errorf("%w: %w", err, errRecordUsage)
	}
	switch {
	case o.help:
	case o.pid != 0 && len(o.words) > 0:
		return nil, fmt.Errorf("record: -p PID and a program: %w", errRecordUsage)
	case o.pid == 0 && len(o.words) == 0:
		return nil, fmt.Errorf("record: PROG or -p PID is missing: %w", errRecordUsage)
	}
	if err := o.bounds.Check(); err != nil {
		return nil, fmt.Errorf("%w: %w", err, errRecordUsage)
	}
	return o, nil
}

var errRecordUsage = errors.New("see hdb record --help")

func (o *recordOptions) flag(name string) flags.Flag {
	switch name {
	case "f", "force":
		return flags.On(&o.force)
	case "q", "quiet", "silent":
		return flags.On(&o.quiet)
	case "return-child-result":
		return flags.On(&o.status)
	case "aggregate":
		return flags.On(&o.bounds.Aggregate)
	case "system-calls":
		return flags.On(&o.syscalls)
	case "python-allocators":
		return flags.On(&o.python)
	case "paused":
		return flags.On(&o.paused)
	case "h", "help":
		return flags.On(&o.help)
	case "o", "output":
		return flags.Text(&o.file)
	case "filter":
		return flags.Text(&o.filter)
	case "alloc":
		return flags.Value(func(spec string) error {
			o.allocs = append(o.allocs, spec)
			_, err := breakpoints.ParseFunction(spec)
			return err
		})
	case "duration":
		return flags.Value(desk.ParseDuration(&o.duration))
	case "max-depth":
		return numberFlag(&o.depth, "number of frames")
	case "p", "pid":
		return pidFlag(&o.pid)
	}
	return flags.Value(desk.ParseBound(&o.bounds, name)) // none, if it is nil
}

// pidFlag takes the ID of a process.
func pidFlag(pid *int) flags.Flag { return numberFlag(pid, "process ID") }

// numberFlag takes a number above 0, which is called what.
func numberFlag(to *int, what string) flags.Flag {
	return flags.Value(func(value string) error {
		n, err := strconv.Atoi(value)
		if err != nil || n <= 0 {
			return fmt.Errorf("%q is not a %s", value, what)
		}
		*to = n
		return nil
	})
}

// output is the file that the program is recorded to.
func (o *recordOptions) output(program string) outfile.File {
	return outfile.File{Path: o.file, Force: o.force, Inputs: []string{program}}
}

// record is `hdb record`.
func record(all *options, out, errw io.Writer) (code int) {
	o, err := parseRecordFlags(all.words[1:])
	if err != nil {
		return fail(errw, err, exitUsage)
	}
	o.status = o.status || all.returnChildResult
	if o.help {
		return printText(out, errw, recordUsage)
	}
	var filter *cond.Cond
	if o.filter != "" {
		if filter, err = cond.Parse(o.filter); err != nil {
			return fail(errw, fmt.Errorf("--filter: %w", err), exitUsage)
		}
	}
	if o.file != "" {
		program := ""
		if o.pid == 0 {
			program = o.words[0]
		}
		if err := o.output(program).Check(); err != nil {
			return fail(errw, err, exitTarget)
		}
	}
	r := newRecorder(o, errw)
	defer func() { r.withdraw() }()
	defer r.s.Close()
	defer func() {
		if v := recover(); v != nil {
			code = r.crash(panics.Of(v))
		}
	}()
	return r.run(filter)
}

// rescueTime is for how long hdb tries to leave the program in good order after a panic. A
// guard takes its traps out if it does not succeed.
const rescueTime = 10 * time.Second

// crash follows a panic: the file is completed, and the program continues by itself.
func (r *recorder) crash(err *panics.Error) int {
	defer time.AfterFunc(rescueTime, func() { os.Exit(1) }).Stop()
	r.s.Recorder.Fail(err)
	if again := panics.Catch(func() { r.finish(nil, nil) }); again != nil {
		fail(r.errw, errors.Join(err, again), 1)
	}
	pid, _, _, lives := r.s.Process()
	if again := r.s.Rescue(); again != nil {
		fail(r.errw, again, 1)
	} else if lives {
		r.say(fmt.Sprintf("process %d runs on", pid))
	}
	return 1
}

// newRecorder has a session of its own, which the caller closes.
func newRecorder(o *recordOptions, errw io.Writer) *recorder {
	r := &recorder{o: o, errw: errw, withdraw: func() {}}
	if f, ok := errw.(*os.File); ok && !o.quiet {
		r.progress = desk.NewProgress(f)
	}
	r.s = session.New(target.Config{
		Version: version(), Guard: guardCommand(), Cache: cache(), Notify: r.say, Forked: r.forked,
		Signal: func(sig *inferior.Signal) {
			if sig.Name == "SIGINT" {
				r.signals.seen()
			}
		},
	})
	r.signals.s, r.signals.attached, r.signals.say = r.s, o.pid != 0, r.say
	return r
}

// A recorder records one program. It stays on main's thread, except the goroutine that listens to
// signals.
type recorder struct {
	o        *recordOptions
	s        *session.Session
	errw     io.Writer
	progress *desk.Progress
	file     string               // that is being written
	withdraw func()               // removes it if nothing could be
	forks    int                  // children that run free
	lost     *report.Numbers      // what a walk of the heap has found lost before the program's end; nil: there was none
	ended    *inferior.ExitStatus // of the program, when the recording lasted to it or could not be written
	signals  recordSignals
	mu       sync.Mutex // guards the output of say and show
}

// say prints a line about what happens on the way.
func (r *recorder) say(line string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.progress.Clear()
	fmt.Fprintf(r.errw, "hdb: %s\n", screen.Clean(line))
}

// clear takes the progress away.
func (r *recorder) clear() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.progress.Clear()
}

// forked says of the first child that it is not recorded, and counts them all.
func (r *recorder) forked(b inferior.Birth) {
	forked := "forked"
	if b.VFork {
		forked = "vforked"
	}
	r.forks++
	if r.forks == 1 && !r.o.quiet {
		r.say(fmt.Sprintf("process %d %s %d: children are not recorded; `hdb record -p PID` records one", b.Parent, forked, b.Child))
	}
}

// show brings the progress up to date.
func (r *recorder) show(st recordings.RecordStatus) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.progress.Show(st)
}

// tune has Go's runtime take less of the processors from the program. The goroutine
// that drains the probe's ring keeps one of the Ps while it naps. And a short recording
// does not collect garbage: not before there are 64 MiB, and as ever from then on.
func tune() {
	runtime.GOMAXPROCS(max(runtime.GOMAXPROCS(0), 3))
	if os.Getenv("GOGC") != "" {
		return
	}
	usual := debug.SetGCPercent(1600) // of 4 MiB, see package runtime
	runtime.AddCleanup(new([64]byte), func(percent int) { debug.SetGCPercent(percent) }, usual)
}

// run records until the end of the program or of the recording. Signals are followed
// until signals.stop, which who ends next need not call: it takes its time.
func (r *recorder) run(filter *cond.Cond) int {
	s, o := r.s, r.o
	tune()
	if o.pid == 0 {
		words := interpreted(o.words)
		if _, err := s.Load(words[0]); err != nil {
			return fail(r.errw, err, exitTarget)
		}
		s.Settings.Args = quoteArgs(words[1:])
		if err := r.addFunctions(); err != nil {
			return fail(r.errw, err, exitUsage)
		}
		if err := s.Conditions.CheckTypes(filter); err != nil {
			return fail(r.errw, fmt.Errorf("--filter: %w", err), exitUsage)
		}
	}
	if err := r.passSignals(); err != nil {
		return fail(r.errw, err, 1)
	}
	s.Recorder.BeginPaused(o.paused)
	s.Settings.SystemCalls, s.Settings.PythonAllocators = o.syscalls, o.python
	s.Settings.WrongFrees = target.WrongFreesOff // nothing stops: `hdb wrong-frees` tells afterwards
	if o.depth != 0 {
		s.Settings.MaxDepth = o.depth
	}
	s.Recorder.StreamTo(session.Stream{Open: r.create, Bounds: o.bounds, Full: r.signals.end, Tick: r.show})
	if err := errors.Join(s.Recorder.Start(), s.Recorder.Filter(filter)); err != nil {
		return fail(r.errw, err, 1)
	}
	var err error
	if o.pid != 0 {
		if _, err = s.Attach(o.pid); err == nil {
			s.Conditions.Warn(filter)
			err = errors.Join(s.Conditions.CheckTypes(filter), r.addFunctions())
		}
	} else {
		s.Conditions.Warn(filter)
		_, err = s.StartInstruction(nil)
	}
	if err != nil {
		return fail(r.errw, err, launchCode(err))
	}
	if o.duration > 0 {
		timer := time.AfterFunc(o.duration, func() { r.signals.end() })
		defer timer.Stop()
	}
	return r.follow()
}

// addFunctions has calls of the functions of --alloc be events, and says what they are.
func (r *recorder) addFunctions() error {
	for _, spec := range r.o.allocs {
		f, err := r.s.Allocators.Add(spec)
		if err != nil {
			return fmt.Errorf("--alloc: %w", err)
		}
		for _, line := range allocs.AddedText(f) {
			if !r.o.quiet {
				r.say(line)
			}
		}
		for _, line := range f.Warnings {
			warn(r.errw, line)
		}
	}
	return nil
}

// tellPending warns of functions of --alloc that no module had.
func (r *recorder) tellPending() {
	for _, f := range r.s.Allocators.Pending() {
		line := f.Name + ": no loaded module has it: no call of it is recorded"
		if f.Meant != "" {
			line += "; did you mean " + f.Meant + "?"
		}
		warn(r.errw, line)
	}
}

// interpreted puts the interpreter of a script before its name, as execve(2)
// does; a program that it executes in its place is followed.
func interpreted(words []string) []string {
	path := words[0]
	if info, err := os.Stat(path); (err != nil || info.IsDir()) && !strings.Contains(path, "/") {
		if path, err = exec.LookPath(path); err != nil {
			return words // which loading it will explain
		}
	}
	f, _, err := regular.Open(path)
	if err != nil {
		return words
	}
	defer f.Close()
	head := make([]byte, 256) // BINPRM_BUF_SIZE of linux/binfmts.h
	n, _ := io.ReadFull(f, head)
	line, _, whole := strings.Cut(string(head[:n]), "\n")
	line, script := strings.CutPrefix(line, "#!")
	interpreter, argument, _ := strings.Cut(strings.TrimSpace(line), " ")
	if !script || !whole || interpreter == "" {
		return words
	}
	before := []string{interpreter}
	if argument = strings.TrimSpace(argument); argument != "" {
		before = append(before, argument)
	}
	return append(append(before, path), words[1:]...)
}

// launchCode is the exit code of a program that could not be recorded.
func launchCode(err error) int {
	var launch *inferior.LaunchError
	var attach *inferior.AttachError
	var create createError
	var bound *recording.BoundError
	if errors.As(err, &launch) || errors.As(err, &attach) || errors.As(err, &create) || errors.As(err, &bound) {
		return exitTarget
	}
	return 1
}

// passSignals has all signals reach the program at once, as without hdb.
func (r *recorder) passSignals() error {
	for _, sig := range r.s.Catches.Signals() {
		p := inferior.Policy{Pass: true}
		switch {
		case sig.Name == "SIGINT":
			p.Print = true // for recordSignals
		case sig.Name == "SIGTSTP" && r.o.pid == 0:
			p.Hold = true // or it would stop with the terminal in its hands
		}
		if err := r.s.Catches.HandleSignal(sig.Name, p); err != nil {
			return err
		}
	}
	return nil
}

// follow runs the program until it ends or the recording does.
func (r *recorder) follow() int {
	for !r.signals.over.Load() && r.s.Recorder.Err() == nil {
		rep, err := r.goOn()
		if err != nil {
			return r.finish(nil, err)
		}
		if over(rep) {
			r.signals.runs(0)
			return r.finish(new(rep.Exit()), nil)
		}
		r.suspend(rep)
	}
	return r.leave()
}

func over(rep *stopped.Report) bool {
	return rep.Reason == inferior.Exited || rep.Reason == inferior.Gone
}

// suspend follows a signal that would have suspended the program, as of Ctrl-Z: it is stopped, and so is hdb, until fg.
func (r *recorder) suspend(rep *stopped.Report) {
	if rep.Signal() != nil && rep.Signal().Policy.Hold {
		r.clear()
		desk.Suspend(r.s)
	}
}

// leave ends the recording of a program that lives.
func (r *recorder) leave() int {
	if r.o.pid != 0 {
		pid, err := r.s.Detach()
		code := r.finish(nil, err)
		if err == nil && !r.o.quiet {
			r.say(fmt.Sprintf("process %d runs on; what it had allocated before is not in the recording", pid))
		}
		return code
	}
	code := r.finish(nil, nil)
	if !r.o.quiet && r.s.Recorder.Err() == nil {
		r.say(fmt.Sprintf("the recording has ended, %s runs on: hdb waits for its end", r.name()))
	}
	for {
		rep, err := r.s.Execution.Continue(1)
		if err != nil {
			return fail(r.errw, err, 1)
		}
		if over(rep) {
			r.signals.runs(0)
			if r.s.Recorder.Err() != nil {
				r.ended = new(rep.Exit())
			}
			r.sayEnd(new(rep.Exit()))
			return r.exitCode(code, new(rep.Exit()))
		}
		r.suspend(rep)
	}
}

// name is what the program is called.
func (r *recorder) name() string {
	if len(r.o.words) == 0 {
		return fmt.Sprintf("process %d", r.o.pid)
	}
	return filepath.Base(r.o.words[0])
}

// sayEnd describes an end that is not the usual one: hdb's exit code does not.
func (r *recorder) sayEnd(exit *inferior.ExitStatus) {
	if !r.o.quiet && (exit.Signal != 0 || exit.Code != 0) {
		r.say(r.name() + ": " + exit.String())
	}
}

// finish completes the file and says what is in it.
func (r *recorder) finish(exit *inferior.ExitStatus, runErr error) int {
	r.signals.closing.Store(true)
	st, err := r.s.Recorder.EndStream()
	r.file = cmp.Or(st.Moved, r.file)
	r.signals.closing.Store(false)
	r.clear()
	r.tellPending()
	code := 0
	for _, err := range []error{runErr, err} {
		if err != nil {
			code = fail(r.errw, err, 1)
		}
		if failed := (*panics.Error)(nil); errors.As(err, &failed) {
			fmt.Fprintf(r.errw, "%s\n", failed.Stack)
		}
	}
	switch {
	case r.o.quiet, r.file == "":
	case err != nil:
		r.sayWritten(&st)
	default:
		r.tellBounds(&st)
		summary := desk.RecordSummary(st, r.file)
		if r.forks > 1 {
			summary += fmt.Sprintf("; %d children were not recorded", r.forks)
		}
		r.say(summary)
		if st.HidesPython {
			r.say(allocs.PymallocText)
		}
		if r.o.paused && st.Paused && st.Recorded == 0 {
			r.say("--paused: nothing was recorded: the program never called HDB_RESUME() or hdb_mark.record(): see docs/annotations.md")
		}
		if file.Is(r.file) { // no pipe
			if st.GoHeap && st.LiveBlocks == 0 {
				r.say("what the Go runtime allocates is not in it: started in the console (`hdb PROGRAM`), leaks, live and top per type read Go's heap at any stop")
			}
			if st.Unfollowed {
				r.say("next: `hdb record --alloc 'FUNCTION size=ARG1 ptr=RET' ...` names an allocator function")
			} else {
				r.say(nextCommands(r.file, &st, r.o.python))
			}
		}
	}
	if exit != nil {
		r.ended = exit
		r.sayEnd(exit)
	}
	return r.exitCode(code, exit)
}

// sayWritten tells what the file has that could not be completed.
func (r *recorder) sayWritten(st *recordings.RecordStatus) {
	f, err := file.OpenWhole(r.file)
	if err != nil {
		return // a device, or nothing of use was written
	}
	defer f.Close()
	if n := uint64(f.Len()); !f.Info().Aggregate {
		r.say(fmt.Sprintf("%s: incomplete: %s can be read, %s recorded", r.file, units.Count(n, "event"), units.Count(max(n, st.Recorded+st.Unwritten), "event")))
	}
}

// exitCode is hdb's, when it would have been code without the program's end.
func (r *recorder) exitCode(code int, exit *inferior.ExitStatus) int {
	switch {
	case exit == nil || code != 0:
		return code
	case r.o.status && exit.Signal != 0:
		return 128 + exit.Signal
	case r.o.status:
		return exit.Code
	case exit.Signal != 0:
		return desk.ExitSignal
	}
	return 0
}
