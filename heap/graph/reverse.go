package graph

import (
	"slices"
	"sort"
	"sync"
)

// A reverse tells which edges lead to each block.
type reverse struct {
	groups []group
	number []uint32 // of edges, by the groups of the blocks that they lead to
	roots  []uint32 // numbers of root edges, by the block they lead to
}

// A group is the edges to 1<<groupShift blocks, which are put in order when one of them is asked for.
type group struct {
	numbers []uint32 // part of reverse.number
	once    sync.Once
	end     []uint32 // for each block, where in numbers its edges end
}

// groupShift is such that what is counted of a group of blocks stays in the processor's cache.
const groupShift = 14

// to are the numbers of the edges to a block, ascending.
func (g *Graph) to(block int) []uint32 {
	x := &g.reversed().groups[block>>groupShift]
	x.once.Do(func() { g.sortGroup(x, block>>groupShift<<groupShift) })
	low := uint32(0)
	if k := block & (1<<groupShift - 1); k > 0 {
		low = x.end[k-1]
	}
	return x.numbers[low:x.end[block&(1<<groupShift-1)]]
}

// rootsOf are the numbers of the root edges to a block.
func (r *reverse) rootsOf(g *Graph, block int) []uint32 {
	low := sort.Search(len(r.roots), func(i int) bool { return int(g.rootEdges[r.roots[i]].to&^weak) >= block })
	high := low
	for high < len(r.roots) && int(g.rootEdges[r.roots[high]].to&^weak) == block {
		high++
	}
	return r.roots[low:high]
}

// reversed puts the edges in order by groups when it is first asked for.
func (g *Graph) reversed() *reverse {
	g.backOnce.Do(func() {
		at := make([]uint32, g.blocks.Len()>>groupShift+2) // where the next edge of each group is put
		g.eachTo(func(_, to uint32) { at[to>>groupShift+1]++ })
		for i := range len(at) - 1 {
			at[i+1] += at[i]
		}
		r := &g.back
		r.number, r.groups = make([]uint32, g.edges.Len()), make([]group, len(at)-1)
		for i := range r.groups {
			r.groups[i].numbers = r.number[at[i]:at[i+1]]
		}
		g.eachTo(func(i, to uint32) {
			k := &at[to>>groupShift]
			r.number[*k] = i
			*k++
		})
		r.roots = make([]uint32, len(g.rootEdges))
		for i := range r.roots {
			r.roots[i] = uint32(i)
		}
		slices.SortStableFunc(r.roots, func(a, b uint32) int {
			return int(g.rootEdges[a].to&^weak) - int(g.rootEdges[b].to&^weak)
		})
	})
	return &g.back
}

// eachTo calls do for each edge with the block that it leads to.
func (g *Graph) eachTo(do func(number, to uint32)) {
	for low, n := 0, g.edges.Len(); low < n; {
		part := g.edges.Part(low, n)
		for i := range part {
			do(uint32(low+i), part[i].to&^weak)
		}
		low += len(part)
	}
}

// sortGroup puts the edges of a group, which begins with the block base, in order.
func (g *Graph) sortGroup(x *group, base int) {
	end := make([]uint32, min(1<<groupShift, g.blocks.Len()-base))
	to, sorted := make([]uint32, len(x.numbers)), make([]uint32, len(x.numbers))
	for i, n := range x.numbers {
		to[i] = g.edges.At(int(n)).to&^weak - uint32(base)
		end[to[i]]++
	}
	sum := uint32(0)
	for i, n := range end {
		end[i], sum = sum, sum+n
	}
	for i, n := range x.numbers {
		k := &end[to[i]]
		sorted[*k] = n
		*k++
	}
	copy(x.numbers, sorted)
	x.end = end
}
