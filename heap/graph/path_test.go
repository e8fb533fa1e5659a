package graph

import "testing"

// paths holds the lengths of paths against those found by going over all edges. The second time every
// other root is stale perhaps.
func (s *slow) paths(t *testing.T, name string, g *Graph, counted map[Edge]bool) {
	t.Helper()
	stale := func(e Edge) bool { return e.Root%2 != 0 }
	all, sure := s.distances(counted, nil), s.distances(counted, stale)
	for i, d := range all {
		s.path(t, name, i, d, g.Path(i, nil))
		if sure[i] != 0 {
			d = sure[i]
		}
		path := g.Path(i, stale)
		s.path(t, name, i, d, path)
		if sure[i] != 0 && len(path) > 0 && stale(path[0]) {
			t.Errorf("%s: the path to block %d begins at a stale root: %+v", name, i, path)
		}
	}
}

// distances are how many edges away from a root each block is, 0: none leads there.
func (s *slow) distances(counted map[Edge]bool, without func(Edge) bool) []int {
	far := make([]int, len(s.blocks))
	spread := func(kind Reach) {
		for changed := true; changed; {
			changed = false
			for _, e := range s.edges {
				if s.reach[e.To] != kind || kind == Reachable && e.Offset != 0 && !counted[e] || e.From < 0 && without != nil && without(e) {
					continue
				}
				d := 1
				if e.From >= 0 {
					if far[e.From] == 0 {
						continue
					}
					d = far[e.From] + 1
				}
				if far[e.To] == 0 || d < far[e.To] {
					far[e.To], changed = d, true
				}
			}
		}
	}
	spread(Reachable)
	spread(Possible)
	return far
}

// path holds a path to a block against its length.
func (s *slow) path(t *testing.T, name string, block, length int, path []Edge) {
	t.Helper()
	if len(path) != length {
		t.Fatalf("%s: the path to block %d has %d edges instead of %d: %+v", name, block, len(path), length, path)
	}
	from := -1
	for _, e := range path {
		if e.From != from {
			t.Errorf("%s: the path to block %d breaks at %+v", name, block, e)
		}
		from = e.To
	}
	if length > 0 && from != block {
		t.Errorf("%s: the path to block %d leads to %d", name, block, from)
	}
}
