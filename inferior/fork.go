package inferior

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"

	"golang.org/x/sys/unix"
)

// forkSettings say what becomes of new processes.
type forkSettings struct {
	followChild bool
	detach      bool // let the one not followed go; otherwise hold it
	catchFork   bool
	catchExec   bool
	following   bool    // a child: those of other threads, born meanwhile, are not followed
	vforkParent *target // stopped, its memory shared with the target that has been followed
}

// SetFollowFork chooses who stays the target after a fork: the parent (as at
// first) or the child.
func (p *Process) SetFollowFork(child bool) { p.forks.followChild = child }

// SetDetachOnFork chooses what becomes of the other process: detached (as at
// first), or held, stopped, until SwitchTo or the end of the session.
func (p *Process) SetDetachOnFork(detach bool) { p.forks.detach = detach }

// CatchFork makes forks a stop (Forked), CatchExec execs (Execed).
func (p *Process) CatchFork(on bool) { p.forks.catchFork = on }

// CatchExec makes a successful execve a stop.
func (p *Process) CatchExec(on bool) { p.forks.catchExec = on }

// Held lists the processes kept stopped, ascending.
func (p *Process) Held() []int { return slices.Sorted(maps.Keys(p.held)) }

// onBirth handles the event of t having created a thread or a process.
func (p *Process) onBirth(t *Thread, ev int) {
	child, err := eventMessage(t.TID)
	if err != nil {
		t.state = running // killed
		return
	}
	if ev == unix.PTRACE_EVENT_CLONE && isThreadOf(t.tg.pid, child) {
		if !t.guest && t.tg.threads[child] == nil && !p.leaving[child] {
			p.addThread(t.tg, child, running)
		}
		p.proceed(t)
		return
	}
	p.newProcess(t, child, ev == unix.PTRACE_EVENT_VFORK)
}

// newProcess handles the birth of a process. No child ever runs into an int3
// of ours: one with memory of its own has them lifted, one that shares ours
// stays traced, as a guest, until it execs or exits.
func (p *Process) newProcess(t *Thread, child int, vfork bool) {
	if !p.early[child] {
		_, ws, err := waitFor(child)
		if err != nil || ws.Exited() || ws.Signaled() {
			p.proceed(t) // killed at birth
			return
		}
	}
	delete(p.early, child)
	parent := t.tg.pid
	shared := sharesMemory(parent, child, vfork)
	follow := p.forks.followChild && !t.guest && !p.forks.following
	if p.hooks.Forked != nil {
		defer p.hooks.Forked(parent, child, follow)
	}
	if shared && !follow && p.hooks.Guest != nil {
		p.hooks.Guest(t, child, true)
	}
	if p.forks.catchFork && !t.guest && p.stop == nil && !p.stopping {
		p.stop = &Stop{Reason: Forked, Thread: t, Child: child}
	}
	switch {
	case follow:
		p.follow(t, child, shared)
		return
	case shared:
		p.addGuest(t, child)
	case p.forks.detach || t.guest:
		p.liftIn(child)
		p.detachOne(child)
	default:
		p.liftIn(child)
		p.hold(child, t.tg)
	}
	if vfork && p.stepping == t {
		// The call returns only when the child is gone: the step ends here.
		p.stepping = nil
	}
	p.proceed(t)
}

// addGuest lets a process that shares the target's memory run, traced.
func (p *Process) addGuest(host *Thread, child int) {
	g := &Thread{TID: child, p: p, host: host, tg: newTarget(child, p.cur.launched), state: stopped, guest: true, optionsOld: p.optionsChanged}
	g.tg.killOnExit = p.cur.killOnExit
	p.guests[child] = g
	p.resume(g, unix.PTRACE_CONT)
}

// guestLeft follows the exec or the end of a guest.
func (p *Process) guestLeft(g *Thread) {
	if p.guests[g.TID] == nil {
		return
	}
	delete(p.guests, g.TID)
	if p.hooks.Guest != nil {
		p.hooks.Guest(g.host, g.TID, false)
	}
}

// detachOne lets a stopped process of one thread go.
func (p *Process) detachOne(tid int) {
	_ = ptrace(unix.PTRACE_DETACH, tid, 0, 0) // ESRCH: killed
}

// liftIn takes our int3s and patches out of a fork child's copy of the memory.
func (p *Process) liftIn(child int) {
	fd, err := unix.Open(fmt.Sprintf("/proc/%d/mem", child), unix.O_RDWR|unix.O_CLOEXEC, 0)
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
	for _, c := range p.mem.covers {
		if c.trap {
			lift(int64(c.at), c.orig)
		}
	}
	for a, orig := range p.retired {
		lift(int64(a), orig)
	}
	for _, pt := range p.patches { // of those that divert the trap has been lifted
		restorePatchIn(fd, retiredPatch{pt.at, pt.code, p.mem.original(pt)})
	}
	for _, pt := range p.retiredPatches {
		restorePatchIn(fd, pt)
	}
}

// hold keeps a child stopped.
func (p *Process) hold(child int, parent *target) {
	tg := newTarget(child, parent.launched)
	tg.exe, tg.killOnExit = parent.exe, parent.killOnExit
	p.held[child] = tg
	tg.threads[child] = &Thread{Num: 1, TID: child, p: p, tg: tg, state: stopped, optionsOld: p.optionsChanged}
	tg.order = []*Thread{tg.threads[child]}
	tg.nextNum = 2
}

