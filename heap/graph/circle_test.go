package graph

import (
	"math"
	"testing"
)

// circles holds the circles of definitely lost blocks against the lengths of those found by going over all edges.
func (s *slow) circles(t *testing.T, name string, g *Graph) {
	t.Helper()
	to := map[[2]int]bool{}
	for _, e := range s.edges {
		if e.From >= 0 && e.Offset == 0 && s.reach[e.From] >= Indirect && s.reach[e.To] >= Indirect {
			to[[2]int{e.From, e.To}] = true
		}
	}
	for i, r := range s.reach {
		if r != Definite {
			continue
		}
		circle, looked, _ := g.Circle(i, math.MaxInt, nil)
		if want := s.around(i, to); len(circle) != want {
			t.Fatalf("%s: a circle of %d blocks through block %d, want %d", name, len(circle), i, want)
		}
		for n, b := range circle {
			if next := circle[(n+1)%len(circle)]; !to[[2]int{b, next}] {
				t.Fatalf("%s: %v is no circle: %d does not point to %d", name, circle, b, next)
			}
		}
		if again, _, _ := g.Circle(i, looked, nil); len(again) != len(circle) {
			t.Fatalf("%s: with a limit of %d edges, as many as were looked at, %v is not found", name, looked, circle)
		}
		if less, n, _ := g.Circle(i, 1, nil); len(less) > 1 || n > 1 {
			t.Fatalf("%s: %d edges were looked at with a limit of one", name, n)
		}
	}
}

// around is how many blocks are on a shortest circle through a block, 0: on none.
func (s *slow) around(block int, to map[[2]int]bool) int {
	far := map[int]int{block: 1}
	for changed := true; changed; {
		changed = false
		for e := range to {
			if d := far[e[0]]; d > 0 && (far[e[1]] == 0 || d+1 < far[e[1]]) {
				far[e[1]], changed = d+1, true
			}
		}
	}
	shortest := 0
	for e := range to {
		if d := far[e[0]]; e[1] == block && d > 0 && (shortest == 0 || d < shortest) {
			shortest = d
		}
	}
	return shortest
}
