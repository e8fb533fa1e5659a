package session

import (
	"errors"
	"regexp"
	"strings"

	"hdb/capture"
	"hdb/inferior"
	"hdb/internal/diskcache"
	"hdb/names"
	"hdb/query"
	"hdb/recording"
	"hdb/unwind"
)

// Config says how a session is wired to its user.
type Config struct {
	Version string       // of hdb, kept in captures
	Notify  func(string) // one line about something that happened on the way; may be nil
	// Print is told what dprintf prints, rather than Notify, when it is set.
	Print func(texts ...string)
	// Traced is told of each call and return that a trace is about; may be nil.
	Traced func(Traced)
	// Guard is the command line of a process that takes traps and probes out of a
	// program that outlives hdb, should hdb be killed; see inferior.Process.Guard.
	Guard []string
	// Forked is told of children that run free, rather than Notify, when it is set.
	Forked func(inferior.Birth)
	// Signal is told of signals whose policy is print without stop, rather than
	// Notify, when it is set.
	Signal func(*inferior.Signal)
	// Fetched is told what debuginfod servers have sent, on any goroutine, rather than
	// Notify, when it is set.
	Fetched func(names.Fetched)
	// DropsTyped is how the user has the terminal: see inferior.Config.
	DropsTyped bool
	// Cache keeps what takes long to find out of files; nil keeps nothing.
	Cache *diskcache.Dir
}

// A Session is one program under the debugger, from loading to quitting, or one saved
// capture. Its own methods load, start and end the program; the verbs of everything else
// are those of its parts.
type Session struct {
	Settings Settings

	Goroutines     *Goroutines     // of a Go program
	Selection      *Selection      // the selected thread, stack and frame
	Memory         *Memory         // the inferior's memory, and addresses as typed
	Locations      *Locations      // places in the code as typed, and source lines
	Values         *Values         // variables and expressions
	Patterns       *Patterns       // the bytes that expressions name
	Scopes         *Scopes         // the variables that code can name
	Symbols        *Symbols        // the files that names come from
	Python         *Python         // the functions of Python that threads are in
	PythonStepping *PythonStepping // steps in them
	Cython         *Cython         // functions and variables of the sources of Cython

	PythonHeaps PythonHeaps   // the heaps of CPython's allocator of small blocks
	Objects     PythonObjects // the objects of Python

	Heap          *Heap          // what the memory of the process holds
	Mallocs       *Mallocs       // what the allocators of C have
	BlockTypes    *BlockTypes    // of which types its blocks are
	GoCollections *GoCollections // of its garbage, in a Go program

	Conditions *Conditions // what is wrong or in doubt with conditions
	Stops      *Stops      // the numbered stops
	Traces     *Traces     // numbered stops that tell of calls and go on
	Catches    *Catches    // the signals, forks, system calls and the like that stop the program
	Execution  *Execution  // running the program
	Stepping   *Stepping   // stepping one of its threads
	Cores      *Cores      // core files

	Allocators *Allocators // the allocator functions
	Planes     *Planes     // the probe, or the breakpoints, that follow their calls
	Recorder   *Recorder   // recording the calls
	ConsoleLog *ConsoleLog // what was typed and printed

	Recorded *Recorded // the recording that can be asked: of the process, or the capture
	Queries  *Queries  // questions to it
	Travel   *Travel   // moments of it
	Captures *Captures // opening and saving it

	*common
	*account
	walker *walker
	demand *demand
	likes  *likes
}

// Settings are what `set` changes; they hold from the next run or stop on.
type Settings struct {
	Args        string            // the program's arguments and redirections, as typed
	Env         map[string]string // set environment; on top of hdb's own
	UnsetEnv    map[string]bool
	Dir         string // working directory of the inferior, "" is hdb's
	TTY         string // inferior-tty
	Apart       bool   // the inferior has no controlling terminal
	KeepASLR    bool   // not disable-randomization
	FollowChild bool   // follow-fork-mode child
	KeepForks   bool   // not detach-on-fork
	Outlive     bool   // not kill-on-exit: a launched program goes on without hdb
	MaxDepth    int    // frames of a recorded stack
	Probe       ProbeMode
	SystemCalls bool // follow mmap and its family by system call, too
	WrongFrees  WrongFreeMode
	// PythonAllocators has CPython's own allocators followed, whose arenas hide most blocks.
	PythonAllocators bool
	names.Settings
	Wrappers  *regexp.Regexp // functions that only allocate for their callers; nil: none, see ApplyAttribution
	Libraries *regexp.Regexp // frames of libraries; nil: none, see ApplyAttribution
	Locking   Locking        // scheduler-locking: whether other threads run, too
	// NoWatchRegisters has memory watched by single steps: not can-use-hw-watchpoints.
	NoWatchRegisters bool
	StepIntoBare     bool // step-mode: step stops in functions without line information
	PastMain         bool // stacks go on to the callers of the program's main function
}

