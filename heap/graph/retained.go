package graph

import (
	"context"
	"runtime"
	"slices"
)

// Retained is what would go if nothing pointed to a block: it, and what is reached only through it. Any pointer counts,
// but those of lost blocks to blocks that a root leads to: a stale word of memory that is lost keeps nothing alive. What is
// lost is held by the definitely lost blocks, as if they were roots. It follows the whole graph; of many blocks
// [Graph.RetainedAll] is asked.
func (g *Graph) Retained(ctx context.Context, block int) (Sum, error) {
	return g.RetainedTogether(ctx, []uint32{uint32(block)})
}

// RetainedTogether is what would go if nothing pointed to any of some blocks: they, and what is reached only through
// them. What several of them keep alive is counted once.
func (g *Graph) RetainedTogether(ctx context.Context, blocks []uint32) (Sum, error) {
	r := g.retention(ctx, blocks)
	return r.sum(r.kept), ctx.Err()
}

// RetainedBesideLost is [Graph.Retained], and how much of it lost blocks lead to as well, without the block.
func (g *Graph) RetainedBesideLost(ctx context.Context, block int) (kept, lostToo Sum, err error) {
	r := g.retention(ctx, []uint32{uint32(block)})
	kept = r.sum(r.kept)
	if r.fromLost = slices.DeleteFunc(r.fromLost, func(b uint32) bool { return !r.kept.has(b) || int(b) == block }); len(r.fromLost) == 0 {
		return kept, Sum{}, ctx.Err()
	}
	also := marker{Graph: g, ctx: ctx, workers: r.workers, seen: slices.Clone(r.kept)}
	for i := range also.seen { // nothing but what is kept is followed
		also.seen[i] = ^also.seen[i]
	}
	also.seen.set(uint32(block))
	for _, b := range r.fromLost {
		also.push(b)
	}
	also.flood(true)
	for i, word := range r.kept {
		also.seen[i] &= word
	}
	also.seen[block/64] &^= 1 << (block & 63)
	return kept, r.sum(also.seen), ctx.Err()
}

// A retention finds what some blocks keep alive.
type retention struct {
	*Graph
	ctx      context.Context
	workers  int
	under    bitset   // what the blocks lead to, themselves included
	kept     bitset   // of that, what nothing else leads to
	fromLost []uint32 // reached blocks that lost ones point to, which does not count; some may be there twice
}

// retention looks.
func (g *Graph) retention(ctx context.Context, blocks []uint32) *retention {
	r := &retention{Graph: g, ctx: ctx, workers: runtime.GOMAXPROCS(0)}
	under := marker{Graph: g, ctx: ctx, workers: r.workers, seen: newBitset(g.blocks.Len())}
	for _, b := range blocks {
		under.push(b)
	}
	of := slices.Clone(under.seen)
	under.flood(true)
	r.under = under.seen
	held := marker{Graph: g, ctx: ctx, workers: r.workers, seen: slices.Clone(of)} // they are not followed
	for i := range g.rootEdges {
		if e, ok := g.rootEdge(i); ok && r.under.has(uint32(e.To)) {
			held.push(uint32(e.To))
		}
	}
	lost := newBitset(g.blocks.Len()) // of what is under
	among := marker{Graph: g, ctx: ctx, workers: r.workers, seen: slices.Clone(of)}
	for b := range r.under.all() {
		if g.isLost(b) {
			lost.set(b)
			if g.reach[b] == Definite {
				among.push(b)
			}
		}
	}
	r.into(&held, &among)
	held.flood(true)
	for i, word := range lost { // from lost blocks only lost ones are followed
		among.seen[i] |= ^word
	}
	among.flood(true)
	r.kept = slices.Clone(r.under)
	for i := range r.kept {
		r.kept[i] &^= (held.seen[i] | among.seen[i]&lost[i]) &^ of[i]
	}
	return r
}

