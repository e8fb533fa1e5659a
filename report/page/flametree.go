package page

import (
	"cmp"
	"container/heap"
	"slices"
	"sort"

	"hdb/report"
)

// flameNodes is how many frames a drawn tree has at most; what else there is
// counts as small. A screen shows some thousands.
const flameNodes = 20000

// A flameTree is a prefix tree of stacks as the page reads it: nodes in pre-order,
// and the rows that end at them. A node's number is the sum of the rows below.
type flameTree struct {
	Depth []int32 `json:"depth"` // of each node, 0 for the outermost
	Frame []int32 `json:"frame"` // index of a frame
	// Rows. Those of stacks that end at a node are followed by what was too small
	// for nodes of its own below.
	Node   []int32     `json:"node"`  // -1: below no node
	Small  []int32     `json:"small"` // 0, or how many branches the row represents
	Thread []int32     `json:"thread,omitempty"`
	Values [][]uint64  `json:"values"`          // by Measure
	Grown  [][2]uint64 `json:"grown,omitempty"` // see flameRows.grow
	Starts []int32     `json:"starts,omitempty"`
}

// flameStacks are stacks in the order of their frames, outermost or innermost
// first, so that each branch of the tree is a range of them.
type flameStacks struct {
	p       *report.Profile
	frames  *flameFrames
	inverse bool    // innermost first
	order   []int32 // indexes of stacks
	sums    [numMeasures][]uint64
	weights []float64 // sums, too
	totals  report.Numbers
}

// ended is the frame behind the last one.
const ended = -1

// at is frame d of a stack.
func (s *flameStacks) at(stack int32, d int) int32 {
	st := &s.p.Stacks[stack]
	outer := s.frames.outer[stack]
	n := len(st.Frames)
	if !s.inverse {
		if outer >= 0 {
			if d == 0 {
				return outer
			}
			d--
		}
		d = n - 1 - d
		if d < 0 {
			return ended
		}
		return s.frames.at(st, d)
	}
	switch {
	case d < n:
		return s.frames.at(st, d)
	case d == n && outer >= 0:
		return outer
	}
	return ended
}

func newFlameStacks(p *report.Profile, frames *flameFrames, inverse bool) *flameStacks {
	s := &flameStacks{p: p, frames: frames, inverse: inverse, totals: p.Total()}
	for i := range p.Stacks {
		s.order = append(s.order, int32(i))
	}
	s.sort(s.order, 0)
	for m := range s.sums {
		s.sums[m] = make([]uint64, len(s.order)+1)
	}
	s.weights = make([]float64, len(s.order)+1)
	for i, stack := range s.order {
		for m := range s.sums {
			s.sums[m][i+1] = s.sums[m][i] + report.Measure(m).Of(p.Stacks[stack].Numbers)
		}
		s.weights[i+1] = s.weights[i] + snapshotShare(p, int(stack))
	}
	return s
}

// snapshotShare is the largest share that the stack has of what is live in a snapshot.
func snapshotShare(p *report.Profile, stack int) float64 {
	share := 0.0
	for i := range p.Snapshots {
		s := &p.Snapshots[i]
		if s.Live > 0 && stack < len(s.Stacks) {
			share = max(share, float64(s.Stacks[stack])/float64(s.Live))
		}
	}
	return share
}

// sort sorts stacks that are the same up to frame d, by three-way quicksort: what
// they share is looked at once, however deep they are.
func (s *flameStacks) sort(stacks []int32, d int) {
	for len(stacks) > 1 {
		pivot := s.at(stacks[len(stacks)/2], d)
		lower, i, upper := 0, 0, len(stacks)
		for i < upper {
			switch f := s.at(stacks[i], d); {
			case f < pivot:
				stacks[lower], stacks[i] = stacks[i], stacks[lower]
				lower++
				i++
			case f > pivot:
				upper--
				stacks[i], stacks[upper] = stacks[upper], stacks[i]
			default:
				i++
			}
		}
		s.sort(stacks[:lower], d)
		s.sort(stacks[upper:], d)
		stacks = stacks[lower:upper]
		if pivot == ended {
			slices.SortFunc(stacks, func(a, b int32) int { return cmp.Compare(s.frames.thread[a], s.frames.thread[b]) })
			return
		}
		d++
	}
}

// A flameNode is a range of the stacks, which are the same up to its depth.
type flameNode struct {
	low, high int
	depth     int // number of frames that the stacks share
	own       int // of the stacks, the first ones, end there; known once it is in the tree
	frame     int32
	score     float64
	parent    *flameNode
	children  []*flameNode
	small     []*flameNode // that are not in the tree
}

// score is the largest share that a range has of any number. No branch has a
// higher one than what it branches from.
func (s *flameStacks) score(low, high int) float64 {
	score := s.weights[high] - s.weights[low]
	for m := range s.sums {
		if total := report.Measure(m).Of(s.totals); total > 0 {
			score = max(score, float64(s.sums[m][high]-s.sums[m][low])/float64(total))
		}
	}
	return score
}

// firstBehind is the end of the stacks of a range, from low on, with the same frame d.
func (s *flameStacks) firstBehind(low, high, d int) int {
	f := s.at(s.order[low], d)
	return low + sort.Search(high-low, func(i int) bool { return s.at(s.order[low+i], d) != f })
}

