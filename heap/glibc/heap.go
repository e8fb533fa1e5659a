package glibc

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"sort"

	"hdb/internal/addr"
)

// A State is what a chunk is to the allocator.
type State uint8

const (
	Used     State  = iota // given to the program, cut from an arena
	Mmapped                // given to the program, a mapping of its own
	TCache                 // freed, kept by the cache of a thread
	FastBin                // freed, in a fastbin of its arena
	Free                   // freed and merged with its neighbours, in a bin of its arena
	Top                    // the end of an arena
	Internal               // the allocator's own: the struct of a tcache
	States   = iota        // how many there are
)

var stateNames = [...]string{Used: "used", Mmapped: "mmapped", TCache: "tcache", FastBin: "fastbin", Free: "free", Top: "top", Internal: "internal"}

func (s State) String() string {
	if int(s) < len(stateNames) {
		return stateNames[s]
	}
	return "unknown"
}

// Live reports whether the program holds the chunk.
func (s State) Live() bool { return s == Used || s == Mmapped }

// Cached reports whether the chunk was freed but is kept as it is for the next malloc of its size.
func (s State) Cached() bool { return s == TCache || s == FastBin }

// A Chunk is one piece of the heap.
type Chunk struct {
	Addr  addr.Run // of the user's memory: what malloc returned, 16 bytes behind the chunk's header
	Size  uint64   // usable bytes, as malloc_usable_size(3) would say
	State State
}

// ChunkSize is the size of the chunk that malloc cuts for n bytes, its header included: a word in front,
// a multiple of 16, no less than 32 (request2size). It wraps.
func ChunkSize(n uint64) uint64 { return max((n+8+granule-1)&^(granule-1), leastChunk) }

// Usable is how many bytes of a block can be used for which n were asked, if its chunk is cut from an arena and no larger than it must be.
func Usable(n uint64) uint64 { return ChunkSize(n) - 8 }

// End is where the usable memory ends.
func (c Chunk) End() addr.Run { return c.Addr + addr.Run(c.Size) }

// A Block is a chunk that the program holds.
type Block struct {
	Addr addr.Run
	Size uint64 // usable bytes; the program may have asked for fewer
}

// A Span is memory that an arena cuts chunks from, or that a mmapped chunk fills. Whatever in it is
// not a block is the allocator's: no root of the program's data lies there.
type Span struct {
	addr.Range
	Arena int // index in Arenas; -1 of a mmapped chunk
}

// An Arena is a malloc_state.
type Arena struct {
	Index     int      // 0 is main_arena
	Library   int      // the copy of the C library whose arena it is; 0 is the program's
	Addr      addr.Run // of its malloc_state
	Main      bool     // main_arena of its library
	Locked    bool     // its mutex is held: a thread is inside malloc or free
	SystemMem uint64
	MaxSystem uint64       // the most that SystemMem was
	Attached  uint64       // how many threads allocate from it
	Threads   []int        // those of them that were found, by TID
	Heaps     []addr.Range // with their heap_info; of main_arena, the memory that it got by brk
	Top       addr.Run     // its top chunk's header; 0 if it never had one

	flags uint32
	words int      // of its malloc_state
	state []uint64 // the words of its malloc_state
	bins  []Bin
	frees []freeChunk
}

// Struct is where its malloc_state lies.
func (a *Arena) Struct() addr.Range { return a.Addr.To(a.Addr + addr.Run(8*a.words)) }

// Contiguous reports whether the arena grows by brk alone. It is true of main_arena until a brk fails.
func (a *Arena) Contiguous() bool { return a.flags&noncontiguous == 0 }

// A Heap is all memory that malloc manages, as it was when it was opened.
type Heap struct {
	src     Source
	mem     *memory
	libs    []library
	foreign bool       // a library that was used is not among them: it is of another release
	arenas  []Arena    // those of each library follow each other
	params  parameters // of the program's library, but mmaps and mmapped are of all
	pieces  []*piece   // ascending
	tcaches []ThreadCache
	own     []addr.Range
	damage  []Damage
	more    int // damages left out
	links   links
	sums    []Sums   // by arena, then those of mmapped chunks
	largest []uint64 // free chunk of each
	chunks  int
	blocks  int
	buf     []byte
}

// Open finds the arenas and walks their heaps. If no arena is found, the error is ErrNotUsed. What
// is damaged is left out and told by Damage. It reads all of the heap, and of other memory no more than
// some seconds take. If ctx ends before, the error is its cause.
func Open(ctx context.Context, src Source) (*Heap, error) { return open(ctx, src, mostSteps) }

