package inferior

import (
	"errors"
	"fmt"
	"slices"

	"hdb/internal/addr"

	"golang.org/x/sys/unix"
)

// ErrEnded is in the chain of errors about a process that is no more.
var ErrEnded = errors.New("the process has ended")

// A Process is a program being debugged. See the package comment for who may
// call what when.
type Process struct {
	owner int // the OS thread that traces

	// The parts; see the package comment. What callers ask of them are their methods.
	*target // the process that is debugged now
	memory
	traps
	patches
	modules
	watchpoints
	family
	snapshots
	systemCalls
	policies
	waker
	terminal
	guard
	handler trapHandler

	optionsChanged bool // threads are to be given their ptrace options

	hooks Hooks
	spin  spinner

	stop     *Stop   // set by an event that stops everything
	stopping bool    // events are kept, threads not resumed
	halted   bool    // all threads were stopped on the way and are to be released
	stepping *Thread // runs one instruction while the others are stopped, or to a system call
	alone    loneRun
	request  int  // by which it does
	noBreak  bool // the step is not the user's: Interrupt waits until it is over
	closed   bool
	runs     uint64 // how often a thread was let run
	changes  uint64 // how often a thread was let run, or memory or registers were written

	delivery *Thread // is resumed for a step with its next signal
	entered  bool    // the step has ended at the entry of a signal's handler
}

// newProcess is a Process of the calling OS thread, which must be locked.
func newProcess() *Process {
	p := &Process{owner: unix.Gettid(), policies: defaultPolicies()}
	p.traps = traps{p: p, sites: map[addr.Run]*site{}, retired: map[addr.Run]byte{}}
	p.patches = patches{p: p, copies: map[addr.Run]addr.Run{}}
	p.family = family{p: p, held: map[int]*target{}, guests: map[int]*Thread{}, early: map[int]bool{}, leaving: map[int]bool{}, former: map[int]bool{}}
	p.modules.p, p.watchpoints.p, p.systemCalls.p, p.guard.p, p.handler.p, p.snapshots.p = p, p, p, p, p, p
	p.memory.fd = -1
	p.family.forks.detach = true
	p.waker.init(p.owner)
	return p
}

// check panics when the caller is not on the owner thread: the kernel would answer ESRCH to
// everything, which is hard to understand.
func (p *Process) check() {
	if tid := unix.Gettid(); tid != p.owner {
		panic(fmt.Sprintf("programming error: inferior.Process used from OS thread %d; its owner is %d", tid, p.owner))
	}
}

// Changes counts what may change memory or registers: threads that were let run, and writes of
// hdb's for its user. While it stays, what was read holds.
func (p *Process) Changes() uint64 { return p.changes }

// Runs counts how often a thread was let run. While it stays, all threads are where they were.
func (p *Process) Runs() uint64 { return p.runs }

// SetHooks replaces all hooks.
func (p *Process) SetHooks(h Hooks) { p.hooks = h }

func (p *Process) message(format string, args ...any) {
	if p.hooks.Message != nil {
		p.hooks.Message(fmt.Sprintf(format, args...))
	}
}

// addThread enters a thread into the target.
func (p *Process) addThread(tg *target, tid int, state threadState) *Thread {
	t := &Thread{Num: tg.nextNum, TID: tid, p: p, tg: tg, state: state, optionsOld: p.optionsChanged}
	tg.nextNum++
	tg.threads[tid] = t
	tg.order = append(tg.order, t)
	if p.hooks.ThreadStarted != nil && t.Num > 1 {
		p.hooks.ThreadStarted(t)
	}
	return t
}

// dropThread forgets a thread that has exited.
func (p *Process) dropThread(t *Thread) {
	if p.stepping == t {
		p.stepping = nil
	}
	if t.guest {
		p.family.guestLeft(t)
		return
	}
	if t.tg.threads[t.TID] != t {
		return
	}
	delete(t.tg.threads, t.TID)
	delete(p.systemCalls.free, t)
	t.tg.order = slices.DeleteFunc(slices.Clone(t.tg.order), func(x *Thread) bool { return x == t })
	p.exited(t)
}

// exited marks t and tells the hook, once.
func (p *Process) exited(t *Thread) {
	if t.state == exiting {
		return
	}
	t.state = exiting
	if p.hooks.ThreadExited != nil && t.Num > 1 {
		p.hooks.ThreadExited(t)
	}
}

