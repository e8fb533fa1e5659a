package heaps

import (
	"context"
	"slices"
	"time"

	"hdb/heap/glibc"
	"hdb/heap/resident"
	"hdb/inferior"
	"hdb/internal/addr"
	"hdb/query"
	"hdb/session/target"
)

// Bounds of the walk for the blocks of before: the process is stopped meanwhile, and each 16 bytes of its
// heap take one in the table of states.
const (
	maxOlderTime = 200 * time.Millisecond
	maxOlderHeap = 128 << 20 // bytes that the arenas have
)

// olderBlocks are those that malloc had given before a recording began.
type olderBlocks struct {
	target    *target.Target
	allocator func() foundAllocators // see Heap

	known bool // all have been yielded
}

// NewOlderBlocks finds them in a heap.
func NewOlderBlocks(h *Heap) *olderBlocks {
	return &olderBlocks{target: h.target, allocator: h.allocator}
}

// All yields the blocks that malloc has in use: their frees are no wrong ones. It yields none where another
// allocator is in its place, or the heap is larger than what its walk may take.
func (h *olderBlocks) All(yield func(uint64) bool) {
	h.known = false
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
	h.known = true
}

// FreeBefore tells what malloc has of an address that no followed call has returned, 0 if it may be a block. If
// the probe follows calls, it walks the heap only if all has yielded all blocks: else each block of before
// would cost a walk.
func (h *olderBlocks) FreeBefore(at uint64, byProbe bool) query.WrongKind {
	if at%16 != 0 { // a header is 8 bytes in front
		return 0
	}
	if _, err := h.target.Proc.ReadAt(make([]byte, 8), int64(at-8)); err != nil {
		return query.NoMemory
	}
	if byProbe && !h.known {
		return 0
	}
	g := h.walk()
	if g == nil {
		return 0
	}
	c, ok := g.Find(addr.Run(at))
	if !ok || !isFree(c.State) || damaged(g) {
		return 0
	}
	if c.Addr == addr.Run(at) && c.State != glibc.Top {
		return query.FreedBefore
	}
	return query.InFreeMemory
}

// damaged tells that the chunks of a heap may not be what the walk takes them for.
func damaged(g *glibc.Heap) bool {
	return slices.ContainsFunc(g.Damage(), func(d glibc.Damage) bool { return !d.Passing })
}

// isFree tells the states of memory that malloc has got back.
func isFree(s glibc.State) bool {
	switch s {
	case glibc.TCache, glibc.FastBin, glibc.Free, glibc.Top:
		return true
	}
	return false
}

// Free tells that an address is in memory that malloc has got back: in a free chunk, or in none any more and
// given to the kernel.
func (h *olderBlocks) Free(at uint64) bool {
	g := h.walk()
	if g == nil {
		return false
	}
	if c, ok := g.Find(addr.Run(at)); ok {
		return isFree(c.State)
	}
	_, err := h.target.Proc.ReadAt(make([]byte, 1), int64(at))
	return err != nil
}

// walk is malloc's heap as it is now, nil where another allocator is in its place, or it takes too long.
func (h *olderBlocks) walk() *glibc.Heap {
	if h.target.Proc == nil || h.target.Image == nil {
		return nil
	}
	found := h.allocator()
	if len(found.libcs) == 0 || found.other != "" {
		return nil
	}
	src := glibc.Source{Source: resident.Source{Memory: h.target.Proc}, Libcs: found.libcs, Program: found.libc}
	maps, err := h.target.Proc.Maps()
	if err != nil {
		return nil
	}
	for _, m := range maps {
		perm := m.Perm + "----"
		src.Mappings = append(src.Mappings, resident.Mapping{
			Range:    m.Low.To(m.High),
			Readable: perm[0] == 'r', Writable: perm[1] == 'w', Executable: perm[2] == 'x', Shared: perm[3] == 's', Path: m.Path,
		})
	}
	for _, t := range h.target.Proc.Threads() {
		if regs, err := t.Regs(); err == nil {
			src.Threads = append(src.Threads, resident.Thread{TID: t.TID, FS: addr.Run(regs.FsBase)})
		}
	}
	src.Resident = func(r addr.Range) (parts []addr.Range, err error) {
		err = h.target.Proc.Pages(r.Start, r.End, func(p inferior.PageRun) {
			parts = append(parts, p.Low.To(p.High))
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
