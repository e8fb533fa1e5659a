package heaps

import (
	"cmp"
	"context"
	"slices"

	"hdb/capture"
	"hdb/heap"
	"hdb/heap/glibc"
	"hdb/internal/addr"
	"hdb/memory"
	"hdb/names"
	"hdb/recording"
	"hdb/session/target"
)

// Mallocs asks what the allocators of C have: their own data, as memory holds it.
type Mallocs struct {
	target   *target.Target
	heap     *Heap
	recorded history
	queries  questions
}

// NewMallocs asks the allocators of the process that a heap is of.
func NewMallocs(h *Heap) *Mallocs { return &Mallocs{h.target, h, h.recorded, h.queries} }

// AllocatorAnswer is what the C library's malloc has.
type AllocatorAnswer struct {
	*glibc.Heap
	Threads   map[int]int // hdb's numbers by TID
	Other     string      // an allocator that the program has in addition, "" none
	Recorded  memory.Fit  // blocks that the recording knows
	Recording bool        // there is one
	Resident  uint64      // bytes of its memory that are in memory or in swap
	Known     bool        // Resident is known
	Hints     []AllocatorHint
	Damage    []HeapDamage
}

// A HintKind is what could be done about memory that malloc keeps.
type HintKind uint8

const (
	HintTrim    HintKind = iota // malloc_trim(3) gives Bytes back
	HintArenas                  // N arenas other than the main one keep Bytes at their ends, which malloc_trim(3) leaves
	HintPools                   // Bytes of freed memory are in pages that live and cached blocks keep
	HintMmapped                 // Bytes in N large free chunks of the arenas, as the threshold has grown to Threshold
)

// An AllocatorHint is given where the numbers say so.
type AllocatorHint struct {
	Kind      HintKind
	Bytes     uint64
	N         int
	Threshold uint64
}

// HeapDamage is a place where the heap is damaged, with the chunks around it.
type HeapDamage struct {
	glibc.Damage
	Before, At *HeapNeighbour // the chunk in front of the damaged one, and that one; nil if unknown
}

// A HeapNeighbour is a chunk with who made its block, if that is recorded.
type HeapNeighbour struct {
	memory.Neighbour
	Event  *recording.Event // that made it, nil: none that is recorded
	Frames []names.Frame    // of the allocation
	Owner  int              // index in Frames that the block belongs to
}

const (
	leastHint    = 1 << 20   // bytes that a hint is worth giving for
	manyArenas   = 4         // from which number on their number is worth a hint
	leastArenas  = 16 << 20  // bytes that they must keep
	usualMmapped = 128 << 10 // DEFAULT_MMAP_THRESHOLD_MIN
)

// Allocator is what malloc has, summed up. The error names another allocator that is in its place.
func (h *Mallocs) Allocator() (*AllocatorAnswer, error) {
	m, err := h.heap.Image()
	if err != nil {
		return nil, err
	}
	g, err := m.Heap()
	if err != nil {
		if _, none := m.Jemalloc(); none == nil {
			return nil, errJemalloc
		}
		return nil, m.Native()
	}
	a := &AllocatorAnswer{Heap: g, Threads: map[int]int{}, Other: m.Allocator()}
	for _, t := range h.target.Image.Threads() {
		a.Threads[t.TID] = t.Num
	}
	_, err = h.queries.BlockEvents()
	if a.Recording = err == nil; a.Recording {
		if err := fits(m, func(b *memory.Block, usable uint64) { a.Recorded.Add(b.Size, usable) }); err != nil {
			return nil, err
		}
	}
	a.Resident, a.Known = g.Resident()
	a.hints()
	for _, d := range slices.Concat(g.Damage(), h.overlapping(m, g)) {
		a.Damage = append(a.Damage, h.damaged(m, d))
	}
	return a, nil
}

// fits is Fits of the Image for the blocks of glibc's malloc, or for those of jemalloc where there is no other.
func fits(m *memory.Image, visit func(b *memory.Block, usable uint64)) error {
	g, err := m.Heap()
	if _, none := m.Jemalloc(); err != nil || none != nil {
		return m.Fits(visit)
	}
	return m.Fits(func(b *memory.Block, usable uint64) {
		if _, ok := g.Find(addr.Run(b.Addr)); ok {
			visit(b, usable)
		}
	})
}

