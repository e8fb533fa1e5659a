package memory

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"slices"

	"hdb/heap/golang"
	"hdb/heap/graph"
	"hdb/heap/regions"
	"hdb/internal/addr"
)

// A RootKind says what kind of root it is.
type RootKind uint8

const (
	InRegion    RootKind = iota // memory of a region
	InRegister                  // a register of a thread
	OfPool                      // what a pool has not handed out of its chunk
	OfThread                    // a block that the C library or a thread has for itself: its thread vector, its stack
	OfGoroutine                 // the stack of a goroutine
	OfGo                        // what a Go runtime has of a block: a finalizer, a cleanup, the handle of a weak pointer
)

// A Root is where a search for reachable blocks begins.
type Root struct {
	Kind      RootKind
	Region    *regions.Region // of InRegion
	Thread    int             // hdb's number, of InRegister and OfThread
	Goroutine uint64          // of OfGoroutine, and of InRegister if the thread runs its code
	Name      string          // of the register, or of what the thread or the Go runtime has
	Of        uint64          // of OfGo: the block that has it
	stack     *golang.Root    // of OfGoroutine
}

// roots collects the roots of an image.
type roots struct {
	m     *Image
	mem   *graph.Touched
	kinds []Root // by label
	graph.Roots
	without []graph.Range // ascending: blocks, and what is the allocator's own
}

// build makes the graph.
func (m *Image) build(ctx context.Context) (*Graph, error) {
	b := m.merged()
	r := &roots{m: m, mem: m.Reader()}
	r.exclude(b)
	if err := r.freed(); err != nil {
		return nil, err
	}
	r.regions()
	r.pools(b)
	for i := range m.src.Threads {
		r.thread(b, &m.src.Threads[i])
	}
	r.ended(b)
	options := graph.Options{Populated: m.populated(), Families: m.families, Fits: m.fits, Inner: m.inner()}
	if h, _ := m.Go(); h != nil {
		r.golang(h)
		c := &collector{m: m, h: h, r: r, native: m.native()}
		if options.Collector = c; !c.native {
			options.Populated = withoutNoScan(h, options.Populated)
		}
	}
	for i := range m.Space().Regions {
		switch g := &m.Space().Regions[i]; g.Kind {
		case regions.Code:
			options.Code = append(options.Code, rangeOf(g.Start.To(g.End)))
			options.Files = append(options.Files, rangeOf(g.Start.To(g.End)))
		case regions.ReadOnly, regions.Data:
			options.Files = append(options.Files, rangeOf(g.Start.To(g.End)))
		}
	}
	g, err := graph.Build(ctx, m.src.Memory, &b.all, r.Roots, options)
	if err != nil {
		return nil, fmt.Errorf("graph of the heap: %w", err)
	}
	return &Graph{Graph: g, m: m, kinds: r.kinds, roots: r.Roots}, nil
}

// Reader reads memory that the process has touched.
func (m *Image) Reader() *graph.Touched {
	return &graph.Touched{Memory: m.src.Memory, Populated: m.populated()}
}

// populated is graph.Options.Populated.
func (m *Image) populated() func(start, end uint64) ([]graph.Range, error) {
	if m.src.Space.Pages == nil {
		return nil
	}
	return func(start, end uint64) (parts []graph.Range, err error) {
		maps := m.src.Space.Mappings
		i, _ := slices.BinarySearchFunc(maps, addr.Run(start), func(m regions.Mapping, at addr.Run) int {
			if m.End <= at {
				return -1
			}
			return 1
		})
		for ; i < len(maps) && uint64(maps[i].Start) < end && err == nil; i++ { // not the gaps: they may be terabytes
			low, high := max(start, uint64(maps[i].Start)), min(end, uint64(maps[i].End))
			err = m.src.Space.Pages(addr.Run(low), addr.Run(high), func(p regions.PageRun) {
				parts = append(parts, graph.Range{Start: max(low, uint64(p.Start)), End: min(high, uint64(p.End))})
			})
		}
		return parts, err
	}
}

