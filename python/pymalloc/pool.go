package pymalloc

import (
	"fmt"

	"hdb/internal/addr"
	"hdb/python/layout"
)

// A Pool is a piece of an arena with blocks of one size.
type Pool struct {
	At     addr.Run
	Class  int // -1 if the header makes no sense
	Size   int // bytes of a block
	Used   int // blocks in use, as its header counts them
	Blocks int // that fit in
	Cut    int // of these were ever in use

	free  addr.Run // the first block that was freed
	bytes []byte   // of the pool, while it is at hand
}

// Free reports whether a pool has no block in use: it waits for a class that needs it.
func (p *Pool) Free() bool { return p.Used == 0 }

// parsePool reads the header of a pool.
func (h *Heap) parsePool(at addr.Run, b []byte) (Pool, error) {
	p := Pool{At: at, Class: int(uint32In(b, layout.PoolClass)), Used: int(uint32In(b, layout.PoolUsed)), free: pointerIn(b, layout.PoolFree), bytes: b}
	if p.Used == 0 {
		return p, nil
	}
	next := int(uint32In(b, layout.PoolCut))
	if p.Class < 0 || p.Class >= Classes {
		class := p.Class
		p.Class = -1
		return p, fmt.Errorf("pool at %v: size class %d of %d", at, class, Classes)
	}
	p.Size = layout.Alignment * (p.Class + 1)
	p.Blocks = (h.PoolSize - layout.PoolHeader) / p.Size
	p.Cut = min((next-layout.PoolHeader)/p.Size, p.Blocks)
	if p.Used > p.Blocks || next < layout.PoolHeader || (next-layout.PoolHeader)%p.Size != 0 {
		return p, fmt.Errorf("pool at %v: %d of %d blocks in use, the next one at %d: this does not hold together", at, p.Used, p.Blocks, next)
	}
	return p, nil
}

// inUse tells which blocks of a pool are in use: those that were cut and are not in the
// list of free ones. An error says what is wrong with the list, whose blocks are then
// known up to there.
func (p *Pool) inUse() ([]bool, error) {
	used := make([]bool, p.Cut)
	for i := range used {
		used[i] = true
	}
	left := p.Cut
	for at := p.free; at != 0; {
		i := int(at-p.At-layout.PoolHeader) / p.Size
		if at < p.At+layout.PoolHeader || int(at-p.At-layout.PoolHeader)%p.Size != 0 || i >= p.Cut {
			return used, fmt.Errorf("pool at %v: its list of free blocks leads to %v, which is no block of it", p.At, at)
		}
		if !used[i] {
			return used, fmt.Errorf("pool at %v: its list of free blocks comes to %v twice", p.At, at)
		}
		used[i] = false
		left--
		at = pointerIn(p.bytes, int(at-p.At))
	}
	if left != p.Used {
		return used, fmt.Errorf("pool at %v: %d blocks in use are counted, %d are in no list", p.At, p.Used, left)
	}
	return used, nil
}

// Block is where the i-th block of a pool is.
func (p *Pool) block(i int) addr.Run { return p.At + layout.PoolHeader + addr.Run(i*p.Size) }

// Pools calls yield for the pools of an arena that were ever in use, by address. What the
// pool has is valid during the call. err is what is wrong with the pool, which may be that
// it cannot be read.
func (h *Heap) Pools(a Arena, yield func(p *Pool, err error) bool) bool {
	first := h.firstPool(a)
	if a.next <= first {
		return true
	}
	b, bulk := read(h.mem, first, int(a.next-first))
	for at := first; at < a.next; at += addr.Run(h.PoolSize) {
		var one []byte
		err := error(nil)
		if bulk == nil {
			one = b[at-first:][:h.PoolSize]
		} else {
			one, err = read(h.mem, at, h.PoolSize)
		}
		p := Pool{At: at, Class: -1}
		if err == nil {
			p, err = h.parsePool(at, one)
		}
		if !yield(&p, err) {
			return false
		}
	}
	return true
}

// Blocks calls yield for each block in use, by address, until it returns false: where it is,
// and the bytes of its class, which may be up to 15 more than were asked for. An error says
// which pools are damaged, or were being changed when the program stopped: their blocks are left out
// where it is not known whether they are in use.
func (h *Heap) Blocks(yield func(at addr.Run, size uint64) bool) error {
	return h.pools(func(p *Pool, used []bool) bool {
		for i, u := range used {
			if u && !yield(p.block(i), uint64(p.Size)) {
				return false
			}
		}
		return true
	})
}

// maxErrors bounds how many pools are reported.
const maxErrors = 16

// A Place is where an address is in a heap.
type Place struct {
	Arena Arena
	Pool  *Pool // nil if it is in none that was ever in use
	Err   error // what is wrong with the pool

	InHeader bool     // of the pool
	Block    addr.Run // 0 if it is in no block: in the header, behind the last one, or in a free pool
	InUse    bool
	Cut      bool // the block was ever in use
}

// Find tells where an address lies.
func (h *Heap) Find(at addr.Run) (Place, bool) {
	a, ok := h.ArenaOf(at)
	if !ok {
		return Place{}, false
	}
	w := Place{Arena: a}
	base := at / addr.Run(h.PoolSize) * addr.Run(h.PoolSize)
	if base < h.firstPool(a) || base >= a.next {
		return w, true
	}
	b, err := read(h.mem, base, h.PoolSize)
	if err != nil {
		w.Err = err
		return w, true
	}
	p, err := h.parsePool(base, b)
	w.Pool, w.Err = &p, err
	if w.InHeader = at-base < layout.PoolHeader; w.InHeader || err != nil || p.Free() {
		return w, true
	}
	i := int(at-base-layout.PoolHeader) / p.Size
	if i >= p.Blocks {
		return w, true
	}
	w.Block, w.Cut = p.block(i), i < p.Cut
	if w.Cut {
		var used []bool
		used, w.Err = p.inUse()
		w.InUse = used[i]
	}
	return w, true
}