// follow makes a new child the target. Traps stay planted in it, in the same
// places. The parent of a vfork shares its memory and so is held until the
// child execs or exits.
func (p *Process) follow(t *Thread, child int, shared bool) {
	old := p.cur
	p.forks.following = true
	defer func() { p.forks.following = false }()
	if err := p.stopThreads(); err != nil || old.exit != nil {
		return
	}
	if t.state == stopped && p.stepping == t {
		p.stepping = nil
	}
	if shared {
		p.forks.vforkParent = old
	} else {
		p.liftIn(child) // or change would take them for the program's own
	}
	p.hold(child, old)
	p.held[child].peers = shared
	if err := p.change(p.held[child], !shared); err != nil {
		p.message("follow the child %d: %v", child, err)
		return
	}
	switch {
	case p.stop == nil:
	case p.stop.Reason == Forked:
		p.stop.Thread = p.cur.order[0]
	default:
		p.stop = nil // it concerned the parent
	}
	if !shared {
		p.park(old)
	}
	p.halted = true
}

// park lets a stopped former target go, or holds it.
func (p *Process) park(old *target) {
	if !p.forks.detach {
		p.held[old.pid] = old
		return
	}
	p.former[old.pid] = true
	if err := p.letGo(old); err != nil {
		p.message("detach from process %d: %v", old.pid, err)
	}
	p.reapLeaving(old)
}

// change makes a held process the target and plants the traps in it. The old
// one, all stopped, has them lifted, and the patches removed, unless both share
// one memory.
func (p *Process) change(to *target, lift bool) error {
	if err := p.putBack(); err != nil {
		return err
	}
	if p.cur.exit == nil {
		if err := p.drain(p.cur); err != nil {
			return err
		}
	}
	if lift && p.cur.exit == nil {
		p.removePatches()
		for a := range p.sites {
			p.mem.lift(a)
		}
	}
	delete(p.held, to.pid)
	p.cur = to
	if err := p.mem.open(to.pid, !lift); err != nil {
		return err
	}
	if lift {
		p.renewGuard()
	}
	for _, t := range to.order {
		t.debugOK = false
	}
	var failed []error
	for a := range p.sites {
		failed = append(failed, p.mem.plant(a)) // nothing to do when it stands
	}
	p.rescan()
	return errors.Join(failed...)
}

// SwitchTo makes a held process the target; the present one is held instead,
// with its traps lifted. Traps and watchpoints go over when the two run the
// same program, and are forgotten otherwise.
func (p *Process) SwitchTo(pid int) error {
	p.check()
	to := p.held[pid]
	if to == nil {
		return fmt.Errorf("process %d is not held (held: %v)", pid, p.Held())
	}
	old := p.cur
	same := old.exit == nil && old.exe == to.exe
	if !same {
		if old.exit == nil {
			p.removePatches()
		}
		for a := range p.sites {
			p.mem.lift(a)
		}
		p.forgetTraps()
		p.forgetWatches()
	}
	if err := p.change(to, true); err != nil {
		return fmt.Errorf("switch to process %d: %w", pid, err)
	}
	if old.exit == nil {
		p.held[old.pid] = old
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
func (p *Process) onExec(t *Thread) {
	if t.guest {
		p.guestLeft(t)
		if p.stepping == t {
			p.stepping = nil
		}
		p.detachOne(t.TID)
		return
	}
	for _, x := range t.tg.order {
		if x != t {
			p.exited(x)
		}
	}
	t.TID, t.queue, t.placed = t.tg.pid, nil, 0
	t.debugOK, t.debugSet, t.at = false, false, 0
	t.tg.threads = map[int]*Thread{t.TID: t}
	t.tg.order = []*Thread{t}
	p.forgetTraps()
	p.forgetWatches()
	if p.forks.vforkParent != nil {
		p.releaseVforkParent()
	}
	if err := p.mem.open(t.tg.pid, false); err != nil {
		p.message("%v", err)
	}
	p.renewGuard()
	path, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", t.tg.pid))
	if err == nil {
		t.tg.exe = path
	}
	p.mods.forget()
	p.rescan()
	if p.stop != nil && p.stop.Thread != t {
		p.stop = nil // it concerned a thread of the old image
	}
	if p.hooks.Execed != nil {
		p.hooks.Execed(path)
	}
	if p.forks.catchExec && p.stop == nil {
		p.stop = &Stop{Reason: Execed, Thread: t, Path: path}
	}
	p.proceed(t)
}

// releaseVforkParent lets the parent go whose memory the target has left: the
// int3s and patches in it are taken out first.
func (p *Process) releaseVforkParent() {
	parent := p.forks.vforkParent
	p.forks.vforkParent = nil
	p.mem.restore()
	p.park(parent)
}

// TraceClone has the kernel tell of the child that t, which stands at the entry of the C
// library's clone (clone(2)), is about to make: it takes CLONE_UNTRACED out of the flags.
func (t *Thread) TraceClone() error {
	r, err := t.Regs()
	if err != nil || r.Rdx&unix.CLONE_UNTRACED == 0 {
		return err
	}
	r.Rdx &^= unix.CLONE_UNTRACED
	return t.SetRegs(r)
}
