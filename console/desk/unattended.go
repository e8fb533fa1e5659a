package desk

import (
	"sync/atomic"
	"syscall"

	"hdb/session/stopped"
)

// A passing has the program get the signals that hdb gets.
type passing struct {
	on    atomic.Bool // it runs unattended
	past  atomic.Bool // or has
	asked atomic.Bool // to end, by another signal than Ctrl-C
	ended atomic.Bool // that is for hdb
}

// Unattended calls f, which lets the program continue to its exit or end. In batch mode no person could continue it
// from where Ctrl-C stops it, so the signals that hdb gets meanwhile are those of a program that it has started.
func (c *Desk) Unattended(f func()) {
	_, _, attached, _ := c.Session.Process()
	c.passing.on.Store(c.Opt.Batch && !attached)
	c.passing.past.Store(c.Opt.Batch && !attached)
	defer c.passing.on.Store(false)
	f()
}

// Pass gives an unattended program a signal that hdb got. false: it is hdb's own, as is the second one that asks
// for the end. Any goroutine may call it.
func (c *Desk) Pass(sig syscall.Signal) bool {
	p := &c.passing
	asks := sig != syscall.SIGINT
	if p.past.Load() && c.Session.Catches.Got(sig) {
		return true // which may have stopped it
	}
	if !p.on.Load() || !c.Session.Going() || asks && p.asked.Swap(true) {
		p.ended.Store(p.ended.Load() || asks)
		return false
	}
	c.Session.PassOn(sig)
	return true
}

// Terminated reports whether a signal has asked hdb to end.
func (c *Desk) Terminated() bool { return c.passing.ended.Load() }

// Suspended suspends hdb at the stop before a signal that would have suspended a program that hdb has started, until
// `fg`. false: it is another stop, or a person is there.
func (c *Desk) Suspended(r *stopped.Report) bool {
	_, _, attached, live := c.Session.Process()
	if !live || attached || !c.Opt.Batch || r.Signal() == nil || !r.Signal().Policy.Hold {
		return false
	}
	Suspend(c.Session)
	return true
}
