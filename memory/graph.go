package memory

import (
	"hdb/heap/graph"
)

// A Graph is who points where, with the roots that the image has.
type Graph struct {
	*graph.Graph
	m     *Image
	kinds []Root
	roots graph.Roots
}

// Block is the block of that index.
func (g *Graph) Block(i int) Block { return g.m.Block(i) }

// Root is the root that an edge comes from, whose From is -1.
func (g *Graph) Root(e graph.Edge) *Root {
	n := len(g.roots.Ranges)
	if e.Root < n {
		return &g.kinds[g.roots.Ranges[e.Root].Label]
	}
	return &g.kinds[g.roots.Words[e.Root-n].Label]
}