// into pushes what blocks that are not under point to of those that are: what is reached from reached blocks, and what is lost from
// lost ones.
func (r *retention) into(held, among *marker) {
	from := 0
	r.eachTo(func(number, to uint32) {
		if !r.under.has(to) {
			return
		}
		if number >= r.first[from+1] {
			from = r.source(number)
		}
		switch lost := r.isLost(uint32(from)); {
		case lost && !r.isLost(to):
			r.fromLost = append(r.fromLost, to)
		case r.under.has(uint32(from)):
		case lost:
			among.push(to)
		default:
			held.push(to)
		}
	})
}

// sum adds up blocks.
func (r *retention) sum(of bitset) (s Sum) {
	for b := range of.all() {
		s.Blocks++
		s.Bytes += r.blocks.At(int(b)).Size
	}
	return s
}

// isLost reports whether no root leads to a block.
func (g *Graph) isLost(block uint32) bool { return g.reach[block] >= Indirect }

// A Dominators tells for each block what only it keeps alive.
type Dominators struct {
	parent []uint32 // blocks; noBlock: none
	bytes  []uint64
	blocks []uint32
}

const noBlock = 1<<32 - 1

// Retained is the block and what is reached only through it.
func (d *Dominators) Retained(block int) Sum {
	return Sum{int(d.blocks[block]), d.bytes[block]}
}

// Parent is the nearest block without which this one could not be reached; -1 if there is none.
func (d *Dominators) Parent(block int) int {
	if p := d.parent[block]; p != noBlock {
		return int(p)
	}
	return -1
}

// RetainedAll finds what each block keeps alive, as [Graph.Retained] does, all at once.
func (g *Graph) RetainedAll(ctx context.Context) (*Dominators, error) {
	t := &spanning{Graph: g, ctx: ctx}
	if err := t.search(); err != nil {
		return nil, err
	}
	t.predecessors()
	if err := t.semidominators(); err != nil {
		return nil, err
	}
	t.dominators()
	return t.sum(), ctx.Err()
}

// A spanning tree, found depth first, numbers blocks in the order they are found. Number 0 is above all roots.
// From it come the dominators, by Semi-NCA (Georgiadis, Linear-Time Algorithms for Dominators and Related
// Problems, 2005, 2.1): all arrays but number go by number, and hold numbers.
type spanning struct {
	*Graph
	ctx    context.Context
	number []uint32 // of each block
	block  []uint32 // noBlock of 0
	parent []uint32
	lost   uint32   // the first number of a lost block
	first  []uint32 // predecessors of i are from[first[i]:first[i+1]]
	from   []uint32
	label  []uint32 // semidominator, or the least of those on the way to ancestor
	up     []uint32 // ancestor, jumped over by path compression
	dom    []uint32
}

// A place is where the search continues when it comes back to a block.
type place struct{ block, number, next uint32 }

// search numbers the blocks.
func (t *spanning) search() error {
	n := t.blocks.Len()
	t.number = make([]uint32, n)
	t.block = append(make([]uint32, 0, n+1), noBlock)
	t.parent = append(make([]uint32, 0, n+1), 0)
	for i := range t.rootEdges {
		if e := t.rootEdges[i]; e.to&weak == 0 || !t.nowhere(e.to&^weak, e.offset) {
			t.from1(e.to &^ weak)
		}
		if i&(1<<16-1) == 0 && t.ctx.Err() != nil {
			return t.ctx.Err()
		}
	}
	t.lost = uint32(len(t.block))
	for i, r := range t.reach {
		if r == Definite {
			t.from1(uint32(i))
		}
	}
	return t.ctx.Err()
}

// from1 numbers what a root leads to.
func (t *spanning) from1(root uint32) {
	if t.number[root] != 0 {
		return
	}
	enter := func(block, parent uint32) place {
		number := uint32(len(t.block))
		t.number[block] = number
		t.block = append(t.block, block)
		t.parent = append(t.parent, parent)
		return place{block, number, t.Graph.first[block]}
	}
	stack := []place{enter(root, 0)}
	for len(stack) > 0 {
		p := &stack[len(stack)-1]
		if p.next == t.Graph.first[p.block+1] {
			stack = stack[:len(stack)-1]
			continue
		}
		to := t.edges.At(int(p.next)).to &^ weak
		p.next++
		if t.number[to] == 0 {
			stack = append(stack, enter(to, p.number))
		}
	}
}

