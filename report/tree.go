package report

import (
	"cmp"
	"io"
	"slices"
	"strings"

	"hdb/internal/units"
)

// TreeOptions are what the user may choose of a call tree.
type TreeOptions struct {
	Measure  Measure
	Depth    int     // levels of rows at most, 0 all
	Min      float64 // the smallest share of the whole that has a row, 0 to 1
	Inverted bool    // from the functions that allocate to their callers
	Full     bool    // with the allocator's functions, wrappers, the library's and what calls main
}

// A Tree is the stacks of a profile as calls: its children are made when they are
// asked for, since a large profile has millions.
type Tree struct {
	p     *Profile
	o     TreeOptions
	kind  []int32          // by frame: which function
	kinds []treeKind       // functions
	outer map[string]int32 // by text
	Root  *Node            // of all stacks
}

// A treeKind is what nodes represent: a function, or text where frames are missing or of a thread.
type treeKind struct {
	frame *Frame // one of them; nil: text
	text  string
	start bool // it only calls main, or what a thread runs
}

// A Node is a function that was called by those above it; in an inverted tree, one
// that called them.
type Node struct {
	tree   *Tree
	kind   int32
	level  int // 0 the root
	stacks []int32

	Value   uint64 // of the measure
	Blocks  uint64 // live, at the peak, or allocated: those that Value counts the bytes of
	Self    uint64 // of it, from stacks that end here
	Line    int    // of the call; 0 several
	nodes   []*Node
	divided bool
}

// NewTree makes a tree of a profile.
func NewTree(p *Profile, o TreeOptions) *Tree {
	p = p.Counted()
	t := &Tree{p: p, o: o, kind: make([]int32, len(p.Frames)), outer: map[string]int32{}}
	type key struct {
		function, linkage, file, module string
		inlined, guess                  bool
	}
	index := map[key]int32{}
	for i := range p.Frames {
		f := &p.Frames[i]
		k := key{f.Function, f.Linkage, f.File, p.ModulePath(f), f.Inlined, f.Guess}
		n, ok := index[k]
		if !ok {
			n = int32(len(t.kinds))
			index[k] = n
			t.kinds = append(t.kinds, treeKind{frame: f, start: startup(f.Function)})
		}
		t.kind[i] = n
	}
	t.Root = &Node{tree: t, kind: -1}
	for i := range p.Stacks {
		st := &p.Stacks[i]
		if !o.Measure.nonZero(st.Numbers) {
			continue
		}
		t.Root.stacks = append(t.Root.stacks, int32(i))
		t.Root.Value += o.Measure.Of(st.Numbers)
		t.Root.Blocks += o.Measure.blocks(st.Numbers)
	}
	return t
}

// startup tells the functions of glibc and musl that call main, or what a thread runs.
func startup(function string) bool {
	switch function {
	case "_start", "__libc_start_main", "__libc_start_main_impl", "__libc_start_call_main", "_start_c", "libc_start_main_stage2",
		"start_thread", "clone", "clone3", "__clone", "__clone3", "__GI___clone3":
		return true
	}
	return false
}

// blocks are those whose bytes the measure counts; of measures that count blocks,
// the same.
func (m Measure) blocks(n Numbers) uint64 {
	switch m {
	case Live:
		return n.LiveBlocks
	case Peak:
		return n.PeakBlocks
	case Bytes:
		return n.Allocs
	}
	return m.Of(n)
}

// nonZero reports whether numbers count by the measure: a block may have no bytes.
func (m Measure) nonZero(n Numbers) bool { return m.blocks(n) > 0 || m.Of(n) > 0 }

// at is the level-th function of a stack, counted from 0 at the root, and its frame
// or -1; ok is false where the stack has ended.
func (t *Tree) at(st *Stack, level int) (kind int32, frame int, ok bool) {
	inner, outer := 0, len(st.Frames)
	if !t.o.Full {
		inner, outer = st.Folded()
		for outer > inner+1 && t.kinds[t.kind[st.Frames[outer-1]]].start {
			outer--
		}
	}
	n := outer - inner
	texts, texted := t.p.outermost(st)
	if t.o.Inverted {
		if level < n {
			f := st.Frames[inner+level]
			return t.kind[f], f, true
		}
		if level -= n; level >= texted {
			return 0, -1, false
		}
		return t.text(texts[texted-1-level]), -1, true
	}
	if level < texted {
		return t.text(texts[level]), -1, true
	}
	if level -= texted; level >= n {
		return 0, -1, false
	}
	f := st.Frames[outer-1-level]
	return t.kind[f], f, true
}

// text is the function that a text outside of frames counts as.
func (t *Tree) text(text string) int32 {
	k, ok := t.outer[text]
	if !ok {
		k = int32(len(t.kinds))
		t.outer[text] = k
		t.kinds = append(t.kinds, treeKind{text: text})
	}
	return k
}

