package pystops

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"hdb/inferior"
	"hdb/internal/addr"
	"hdb/python"
	"hdb/session/cpython"
	"hdb/session/stopped"
	"hdb/session/target"
	"hdb/session/view"
)

// Steps moves the selected thread from line to line of Python, and to the end of a function. A
// debug register describes each instruction that the function's frame notes, not of what it calls;
// another one of the end of the frame. Up to 3.11 that is where the frame of the interpreter's loop
// has its return address.
type Steps struct {
	target *target.Target
	sel    *view.Selection
	exec   Runner
	python *cpython.Python
	stops  *Stops
}

// NewSteps steps the threads of a target.
func NewSteps(c *target.Target, sel *view.Selection, exec Runner, p *cpython.Python, stops *Stops) *Steps {
	return &Steps{c, sel, exec, p, stops}
}

// A Runner runs the program for steps, and reports their ends.
type Runner interface {
	Resume() (inferior.Stop, error)
	Hit() bool // numbered stops were met
	Report(stop inferior.Stop, verb string) *stopped.Report
	ReportInPython(stop inferior.Stop, verb string) *stopped.Report // of a stop in the function of Python
}

// What has come of a run.
type stepEvent uint8

const (
	stepNothing stepEvent = iota
	stepLine              // a line begins
	stepLeft              // the frame has ended
	stepYielded           // it is suspended
	stepResumed           // and continues
	stepEntered           // another frame has begun
	stepGone              // its memory is another's
	stepMoved             // the innermost frame is noted elsewhere from now on
)

// A step is a step that is under way.
type step struct {
	p      *Steps
	file   *interpreter
	thread *inferior.Thread
	state  python.State

	frame   addr.Run
	body    *python.Body
	prev    int      // the instruction that the frame executes
	entry   bool     // a native frame represents it alone,
	slot    addr.Run // which has its return address there; 0: not looked for yet
	asleep  bool     // the frame is suspended
	into    bool
	lines   bool           // the instructions of the function are of interest,
	onward  bool           // and when it has ended, those of what it returns to
	jumping bool           // by the jumps of the interpreter's loop, not debug registers,
	inner   addr.Run       // where this frame was seen last, called by the step's
	back    *inferior.Trap // where the native frame returns to
	current []python.Field // where the innermost frame is noted
	event   stepEvent
	watches []*inferior.Watch
	second  *inferior.Watch // the second of two instructions that are executed as one
}

// Next runs to the beginning of another line of the selected thread's function, or of the one that it
// returns to, n times. A coroutine that is suspended is waited for.
func (p *Steps) Next(n int) (*stopped.Report, error) {
	return p.lines("py next", n, false, nil)
}

// Step is Next that enters functions.
func (p *Steps) Step(n int) (*stopped.Report, error) {
	return p.lines("py step", n, true, nil)
}

// Until runs to a line behind the one that the selected function is at, or to one from a line on;
// the function's end stops, too.
func (p *Steps) Until(line int) (*stopped.Report, error) {
	return p.lines("py until", 1, false, func(s *step) func(int) bool {
		from := s.body.Line(s.prev) + 1
		if line != 0 {
			from = line
		}
		return func(at int) bool { return at >= from }
	})
}

// Finish runs until the selected function of Python has ended.
func (p *Steps) Finish() (*stopped.Report, error) {
	s, err := p.begin("py finish", p.sel.Cur.Python)
	if err != nil {
		return nil, err
	}
	defer s.over()
	for {
		stop, err := s.run(false)
		switch {
		case err != nil:
			return nil, fmt.Errorf("py finish: %w", err)
		case s.event == stepLeft:
			return s.ended("py finish"), nil
		case s.event != stepYielded && s.event != stepResumed:
			return p.exec.Report(stop, ""), nil
		}
	}
}