// exclude notes what is not a root though it is in one: the blocks themselves, the allocator's own
// data, its spans, and what threads do not use of their stacks.
func (r *roots) exclude(b *blocks) {
	var allocators []graph.Range
	if h, err := r.m.Heap(); err == nil {
		for _, own := range h.Own() {
			allocators = append(allocators, rangeOf(own))
		}
		for _, s := range h.Spans() {
			allocators = append(allocators, rangeOf(s.Range))
		}
	}
	if h, err := r.m.Jemalloc(); err == nil {
		for _, own := range h.Own() {
			allocators = append(allocators, rangeOf(own))
		}
		for _, s := range h.Spans() {
			allocators = append(allocators, rangeOf(s.Range))
		}
	}
	for _, a := range r.m.arenas {
		allocators = append(allocators, rangeOf(a))
	}
	allocators = union(allocators)
	r.without = slices.Clone(allocators)
	of := 0 // the first that ends behind the block
	for i := range b.all.Len() {
		x := b.all.At(i)
		for of < len(allocators) && allocators[of].End <= x.Addr {
			of++
		}
		if of < len(allocators) && allocators[of].Start <= x.Addr && x.Addr+x.Size <= allocators[of].End {
			continue // as most do
		}
		minus(graph.Range{Start: x.Addr, End: x.Addr + x.Size}, allocators[of:], func(part graph.Range) { r.without = append(r.without, part) })
	}
	for i := range r.m.src.Threads {
		if u := r.m.src.Threads[i].Unused; !u.Empty() {
			r.without = append(r.without, rangeOf(u))
		}
	}
	r.without = union(r.without)
}

// freed excludes, where an allocator is not walked, what it has to itself, and memory of it that is known to be no block: what
// the recording has seen freed or, if all blocks are recorded, all but these. The rest may be blocks from before the recording.
func (r *roots) freed() error {
	o := r.m.owner()
	if r.m.src.Past == nil || o.name == "" {
		return nil
	}
	past, err := r.m.src.Past()
	if err != nil {
		return err
	}
	var mine []graph.Range
	for _, x := range o.mappings {
		mine = append(mine, rangeOf(x.Start.To(x.End)))
	}
	for i := range r.m.Space().Regions {
		if g := &r.m.Space().Regions[i]; g.Kind == regions.Heap {
			mine = append(mine, rangeOf(g.Start.To(g.End)))
		}
	}
	var pools []graph.Range
	for _, x := range past.Pools {
		pools = append(pools, rangeOf(x))
	}
	mine, pools = union(mine), union(pools)
	free := func(x graph.Range) {
		minus(x, pools, func(part graph.Range) { r.without = append(r.without, part) })
	}
	for _, x := range past.Had {
		overlaps(rangeOf(x), mine, free)
	}
	for i := 0; past.All && i < len(mine); i++ {
		free(mine[i])
	}
	for _, own := range o.own {
		r.without = append(r.without, rangeOf(own.Start.To(own.End)))
	}
	r.without = union(r.without)
	return nil
}

func rangeOf(r addr.Range) graph.Range {
	return graph.Range{Start: uint64(r.Start), End: uint64(r.End)}
}

// appendRange adds a range behind all others, of which the last grows if they touch.
func appendRange(all []graph.Range, r graph.Range) []graph.Range {
	if n := len(all); n > 0 && r.Start <= all[n-1].End {
		all[n-1].End = max(all[n-1].End, r.End)
		return all
	}
	return append(all, r)
}

// union sorts ranges and joins those that touch.
func union(all []graph.Range) []graph.Range {
	slices.SortFunc(all, func(a, b graph.Range) int { return cmp.Compare(a.Start, b.Start) })
	out := all[:0]
	for _, r := range all {
		out = appendRange(out, r)
	}
	return out
}

// overlaps yields the parts of a range that are in others, which ascend.
func overlaps(r graph.Range, others []graph.Range, yield func(graph.Range)) {
	at := r.Start
	minus(r, others, func(gap graph.Range) {
		if at < gap.Start {
			yield(graph.Range{Start: at, End: gap.Start})
		}
		at = gap.End
	})
	if at < r.End {
		yield(graph.Range{Start: at, End: r.End})
	}
}

// minus yields the parts of a range that are in none of the others, which ascend.
func minus(r graph.Range, others []graph.Range, yield func(graph.Range)) {
	i, _ := slices.BinarySearchFunc(others, r.Start, func(o graph.Range, at uint64) int {
		if o.End <= at {
			return -1
		}
		return 1
	})
	for ; i < len(others) && others[i].Start < r.End; i++ {
		if others[i].Start > r.Start {
			yield(graph.Range{Start: r.Start, End: others[i].Start})
		}
		r.Start = others[i].End
	}
	if r.Start < r.End {
		yield(r)
	}
}

// memory adds the parts of a range that are not excluded, by words.
func (r *roots) memory(of graph.Range, without []graph.Range, kind Root) {
	label := len(r.kinds)
	r.kinds = append(r.kinds, kind)
	minus(of, without, func(part graph.Range) {
		part.Start, part.End = (part.Start+7)&^7, part.End&^7
		if part.Start < part.End {
			r.Ranges = append(r.Ranges, graph.Root{Start: part.Start, End: part.End, Label: label})
		}
	})
}

// word adds a value that no memory of the process has at a place of its own.
func (r *roots) word(value uint64, kind Root) {
	hidden := (kind.Kind == InRegister || kind.Kind == OfThread) && kind.Goroutine == 0
	r.Words = append(r.Words, graph.Word{Value: value, Label: len(r.kinds), Hidden: hidden})
	r.kinds = append(r.kinds, kind)
}

