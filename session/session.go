package session

import (
	"hdb/capture"
	"hdb/inferior"
	"hdb/query"
	"hdb/recording"
	"hdb/report"
	"hdb/session/allocators"
	"hdb/session/cpython"
	"hdb/session/heaps"
	"hdb/session/pystops"
	"hdb/session/recordings"
	"hdb/session/stepping"
	"hdb/session/target"
	"hdb/session/variables"
	"hdb/session/view"
)

// A Session is one program under the debugger, from loading to quitting, or one saved
// capture. Its own methods load, start and end the program; the verbs of everything else
// are those of its parts.
type Session struct {
	Settings *target.Settings // of the target

	Goroutines     *view.Goroutines      // of a Go program
	Selection      *view.Selection       // the selected thread, stack and frame
	Folds          view.Folds            // what is shown of the stacks of blocks
	Memory         *view.Memory          // the inferior's memory, and addresses as typed
	Locations      *view.Locations       // places in the code as typed, and source lines
	Values         *variables.Values     // variables and expressions
	Patterns       *variables.Patterns   // the bytes that expressions name
	Scopes         *variables.Scopes     // the variables that code can name
	Symbols        *Symbols              // the files that names come from
	Python         *cpython.Python       // the functions of Python that threads are in
	PythonStepping *pystops.Steps        // steps in them
	Cython         *cpython.Cython       // functions and variables of the sources of Cython
	CythonStepping *stepping.CythonSteps // steps by them

	PythonHeaps cpython.Heaps   // the heaps of CPython's allocator of small blocks
	Objects     cpython.Objects // the objects of Python

	Heap       *heaps.Heap       // what the memory of the process holds
	Mallocs    *heaps.Mallocs    // what the allocators of C have
	BlockTypes *heaps.BlockTypes // of which types its blocks are

	Conditions *Conditions     // what is wrong or in doubt with conditions
	Stops      *Stops          // the numbered stops
	Traces     *Traces         // numbered stops that describe calls and continue
	Catches    *Catches        // the signals, forks, system calls and the like that stop the program
	Execution  *Execution      // running the program
	Stepping   *stepping.Steps // stepping one of its threads
	Cores      *Cores          // core files

	Allocators *allocators.Allocators // the allocator functions
	Planes     *Planes                // the probe, or the breakpoints, that follow their calls
	Recorder   *Recorder              // recording the calls
	ConsoleLog *recordings.ConsoleLog // what was typed and printed

	Recorded *recordings.Recorded // the recording that can be asked: of the process, or the capture
	Queries  *recordings.Queries  // questions to it
	Travel   *Travel              // moments of it
	Captures *recordings.Captures // opening and saving it

	target  *target.Target
	account *target.Account
	walker  *target.Walker
	demand  *demands
	likes   *likenesses
}

// New is an empty session.
func New(cfg target.Config) *Session {
	s := &Session{}
	s.target = target.New(cfg, s.changeNames)
	s.Settings = s.target.Settings
	s.wire()
	return s
}

