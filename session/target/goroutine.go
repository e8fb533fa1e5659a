package target

import (
	"encoding/binary"
	"io"
	"sync"

	"hdb/breakpoints"
	"hdb/capture"
	"hdb/goruntime"
	"hdb/inferior"
	"hdb/internal/addr"
)

// A Goroutine is what is known of one by its descriptor (runtime.g).
type Goroutine struct {
	At      uint64 // of the descriptor
	ID      uint64
	Creator addr.Code // behind the go statement that made it; zero of the first
}

// Goroutine is the one that a stopped thread runs; ok is false on a thread that runs none.
func (c *Target) Goroutine(t *inferior.Thread) (g Goroutine, ok bool) {
	c.Go.Look(c.Image, c.Names.Modules)
	if !c.Go.Known {
		return g, false
	}
	regs, err := t.Regs()
	if err != nil {
		return g, false
	}
	return c.Go.goroutine(regs, c.Image)
}

// goroutine is the one that a thread with these registers runs. Where its descriptor is, Go's code
// has in R14, and all code in the thread's memory, in a program without libraries right below the
// FS base.
func (g *goRuntime) goroutine(regs inferior.Registers, memory io.ReaderAt) (out Goroutine, ok bool) {
	m := g.Memory(memory)
	below, _ := m.Word(regs.FsBase - 8)
	for _, at := range []uint64{regs.R14, below} {
		if at = m.User(at); at == 0 {
			continue
		}
		id, ok := m.Word(at + uint64(g.Layout.GoID))
		if !ok || id == 0 {
			continue
		}
		out.At, out.ID = at, id
		if pc, ok := m.Word(at + uint64(g.Layout.GoPC)); ok && pc != 0 && id != 1 { // the first has no maker
			out.Creator = addr.Return(addr.Run(pc))
		}
		return out, true
	}
	return out, false
}

// goMemory reads structures of a Go runtime.
type goMemory struct {
	memory io.ReaderAt
	of     *goRuntime
}

// Memory reads structures of the runtime in a process or core file.
func (g *goRuntime) Memory(of io.ReaderAt) goMemory { return goMemory{of, g} }

// Word reads a word; it is false where there is none.
func (m goMemory) Word(at uint64) (uint64, bool) {
	var b [8]byte
	if _, err := m.memory.ReadAt(b[:], int64(at)); err != nil {
		return 0, false
	}
	return binary.LittleEndian.Uint64(b[:]), true
}

// User is the descriptor of the user's goroutine that the thread runs whose descriptor is at an
// address: itself, or, if it is one of the system's, which runtimes have two of for each thread, the
// one that the thread does that for. 0 if the thread runs none, or none is there.
func (m goMemory) User(g uint64) uint64 {
	if g == 0 || g%8 != 0 {
		return 0
	}
	l := m.of.Layout
	thread, ok := m.Word(g + uint64(l.GM))
	if !ok || thread == 0 || thread%8 != 0 {
		return 0
	}
	system, ok := m.Word(thread)
	if !ok || system == 0 {
		return 0
	}
	if back, ok := m.Word(system + uint64(l.GM)); !ok || back != thread {
		return 0
	}
	user, _ := m.Word(thread + uint64(l.CurG))
	return user
}

// Complete adds what plain breakpoints have not told of a call of a Go runtime: type and goroutine.
func (g *goRuntime) Complete(c *breakpoints.Call, memory io.ReaderAt) {
	if c.Function.Group != breakpoints.GroupGo || c.Event.Kind != capture.Alloc || !g.Known {
		return
	}
	by, _ := g.goroutine(c.Regs, memory)
	c.Args[2] = by.ID
	c.Event.Aux = uint64(capture.NewGoAux(by.ID, c.Args[1], uint64(g.at(c.Entry).Low)))
}

// goRuntime is the process's Go runtime: where its structures have what, and which types
// allocations give it. Any goroutine may ask for types.
type goRuntime struct {
	seen   uint64            // names.Modules.Version and
	in     *inferior.Process // the process that it was looked for in
	Layout goruntime.Layout
	Known  bool       // the layout is
	exits  []addr.Run // the return addresses in which stacks of goroutines end

	mu      sync.Mutex
	Modules []GoModule                  // that have a runtime, or, as plugins do, the code of one; the first is the program, if it is of Go
	types   map[addr.Run]capture.GoType // by their descriptors; without a name: there is none at that address
	answers map[goTypeQuestion]bool
}