// Errors that callers tell apart.
var (
	ErrNotRunning = errors.New("no process: use run, start or attach")
	ErrPast       = errors.New("the view is in the past: goto now leads back")
	ErrNotStopped = errors.New("the program runs: interrupt stops it")
	ErrNoProgram  = errors.New("no program: use file, attach or open")
	ErrRunning    = errors.New("a process is already under the debugger: kill or detach it first")
	ErrSaved      = errors.New("this is a capture, not a process: nothing runs")
	ErrNoStack    = errors.New("no stack: nothing is selected")
)

// New is an empty session.
func New(cfg Config) *Session {
	if cfg.Notify == nil {
		cfg.Notify = func(string) {}
	}
	if cfg.Print == nil {
		cfg.Print = func(texts ...string) { cfg.Notify(strings.TrimSuffix(strings.Join(texts, ""), "\n")) }
	}
	s := &Session{
		common: &common{cfg: cfg, golang: &goRuntime{}},
		Settings: Settings{
			Env: map[string]string{}, UnsetEnv: map[string]bool{},
			Wrappers: regexp.MustCompile(query.DefaultWrappers), Libraries: regexp.MustCompile(query.DefaultLibraries), MaxDepth: 2048, Probe: ProbeAuto, WrongFrees: WrongFreesStop, Locking: LockOff, Settings: names.Settings{DebugDirs: []string{"/usr/lib/debug"}},
		},
	}
	s.settings = &s.Settings
	s.attribution = query.NewAttribution(s.Settings.Wrappers, s.Settings.Libraries)
	s.names = s.newNames()
	s.wire()
	return s
}

// wire makes the parts, those first that others ask.
func (s *Session) wire() {
	c := s.common
	s.likes = newLikes(c)
	s.account = &account{rec: recording.New(recordedProcess{c, s.likes})}
	s.demand = &demand{account: s.account, binds: map[int]*binding{}}
	s.walker = &walker{c, unwind.NewWalker(s.names.Modules)}

	s.Goroutines = &Goroutines{common: c, walker: s.walker}
	s.Selection = &Selection{common: c, walker: s.walker, demand: s.demand, goroutines: s.Goroutines}
	s.Memory = &Memory{c, s.Selection}
	s.Locations = &Locations{c, s.Selection, s.Memory}
	s.Values = newValues(c, s.Selection)
	s.Patterns = &Patterns{s.Values}

	s.Allocators = &Allocators{common: c, loc: s.Locations}
	s.Planes = newPlanes(c, s.account, s.walker, s.demand, s.likes, s.Allocators, s.Values)
	s.Scopes = &Scopes{c, s.Locations, s.Values}
	s.Conditions = &Conditions{c, s.account, s.Values, s.Allocators, s.likes}
	s.Stops = &Stops{
		common: c, account: s.account, demand: s.demand, sel: s.Selection, loc: s.Locations, values: s.Values,
		conditions: s.Conditions, allocators: s.Allocators, likes: s.likes, planes: s.Planes,
	}
	s.Stops.python = newPythonStops(c, s.Stops)
	s.Traces = &Traces{c, s.demand, s.Selection, s.Values, s.Planes, s.Stops}
	s.Stops.traced, s.Stops.traceExits, s.Stops.entered = s.Traces.arrived, s.Traces.followExits, s.Traces.entered

	s.ConsoleLog = &ConsoleLog{common: c, account: s.account}
	s.Recorder = &Recorder{common: c, account: s.account, sel: s.Selection, planes: s.Planes, console: s.ConsoleLog}
	s.Planes.told.selected = s.Recorder.noteSelection
	s.Planes.failed = s.Recorder.failed

	s.Catches = &Catches{common: c, stops: s.Stops, policy: map[string]inferior.Policy{}}
	s.Execution = &Execution{
		common: c, account: s.account, demand: s.demand, sel: s.Selection, loc: s.Locations,
		planes: s.Planes, stops: s.Stops, recorder: s.Recorder, ended: func() { s.forget(programGone) },
	}
	s.Stepping = &Stepping{common: c, sel: s.Selection, loc: s.Locations, values: s.Values, exec: s.Execution}
	s.Values.w.Call = (&functionCalls{c, s.Selection, allocatorSymbols{c, s.Allocators}, s.Execution, s.Stepping, s.Values}).call

	s.Cores = &Cores{common: c, sel: s.Selection, walker: s.walker, planes: s.Planes, stops: s.Stops, exec: s.Execution}

	s.Recorded = &Recorded{common: c, account: s.account, recorder: s.Recorder}
	s.Recorder.status = s.Recorded.Status
	s.BlockTypes = newBlockTypes(c, s.Recorded, s.Values)
	s.Queries = &Queries{c, s.Recorded, s.likes, s.Allocators, s.BlockTypes}
	s.Planes.wrong.blocks, s.Planes.states.recorded = s.Queries.blockEvents, s.Queries.blockEvents
	s.Travel = &Travel{common: c, sel: s.Selection, demand: s.demand, recorded: s.Recorded, queries: s.Queries, types: s.BlockTypes}
	s.Selection.source = s.Recorded.source
	s.Captures = &Captures{common: c, sel: s.Selection, recorded: s.Recorded, console: s.ConsoleLog}
	s.Symbols = &Symbols{c, s.Selection, s.Stops, s.Recorded}
	s.Python = &Python{c, s.Selection}
	s.PythonHeaps = PythonHeaps{s.Python}
	s.Objects = PythonObjects{s.Python}
	s.Heap = &Heap{
		common: c, recorded: s.Recorded, queries: s.Queries, values: s.Values, types: s.BlockTypes,
		space:  &heapSpace{c, s.Planes, s.PythonHeaps, s.walker},
		places: &placeNames{common: c, values: s.Values, walker: s.walker},
	}
	s.Mallocs = &Mallocs{c, s.Heap, s.Recorded, s.Queries}
	older := &olderBlocks{common: c, allocator: s.Heap.allocator}
	s.BlockTypes.heap = s.Heap
	s.GoCollections = &GoCollections{common: c, sel: s.Selection, exec: s.Execution, heap: s.Heap}
	s.Planes.data.older = older.all
	s.Planes.wrong.free, s.Planes.wrong.before = older.free, older.freeBefore
	s.Cython = &Cython{c, s.Selection, s.Values, s.Python, s.Stepping}
	s.Execution.python, s.Execution.mallocs = s.Python, s.Mallocs
	s.PythonStepping = &PythonStepping{c, s.Selection, s.Execution, s.Python, s.Stops.python}
}