func (p *Steps) lines(verb string, n int, into bool, until func(*step) func(int) bool) (*stopped.Report, error) {
	nth := 0
	if until != nil {
		nth = p.sel.Cur.Python
	}
	s, err := p.begin(verb, nth)
	if err != nil {
		return nil, err
	}
	defer s.over()
	s.into, s.onward = into, until == nil
	wants := func(int) bool { return true }
	if until != nil {
		wants = until(s)
	}
	for n > 0 {
		stop, err := s.run(true)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", verb, err)
		}
		switch s.event {
		case stepLine:
			if wants(s.body.Line(s.prev)) {
				n--
			}
		case stepLeft:
			if s.frame == 0 {
				p.target.Notify("the outermost Python function has ended: the thread is in native code")
			}
			if until != nil || s.frame == 0 {
				return s.ended(verb), nil
			}
		case stepYielded, stepResumed, stepEntered, stepMoved:
		case stepGone:
			p.target.Notify("%s: the frame of the function is gone", verb)
			return s.ended(verb), nil
		default:
			return p.exec.Report(stop, ""), nil
		}
	}
	return s.ended(verb), nil
}

// ended reports a step that has ended by itself.
func (s *step) ended(verb string) *stopped.Report {
	return s.p.exec.ReportInPython(inferior.Stop{Reason: inferior.Stepped, Thread: s.thread}, verb)
}

// begin is a step in the nth function of the selected thread.
func (p *Steps) begin(verb string, nth int) (*step, error) {
	if err := p.target.Live(); err != nil {
		return nil, err
	}
	if p.sel.Cur.Thread == nil {
		return nil, target.ErrNoStack
	}
	if err := p.stops.load(); err != nil {
		return nil, fmt.Errorf("%s: %w", verb, err)
	}
	if len(p.stops.files) == 0 {
		return nil, fmt.Errorf("%s: %w", verb, python.ErrNoPython)
	}
	why := error(python.ErrNoFrames)
	for _, f := range p.stops.files {
		state, err := f.state(p.target, p.sel.Cur.Thread)
		if err != nil {
			why = err
			continue
		}
		stack, _ := f.In.Stack(state) // an error is one of what is further out
		if len(stack.Frames) <= nth {
			continue
		}
		s := &step{p: p, file: f, thread: p.sel.Cur.Thread, state: state}
		pos, err := f.bodies.PositionOf(stack.Frames[nth].At)
		if err == nil {
			err = s.to(pos)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", verb, err)
		}
		return s, nil
	}
	return nil, fmt.Errorf("%s: thread %d: %w", verb, p.sel.Cur.Thread.Num, why)
}

// to continues in a frame.
func (s *step) to(pos python.Position) (err error) {
	if s.frame = pos.Frame; pos.Frame == 0 {
		return nil
	}
	if s.body, err = s.file.bodies.At(pos.Code); err != nil {
		return err
	}
	if s.prev = pos.Offset; pos.Offset >= 0 {
		s.prev = s.body.Instruction(pos.Offset)
	}
	s.slot, s.entry, s.inner = 0, pos.Entry, 0
	return nil
}

// slotOf is where the native frame of the interpreter's loop that runs a frame has its return
// address.
func (p *Steps) slotOf(frame addr.Run) (addr.Run, error) {
	p.sel.WalkAgain()
	native, err := p.sel.Stack(0)
	if err != nil {
		return 0, err
	}
	stack, err := p.python.Stack()
	if err != nil {
		return 0, err
	}
	merged, why := p.python.Merged(native.Frames, cpython.MergeBoth)
	for _, f := range merged {
		if f.Python() && f.Nth < len(stack.Frames) && stack.Frames[f.Nth].At == frame {
			return f.CFA - 8, nil
		}
	}
	if why == "" {
		why = "its native frame is not found"
	}
	return 0, errors.New("the end of the function cannot be waited for: " + why)
}

// run runs until something comes of it. lines reports whether the function's instructions are of
// interest.
func (s *step) run(lines bool) (stop inferior.Stop, err error) {
	s.event, s.lines = stepNothing, lines
	if err := s.arm(lines); err != nil {
		return stop, errors.Join(err, s.disarm())
	}
	defer func() {
		if e := s.disarm(); err == nil && e != nil {
			if _, gone := s.p.exitedNow(); !gone {
				err = e
			}
		}
	}()
	stop, err = s.p.exec.Resume()
	if err != nil || s.p.exec.Hit() || stop.Reason != inferior.Trapped {
		s.event = stepNothing // something else has stopped the program
		return stop, err
	}
	switch s.event {
	case stepLeft, stepEntered:
		pos, err := s.file.bodies.Position(s.state)
		if err != nil {
			return stop, err
		}
		return stop, s.to(pos)
	case stepYielded:
		s.asleep, s.slot = true, 0
	case stepResumed:
		s.asleep = false
		pos, err := s.file.bodies.PositionOf(s.frame)
		if err != nil {
			return stop, err
		}
		s.p.sel.Look(s.thread, addr.Code{})
		prev := s.prev
		err = s.to(pos)
		s.prev = prev
		return stop, err
	}
	return stop, nil
}