// Alive is the error of calls that run or change the target: it has ended, is no longer
// debugged, or belongs to a core file.
func (p *Process) Alive() error {
	p.check()
	if p.target.core != nil {
		return &CoreError{p.target.core.Process.Signal}
	}
	if p.closed {
		return fmt.Errorf("process %d: no longer debugged", p.target.pid)
	}
	if p.target.exit != nil {
		return fmt.Errorf("process %d %v: %w", p.target.pid, *p.target.exit, ErrEnded)
	}
	return nil
}

// Readable is the error of calls that need the memory and the threads of a process or core.
func (p *Process) Readable() error {
	if p.target.core != nil {
		return nil
	}
	return p.Alive()
}

// Continue resumes all threads until something stops the target; when it
// returns they all are stopped again. What happened to other threads at the
// same time is reported by the next calls. A target that has ended is an
// error (ErrEnded), its end itself is not.
func (p *Process) Continue() (Stop, error) {
	if err := p.Alive(); err != nil {
		return Stop{}, err
	}
	p.snapshots.reap()
	p.terminal.lend(p.target.pid)
	defer p.terminal.take()
	defer p.tellStopped()()
	p.handler.resuming()
	if p.target.exit != nil {
		return p.finishStop(), nil // it has been killed meanwhile
	}
	if err := p.traps.putBack(); err != nil {
		return Stop{}, err
	}
	p.stop, p.halted = nil, true
	if err := p.watchpoints.refresh(); err != nil {
		return Stop{}, err
	}
	p.traps.raise()
	late := false // an interrupt came when the threads had begun to exit
	for {
		if err := p.runUntilStop(); err != nil {
			return Stop{}, err
		}
		if err := p.stopThreads(); err != nil {
			return Stop{}, err
		}
		if p.stop != nil && p.stop.Reason == Interrupted && p.target.dying() && !late {
			late, p.stop = true, nil // the end of the process comes next; another interrupt ends the wait for it
			continue
		}
		if p.stop != nil {
			p.traps.lower()
			if err := p.secure(); err != nil {
				return Stop{}, err
			}
		}
		if p.stop != nil {
			return p.finishStop(), nil
		}
		if err := p.traps.putBack(); err != nil { // the stop went away with its thread
			return Stop{}, err
		}
		p.halted = true
	}
}

// finishStop ends a run that stopped.
func (p *Process) finishStop() Stop {
	s := *p.stop
	p.stop = nil
	if len(p.family.early) == 0 {
		p.traps.dropRetired()
		p.patches.dropRetired()
	}
	return s
}

// runUntilStop handles events until one of them stops the target.
func (p *Process) runUntilStop() error {
	p.stopping = false
	for p.stop == nil {
		if p.alone.left(p.target.order) {
			p.stop = &Stop{Reason: Interrupted, Thread: p.target.representative()}
			break
		}
		if p.waker.called.Load() {
			p.waker.run()
			continue
		}
		if p.halted {
			p.halted = false
			p.releaseAll()
			continue
		}
		if p.giveTurn(); p.stop != nil || p.halted {
			continue
		}
		if err := p.waitEvent(); err != nil {
			return err
		}
	}
	return nil
}

// waitEvent handles one event of any tracee, or a call of Interrupt.
func (p *Process) waitEvent() error {
	p.waker.waiting.Store(true)
	defer p.waker.waiting.Store(false)
	if p.waker.asked() {
		p.interrupted()
		if p.stop != nil && p.stepping == nil && !p.stopping {
			return nil
		}
	}
	calls := p.stepping == nil && !p.stopping // else they wait, see Wake
	if calls && p.waker.called.Load() {
		return nil
	}
	tid, ws, err := p.spin.next(p.handler.wait, func() bool {
		return p.waker.asked() || p.waker.late() || calls && p.waker.called.Load()
	})
	switch {
	case err == unix.EINTR:
		return nil
	case err == unix.ECHILD:
		// Another part of hdb has reaped the process.
		p.ended(p.target, ExitStatus{Signal: int(unix.SIGKILL)})
		return nil
	case err != nil:
		return fmt.Errorf("wait for process %d: %w", p.target.pid, err)
	}
	p.dispatch(tid, ws)
	return nil
}

// stopThreads stops every thread of the target. What they have to report is
// kept for their next release.
func (p *Process) stopThreads() error {
	defer func(s bool) { p.stopping = s }(p.stopping)
	p.stopping = true
	var until *awaiting
	defer func() { until.end() }()
	for {
		wait := false
		for _, t := range p.target.order {
			if t.state != running {
				continue
			}
			wait = true
			if !t.interrupted {
				// ESRCH: it is being killed, and its exit will be reported.
				t.interrupted = ptrace(unix.PTRACE_INTERRUPT, t.TID, 0, 0) == nil
			}
		}
		if !wait {
			return p.watchpoints.endTurns()
		}
		if until == nil {
			until = p.await()
		}
		if err := until.wait(p); err != nil {
			return err
		}
	}
}

