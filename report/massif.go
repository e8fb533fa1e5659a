package report

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Bounds of massif's own, see its manual: --depth and --threshold.
const (
	massifDepth     = 30
	massifThreshold = 0.01
)

// massifTrees is how many snapshots follow one that has a tree.
const massifTrees = 8

// WriteMassif writes the snapshots as valgrind's massif does, for ms_print and
// massif-visualizer: bytes asked for, over time, and for the peak, the last and some
// others the stacks, from the allocating functions outwards.
func WriteMassif(w io.Writer, p *Profile, _ Options) error {
	out := bufio.NewWriter(w)
	fmt.Fprintf(out, "desc: hdb: bytes asked for\ncmd: %s\ntime_unit: ms\n", p.carefulTitle())
	all := append([]Snapshot{{}}, p.Snapshots...)
	m := newMassif(out, p)
	for i := range all {
		s := &all[i]
		fmt.Fprintf(out, "#-----------\nsnapshot=%d\n#-----------\ntime=%d\nmem_heap_B=%d\nmem_heap_extra_B=0\nmem_stacks_B=0\n", i, s.Time.Milliseconds(), s.Live)
		switch {
		case s.Live == 0:
			fmt.Fprintln(out, "heap_tree=empty")
			continue
		case s.Seq == p.Peak.Seq:
			fmt.Fprintln(out, "heap_tree=peak")
		case i == len(all)-1 || i%massifTrees == 0:
			fmt.Fprintln(out, "heap_tree=detailed")
		default:
			fmt.Fprintln(out, "heap_tree=empty")
			continue
		}
		m.tree(s)
	}
	return out.Flush()
}

// massif writes trees.
type massif struct {
	out    *bufio.Writer
	p      *Profile
	labels []string // of nodes
	index  map[string]int
	of     []int // labels, by frame
	least  float64
	live   []uint64
}

func newMassif(out *bufio.Writer, p *Profile) *massif {
	m := &massif{out: out, p: p, index: map[string]int{}}
	for i := range p.Frames {
		m.of = append(m.of, m.label(p.valgrindFrame(i)))
	}
	return m
}

// label is the number of a text.
func (m *massif) label(text string) int {
	i, ok := m.index[text]
	if !ok {
		i = len(m.labels)
		m.index[text] = i
		m.labels = append(m.labels, text)
	}
	return i
}

// at is the label of frame d of a stack, from the innermost on; -1 behind the last.
func (m *massif) at(stack, d int) int {
	s := &m.p.Stacks[stack]
	if d < len(s.Frames) {
		return m.of[s.Frames[d]]
	}
	texts, n := m.p.outermost(s)
	if d -= len(s.Frames); d < n {
		return m.label(Plain(texts[n-1-d]))
	}
	return -1
}

// tree writes the tree of a snapshot.
func (m *massif) tree(s *Snapshot) {
	m.live, m.least = s.Stacks, massifThreshold*float64(s.Live)
	var stacks []int
	for i, n := range s.Stacks {
		if n > 0 {
			stacks = append(stacks, i)
		}
	}
	m.node("(heap allocation functions) malloc/new/new[], --alloc-fns, etc.", massifNode{bytes: s.Live, stacks: stacks}, 0)
}

// A massifNode is the stacks that are the same so far.
type massifNode struct {
	label  int
	bytes  uint64
	stacks []int
}

// node writes a node and what called it.
func (m *massif) node(text string, n massifNode, depth int) {
	var callers []massifNode
	if depth < massifDepth {
		callers = m.callers(n, depth)
	}
	small := slices.IndexFunc(callers, func(c massifNode) bool { return float64(c.bytes) < m.least })
	if small < 0 {
		small = len(callers)
	}
	lines, rest := small, uint64(0)
	for _, c := range callers[small:] {
		rest += c.bytes
		lines = small + 1
	}
	lead := strings.Repeat(" ", depth)
	fmt.Fprintf(m.out, "%sn%d: %d %s\n", lead, lines, n.bytes, text)
	for _, c := range callers[:small] {
		m.node(m.labels[c.label], c, depth+1)
	}
	switch len(callers) - small {
	case 0:
	case 1:
		fmt.Fprintf(m.out, "%s n0: %d in 1 place, below massif's threshold (%.2f%%)\n", lead, rest, 100*massifThreshold)
	default:
		fmt.Fprintf(m.out, "%s n0: %d in %d places, all below massif's threshold (%.2f%%)\n", lead, rest, len(callers)-small, 100*massifThreshold)
	}
}

// callers are the nodes below, largest first.
func (m *massif) callers(n massifNode, depth int) []massifNode {
	index := map[int]int{}
	var out []massifNode
	for _, s := range n.stacks {
		label := m.at(s, depth)
		if label < 0 {
			continue
		}
		i, ok := index[label]
		if !ok {
			i = len(out)
			index[label] = i
			out = append(out, massifNode{label: label})
		}
		out[i].bytes += m.live[s]
		out[i].stacks = append(out[i].stacks, s)
	}
	slices.SortFunc(out, func(a, b massifNode) int {
		return cmp.Or(cmp.Compare(b.bytes, a.bytes), cmp.Compare(m.labels[a.label], m.labels[b.label]))
	})
	return out
}
