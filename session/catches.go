package session

import (
	"sync/atomic"
	"syscall"
	"time"

	"hdb/inferior"
	"hdb/session/target"
)

// Catches say what happens at the inferior's signals, in this run and in later ones, and set
// the numbered stops at what may happen anywhere: exceptions, system calls, libraries that
// come and go, forks, execs and signals.
type Catches struct {
	target *target.Target
	stops  *Stops
	policy map[string]inferior.Policy // of signals, as far as it was changed
}

// HandleSignal says what to do with a signal.
func (c *Catches) HandleSignal(name string, p inferior.Policy) error {
	if c.target.Proc != nil {
		if err := c.target.Proc.HandleSignal(name, p); err != nil {
			return err
		}
	} else if _, err := inferior.SignalNumber(name); err != nil {
		return err
	}
	c.policy[name] = p
	return nil
}

// Signals is the table of `info signals`.
func (c *Catches) Signals() []inferior.SignalPolicy {
	if c.target.Proc != nil {
		return c.target.Proc.Signals()
	}
	rows := inferior.DefaultSignals()
	for i, r := range rows {
		if p, ok := c.policy[r.Name]; ok {
			rows[i].Policy = p
		}
	}
	return rows
}

// apply makes them hold for a process that is new.
func (c *Catches) apply(p *inferior.Process) {
	for name, pol := range c.policy {
		if err := p.HandleSignal(name, pol); err != nil {
			c.target.Notify("handle %s: %v", name, err)
		}
	}
}

// sameSignal is how soon the program sees a signal that hdb saw too: the terminal, kill(1) and timeout(1) can
// signal the process group of both.
const sameSignal = 200 * time.Millisecond

// arrivals are the times at which signals last arrived at the program, by number. Any goroutine may read them.
type arrivals [65]atomic.Int64

func (a *arrivals) note(n int) {
	if 0 <= n && n < len(a) {
		a[n].Store(time.Now().UnixNano())
	}
}

// since reports whether the signal has arrived since then.
func (a *arrivals) since(n int, then time.Time) bool { return a[n].Load() >= then.UnixNano() }

// Got reports whether the program has just got the same signal as hdb. Any goroutine may call it.
func (c *Catches) Got(sig syscall.Signal) bool {
	return c.stops.arrivals.since(int(sig), time.Now().Add(-sameSignal))
}

// PassOn gives the program that runs a signal that hdb has just got, unless it gets it itself. Any goroutine may
// call it.
func (s *Session) PassOn(sig syscall.Signal) {
	now := time.Now()
	time.AfterFunc(sameSignal, func() {
		s.Alongside(func() {
			if pid, _, _, lives := s.Process(); lives && !s.Stops.arrivals.since(int(sig), now.Add(-sameSignal)) {
				_ = syscall.Kill(pid, sig) // it has just ended, if this fails
			}
		})
	})
}
