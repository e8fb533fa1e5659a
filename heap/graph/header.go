package graph

import (
	"cmp"
	"slices"
	"unsafe"
)

// Families says which blocks are made alike, so that what is true of most pointers to them may be distinguished
// from chance.
type Families struct {
	Of    []uint32 // by block: its number in Kinds
	Kinds []Kind
}

// A Kind is blocks of the same families.
type Kind struct {
	Families []uint32 // that the blocks belong to, the most particular one first
	// Bare blocks are alike by their size alone. They are compared with those that no pointer to the start reaches.
	Bare bool
}

// What makes an offset the start of blocks for their users, and a block a pool.
const (
	leastAlike  = 4  // blocks of a family that are pointed to there
	leastShare  = 90 // percent of the family
	poolOffsets = 8  // that words point to in a pool
)

// A Header is what users of a family of blocks skip: all but a few of them are pointed to at the same offset.
type Header struct {
	Offset    uint64 `json:"offset"`
	Blocks    int    `json:"pointed_blocks"`      // of the family, to which a word points at Offset
	Of        int    `json:"alike_blocks"`        // that are held, or, of bare blocks, that no pointer to a start reaches
	Heads     int    `json:"behind_header_heads"` // that only such a word holds
	HeadBytes uint64 `json:"-"`
	Block     int    `json:"-"` // one of the heads
}

// Behind are the blocks that are held, though no pointer to the start leads to them, as what points behind their starts is no
// chance: their users have pointers behind a header (see Header), or cut a pool from them. By memcheck's words they are possibly lost.
type Behind struct {
	Sum              // with those that such blocks lead to
	Heads   Sum      // those to which such words point
	Pools   Sum      // among Heads: pointed to at many offsets
	Headers []Header // those with the most heads first
}

// An inner is a word that points behind the start of a block.
type inner struct{ block, offset uint32 }

// behindHeaders finds what is held behind headers. m.seen are the blocks that are held, strong those to whose start pointers lead.
func (m *marker) behindHeaders(strong bitset) error {
	possible := newBitset(m.Graph.blocks.Len())
	any := false
	for i := range possible {
		possible[i] = m.seen[i] &^ strong[i]
		any = any || possible[i] != 0
	}
	if !any || m.o.Families == nil {
		return nil
	}
	h := headers{marker: m, strong: strong, possible: possible, heads: newBitset(m.Graph.blocks.Len())}
	err := h.words()
	if err != nil || h.tooFewWords() {
		return err
	}
	if h.families, err = m.o.Families(); err != nil {
		return err
	}
	h.count()
	h.judge()
	return h.flood()
}

// headers is what is known while headers are looked for.
type headers struct {
	*marker
	strong, possible bitset
	families         *Families
	all              []inner       // words to held blocks at offsets at which one points to a possibly lost block, each once, ascending
	counts           map[inner]int // of them, by family and offset
	sizes            []int         // blocks of families
	places           places
	starts           []startOf // by place
	heads            bitset
}

// startOf tells the family for whose blocks a place is a start, if it is one.
type startOf struct {
	family uint32
	ok     bool
}

// places numbers the offsets in blocks of kinds.
type places struct {
	numbers map[inner]uint32 // by kind and offset
	list    []inner          // by number
	last    []struct {       // by kind: what was asked for last, which is what is asked for next mostly
		offset, number uint32
	}
}

// number is the number of a place, a new one if it has none.
func (p *places) number(kind, offset uint32) uint32 {
	last := &p.last[kind]
	if last.offset == offset { // never 0
		return last.number
	}
	n, ok := p.numbers[inner{kind, offset}]
	if !ok {
		n = uint32(len(p.list))
		p.numbers[inner{kind, offset}] = n
		p.list = append(p.list, inner{kind, offset})
	}
	last.offset, last.number = offset, n
	return n
}

// each calls do for the words in held memory that point behind the start of another held block. number is its index in
// interior, or rootEdges.
func (h *headers) each(do func(number int, root bool, to, offset uint32)) {
	for i := range h.rootEdges {
		if e := &h.rootEdges[i]; e.offset > 0 && e.offset < dropped {
			if to := e.to &^ weak; h.counted(to, e.offset) {
				do(i, true, to, uint32(e.offset))
			}
		}
	}
	for i := range h.interior.Len() {
		in := h.interior.At(i)
		if in.offset >= dropped || !h.seen.has(in.from) {
			continue
		}
		if to := h.Graph.edges.At(int(in.edge)).to &^ weak; to != in.from && h.counted(to, uint64(in.offset)) {
			do(i, false, to, in.offset)
		}
	}
}