// open gives up each search after most steps.
func open(ctx context.Context, src Source, most uint64) (*Heap, error) {
	h := &Heap{src: src, mem: newMemory(ctx, src, most), buf: make([]byte, mostAhead)}
	h.findLibraries()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if len(h.libs) == 0 {
		return nil, ErrNotUsed
	}
	h.walk()
	h.sortPieces()
	h.pieces = append(h.pieces, h.mmapped()...)
	h.sortPieces()
	for i := range h.libs {
		h.findThreads(&h.libs[i])
	}
	h.judgeLinks()
	for i := range h.libs {
		h.listTCaches(h.libs[i].tcaches(h))
	}
	for i := range h.arenas {
		h.listFast(&h.arenas[i])
		h.listBins(&h.arenas[i])
		h.arenas[i].frees, h.arenas[i].state = nil, nil
	}
	h.count()
	h.owned()
	h.buf = nil
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	h.mem.Outlive()
	return h, nil
}

// walk goes through all heaps of all arenas.
func (h *Heap) walk() {
	w := walker{mem: h.mem, heap: h, buf: h.buf, bound: h.mem.search()}
	for i := range h.arenas {
		a := &h.arenas[i]
		if a.Top == 0 || a.Main {
			continue
		}
		heaps, size, bad := h.mem.heaps(a)
		if bad != nil {
			h.report(*bad)
		}
		a.Heaps = heaps
		// The first heap has the malloc_state behind its heap_info, the others begin with chunks.
		info := (a.Addr%size + granule - 1) &^ (granule - 1)
		for _, r := range heaps {
			start := r.Start + info
			if r.Contains(a.Addr) {
				start = (a.Struct().End+header+granule-1)&^(granule-1) - header
			}
			w.region(region{Range: start.To(r.End), arena: a, last: r.Contains(a.Top)})
		}
	}
	var mapped []*Arena
	for i := range h.arenas {
		if a := &h.arenas[i]; a.Main && a.Top != 0 && !w.main(a) {
			mapped = append(mapped, a)
		}
	}
	if len(mapped) > 0 {
		w.mainMappings(mapped)
	}
	h.pieces = w.pieces
}

// main walks what a main arena got by brk, from sbrk_base on, and reports whether that is all it has. If the first brk
// failed, or the library is not the program's, sbrk_base is in a mapping.
func (w *walker) main(a *Arena) (whole bool) {
	h := w.heap
	start := (h.libs[a.Library].params.sbrkBase + granule - 1) &^ (granule - 1)
	if start == 0 && a.Library == 0 {
		for _, x := range h.src.Mappings { // mp_ was not found
			if x.Path == "[heap]" {
				start = x.Start
				break
			}
		}
	}
	i, ok := h.mem.Mapping(start)
	if start == 0 || !ok || !a.Contiguous() && h.mem.Mappings[i].Path != "[heap]" && start%pageSize == 0 {
		return false
	}
	brk := start.To(h.mem.contiguous(start).End)
	last := brk.Contains(a.Top)
	a.Heaps = append(a.Heaps, brk)
	w.region(region{Range: brk, arena: a, last: last})
	return last && a.Contiguous()
}

// contiguous is the memory around an address that can be written without a gap in one kind of mapping. The program may have protected
// pages of its blocks in [heap].
func (m *memory) contiguous(at addr.Run) addr.Range {
	i, ok := m.Mapping(at)
	if !ok || at == 0 {
		return addr.Range{}
	}
	all := m.Mappings
	r := all[i].Range
	for k := i + 1; k < len(all) && all[k].Start == r.End && (all[k].Writable || all[k].Path == "[heap]") && all[k].Path == all[i].Path && !all[k].Shared; k++ {
		r.End = all[k].End
	}
	return r
}

// judgeLinks sees how single links are kept, by the first chunk of each list.
func (h *Heap) judgeLinks() {
	l := &h.links
	for i := range h.arenas {
		for k := range h.mem.layout.fastbins {
			if p := addr.Run(h.arenas[i].state[stateFastbins/8+k]); p != 0 && h.isChunk(p) {
				l.observe(h, h.mem.Word(p+header), p+header)
			}
		}
	}
	for _, t := range h.tcaches {
		_, heads := h.mem.layout.read(h.mem, t.Addr)
		for _, p := range heads {
			if p != 0 && h.isChunk(p) {
				l.observe(h, h.mem.Word(p), p)
			}
		}
	}
}

