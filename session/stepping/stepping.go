// Package stepping steps threads: by lines, calls, instructions and functions of C, Go and Cython, through signals
// and system calls. It knows neither numbered stops nor how calls of allocators are followed: a Runner runs the program.
package stepping

import (
	"hdb/inferior"
	"hdb/internal/addr"
	"hdb/session/stopped"
	"hdb/session/target"
	"hdb/session/variables"
	"hdb/session/view"
)

// Steps moves the selected thread from line to line, or from instruction to instruction,
// and to the end of a function or a place.
type Steps struct {
	target *target.Target
	sel    *view.Selection
	loc    *view.Locations
	values *variables.Values
	exec   Runner

	Skips Skips // what step does not enter
}

// New steps the threads of a target.
func New(c *target.Target, sel *view.Selection, loc *view.Locations, v *variables.Values, exec Runner) *Steps {
	return &Steps{target: c, sel: sel, loc: loc, values: v, exec: exec}
}

// A Runner runs the program for steps, and reports its stops.
type Runner interface {
	Continue(n int) (*stopped.Report, error)
	// RunToTargets runs the program to one of the targets; not reached: it stopped elsewhere.
	RunToTargets(targets []RunTarget) (reached bool, stop inferior.Stop, err error)
	// RunOut is RunToTargets. It also stops at the landing of an exception or a longjmp that leaves the
	// frame with that CFA.
	RunOut(t *inferior.Thread, cfa addr.Run, targets []RunTarget) (reached, left bool, stop inferior.Stop, err error)
	Step() (done func()) // what runs until done is a step, for scheduler-locking
	Lockable() error     // why the program's threads cannot be held, nil: they can
	Leave()              // the thread leaves the place where it was reported
	NoteUnfollowed()     // the calls of a stepped instruction are not followed
	Watched(inferior.Stop) bool
	ForgetHits() // the thread is no longer where stops were met

	Report(stop inferior.Stop, verb string) *stopped.Report
	// ReportAhead is Report where a function has returned, if any, and where inlined calls begin that the
	// user has not entered.
	ReportAhead(stop inferior.Stop, verb string, fn *stopped.Finished, ahead int) *stopped.Report
	ReportHere(verb string) *stopped.Report
	// Inside is the error of an address in the middle of an instruction, nil: it is none.
	Inside(a addr.Run) error
}

// Step runs to the start of another line, n times, entering functions.
func (s *Steps) Step(n int) (*stopped.Report, error) { return s.stepLines(n, true) }

// Next runs to the start of another line of the same function, n times.
func (s *Steps) Next(n int) (*stopped.Report, error) { return s.stepLines(n, false) }

// thread is the selected thread, if the selected stack is of it: the stack of a waiting goroutine is of none.
func (s *Steps) thread() (*inferior.Thread, error) {
	if err := s.target.Live(); err != nil {
		return nil, err
	}
	if s.sel.Cur.Thread == nil {
		return nil, target.ErrNoStack
	}
	return s.sel.Cur.Thread, s.sel.Steps()
}

func (s *Steps) stepLines(n int, into bool) (*stopped.Report, error) {
	if _, err := s.thread(); err != nil {
		return nil, err
	}
	if s.target.Proc.IsGo() {
		return s.stepGo(n, into)
	}
	return s.lines(n, into, false)
}

// ended reports a step that has ended by itself.
func (s *Steps) ended(t *inferior.Thread, d done, verb string) *stopped.Report {
	return s.exec.ReportAhead(inferior.Stop{Reason: inferior.Stepped, Thread: t}, verb, nil, d.ahead)
}

// arrived reports the numbered stop that a step ended on, if any: it counts as a
// hit.
func (s *Steps) arrived(t *inferior.Thread, verb string) (*stopped.Report, error) {
	traps, err := s.target.Proc.Arrive(t)
	if err != nil || len(traps) == 0 {
		return nil, err
	}
	return s.exec.Report(inferior.Stop{Reason: inferior.Trapped, Thread: t, Traps: traps}, verb), nil
}

// StepInstruction executes n instructions of the selected thread.
func (s *Steps) StepInstruction(n int) (*stopped.Report, error) {
	return s.instructions(n, "stepi", false)
}

// NextInstruction executes n instructions, calls being one.
func (s *Steps) NextInstruction(n int) (*stopped.Report, error) {
	return s.instructions(n, "nexti", true)
}

