package inferior

import (
	"slices"

	"golang.org/x/sys/unix"
)

// addGuest lets a process that shares the target's memory run, traced.
func (f *family) addGuest(host *Thread, child int, vfork bool) {
	g := &Thread{TID: child, p: f.p, host: host, tg: newTarget(child, f.p.target.launched), state: stopped, guest: true, waits: vfork, optionsOld: f.p.optionsChanged}
	g.tg.killOnExit = f.p.target.killOnExit
	f.guests[child] = g
	f.p.resume(g, unix.PTRACE_CONT)
}

// IsGuest reports whether t is no thread of the target, but a child that runs in its memory, as after vfork.
func (t *Thread) IsGuest() bool { return t.guest }

// LetGuestGo has a guest that is at a trap, in its handler, continue untraced from behind the
// instruction there. It must come to no other int3: in its memory they stay.
func (t *Thread) LetGuestGo() { t.leave = t.guest }

// resumeGuest lets a guest continue that has passed its trap.
func (f *family) resumeGuest(g *Thread) {
	if !g.leave {
		f.p.resume(g, unix.PTRACE_CONT)
		return
	}
	if g.flush() != nil {
		return // killed
	}
	f.guestLeft(g)
	f.detachOne(g.TID)
}

// guestLeft follows the exec or the end of a guest.
func (f *family) guestLeft(g *Thread) {
	if f.guests[g.TID] == nil {
		return
	}
	delete(f.guests, g.TID)
	f.outOfMemory(g)
}

// outOfMemory is called once, when a guest no longer runs in the target's memory.
func (f *family) outOfMemory(g *Thread) {
	if !g.out && f.p.hooks.Guest != nil {
		f.p.hooks.Guest(g.host, g.TID, false, g.waits)
	}
	g.out = true
}

// vforkDone follows the end of the wait of a thread for its vfork child. The child has left the memory; its exec or end
// may be reported later, when the thread has run on already, and nothing that it does then is the child's.
func (f *family) vforkDone(t *Thread) {
	child, err := eventMessage(t.TID)
	if err != nil {
		return // killed
	}
	if g := f.guests[child]; g != nil && g.host == t {
		f.outOfMemory(g)
	}
}

// inMemory are the threads that run in the target's memory.
func (f *family) inMemory() []*Thread {
	all := slices.Clone(f.p.target.order)
	for _, g := range f.guests {
		all = append(all, g)
	}
	return all
}

// withoutGuests calls do while the children that share the target's memory are
// stopped.
func (f *family) withoutGuests(do func() error) error {
	if len(f.guests) == 0 || f.guestsHeld {
		return do()
	}
	defer func(s bool) { f.p.stopping = s }(f.p.stopping)
	f.p.stopping, f.guestsHeld = true, true
	defer f.releaseGuests()
	for wait := true; wait; {
		wait = false
		for _, g := range f.guests {
			if g.state != running {
				continue
			}
			wait = true
			if !g.interrupted {
				g.interrupted = ptrace(unix.PTRACE_INTERRUPT, g.TID, 0, 0) == nil
			}
		}
		if wait {
			if err := f.p.waitEvent(); err != nil {
				return err
			}
		}
	}
	if f.p.target.exit != nil {
		return f.p.Alive()
	}
	return do()
}

// releaseGuests lets them continue.
func (f *family) releaseGuests() {
	f.guestsHeld = false
	for _, g := range f.inMemory() {
		if g.guest && g.state == stopped && f.p.traps.passTrap(g) {
			f.resumeGuest(g)
		}
	}
}

// waitVforks lets vfork children continue until they no longer share memory.
func (f *family) waitVforks() error {
	f.p.stopping = true
	for f.p.target.exit == nil && (len(f.guests) > 0 || f.p.target.vforking()) {
		for _, g := range f.guests {
			if g.state == stopped && f.p.traps.passTrap(g) {
				f.resumeGuest(g)
			}
		}
		if err := f.p.waitEvent(); err != nil {
			return err
		}
	}
	return f.p.Alive()
}

// Alone reports whether the target has one thread, and no other process shares its memory. Of one
// that was there before that is not known.
func (f *family) Alone() bool {
	return f.p.target.launched && len(f.p.target.Threads()) == 1 && len(f.guests) == 0 && !f.p.target.peers
}
