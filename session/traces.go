package session

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"hdb/breakpoints"
	"hdb/inferior"
	"hdb/internal/addr"
	"hdb/internal/when"
	"hdb/names"
	"hdb/session/target"
	"hdb/session/variables"
	"hdb/session/view"
	"hdb/values"
)

// Traced is what a trace reports: a call, the return from it, or an arrival at a place inside a
// function.
type Traced struct {
	Stop   int // the number of the trace
	Thread view.ThreadInfo
	Depth  int // traced calls of the thread that it is inside of
	Frame  names.Frame
	Place  bool // an arrival: no return will be reported
	Return bool
	Left   bool // by an exception or longjmp, in place of a return

	Args  []variables.NamedValue // but of a return
	Value *variables.Returned    // of a return; nil without a value
	RAX   uint64                 // what may be the value: debug information does not tell
	Why   string                 // arguments or the value are not known
}

// A tracing is what a trace, or a leaked(), has in the process in addition to the traps of its places.
type tracing struct {
	calls   *when.Calls // of leaked(), nil: it is a trace
	o       values.Options
	returns map[addr.Run]*tracedReturn  // by where calls return to
	exits   map[addr.Run]*inferior.Trap // of functions by which calls are left otherwise
}

// A tracedReturn is a place that traced calls return to. Its trap stays: functions that are
// called once are seldom traced.
type tracedReturn struct {
	trap *inferior.Trap
	open []tracedCall // of all threads, each one's outermost first
}

// A tracedCall has not returned yet.
type tracedCall struct {
	stop   int
	thread *inferior.Thread
	frame  names.Frame
	depth  int
	first  uint64 // argument, of those that leaked() is about; 0 not known
}

// remove takes the traps out.
func (tr *tracing) remove() error {
	var errs []error
	for _, r := range tr.returns {
		errs = append(errs, r.trap.Remove())
	}
	for _, trap := range tr.exits {
		errs = append(errs, trap.Remove())
	}
	return errors.Join(errs...)
}

// newTracing has nothing in the process yet.
func newTracing(st *breakpoints.Stop) (tr tracing) {
	if st.Kind == breakpoints.StopLeaked {
		tr.calls = when.NewCalls(st.When)
	}
	return tr
}

// forget is for when the process is gone, or what it had of the trace.
func (tr *tracing) forget() {
	tr.returns, tr.exits = nil, nil
	if tr.calls != nil {
		tr.calls = when.NewCalls(tr.calls.Cond)
	}
}

// drop forgets what is in libraries that are gone.
func (tr *tracing) drop(gone func(addr.Run) bool) {
	for at, r := range tr.returns {
		if gone(at) {
			_ = r.trap.Remove() // its memory is unmapped: that it cannot be restored means nothing
			delete(tr.returns, at)
		}
	}
	for at, trap := range tr.exits {
		if gone(at) {
			_ = trap.Remove()
			delete(tr.exits, at)
		}
	}
}

// Traces describe calls and returns, by numbered stops that continue.
type Traces struct {
	target *target.Target
	demand *demands
	sel    *view.Selection
	values *variables.Values
	planes *Planes
	stops  *Stops

	Reported func(Traced) // is called for each call and return that a trace follows; may be nil
}

// Set sets a numbered stop that continues: it describes calls of a function and of their returns,
// or of arrivals at another place. text is LOCATION [if CONDITION]; values are written as o says.
func (s *Traces) Set(text string, o values.Options) (*breakpoints.Stop, error) {
	if s.target.Mode() == target.Saved {
		return nil, target.ErrSaved
	}
	if spec, err := breakpoints.ParseSpec(text, s.stops.allocators.Extra()...); err == nil && onEvents(breakpoints.NewStop(spec)) {
		return nil, fmt.Errorf("%s: calls of allocators are events and cannot be traced: use dprintf to print them, or record", strings.TrimSpace(text))
	}
	st, err := s.stops.set(text, func(st *breakpoints.Stop) { st.Trace = true })
	if err != nil {
		return nil, err
	}
	s.stops.binds[st.ID].traced.o = o
	return st, nil
}

