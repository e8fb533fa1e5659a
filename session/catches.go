package session

import (
	"fmt"

	"hdb/inferior"
)

// Catches say what of the inferior's signals, forks and execs stops it, in this run and in
// later ones, and set the numbered stops at what may happen anywhere: exceptions, system
// calls, and libraries that come and go.
type Catches struct {
	*common
	stops      *Stops
	policy     map[string]inferior.Policy // of signals, as far as it was changed
	fork, exec bool
}

// HandleSignal says what to do with a signal.
func (c *Catches) HandleSignal(name string, p inferior.Policy) error {
	if c.proc != nil {
		if err := c.proc.HandleSignal(name, p); err != nil {
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
	if c.proc != nil {
		return c.proc.Signals()
	}
	rows := inferior.DefaultSignals()
	for i, r := range rows {
		if p, ok := c.policy[r.Name]; ok {
			rows[i].Policy = p
		}
	}
	return rows
}

// Catch makes fork or exec of the inferior a stop, or no longer.
func (c *Catches) Catch(event string, on bool) error {
	switch event {
	case "fork", "vfork":
		c.fork = on
	case "exec":
		c.exec = on
	default:
		return fmt.Errorf("catch %q: not known: use fork or exec", event)
	}
	if c.proc != nil {
		c.applyEvents(c.proc)
	}
	return nil
}

// Caught tells whether forks and execs stop the program.
func (c *Catches) Caught() (fork, exec bool) { return c.fork, c.exec }

// apply makes them hold for a process that is new.
func (c *Catches) apply(p *inferior.Process) {
	c.applyEvents(p)
	for name, pol := range c.policy {
		if err := p.HandleSignal(name, pol); err != nil {
			c.notify("handle %s: %v", name, err)
		}
	}
}

func (c *Catches) applyEvents(p *inferior.Process) {
	p.CatchFork(c.fork)
	p.CatchExec(c.exec)
}