// counted reports whether a block is held by such a word, which a collector has no say in.
func (h *headers) counted(to uint32, offset uint64) bool {
	return h.seen.has(to) && !h.nowhere(to, offset) && !h.o.manages(h.Graph.blocks.addr[to])
}

// words collects the words. What they need is taken from the bound before.
func (h *headers) words() error {
	wanted := map[uint32]bool{}
	last := uint32(0)
	h.each(func(_ int, _ bool, to, offset uint32) {
		if offset != last && h.possible.has(to) {
			wanted[offset] = true
			last = offset
		}
	})
	if len(wanted) == 0 {
		return nil
	}
	n := 0
	h.each(func(_ int, _ bool, _, offset uint32) {
		if offset == last || wanted[offset] {
			n, last = n+1, offset
		}
	})
	if err := h.scanner.take(int64(n) * int64(unsafe.Sizeof(inner{}))); err != nil {
		return err
	}
	h.all = make([]inner, 0, n)
	h.each(func(_ int, _ bool, to, offset uint32) {
		if offset == last || wanted[offset] {
			h.all = append(h.all, inner{to, offset})
			last = offset
		}
	})
	compare := func(a, b inner) int {
		return cmp.Compare(uint64(a.block)<<32|uint64(a.offset), uint64(b.block)<<32|uint64(b.offset))
	}
	if !slices.IsSortedFunc(h.all, compare) { // as tables often are
		slices.SortFunc(h.all, compare)
	}
	h.all = slices.Compact(h.all)
	return nil
}

// tooFewWords reports whether there are too few words for any header or pool.
func (h *headers) tooFewWords() bool {
	at := map[uint32]int{}
	for low, i := 0, 0; i < len(h.all); i++ {
		if h.all[low].block != h.all[i].block {
			low = i
		}
		if at[h.all[i].offset]++; at[h.all[i].offset] >= leastAlike || i-low+1 >= poolOffsets {
			return false
		}
	}
	return true
}

// count counts blocks and words by families.
func (h *headers) count() {
	h.countBlocks()
	of := h.countWords()
	h.counts = map[inner]int{}
	for place, at := range h.places.list {
		for _, f := range h.families.Kinds[at.block].Families {
			h.counts[inner{f, at.offset}] += of[place]
		}
	}
	h.starts = make([]startOf, len(h.places.list))
	for place, at := range h.places.list {
		for _, f := range h.families.Kinds[at.block].Families {
			if n := h.counts[inner{f, at.offset}]; n >= leastAlike && 100*n >= leastShare*h.sizes[f] {
				h.starts[place] = startOf{f, true}
				break
			}
		}
	}
}

// countBlocks counts the blocks of families.
func (h *headers) countBlocks() {
	byKind := make([]int, len(h.families.Kinds))
	for b := range h.seen.all() {
		if k := h.families.Of[b]; !h.families.Kinds[k].Bare || h.possible.has(b) {
			byKind[k]++
		}
	}
	for k, n := range byKind {
		for _, f := range h.families.Kinds[k].Families {
			for int(f) >= len(h.sizes) {
				h.sizes = append(h.sizes, 0)
			}
			h.sizes[f] += n
		}
	}
}

// countWords counts words by place, and finds pools.
func (h *headers) countWords() (of []int) {
	h.places.numbers = map[inner]uint32{}
	h.places.last = make([]struct{ offset, number uint32 }, len(h.families.Kinds))
	h.Graph.pools = map[uint32]bool{}
	for low := 0; low < len(h.all); {
		b := h.all[low].block
		high := low
		for ; high < len(h.all) && h.all[high].block == b; high++ {
			k := h.families.Of[b]
			place := h.places.number(k, h.all[high].offset)
			if int(place) == len(of) {
				of = append(of, 0)
			}
			if !h.families.Kinds[k].Bare || h.possible.has(b) {
				of[place]++
			}
		}
		if high-low >= poolOffsets && h.possible.has(b) {
			h.pools[b] = true
		}
		low = high
	}
	return of
}

