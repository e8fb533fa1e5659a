package inferior

import (
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"

	"hdb/internal/addr"

	"github.com/go-delve/delve/pkg/proc"
)

// Go is what delve's pkg/proc knows about a Go program, on top of the engine:
// goroutines, their stacks, and stepping by goroutine. It is loaded on first
// use and for Go programs only, with the program's own DWARF: delve indexes
// no other module and looks for no debug file on the network.
type Go struct {
	p       *Process
	tg      *target
	exe     string
	group   *proc.TargetGroup
	target  *proc.Target
	backend *goBackend
	reasons addr.Run // runtime.waitReasonStrings, 0 not looked for
}

// A Goroutine is one of the program's goroutines.
type Goroutine struct {
	ID         int64
	TID        int    // the thread that runs it, 0 when it is parked
	Status     string // "running", "waiting", ...
	WaitReason string // "chan receive", of a waiting one
	PC         addr.Run
	Function   string // where the user's code is
	File       string
	Line       int
}

// A GoFrame is one frame of a goroutine's stack.
type GoFrame struct {
	Code     addr.Code
	Function string
	File     string
	Line     int
	Inlined  bool
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
		return fmt.Errorf("%s has no DWARF, which goroutines are found by (build it without -ldflags=-s or -w)", name)
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

// Goroutines lists all goroutines.
func (g *Go) Goroutines() ([]Goroutine, error) {
	if err := g.refresh(nil); err != nil {
		return nil, err
	}
	all, _, err := proc.GoroutinesInfo(g.target, 0, 0)
	if err != nil {
		return nil, fmt.Errorf("goroutines: %w", err)
	}
	list := make([]Goroutine, 0, len(all))
	for _, x := range all {
		if x.Unreadable == nil {
			list = append(list, g.describe(x))
		}
	}
	return list, nil
}

var goroutineStatus = map[uint64]string{proc.Gidle: "idle", proc.Grunnable: "runnable", proc.Grunning: "running",
	proc.Gsyscall: "in a system call", proc.Gwaiting: "waiting", proc.Gdead: "dead", proc.Gcopystack: "copying its stack"}

func (g *Go) describe(x *proc.G) Goroutine {
	loc := x.UserCurrent()
	r := Goroutine{ID: x.ID, Status: goroutineStatus[x.Status], PC: addr.Run(loc.PC), File: loc.File, Line: loc.Line}
	if x.Status == proc.Gwaiting {
		r.WaitReason = g.waitReason(x.WaitReason)
	}
	if loc.Fn != nil {
		r.Function = loc.Fn.Name
	}
	if x.Thread != nil {
		r.TID = x.Thread.ThreadID()
	}
	return r
}

// waitReason reads the program's own runtime.waitReasonStrings: the numbers
// differ between versions of Go.
func (g *Go) waitReason(n int64) string {
	if g.reasons == 0 {
		a, ok := elfSymbol(g.p.target.program(), "runtime.waitReasonStrings")
		if !ok || len(g.p.modules.list) == 0 {
			return ""
		}
		for _, m := range g.p.modules.list {
			if m.Name == g.exe {
				g.reasons = a.Run(m.Bias)
			}
		}
	}
	var header [16]byte // a string: pointer and length
	if n < 0 || n > 255 {
		return ""
	}
	if _, err := g.p.memory.ReadAt(header[:], int64(g.reasons)+16*n); err != nil {
		return ""
	}
	at, size := binary.LittleEndian.Uint64(header[:]), binary.LittleEndian.Uint64(header[8:])
	if size > 100 {
		return ""
	}
	text := make([]byte, size)
	if _, err := g.p.memory.ReadAt(text, int64(at)); err != nil {
		return ""
	}
	return string(text)
}

// CurrentGoroutine is the one that t runs; false on a thread that runs none.
func (g *Go) CurrentGoroutine(t *Thread) (Goroutine, bool) {
	if g.refresh(t) != nil {
		return Goroutine{}, false
	}
	x, err := proc.GetG(g.target.CurrentThread())
	if err != nil || x == nil {
		return Goroutine{}, false
	}
	return g.describe(x), true
}

// Stack walks the stack of the goroutine that t runs, innermost first, at
// most depth frames.
func (g *Go) Stack(t *Thread, depth int) ([]GoFrame, error) {
	if err := g.refresh(t); err != nil {
		return nil, err
	}
	frames, err := proc.ThreadStacktrace(g.target, g.target.CurrentThread(), depth)
	if err != nil {
		return nil, fmt.Errorf("stack of thread %d: %w", t.TID, err)
	}
	var list []GoFrame
	for i, f := range frames {
		fr := GoFrame{Code: addr.Return(addr.Run(f.Current.PC)), File: f.Call.File, Line: f.Call.Line, Inlined: f.Inlined}
		if i == 0 {
			fr.Code = addr.PC(addr.Run(f.Current.PC))
		}
		if f.Call.Fn != nil {
			fr.Function = f.Call.Fn.Name
		}
		list = append(list, fr)
	}
	return list, nil
}

// Next runs t's goroutine to the next line of its function, on whatever
// thread it goes on.
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
