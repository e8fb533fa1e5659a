package jemalloc

import (
	"context"
	"fmt"
	"iter"
	"math/bits"
	"slices"

	"hdb/internal/addr"
)

// A State is what an extent is to its arena.
type State uint8

const (
	Active     State = iota // given to the program, or to a slab
	Dirty                   // kept for later as it is
	Muzzy                   // kept, and the kernel may take its pages (MADV_FREE)
	Retained                // kept without pages
	Transition              // a thread is changing it
	States     = iota
)

var stateNames = [...]string{Active: "active", Dirty: "dirty", Muzzy: "muzzy", Retained: "retained", Transition: "in transition"}

func (s State) String() string {
	if int(s) < len(stateNames) {
		return stateNames[s]
	}
	return "unknown"
}

// A Use is what a region of a slab, or a large extent, is used for.
type Use uint8

const (
	Live     Use = iota // the program holds it
	Cached              // freed, in the cache of a thread
	Free                // freed, in its slab
	Internal            // jemalloc's own: the stacks of a tcache
	Kept                // an extent that is not active, or the rest of one: no region
)

var useNames = [...]string{Live: "live", Cached: "cached", Free: "free", Internal: "internal", Kept: "kept"}

func (u Use) String() string {
	if int(u) < len(useNames) {
		return useNames[u]
	}
	return "unknown"
}

// A Block is memory that the program holds.
type Block struct {
	Addr addr.Run
	Size uint64 // usable bytes, as malloc_usable_size(3) says
}

// An Extent is a run of pages of an arena.
type Extent struct {
	addr.Range
	State State
	Arena int
	Slab  bool
	Class int // of an active extent: index of its size class
}

// A Region is a region of a slab, or a large extent.
type Region struct {
	Addr   addr.Run
	Size   uint64 // of the size class; of kept memory the extent's
	Use    Use
	Extent Extent
	TID    int // of the thread whose cache has it, 0 if that is none, or not known
}

// extent is an extent of a Heap.
type extent struct {
	start addr.Run
	size  uint64
	block addr.Run // of a large one
	arena uint16
	class uint8
	state State
	slab  bool
	hpa   bool
	use   Use    // of a large one
	words uint32 // of a slab: where its words begin in Heap.used
}

// usable is the bytes of a region of an active extent. Where large blocks are not rounded up to size classes
// (disable_large_size_classes), what the extent has tells.
func (h *Heap) usable(x *extent) uint64 {
	if x.slab || int(x.class) < h.classes.small {
		return h.classes.size(int(x.class))
	}
	return x.size - h.pad
}

func (x *extent) end() addr.Run { return x.start + addr.Run(x.size) }

// A Heap is all memory that jemalloc manages, as it was when it was opened.
type Heap struct {
	mem     *memory
	root    root
	classes classes
	pad     uint64       // bytes of a large extent beyond its block: a page, for cache_oblivious
	extents []extent     // ascending, not overlapping
	used    []uint64     // bits of the regions of slabs that are in use for these
	cached  []uint64     // those of them that are in caches, or internal
	own     []addr.Range // base blocks
	caches  []Cache
	slow    *slowLayout      // of the caches, nil if none is new
	inCache map[addr.Run]int // TID by region; of no thread: 0
	inside  map[addr.Run]bool
	torn    int
	lost    int // structs that are in no base block
	spent   uint64
}

// This number of extents that do not agree with the map may be of threads that are inside malloc; more are of a version
// that is not known.
const (
	mostTorn = 16
	tornEach = 4
)