// overlapping are chunks whose size was overwritten by one that is possible, so that they reach
// over a block that the recording knows. A recording with gaps may have missed a free instead.
func (h *Mallocs) overlapping(m *memory.Image, g *glibc.Heap) (all []glibc.Damage) {
	if len(h.recorded.Gaps()) > 0 {
		return nil
	}
	for _, x := range m.Hidden() {
		head, _, ok := g.Header(x.Chunk.Addr)
		if !ok {
			continue
		}
		all = append(all, glibc.Damage{
			Arena: head.Arena, Chunk: head.Chunk, Field: "size", Kind: glibc.Overlap, Value: head.Size,
			Args: [3]uint64{x.Within.Addr - uint64(x.Chunk.Addr), x.Within.Seq, x.Within.Addr},
		})
	}
	return all
}

// hints finds what the numbers say.
func (a *AllocatorAnswer) hints() {
	if a.Known {
		others := 0
		for _, x := range a.Arenas() {
			if x.Library == 0 && !x.Main {
				others++
			}
		}
		a.trimHints(others, a.Trim())
	}
	set := a.Settings()
	if !set.Known || set.MmapThreshold <= usualMmapped {
		return
	}
	var large, all uint64
	n := 0
	for c := range a.Chunks() {
		if c.State == glibc.Free {
			all += c.Size
			if c.Size >= usualMmapped {
				large += c.Size
				n++
			}
		}
	}
	if large >= leastArenas && 2*large >= all {
		a.Hints = append(a.Hints, AllocatorHint{Kind: HintMmapped, Bytes: large, N: n, Threshold: set.MmapThreshold})
	}
}

// trimHints are those about freed memory that is still the process's, others being the arenas of the program's C library other than the main
// one. Fewer arenas have fewer ends, and do nothing about what is between live blocks.
func (a *AllocatorAnswer) trimHints(others int, t glibc.Trim) {
	if n := t.Returned; n >= leastHint && n*10 >= a.Resident {
		a.Hints = append(a.Hints, AllocatorHint{Kind: HintTrim, Bytes: n})
	}
	if n := t.Tops; others >= manyArenas && n >= leastArenas && n*4 >= a.Resident {
		a.Hints = append(a.Hints, AllocatorHint{Kind: HintArenas, Bytes: n, N: others})
	}
	if n := t.Pinned; n >= leastArenas && n*2 >= a.Resident {
		a.Hints = append(a.Hints, AllocatorHint{Kind: HintPools, Bytes: n})
	}
}

// damaged adds what is known of the chunks around a damage.
func (h *Mallocs) damaged(m *memory.Image, d glibc.Damage) HeapDamage {
	out := HeapDamage{Damage: d}
	g, err := m.Heap()
	if err != nil {
		return out
	}
	if c, ok := g.Find(d.Chunk); ok && c.Addr == d.User() {
		out.At = h.neighbour(m, c)
		if before, _ := g.Around(d.Chunk); before != nil {
			out.Before = h.neighbour(m, *before)
			return out
		}
	} else if b := m.BlockAt(uint64(d.User())); b != nil {
		out.At = h.neighbour(m, glibc.Chunk{Addr: addr.Run(b.Addr), Size: b.Size})
	}
	if c, ok := g.Before(d.Chunk); ok && c.Addr+addr.Run(c.Size) == d.Chunk+8 {
		out.Before = h.neighbour(m, c)
	}
	return out
}

// neighbour is a chunk with who made it.
func (h *Mallocs) neighbour(m *memory.Image, c glibc.Chunk) *HeapNeighbour {
	n := &HeapNeighbour{Neighbour: m.Neighbour(c)}
	if n.Block == nil {
		return n
	}
	e, st, err := h.queries.EventStack(n.Block.Seq)
	if err != nil {
		return n
	}
	n.Event, n.Frames = e, st.Frames
	if len(st.Frames) > 0 {
		n.Owner = h.target.Attribution.Owner(st.Frames)
	}
	return n
}

