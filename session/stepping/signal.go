package stepping

import (
	"hdb/inferior"
	"hdb/internal/addr"
)

// A delivery is what the delivery of signals before an instruction has led to.
type delivery struct {
	stop    inferior.Stop // Stepped: the instruction comes next, unless one of the others
	entered bool          // the thread is at the first instruction of a handler
	left    bool          // a handler was left by a longjmp; the thread is where that continues
}

// over tells that the instruction does not come next.
func (d *delivery) over() bool {
	return d.stop.Reason != inferior.Stepped || d.entered || d.left
}

// deliver gives the thread the signals that are due to it, as gdb does when it steps. The
// handler of a signal that has stopped the program is entered if enter says so; other
// handlers run to their end.
func (s *Steps) deliver(t *inferior.Thread, enter func(handler addr.Run) bool) (delivery, error) {
	d := delivery{stop: inferior.Stop{Reason: inferior.Stepped, Thread: t}}
	for {
		n, told := t.DueSignal()
		if n == 0 || s.target.Proc.IsGo() { // Go's own signals move goroutines
			return d, nil
		}
		before, err := t.Regs()
		if err != nil {
			return d, err
		}
		s.exec.Leave()
		stop, handler, err := s.target.Proc.StepSignal(t)
		if err != nil || stop.Reason != inferior.Stepped {
			d.stop = stop
			return d, err
		}
		if !handler {
			if m, _ := t.DueSignal(); m == n {
				return d, nil // it suspends the process when all threads run
			}
			continue
		}
		now, err := t.Regs()
		if err != nil {
			return d, err
		}
		if told && enter(now.PC()) {
			d.entered = true
			return d, nil
		}
		if d.stop, d.left, err = s.leaveHandler(t, before.SP(), now); err != nil || d.over() {
			return d, err
		}
	}
}

// leaveHandler runs the handler at whose first instruction the thread is, with the registers now,
// to its end; left tells that a longjmp has left it. sp is the stack pointer of the code that the
// signal has interrupted.
func (s *Steps) leaveHandler(t *inferior.Thread, sp addr.Run, now inferior.Registers) (stop inferior.Stop, left bool, err error) {
	ret, err := s.target.ReadPointer(now.SP())
	if err != nil {
		return stop, false, err
	}
	back := RunTarget{At: ret, When: FrameLeft(t, now.SP()+8)}
	reached, left, stop, err := s.exec.RunOut(t, sp, []RunTarget{back})
	switch {
	case err != nil:
		return stop, false, err
	case left:
		return inferior.Stop{Reason: inferior.Stepped, Thread: t}, true, nil
	case !reached:
		return stop, false, nil
	}
	stop, err = s.sigreturn(t)
	return stop, false, err
}

// sigreturn executes the instructions that a handler returns to: mov $15, %eax; syscall.
func (s *Steps) sigreturn(t *inferior.Thread) (stop inferior.Stop, err error) {
	for range 2 {
		regs, err := t.Regs()
		if err != nil {
			return stop, err
		}
		last := s.isSyscall(regs.PC())
		stop, err = s.target.Proc.StepInstruction(t)
		if err != nil || stop.Reason != inferior.Stepped || last {
			return stop, err
		}
	}
	return stop, nil
}

// atSigreturn reports whether a handler has returned to pc: the C library's restorer, which makes
// the system call rt_sigreturn.
func (s *Steps) atSigreturn(pc addr.Run) bool {
	var code [9]byte
	_, err := s.target.Proc.ReadAt(code[:], int64(pc))
	return err == nil && code == [9]byte{0x48, 0xc7, 0xc0, sysRtSigreturn, 0, 0, 0, 0x0f, 0x05}
}

// never enters no handler.
func never(addr.Run) bool { return false }

// delivered ends a step by lines that has delivered signals.
func (st *stepper) delivered(d delivery) (done, error) {
	switch {
	case d.stop.Reason != inferior.Stepped:
		return done{stop: d.stop}, nil
	case d.left:
		end, _, err := st.landed()
		return end, err
	}
	return done{ended: true, ahead: d.ahead(st)}, nil
}

// ahead is how many inlined calls begin at the start of the handler entered.
func (d *delivery) ahead(st *stepper) int {
	regs, err := st.t.Regs()
	if err != nil {
		return 0
	}
	return st.entered(regs.PC()).ahead
}

// handlerOver ends a step that has come out of a handler, where the signal had interrupted the
// program: at the start of a line, as in gdb.
func (st *stepper) handlerOver() (done, error) {
	stop, err := st.s.sigreturn(st.t)
	if err != nil || stop.Reason != inferior.Stepped {
		return done{stop: stop}, err
	}
	regs, err := st.t.Regs()
	if err != nil {
		return done{}, err
	}
	here := st.place(regs.PC())
	switch level := len(here.chain); {
	case !here.known:
		return st.outOfBareFunction()
	case here.begins(level):
		return done{ended: true, ahead: here.beginning()}, nil
	default:
		st.from = here.line(level)
		st.from.cfa = st.s.innermostCFA(regs)
		return st.loop()
	}
}
