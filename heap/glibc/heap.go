package glibc

import (
	"iter"

	"hdb/internal/addr"
)

// A State is what a chunk is to the allocator.
type State uint8

const (
	Used     State = iota // given to the program, cut from an arena
	Mmapped               // given to the program, a mapping of its own
	TCache                // freed, kept by the cache of a thread
	FastBin               // freed, in a fastbin of its arena
	Free                  // freed and merged with its neighbours, in a bin of its arena
	Top                   // the end of an arena
	Internal              // the allocator's own: the struct of a tcache
)

var stateNames = [...]string{Used: "used", Mmapped: "mmapped", TCache: "tcache", FastBin: "fastbin", Free: "free", Top: "top", Internal: "internal"}

func (s State) String() string {
	if int(s) < len(stateNames) {
		return stateNames[s]
	}
	return "unknown"
}

// Live tells whether the program holds the chunk.
func (s State) Live() bool { return s == Used || s == Mmapped }

// Cached tells whether the chunk was freed but is kept as it is for the next malloc of its size.
func (s State) Cached() bool { return s == TCache || s == FastBin }

// A Chunk is one piece of the heap.
type Chunk struct {
	Addr  addr.Run // of the user's memory: what malloc returned, 16 bytes behind the chunk's header
	Size  uint64   // usable bytes, as malloc_usable_size(3) would say
	State State
}

// End is where the usable memory ends.
func (c Chunk) End() addr.Run { return c.Addr + addr.Run(c.Size) }

// A Block is a chunk that the program holds.
type Block struct {
	Addr addr.Run
	Size uint64 // usable bytes; the program may have asked for fewer
}

// A Span is memory that an arena cuts chunks from, or that a mmapped chunk fills. Whatever in it
// is no block is the allocator's: no root of the program's data lies there.
type Span struct {
	Range
	Arena int // index in Arenas; -1 of a mmapped chunk
}

// An Arena is a malloc_state.
type Arena struct {
	Index     int      // 0 is main_arena
	Addr      addr.Run // of its malloc_state
	Main      bool
	Locked    bool // its mutex is held: a thread is inside malloc or free
	SystemMem uint64
	MaxSystem uint64 // the most that SystemMem was
	Attached  uint64 // threads that allocate from it
	Heaps     []Range
	Top       addr.Run // its top chunk's header; 0 if it never had one
}

// A Heap is all memory that malloc manages, as it was when it was opened.
type Heap struct {
	arenas []Arena
	spans  []Span
	own    []Range
	damage []Damage
}

// A Damage is a place where the heap does not hold together.
type Damage struct {
	Chunk    addr.Run // header of the chunk, or 0
	Field    string   // of struct malloc_chunk, malloc_state or tcache_perthread_struct
	Expected string
	Found    string
}

// Open finds the arenas and walks their heaps. If no arena is found, the error is ErrNotUsed. What
// is damaged is left out and told by Damage.
func Open(src Source) (*Heap, error) { return nil, ErrNotUsed }

// Arenas are all of them, main_arena first, then in the order of their list.
func (h *Heap) Arenas() []Arena { return h.arenas }

// Chunks are all chunks, ascending by address.
func (h *Heap) Chunks() iter.Seq[Chunk] { return func(func(Chunk) bool) {} }

// Blocks are the chunks that the program holds, ascending by address.
func (h *Heap) Blocks() iter.Seq[Block] { return func(func(Block) bool) {} }

// Len is how many chunks there are, blocks how many the program holds.
func (h *Heap) Len() (chunks, blocks int) { return 0, 0 }

// Find is the chunk that an address lies in, its header included.
func (h *Heap) Find(a addr.Run) (Chunk, bool) { return Chunk{}, false }

// Spans are the memory that chunks lie in, ascending. Memory that the program got by brk(2) itself, in
// the middle of the main arena, is not in them.
func (h *Heap) Spans() []Span { return h.spans }

// Own is the allocator's own data outside of the spans, ascending: main_arena and mp_ in
// libc's data, heap_info and malloc_state at the starts of heaps, and the pointers to tcaches in TLS. With the spans they are
// what a search for roots must leave out.
func (h *Heap) Own() []Range { return h.own }

// Damage is where the heap does not hold together, in the order found.
func (h *Heap) Damage() []Damage { return h.damage }
