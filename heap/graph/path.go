package graph

import "slices"

// noEdge is what a block is reached by that no root leads to.
const noEdge = 1<<32 - 1

// Path is a shortest chain of edges from a root to a block: by pointers to starts only to blocks that are
// Reachable, which a chain to a Possible one goes through as far as it can. It is nil if no root leads there.
func (g *Graph) Path(block int) []Edge {
	g.pathOnce.Do(g.findPaths)
	var path []Edge
	for by := g.paths[block]; by != noEdge; {
		if int(by) >= len(g.edges) {
			e, _ := g.rootEdge(int(by) - len(g.edges))
			path = append(path, e)
			break
		}
		e, _ := g.edge(by, g.source(by))
		path = append(path, e)
		by = g.paths[e.From]
	}
	slices.Reverse(path)
	return path
}

// A pathfinder notes by which edge each block is reached first. That number, if it is not below
// the number of edges, is that of a root edge.
type pathfinder struct {
	*Graph
	by     []uint32
	queue  []uint32
	levels []int // where the blocks of each distance begin in queue
}

func (g *Graph) findPaths() {
	p := &pathfinder{Graph: g, by: make([]uint32, len(g.blocks))}
	for i := range p.by {
		p.by[i] = noEdge
	}
	p.roots(Reachable)
	for head := 0; head < len(p.queue); {
		p.levels = append(p.levels, head)
		for end := len(p.queue); head < end; head++ {
			p.follow(p.queue[head], Reachable)
		}
	}
	near, levels := p.queue, append(p.levels, len(p.queue))
	p.queue = nil
	p.roots(Possible)
	for level, head := 0, 0; level+1 < len(levels) || head < len(p.queue); level++ {
		end := len(p.queue)
		if level+1 < len(levels) {
			for _, b := range near[levels[level]:levels[level+1]] {
				p.follow(b, Possible)
			}
		}
		for ; head < end; head++ {
			p.follow(p.queue[head], Possible)
		}
	}
	g.paths = p.by
}

// roots takes blocks of that kind that roots point to.
func (p *pathfinder) roots(kind Reach) {
	for i, e := range p.rootEdges {
		if kind == Reachable && e.to&weak != 0 {
			continue
		}
		p.take(e.to&^weak, uint32(len(p.edges)+i), kind)
	}
}

// follow takes blocks of that kind that a block points to.
func (p *pathfinder) follow(block uint32, kind Reach) {
	for n := p.first[block]; n < p.first[block+1]; n++ {
		to := p.edges[n].to
		if kind == Reachable && to&weak != 0 {
			continue
		}
		p.take(to&^weak, n, kind)
	}
}

func (p *pathfinder) take(to, by uint32, kind Reach) {
	if p.reach[to] == kind && p.by[to] == noEdge {
		p.by[to] = by
		p.queue = append(p.queue, to)
	}
}