// StopAll is for handlers and hooks: it stops all threads of the target, runs f, and lets the run
// continue afterwards; f's error is passed on. Of what other threads arrive at meanwhile nothing is
// lost. The process may end while they are being stopped (ErrEnded, and f does not run), or execute
// a program (Hooks.Execed is called before f). Between runs it just calls f.
func (p *Process) StopAll(f func() error) error {
	if err := p.Alive(); err != nil {
		return err
	}
	if err := p.stopThreads(); err != nil {
		return err
	}
	p.halted = true
	if err := p.Alive(); err != nil {
		return err
	}
	return f()
}

// ours reports whether t belongs to the target now, or runs in its memory.
func (t *Thread) ours() bool { return t.guest || t.tg == t.p.target }

// releaseAll resumes all stopped threads, after their pending events have
// been looked at: one of those may be the next stop.
func (p *Process) releaseAll() {
	threads := slices.Clone(p.target.order)
	for _, t := range threads {
		if t.state == stopped && !p.alone.aside(t) && p.report(t) {
			return
		}
	}
	for _, t := range p.family.guests {
		threads = append(threads, t)
	}
	for _, t := range threads {
		if t.state == stopped && t.ours() && !p.alone.aside(t) {
			p.traps.passTrap(t)
		}
		if p.stop != nil {
			return
		}
	}
	p.halted = false
	for _, t := range threads {
		if t.state != stopped || !t.ours() || p.alone.aside(t) {
			continue
		}
		if p.report(t) {
			return
		}
		p.resume(t, unix.PTRACE_CONT)
	}
}

// release lets one thread continue after an event that stops nothing.
func (p *Process) release(t *Thread) {
	if t.state != stopped || !t.ours() || p.stop != nil || p.alone.aside(t) || t.guest && p.family.guestsHeld || p.report(t) {
		return
	}
	switch passed := p.traps.passTrap(t) && t.state == stopped; {
	case passed && t.leave:
		p.family.resumeGuest(t)
	case passed && !p.halted:
		p.resume(t, unix.PTRACE_CONT)
	}
}

// proceed is what follows an event that is dealt with: t continues, unless all threads are being
// stopped, and continues stepping when it was.
func (p *Process) proceed(t *Thread) {
	switch {
	case p.stepping == t:
		p.resume(t, p.request)
	case t.guest && p.family.guestsHeld:
	case t.guest:
		p.resume(t, unix.PTRACE_CONT)
	case !p.stopping:
		p.release(t)
	}
}

// resume restarts t with the request (CONT, SINGLESTEP or SYSCALL). CONT
// delivers its next signal.
func (p *Process) resume(t *Thread, request int) {
	sig, deliver := 0, request == unix.PTRACE_CONT
	if deliver && p.watchpoints.steps() && !t.guest && !(t.group && t.atStop) {
		var ok bool
		if request, ok = p.watchpoints.turnRequest(t); !ok {
			return
		}
	}
	if request == unix.PTRACE_SINGLESTEP && p.watchpoints.steps() && !t.guest {
		p.watchpoints.foresee(t)
	}
	p.watchpoints.resuming(t)
	err := t.flush()
	if err == nil && !t.debugOK {
		err = p.watchpoints.syncDebug(t)
	}
	if err == nil && t.optionsOld {
		err = t.syncOptions()
	}
	if err == nil && deliver {
		sig = t.inject(t.tg.pid, t.TID, t.deliverable)
		switch {
		case t.group && t.atStop:
			request = unix.PTRACE_LISTEN
		case t.group: // it has been made to run in the stopped process: back to the others
			t.interrupted = ptrace(unix.PTRACE_INTERRUPT, t.TID, 0, 0) == nil
		}
		if request == unix.PTRACE_CONT && p.systemCalls.follows(t) {
			request = unix.PTRACE_SYSCALL
		}
	}
	if err == nil && p.delivery == t {
		if t.deliverable && len(t.queue) > 0 {
			sig, p.delivery = t.take(t.TID), nil
		} else {
			t.announce(t.tg.pid, t.TID)
		}
	}
	p.changes++
	p.runs++
	if err == nil {
		// An error means ESRCH, here and above: t has been killed and its
		// exit will be reported.
		_ = ptrace(request, t.TID, 0, uintptr(sig))
	}
	if request != unix.PTRACE_SYSCALL {
		clear(p.systemCalls.free) // its calls are not seen
	}
	t.at, t.stepped = 0, request == unix.PTRACE_SINGLESTEP
	t.left()
}