// Children are the functions that the node called, largest first.
func (n *Node) Children() []*Node {
	if n.divided {
		return n.nodes
	}
	n.divided = true
	t := n.tree
	index := map[int32]*Node{}
	for _, i := range n.stacks {
		st := &t.p.Stacks[i]
		value := t.o.Measure.Of(st.Numbers)
		kind, frame, ok := t.at(st, n.level)
		if !ok {
			n.Self += value
			continue
		}
		line := 0
		if frame >= 0 {
			line = t.p.Frames[frame].Line
		}
		c := index[kind]
		if c == nil {
			c = &Node{tree: t, kind: kind, level: n.level + 1, Line: line}
			index[kind] = c
			n.nodes = append(n.nodes, c)
		}
		if c.Line != line {
			c.Line = 0
		}
		c.stacks = append(c.stacks, i)
		c.Value += value
		c.Blocks += t.o.Measure.blocks(st.Numbers)
	}
	slices.SortStableFunc(n.nodes, func(a, b *Node) int {
		return cmp.Or(cmp.Compare(b.Value, a.Value), cmp.Compare(a.function(), b.function()))
	})
	return n.nodes
}

func (n *Node) function() string {
	if k := &n.tree.kinds[n.kind]; k.frame == nil {
		return k.text
	}
	return n.tree.kinds[n.kind].frame.Function
}

// has reports whether a text, in small letters, is in the name of the function, its source file or
// its module.
func (n *Node) has(text string) bool {
	names := []string{n.function()}
	if f := n.tree.kinds[n.kind].frame; f != nil {
		names = append(names, f.File, n.tree.p.ModulePath(f))
	}
	return slices.ContainsFunc(names, func(name string) bool { return strings.Contains(strings.ToLower(name), text) })
}

// Share is the node's part of the whole, 0 to 1.
func (n *Node) Share() float64 { return units.Share(n.Value, n.tree.Root.Value) }

// shown are the children that have rows of their own, and how many have not, with
// what these have together.
func (n *Node) shown() (nodes []*Node, others int, rest uint64) {
	nodes = n.Children()
	small := slices.IndexFunc(nodes, func(c *Node) bool { return c.Share() < n.tree.o.Min })
	if small < 0 || n.tree.Root.Value == 0 { // nothing has no shares
		return nodes, 0, 0
	}
	for _, c := range nodes[small:] {
		rest += c.Value
	}
	return nodes[:small], len(nodes) - small, rest
}

// chain is the node and those below it as long as each has one child that has all
// of it: they are one row.
func (n *Node) chain() []*Node {
	all := []*Node{n}
	for {
		nodes := n.Children()
		if len(nodes) != 1 || nodes[0].Value != n.Value {
			break
		}
		n = nodes[0]
		all = append(all, n)
	}
	return all
}

// WriteTree writes the call tree: a row for each function with its part of the
// whole, the largest first, those below the others with less than the least share
// together. Functions that call nothing but the next one share a row.
func WriteTree(w io.Writer, p *Profile, o TreeOptions, t Text) error {
	g := newPage(p, t)
	g.tree(NewTree(p, o))
	return g.flush(w)
}

// A TreeView is a node in JSON.
type TreeView struct {
	Function string     `json:"function"`
	Linkage  string     `json:"linkage,omitempty"`
	File     string     `json:"file,omitempty"`
	Line     int        `json:"line,omitempty"`
	Inlined  bool       `json:"inlined,omitempty"`
	Guess    bool       `json:"guess,omitempty"`
	Value    uint64     `json:"value"`
	Blocks   uint64     `json:"blocks"`
	Share    float64    `json:"share"`
	Self     uint64     `json:"self"`             // of Value, allocated by the function itself; in an inverted tree, without callers
	Others   int        `json:"others,omitempty"` // children without an entry of their own
	Rest     uint64     `json:"rest,omitempty"`   // what they have together
	Children []TreeView `json:"children,omitempty"`
}

// View is the whole tree in JSON, within the tree's options.
func (t *Tree) View() TreeView { return t.Root.view(0) }

// view is a node whose children have the depth.
func (n *Node) view(depth int) TreeView {
	v := TreeView{Value: n.Value, Blocks: n.Blocks, Share: n.Share()}
	if n.kind >= 0 {
		v.Function = n.function()
		if f := n.tree.kinds[n.kind].frame; f != nil {
			v.Linkage, v.File, v.Line, v.Inlined, v.Guess = f.Linkage, f.File, n.Line, f.Inlined, f.Guess
		}
	}
	nodes, others, rest := n.shown()
	alone := len(nodes) == 1 && nodes[0].Value == n.Value && depth > 0 // in a row with it
	if d := n.tree.o.Depth; d > 0 && depth >= d && !alone {
		v.Self, v.Others, v.Rest = n.Self, len(n.Children()), n.Value-n.Self
		return v
	}
	if !alone {
		depth++
	}
	v.Self, v.Others, v.Rest = n.Self, others, rest
	for _, c := range nodes {
		v.Children = append(v.Children, c.view(depth))
	}
	return v
}
