package session

import (
	"context"
	"time"

	"hdb/heap/glibc"
	"hdb/inferior"
	"hdb/internal/addr"
)

// Bounds of the walk for the blocks of before: the process stands meanwhile, and each 16 bytes of its heap
// take one in the table of states.
const (
	maxOlderTime = 200 * time.Millisecond
	maxOlderHeap = 128 << 20 // bytes that the arenas have
)

// older yields the blocks that malloc has in use: their frees are no wrong ones. It yields none where another
// allocator is in its place, or the heap is larger than what its walk may take.
func (h *Heap) older(yield func(uint64) bool) {
	g := h.walk()
	if g == nil {
		return
	}
	var system uint64
	for _, a := range g.Arenas() {
		system += a.SystemMem
	}
	if system > maxOlderHeap {
		return
	}
	for c := range g.Chunks() {
		if c.State.Live() && !yield(uint64(c.Addr)) {
			return
		}
	}
}

// free tells that an address is in memory that malloc has got back: in a free chunk, or in none any more and
// given to the kernel.
func (h *Heap) free(at uint64) bool {
	g := h.walk()
	if g == nil {
		return false
	}
	if c, ok := g.Find(addr.Run(at)); ok {
		switch c.State {
		case glibc.TCache, glibc.FastBin, glibc.Free, glibc.Top:
			return true
		}
		return false
	}
	_, err := h.proc.ReadAt(make([]byte, 1), int64(at))
	return err != nil
}

// walk is malloc's heap as it is now, nil where another allocator is in its place, or it takes too long.
func (h *Heap) walk() *glibc.Heap {
	if h.proc == nil || h.common.image == nil {
		return nil
	}
	libc, other := h.allocator()
	if libc == "" || other != "" {
		return nil
	}
	src := glibc.Source{Memory: h.proc, Libc: libc}
	maps, err := h.proc.Maps()
	if err != nil {
		return nil
	}
	for _, m := range maps {
		perm := m.Perm + "----"
		src.Mappings = append(src.Mappings, glibc.Mapping{
			Range:    glibc.Range{Start: m.Low, End: m.High},
			Readable: perm[0] == 'r', Writable: perm[1] == 'w', Executable: perm[2] == 'x', Shared: perm[3] == 's', Path: m.Path,
		})
	}
	for _, t := range h.proc.Threads() {
		if regs, err := t.Regs(); err == nil {
			src.Threads = append(src.Threads, glibc.Thread{TID: t.TID, FS: addr.Run(regs.FsBase)})
		}
	}
	src.Resident = func(r glibc.Range) (parts []glibc.Range, err error) {
		err = h.proc.Pages(r.Start, r.End, func(p inferior.PageRun) {
			parts = append(parts, glibc.Range{Start: p.Low, End: p.High})
		})
		return parts, err
	}
	ctx, stop := context.WithTimeout(context.Background(), maxOlderTime)
	defer stop()
	g, err := glibc.Open(ctx, src)
	if err != nil {
		return nil
	}
	return g
}
