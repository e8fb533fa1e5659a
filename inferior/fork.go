package inferior

import (
	"errors"
	"fmt"
	"hdb/internal/procfs"
	"maps"
	"slices"

	"golang.org/x/sys/unix"
)

// The family of the target is the processes around it: children held stopped, vfork
// children that run in its memory (guests), and those that were let go.
type family struct {
	p *Process

	held       map[int]*target // children kept stopped, by pid
	guests     map[int]*Thread // vfork children in the target's memory, by tid
	guestsHeld bool            // guests are not resumed
	early      map[int]bool    // new processes that stopped before the event announcing them
	former     map[int]bool    // launched targets that were let go
	leaving    map[int]bool    // threads past PTRACE_EVENT_EXIT, not yet reaped
	forks      forkSettings
}

// forkSettings say what becomes of new processes.
type forkSettings struct {
	followChild bool
	detach      bool    // let the one not followed go; otherwise hold it
	following   bool    // a child: those of other threads, born meanwhile, are not followed
	vforkParent *target // stopped, its memory shared with the target that has been followed
}

// SetFollowFork chooses who stays the target after a fork: the parent (as at
// first) or the child.
func (f *family) SetFollowFork(child bool) {
	f.forks.followChild = child
	if child {
		_ = f.p.traps.lowerAll() // an error comes back when the process stops
	}
}

// SetDetachOnFork chooses what becomes of the other process: detached (as at
// first), or held, stopped, until SwitchTo or the end of the session.
func (f *family) SetDetachOnFork(detach bool) { f.forks.detach = detach }

// Held lists the processes kept stopped, ascending.
func (f *family) Held() []int { return slices.Sorted(maps.Keys(f.held)) }

// onBirth handles the event of t having created a thread or a process.
func (f *family) onBirth(t *Thread, ev int) {
	child, err := eventMessage(t.TID)
	if err != nil {
		t.state = running // killed
		return
	}
	if ev == unix.PTRACE_EVENT_CLONE && procfs.IsThread(t.tg.pid, child) {
		if !t.guest && t.tg.threads[child] == nil && !f.leaving[child] {
			f.p.addThread(t.tg, child, running)
		}
		f.p.proceed(t)
		return
	}
	f.newProcess(t, child, ev == unix.PTRACE_EVENT_VFORK)
}

// newProcess handles the birth of a process. No child ever runs into an int3 of ours: one with
// memory of its own has the int3s lifted, one that shares our memory stays traced, as a guest,
// until it execs or exits.
func (f *family) newProcess(t *Thread, child int, vfork bool) {
	if !f.early[child] {
		_, ws, err := waitFor(child)
		if err != nil || ws.Exited() || ws.Signaled() {
			f.p.proceed(t) // killed at birth
			return
		}
	}
	delete(f.early, child)
	if f.p.snapshots.born(t, child) {
		f.p.proceed(t)
		return
	}
	parent := t.tg.pid
	shared := sharesMemory(parent, child, vfork)
	follow := f.forks.followChild && !t.guest && !f.forks.following
	if shared && !follow && f.p.hooks.Guest != nil {
		f.p.hooks.Guest(t, child, true, vfork)
	}
	asks := !t.guest && f.p.stop == nil && !f.p.stopping // else another stop is under way
	if asks && !follow {
		f.askFork(t, child, vfork)
	}
	switch {
	case follow:
		f.follow(t, child, shared)
	case shared:
		f.addGuest(t, child, vfork)
	case f.forks.detach || t.guest:
		f.liftIn(child)
		f.detachOne(child)
	default:
		f.liftIn(child)
		f.hold(child, t.tg)
	}
	if f.p.hooks.Forked != nil {
		f.p.hooks.Forked(Birth{Parent: parent, Child: child, VFork: vfork, Followed: follow})
	}
	if follow {
		if asks {
			f.askFork(f.p.target.representative(), child, vfork)
		}
		return
	}
	if vfork && f.p.stepping == t {
		// The call returns only when the child is gone: the step ends here.
		f.p.stepping = nil
	}
	f.p.proceed(t)
}

// askFork makes the birth of a process a stop if the hook says so.
func (f *family) askFork(by *Thread, child int, vfork bool) {
	if by == nil || f.p.stop != nil || f.p.hooks.CatchFork == nil {
		return
	}
	// As at the entry of any call: a vfork could not be left to read them behind it.
	inKernel := by.inKernel
	by.inKernel = false
	action := f.p.hooks.CatchFork(by, child, vfork)
	by.inKernel, by.regsValid = inKernel, by.regsValid && !inKernel
	if action == StopHere && f.p.stop == nil { // the hook may have stopped all threads, and one of them the run
		f.p.stop = &Stop{Reason: Forked, Thread: by, Child: child}
	}
}

// detachOne lets a stopped process of one thread go.
func (f *family) detachOne(tid int) {
	_ = ptrace(unix.PTRACE_DETACH, tid, 0, 0) // ESRCH: killed
}

