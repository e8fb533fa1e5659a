package collect

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"hdb/goruntime"
	"hdb/heap/golang"
	"hdb/inferior"
	"hdb/internal/addr"
	"hdb/internal/lazyregexp"
	"hdb/session/heaps"
	"hdb/session/target"
	"hdb/session/view"
	"hdb/symbols"
)

// Collections has a Go program collect its garbage.
type Collections struct {
	target *target.Target
	sel    *view.Selection
	run    runner
	heap   *heaps.Heap
	call   *goCall // that is under way: hdb was stopped while it was made; nil: none
}

// runner runs the program.
type runner interface {
	// Placed reports whether the program stands where a stop or a step has brought it, not at any place.
	Placed() bool
	// RunPast runs until something other than a numbered stop stops the program.
	RunPast() (inferior.Stop, error)
	// HitAny reports whether that stop is one that the user asked for, all the same.
	HitAny() bool
}

// New has the program of a target collect garbage; heap tells what there is before and after.
func New(t *target.Target, sel *view.Selection, run runner, heap *heaps.Heap) *Collections {
	return &Collections{target: t, sel: sel, run: run, heap: heap}
}

// A Collected is what a garbage collection has done.
type Collected struct {
	Before, Live golang.Sum    // slots in use; what was allocated meanwhile is among those behind
	Took         time.Duration // with the wait for a place where it could be asked for
	Stays        bool          // the selected thread stands where it stood
}

// Bounds of the search for a place where the runtime takes a call.
const (
	goCallTime  = 3 * time.Second
	goCallTick  = time.Millisecond
	goCallIdle  = 100 * time.Millisecond // then the runtime is asked for a collection of its own
	goCallTries = 500                    // calls that the runtime has refused
	goCallStops = 100                    // to find the thread that waits
	goCallRoom  = 512                    // bytes of stack
)

// ErrNoGo is the error of a program without a Go runtime.
var ErrNoGo = errors.New("the program has no Go runtime")

// Collect has the runtime collect garbage, and all threads run meanwhile. What has stopped the
// program then, if it is not the end of the collection, is returned, and the error beside it tells what becomes
// of the collection.
func (g *Collections) Collect() (*Collected, *inferior.Stop, error) {
	if err := g.target.Live(); err != nil {
		return nil, nil, err
	}
	if err := g.ready(); err != nil {
		return nil, nil, err
	}
	if why := g.unsafe(g.sel.Cur.Thread); g.run.Placed() && why != "" {
		return nil, nil, fmt.Errorf("%s, where a collection cannot be asked for: `frame 0` and `finish` leave it", why)
	}
	before, err := g.sum()
	if err != nil {
		return nil, nil, err
	}
	c, err := g.begun(g.run.Placed())
	if err != nil {
		return nil, nil, err
	}
	if c.stays = c.code != nil && g.unsafe(g.sel.Cur.Thread) == ""; c.stays {
		if err := c.begin(g.sel.Cur.Thread); err != nil {
			return nil, nil, err
		}
	}
	stop, err := c.untilMade()
	if stop != nil || err != nil {
		return nil, stop, err
	}
	out := &Collected{Before: before, Took: time.Since(c.began), Stays: c.stays}
	out.Live, err = g.sum()
	return out, nil, err
}

