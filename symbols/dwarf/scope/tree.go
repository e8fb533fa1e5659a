// Package scope finds what encloses an address or an entry: the tree of functions,
// inlined copies and blocks of a unit, the namespaces and classes around an
// entry, and an index of all function names of a file. Trees and indexes are
// immutable once built.
package scope

import (
	"slices"

	"hdb/symbols/dwarf"
)

// Kind is what a node of a tree represents.
type Kind uint8

// The kinds of nodes.
const (
	Function Kind = iota
	Inlined
	Block // a lexical block that declares something
)

// Node is a function, an inlined copy or a block that has code.
type Node struct {
	Off      uint64 // of its entry in .debug_info
	Entry    uint64 // address of its first instruction
	Parent   int32  // the node around it, -1 for functions
	ranges   int32  // index of the first range
	count    int32
	CallFile uint32 // of an inlined copy: where the call was
	CallLine uint32
	CallCol  uint16
	Kind     Kind
}

// Tree is the functions of a unit.
type Tree struct {
	Unit   *dwarf.Unit
	Nodes  []Node // parents before children
	ranges []dwarf.Range
	code   *dwarf.RangeMap
}

// Ranges lists the code of a node.
func (t *Tree) Ranges(n *Node) []dwarf.Range { return t.ranges[n.ranges:][:n.count] }

// Range is the range of n that contains a; the first one when none does.
func (t *Tree) Range(n *Node, a uint64) dwarf.Range {
	all := t.Ranges(n)
	for _, r := range all {
		if r.Low <= a && a < r.High {
			return r
		}
	}
	if len(all) == 0 { // a hostile unit has more than there is room for
		return dwarf.Range{Low: n.Entry, High: n.Entry}
	}
	return all[0]
}

// At is the index of the innermost node at a, -1 without.
func (t *Tree) At(a uint64) int32 { return t.code.At(a) }

// FunctionOf is the nearest function or inlined copy at or around node i, -1 for
// i -1.
func (t *Tree) FunctionOf(i int32) int32 {
	for i >= 0 && t.Nodes[i].Kind == Block {
		i = t.Nodes[i].Parent
	}
	return i
}

// Chain counts function or inlined copy i and those that it is in.
func (t *Tree) Chain(i int32) int {
	n := 0
	for ; i >= 0; n++ {
		if t.Nodes[i].Kind != Inlined {
			return n + 1
		}
		i = t.FunctionOf(t.Nodes[i].Parent)
	}
	return n
}

// maxRanges bounds the ranges of one unit: entries of a hostile file can share
// lists, so that a few bytes name many ranges. Real lists belong to one entry
// each and take two bytes or more for a range.
func maxRanges(u *dwarf.Unit) int {
	return u.RangeBytes()/2 + int(u.End-u.Off)
}

// A Builder makes trees, one after the other, each as long as it must be, with the same
// memory for what is in between. Its zero value is ready.
type Builder struct {
	nodes  []Node
	ranges []dwarf.Range
	spans  []dwarf.Span
	open   []openNode
	bare   []int32 // nodes without code of their own
	mapper dwarf.RangeMapper
	keep   func(uint64) bool
	max    int // ranges
}

// openNode is an entry that others are in: node is what it, or what is around it, has in the tree;
// -1 outside of code.
type openNode struct {
	depth int
	node  int32
	bare  bool // an inlined copy without code, which gets a node when something in it has code
	die   dwarf.DIE
}

// Empty is the tree of a unit without code.
func Empty(u *dwarf.Unit) *Tree { return &Tree{Unit: u, code: dwarf.NewRangeMap(nil)} }

// Build reads the tree of u. keep says whether an address is one of real code.
func (b *Builder) Build(u *dwarf.Unit, keep func(uint64) bool) *Tree {
	b.nodes, b.ranges, b.spans, b.open, b.bare = b.nodes[:0], b.ranges[:0], b.spans[:0], b.open[:0], b.bare[:0]
	b.keep, b.max = keep, maxRanges(u)
	root, _ := u.Load()
	c := root.Language.IsC()
	w := u.Walk()
	for w.NextScope(c) {
		for len(b.open) > 0 && b.open[len(b.open)-1].depth >= w.Depth {
			b.open = b.open[:len(b.open)-1]
		}
		parent := int32(-1)
		if len(b.open) > 0 {
			parent = b.open[len(b.open)-1].node
		}
		node, bare := parent, false
		switch w.DIE.Tag() {
		case dwarf.TagSubprogram:
			node = b.add(w.DIE, w.Depth, -1, Function)
		case dwarf.TagInlinedSubroutine:
			if parent >= 0 {
				node = b.add(w.DIE, w.Depth, parent, Inlined)
				bare = node == parent
			}
		case dwarf.TagLexicalBlock:
			if parent >= 0 && w.DIE.HasCode() && declares(w.DIE) {
				node = b.add(w.DIE, w.Depth, parent, Block)
			}
		}
		if w.DIE.Children() {
			b.open = append(b.open, openNode{w.Depth, node, bare, w.DIE})
		}
	}
	b.cover()
	return &Tree{Unit: u, Nodes: slices.Clone(b.nodes), ranges: slices.Clone(b.ranges), code: b.mapper.Map(b.spans)}
}