func (r *roots) regions() {
	space, unwalked, paged := r.m.Space(), r.m.owner().name != "", r.m.populated() != nil
	for i := range space.Regions {
		g := &space.Regions[i]
		if g.Root() || paged && g.Protected() || g.Kind == regions.Heap && unwalked { // the part that is known is excluded
			r.memory(rangeOf(g.Start.To(g.End)), r.without, Root{Kind: InRegion, Region: g})
		}
	}
}

// pools adds the rest of chunks that blocks of pools are in.
func (r *roots) pools(b *blocks) {
	var inner []graph.Range
	for _, c := range union(slices.Clone(b.chunks)) {
		inner = inner[:0]
		i, _ := b.all.Find(c.Start)
		for i = max(i, 0); i < b.all.Len() && b.all.At(i).Addr < c.End; i++ {
			x := b.all.At(i)
			inner = appendRange(inner, graph.Range{Start: x.Addr, End: x.Addr + x.Size})
		}
		r.memory(c, inner, Root{Kind: OfPool})
	}
}

// thread adds what a thread holds outside the memory of its regions: its registers; the block that it
// runs in, if its stack is one, which swapcontext does; the tables of its thread-local storage, to
// which the C library points behind their beginnings.
func (r *roots) thread(b *blocks, t *Thread) {
	g := uint64(0)
	if h, _ := r.m.Go(); h != nil {
		g, _ = onGoroutine(h, uint64(t.SP))
	}
	for _, reg := range t.Registers {
		r.word(reg.Value, Root{Kind: InRegister, Thread: t.Number, Goroutine: g, Name: reg.Name})
	}
	if i, ok := b.all.Find(uint64(t.SP)); ok {
		r.word(b.all.At(i).Addr, Root{Kind: OfThread, Thread: t.Number, Name: "stack"})
	}
	if t.FS == 0 || r.m.inArenas(uint64(t.FS)) {
		return
	}
	for _, at := range r.vector(t.FS) {
		if i, ok := b.all.Find(at); ok {
			r.word(b.all.At(i).Addr, Root{Kind: OfThread, Thread: t.Number, Name: "thread-local storage"})
		}
	}
}

// ended adds the tables of thread-local storage of threads that have ended: the C library keeps
// them for the next thread. A struct pthread points to itself at 0 and 16.
func (r *roots) ended(b *blocks) {
	living := map[addr.Run]bool{}
	for i := range r.m.src.Threads {
		living[r.m.src.Threads[i].FS] = true
	}
	space := r.m.Space()
	for i := range space.Regions {
		g := &space.Regions[i]
		if g.TID != 0 || g.Kind != regions.StackEnded && g.Kind != regions.TLS {
			continue
		}
		low := g.Start
		if g.Size() > 2*regions.PageSize {
			low = g.End - 2*regions.PageSize
		}
		words := r.read(uint64(low), int(g.End-low))
		for k := range max(0, len(words)-2) {
			at := uint64(low) + 8*uint64(k)
			if words[k] != at || words[k+2] != at || living[addr.Run(at)] {
				continue
			}
			for _, to := range r.vector(addr.Run(at)) {
				if i, ok := b.all.Find(to); ok {
					r.word(b.all.At(i).Addr, Root{Kind: OfThread, Name: "thread-local storage of an ended thread"})
				}
			}
		}
	}
}

// maxModules bounds the entries of a thread vector.
const maxModules = 1 << 14

// vector is where the dynamic thread vector of a thread lies, and the blocks that it points to
// (glibc, sysdeps/x86_64/nptl/tls.h: fs:8 points to the second entry of an array of {pointer,
// to_free}, which its length precedes).
func (r *roots) vector(fs addr.Run) []uint64 {
	dtv := r.read(uint64(fs)+8, 8)
	if len(dtv) != 1 || dtv[0] < 16 {
		return nil
	}
	length := r.read(dtv[0]-16, 8)
	out := []uint64{dtv[0] - 16}
	if len(length) != 1 || length[0] == 0 || length[0] > maxModules {
		return out
	}
	for i, word := range r.read(dtv[0]+16, int(16*length[0])) {
		if i%2 == 0 && word+1 > 1 { // neither 0 nor TLS_DTV_UNALLOCATED
			out = append(out, word)
		}
	}
	return out
}

// read reads words as far as they can be read. A pointer may lead anywhere.
func (r *roots) read(at uint64, n int) []uint64 {
	b := make([]byte, n)
	n, _ = r.mem.ReadAt(b, int64(at)) // less is what is needed
	words := make([]uint64, n/8)
	for i := range words {
		words[i] = binary.LittleEndian.Uint64(b[8*i:])
	}
	return words
}