// wire makes the parts, those first that others ask.
func (s *Session) wire() {
	c := s.target
	s.likes = newLikenesses(c)
	s.account = &target.Account{Rec: recording.New(recordedProcess{c, s.likes})}
	s.demand = &demands{account: s.account, counts: map[int]*counts{}}
	s.walker = target.NewWalker(c)

	s.Goroutines = view.NewGoroutines(c, s.walker)
	s.Selection = view.NewSelection(c, s.walker, s.demand.event, s.Goroutines)
	s.Folds = view.NewFolds(c)
	s.Memory = view.NewMemory(c, s.Selection)
	s.Locations = view.NewLocations(c, s.Selection, s.Memory)
	s.Values = variables.NewValues(c, s.Selection, s.demand)
	s.Patterns = variables.NewPatterns(s.Values)

	s.Allocators = allocators.New(c, s.Locations)
	s.Planes = newPlanes(c, s.account, s.walker, s.demand, s.likes, s.Allocators, s.Values)
	s.Scopes = variables.NewScopes(c, s.Locations, s.Values)
	s.Conditions = &Conditions{c, s.account, s.Values, s.Allocators, s.likes, s.Locations}
	s.Stops = &Stops{
		target: c, account: s.account, demand: s.demand, binds: map[int]*binding{}, sel: s.Selection, loc: s.Locations, values: s.Values,
		conditions: s.Conditions, allocators: s.Allocators, likes: s.likes, planes: s.Planes,
	}
	s.demand.traps, s.demand.calls = s.Stops.traps, s.Stops.leakedCalls
	s.Stops.python = pystops.New(c, pythonHost{s.Stops})
	s.Traces = &Traces{target: c, demand: s.demand, sel: s.Selection, values: s.Values, planes: s.Planes, stops: s.Stops}
	s.Stops.traced, s.Stops.traceExits, s.Stops.entered = s.Traces.arrived, s.Traces.followExits, s.Traces.entered

	s.ConsoleLog = recordings.NewConsoleLog(c, s.account)
	s.Recorder = &Recorder{target: c, account: s.account, sel: s.Selection, planes: s.Planes, console: s.ConsoleLog}
	s.Planes.annotated.selected = s.Recorder.noteSelection
	s.Planes.failed = s.Recorder.failed

	s.Catches = &Catches{target: c, stops: s.Stops, policy: map[string]inferior.Policy{}}
	s.Execution = &Execution{
		target: c, account: s.account, demand: s.demand, sel: s.Selection, loc: s.Locations,
		planes: s.Planes, stops: s.Stops, recorder: s.Recorder, ended: func() { s.forget(programGone) },
	}
	s.Stepping = stepping.New(c, s.Selection, s.Locations, s.Values, s.Execution)
	s.Values.World.Call = (&functionCalls{c, s.Selection, s.Allocators.Symbols(), s.Execution, s.Stepping, s.Values}).call

	s.Cores = &Cores{target: c, sel: s.Selection, walker: s.walker, planes: s.Planes, stops: s.Stops, exec: s.Execution}

	s.Recorded = recordings.NewRecorded(c, s.account, s.Recorder)
	s.Recorder.status = s.Recorded.Status
	s.BlockTypes = heaps.NewBlockTypes(c, s.Recorded, s.Values)
	s.Queries = recordings.NewQueries(c, s.Recorded, recordings.Neighbours{
		Likenesses: &s.likes.Likenesses, Function: s.Allocators.Function, Types: s.BlockTypes.Types, Open: s.openOther,
	})
	s.Planes.wrong.blocks, s.Planes.states.recorded = s.Queries.BlockEvents, s.Queries.BlockEvents
	s.Travel = &Travel{target: c, sel: s.Selection, demand: s.demand, recorded: s.Recorded, queries: s.Queries, types: s.BlockTypes}
	s.Selection.Source = s.Recorded.Source
	s.Captures = recordings.NewCaptures(c, s.Selection, s.Recorded, s.ConsoleLog)
	s.Symbols = &Symbols{c, s.Selection, s.Stops, s.Recorded}
	s.Python = cpython.NewPython(c, s.Selection)
	s.PythonHeaps = cpython.Heaps{Python: s.Python}
	s.Objects = cpython.Objects{Python: s.Python}
	s.Heap = heaps.New(c, s.Recorded, s.Queries, s.Values, s.BlockTypes, s.PythonHeaps, s.walker)
	s.Mallocs = heaps.NewMallocs(s.Heap)
	older := heaps.NewOlderBlocks(s.Heap)
	s.Planes.data.older = older.All
	s.Planes.wrong.free, s.Planes.wrong.before = older.Free, older.FreeBefore
	s.Cython = cpython.NewCython(c, s.Selection, s.Values, s.Python)
	s.CythonStepping = stepping.NewCython(c, s.Selection, s.Values, s.Cython, s.Stepping)
	s.Execution.python, s.Execution.mallocs = s.Python, s.Mallocs
	s.PythonStepping = pystops.NewSteps(c, s.Selection, s.Execution, s.Python, s.Stops.python)
}