// CollectBeside is Collect for a program that runs in the background, and goes on: nothing stops it but
// for the moments at which it is looked at. on runs a function on the owner's goroutine while the program
// runs, as Beside does, and waits for it; it is false if the program has stopped or ended: the owner waits then for
// CollectBeside, and runs the function behind it. A context that is cancelled leaves a collection that has begun
// to the program.
func (g *Collections) CollectBeside(ctx context.Context, on func(func()) bool) (*Collected, error) {
	var c *goCall
	out, behind := &Collected{}, false // behind a stop nothing is begun, and no thread is moved
	err := g.besides(on, func() (err error) {
		if behind {
			return nil
		}
		if err := g.ready(); err != nil {
			return err
		}
		if out.Before, err = g.sum(); err != nil {
			return err
		}
		if c, err = g.begun(false); err != nil {
			return err
		}
		c.beside, c.asked, c.stays = true, true, false
		return nil
	})
	if err != nil {
		behind = true
		return nil, err
	}
	var cut error // why the end is not waited for
	for over := false; !over && cut == nil; {
		select {
		case <-ctx.Done():
			cut = c.cut("interrupted")
			continue
		case <-time.After(goCallTick):
		}
		look := func() {
			if !behind {
				c.look()
				over = c.over
			}
		}
		if !on(look) {
			behind, cut = true, c.stopped()
		}
	}
	err = g.besides(on, func() error {
		c.asked = false
		err := c.undo()
		if behind { // which nobody waits for
			if err != nil {
				g.target.Notify("gc: %v", err)
			}
			return nil
		}
		out.Took = time.Since(c.began)
		if c.over && c.err == nil && err == nil {
			out.Live, err = g.sum()
		}
		return errors.Join(c.err, err)
	})
	if err == errStopped {
		behind, err = true, nil
		if cut == nil {
			cut = c.stopped()
		}
	}
	return out, errors.Join(cut, err)
}

// errStopped is of a program that has stopped or ended before it was looked at.
var errStopped = errors.New("the program has stopped")

// besides runs a function on the owner's goroutine with all threads stopped. It is run behind the
// stop if the program has stopped, and not if it has ended.
func (g *Collections) besides(on func(func()) bool, f func() error) error {
	var err error
	done := on(func() {
		if err = target.ErrNotRunning; g.target.Proc != nil {
			err = g.target.Proc.StopAll(f)
		}
	})
	if !done {
		return errStopped
	}
	return err
}

// ready tells whether a collection can be asked for.
func (g *Collections) ready() error {
	if g.target.Proc == nil {
		return target.ErrNotRunning
	}
	g.target.Go.Look(g.target.Proc, g.target.Names.Modules)
	if len(g.target.Go.Modules) == 0 {
		return ErrNoGo
	}
	if !g.target.Go.Known {
		return errors.New("the version of the Go runtime is not known")
	}
	if g.call != nil && g.call.gone() {
		g.call = nil
	}
	if g.underWay() {
		return errors.New("the last collection is not done yet: continue")
	}
	return nil
}

// begun is a call that is to be made: by the selected thread alone if it is strict.
func (g *Collections) begun(strict bool) (*goCall, error) {
	c := g.call
	if c == nil {
		c = g.newCall()
		g.call = c
	}
	if c.code == nil && (strict || c.trigger == nil) {
		if strict && c.trigger != nil {
			return nil, fmt.Errorf("%w; the runtime collects garbage by itself while the program runs: `continue &`, then `gc`", c.cannot)
		}
		return nil, c.cannot
	}
	c.state, c.tries, c.refused, c.err, c.began = goCallSought, 0, "", nil, time.Now()
	c.strict, c.beside, c.over = strict, false, false
	return c, nil
}

// sum is what the heap has in use.
func (g *Collections) sum() (golang.Sum, error) {
	open := g.heap.GoHeap()
	if open == nil {
		return golang.Sum{}, ErrNoGo
	}
	src, err := open()
	if err != nil {
		return golang.Sum{}, err
	}
	src.Memory = g.target.UntilGivenUp(g.target.Proc)
	ctx, done := g.target.Bound()
	defer done()
	h, err := golang.Open(ctx, src)
	if err != nil {
		return golang.Sum{}, err
	}
	return h.Sum(), nil
}

