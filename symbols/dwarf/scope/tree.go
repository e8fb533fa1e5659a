// Package scope finds what encloses an address or an entry: the tree of functions,
// inlined copies and blocks of a unit, the namespaces and classes around an
// entry, and an index of all function names of a file. Trees and indexes are
// immutable once built.
package scope

import (
	"hdb/symbols/dwarf"
)

// Kind is what a node of a tree stands for.
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
	CallFile uint32 // of an inlined copy: where the call stood
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
	for _, r := range t.Ranges(n) {
		if r.Low <= a && a < r.High {
			return r
		}
	}
	return t.ranges[n.ranges]
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

// maxRanges bounds the ranges of one unit: entries of a hostile file can share
// lists, so that a few bytes name many ranges. Real lists belong to one entry
// each and take two bytes or more for a range.
func maxRanges(u *dwarf.Unit) int {
	return u.RangeBytes()/2 + int(u.End-u.Off)
}

// builder walks a unit.
type builder struct {
	tree  *Tree
	keep  func(uint64) bool
	max   int // ranges
	spans []dwarf.Span
	// stack[d] is the node that entries at depth d+1 lie in; -1 outside of code.
	stack []int32
}

// Empty is the tree of a unit without code.
func Empty(u *dwarf.Unit) *Tree { return &Tree{Unit: u, code: dwarf.NewRangeMap(nil)} }

// Build reads the tree of u. keep says whether an address is one of real code.
func Build(u *dwarf.Unit, keep func(uint64) bool) *Tree {
	b := builder{tree: &Tree{Unit: u}, keep: keep, max: maxRanges(u)}
	w := u.Walk()
	for w.Next() {
		b.stack = b.stack[:min(w.Depth, len(b.stack))]
		parent := int32(-1)
		if w.Depth > 0 && len(b.stack) > 0 {
			parent = b.stack[len(b.stack)-1]
		}
		node := parent
		switch w.DIE.Tag() {
		case dwarf.TagSubprogram:
			node = b.add(w.DIE, -1, Function)
		case dwarf.TagInlinedSubroutine:
			if parent >= 0 {
				node = b.add(w.DIE, parent, Inlined)
			}
		case dwarf.TagLexicalBlock:
			if parent >= 0 && declares(w.DIE) {
				node = b.add(w.DIE, parent, Block)
			}
		case dwarf.TagEnumerationType, dwarf.TagArrayType, dwarf.TagSubroutineType, dwarf.TagCallSite:
			w.SkipChildren()
		}
		b.stack = append(b.stack, node)
	}
	b.tree.code = dwarf.NewRangeMap(b.spans)
	return b.tree
}

// add appends a node for d, when d has code. Else it returns parent: an inlined
// copy without code of its own does not hide what lies in it.
func (b *builder) add(d dwarf.DIE, parent int32, kind Kind) int32 {
	t := b.tree
	first := len(t.ranges)
	t.ranges = d.Ranges(t.ranges, b.max-first)
	kept := t.ranges[:first]
	for _, r := range t.ranges[first:] {
		if b.keep(r.Low) {
			kept = append(kept, r)
		}
	}
	t.ranges = kept
	if len(kept) == first {
		return parent
	}
	n := Node{Off: d.Off, Parent: parent, Kind: kind, Entry: kept[first].Low, ranges: int32(first), count: int32(len(kept) - first)}
	if kind == Inlined {
		n.readCall(d)
	}
	id := int32(len(t.Nodes))
	t.Nodes = append(t.Nodes, n)
	for _, r := range kept[first:] {
		b.spans = append(b.spans, dwarf.Span{Range: r, ID: id, Depth: int32(len(b.stack))})
	}
	return id
}

// declares reports whether a lexical block has a declaration of its own. Blocks
// without one are not told from the code around them, as in gdb.
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
	it := d.Attrs()
	for it.Next() {
		switch it.At {
		case dwarf.AtCallFile:
			n.CallFile = uint32(it.Value.Uint())
		case dwarf.AtCallLine:
			n.CallLine = uint32(it.Value.Uint())
		case dwarf.AtCallColumn:
			n.CallCol = uint16(min(it.Value.Uint(), 0xffff))
		}
	}
}
