package graph

import "math"

// maxBetterRoot is how many blocks are looked at for a better root when one has been found.
const maxBetterRoot = 1 << 16

// Path is a shortest chain of edges from a root to a block: by pointers to starts only to blocks that are
// Reachable, which a chain to a Possible one goes through as far as it can. It is nil if no root leads there.
// With stale set, roots whose words the program perhaps does not use any more are taken only if there are no others
// near.
func (g *Graph) Path(block int, stale func(Edge) bool) []Edge {
	if r := g.reach[block]; r != Reachable && r != Possible {
		return nil
	}
	back := g.reversed()
	// From the block back, until a root leads to one. next is where in the queue what the edge leads to is.
	type step struct {
		block, edge uint32
		next        int
	}
	queue := []step{{block: uint32(block), next: -1}}
	seen := newBitset(g.blocks.Len())
	seen.set(uint32(block))
	var fallback []Edge
	for head, end := 0, math.MaxInt; head < min(len(queue), end); head++ {
		x := queue[head]
		mask := uint32(0)
		if g.reach[x.block] == Reachable {
			mask = weak
		}
		for _, i := range back.rootsOf(g, int(x.block)) {
			e, ok := g.rootEdge(int(i))
			if !ok || g.rootEdges[i].to&mask != 0 {
				continue
			}
			doubtful := stale != nil && stale(e)
			if doubtful && fallback != nil {
				continue
			}
			path := []Edge{e}
			for x := x; x.next >= 0; x = queue[x.next] {
				e, _ := g.edge(x.edge, int(x.block))
				path = append(path, e)
			}
			if !doubtful {
				return path
			}
			fallback, end = path, head+maxBetterRoot
		}
		for _, n := range g.to(int(x.block)) {
			from := uint32(g.source(n))
			if r := g.reach[from]; g.edges.At(int(n)).to&mask != 0 || seen.has(from) || r != Reachable && (mask != 0 || r != Possible) {
				continue
			}
			seen.set(from)
			queue = append(queue, step{from, n, head})
		}
	}
	return fallback
}
