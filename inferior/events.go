package inferior

import (
	"slices"

	"hdb/inferior/x86"
	"hdb/internal/addr"

	"golang.org/x/sys/unix"
)

// dispatch handles one wait status.
func (p *Process) dispatch(tid int, ws unix.WaitStatus) {
	t := p.family.find(tid)
	if ws.Exited() || ws.Signaled() {
		p.family.reaped(t, tid, ws)
		return
	}
	if t != nil && event(ws) == unix.PTRACE_EVENT_EXEC {
		t = execCaller(t)
	}
	if t == nil {
		if t = p.family.stranger(tid); t == nil {
			return
		}
	}
	// Any ptrace-stop clears an outstanding PTRACE_INTERRUPT.
	t.state, t.interrupted, t.regsValid, t.deliverable = stopped, false, false, false
	t.inKernel = inSystemCall(ws)
	t.atStop = event(ws) == unix.PTRACE_EVENT_STOP
	t.vfork = event(ws) == unix.PTRACE_EVENT_VFORK
	if p.watchpoints.steps() && !t.guest && t.ours() && event(ws) != unix.PTRACE_EVENT_EXIT {
		p.watchpoints.accessed(t, event(ws) == 0 && ws.StopSignal() == unix.SIGTRAP)
		p.watchpoints.compare(t)
	}
	switch event(ws) {
	case 0:
		p.onSignal(t, ws.StopSignal())
	case unix.PTRACE_EVENT_CLONE, unix.PTRACE_EVENT_FORK, unix.PTRACE_EVENT_VFORK:
		p.family.onBirth(t, event(ws))
	case unix.PTRACE_EVENT_EXEC:
		p.family.onExec(t)
	case unix.PTRACE_EVENT_EXIT:
		p.onExit(t)
	case unix.PTRACE_EVENT_STOP:
		p.onStop(t, ws.StopSignal())
	case unix.PTRACE_EVENT_VFORK_DONE:
		p.family.vforkDone(t)
		p.proceed(t)
	default: // what later kernels may add
		p.proceed(t)
	}
}

// inSystemCall tells a stop inside a system call from one before the next
// instruction of the program.
func inSystemCall(ws unix.WaitStatus) bool {
	switch event(ws) {
	case 0:
		return ws.StopSignal() == unix.SIGTRAP|sysgood
	case unix.PTRACE_EVENT_STOP:
		return false
	}
	return true
}

// ended notes the end of the target. It overrides any other stop.
func (p *Process) ended(tg *target, status ExitStatus) {
	tg.exit = &status
	for _, t := range tg.order {
		p.exited(t)
	}
	tg.order = nil
	clear(tg.threads)
	p.stepping = nil
	if p.family.forks.vforkParent != nil {
		p.family.releaseVforkParent()
	}
	p.traps.forget()
	p.watchpoints.forget()
	p.guard.end()
	p.memory.close()
	reason := Exited
	if status.Signal == int(unix.SIGKILL) {
		reason = Gone
	}
	p.stop = &Stop{Reason: reason, Exit: status}
}

// onExit handles PTRACE_EVENT_EXIT: t runs no more user code. It must not be
// kept, as another thread's execve may wait for it.
func (p *Process) onExit(t *Thread) {
	if !t.guest && t.tg == p.target {
		p.refused(t)
	}
	if !t.guest {
		p.exited(t) // before its stack and TLS may serve another thread
		if p.hooks.Exiting != nil && t.tg == p.target && (t.TID == t.tg.pid || t.tg.dying()) {
			p.hooks.Exiting()
		}
	}
	_ = ptrace(unix.PTRACE_CONT, t.TID, 0, 0) // ESRCH: killed once more
	t.regsValid, t.regsDirty = false, false
	if p.stepping == t {
		p.stepping = nil
	}
	t.state = exiting
	if p.stop != nil && p.stop.Thread == t {
		p.stop = nil // a stop of a thread that is gone concerns no handler
	}
	if !t.guest && t.TID != t.tg.pid {
		p.dropThread(t)
		p.family.left(t)
	}
}

// refused tells the hook of a thread that is about to end by SIGSYS: a seccomp filter has refused its last
// system call, or another thread's.
func (p *Process) refused(t *Thread) {
	status, err := eventMessage(t.TID)
	var regs Registers
	if p.hooks.Refused == nil || err != nil || unix.WaitStatus(status).Signal() != unix.SIGSYS || getRegs(t.TID, &regs) != nil {
		return
	}
	p.hooks.Refused(t, regs.PC(), x86.SystemCallName(regs.OrigRax))
}