func (s *Steps) instructions(n int, verb string, over bool) (*stopped.Report, error) {
	t, err := s.thread()
	if err != nil {
		return nil, err
	}
	defer s.exec.Step()()
	st := &stepper{s: s, t: t}
	for i := range max(n, 1) {
		d, err := s.deliver(t, func(addr.Run) bool { return i == 0 })
		switch {
		case err != nil:
			return nil, err
		case d.stop.Reason != inferior.Stepped:
			return s.exec.Report(d.stop, verb), nil
		case d.over():
			if r, err := s.arrived(t, verb); r != nil || err != nil {
				return r, err
			}
			continue // this was the step
		}
		before, err := t.Regs()
		if err != nil {
			return nil, err
		}
		s.exec.Leave()
		stop, err := s.stepInstruction(t)
		if err != nil {
			return nil, err
		}
		if stop.Reason != inferior.Stepped {
			return s.exec.Report(stop, verb), nil
		}
		now, err := t.Regs()
		if err != nil {
			return nil, err
		}
		if ret, ok := st.called(before, now); over && ok {
			reached, left, stop, err := s.exec.RunOut(t, now.SP()+8, []RunTarget{{At: ret, When: st.returned(now.SP())}})
			if err != nil {
				return nil, err
			}
			if !reached && !left {
				return s.exec.Report(stop, verb), nil
			}
		}
		if r, err := s.arrived(t, verb); r != nil || err != nil {
			return r, err
		}
	}
	return s.exec.Report(inferior.Stop{Reason: inferior.Stepped, Thread: t}, verb), nil
}

// ThroughProbe takes a thread whose instruction led into the probe's code to where the program's
// own continues: a followed function's first instruction, or its caller. All threads run meanwhile,
// as the probe may wait for them.
func (s *Steps) ThroughProbe(t *inferior.Thread, before inferior.Registers, stop inferior.Stop) (inferior.Stop, error) {
	now, err := t.Regs()
	if err != nil || !s.target.Probe.Covers(now.PC()) {
		return stop, err
	}
	if !s.target.Probe.InMoved(now.PC()) {
		raw := s.sel.Walker.Shown(now.Unwind(), 1)
		if len(raw.Frames) == 0 || s.target.Probe.Covers(raw.Frames[0].PC.Addr()) {
			return stop, nil
		}
		outer := now.SP() // of the probe's frames
		targets := []RunTarget{{At: raw.Frames[0].PC.Addr(), When: func(o *inferior.Thread) bool {
			regs, err := o.Regs()
			return o == t && (err != nil || regs.SP() > outer)
		}}}
		first, called := s.target.Probe.Moved(before.PC())
		if called {
			targets = append(targets, RunTarget{At: first, When: func(o *inferior.Thread) bool { return o == t }})
		}
		reached, stop, err := s.exec.RunToTargets(targets)
		if err != nil || !reached {
			return stop, err
		}
	}
	stop = inferior.Stop{Reason: inferior.Stepped, Thread: t}
	for {
		now, err := t.Regs()
		if err != nil || !s.target.Probe.InMoved(now.PC()) {
			return stop, err
		}
		if stop, err = s.target.Proc.StepInstruction(t); err != nil || stop.Reason != inferior.Stepped {
			return stop, err
		}
	}
}

// stepInstruction executes one instruction of the thread.
func (s *Steps) stepInstruction(t *inferior.Thread) (inferior.Stop, error) {
	s.exec.NoteUnfollowed()
	if behind, ok := s.behindSyscall(t); ok {
		return s.overSyscall(t, behind)
	}
	before, err := t.Regs()
	if err != nil {
		return inferior.Stop{}, err
	}
	stop, err := s.target.Proc.StepInstruction(t)
	if err == nil && stop.Reason == inferior.Watched && !s.exec.Watched(stop) {
		stop = inferior.Stop{Reason: inferior.Stepped, Thread: t}
	}
	if err == nil && stop.Reason == inferior.Stepped && s.target.Probe != nil && !s.target.Probe.Covers(before.PC()) {
		return s.ThroughProbe(t, before, stop)
	}
	return stop, err
}

// A RunTarget is a place to run to that is not a numbered stop: the return of a
// function, the start of a line.
type RunTarget struct {
	At   addr.Run
	When func(*inferior.Thread) bool // nil: any thread, always
}