// exitedNow reports whether the process is gone.
func (p *Steps) exitedNow() (inferior.ExitStatus, bool) {
	if p.target.Proc == nil {
		return inferior.ExitStatus{}, true
	}
	return p.target.Proc.Exited()
}

// arm sets the watches that the step takes.
func (s *step) arm(lines bool) error {
	add := func(at addr.Run, size int, kind inferior.WatchKind, h func(*inferior.Thread) stepEvent) error {
		w, err := s.p.target.Proc.BreakOnAccess(at, size, kind, func(t *inferior.Thread) inferior.Action {
			if s.event != stepNothing || t != s.thread && !s.asleep {
				return inferior.Resume
			}
			if s.event = h(t); s.event == stepNothing {
				return inferior.Resume
			}
			return inferior.StopHere
		})
		if err == nil {
			s.watches = append(s.watches, w)
		}
		return err
	}
	if s.frame == 0 {
		return python.ErrNoFrames
	}
	bodies := s.file.bodies
	var err error
	if s.into && !s.asleep {
		if s.current, err = bodies.Current(s.state); err != nil {
			return err
		}
	}
	if jumping, err := s.byJumps(s.need(lines)); jumping || err != nil {
		return errors.Join(err, s.awaitReturn())
	}
	if lines || s.asleep {
		f := bodies.Instruction(s.frame)
		err = add(f.At, f.Size, inferior.Write, s.instruction)
	}
	switch {
	case err != nil, s.asleep:
	case s.into:
		for _, f := range s.current {
			if err == nil {
				err = add(f.At, f.Size, inferior.Write, s.changed)
			}
		}
	case s.entry:
		if s.slot == 0 {
			s.slot, err = s.p.slotOf(s.frame)
		}
		if err == nil {
			err = add(s.slot, 8, inferior.ReadWrite, s.returned)
		}
	default:
		f := bodies.Link(s.frame)
		err = add(f.At, f.Size, inferior.ReadWrite, s.linked)
	}
	return err
}

// need is how many debug registers the step takes.
func (s *step) need(lines bool) (n int) {
	if lines || s.asleep {
		n = 1
	}
	switch {
	case s.asleep:
		return n
	case s.into:
		return n + len(s.current)
	}
	return n + 1
}

// awaitReturn has a trap where the native frame of a function that C has called returns to. What
// another function of the same native frame returns to, jumps by the loop.
func (s *step) awaitReturn() (err error) {
	if s.asleep || !s.entry {
		return nil
	}
	if s.slot == 0 {
		if s.slot, err = s.p.slotOf(s.frame); err != nil {
			return err
		}
	}
	var to [8]byte
	if _, err := s.p.target.Proc.ReadAt(to[:], int64(s.slot)); err != nil {
		return err
	}
	s.back, err = s.p.stops.host.Plant(addr.Run(binary.LittleEndian.Uint64(to[:])), func(t *inferior.Thread) inferior.Action {
		if s.event != stepNothing || t != s.thread {
			return inferior.Resume
		}
		if s.event = s.returned(t); s.event == stepNothing {
			return inferior.Resume
		}
		return inferior.StopHere
	})
	return err
}

func (s *step) disarm() (err error) {
	for _, w := range append(s.watches, s.second) {
		if w != nil && s.p.target.Proc != nil {
			err = errors.Join(err, w.Remove())
		}
	}
	if s.back != nil && s.p.target.Proc != nil {
		err = errors.Join(err, s.back.Remove())
	}
	s.watches, s.second, s.back = nil, nil, nil
	return err
}

