package memory

import (
	"context"
	"slices"
	"sort"

	"hdb/heap/golang"
	"hdb/heap/graph"
	"hdb/heap/regions"
	"hdb/internal/addr"
)

// Go is the heap of a Go runtime, nil without one. err says why the heap of a program with a runtime is
// not known.
func (m *Image) Go() (h *golang.Heap, err error) {
	if m.openedGo {
		return m.golang, m.goErr
	}
	m.openedGo = true
	if m.src.Go == nil {
		return nil, nil
	}
	src, err := m.src.Go()
	if err == nil {
		src.Memory = m.src.Memory
		for _, t := range m.src.Threads {
			src.Stacks = append(src.Stacks, golang.Stack{SP: uint64(t.SP), PC: uint64(t.PC)})
		}
		for _, t := range m.src.Space.Threads {
			for _, sp := range t.Stacks {
				src.Stacks = append(src.Stacks, golang.Stack{SP: uint64(sp)})
			}
		}
		var cut bool
		cut, err = m.within(func(ctx context.Context) (err error) {
			h, err = golang.Open(ctx, src)
			return err
		})
		if cut {
			m.openedGo = false
			return nil, err
		}
	}
	if err != nil {
		m.goErr = err
		return nil, err
	}
	m.golang, m.arenas = h, h.Arenas()
	return h, nil
}

// InGo reports whether an address is in the memory that a Go runtime cuts blocks from.
func (m *Image) InGo(at uint64) bool {
	if h, _ := m.Go(); h == nil {
		return false
	}
	return m.inArenas(at)
}

func (m *Image) inArenas(at uint64) bool {
	a := addr.Run(at)
	if len(m.arenas) == 1 {
		return m.arenas[0].Contains(a)
	}
	i := sort.Search(len(m.arenas), func(i int) bool { return m.arenas[i].End > a })
	return i < len(m.arenas) && m.arenas[i].Contains(a)
}

// slot takes a slot of a Go heap that is in use, and the recorded blocks in it, which have all of it
// between them: a pointer behind what was asked for is one to the block in front.
func (out *blocks) slot(c graph.Block, rec *cursor) {
	at, high := c.Addr, c.Addr+c.Size
	in := rec.below(high)
	for i, r := range in {
		if r.Addr > at && i == 0 {
			out.walk(graph.Block{Addr: at, Size: r.Addr - at}) // older than the recording
		}
		end := high
		if i+1 < len(in) {
			end = in[i+1].Addr
		}
		if end > r.Addr {
			out.all.Append(graph.Block{Addr: r.Addr, Size: end - r.Addr})
		}
	}
	if len(in) == 0 {
		out.walk(c)
	}
}

// walk takes a block that is not recorded.
func (out *blocks) walk(c graph.Block) {
	out.all.Append(c)
	out.walked.Blocks++
	out.walked.Bytes += c.Size
}

// native reports whether the program has an allocator other than Go's, whose blocks may point to blocks of Go.
func (m *Image) native() bool {
	_, noGlibc := m.Heap()
	_, noJemalloc := m.Jemalloc()
	return noGlibc == nil || noJemalloc == nil || m.src.Other != ""
}

// A collector tells the graph what Go's garbage collector takes for pointers.
type collector struct {
	m      *Image
	h      *golang.Heap
	r      *roots
	native bool
}

func (c *collector) Manages(address uint64) bool { return c.m.inArenas(address) }

func (c *collector) Shared(address uint64) bool {
	return c.h.Shared(address)
}

func (c *collector) Words() graph.Words {
	return &goWords{c, c.h.Pointers(c.m.Reader())}
}

// goWords tells what words are for Go's collector.
type goWords struct {
	*collector
	pointers *golang.Pointers
}

// hidden is memory that Go's collector does not know: it may hold blocks for C.
func (c *collector) hidden() graph.Sight {
	if c.native {
		return graph.Hidden
	}
	return graph.Unseen
}

