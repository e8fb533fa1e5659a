package session

import (
	"hdb/inferior"
	"hdb/internal/addr"
	"hdb/session/stopped"
	"hdb/session/target"
	"hdb/session/variables"
	"hdb/session/view"
)

// Stepping moves the selected thread from line to line, or from instruction to instruction,
// and to the end of a function or a place.
type Stepping struct {
	target *target.Target
	sel    *view.Selection
	loc    *view.Locations
	values *variables.Values
	exec   *Execution

	Skips Skips // what step does not enter
}

// Step runs to the start of another line, n times, entering functions.
func (s *Stepping) Step(n int) (*stopped.Report, error) { return s.stepLines(n, true) }

// Next runs to the start of another line of the same function, n times.
func (s *Stepping) Next(n int) (*stopped.Report, error) { return s.stepLines(n, false) }

// thread is the selected thread, if the selected stack is of it: that of a goroutine that waits is of none.
func (s *Stepping) thread() (*inferior.Thread, error) {
	if err := s.target.Live(); err != nil {
		return nil, err
	}
	if s.sel.Cur.Thread == nil {
		return nil, target.ErrNoStack
	}
	return s.sel.Cur.Thread, s.sel.Steps()
}

func (s *Stepping) stepLines(n int, into bool) (*stopped.Report, error) {
	if _, err := s.thread(); err != nil {
		return nil, err
	}
	if s.target.Proc.IsGo() {
		return s.stepGo(n, into)
	}
	return s.lines(n, into, false)
}

// ended reports a step that has ended by itself.
func (s *Stepping) ended(t *inferior.Thread, d done, verb string) *stopped.Report {
	return s.exec.reportAhead(inferior.Stop{Reason: inferior.Stepped, Thread: t}, verb, nil, d.ahead)
}

// arrived reports the numbered stop that a step ended on, if any: it counts as a
// hit.
func (s *Stepping) arrived(t *inferior.Thread, verb string) (*stopped.Report, error) {
	traps, err := s.target.Proc.Arrive(t)
	if err != nil || len(traps) == 0 {
		return nil, err
	}
	return s.exec.report(inferior.Stop{Reason: inferior.Trapped, Thread: t, Traps: traps}, verb), nil
}

// StepInstruction executes n instructions of the selected thread.
func (s *Stepping) StepInstruction(n int) (*stopped.Report, error) {
	return s.instructions(n, "stepi", false)
}

// NextInstruction executes n instructions, calls being one.
func (s *Stepping) NextInstruction(n int) (*stopped.Report, error) {
	return s.instructions(n, "nexti", true)
}

func (s *Stepping) instructions(n int, verb string, over bool) (*stopped.Report, error) {
	t, err := s.thread()
	if err != nil {
		return nil, err
	}
	defer s.exec.step()()
	st := &stepper{s: s, t: t}
	for i := range max(n, 1) {
		d, err := s.deliver(t, func(addr.Run) bool { return i == 0 })
		switch {
		case err != nil:
			return nil, err
		case d.stop.Reason != inferior.Stepped:
			return s.exec.report(d.stop, verb), nil
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
		s.exec.leave()
		stop, err := s.stepInstruction(t)
		if err != nil {
			return nil, err
		}
		if stop.Reason != inferior.Stepped {
			return s.exec.report(stop, verb), nil
		}
		now, err := t.Regs()
		if err != nil {
			return nil, err
		}
		if ret, ok := st.called(before, now); over && ok {
			reached, left, stop, err := s.exec.runOut(t, now.SP()+8, []runTarget{{at: ret, when: st.returned(now.SP())}})
			if err != nil {
				return nil, err
			}
			if !reached && !left {
				return s.exec.report(stop, verb), nil
			}
		}
		if r, err := s.arrived(t, verb); r != nil || err != nil {
			return r, err
		}
	}
	return s.exec.report(inferior.Stop{Reason: inferior.Stepped, Thread: t}, verb), nil
}

// throughProbe takes a thread whose instruction led into the probe's code to where the
// program's own goes on: a followed function's first instruction, or its caller. All
// threads run meanwhile, as the probe may wait for them.
func (s *Stepping) throughProbe(t *inferior.Thread, before inferior.Registers, stop inferior.Stop) (inferior.Stop, error) {
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
		targets := []runTarget{{at: raw.Frames[0].PC.Addr(), when: func(o *inferior.Thread) bool {
			regs, err := o.Regs()
			return o == t && (err != nil || regs.SP() > outer)
		}}}
		first, called := s.target.Probe.Moved(before.PC())
		if called {
			targets = append(targets, runTarget{at: first, when: func(o *inferior.Thread) bool { return o == t }})
		}
		reached, stop, err := s.exec.runToTargets(targets)
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
func (s *Stepping) stepInstruction(t *inferior.Thread) (inferior.Stop, error) {
	s.exec.planes.noteUnfollowed()
	if behind, ok := s.behindSyscall(t); ok {
		return s.overSyscall(t, behind)
	}
	before, err := t.Regs()
	if err != nil {
		return inferior.Stop{}, err
	}
	stop, err := s.target.Proc.StepInstruction(t)
	if err == nil && stop.Reason == inferior.Watched && !s.exec.stops.watched(stop) {
		stop = inferior.Stop{Reason: inferior.Stepped, Thread: t}
	}
	if err == nil && stop.Reason == inferior.Stepped && s.target.Probe != nil && !s.target.Probe.Covers(before.PC()) {
		return s.throughProbe(t, before, stop)
	}
	return stop, err
}