// onStop handles PTRACE_EVENT_STOP: the answer to PTRACE_INTERRUPT, the first
// stop of a new thread, or a group-stop.
func (p *Process) onStop(t *Thread, sig unix.Signal) {
	switch sig {
	case unix.SIGSTOP, unix.SIGTSTP, unix.SIGTTIN, unix.SIGTTOU:
		t.group = true
	default:
		t.group = false
	}
	if p.stepping == t && p.stop != nil {
		p.stepping, t.stepCut = nil, true // Interrupt
		return
	}
	p.proceed(t)
}

// onSignal handles a signal-delivery-stop, and the SIGTRAPs that are no signals.
func (p *Process) onSignal(t *Thread, sig unix.Signal) {
	if sig == unix.SIGTRAP|sysgood {
		if p.stepping == t {
			p.stepping = nil // the step over a syscall instruction has entered the kernel
			return
		}
		p.systemCalls.onStop(t)
		return
	}
	t.deliverable = true
	var info siginfo
	if getSiginfo(t.TID, &info) != nil {
		t.state = running // killed: its exit will be reported
		return
	}
	if sig == unix.SIGTRAP && info.code() == int(unix.SIGTRAP) {
		t.deliverable = false // at the entry of a handler (ptrace_notify in the kernel), which takes no signal
	}
	if sig == unix.SIGTRAP && p.traps.onTrap(t, &info) {
		return
	}
	if p.traps.onGate(t, sig) {
		return
	}
	if isAccessFault(&info) && t.ours() && p.traps.faulted(t) {
		p.proceed(t)
		return
	}
	if p.hooks.Fault != nil && isAccessFault(&info) && t.ours() && p.hooks.Fault(t, explain(p, t, &info)) {
		p.proceed(t)
		return
	}
	t.enqueue(&info, t.guest)
	if p.stepping == t && isFault(&info) {
		p.stepping = nil // the instruction cannot run; its signal comes first
		return
	}
	p.proceed(t)
}

// onTrap handles a SIGTRAP that the engine has caused. False: it is the
// program's own.
func (ts *traps) onTrap(t *Thread, info *siginfo) bool {
	if code := info.code(); t.stepCut && ts.p.stepping != t && (code == trapTrace || code == trapBrkpt) {
		t.stepCut = false
		ts.p.proceed(t)
		return true
	}
	if ts.p.watchpoints.onTurn(t, info.code()) {
		ts.p.watchpoints.hit(t)
		ts.p.proceed(t)
		return true
	}
	switch info.code() {
	case sigKernel:
		return ts.onInt3(t, 1)
	case trapBack:
		return ts.onInt3(t, 0)
	case trapTrace:
		if ts.p.stepping != t {
			return false
		}
		ts.p.stepping = nil
		ts.p.watchpoints.hit(t)
		return true
	case int(unix.SIGTRAP):
		if ts.p.stepping != t {
			return false
		}
		ts.p.stepping, ts.p.entered = nil, true
		ts.p.watchpoints.hit(t)
		return true
	case trapHW, trapBrkpt:
		hit := ts.p.watchpoints.hit(t)
		if ts.p.stepping == t { // a step over a system call has code TRAP_BRKPT
			ts.p.stepping = nil
			return true
		}
		if !hit {
			return false
		}
		ts.p.proceed(t)
		return true
	}
	return false
}

// onInt3 handles an int3 just executed; the thread's PC is size bytes behind its beginning. False:
// it is the program's own.
func (ts *traps) onInt3(t *Thread, behind addr.Run) bool {
	if t.load() != nil {
		t.state = running // killed
		return true
	}
	pc := t.pc() - behind
	s := ts.sites[pc]
	switch {
	case s == nil:
		if b, err := ts.p.memory.peek(pc); err != nil || b == int3 {
			return false
		}
	case len(s.code) > 0 && s.code[0] == int3 && ts.p.stepping == t:
		return false // it is under our trap
	}
	t.regs.Rip, t.regsDirty, t.shown = uint64(pc), true, 0
	if s != nil && s.front != nil {
		t.showAt(s.front.site.addr, pc)
	}
	if s == nil || ts.p.stopping && !t.guest {
		// Removed meanwhile, or to be hit again on the next release.
		ts.p.proceed(t)
		return true
	}
	if t.guest {
		if t.at = pc; s.front != nil {
			t.showAt(s.front.site.addr, s.front.screen.Over)
		}
		ts.guestHit(t, s)
		ts.p.release(t)
		return true
	}
	if stops := ts.hit(t, s); len(stops) > 0 {
		ts.p.stop = trapStop(t, stops)
		return true
	}
	ts.p.release(t)
	return true
}

// trapStop is the stop at the traps; at the engine's own trap, the stop for a change of the
// modules.
func trapStop(t *Thread, stops []*Trap) *Stop {
	users := slices.DeleteFunc(stops, func(t *Trap) bool { return t.internal })
	if len(users) == 0 {
		return &Stop{Reason: Loaded, Thread: t}
	}
	return &Stop{Reason: Trapped, Thread: t, Traps: users}
}