// instruction is called when the frame has noted an instruction.
func (s *step) instruction(t *inferior.Thread) stepEvent {
	pos, err := s.file.bodies.PositionOf(s.frame)
	if err != nil || pos.Code != s.body.At || !s.file.bodies.Still(s.body) {
		return stepGone
	}
	if s.asleep {
		s.thread = t
		if state, err := s.file.state(s.p.target, t); err == nil {
			s.state = state
		}
		return stepResumed
	}
	if pos.Offset < 0 {
		return stepNothing
	}
	cur, prev := s.body.Instruction(pos.Offset), s.prev
	if cur != pos.Offset {
		return stepNothing // a call has returned into its caches
	}
	if prev >= 0 && prev != cur && s.doubles(prev) {
		prev += 2
	}
	s.prev = cur
	if s.body.Rewinds(prev, cur) {
		return stepNothing
	}
	if s.body.Event(prev, cur) {
		return stepLine
	}
	if !s.doubles(cur) || !s.body.Event(cur, cur+2) {
		return stepNothing
	}
	if !s.jumping {
		s.awaitSecond(cur + 2)
	} else if s.runsToSecond(t, cur+2) {
		return stepLine
	}
	return stepNothing
}

// doubles reports whether an instruction runs the one behind it as well.
func (s *step) doubles(offset int) bool {
	return s.body.Double(s.p.stops.opcode(s.body.Start + addr.Run(offset)))
}

// awaitSecond has the second of two instructions watched that are executed as one, as a line begins
// there. Without a register for it, the line is seen to begin behind it.
func (s *step) awaitSecond(at int) {
	w, err := s.p.target.Proc.BreakOnAccess(s.body.Start+addr.Run(at), 2, inferior.ReadWrite, func(t *inferior.Thread) inferior.Action {
		if t != s.thread || s.event != stepNothing || !s.noteSecond(at) {
			return inferior.Resume
		}
		s.event = stepLine
		return inferior.StopHere
	})
	if err == nil {
		if s.second != nil {
			_ = s.second.Remove() // another one takes its place
		}
		s.second = w
	}
}

// noteSecond has the frame note the second of two instructions that are executed as one, which the
// interpreter does not. False: the thread does something else.
func (s *step) noteSecond(at int) bool {
	pos, err := s.file.bodies.PositionOf(s.frame)
	if err != nil || pos.Offset != at-2 {
		return false
	}
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], s.file.bodies.OffsetWord(pos, at))
	if _, err := s.p.target.Proc.WriteAt(b[:], int64(s.file.bodies.Instruction(s.frame).At)); err != nil {
		return false
	}
	s.prev = at
	return true
}

// returned is called when the native frame's return address is read: by its return, when the stack
// pointer is behind it.
func (s *step) returned(t *inferior.Thread) stepEvent {
	regs, err := t.Regs()
	if err != nil || regs.SP() <= s.slot {
		return stepNothing
	}
	return s.leaving()
}

// linked is called when the frame's link is read: when it ends, the frame that it leads to
// becomes the innermost one at once.
func (s *step) linked(t *inferior.Thread) stepEvent {
	pos, err := s.file.bodies.Position(s.state)
	if err != nil || pos.Frame != s.frame {
		return stepNothing
	}
	left, n := false, 0
	err = s.p.target.Proc.StepWithin(t, func() bool {
		if n++; n > maxDispatch {
			return false
		}
		now, err := s.file.bodies.Position(s.state)
		left = err == nil && now.Frame != s.frame
		return !left
	})
	if err != nil || !left {
		return stepNothing
	}
	return s.leaving()
}

// leaving tells what the end of a call of the frame is.
func (s *step) leaving() stepEvent {
	pos, err := s.file.bodies.PositionOf(s.frame)
	if err == nil && pos.Code == s.body.At && !s.into && s.file.bodies.Suspended(s.body, pos) {
		return stepYielded
	}
	return stepLeft
}

// changed is called when the innermost frame of the thread is another one, or is about to be.
func (s *step) changed(t *inferior.Thread) stepEvent {
	var pos python.Position
	n := 0
	err := s.p.target.Proc.StepWithin(t, func() bool {
		if n++; n > maxDispatch {
			return false
		}
		now, err := s.file.bodies.Position(s.state)
		if err != nil || now.Frame == 0 && n < maxNoting {
			return true // it is being set
		}
		if now.Frame != 0 {
			if _, err := s.file.bodies.At(now.Code); err != nil {
				return true
			}
		}
		pos = now
		return false
	})
	switch {
	case err != nil:
		return stepNothing
	case pos.Frame == s.frame:
		if now, err := s.file.bodies.Current(s.state); err == nil && !slices.Equal(now, s.current) {
			return stepMoved
		}
		return stepNothing
	case pos.Frame == 0 || !s.file.bodies.Calls(s.frame, s.state):
		return stepLeft
	}
	return stepEntered
}
