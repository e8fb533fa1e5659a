package graph

import "slices"

// Circle is a shortest circle of lost blocks that hold each other, from the block on, in the order in which one points to the
// next. It is nil if no pointer leads back to the block, by way of at most limit blocks. looked is how many were looked at.
func (g *Graph) Circle(block, limit int) (circle []int, looked int) {
	type step struct {
		block uint32
		from  int // index of a step
	}
	queue, seen := []step{{uint32(block), -1}}, map[uint32]bool{uint32(block): true}
	for head := 0; head < len(queue); head++ {
		b := queue[head].block
		for n := g.first[b]; n < g.first[b+1]; n++ {
			to := g.edges.At(int(n)).to &^ weak
			if to == uint32(block) && head > 0 {
				for i := head; i >= 0; i = queue[i].from {
					circle = append(circle, int(queue[i].block))
				}
				slices.Reverse(circle)
				return circle, len(queue)
			}
			if !seen[to] && g.isLost(to) {
				if len(queue) == limit {
					return nil, len(queue)
				}
				seen[to] = true
				queue = append(queue, step{to, head})
			}
		}
	}
	return nil, len(queue)
}
