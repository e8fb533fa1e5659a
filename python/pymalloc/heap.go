package pymalloc

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"

	"hdb/internal/addr"
	"hdb/python"
	"hdb/python/layout"
)

// Sizes in bytes that are the same in all versions.
const (
	Classes    = layout.Classes
	Threshold  = Classes * layout.Alignment
	maxArenas  = 1 << 18 // 64 GiB of blocks in 3.8, 256 GiB in 3.10
	firstArray = 16      // entries of the first array of arenas: it is doubled from there
)

// A Heap is one state of the allocator. Up to 3.11 a process has one for each libpython, later
// each interpreter may have its own.
type Heap struct {
	Interpreters []int64 // IDs of those that use it; nil up to 3.11
	Arenas       []Arena // by address

	// How many arenas were mapped since the start, and how many there were at most.
	Allocated, Highwater uint64
	// Of the tree by which addresses are looked up, from 3.10 on: its inner and its outer nodes.
	MidNodes, BottomNodes int
	// TreeBytes are what the nodes of the tree take, its root included; 0 if there is no tree.
	TreeBytes uint64

	ArenaSize, PoolSize int

	mem python.Memory
}

// An Arena is mapped memory that pools are cut from.
type Arena struct {
	At        addr.Run
	Index     int // in the allocator's array
	Pools     int // of which this number fits in
	FreePools int // of these have no block in use, or were never in use

	next addr.Run // the first pool that was never in use
}

// ErrNotStarted says that an interpreter has mapped no arena yet, or has freed all.
var ErrNotStarted = errors.New("no arenas: the interpreter has not been started, has ended, or does not use pymalloc")

// Open finds the heaps of an interpreter.
func Open(rt python.Runtime, mem python.Memory, symbols python.Symbols) ([]*Heap, error) {
	l := locator{mem: mem, rt: rt}
	if rt.Layout.Pymalloc.State.Arenas == 0 { // up to 3.11
		at, err := l.static(symbols)
		if err != nil {
			return nil, err
		}
		h, err := newHeap(rt, mem, at)
		if err != nil {
			return nil, err
		}
		return []*Heap{h}, nil
	}
	var heaps []*Heap
	known := map[addr.Run]*Heap{}
	for _, in := range rt.Interpreters {
		at, err := l.state(in.At)
		if err != nil {
			return nil, fmt.Errorf("interpreter %d: %w", in.ID, err)
		}
		h := known[at.pools]
		if h == nil {
			if h, err = newHeap(rt, mem, at); errors.Is(err, ErrNotStarted) {
				continue // it uses the main interpreter's
			}
			if err != nil {
				return nil, fmt.Errorf("interpreter %d: %w", in.ID, err)
			}
			known[at.pools] = h
			heaps = append(heaps, h)
		}
		h.Interpreters = append(h.Interpreters, in.ID)
	}
	if len(heaps) == 0 {
		return nil, ErrNotStarted
	}
	// The main interpreter is the last of the list.
	slices.SortFunc(heaps, func(a, b *Heap) int { return cmp.Compare(slices.Min(a.Interpreters), slices.Min(b.Interpreters)) })
	return heaps, nil
}

// newHeap reads the variables of an allocator.
func newHeap(rt python.Runtime, mem python.Memory, at variables) (*Heap, error) {
	l := &rt.Layout.Pymalloc
	h := &Heap{mem: mem, ArenaSize: l.Arena, PoolSize: l.Pool}
	entries, err := h.array(at.arenas, at.maxArenas)
	if err != nil {
		return nil, err
	}
	h.Arenas = entries
	if h.Allocated, err = word(mem, at.allocated); err == nil {
		h.Highwater, err = word(mem, at.highwater)
	}
	if err != nil {
		return nil, err
	}
	if l.InnerNode != 0 {
		mid, err := word(mem, at.mid)
		if err != nil {
			return nil, err
		}
		bottom, err := word(mem, at.bottom)
		if err != nil {
			return nil, err
		}
		h.MidNodes, h.BottomNodes = int(int32(mid)), int(int32(bottom))
		h.TreeBytes = l.InnerNode + l.InnerNode*uint64(uint32(mid)) + l.OuterNode*uint64(uint32(bottom))
	}
	return h, nil
}

