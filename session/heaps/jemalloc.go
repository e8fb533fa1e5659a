package heaps

import (
	"errors"

	"hdb/heap/jemalloc"
	"hdb/internal/addr"
	"hdb/memory"
)

// JemallocAnswer is what jemalloc has.
type JemallocAnswer struct {
	*jemalloc.Heap
	Threads   map[int]int // hdb's numbers by TID
	Recorded  memory.Fit  // blocks that the recording knows
	Recording bool        // there is one
	Resident  uint64      // bytes of its memory that are in memory or in swap
	Known     bool        // Resident is known
}

// errJemalloc is the error of what only chunks of glibc's malloc can tell.
var errJemalloc = errors.New("the heap is jemalloc's, not glibc's: heap, arenas, bins and chunk show it")

// Jemalloc is what jemalloc has, summed up, nil without one. Where the program has an allocator that is not
// known, the error of Allocator says so.
func (h *Mallocs) Jemalloc() (*JemallocAnswer, error) {
	m, err := h.heap.Image()
	if err != nil {
		return nil, err
	}
	je, err := m.Jemalloc()
	if err != nil {
		return nil, nil
	}
	a := &JemallocAnswer{Heap: je, Threads: map[int]int{}}
	for _, t := range h.target.Image.Threads() {
		a.Threads[t.TID] = t.Num
	}
	_, err = h.queries.BlockEvents()
	if a.Recording = err == nil; a.Recording {
		if err := m.Fits(func(b *memory.Block, usable uint64) {
			if r, ok := je.Find(addr.Run(b.Addr)); ok && uint64(r.Addr) == b.Addr {
				a.Recorded.Add(b.Size, usable)
			}
		}); err != nil {
			return nil, err
		}
	}
	a.Resident, a.Known = je.Resident()
	return a, nil
}

// A RegionAnswer is one region of jemalloc's heap.
type RegionAnswer struct {
	jemalloc.Region
	Thread int   // hdb's number of the thread whose cache has it, 0: none
	Offset int64 // of the address that was asked for
}

// Region is the region of jemalloc's heap that an address is in, nil if it is in none.
func (h *Mallocs) Region(at uint64) (*RegionAnswer, error) {
	m, err := h.heap.Image()
	if err != nil {
		return nil, err
	}
	return h.heap.region(m, at), nil
}

// region is Mallocs.Region of an image.
func (h *Heap) region(m *memory.Image, at uint64) *RegionAnswer {
	je, err := m.Jemalloc()
	if err != nil {
		return nil
	}
	r, ok := je.Find(addr.Run(at))
	if !ok {
		return nil
	}
	return &RegionAnswer{Region: r, Thread: h.target.ThreadNumber(r.TID), Offset: int64(at - uint64(r.Addr))}
}
