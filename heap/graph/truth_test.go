package graph

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"testing"
)

// A segment is memory at an address.
type segment struct {
	at uint64
	b  []byte
}

// segments are memory with nothing between them, ascending.
type segments []segment

var errHole = errors.New("nothing there")

func (s segments) ReadAt(b []byte, at int64) (int, error) {
	n := 0
	for n < len(b) {
		here := uint64(at) + uint64(n)
		i := slices.IndexFunc(s, func(g segment) bool { return g.at <= here && here < g.at+uint64(len(g.b)) })
		if i < 0 {
			return n, errHole
		}
		n += copy(b[n:], s[i].b[here-s[i].at:])
	}
	return n, nil
}

func (s segments) word(at uint64) (uint64, bool) {
	var b [8]byte
	n, _ := s.ReadAt(b[:], int64(at))
	return binary.LittleEndian.Uint64(b[:]), n == 8
}

func (s segments) put(at, value uint64) {
	for _, g := range s {
		if at >= g.at && at+8 <= g.at+uint64(len(g.b)) {
			binary.LittleEndian.PutUint64(g.b[at-g.at:], value)
		}
	}
}

// A heap is a random one.
type testHeap struct {
	memory segments
	blocks []Block
	roots  Roots
	o      Options
}

// newTestHeap makes a heap with blocks of every kind: adjacent, unaligned, empty, sparse, and many
// in one granule; with words across the ends of blocks, and pointers behind them.
func newTestHeap(r *rand.Rand) *testHeap {
	h := &testHeap{}
	at := uint64(0x555555550000) + uint64(r.IntN(3))*4096
	align := []uint64{1, 8, 16, 16, 16}[r.IntN(5)]
	largest := []int{9, 40, 40, 200, 5000}[r.IntN(5)]
	low := at
	for range 1 + r.IntN(300) {
		size := uint64(r.IntN(largest))
		if r.IntN(4) == 0 {
			size = []uint64{0, 8, 8, 24, 32, 40}[r.IntN(6)]
		}
		h.blocks = append(h.blocks, Block{at, size})
		at += max(size, 1)
		switch r.IntN(40) {
		case 0: // a gap
			at += uint64(r.IntN(3 << 20))
		case 1:
			at += uint64(r.IntN(200 << 10))
		case 2: // a segment of its own
			h.memory = append(h.memory, segment{low &^ 4095, nil})
			h.memory[len(h.memory)-1].b = make([]byte, (at-low&^4095+4095)&^4095)
			at = (at+4095)&^4095 + 4096*uint64(r.IntN(3))
			low = at
		default:
			at += uint64(r.IntN(20))
		}
		at = (at + align - 1) &^ (align - 1)
	}
	h.memory = append(h.memory, segment{low &^ 4095, make([]byte, (at-low&^4095+4095)&^4095+4096)})
	rootAt := (at+4095)&^4095 + 1<<21
	h.memory = append(h.memory, segment{rootAt, make([]byte, 4096)})
	for i := range 1 + r.IntN(3) {
		start := rootAt + uint64(i)*1024 + uint64(r.IntN(3))
		h.roots.Ranges = append(h.roots.Ranges, Root{start, start + uint64(r.IntN(200)), i})
	}
	h.fill(r)
	return h
}

// fill writes pointers.
func (h *testHeap) fill(r *rand.Rand) {
	aim := func() uint64 {
		b := h.blocks[r.IntN(len(h.blocks))]
		switch r.IntN(8) {
		case 0:
			return b.Addr + uint64(r.IntN(int(b.Size)+1))
		case 1:
			return b.Addr + b.Size
		case 2:
			return b.Addr + []uint64{8, 24, 16, 9}[r.IntN(4)]
		case 3:
			return b.Addr - uint64(r.IntN(20))
		}
		return b.Addr
	}
	density := 1 + r.IntN(30)
	for _, s := range h.memory {
		for at := s.at; at+8 < s.at+uint64(len(s.b)); at += 4 + 4*uint64(r.IntN(density)) {
			switch r.IntN(6) {
			case 0:
				h.memory.put(at, uint64(r.IntN(100)))
			default:
				h.memory.put(at, aim())
			}
		}
	}
	for _, b := range h.blocks { // what heuristics ask for
		switch r.IntN(12) {
		case 0:
			h.memory.put(b.Addr, b.Size-8)
		case 1:
			h.memory.put(b.Addr, 0)
		case 2:
			h.memory.put(b.Addr+8, b.Size-25)
			h.memory.put(b.Addr, 3)
		}
	}
	for range r.IntN(4) {
		h.roots.Words = append(h.roots.Words, Word{Value: aim(), Label: 7})
	}
	if r.IntN(2) == 0 { // some memory cannot be read
		for i := range h.memory {
			if n := len(h.memory[i].b); r.IntN(3) == 0 && n > 4096 {
				h.memory[i].b = h.memory[i].b[:n-4096]
			}
		}
	}
	if r.IntN(3) == 0 {
		h.o.Populated = func(start, end uint64) (all []Range, err error) {
			for p := start &^ 4095; p < end; p += 4096 {
				if populated(p) {
					all = append(all, Range{max(p, start), min(p+4096, end)})
				}
			}
			return all, nil
		}
	}
	h.o.Workers = 1 + r.IntN(3)
	if r.IntN(3) == 0 {
		h.o.Without = Heuristics(r.IntN(16))
	}
}

