package target

import (
	"errors"
	"regexp"

	"hdb/inferior"
	"hdb/internal/diskcache"
	"hdb/names"
)

// Locking says when the selected thread runs alone, in the words of gdb's scheduler-locking.
type Locking string

const (
	LockOff    Locking = "off"    // never
	LockOn     Locking = "on"     // whenever the program continues
	LockStep   Locking = "step"   // during step, next, stepi and nexti
	LockReplay Locking = "replay" // while instructions are replayed, which hdb does not do
)

// ProbeMode says whether allocator calls are followed inside the process.
type ProbeMode string

// The modes.
const (
	ProbeAuto ProbeMode = "auto" // where it can be done, else by plain breakpoints
	ProbeOn   ProbeMode = "on"   // or not at all
	ProbeOff  ProbeMode = "off"  // by plain breakpoints
)

// Config says how a session is wired to its user.
type Config struct {
	Version string       // of hdb, kept in captures
	Notify  func(string) // one line about something that happened on the way; may be nil
	// Print receives what dprintf prints, rather than Notify, when it is set.
	Print func(texts ...string)
	// Guard is the command line of a process that takes traps and probes out of a
	// program that outlives hdb, should hdb be killed; see inferior.Process.Guard.
	Guard []string
	// Forked is called for children that run free, rather than Notify, when it is set.
	Forked func(inferior.Birth)
	// Signal is called for signals whose policy is print without stop, rather than Notify, when it
	// is set.
	Signal func(*inferior.Signal)
	// Fetched receives what debuginfod servers have sent, on any goroutine, rather than Notify,
	// when it is set.
	Fetched func(names.Fetched)
	// DropsTyped is how the user has the terminal: see inferior.Config.
	DropsTyped bool
	// Cache keeps what takes long to find out of files; nil keeps nothing.
	Cache *diskcache.Dir
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
	Outlive     bool   // not kill-on-exit: a launched program continues without hdb
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
	PastMain         bool // stacks continue to the callers of the program's main function
}

// Errors that callers distinguish.
var (
	ErrNotRunning = errors.New("no process: use run, start or attach")
	ErrPast       = errors.New("the view is in the past: return with goto now")
	ErrNotStopped = errors.New("the program runs: interrupt stops it")
	ErrNoProgram  = errors.New("no program: use file, attach or open")
	ErrRunning    = errors.New("a process is already under hdb: kill or detach it first")
	ErrSaved      = errors.New("this is a capture, not a process: nothing runs")
	ErrNoStack    = errors.New("no stack: nothing is selected")
)

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

// WrongFreeMode says what happens at a call that returns what is not a block.
type WrongFreeMode string

// The modes.
const (
	WrongFreesStop   WrongFreeMode = "stop"   // the program stops before the call runs
	WrongFreesReport WrongFreeMode = "report" // a line says it
	WrongFreesOff    WrongFreeMode = "off"    // it is not looked at
)

// ErrCoreOpen is the error of verbs that a core file is in the way of.
var ErrCoreOpen = errors.New("a core file is open: core-file without arguments closes it")