// arrived describes an arrival at the place of a trace, and has the return told, too.
func (s *Traces) arrived(st *breakpoints.Stop, t *inferior.Thread) {
	v := newCodeEnv(s.stops, st, t)
	tr := &s.stops.binds[st.ID].traced
	told := Traced{Stop: st.ID, Thread: s.sel.ThreadInfo(t)}
	err := v.Read(func() (err error) {
		told.Frame = s.sel.Cur.Stack.Frames[s.sel.Cur.Num]
		told.Args, err = s.values.FrameArgs(s.sel.Cur.Num, tr.o, true)
		return err
	})
	if err != nil {
		told.Why = err.Error()
	}
	told.Depth = s.openCalls(t)
	told.Place = !onFunctions(st) || told.Frame.Inlined
	if !told.Place {
		if err := s.follow(st, tracedCall{stop: st.ID, thread: t, frame: told.Frame, depth: told.Depth}); err != nil {
			noteFailed(s.target, st, "return: ", err)
		}
	}
	s.tell(told)
}

func (s *Traces) tell(told Traced) {
	if s.Reported != nil {
		s.Reported(told)
	}
}

// openCalls counts the traced calls that a thread is in.
func (s *Traces) openCalls(t *inferior.Thread) (n int) {
	for _, b := range s.stops.binds {
		if b.traced.calls == nil {
			n += b.traced.open(t)
		}
	}
	return n
}

// open counts the calls that a thread is in.
func (tr *tracing) open(t *inferior.Thread) (n int) {
	for _, r := range tr.returns {
		for _, c := range r.open {
			if c.thread == t {
				n++
			}
		}
	}
	return n
}

// follow has the return from a call told.
func (s *Traces) follow(st *breakpoints.Stop, c tracedCall) error {
	raw, err := s.sel.Walker.Raw(c.thread, 2, addr.Code{})
	if err != nil {
		return err
	}
	if len(raw.Frames) < 2 || raw.Frames[0].CFA != c.frame.CFA {
		return nil // the thread's first function: it returns to no caller
	}
	tr, ret := &s.stops.binds[st.ID].traced, raw.Frames[1].PC.Addr()
	r := tr.returns[ret]
	if r == nil {
		r = new(tracedReturn)
		r.trap, err = s.planes.plant(ret, func(t *inferior.Thread) inferior.Action {
			return s.returned(st, r, t)
		})
		if err != nil {
			return err
		}
		if tr.returns == nil {
			tr.returns = map[addr.Run]*tracedReturn{}
		}
		tr.returns[ret] = r
	}
	// Calls of threads that have ended, and those that this one is not inside of.
	r.open = slices.DeleteFunc(r.open, func(o tracedCall) bool {
		return s.target.Proc.Thread(o.thread.TID) != o.thread || o.thread == c.thread && o.frame.CFA == c.frame.CFA
	})
	r.open = append(r.open, c)
	if tr.exits == nil {
		return s.followExits(st)
	}
	return nil
}

// followExits has calls told that are left by an exception or a longjmp, also by functions
// of libraries that have come.
func (s *Traces) followExits(st *breakpoints.Stop) error {
	tr := &s.stops.binds[st.ID].traced
	if tr.exits == nil {
		tr.exits = map[addr.Run]*inferior.Trap{}
	}
	var errs []error
	for at, find := range exits(s.target) {
		if tr.exits[at] != nil {
			continue
		}
		trap, err := s.planes.plant(at, func(t *inferior.Thread) inferior.Action {
			l, ok := find(t)
			switch {
			case !ok:
				return inferior.Resume
			case tr.calls != nil:
				return s.leftLeaking(st, t, l)
			}
			s.left(t, l)
			return inferior.Resume
		})
		if err != nil {
			errs = append(errs, err)
			continue
		}
		tr.exits[at] = trap
	}
	return errors.Join(errs...)
}

// left tells, innermost first, of the calls that a thread leaves for a landing.
func (s *Traces) left(t *inferior.Thread, to landing) {
	leavesCall, ok := s.leaving(t, to)
	if !ok {
		return
	}
	var left []tracedCall
	for _, b := range s.stops.binds {
		if b.traced.calls == nil {
			left = append(left, b.traced.leave(t, to, leavesCall)...)
		}
	}
	slices.SortFunc(left, func(a, b tracedCall) int { return cmp.Compare(b.depth, a.depth) })
	for _, c := range left {
		s.tell(Traced{Stop: c.stop, Thread: s.sel.ThreadInfo(t), Depth: c.depth, Frame: c.frame, Left: true})
	}
}