func populated(p uint64) bool { return p>>12%5 != 3 }

// A slow finds the same by asking each word for each block.
type slow struct {
	*testHeap
	edges []Edge
	reach []Reach
}

func (h *testHeap) slowly() *slow {
	s := &slow{testHeap: h}
	words := func(from, root int, start, end uint64) {
		for at := (start + 7) &^ 7; at+8 <= end; at += 8 {
			if h.o.Populated != nil && !populated(at) {
				continue
			}
			if v, ok := h.memory.word(at); ok {
				s.word(from, root, at, v)
			}
		}
	}
	for i, r := range h.roots.Ranges {
		words(-1, i, r.Start, r.End)
	}
	for i, w := range h.roots.Words {
		s.word(-1, len(h.roots.Ranges)+i, 0, w.Value)
	}
	for i, b := range h.blocks {
		words(i, -1, b.Addr, b.Addr+b.Size)
	}
	s.mark()
	return s
}

// header is a word of a block's beginning: zeros where nothing was touched.
func (s *slow) header(at uint64) (uint64, bool) {
	switch {
	case s.o.Populated == nil || populated(at) && populated(at+7):
		return s.memory.word(at)
	case !populated(at):
		return 0, true
	}
	var b [8]byte
	want := int(4096 - at%4096)
	n, _ := s.memory.ReadAt(b[:want], int64(at))
	return binary.LittleEndian.Uint64(b[:]), n == want
}

func (s *slow) word(from, root int, at, value uint64) {
	for i, b := range s.blocks {
		in := value >= b.Addr && value < b.Addr+max(b.Size, 1)
		first, ok := s.header(b.Addr)
		empty := ok && s.o.Without&NewArray == 0 && b.Size == 8 && value == b.Addr+8 && first == 0 && from != i && !slices.ContainsFunc(s.blocks, func(o Block) bool { return o.Addr == value })
		if in || empty {
			s.edges = append(s.edges, Edge{From: from, Root: root, At: at, To: i, Offset: value - b.Addr})
		}
	}
}

// start tells whether an edge counts as one to the start.
func (s *slow) start(e Edge) bool {
	b := s.blocks[e.To]
	if e.Offset == 0 {
		return true
	}
	if e.From == e.To {
		return false
	}
	first, ok1 := s.header(b.Addr)
	second, ok2 := s.header(b.Addr + 8)
	on := func(h Heuristics) bool { return s.o.Without&h == 0 }
	switch {
	case e.Offset == 24 && b.Size > 24 && ok1 && ok2 && second+25 == b.Size && second < b.Size && first <= second:
		return on(StdString)
	case e.Offset == 8 && b.Size >= 8 && ok1 && first > 0 && b.Size-8 == first && on(Length64):
		return true
	case e.Offset == 8 && b.Size > 8 && ok1 && first > 0 && (b.Size-8)%first == 0:
		return on(NewArray)
	case e.Offset == 8 && b.Size == 8:
		return true // only such are edges
	}
	return false
}

// mark marks by going over all edges until nothing changes.
func (s *slow) mark() {
	n := len(s.blocks)
	s.reach = make([]Reach, n)
	const none = 9
	for i := range s.reach {
		s.reach[i] = none
	}
	spread := func(from func(e Edge) bool, as Reach) {
		for changed := true; changed; {
			changed = false
			for _, e := range s.edges {
				if s.reach[e.To] == none && from(e) {
					s.reach[e.To] = as
					changed = true
				}
			}
		}
	}
	is := func(i int, r ...Reach) bool { return i < 0 || slices.Contains(r, s.reach[i]) }
	spread(func(e Edge) bool { return is(e.From, Reachable) && s.start(e) }, Reachable)
	spread(func(e Edge) bool { return is(e.From, Reachable, Possible) }, Possible)
	out := make([][]int, n)
	for _, e := range s.edges {
		if e.From >= 0 {
			out[e.From] = append(out[e.From], e.To)
		}
	}
	for i := range s.reach { // memcheck's cliques
		if s.reach[i] != none {
			continue
		}
		s.reach[i] = Definite
		for queue := []int{i}; len(queue) > 0; queue = queue[1:] {
			for _, to := range out[queue[0]] {
				if to == i {
					continue
				}
				if s.reach[to] == none {
					queue = append(queue, to)
				}
				if s.reach[to] == none || s.reach[to] == Definite {
					s.reach[to] = Indirect
				}
			}
		}
	}
}

