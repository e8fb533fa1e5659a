package session

import (
	"encoding/binary"
	"io"

	"hdb/breakpoints"
	"hdb/capture"
	"hdb/inferior"
	"hdb/internal/addr"
)

// A goroutine is what is known of one by its descriptor (runtime.g).
type goroutine struct {
	at      uint64 // of the descriptor
	id      uint64
	creator addr.Code // behind the go statement that made it; zero of the first
}

// goroutine is the one that a stopped thread runs; ok is false on a thread that runs none.
func (c *common) goroutine(t *inferior.Thread) (g goroutine, ok bool) {
	c.golang.look(c.image, c.names.Modules)
	if !c.golang.known {
		return g, false
	}
	regs, err := t.Regs()
	if err != nil {
		return g, false
	}
	return c.golang.goroutine(regs, c.image)
}

// goroutine is the one that a thread with these registers runs. Where its descriptor is, Go's code
// has in R14, and all code in the thread's memory, in a program without libraries right below the
// FS base.
func (g *goRuntime) goroutine(regs inferior.Registers, memory io.ReaderAt) (out goroutine, ok bool) {
	m := goMemory{memory, g}
	below, _ := m.word(regs.FsBase - 8)
	for _, at := range []uint64{regs.R14, below} {
		if at = m.user(at); at == 0 {
			continue
		}
		id, ok := m.word(at + uint64(g.layout.GoID))
		if !ok || id == 0 {
			continue
		}
		out.at, out.id = at, id
		if pc, ok := m.word(at + uint64(g.layout.GoPC)); ok && pc != 0 && id != 1 { // the first was made by nobody
			out.creator = addr.Return(addr.Run(pc))
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

func (m goMemory) word(at uint64) (uint64, bool) {
	var b [8]byte
	if _, err := m.memory.ReadAt(b[:], int64(at)); err != nil {
		return 0, false
	}
	return binary.LittleEndian.Uint64(b[:]), true
}

// user is the descriptor of the user's goroutine that the thread runs whose descriptor is at an
// address: itself, or, if it is one of the system's, which runtimes have two of for each thread, the
// one that the thread does that for. 0 if the thread runs none, or none is there.
func (m goMemory) user(g uint64) uint64 {
	if g == 0 || g%8 != 0 {
		return 0
	}
	l := m.of.layout
	thread, ok := m.word(g + uint64(l.GM))
	if !ok || thread == 0 || thread%8 != 0 {
		return 0
	}
	system, ok := m.word(thread)
	if !ok || system == 0 {
		return 0
	}
	if back, ok := m.word(system + uint64(l.GM)); !ok || back != thread {
		return 0
	}
	user, _ := m.word(thread + uint64(l.CurG))
	return user
}

// complete adds what plain breakpoints have not told of a call of a Go runtime: type and goroutine.
func (g *goRuntime) complete(c *breakpoints.Call, memory io.ReaderAt) {
	if c.Function.Group != breakpoints.GroupGo || c.Event.Kind != capture.Alloc || !g.known {
		return
	}
	by, _ := g.goroutine(c.Regs, memory)
	c.Args[2] = by.id
	c.Event.Aux = uint64(capture.NewGoAux(by.id, c.Args[1], uint64(g.at(c.Entry).Low)))
}
