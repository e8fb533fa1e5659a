package memory

import (
	"iter"

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

// To lists the edges into a block, as [graph.Graph.To] does.
func (g *Graph) To(block int) iter.Seq[graph.Edge] { return g.each(g.Graph.To(block)) }

// From lists the edges out of a block.
func (g *Graph) From(block int) iter.Seq[graph.Edge] { return g.each(g.Graph.From(block)) }

func (g *Graph) each(edges iter.Seq[graph.Edge]) iter.Seq[graph.Edge] {
	return func(yield func(graph.Edge) bool) {
		for e := range edges {
			if !yield(g.shown(e)) {
				return
			}
		}
	}
}

// Path is a shortest chain of edges to a block, as [graph.Graph.Path] finds it; from the stack of a goroutine, a register and
// a word that passing reports only if no other root is near: what functions hold while they run says less.
func (g *Graph) Path(block int, passing func(graph.Edge) bool) []graph.Edge {
	path := g.Graph.Path(block, func(e graph.Edge) bool {
		kind := g.Root(e).Kind
		return kind == OfGoroutine || kind == InRegister || passing != nil && passing(e)
	})
	for i := range path {
		path[i] = g.shown(path[i])
	}
	return path
}

// Root is the root that an edge comes from, whose From is -1.
func (g *Graph) Root(e graph.Edge) *Root {
	n := len(g.roots.Ranges)
	if e.Root < n {
		return &g.kinds[g.roots.Ranges[e.Root].Label]
	}
	return &g.kinds[g.roots.Words[e.Root-n].Label]
}