// predecessors lists where edges come from, except those along the tree, which parent has, and roots', and those from
// lost blocks to others.
func (t *spanning) predecessors() {
	t.first = make([]uint32, len(t.block)+2)
	each := func(do func(from, to uint32)) {
		for n := uint32(1); int(n) < len(t.block); n++ {
			b := t.block[n]
			for i := t.Graph.first[b]; i < t.Graph.first[b+1]; i++ {
				if to := t.number[t.edges.At(int(i)).to&^weak]; to != n && t.parent[to] != n && (n < t.lost || to >= t.lost) {
					do(n, to)
				}
			}
		}
	}
	each(func(_, to uint32) { t.first[to+2]++ })
	for i := 2; i < len(t.first); i++ {
		t.first[i] += t.first[i-1]
	}
	t.from = make([]uint32, t.first[len(t.first)-1])
	each(func(from, to uint32) {
		at := &t.first[to+1]
		t.from[*at] = from
		*at++
	})
}

// semidominators sets label, and leaves the semidominator of i in first[i+1].
func (t *spanning) semidominators() error {
	n := len(t.block)
	t.up = append(make([]uint32, 0, n), t.parent...)
	t.label = make([]uint32, n)
	for i := range t.label {
		t.label[i] = uint32(i)
	}
	rooted := t.rooted()
	var path []uint32
	for i := uint32(n) - 1; i > 0 && n > 1; i-- {
		if i&(1<<20-1) == 0 && t.ctx.Err() != nil {
			return t.ctx.Err()
		}
		semi := t.parent[i]
		if rooted.has(i) {
			semi = 0
		}
		for _, from := range t.from[t.first[i]:t.first[i+1]] {
			if from > i {
				from = t.least(from, i, &path)
			}
			semi = min(semi, from)
		}
		t.label[i] = semi
		t.first[i+1] = semi // what was there is not asked again
	}
	return nil
}

// rooted are the numbers of blocks that a root leads to at once.
func (t *spanning) rooted() bitset {
	b := newBitset(len(t.block))
	for _, e := range t.rootEdges {
		if e.to&weak == 0 || !t.nowhere(e.to&^weak, e.offset) {
			b.set(t.number[e.to&^weak])
		}
	}
	return b
}

// least is the least label on the way from a number up to, not including, the ancestor that is i or below it.
func (t *spanning) least(from, i uint32, path *[]uint32) uint32 {
	stack := (*path)[:0]
	v := from
	for t.up[v] > i {
		stack = append(stack, v)
		v = t.up[v]
	}
	for k := len(stack) - 1; k >= 0; k-- {
		w := stack[k]
		t.label[w] = min(t.label[w], t.label[v])
		t.up[w] = t.up[v]
		v = w
	}
	*path = stack
	return t.label[from]
}

// dominators sets dom.
func (t *spanning) dominators() {
	semi := t.first[1:]
	t.dom = t.parent
	for i := 1; i < len(t.dom); i++ {
		d := t.dom[i]
		for d > semi[i] {
			d = t.dom[d]
		}
		t.dom[i] = d
	}
}

// sum adds up what each block dominates.
func (t *spanning) sum() *Dominators {
	n := t.blocks.Len()
	d := &Dominators{parent: t.up[:n], bytes: make([]uint64, n), blocks: make([]uint32, n)}
	for i := len(t.block) - 1; i > 0; i-- {
		b := t.block[i]
		d.bytes[b] += t.blocks.At(int(b)).Size
		d.blocks[b]++
		if up := t.block[t.dom[i]]; up != noBlock {
			d.bytes[up] += d.bytes[b]
			d.blocks[up] += d.blocks[b]
		}
	}
	for b := range d.parent {
		d.parent[b] = t.block[t.dom[t.number[b]]]
	}
	return d
}