// openOther opens another capture with the settings of this session, and returns what closes it.
func (s *Session) openOther(path string) (q *recordings.Queries, done func(), err error) {
	other := New(target.Config{Version: s.target.Config.Version, Cache: s.target.Config.Cache})
	*other.Settings, other.target.Reading, other.target.Attribution = *s.Settings, s.target.Reading, s.target.Attribution
	if _, err := other.Captures.OpenWhole(path); err != nil {
		other.Close()
		return nil, nil, err
	}
	return other.Queries, func() { other.Close() }, nil
}

// ProfileOf is the whole profile of another capture, with the settings of a session.
func ProfileOf(s *Session, path string) (*report.Profile, error) {
	other, done, err := s.openOther(path)
	if err != nil {
		return nil, err
	}
	defer done()
	return other.WholeProfile()
}

// ApplyAttribution makes changed Settings.Wrappers and Settings.Libraries hold. What was
// said of stacks by the old ones is forgotten, in the process too.
func (s *Session) ApplyAttribution() error {
	s.target.Exclusive(func() {
		before := s.target.Attribution
		s.target.Attribution = query.NewAttribution(s.Settings.Wrappers, s.Settings.Libraries)
		s.target.Attribution.Inherit(before)
		s.account.Rec.ForgetAnswers()
	})
	if s.target.Proc == nil {
		return nil
	}
	return s.Planes.arm()
}

// Mode tells what can be asked.
func (s *Session) Mode() target.Mode { return s.target.Mode() }

// Recalled tells that what is selected is an event as it was recorded: of a capture, or of
// the recording of the process, whose past the view is in.
func (s *Session) Recalled() bool { return s.target.Recalled() }

// Within has the verbs read recordings only until the reading is given up, nil always
// to the end, and returns what they did before. What they return of a reading that was
// cut is no answer; nothing that stays is made of it.
func (s *Session) Within(r *capture.Reading) (before *capture.Reading) {
	if before = s.target.Within(r); before.Cut() != nil {
		s.Heap.Forget()
	}
	return before
}

// Interrupt stops the running inferior, or does nothing when it is stopped, and gives
// up a download that is waited for. Any goroutine may call it.
func (s *Session) Interrupt() error { return s.target.Interrupt() }

// Process is what `info inferiors` shows; ok is false without a process.
func (s *Session) Process() (pid int, exe string, attached, ok bool) {
	if s.target.Proc == nil {
		return 0, "", false, false
	}
	return s.target.Proc.PID(), s.target.Proc.Exe(), s.target.Proc.Attached(), true
}

// Runs is the error of verbs that run or change a process, nil if they can.
func (s *Session) Runs() error { return s.target.Live() }

// Alongside runs f on the session's goroutine while the process runs: soon, and without a stop. Any
// goroutine may call it. It is not run if the process ends before. Verbs that need a stopped
// process refuse meanwhile, questions to the recording are answered as of now.
func (s *Session) Alongside(f func()) {
	if p := s.target.Current.Load(); p != nil {
		p.Wake(func() {
			s.target.Alongside = true
			defer func() { s.target.Alongside = false }()
			f()
		})
	}
}

// Going reports whether the process runs. Any goroutine may call it.
func (s *Session) Going() bool { return s.target.Going.Load() }

// KeepTerminal has the process, and those started later, run in the background of hdb's
// terminal.
func (s *Session) KeepTerminal(keep bool) {
	s.target.KeepTerminal = keep
	if s.target.Proc != nil {
		s.target.Proc.KeepTerminal(keep)
	}
}
