package graph

import (
	"slices"
	"unsafe"
)

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
	by    []uint32
	kind  Reach  // of the blocks that are looked for
	done  bitset // blocks of other kinds, and those that have been reached
	queue []uint32
	at    [frontier]unsafe.Pointer
}

func (g *Graph) findPaths() {
	p := &pathfinder{Graph: g, by: make([]uint32, len(g.blocks))}
	for i := range p.by {
		p.by[i] = noEdge
	}
	p.begin(Reachable)
	var levels []int // where the blocks of each distance begin in the queue
	for head := 0; head < len(p.queue); {
		end := len(p.queue)
		levels = append(levels, head)
		p.follow(p.queue[head:end])
		head = end
	}
	near, levels := p.queue, append(levels, len(p.queue))
	p.queue = nil
	p.begin(Possible)
	for level, head := 0, 0; level+1 < len(levels) || head < len(p.queue); level++ {
		end := len(p.queue)
		if level+1 < len(levels) {
			p.follow(near[levels[level]:levels[level+1]])
		}
		p.follow(p.queue[head:end])
		head = end
	}
	g.paths = p.by
}

// begin looks for blocks of a kind, and takes those that roots point to.
func (p *pathfinder) begin(kind Reach) {
	p.kind, p.done = kind, newBitset(len(p.blocks))
	for i, r := range p.reach {
		if r != kind {
			p.done.set(uint32(i))
		}
	}
	for i, e := range p.rootEdges {
		if to := e.to &^ weak; (kind == Possible || e.to == to) && !p.done.has(to) {
			p.done.set(to)
			p.by[to] = uint32(len(p.edges) + i)
			p.queue = append(p.queue, to)
		}
	}
}

// follow takes the blocks that some point to.
func (p *pathfinder) follow(blocks []uint32) {
	mask := uint32(weak)
	if p.kind == Possible {
		mask = 0
	}
	for len(blocks) > 0 {
		batch := blocks[:min(frontier, len(blocks))]
		blocks = blocks[len(batch):]
		p.fetch(p.at[:], batch, blocks[:min(frontier, len(blocks))])
		for _, b := range batch {
			for n := p.first[b]; n < p.first[b+1]; n++ {
				to := p.edges[n].to
				if to&mask != 0 {
					continue
				}
				if to &^= weak; !p.done.has(to) {
					p.done.set(to)
					p.by[to] = n
					p.queue = append(p.queue, to)
				}
			}
		}
	}
}