// unsafe is where a thread stands, if it cannot make a call there; "": it may. The runtime has
// the last word.
func (g *Collections) unsafe(t *inferior.Thread) string {
	if t == nil {
		return "no thread is selected"
	}
	outside := fmt.Sprintf("thread %d runs no code of the program's goroutines", t.Num)
	regs, err := t.Regs()
	if err != nil {
		return outside
	}
	i := g.module(regs.PC())
	if i < 0 {
		return outside
	}
	var frames []symbols.Frame
	_ = symbols.Guard(func() { frames = g.target.Names.Modules.Frames(addr.PC(regs.PC())) })
	if len(frames) == 0 {
		return outside
	}
	f := frames[len(frames)-1] // the runtime looks at no inlined calls
	name := f.Function
	// Assembly code may have more in vector registers than the code in place restores.
	if goruntime.RefusesCalls(name) || strings.HasSuffix(f.File, ".s") || f.File == "" {
		return fmt.Sprintf("thread %d is in %s", t.Num, name)
	}
	m := g.target.Go.Memory(g.target.Proc)
	if regs.R14 == 0 || m.User(regs.R14) != regs.R14 {
		return outside
	}
	l := g.target.Go.Layout
	low, ok := m.Word(regs.R14)
	high, ok2 := m.Word(regs.R14 + 8)
	status, ok3 := m.Word(regs.R14 + uint64(l.Status))
	if sp := uint64(regs.SP()); !ok || !ok2 || !ok3 || uint32(status) != goruntime.GRunning || sp > high || sp < low+goCallRoom {
		return outside
	}
	thread, _ := m.Word(regs.R14 + uint64(l.GM))
	mallocing, ok := m.Word(thread + uint64(l.Mallocing))
	locks, ok2 := m.Word(thread + uint64(l.Locks))
	off, ok3 := m.Word(thread + uint64(l.PreemptOff) + 8)
	if !ok || !ok2 || !ok3 || uint32(mallocing) != 0 || uint32(locks) != 0 || off != 0 { // the runtime's canPreemptM
		return fmt.Sprintf("thread %d does something for the Go runtime", t.Num)
	}
	return g.calledByRuntime(t)
}

// goCallFrames is how many frames are looked at for one of the runtime's: what it calls in other
// packages, as sync.poolCleanup while the world is stopped, is never deep.
const goCallFrames = 64

// goCallers are functions of the runtime that call the program's at safe points.
var goCallers = lazyregexp.New(`^runtime\.(goexit|main|gopanic|runfinq|runFinalizers|doInit1?|call[0-9]+|deferreturn|Goexit)$`)

// calledByRuntime is why the function that a thread is in cannot call, if the runtime has called it; "":
// it has not.
func (g *Collections) calledByRuntime(t *inferior.Thread) string {
	raw, err := g.sel.Walker.Raw(t, goCallFrames, addr.Code{})
	if err != nil || raw.Truncated != "" && len(raw.Frames) < goCallFrames {
		return fmt.Sprintf("the stack of thread %d is not known", t.Num)
	}
	for _, f := range raw.Frames {
		frames := g.target.Names.Modules.Frames(f.PC)
		if len(frames) == 0 {
			continue
		}
		if name := frames[len(frames)-1].Function; strings.HasPrefix(name, "runtime.") && !goCallers().MatchString(name) {
			return fmt.Sprintf("thread %d does something for %s", t.Num, name)
		}
	}
	return ""
}

// module is the number of the module of Go at an address, -1: none is.
func (g *Collections) module(a addr.Run) int {
	for i, m := range g.target.Go.Modules {
		if m.Low <= a && a < m.High {
			return i
		}
	}
	return -1
}

// underWay tells that a collection was asked for which is not known to be done.
func (g *Collections) underWay() bool {
	return g.call != nil && g.call.code != nil && (g.call.state == goCallMade || g.call.state == goCallDone) && g.call.word(gpLeft) == 0
}

// letGo takes the code of a collection out, as far as that is certain not to be in use, before hdb
// lets go of the process. What stays does no harm: only debuggers call it.
func (g *Collections) LetGo() error {
	c := g.call
	if c == nil || c.code == nil || c.gone() || g.target.Proc.StoppedThread() == nil || g.underWay() || c.inside() != nil {
		return nil
	}
	g.call = nil
	return c.end()
}
