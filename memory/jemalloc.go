package memory

import (
	"context"
	"errors"
	"iter"

	"hdb/heap/glibc"
	"hdb/heap/graph"
	"hdb/heap/jemalloc"
	"hdb/internal/addr"
)

// jemallocName is what Source.Other is with jemalloc.
const jemallocName = "jemalloc"

// Jemalloc is the heap of jemalloc, a *NoWalkError where there is none. It is found by what memory holds, and
// may be there together with glibc's: programs call it by other names, too.
func (m *Image) Jemalloc() (*jemalloc.Heap, error) {
	if m.openedJe {
		return m.je, m.jeErr
	}
	m.openedJe = true
	src := jemalloc.Source{Source: m.process()}
	if m.src.Other == jemallocName {
		src.Version = m.src.Version
	}
	var h *jemalloc.Heap
	cut, err := m.within(func(ctx context.Context) (err error) {
		h, err = jemalloc.Open(ctx, src)
		return err
	})
	if cut {
		m.openedJe = false
		return nil, err
	}
	if err != nil {
		m.jeErr = m.noWalk(err)
		return nil, m.jeErr
	}
	m.je = h
	return h, nil
}

// staticTLS is where the static thread-local storage of a thread begins, 0 if that is not known.
func (m *Image) staticTLS(t *Thread) (low addr.Run) {
	for _, b := range m.src.Space.TLS {
		if b.Static && b.TID == t.TID && (low == 0 || b.Start < low) {
			low = b.Start
		}
	}
	return low
}

// Walkable is nil if the blocks of a heap are known without a recording, and otherwise a *NoWalkError.
func (m *Image) Walkable() error {
	if h, _ := m.Go(); h != nil {
		return nil
	}
	return m.Native()
}

// Native is Walkable but for blocks of Go.
func (m *Image) Native() error {
	_, err := m.Jemalloc()
	if err == nil {
		return nil
	}
	_, other := m.Heap()
	var layout *jemalloc.LayoutError
	if other != nil && (m.src.Other == jemallocName || m.src.Other == "" && errors.As(err, &layout)) {
		return err
	}
	return other
}

// spans are the blocks of the heaps that are walked, ascending.
func (m *Image) spans() iter.Seq[graph.Block] {
	all := m.nativeSpans()
	h, _ := m.Go()
	if h == nil {
		return all
	}
	ofGo := func(yield func(graph.Block) bool) {
		for b := range h.Blocks() {
			if !yield(graph.Block{Addr: b.Addr, Size: b.Size}) {
				return
			}
		}
	}
	if !m.native() {
		return ofGo
	}
	return ascending(ofGo, all)
}

// nativeSpans are the blocks of the heaps that are walked, without Go's, ascending.
func (m *Image) nativeSpans() iter.Seq[graph.Block] {
	var all []iter.Seq[graph.Block]
	if h, err := m.Heap(); err == nil {
		all = append(all, glibcSpans(h))
	}
	if h, err := m.Jemalloc(); err == nil {
		all = append(all, func(yield func(graph.Block) bool) {
			for b := range h.Blocks() {
				if !yield(graph.Block{Addr: uint64(b.Addr), Size: b.Size}) {
					return
				}
			}
		})
	}
	switch len(all) {
	case 0:
		return func(func(graph.Block) bool) {}
	case 1:
		return all[0]
	}
	return ascending(all[0], all[1])
}

// ascending is the blocks of two lists in one.
func ascending(one, other iter.Seq[graph.Block]) iter.Seq[graph.Block] {
	return func(yield func(graph.Block) bool) {
		next, stop := iter.Pull(one)
		defer stop()
		b, more := next()
		for c := range other {
			for ; more && b.Addr < c.Addr; b, more = next() {
				if !yield(b) {
					return
				}
			}
			if !yield(c) {
				return
			}
		}
		for ; more; b, more = next() {
			if !yield(b) {
				return
			}
		}
	}
}

// glibcSpans are the blocks of glibc's malloc, ascending.
func glibcSpans(h *glibc.Heap) iter.Seq[graph.Block] {
	return func(yield func(graph.Block) bool) {
		for b := range h.Blocks() {
			if !yield(graph.Block{Addr: uint64(b.Addr), Size: b.Size}) {
				return
			}
		}
	}
}

// walkedLen is how many blocks the walks found.
func (m *Image) walkedLen() int {
	n := 0
	if h, err := m.Heap(); err == nil {
		_, n = h.Len()
	}
	if h, err := m.Jemalloc(); err == nil {
		n += h.Len()
	}
	if h, _ := m.Go(); h != nil {
		n += h.Sum().Slots
	}
	return n
}

// released reports whether the memory at an address has been returned to an allocator.
func (m *Image) released(at uint64) bool {
	a := addr.Run(at)
	if h, err := m.Heap(); err == nil {
		if c, ok := h.Find(a); ok && !c.State.Live() && a < c.End() {
			return true
		}
	}
	if h, err := m.Jemalloc(); err == nil {
		if r, ok := h.Find(a); ok && r.Use != jemalloc.Live {
			return true
		}
	}
	return m.InGo(at) // what is in use there is a block that was walked
}