// ChunkAnswer is one chunk of the heap.
type ChunkAnswer struct {
	glibc.Header
	HeapNeighbour
	Arena          *glibc.Arena // nil of a mmapped chunk
	Before, Behind *HeapNeighbour
	Damage         []glibc.Damage // of its fields
	Cache          int            // hdb's number of the thread whose tcache has it, 0 if none has
	Offset         int64          // of the address that was asked for in the user's memory; negative in the header
}

// A NoChunkError tells that an address is in no chunk of malloc.
type NoChunkError struct{ Addr addr.Run }

func (e *NoChunkError) Error() string {
	return e.Addr.String() + " is in no chunk of malloc's heaps: see info symbol and info proc mappings"
}

// Chunk is the chunk that an address is in, its header included.
func (h *Mallocs) Chunk(at uint64) (*ChunkAnswer, error) {
	m, err := h.heap.Image()
	if err != nil {
		return nil, err
	}
	g, err := m.Heap()
	if err != nil {
		if _, none := m.Jemalloc(); none == nil {
			return nil, &NoChunkError{addr.Run(at)}
		}
		return nil, m.Native()
	}
	x, c, ok := g.Header(addr.Run(at))
	if !ok {
		return nil, &NoChunkError{addr.Run(at)}
	}
	a := &ChunkAnswer{Header: x, HeapNeighbour: *h.neighbour(m, c), Offset: int64(at - uint64(c.Addr))}
	if x.Arena >= 0 {
		a.Arena = &g.Arenas()[x.Arena]
	}
	before, behind := g.Around(c.Addr)
	if before != nil {
		a.Before = h.neighbour(m, *before)
	}
	if behind != nil {
		a.Behind = h.neighbour(m, *behind)
	}
	for _, d := range slices.Concat(g.Damage(), h.overlapping(m, g)) {
		if d.Chunk == x.Chunk {
			a.Damage = append(a.Damage, d)
		}
	}
	if tid, ok := g.CachedBy(c.Addr); ok {
		a.Cache = h.target.ThreadNumber(tid)
	}
	return a, nil
}

// A SiteFit is how the blocks of one function fill their chunks.
type SiteFit struct {
	heap.Site
	memory.Fit
}

// SlackBySite adds up, by the functions that the blocks belong to, what they have got and not asked
// for, the most first.
func (h *Mallocs) SlackBySite(ctx context.Context) ([]SiteFit, error) {
	m, err := h.heap.Image()
	if err != nil {
		return nil, err
	}
	r, err := h.queries.BlockEvents()
	if err != nil {
		return nil, err
	}
	type sum struct {
		memory.Fit
		seq uint64 // an event of the stack
	}
	byStack := map[capture.StackID]*sum{}
	if err := fits(m, func(b *memory.Block, usable uint64) {
		s := byStack[b.Stack]
		if s == nil {
			s = &sum{seq: b.Seq}
			byStack[b.Stack] = s
		}
		s.Add(b.Size, usable)
	}); err != nil {
		return nil, err
	}
	bySite := map[heap.Site]*SiteFit{}
	for id, s := range byStack {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		site := heap.Site{Function: "(no stack)"}
		if id != 0 {
			site = r.Site(id, s.seq)
		}
		f := bySite[site]
		if f == nil {
			f = &SiteFit{Site: site}
			bySite[site] = f
		}
		f.Blocks, f.Requested, f.Usable = f.Blocks+s.Blocks, f.Requested+s.Requested, f.Usable+s.Usable
	}
	var rows []SiteFit
	for _, f := range bySite {
		rows = append(rows, *f)
	}
	slices.SortFunc(rows, func(a, b SiteFit) int {
		return cmp.Or(cmp.Compare(b.Slack(), a.Slack()), cmp.Compare(a.Site.Function, b.Site.Function), cmp.Compare(a.Site.Line, b.Site.Line), cmp.Compare(a.Site.Module, b.Site.Module))
	})
	return rows, nil
}