// array reads the arenas of the array that a variable points to. Entries whose address is 0
// have no arena.
func (h *Heap) array(arenas, count addr.Run) ([]Arena, error) {
	n, err := word(h.mem, count)
	if err != nil {
		return nil, err
	}
	first, err := word(h.mem, arenas)
	if err != nil {
		return nil, err
	}
	if n = uint64(uint32(n)); n == 0 || first == 0 {
		return nil, ErrNotStarted
	}
	if n > maxArenas {
		return nil, fmt.Errorf("%d arenas: more than %d are not read", n, maxArenas)
	}
	var all []Arena
	const piece = 1024
	for from := 0; from < int(n); from += piece {
		b, err := read(h.mem, addr.Run(first)+addr.Run(from*layout.ArenaSize), min(piece, int(n)-from)*layout.ArenaSize)
		if err != nil {
			return nil, fmt.Errorf("array of arenas: %w", err)
		}
		for i := from; len(b) > 0; i, b = i+1, b[layout.ArenaSize:] {
			a := Arena{At: pointerIn(b, layout.ArenaAddress), Index: i, next: pointerIn(b, layout.ArenaNextPool),
				FreePools: int(uint32In(b, layout.ArenaFreePools)), Pools: int(uint32In(b, layout.ArenaPools))}
			if a.At == 0 {
				continue
			}
			if !h.holds(a) {
				return nil, fmt.Errorf("arena %d at %v: %d of %d pools free, the next at %v: this does not hold together", i, a.At, a.FreePools, a.Pools, a.next)
			}
			all = append(all, a)
		}
	}
	if len(all) == 0 {
		return nil, ErrNotStarted
	}
	slices.SortFunc(all, func(a, b Arena) int { return cmp.Compare(a.At, b.At) })
	for i := 1; i < len(all); i++ {
		if all[i].At-all[i-1].At < addr.Run(h.ArenaSize) {
			return nil, fmt.Errorf("arenas %d and %d at %v and %v: they overlap", all[i-1].Index, all[i].Index, all[i-1].At, all[i].At)
		}
	}
	return all, nil
}

// holds reports whether an entry can be an arena's.
func (h *Heap) holds(a Arena) bool {
	first := h.firstPool(a)
	end := first + addr.Run(a.Pools*h.PoolSize)
	return a.At+addr.Run(h.ArenaSize) > a.At && a.At%layout.Alignment == 0 &&
		a.Pools > 0 && a.Pools <= h.ArenaSize/h.PoolSize && a.FreePools <= a.Pools &&
		a.next >= first && a.next <= end && end <= a.At+addr.Run(h.ArenaSize) && (a.next-first)%addr.Run(h.PoolSize) == 0
}

// firstPool is where the first pool of an arena begins, which is aligned.
func (h *Heap) firstPool(a Arena) addr.Run {
	size := addr.Run(h.PoolSize)
	return (a.At + size - 1) / size * size
}

// Lost is how many bytes of an arena are in no pool.
func (h *Heap) Lost(a Arena) int {
	if h.firstPool(a) == a.At {
		return 0
	}
	return h.PoolSize
}

// ArenaOf is the arena that an address is in.
func (h *Heap) ArenaOf(at addr.Run) (Arena, bool) {
	i, found := slices.BinarySearchFunc(h.Arenas, at, func(a Arena, at addr.Run) int { return cmp.Compare(a.At, at) })
	if !found {
		i--
	}
	if i < 0 || at-h.Arenas[i].At >= addr.Run(h.ArenaSize) {
		return Arena{}, false
	}
	return h.Arenas[i], true
}

// read reads memory whole, in pieces: a number that memory says takes no more room than there
// is memory to read.
func read(mem python.Memory, at addr.Run, n int) ([]byte, error) {
	const piece = 1 << 20
	var b []byte
	for len(b) < n {
		from := len(b)
		b = append(b, make([]byte, min(piece, n-from))...)
		got, err := mem.ReadAt(b[from:], int64(at)+int64(from))
		if got < len(b)-from {
			if err == nil {
				err = io.ErrUnexpectedEOF
			}
			return nil, fmt.Errorf("read %v: %w", at+addr.Run(from), err)
		}
	}
	return b, nil
}

func word(mem python.Memory, at addr.Run) (uint64, error) {
	v, err := addr.ReadWord(mem, at)
	if err != nil {
		return 0, fmt.Errorf("read %v: %w", at, err)
	}
	return v, nil
}

func pointerIn(b []byte, at int) addr.Run { return addr.Run(binary.LittleEndian.Uint64(b[at:])) }

func uint32In(b []byte, at int) uint32 { return binary.LittleEndian.Uint32(b[at:]) }