// See implements graph.Words.
func (w *goWords) See(at uint64, root int, piece []uint64, base uint64) graph.Sight {
	if root < 0 {
		switch w.pointers.At(at, piece, base) {
		case golang.Pointer:
			return graph.Seen
		case golang.NoPointer:
			return graph.Unseen
		}
		return graph.Hidden // a block of another allocator
	}
	kind := &w.r.kinds[w.r.Ranges[root].Label]
	switch kind.Kind {
	case OfGoroutine:
		if kind.stack.Sees(at) {
			return graph.Seen
		}
		return graph.Unseen
	case InRegion:
	default:
		return w.hidden()
	}
	switch kind.Region.Kind {
	case regions.Data, regions.BSS, regions.ReadOnly:
		switch w.h.Global(at) {
		case golang.Pointer:
			return graph.Seen
		case golang.NoPointer:
			return graph.Unseen
		}
		return w.hidden()
	case regions.TLS, regions.Stack, regions.SignalStack:
		return w.hidden()
	}
	// What a runtime has mapped for itself is not distinguished from what the program has: its tables
	// point to every span.
	return graph.Unseen
}

// golang adds the roots of Go's collector.
func (r *roots) golang(h *golang.Heap) {
	all := h.Roots()
	for i := range all {
		root := &all[i]
		switch root.Kind {
		case golang.OfStack:
			r.memory(graph.Range{Start: root.Start, End: root.End}, nil, Root{Kind: OfGoroutine, Goroutine: root.Goroutine, stack: root})
		default:
			r.word(root.Value, Root{Kind: OfGo, Name: goRootNames[root.Kind], Of: root.Of})
		}
	}
}

var goRootNames = map[golang.RootKind]string{
	golang.OfFinalizer: "finalizer", golang.OfCleanup: "cleanup", golang.OfWeak: "weak pointer", golang.OfQueue: "finalizer that is due",
}

// onGoroutine reports whether an address is in the used part of a goroutine's stack, and of which.
func onGoroutine(h *golang.Heap, at uint64) (goroutine uint64, ok bool) {
	all := h.Roots() // those of stacks first, ascending
	n := sort.Search(len(all), func(i int) bool { return all[i].Kind != golang.OfStack })
	i := sort.Search(n, func(i int) bool { return all[i].End > at })
	if i == n || all[i].Start > at {
		return 0, false
	}
	return all[i].Goroutine, true
}

// withoutNoScan leaves out what has no pointers, where nothing but Go's collector looks for them.
func withoutNoScan(h *golang.Heap, populated func(start, end uint64) ([]graph.Range, error)) func(start, end uint64) ([]graph.Range, error) {
	return func(start, end uint64) (parts []graph.Range, err error) {
		all := []graph.Range{{Start: start, End: end}}
		if populated != nil {
			if all, err = populated(start, end); err != nil {
				return nil, err
			}
		}
		for _, p := range all {
			h.Scanned(p.Start, p.End, func(low, high uint64) { parts = append(parts, graph.Range{Start: low, End: high}) })
		}
		return parts, nil
	}
}

// shown adds to an edge where in the block it points to: of those to blocks of Go the graph does not
// keep it.
func (g *Graph) shown(e graph.Edge) graph.Edge {
	if !e.Inside || e.At == 0 {
		return e
	}
	to := g.m.merged().all.At(e.To)
	if v, err := addr.ReadWord(g.m.src.Memory, addr.Run(e.At)); err == nil && v-to.Addr < to.Size {
		e.Offset = v - to.Addr
	}
	return e
}

// outside are the threads, less the parts of them that are in Go's heap: there is no struct pthread at the thread
// pointer then, and no stack around a stack pointer.
func (m *Image) outside(all []regions.Thread) []regions.Thread {
	if len(m.arenas) == 0 {
		return all
	}
	all = slices.Clone(all)
	for i := range all {
		if m.inArenas(uint64(all[i].FS)) {
			all[i].FS = 0
		}
		all[i].Stacks = slices.DeleteFunc(slices.Clone(all[i].Stacks), func(sp addr.Run) bool { return m.inArenas(uint64(sp)) })
	}
	return all
}

// claims adds the memory of a Go heap to those of allocators.
func (m *Image) claimGo(src *regions.Source) {
	if h, _ := m.Go(); h == nil {
		return
	}
	for _, a := range m.arenas {
		src.Arenas = append(src.Arenas, regions.Range{Start: a.Start, End: a.End, Label: "Go heap"})
	}
	src.Threads = m.outside(src.Threads)
}

// Hidden reports that the collector does not see an edge to a block of Go.
func (g *Graph) Hidden(e graph.Edge) bool { return e.Weak && g.m.InGo(g.m.merged().all.At(e.To).Addr) }