// TestTruth holds graphs of random heaps against what asking each word for each block finds.
func TestTruth(t *testing.T) {
	for seed := range uint64(rounds(t, 400, 30)) {
		h := newTestHeap(rand.New(rand.NewPCG(seed, 1)))
		compare(t, fmt.Sprintf("seed %d", seed), h)
		if t.Failed() {
			return
		}
	}
}

func rounds(t *testing.T, full, short int) int {
	if testing.Short() {
		return short
	}
	return full
}

// careful wants nothing read that holds nothing, but of files.
type careful struct {
	t *testing.T
	h *testHeap
}

func (c careful) ReadAt(b []byte, at int64) (int, error) {
	for p := uint64(at) &^ 4095; c.h.o.Populated != nil && p < uint64(at)+uint64(len(b)); p += 4096 {
		if !populated(p) && !within(c.h.o.Files, uint64(at)) {
			c.t.Errorf("read %#x, which holds nothing", p)
		}
	}
	return c.h.memory.ReadAt(b, at)
}

func compare(t *testing.T, name string, h *testHeap) {
	t.Helper()
	g, err := Build(context.Background(), careful{t, h}, BlocksOf(h.blocks), h.roots, h.o)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	want := h.slowly()
	var got []Edge
	for i := range g.rootEdges {
		if e, ok := g.rootEdge(i); ok {
			got = append(got, e)
		}
	}
	to := 0
	for i := range h.blocks {
		for e := range g.From(i) {
			got = append(got, e)
		}
		for range g.To(i) {
			to++
		}
	}
	// To blocks that are reached anyway no heuristic is asked.
	counted := map[Edge]bool{}
	for i := range got {
		why := got[i].Why
		if weak := got[i].Offset != 0 && why == 0; got[i].Weak != weak {
			t.Errorf("%s: %+v is weak: %v", name, got[i], got[i].Weak)
		}
		got[i].Why, got[i].Weak = 0, false
		counted[got[i]] = why != 0
	}
	order := func(a, b Edge) int {
		return slices.Compare([]int{a.From, a.Root, int(a.At), a.To}, []int{b.From, b.Root, int(b.At), b.To})
	}
	slices.SortFunc(got, order)
	slices.SortFunc(want.edges, order)
	for i := range max(len(got), len(want.edges)) {
		if i >= len(got) || i >= len(want.edges) || got[i] != want.edges[i] {
			t.Errorf("%s: of %d and %d edges, %d is\n%+v instead of\n%+v", name, len(got), len(want.edges), i, at(got, i), at(want.edges, i))
			return
		}
	}
	if to != len(got) {
		t.Errorf("%s: %d edges into blocks, %d out of them", name, to, len(got))
	}
	for i, r := range want.reach {
		if g.Reach(i) != r {
			t.Errorf("%s: block %d (%+v) is %v instead of %v", name, i, h.blocks[i], g.Reach(i), r)
			return
		}
	}
	want.paths(t, name, g, counted)
	want.circles(t, name, g)
	want.retained(t, name, g)
	want.groups(t, name, g)
	want.rootGroups(t, name, g)
}

// groups holds what groups retain against what is reached when they are taken away.
func (s *slow) groups(t *testing.T, name string, g *Graph) {
	t.Helper()
	r := rand.New(rand.NewPCG(uint64(len(s.blocks)), uint64(len(s.edges))))
	groups := 1 + r.IntN(6)
	of := make([]uint32, len(s.blocks))
	for i := range of {
		if of[i] = uint32(r.IntN(groups + 1)); of[i] == uint32(groups) {
			of[i] = NoGroup
		}
	}
	got, err := g.RetainedBy(context.Background(), of, groups)
	if err != nil {
		t.Fatal(err)
	}
	for k := range got {
		var blocks []uint32
		for i, x := range of {
			if x == uint32(k) {
				blocks = append(blocks, uint32(i))
			}
		}
		want := s.without(func(i int) bool { return of[i] == uint32(k) })
		together, err := g.RetainedTogether(context.Background(), blocks)
		if got[k] != want || together != want || err != nil {
			t.Errorf("%s: group %d of %d retains %+v, alone %+v (%v), instead of %+v", name, k, groups, got[k], together, err, want)
		}
	}
}

