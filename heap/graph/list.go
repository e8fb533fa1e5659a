package graph

import (
	"context"
	"iter"
	"slices"
	"sort"
)

// Reach is how the program can come to a block.
func (g *Graph) Reach(block int) Reach { return g.reach[block] }

// Sums adds up the blocks of each Reach, which is the index.
func (g *Graph) Sums() (sums [4]Sum) {
	for i, r := range g.reach {
		s := &sums[r]
		s.Blocks++
		s.Bytes += g.blocks.At(i).Size
	}
	return sums
}

// Lost is what is lost with a definitely lost block: the indirectly lost blocks that it leads to, without
// itself. A block that several lead to is counted once, as by memcheck.
func (g *Graph) Lost(block int) Sum {
	g.lostOnce.Do(g.sumCliques)
	i, ok := slices.BinarySearchFunc(g.lost, uint32(block), func(c clique, b uint32) int { return int(c.leader) - int(b) })
	if !ok || g.reach[block] != Definite {
		return Sum{}
	}
	return g.lost[i].sum
}

// sumCliques finds the cliques a second time, and adds them up.
func (g *Graph) sumCliques() {
	again := *newGraphView(g)
	again.reach = slices.Clone(g.reach)
	m := marker{Graph: &again, ctx: context.Background(), seen: newBitset(g.blocks.Len())}
	for i, r := range g.reach {
		if r == Reachable || r == Possible {
			m.seen.set(uint32(i))
		}
	}
	var all []clique // ascending by leader
	m.cliques(func(leader, block uint32, wasLeader bool) {
		if n := len(all); n == 0 || all[n-1].leader != leader {
			all = append(all, clique{leader: leader})
		}
		sum := &all[len(all)-1].sum
		sum.Blocks++
		sum.Bytes += g.blocks.At(int(block)).Size
		if !wasLeader {
			return
		}
		i, ok := slices.BinarySearchFunc(all, block, func(c clique, b uint32) int { return int(c.leader) - int(b) })
		if ok {
			sum.Blocks += all[i].sum.Blocks
			sum.Bytes += all[i].sum.Bytes
			all[i].sum = Sum{}
		}
	})
	g.lost = all
}

// newGraphView is a graph of the same edges, to be marked anew.
func newGraphView(g *Graph) *Graph {
	return &Graph{blocks: g.blocks, first: g.first, edges: g.edges}
}

// To lists the edges into a block: first those of roots, then those of blocks, ascending.
func (g *Graph) To(block int) iter.Seq[Edge] {
	return func(yield func(Edge) bool) {
		back := g.reversed()
		for _, i := range back.rootsOf(g, block) {
			if e, ok := g.rootEdge(int(i)); ok && !yield(e) {
				return
			}
		}
		for _, number := range g.to(block) {
			if e, ok := g.edge(number, g.source(number)); ok && !yield(e) {
				return
			}
		}
	}
}

// From lists the edges out of a block, ascending by the address of the word.
func (g *Graph) From(block int) iter.Seq[Edge] {
	return func(yield func(Edge) bool) {
		for number := g.first[block]; number < g.first[block+1]; number++ {
			if e, ok := g.edge(number, block); ok && !yield(e) {
				return
			}
		}
	}
}

// source is the block that an edge belongs to.
func (g *Graph) source(number uint32) int {
	return sort.Search(g.blocks.Len(), func(i int) bool { return g.first[i+1] > number })
}

// edge is an edge for others; none if its word turned out to be no pointer.
func (g *Graph) edge(number uint32, from int) (Edge, bool) {
	in := g.edges.At(int(number))
	e := Edge{From: from, Root: -1, To: int(in.to &^ weak), Weak: in.to&weak != 0, Why: g.why[number]}
	word, far := in.word, uint32(farAway)
	if g.collected {
		e.Inside, word, far = word&inside != 0, word&^inside, inside-1
	}
	if word != far {
		e.At = alignUp(g.blocks.addr[from]) + uint64(word)*wordBytes
	}
	if in.to&weak != 0 || e.Why != 0 {
		i := sort.Search(g.interior.Len(), func(i int) bool { return g.interior.At(i).edge >= number })
		e.Offset = uint64(g.interior.At(i).offset)
	}
	return e, e.Offset != dropped
}

func (g *Graph) rootEdge(i int) (Edge, bool) {
	in := g.rootEdges[i]
	e := Edge{From: -1, Root: int(in.root), At: in.at, To: int(in.to &^ weak), Offset: in.offset, Weak: in.to&weak != 0, Why: g.rootWhy[i]}
	return e, e.Why != 0 || !g.nowhere(uint32(e.To), e.Offset)
}

// RootEdges lists the edges of roots.
func (g *Graph) RootEdges() iter.Seq[Edge] {
	return func(yield func(Edge) bool) {
		for i := range g.rootEdges {
			if e, ok := g.rootEdge(i); ok && !yield(e) {
				return
			}
		}
	}
}