// ApplyAttribution makes changed Settings.Wrappers and Settings.Libraries hold. What was
// said of stacks by the old ones is forgotten, in the process too.
func (s *Session) ApplyAttribution() error {
	s.exclusive(func() {
		before := s.attribution
		s.attribution = query.NewAttribution(s.Settings.Wrappers, s.Settings.Libraries)
		s.attribution.Inherit(before)
		s.rec.ForgetAnswers()
	})
	if s.proc == nil {
		return nil
	}
	return s.Planes.arm()
}

// Mode is what the session is about.
type Mode uint8

// The modes.
const (
	Empty  Mode = iota // nothing loaded
	Loaded             // a program that does not run
	Live               // a process, stopped
	Saved              // a capture
	Core               // what a core file has of a process
)

// Readable tells that there are threads and memory to read.
func (m Mode) Readable() bool { return m == Live || m == Core }

// Mode tells what can be asked.
func (s *Session) Mode() Mode { return s.mode() }

// Recalled tells that what is selected is an event as it was recorded: of a capture, or of
// the recording of the process, whose past the view is in.
func (s *Session) Recalled() bool { return s.recalled() }

// Within has the verbs read recordings only until the reading is given up, nil always
// to the end, and returns what they did before. What they return of a reading that was
// cut is no answer; nothing that stays is made of it.
func (s *Session) Within(r *capture.Reading) (before *capture.Reading) {
	if before = s.within(r); before.Cut() != nil {
		s.Heap.forget()
	}
	return before
}

// Interrupt stops the running inferior, or does nothing when it is stopped, and gives
// up a download that is waited for. Any goroutine may call it.
func (s *Session) Interrupt() error { return s.interrupt() }

// Process is what `info inferiors` shows; ok is false without a process.
func (s *Session) Process() (pid int, exe string, attached, ok bool) {
	if s.proc == nil {
		return 0, "", false, false
	}
	return s.proc.PID(), s.proc.Exe(), s.proc.Attached(), true
}

// Runs is the error of verbs that run or change a process, nil if they can.
func (s *Session) Runs() error { return s.live() }

// Beside has f run on the session's goroutine while the process runs: soon, and
// without a stop. Any goroutine may call it. It is not run if the process ends
// before. Verbs that need a stopped process refuse meanwhile, questions to the recording are
// answered as of now.
func (s *Session) Beside(f func()) {
	if p := s.target.Load(); p != nil {
		p.Wake(func() {
			s.beside = true
			defer func() { s.beside = false }()
			f()
		})
	}
}

// Going reports whether the process runs. Any goroutine may call it.
func (s *Session) Going() bool { return s.going.Load() }

// KeepTerminal has the process, and those started later, run in the background of hdb's
// terminal.
func (s *Session) KeepTerminal(keep bool) {
	s.keepTerminal = keep
	if s.proc != nil {
		s.proc.KeepTerminal(keep)
	}
}