// liftIn takes our int3s and patches out of a fork child's copy of the memory.
func (f *family) liftIn(child int) {
	fd, err := unix.Open(procfs.Path(child, "mem"), unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return // killed
	}
	defer unix.Close(fd)
	lift := func(a int64, orig byte) {
		var b [1]byte
		if n, err := unix.Pread(fd, b[:], a); n == 1 && err == nil && b[0] == int3 {
			_, _ = unix.Pwrite(fd, []byte{orig}, a) // fails only when the child is gone
		}
	}
	for _, c := range f.p.memory.covers {
		if c.trap {
			lift(int64(c.at), c.orig)
		}
	}
	for a, orig := range f.p.traps.retired {
		lift(int64(a), orig)
	}
	for _, pt := range f.p.patches.planted { // of those that divert the trap has been lifted
		restorePatchIn(fd, retiredPatch{pt.at, pt.code, f.p.memory.original(pt)})
	}
	for _, pt := range f.p.patches.retired {
		restorePatchIn(fd, pt)
	}
}

// hold keeps a child stopped.
func (f *family) hold(child int, parent *target) {
	tg := newTarget(child, parent.launched)
	tg.exe, tg.killOnExit = parent.exe, parent.killOnExit
	f.held[child] = tg
	tg.threads[child] = &Thread{Num: 1, TID: child, p: f.p, tg: tg, state: stopped, optionsOld: f.p.optionsChanged}
	tg.order = []*Thread{tg.threads[child]}
	tg.nextNum = 2
}

// follow makes a new child the target. Traps stay planted in it, in the same
// places. The parent of a vfork shares its memory and so is held until the
// child execs or exits.
func (f *family) follow(t *Thread, child int, shared bool) {
	old := f.p.target
	f.forks.following = true
	defer func() { f.forks.following = false }()
	if err := f.p.stopThreads(); err != nil || old.exit != nil {
		return
	}
	if t.state == stopped && f.p.stepping == t {
		f.p.stepping = nil
	}
	if shared {
		f.forks.vforkParent = old
	} else {
		f.liftIn(child) // or change would take them for the program's own
	}
	f.hold(child, old)
	f.held[child].peers = shared
	if err := f.change(f.held[child], !shared); err != nil {
		f.p.message("follow the child %d: %v", child, err)
		return
	}
	f.p.stop = nil // it concerned the parent
	if !shared {
		f.park(old)
	}
	f.p.halted = true
}

// park lets a stopped former target go, or holds it.
func (f *family) park(old *target) {
	if !f.forks.detach {
		f.held[old.pid] = old
		return
	}
	f.former[old.pid] = true
	if err := old.detachAll(); err != nil {
		f.p.message("detach from process %d: %v", old.pid, err)
	}
	f.reapLeaving(old)
}

// change makes a held process the target and plants the traps in it. The old one, all stopped, has
// its traps lifted and its patches removed, unless both share one memory.
func (f *family) change(to *target, lift bool) error {
	if err := f.p.traps.putBack(); err != nil {
		return err
	}
	if f.p.target.exit == nil {
		if err := f.p.target.drain(); err != nil {
			return err
		}
	}
	if lift && f.p.target.exit == nil {
		f.p.patches.removeAll()
		f.p.traps.liftAll()
	}
	delete(f.held, to.pid)
	f.p.target = to
	if err := f.p.memory.open(to.pid, !lift); err != nil {
		return err
	}
	if lift {
		f.p.guard.renew()
	}
	for _, t := range to.order {
		t.debugOK = false
	}
	var failed []error
	for a := range f.p.traps.sites {
		failed = append(failed, f.p.memory.plant(a)) // nothing to do when it is planted
	}
	f.p.modules.rescan()
	return errors.Join(failed...)
}

// SwitchTo makes a held process the target; the present one is held instead,
// with its traps lifted. Traps and watchpoints go over when the two run the
// same program, and are forgotten otherwise.
func (f *family) SwitchTo(pid int) error {
	f.p.check()
	to := f.held[pid]
	if to == nil {
		return fmt.Errorf("process %d is not held (held: %v)", pid, f.Held())
	}
	old := f.p.target
	same := old.exit == nil && old.exe == to.exe
	if !same {
		if old.exit == nil {
			f.p.patches.removeAll()
		}
		f.p.traps.liftAll()
		f.p.traps.forget()
		f.p.watchpoints.forget()
	}
	if err := f.change(to, true); err != nil {
		return fmt.Errorf("switch to process %d: %w", pid, err)
	}
	if old.exit == nil {
		f.held[old.pid] = old
	}
	return nil
}

// execCaller is the thread whose execve is reported under its leader's tid,
// which it has taken over.
func execCaller(leader *Thread) *Thread {
	former, err := eventMessage(leader.TID)
	if t := leader.tg.threads[former]; err == nil && t != nil {
		return t
	}
	return leader
}