// rootGroups holds what groups of roots retain against what is reached when they are taken away.
func (s *slow) rootGroups(t *testing.T, name string, g *Graph) {
	t.Helper()
	const groups = 3
	of := func(e Edge) uint32 {
		if k := uint32(e.At/8+uint64(e.To)) % (groups + 1); k < groups {
			return k
		}
		return NoGroup
	}
	got, err := g.RetainedByRoots(context.Background(), of, groups)
	if err != nil {
		t.Fatal(err)
	}
	for k := range got {
		want := s.withoutRoots(func(int) bool { return false }, func(e Edge) bool { return of(e) == uint32(k) })
		if got[k] != want {
			t.Errorf("%s: group %d of roots retains %+v instead of %+v", name, k, got[k], want)
		}
	}
}

// without adds up what is not reached if some blocks are taken away. Lost blocks lead to lost blocks only.
func (s *slow) without(gone func(int) bool) (sum Sum) {
	return s.withoutRoots(gone, func(Edge) bool { return false })
}

// withoutRoots is without that takes away edges of roots, too.
func (s *slow) withoutRoots(gone func(int) bool, goneRoot func(Edge) bool) (sum Sum) {
	seen := make([]bool, len(s.blocks))
	var queue []int
	out := make([][]int, len(s.blocks))
	for _, e := range s.edges {
		switch lost := func(i int) bool { return s.reach[i] == Indirect || s.reach[i] == Definite }; {
		case e.From >= 0 && (!lost(e.From) || lost(e.To)):
			out[e.From] = append(out[e.From], e.To)
		case e.From < 0 && !goneRoot(e):
			queue = append(queue, e.To)
		}
	}
	for i, r := range s.reach {
		if r == Definite {
			queue = append(queue, i)
		}
	}
	for len(queue) > 0 {
		x := queue[0]
		queue = queue[1:]
		if !gone(x) && !seen[x] {
			seen[x] = true
			queue = append(queue, out[x]...)
		}
	}
	for i, y := range seen {
		if !y {
			sum.Blocks++
			sum.Bytes += s.blocks[i].Size
		}
	}
	return sum
}

func at(all []Edge, i int) any {
	if i < len(all) {
		return all[i]
	}
	return nil
}

// lostToo adds up the blocks that are reached only through a block, but for which lost blocks lead to them past it.
func (s *slow) lostToo(block int) (sum Sum) {
	lost := func(i int) bool { return s.reach[i] == Indirect || s.reach[i] == Definite }
	if lost(block) {
		return sum
	}
	reached := func(from func(Edge) bool) []bool {
		seen := make([]bool, len(s.blocks))
		for changed := true; changed; {
			changed = false
			for _, e := range s.edges {
				if !seen[e.To] && e.To != block && (from(e) || e.From >= 0 && seen[e.From]) {
					seen[e.To], changed = true, true
				}
			}
		}
		return seen
	}
	held := reached(func(e Edge) bool { return e.From < 0 })
	also := reached(func(e Edge) bool { return e.From >= 0 && lost(e.From) })
	for i := range s.blocks {
		if i != block && !lost(i) && !held[i] && also[i] {
			sum.Blocks++
			sum.Bytes += s.blocks[i].Size
		}
	}
	return sum
}

// retained holds dominators against what is reached without each block.
func (s *slow) retained(t *testing.T, name string, g *Graph) {
	t.Helper()
	d, err := g.RetainedAll(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	step := 1 + len(s.blocks)/40
	for b := 0; b < len(s.blocks); b += step {
		want := s.without(func(i int) bool { return i == b })
		one, err := g.Retained(context.Background(), b)
		kept, lostToo, err2 := g.RetainedBesideLost(context.Background(), b)
		if also := s.lostToo(b); kept != want || lostToo != also || err2 != nil {
			t.Errorf("%s: of what block %d retains, %+v, lost blocks lead to %+v (%v), instead of %+v", name, b, kept, lostToo, err2, also)
			return
		}
		if d.Retained(b) != want || one != want || err != nil {
			t.Errorf("%s: block %d retains %+v, alone %+v (%v), instead of %+v", name, b, d.Retained(b), one, err, want)
			return
		}
	}
}

var _ io.ReaderAt = segments{}