// branches are the nodes below one.
func (s *flameStacks) branches(n *flameNode) (nodes []*flameNode) {
	for low := n.low; low < n.high; {
		high := s.firstBehind(low, n.high, n.depth)
		if f := s.at(s.order[low], n.depth); f == ended {
			n.own = high - low
		} else {
			nodes = append(nodes, &flameNode{low: low, high: high, depth: n.depth + 1, frame: f, score: s.score(low, high), parent: n})
		}
		low = high
	}
	return nodes
}

// flameQueue has the node with the highest score first.
type flameQueue []*flameNode

func (q flameQueue) Len() int { return len(q) }
func (q flameQueue) Less(i, j int) bool {
	if q[i].score != q[j].score {
		return q[i].score > q[j].score
	}
	return q[i].low < q[j].low || q[i].low == q[j].low && q[i].depth < q[j].depth
}
func (q flameQueue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *flameQueue) Push(x any)   { *q = append(*q, x.(*flameNode)) }
func (q *flameQueue) Pop() any {
	last := len(*q) - 1
	n := (*q)[last]
	*q = (*q)[:last]
	return n
}

// grown is the tree with the nodes of the highest scores. It finds them from the
// root on and never has more of the tree than they and their branches. Only what it
// returns, which writes the tree, numbers frames.
func (s *flameStacks) grown(limit int) func() *flameTree {
	root := &flameNode{high: len(s.order)}
	queue := flameQueue{}
	grow := func(n *flameNode) {
		for _, b := range s.branches(n) {
			heap.Push(&queue, b)
		}
	}
	grow(root)
	for kept := 0; kept < limit && len(queue) > 0; kept++ {
		n := heap.Pop(&queue).(*flameNode)
		n.parent.children = append(n.parent.children, n)
		grow(n)
	}
	for _, n := range queue {
		n.parent.small = append(n.parent.small, n)
	}
	return func() *flameTree { return s.tree(root) }
}

// tree writes a tree.
func (s *flameStacks) tree(root *flameNode) *flameTree {
	rows := &flameRows{stacks: s, t: &flameTree{Depth: []int32{}, Frame: []int32{}, Node: []int32{}, Small: []int32{}, Values: make([][]uint64, numMeasures)}}
	for m := range rows.t.Values {
		rows.t.Values[m] = []uint64{}
	}
	rows.walk(root)
	return rows.t
}

// flameRows writes the nodes and rows of a tree.
type flameRows struct {
	stacks *flameStacks
	t      *flameTree
}

// walk writes a node and what is below. Stacks can be deep, so it does not recurse.
func (r *flameRows) walk(root *flameNode) {
	for todo := []*flameNode{root}; len(todo) > 0; {
		n := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		node := int32(-1)
		if n != root {
			node = int32(len(r.t.Depth))
			r.t.Depth = append(r.t.Depth, int32(n.depth-1))
			r.t.Frame = append(r.t.Frame, r.stacks.frames.use(n.frame))
		}
		if n.own > 0 {
			r.rows(node, 0, slices.Clone(r.stacks.order[n.low:n.low+n.own]))
		}
		var small []int32
		for _, b := range n.small {
			small = append(small, r.stacks.order[b.low:b.high]...)
		}
		if len(small) > 0 {
			r.rows(node, int32(len(n.small)), small)
		}
		todo = append(todo, n.children...)
	}
}

// rows writes a row for each thread of the stacks.
func (r *flameRows) rows(node, small int32, stacks []int32) {
	threads := r.stacks.frames.thread
	slices.SortStableFunc(stacks, func(a, b int32) int { return cmp.Compare(threads[a], threads[b]) })
	for low := 0; low < len(stacks); {
		high := low + 1
		for high < len(stacks) && threads[stacks[high]] == threads[stacks[low]] {
			high++
		}
		r.row(node, small, stacks[low:high])
		low = high
	}
}

func (r *flameRows) row(node, small int32, stacks []int32) {
	var n report.Numbers
	for _, s := range stacks {
		n.Add(r.stacks.p.Stacks[s].Numbers)
	}
	t := r.t
	t.Node, t.Small = append(t.Node, node), append(t.Small, small)
	if len(r.stacks.frames.threads) > 1 {
		t.Thread = append(t.Thread, r.stacks.frames.thread[stacks[0]])
	}
	for m := range t.Values {
		t.Values[m] = append(t.Values[m], report.Measure(m).Of(n))
	}
	r.grow(stacks)
}

// grow writes what the row holds in each snapshot, as pairs of the snapshot and
// the bytes from it on; Starts has where each row's pairs begin.
func (r *flameRows) grow(stacks []int32) {
	if len(r.stacks.p.Snapshots) == 0 {
		return
	}
	r.t.Starts = append(r.t.Starts, int32(len(r.t.Grown)))
	last := uint64(0)
	for i := range r.stacks.p.Snapshots {
		live := uint64(0)
		for _, s := range stacks {
			if of := r.stacks.p.Snapshots[i].Stacks; int(s) < len(of) {
				live += of[s]
			}
		}
		if live != last {
			r.t.Grown = append(r.t.Grown, [2]uint64{uint64(i), live})
			last = live
		}
	}
}
