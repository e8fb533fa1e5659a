package pystops

import (
	"errors"
	"fmt"

	"hdb/inferior"
	"hdb/internal/addr"
	"hdb/python"
)

// byJumps has a step go by the jumps of the loop, where there are fewer registers than it takes.
func (s *step) byJumps(need int) (bool, error) {
	if s.jumping || s.p.target.Proc.FreeRegisters() >= need && !s.file.byJumps() {
		return s.jumping, nil
	}
	why := s.p.stops.host.WhyNoRegister()
	err := s.p.stops.followJumps(s.file)
	switch {
	case errors.Is(err, errNoJumps):
		s.p.sayOnce(fmt.Sprintf("py: %s: %s", why, inferior.StepCost))
		return false, nil // what is short goes by single steps
	case err == nil:
		s.jumping, s.file.jumps.step = true, s
		s.p.sayOnce(fmt.Sprintf("py: %s: steps use traps in the interpreter's loop, %s", why, jumpCost))
	}
	return s.jumping, err
}

// sayOnce tells the user something for the first time.
func (p *Steps) sayOnce(text string) {
	if !p.target.Said[text] {
		p.target.Said[text] = true
		p.target.Notify("%s", text)
	}
}

// jumpCost is what the traps cost, as measured.
const jumpCost = "each instruction of Python costs some 25 µs"

// over ends a step.
func (s *step) over() {
	if !s.jumping {
		return
	}
	s.jumping, s.file.jumps.step = false, nil
	if _, gone := s.p.exitedNow(); gone {
		return
	}
	if err := s.p.stops.leaveJumps(s.file); err != nil {
		s.p.target.Notify("python: %v", err)
	}
}

// jumped is called at each jump of the loop. Frames that begin and end are seen there, too: the
// thread executes an instruction of another one.
func (s *step) jumped(t *inferior.Thread, at addr.Run) inferior.Action {
	if s.event != stepNothing || t != s.thread && !s.asleep {
		return inferior.Resume
	}
	state, err := s.state, error(nil)
	if t != s.thread {
		state, err = s.file.state(s.p.target, t)
	}
	if err != nil {
		return inferior.Resume
	}
	pos, err := s.file.bodies.Position(state)
	if err != nil || pos.Frame != s.frame && !s.elsewhere(state, pos) {
		return inferior.Resume
	}
	if s.event == stepNothing && (s.lines || s.asleep) && s.notes(t, at) {
		s.event = s.instruction(t)
	}
	if s.event != stepNothing {
		return inferior.StopHere
	}
	return inferior.Resume
}

// elsewhere follows a thread that executes another frame than the step's: called by that, or one that it
// has returned to. It reports whether the step continues there, or has ended.
func (s *step) elsewhere(state python.State, pos python.Position) bool {
	switch {
	case s.asleep, pos.Frame == s.inner:
		return false
	case s.file.bodies.Calls(s.frame, state):
		if !s.into {
			s.inner = pos.Frame
			return false
		}
	default:
		if s.event = s.leaving(); s.event == stepYielded || !s.onward {
			return true
		}
	}
	left := s.event
	if err := s.to(pos); err != nil {
		s.event = left
		return left != stepNothing
	}
	s.event, s.inner = stepNothing, 0
	switch { // up to 3.10 the frame has noted the instruction already
	case s.file.bodies.Minor() > 10 || s.prev < 0:
	case s.prev <= s.body.First():
		s.prev = -s.file.bodies.Units()
	default:
		s.prev = s.body.Before(s.prev)
	}
	return true
}

// notes has a thread at a jump continue until the frame has noted the instruction: up to 3.10 it has.
func (s *step) notes(t *inferior.Thread, at addr.Run) bool {
	regs, err := t.Regs()
	if err != nil {
		return false
	}
	if s.file.bodies.Minor() <= 10 || regs.PC() != at {
		return true
	}
	return s.p.stops.notes(s.file, s.frame, t)
}

// runsToSecond runs to the second of two instructions that are executed as one, and reports whether it has.
func (s *step) runsToSecond(t *inferior.Thread, at int) bool {
	return s.p.stops.runsTo(t, s.body.Start+addr.Run(at)) && s.noteSecond(at)
}