// sortPieces orders the pieces, and drops what is empty or overlaps another.
func (h *Heap) sortPieces() {
	slices.SortStableFunc(h.pieces, func(a, b *piece) int { return cmp.Compare(a.Start, b.Start) })
	kept := h.pieces[:0]
	for _, p := range h.pieces {
		if p.chunks.Len() == 0 || len(kept) > 0 && p.Start < kept[len(kept)-1].End {
			continue
		}
		kept = append(kept, p)
	}
	clear(h.pieces[len(kept):])
	h.pieces = kept
}

// owned collects what the allocator has outside of the spans.
func (h *Heap) owned() {
	for i := range h.arenas {
		a := &h.arenas[i]
		h.own = append(h.own, a.Struct())
		if a.Main {
			continue
		}
		for _, r := range a.Heaps {
			end := r.Start + 0x20
			if r.Contains(a.Addr) {
				end = a.Addr
			}
			h.own = append(h.own, r.Start.To(end))
		}
	}
	for i := range h.libs {
		if p := &h.libs[i].params; p.at != 0 {
			h.own = append(h.own, p.start.To(p.at+8))
		}
	}
	slices.SortFunc(h.own, func(a, b addr.Range) int { return cmp.Compare(a.Start, b.Start) })
}

// locate finds the chunk that an address is in.
func (h *Heap) locate(a addr.Run) (p *piece, i int, ok bool) {
	n, ok := slices.BinarySearchFunc(h.pieces, a, func(p *piece, a addr.Run) int { return addr.Compare(p.Start, p.End, a) })
	if !ok {
		return nil, 0, false
	}
	p = h.pieces[n]
	off := uint32((a - p.Start) / granule)
	i = sort.Search(p.chunks.Len(), func(i int) bool { return *p.chunks.At(i) > off }) - 1
	return p, i, i >= 0
}

// Arenas are all of them: of each library, the program's first, main_arena and then the others in the order of their list.
func (h *Heap) Arenas() []Arena { return h.arenas }

// Chunks are all chunks, ascending by address.
func (h *Heap) Chunks() iter.Seq[Chunk] {
	return func(yield func(Chunk) bool) {
		for _, p := range h.pieces {
			for i := range p.chunks.Len() {
				if !yield(p.chunk(i)) {
					return
				}
			}
		}
	}
}

// Blocks are the chunks that the program holds, ascending by address.
func (h *Heap) Blocks() iter.Seq[Block] {
	return func(yield func(Block) bool) {
		for _, p := range h.pieces {
			for i := range p.states.Len() {
				if !p.states.At(i).Live() {
					continue
				}
				if c := p.chunk(i); !yield(Block{c.Addr, c.Size}) {
					return
				}
			}
		}
	}
}

// Len is how many chunks there are, blocks how many the program holds.
func (h *Heap) Len() (chunks, blocks int) { return h.chunks, h.blocks }

// Find is the chunk that an address is in, its header included.
func (h *Heap) Find(a addr.Run) (Chunk, bool) {
	p, i, ok := h.locate(a)
	if !ok {
		return Chunk{}, false
	}
	return p.chunk(i), true
}

// Spans are the memory that chunks are in, ascending. Memory that the program got by brk(2) itself, in
// the middle of the main arena, is not in them.
func (h *Heap) Spans() []Span {
	spans := make([]Span, 0, len(h.pieces))
	for _, p := range h.pieces {
		spans = append(spans, Span{(p.Start - addr.Run(p.lead)).To(p.End), p.arena})
	}
	return spans
}

// Own is the allocator's own data outside of the spans, ascending: main_arena and mp_ in
// libc's data, heap_info and malloc_state at the starts of heaps, and the pointers to tcaches in TLS. With the spans they are
// what a search for roots must leave out.
func (h *Heap) Own() []addr.Range { return h.own }

// OtherRelease reports whether a copy of the C library was left out, as it is of another release than the program's own.
func (h *Heap) OtherRelease() bool { return h.foreign }

// Damage is where the heap does not hold together, in the order found.
func (h *Heap) Damage() []Damage { return h.damage }

// MoreDamage is how many places there are that Damage leaves out.
func (h *Heap) MoreDamage() int { return h.more }

// TCaches are the caches of the threads.
func (h *Heap) TCaches() []ThreadCache { return h.tcaches }

// Bins are the lists of an arena that are not empty: fastbins, then bins.
func (h *Heap) Bins(arena int) []Bin {
	if arena < 0 || arena >= len(h.arenas) {
		return nil
	}
	return h.arenas[arena].bins
}