// onExec handles execve, the moment before the new program's first
// instruction. The other threads are gone.
func (f *family) onExec(t *Thread) {
	if t.guest {
		f.guestLeft(t)
		if f.p.stepping == t {
			f.p.stepping = nil
		}
		f.detachOne(t.TID)
		return
	}
	for _, x := range t.tg.order {
		if x != t {
			f.p.exited(x)
		}
	}
	t.TID, t.signalQueue = t.tg.pid, signalQueue{}
	t.debugOK, t.debugSet, t.at = false, false, 0
	t.tg.threads = map[int]*Thread{t.TID: t}
	t.tg.order = []*Thread{t}
	f.p.traps.forget()
	f.p.watchpoints.forget()
	if f.forks.vforkParent != nil {
		f.releaseVforkParent()
	}
	if err := f.p.memory.open(t.tg.pid, false); err != nil {
		f.p.message("%v", err)
	}
	f.p.guard.renew()
	_ = t.tg.executes() // a process that has been killed meanwhile keeps its name
	f.p.modules.forget()
	f.p.modules.rescan()
	if f.p.stop != nil && f.p.stop.Thread != t {
		f.p.stop = nil // it concerned a thread of the old image
	}
	if f.p.hooks.Execed != nil {
		f.p.hooks.Execed(t.tg.exe)
	}
	if f.p.stop == nil && f.p.hooks.CatchExec != nil && f.p.hooks.CatchExec(t) == StopHere {
		f.p.stop = &Stop{Reason: Execed, Thread: t, Path: t.tg.exe}
	}
	f.p.proceed(t)
}

// releaseVforkParent lets the parent go whose memory the target has left: the
// int3s and patches in it are taken out first.
func (f *family) releaseVforkParent() {
	parent := f.forks.vforkParent
	f.forks.vforkParent = nil
	f.p.memory.restore()
	f.park(parent)
}

// TraceClone has the kernel report the child that t, which is at the entry of the C library's
// clone (clone(2)), is about to make: it takes CLONE_UNTRACED out of the flags.
func (t *Thread) TraceClone() error {
	r, err := t.Regs()
	if err != nil || r.Rdx&unix.CLONE_UNTRACED == 0 {
		return err
	}
	r.Rdx &^= unix.CLONE_UNTRACED
	return t.SetRegs(r)
}

// reapLeaving collects the threads that are on their way out: until then they are ours, and no
// other debugger could attach. A leader that has exited before its threads cannot be detached from;
// when all are gone it is collected, so that its parent learns of it.
func (f *family) reapLeaving(tg *target) {
	for tid := range f.leaving {
		for {
			_, ws, err := waitFor(tid)
			if err != nil || ws.Exited() || ws.Signaled() {
				break
			}
		}
	}
	clear(f.leaving)
	if leader := tg.threads[tg.pid]; leader != nil && leader.state == exiting {
		go func(pid int) {
			for {
				if _, ws, err := waitFor(pid); err != nil || ws.Exited() || ws.Signaled() {
					return
				}
			}
		}(tg.pid)
	}
}

// find is the tracee with that tid, or nil.
func (f *family) find(tid int) *Thread {
	if t := f.p.target.threads[tid]; t != nil {
		return t
	}
	if t := f.guests[tid]; t != nil {
		return t
	}
	for _, tg := range f.held {
		if t := tg.threads[tid]; t != nil {
			return t
		}
	}
	return nil
}

// stranger takes the first stop of a tracee that no event has announced yet. A thread of the target
// is entered; a new process waits for its parent's event, which is on its way.
func (f *family) stranger(tid int) *Thread {
	if procfs.IsThread(f.p.target.pid, tid) {
		return f.p.addThread(f.p.target, tid, stopped)
	}
	f.early[tid] = true
	return nil
}

// reaped handles the end of a tracee.
func (f *family) reaped(t *Thread, tid int, ws unix.WaitStatus) {
	status := ExitStatus{Code: ws.ExitStatus()}
	if ws.Signaled() {
		status = ExitStatus{Signal: int(ws.Signal()), CoreDumped: ws.CoreDump()}
	}
	switch {
	case tid == f.p.target.pid:
		f.p.ended(f.p.target, status)
	case f.held[tid] != nil:
		f.p.message("process %d %v", tid, status)
		delete(f.held, tid)
	case t != nil:
		f.p.dropThread(t)
	case f.former[tid]: // it is still our child
		delete(f.former, tid)
		f.p.message("process %d, no longer debugged, %v", tid, status)
	default:
		delete(f.leaving, tid)
		delete(f.early, tid)
	}
}

// left notes that a thread runs no more user code and is still to be reaped.
func (f *family) left(t *Thread) { f.leaving[t.TID] = true }

// detachHeld detaches all held processes.
func (f *family) detachHeld() (err error) {
	for _, tg := range f.held {
		if e := tg.detachAll(); err == nil {
			err = e
		}
	}
	clear(f.held)
	return err
}