// leave forgets the calls that a thread leaves for a landing, and returns them.
func (tr *tracing) leave(t *inferior.Thread, to landing, leavesCall func(addr.Run) bool) (left []tracedCall) {
	for _, r := range tr.returns {
		r.open = slices.DeleteFunc(r.open, func(c tracedCall) bool {
			leaves := c.thread == t && c.frame.CFA <= to.sp && leavesCall(c.frame.CFA)
			if leaves {
				left = append(left, c)
			}
			return leaves
		})
	}
	return left
}

// leaving makes a function that describes a frame that is inner than a landing whether it is left,
// rather than waiting on another stack. False: the thread goes to another stack.
func (s *Traces) leaving(t *inferior.Thread, to landing) (of func(cfa addr.Run) bool, ok bool) {
	regs, err := t.Regs()
	if err != nil {
		return nil, false
	}
	if regs.SP()+8 == to.sp { // a handler has begun: the frames are left already
		maps, err := s.target.Proc.Maps()
		at := slices.IndexFunc(maps, func(m inferior.Mapping) bool { return m.Low <= to.sp && to.sp <= m.High })
		if err != nil || at < 0 {
			return nil, false
		}
		return func(cfa addr.Run) bool { return maps[at].Low <= cfa && cfa <= maps[at].High }, true
	}
	raw, err := s.sel.Walker.Raw(t, view.DefaultDepth, addr.Code{})
	if err != nil || len(raw.Frames) == 0 {
		return nil, false
	}
	on := map[addr.Run]bool{}
	outermost := regs.SP()
	for _, f := range raw.Frames {
		on[f.CFA] = true
		outermost = max(outermost, f.CFA)
	}
	return func(cfa addr.Run) bool { return on[cfa] }, regs.SP() <= to.sp && to.sp <= outermost
}

// take forgets the call that has returned when a thread is at a place that calls return to,
// and returns it: the stack pointer is where it was before the call, and below that the return
// address is still as it was taken off, which it is not if the thread comes another way.
func (s *Traces) take(r *tracedReturn, t *inferior.Thread, regs inferior.Registers) (c tracedCall, ok bool) {
	at := slices.IndexFunc(r.open, func(c tracedCall) bool { return c.thread == t && c.frame.CFA == regs.SP() })
	if at < 0 {
		return c, false
	}
	if ret, err := s.target.ReadPointer(regs.SP() - 8); err != nil || ret != regs.PC() {
		return c, false
	}
	c = r.open[at]
	r.open = slices.DeleteFunc(r.open, func(o tracedCall) bool { return o.thread == t && o.depth >= c.depth })
	return c, true
}

// returned describes the call that has returned, if one has.
func (s *Traces) returned(st *breakpoints.Stop, r *tracedReturn, t *inferior.Thread) inferior.Action {
	regs, err := t.Regs()
	if err != nil {
		return inferior.Resume // the thread is gone
	}
	c, ok := s.take(r, t, regs)
	switch {
	case !ok:
		return inferior.Resume
	case s.stops.binds[st.ID].traced.calls != nil:
		return s.returnedLeaking(st, c, regs)
	}
	told := Traced{Stop: st.ID, Thread: s.sel.ThreadInfo(t), Depth: c.depth, Frame: c.frame, Return: true, RAX: regs.Result()}
	defer func(was view.Selected) { s.sel.Cur = was }(s.sel.Cur)
	s.sel.Cur = view.Selected{Thread: t}
	shown := func(x values.Value) int { // it gets no number
		if x.Type.Strip().Kind == values.Void {
			return 0
		}
		return 1
	}
	out, err := s.values.ReturnedBy(c.frame, s.stops.binds[st.ID].traced.o, shown)
	switch {
	case err != nil:
		told.Why = err.Error()
	case out.Num > 0:
		told.Value = &out
	}
	s.tell(told)
	return inferior.Resume
}