// start is the family for whose blocks an offset is a start.
func (h *headers) start(block, offset uint32) (family uint32, ok bool) {
	place := h.places.number(h.families.Of[block], offset)
	if int(place) >= len(h.starts) { // nothing points there in a block that is possibly lost
		return 0, false
	}
	return h.starts[place].family, h.starts[place].ok
}

// judge notes the blocks that words behind their starts hold.
func (h *headers) judge() {
	for _, w := range h.all {
		if _, ok := h.start(w.block, w.offset); h.possible.has(w.block) && (ok || h.pools[w.block]) {
			h.heads.set(w.block)
		}
	}
}

// flood marks what can be reached if those words count as pointers to the start, and adds it up. The edges stay as they are.
func (h *headers) flood() error {
	held := h.seen
	h.seen = slices.Clone(h.strong)
	var strengthened []uint32
	h.queue = h.queue[:0]
	// Which edges count is asked with what is held; that they lead on only from what is reached, the flood sees to.
	reached := h.seen
	h.seen = held
	h.each(func(number int, root bool, to, offset uint32) {
		if !h.heads.has(to) {
			return
		}
		if _, ok := h.start(to, offset); !ok && !h.pools[to] {
			return
		}
		if root {
			h.queue = append(h.queue, to)
			return
		}
		in := h.interior.At(number)
		if e := h.Graph.edges.At(int(in.edge)); e.to&weak != 0 {
			e.to &^= weak
			strengthened = append(strengthened, in.edge)
		}
		if reached.has(in.from) {
			h.queue = append(h.queue, to)
		}
	})
	h.seen = reached
	direct := h.queue
	h.queue = nil
	for _, b := range direct {
		h.push(b)
	}
	h.marker.flood(false)
	for _, e := range strengthened {
		h.Graph.edges.At(int(e)).to |= weak
	}
	h.behind, h.Graph.heads = newBitset(h.Graph.blocks.Len()), h.heads
	for i := range h.seen {
		h.behind[i] = h.seen[i] &^ h.strong[i]
	}
	h.seen = held
	h.sum()
	return h.ctx.Err()
}

// sum adds up what was found.
func (h *headers) sum() {
	out := &h.Graph.behindSums
	for b := range h.behind.all() {
		out.add(h.Graph.blocks.At(int(b)).Size)
		if h.heads.has(b) {
			out.Heads.add(h.Graph.blocks.At(int(b)).Size)
		}
		if h.pools[b] {
			out.Pools.add(h.Graph.blocks.At(int(b)).Size)
		}
	}
	at := map[inner]int{} // in out.Headers, by family and offset
	last := ^uint32(0)    // a block counts once
	for _, w := range h.all {
		f, ok := h.start(w.block, w.offset)
		if !ok || w.block == last || !h.behind.has(w.block) {
			continue
		}
		last = w.block
		key := inner{f, w.offset}
		n, ok := at[key]
		if !ok {
			n = len(out.Headers)
			at[key] = n
			out.Headers = append(out.Headers, Header{Offset: uint64(w.offset), Blocks: h.counts[key], Of: h.sizes[f], Block: int(w.block)})
		}
		out.Headers[n].Heads++
		out.Headers[n].HeadBytes += h.Graph.blocks.At(int(w.block)).Size
	}
	slices.SortStableFunc(out.Headers, func(a, b Header) int { return b.Heads - a.Heads })
}

func (s *Sum) add(bytes uint64) {
	s.Blocks++
	s.Bytes += bytes
}

// Behind reports whether a block, which is Possible, is held behind a header or as a pool.
func (g *Graph) Behind(block int) bool { return g.behind != nil && g.behind.has(uint32(block)) }

// Head reports whether it is one of Behind's that a word behind a header points to.
func (g *Graph) Head(block int) bool { return g.Behind(block) && g.heads.has(uint32(block)) }

// Pool reports whether it is one of Behind's to which words point at many offsets.
func (g *Graph) Pool(block int) bool { return g.Behind(block) && g.pools[uint32(block)] }

// BehindSums adds up such blocks.
func (g *Graph) BehindSums() Behind { return g.behindSums }
