package inferior

import (
	"debug/elf"
	"errors"
	"fmt"

	"github.com/go-delve/delve/pkg/proc"
)

// Go is what delve's pkg/proc knows about a Go program, on top of the engine: values
// and stepping by goroutine. It is loaded on first use and for Go programs only, with the
// program's own DWARF: delve indexes no other module and looks for no debug file on the
// network. Goroutines and their stacks are package goruntime's.
type Go struct {
	p       *Process
	tg      *target
	exe     string
	group   *proc.TargetGroup
	target  *proc.Target
	backend *goBackend
}

// Go loads delve's knowledge of a Go program.
func (p *Process) Go() (*Go, error) {
	if err := p.readable(); err != nil {
		return nil, err
	}
	if g := p.golang; g != nil && g.tg == p.target && g.exe == p.target.exe {
		return g, nil
	}
	path := p.target.program()
	if err := checkGo(path, p.target.exe); err != nil {
		return nil, err
	}
	b := newGoBackend(p)
	group, add := proc.NewGroup(&goGroup{b}, proc.NewTargetGroupConfig{StopReason: proc.StopUnknown})
	if len(p.target.order) == 0 {
		return nil, fmt.Errorf("process %d has no threads", p.target.pid)
	}
	b.sync()
	target, err := add(b, p.target.pid, b.threads[p.target.order[0].TID], path, proc.StopUnknown, p.target.exe)
	if err != nil {
		return nil, fmt.Errorf("%s: Go debug info: %w", p.target.exe, err)
	}
	p.golang = &Go{p: p, tg: p.target, exe: p.target.exe, group: group, target: target, backend: b}
	return p.golang, nil
}

// ErrNoGoDWARF is the error of a Go program that was stripped.
var ErrNoGoDWARF = errors.New("no DWARF, which values and steps of Go need (build it without -ldflags=-s or -w)")

// checkGo refuses what delve would go and search debug info for.
func checkGo(path, name string) error {
	if !isGo(path) {
		return fmt.Errorf("%s is not a Go program", name)
	}
	f, err := elf.Open(path)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	defer f.Close()
	if f.Section(".debug_info") == nil && f.Section(".zdebug_info") == nil {
		return fmt.Errorf("%s has %w", name, ErrNoGoDWARF)
	}
	return nil
}

// refresh makes delve look anew: the program may have run since.
func (g *Go) refresh(t *Thread) error {
	if err := g.p.readable(); err != nil {
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
func (g *Go) Next(t *Thread) (Stop, error) { return g.run(t, g.group.Next) }

// Step is Next that enters calls.
func (g *Go) Step(t *Thread) (Stop, error) { return g.run(t, g.group.Step) }

// StepOut runs t's goroutine until its function has returned.
func (g *Go) StepOut(t *Thread) (Stop, error) { return g.run(t, g.group.StepOut) }

// run has delve step and tells how it ended: Stepped, or whatever else
// stopped the program first.
func (g *Go) run(t *Thread, step func() error) (Stop, error) {
	if err := g.refresh(t); err != nil {
		return Stop{}, err
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
		return Stop{}, fmt.Errorf("step of a goroutine: %w", errors.Join(err, g.group.ClearSteppingBreakpoints()))
	}
	th := g.p.target.Thread(g.target.CurrentThread().ThreadID())
	return Stop{Reason: Stepped, Thread: th}, nil
}
