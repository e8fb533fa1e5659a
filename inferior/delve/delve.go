// Package delve runs delve's pkg/proc on top of the engine, for values of Go and for stepping by
// goroutine.
//
// It is loaded on first use and for Go programs only, with the program's own DWARF: delve indexes
// no other module and looks for no debug file on the network. Goroutines and their stacks are
// package goruntime's.
package delve

import (
	"debug/elf"
	"errors"
	"fmt"

	"hdb/inferior"

	"github.com/go-delve/delve/pkg/proc"
)

// A Program is delve's pkg/proc on a Go program that an inferior.Process runs. Its
// methods belong to the goroutine that owns the Process.
type Program struct {
	p       *inferior.Process
	pid     int
	exe     string
	group   *proc.TargetGroup
	target  *proc.Target
	backend *backend
}

// Load has delve read the program that p runs.
func Load(p *inferior.Process) (*Program, error) {
	if err := p.Readable(); err != nil {
		return nil, err
	}
	path := p.Program()
	if err := checkGo(p, path); err != nil {
		return nil, err
	}
	b := newBackend(p)
	group, add := proc.NewGroup(&group{b}, proc.NewTargetGroupConfig{StopReason: proc.StopUnknown})
	threads := p.Threads()
	if len(threads) == 0 {
		return nil, fmt.Errorf("process %d has no threads", p.PID())
	}
	b.sync()
	target, err := add(b, p.PID(), b.threads[threads[0].TID], path, proc.StopUnknown, p.Exe())
	if err != nil {
		return nil, fmt.Errorf("%s: Go debug info: %w", p.Exe(), err)
	}
	return &Program{p: p, pid: p.PID(), exe: p.Exe(), group: group, target: target, backend: b}, nil
}

// Of reports whether g is what p runs now. It is false of nil.
func (g *Program) Of(p *inferior.Process) bool {
	return g != nil && g.p == p && g.pid == p.PID() && g.exe == p.Exe()
}

// ErrNoDWARF is the error of a Go program that was stripped.
var ErrNoDWARF = errors.New("no DWARF, which values and steps of Go need (build it without -ldflags=-s or -w)")

// checkGo refuses what delve would go and search debug info for.
func checkGo(p *inferior.Process, path string) error {
	name := p.Exe()
	if !p.IsGo() {
		return fmt.Errorf("%s is not a Go program", name)
	}
	f, err := elf.Open(path)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	defer f.Close()
	if f.Section(".debug_info") == nil && f.Section(".zdebug_info") == nil {
		return fmt.Errorf("%s has %w", name, ErrNoDWARF)
	}
	return nil
}

// refresh makes delve look anew: the program may have run since.
func (g *Program) refresh(t *inferior.Thread) error {
	if err := g.p.Readable(); err != nil {
		return err
	}
	g.backend.sync()
	g.target.ClearCaches()
	if t == nil {
		return nil
	}
	return g.target.SwitchThread(t.TID)
}

// Next runs t's goroutine to the next line of its function, on whatever thread it continues.
func (g *Program) Next(t *inferior.Thread) (inferior.Stop, error) { return g.run(t, g.group.Next) }

// Step is Next that enters calls.
func (g *Program) Step(t *inferior.Thread) (inferior.Stop, error) { return g.run(t, g.group.Step) }

// StepOut runs t's goroutine until its function has returned.
func (g *Program) StepOut(t *inferior.Thread) (inferior.Stop, error) {
	return g.run(t, g.group.StepOut)
}

// run has delve step and tells how it ended: inferior.Stepped, or whatever else
// stopped the program first.
func (g *Program) run(t *inferior.Thread, step func() error) (inferior.Stop, error) {
	if err := g.refresh(t); err != nil {
		return inferior.Stop{}, err
	}
	g.backend.active, g.backend.last = true, nil
	defer func() { g.backend.active = false }()
	err := step()
	if other := g.backend.last; other != nil {
		if !other.Ended() {
			err = g.group.ClearSteppingBreakpoints()
		} else {
			err = nil
		}
		return *other, err
	}
	if err != nil {
		return inferior.Stop{}, fmt.Errorf("step of a goroutine: %w", errors.Join(err, g.group.ClearSteppingBreakpoints()))
	}
	th := g.p.Thread(g.target.CurrentThread().ThreadID())
	return inferior.Stop{Reason: inferior.Stepped, Thread: th}, nil
}