// Open finds the map of extents and reads them, and the caches of the threads. Without a jemalloc that has
// run the error is ErrNotFound, with one of another version a *VersionError or a *LayoutError. If ctx ends before, the
// error is its cause.
func Open(ctx context.Context, src Source) (*Heap, error) {
	if !Known(src.Version) {
		return nil, &VersionError{src.Version}
	}
	h := &Heap{mem: newMemory(ctx, src), inCache: map[addr.Run]int{}, inside: map[addr.Run]bool{}}
	r, err := h.mem.root()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err != nil {
		return nil, err
	}
	h.root = *r
	h.mem.Most = h.mem.Steps + mostSteps
	structs := h.readExtents()
	if h.torn > len(structs)/2 {
		return nil, &LayoutError{r.at, "the struct of an extent"}
	}
	if h.classes.sizes == nil {
		return nil, &LayoutError{r.at, "sizes of extents"}
	}
	h.baseBlocks(structs)
	h.findCaches()
	if h.slow != nil && h.slow.version == "" {
		return nil, &LayoutError{r.at, "the struct of a tcache"}
	}
	if h.torn > mostTorn+tornEach*len(src.Threads) {
		return nil, &LayoutError{r.at, fmt.Sprintf("%d of %d extents", h.torn, len(structs))}
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	h.mem.Outlive()
	h.mem.Threads = nil
	return h, nil
}

// Version is the layout's, as 5.3.
func (h *Heap) Version() string {
	if h.slow != nil {
		return h.slow.version
	}
	return h.root.layout.version
}

// Root is where the map of extents lies.
func (h *Heap) Root() addr.Range { return h.root.at.To(h.root.at + addr.Run(h.root.bytes(0))) }

// Torn is how many extents were left out, as the map and their structs did not agree: a thread was
// changing them.
func (h *Heap) Torn() int { return h.torn }

// Caches are the caches of threads.
func (h *Heap) Caches() []Cache { return h.caches }

// Own are the blocks that jemalloc takes its own data from, ascending. They lead to all extents: they are
// no roots.
func (h *Heap) Own() []addr.Range { return h.own }

// public is what others see of an extent.
func (x *extent) public() Extent {
	return Extent{x.start.To(x.end()), x.state, int(x.arena), x.slab, int(x.class)}
}

// Extents are all of them, ascending.
func (h *Heap) Extents() iter.Seq[Extent] {
	return func(yield func(Extent) bool) {
		for i := range h.extents {
			if !yield(h.extents[i].public()) {
				return
			}
		}
	}
}

// hugePage is HUGEPAGE, the size of what the allocator of huge pages cuts extents from.
const hugePage = 2 << 20

// A Span is memory of an arena: extents that touch.
type Span struct {
	addr.Range
	Arena int
}

// Spans are the memory that arenas have, ascending. What in it is not a block is jemalloc's.
func (h *Heap) Spans() []Span {
	var all []Span
	for i := range h.extents {
		x := &h.extents[i]
		s := Span{x.start.To(x.end()), int(x.arena)}
		if x.hpa { // the map has no extents for the rest of a huge page
			s.Start &^= hugePage - 1
			if i+1 < len(h.extents) {
				s.End = min((s.End+hugePage-1)&^(hugePage-1), h.extents[i+1].start)
			} else {
				s.End = (s.End + hugePage - 1) &^ (hugePage - 1)
			}
		}
		if n := len(all); n > 0 {
			last := &all[n-1]
			s.Start = max(s.Start, last.End)
			if last.End == s.Start && last.Arena == s.Arena {
				last.End = s.End
				continue
			}
		}
		all = append(all, s)
	}
	return all
}

// Blocks are the blocks that the program holds, ascending.
func (h *Heap) Blocks() iter.Seq[Block] {
	return func(yield func(Block) bool) {
		for i := range h.extents {
			x := &h.extents[i]
			size := h.usable(x)
			switch {
			case x.state != Active:
			case !x.slab:
				if x.use == Live && !yield(Block{x.block, size}) {
					return
				}
			default:
				for k := range int(x.size/size+63) / 64 {
					for w := h.used[int(x.words)+k] &^ h.cached[int(x.words)+k]; w != 0; w &= w - 1 {
						at := x.start + addr.Run(size*uint64(64*k+bits.TrailingZeros64(w)))
						if !yield(Block{at, size}) {
							return
						}
					}
				}
			}
		}
	}
}

// extentAt is the index of the extent that an address is in.
func (h *Heap) extentAt(a addr.Run) (int, bool) {
	return slices.BinarySearchFunc(h.extents, a, func(x extent, a addr.Run) int { return addr.Compare(x.start, x.end(), a) })
}

// Find is the region that an address is in.
func (h *Heap) Find(a addr.Run) (Region, bool) {
	i, ok := h.extentAt(a)
	if !ok {
		return Region{}, false
	}
	x := &h.extents[i]
	r := Region{Addr: x.start, Size: x.size, Use: Kept, Extent: x.public()}
	if x.state != Active {
		return r, true
	}
	size := h.usable(x)
	switch {
	case !x.slab:
		if a >= x.block && a < x.block+addr.Run(size) {
			r.Addr, r.Size, r.Use = x.block, size, x.use
		}
	default:
		n := uint64(a-x.start) / size
		if n >= x.size/size {
			return r, true // behind the last region
		}
		r.Addr, r.Size, r.Use = x.start+addr.Run(n*size), size, h.use(x, n)
	}
	if r.Use == Cached {
		r.TID = h.inCache[r.Addr]
	}
	return r, true
}

// use is what a region of a slab is used for.
func (h *Heap) use(x *extent, n uint64) Use {
	word, bit := int(x.words)+int(n/64), uint64(1)<<(n%64)
	switch {
	case h.used[word]&bit == 0:
		return Free
	case h.cached[word]&bit == 0:
		return Live
	}
	if at := x.start + addr.Run(n*h.classes.size(int(x.class))); h.inside[at] {
		return Internal
	}
	return Cached
}

// mark notes what a region that is in use is used for, and reports whether it is one of that class; -1 is any.
func (h *Heap) mark(a addr.Run, class int, as Use, tid int) bool {
	i, ok := h.extentAt(a)
	if !ok {
		return false
	}
	x := &h.extents[i]
	if x.state != Active || class >= 0 && int(x.class) != class {
		return false
	}
	if !x.slab {
		if a != x.block || x.use != Live {
			return false
		}
		x.use = as
	} else {
		size := h.classes.size(int(x.class))
		n := uint64(a-x.start) / size
		if uint64(a-x.start)%size != 0 || n >= x.size/size || h.use(x, n) != Live {
			return false
		}
		h.cached[int(x.words)+int(n/64)] |= 1 << (n % 64)
	}
	if as == Internal {
		h.inside[a] = true
	} else {
		h.inCache[a] = tid
	}
	return true
}
