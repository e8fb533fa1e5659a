package recording

import (
	"fmt"
	"time"

	"hdb/capture"
	"hdb/internal/addr"
)

// Info describes the recording.
func (r *Recording) Info() capture.Info {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.info
}

// SetProgram has the recording be one of another program, which was executed.
func (r *Recording) SetProgram(path string, args []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.info.Program, r.info.Args = path, args
	r.run.out.SetInfo(r.info)
}

// NotePartial notes why the recording has not all events.
func (r *Recording) NotePartial(why capture.Reason) {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := len(r.info.Partial)
	if r.info.AddPartial(why); len(r.info.Partial) > n {
		r.run.out.SetInfo(r.info)
	}
}

// DropPartial takes back reasons of a kind, which do not hold any more.
func (r *Recording) DropPartial(kind capture.ReasonKind) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.info.Partial.Has(kind) {
		r.info.Partial = r.info.Partial.Without(kind)
		r.run.out.SetInfo(r.info)
	}
}

// AddModule adds a module and returns its index.
func (r *Recording) AddModule(m capture.Module) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.run.out.AddModule(m)
}

// EndModule notes that a module was unmapped before event to.
func (r *Recording) EndModule(i int, to uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.run.out.EndModule(i, to)
}

// Occupy tells which module has the addresses [low, high) from the next event on, where
// another one was.
func (r *Recording) Occupy(low, high addr.Run, module uint32) {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := &r.run
	n.out.Occupy(low, high, module)
	n.probed.forget(low, high, n.out.Stack)
}

// SetGoTypes has the types of Go known that a module has.
func (r *Recording) SetGoTypes(i int, types capture.GoTypes) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.run.out.SetGoTypes(i, types)
}

// AddThread has the recording know a thread.
func (r *Recording) AddThread(t Thread) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.run.addThread(t)
}

// RenameThread has the recording know the name that a thread has now.
func (r *Recording) RenameThread(t Thread) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.run.renameThread(t)
}

// AddLoss notes calls that are in no event.
func (r *Recording) AddLoss(l Loss) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.run.out.AddLoss(capture.Loss{After: r.run.last, Count: l.Count, Reason: l.Reason})
}

// AddMark names the moment, and returns its name and its event. If a mark has the name already, the
// first number that is free follows it.
func (r *Recording) AddMark(name string, now time.Duration) (given string, seq uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	given = r.run.freeName(name, false)
	r.run.mark(given, now)
	return given, r.run.last
}

// MaxMarks is how many marks a program may set by itself.
const MaxMarks = 10000

// AddProgramMark is AddMark of a name that the program gives: a reserved one gets a number, too. It
// reports whether there was room for one more.
func (r *Recording) AddProgramMark(name string, reserved bool, now time.Duration) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.run.marks) >= MaxMarks {
		return false
	}
	r.run.mark(r.run.freeName(name, reserved), now)
	return true
}

// freeName is a name that no mark has: the one that is wanted, unless it is reserved, or that
// with a number.
func (n *run) freeName(name string, reserved bool) string {
	last, taken := n.marks[name]
	if !taken && !reserved {
		return name
	}
	if !reserved {
		last = max(last, 1)
	}
	for {
		last++
		numbered := fmt.Sprintf("%s.%d", name, last)
		if _, taken := n.marks[numbered]; !taken {
			n.marks[name] = last
			return numbered
		}
	}
}

// mark adds a mark.
func (n *run) mark(name string, now time.Duration) {
	if n.marks == nil {
		n.marks = map[string]int{}
	}
	if _, taken := n.marks[name]; !taken {
		n.marks[name] = 0
	}
	n.out.AddMark(capture.MarkRecord{Seq: n.last, Time: max(now, n.time), Name: name})
}

// AddStop adds the record of a stop, with the stack of the thread that is shown there,
// which may be nil.
func (r *Recording) AddStop(st capture.StopRecord, t Thread, stack *capture.Stack) {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := &r.run
	st.Seq = n.seq
	if stack != nil {
		st.Stack = n.intern(*stack)
	}
	if t != nil {
		n.addThread(t)
	}
	n.out.AddStop(st)
}

// A Status is how far a recording is.
type Status struct {
	On         bool
	Paused     bool
	Filter     string // condition of what is recorded, "" all is
	Seen       uint64 // events of this run
	Recorded   uint64 // events in the log or file
	Unwritten  uint64 // further recorded events, which the file could not take
	Stacks     int
	Truncated  int    // of them
	LiveBytes  uint64 // of all events, recorded or not
	LiveBlocks int
	PeakBytes  uint64
	Collects   bool // a Go runtime made recorded blocks, which its collector frees
}

// Status tells how far the recording is.
func (r *Recording) Status() Status {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := &r.run
	st := Status{
		On: n.on, Paused: n.paused, Seen: n.seq, Recorded: r.recorded(), Stacks: n.stacks, Truncated: n.truncated,
		LiveBytes: n.live.Bytes(), LiveBlocks: n.live.Blocks(), PeakBytes: n.live.Peak(),
	}
	st.Unwritten = n.recorded - min(st.Recorded, n.recorded)
	if n.filter != nil {
		st.Filter = n.filter.String()
	}
	for name := range n.functions {
		st.Collects = st.Collects || capture.OfGo(name)
	}
	return st
}

// recorded is how many events of this run the recording has.
func (r *Recording) recorded() uint64 {
	if f := r.file; f != nil && f.failed && !f.out.bounds.Aggregate {
		return f.writer.Flushed()
	}
	return r.run.recorded
}

// nowhere is where the events go after the end of a file.
type nowhere struct{}

func (nowhere) AddEvent(e *capture.Event) uint64     { return e.Seq }
func (nowhere) AddEvents(e []capture.Event) uint64   { return e[len(e)-1].Seq }
func (nowhere) Replaced()                            {}
func (nowhere) Intern(capture.Stack) capture.StackID { return 0 }
func (nowhere) Occupy(_, _ addr.Run, _ uint32)       {}
func (nowhere) Keep(addr.Run, []capture.Frame)       {}
func (nowhere) Stack(capture.StackID) capture.Stack  { return capture.Stack{} }
func (nowhere) FuncIndex(string) uint16              { return 0 }
func (nowhere) AddModule(capture.Module) int         { return 0 }
func (nowhere) EndModule(int, uint64)                {}
func (nowhere) SetGoTypes(int, capture.GoTypes)      {}
func (nowhere) AddThread(capture.Thread)             {}
func (nowhere) AddStop(capture.StopRecord)           {}
func (nowhere) AddMark(capture.MarkRecord)           {}
func (nowhere) AddSample(capture.SampleRecord)       {}
func (nowhere) AddLoss(capture.Loss)                 {}
func (nowhere) SetInfo(capture.Info)                 {}
