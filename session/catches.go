package session

import (
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