// add appends a node for d, when d has code. Else it returns parent.
func (b *Builder) add(d dwarf.DIE, depth int, parent int32, kind Kind) int32 {
	if !d.HasCode() {
		return parent
	}
	first := len(b.ranges)
	b.ranges = d.Ranges(b.ranges, b.max-first)
	kept := b.ranges[:first]
	for _, r := range b.ranges[first:] {
		if b.keep(r.Low) {
			kept = append(kept, r)
		}
	}
	b.ranges = kept
	if len(kept) == first {
		return parent
	}
	if kind != Function {
		parent = b.materialize(parent)
	}
	n := Node{Off: d.Off, Parent: parent, Kind: kind, Entry: kept[first].Low, ranges: int32(first), count: int32(len(kept) - first)}
	if kind == Inlined {
		n.readCall(d)
	}
	id := int32(len(b.nodes))
	b.nodes = append(b.nodes, n)
	for _, r := range kept[first:] {
		b.spans = append(b.spans, dwarf.Span{Range: r, ID: id, Depth: int32(depth)})
	}
	return id
}

// materialize gives nodes to the inlined copies without code of their own that the next node is in,
// and returns the innermost one. DWARF 2 has no lists of ranges: a compiler that is held to it
// (-gdwarf-2 -gstrict-dwarf) does not tell the code of a copy that is in several pieces, but it
// tells what is in it.
func (b *Builder) materialize(parent int32) int32 {
	first := len(b.open)
	for first > 0 && b.open[first-1].die.Tag() != dwarf.TagSubprogram {
		first--
	}
	changed := false
	for i := first; i < len(b.open); i++ {
		o := &b.open[i]
		if o.bare {
			n := Node{Off: o.die.Off, Parent: parent, Kind: Inlined}
			n.readCall(o.die)
			parent = int32(len(b.nodes))
			b.nodes = append(b.nodes, n)
			b.bare = append(b.bare, parent)
			o.bare, changed = false, true
		}
		if changed {
			o.node = parent
		}
	}
	return parent
}

// cover gives nodes without code of their own the code of the nodes in them.
func (b *Builder) cover() {
	for k := len(b.bare) - 1; k >= 0; k-- { // what is in others comes first
		id := b.bare[k]
		n := &b.nodes[id]
		first := len(b.ranges)
		for i := int(id) + 1; i < len(b.nodes) && b.nodes[i].Parent >= id; i++ {
			if c := &b.nodes[i]; c.Parent == id && len(b.ranges)+int(c.count) <= b.max {
				b.ranges = append(b.ranges, b.ranges[c.ranges:][:c.count]...)
			}
		}
		n.ranges, n.count = int32(first), int32(len(b.ranges)-first)
		for _, r := range b.ranges[first:] {
			if n.Entry == 0 || r.Low < n.Entry {
				n.Entry = r.Low
			}
		}
	}
}

// declares reports whether a lexical block has a declaration of its own. Blocks without one are not
// distinguished from the code around them, as in gdb.
func declares(d dwarf.DIE) bool {
	const enough = 8 // declarations come first; more would be quadratic in nested blocks
	w := d.Walk()
	for n := 0; n < enough && w.Next(); n++ {
		switch w.DIE.Tag() {
		case dwarf.TagLexicalBlock, dwarf.TagInlinedSubroutine, dwarf.TagCallSite, dwarf.TagGNUCallSite, dwarf.TagLabel:
			w.SkipChildren()
		default:
			return true
		}
	}
	return false
}

func (n *Node) readCall(d dwarf.DIE) {
	file, line, column := d.Call()
	n.CallFile, n.CallLine, n.CallCol = uint32(file), uint32(line), uint16(min(column, 0xffff))
}
