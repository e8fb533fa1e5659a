package graph

import "slices"

// maxRefused is how many edges are refused in the search for one circle.
const maxRefused = 16

// Circle is a shortest circle of lost blocks that hold each other, from the block on, in the order in which one points to the start
// of the next; a block may hold itself. holds reports whether what an edge is in keeps what it leads to; nil: each does. The
// circle is nil if there is none, or if it is not found within limit edges: then cut is set. looked is how many edges were looked at.
func (g *Graph) Circle(block, limit int, holds func(Edge) bool) (circle []int, looked int, cut bool) {
	refused := map[uint32]bool{}
	for len(refused) <= maxRefused {
		path, n, short := g.circle(uint32(block), limit, refused)
		looked += n
		if path == nil {
			return nil, looked, short
		}
		circle = circle[:0]
		kept := len(refused)
		for _, s := range path {
			circle = append(circle, int(s.block))
			if e, ok := g.edge(s.edge, int(s.block)); !ok || holds != nil && !holds(e) {
				refused[s.edge] = true
			}
		}
		if len(refused) == kept {
			return circle, looked, false
		}
	}
	return nil, looked, true
}

// A circleStep is a block on a circle, and the edge that leads on from it.
type circleStep struct{ block, edge uint32 }

// circle is Circle without the edges that are refused.
func (g *Graph) circle(block uint32, limit int, refused map[uint32]bool) (path []circleStep, looked int, cut bool) {
	type step struct {
		circleStep
		from int // index of the step that leads here
	}
	queue, seen := []step{{circleStep{block: block}, -1}}, map[uint32]bool{block: true}
	for head := 0; head < len(queue); head++ {
		b := queue[head].block
		for n := g.first[b]; n < g.first[b+1]; n++ {
			if looked == limit {
				return nil, looked, true
			}
			looked++
			to := g.edges.At(int(n)).to
			switch {
			case to&weak != 0 || refused[n] || !g.isLost(to):
			case to == block:
				path = append(path, circleStep{b, n})
				for i := head; queue[i].from >= 0; i = queue[i].from {
					path = append(path, circleStep{queue[queue[i].from].block, queue[i].edge})
				}
				slices.Reverse(path)
				return path, looked, false
			case !seen[to]:
				seen[to] = true
				queue = append(queue, step{circleStep{to, n}, head})
			}
		}
	}
	return nil, looked, false
}
