package heaps

import (
	"context"
	"fmt"
	"strings"

	"hdb/heap/graph"
	"hdb/heap/regions"
	"hdb/internal/addr"
	"hdb/memory"
	"hdb/names"
	"hdb/query"
	"hdb/symbols"
	"hdb/values"
	"hdb/values/blocktype"
)

// A HolderKind says what points to a block.
type HolderKind uint8

const (
	HeldByGlobal    HolderKind = iota // data of a module
	HeldByStack                       // a slot of a thread's stack
	HeldByRegister                    // a register of a thread
	HeldByTLS                         // thread-local storage; a library's may be a block
	HeldByThread                      // no word: the block is what a thread runs on or has its thread-local storage in
	HeldByMapping                     // other memory of the program
	HeldByPool                        // what a pool has not handed out of its chunk
	HeldByBlock                       // another block
	HeldByGoroutine                   // a word of a goroutine's stack
	HeldByRuntime                     // what a Go runtime has of a block: Name says what
)

// A Holder is a word that points into a block.
type Holder struct {
	Kind      HolderKind
	At        uint64       // of the word, 0 of a register
	Thread    int          // hdb's number, 0 none
	Goroutine uint64       // of HeldByGoroutine
	Hidden    bool         // from Go's collector, which the block belongs to
	Frame     *names.Frame // of HeldByStack, nil if none is known
	Name      string       // what debug information or symbols call the word, of the register, or of what the thread has; "" not known
	Typed     bool         // Name is a variable with its members
	Weak      bool         // it is a weak pointer: it keeps no object alive
	Region    *regions.Region
	Local     *ThreadVariable // of HeldByTLS, nil if no module has the word
	Block     *HeldBlock      // that the word is in: of HeldByBlock, and of HeldByTLS or nil
	Field     uint64          // offset of the word in it
	Into      uint64          // where in the block it points to; 0: the start
}

// A HeldBlock is a block and what is known of it.
type HeldBlock struct {
	memory.Block
	Index int         // in the image
	Go    bool        // of a Go runtime: its collector frees what is lost
	Reach graph.Reach // how it is held itself
	// Behind: it is Reachable, but only pointers behind a header lead there.
	Behind bool
	Type   *blocktype.Type
}

// RefsAnswer is who points into a block.
type RefsAnswer struct {
	Addr    uint64 // that was asked for
	Block   HeldBlock
	Holders []Holder // roots first
	Total   int
	Sharers []HeldBlock // that have a slot of Go's heap with it: it lives as long as they
}

// A NoBlockError tells that an address is in no live block.
type NoBlockError struct{ Addr uint64 }

func (e *NoBlockError) Error() string {
	return fmt.Sprintf("%#x is in no live block: see info symbol and info proc mappings", e.Addr)
}

// view is the image with its graph, and the block around an address.
func (h *Heap) view(ctx context.Context, at uint64) (*memory.Image, *memory.Graph, int, error) {
	m, err := h.Image()
	if err != nil {
		return nil, nil, 0, err
	}
	i, ok := m.Find(at)
	if !ok {
		if err := m.Walkable(); err != nil && m.Len() == 0 {
			return nil, nil, 0, err
		}
		return nil, nil, 0, &NoBlockError{at}
	}
	g, err := m.Graph(ctx)
	return m, g, i, err
}

// Refs are the words that point into the block around an address, at most limit of them.
func (h *Heap) Refs(ctx context.Context, at uint64, limit int) (*RefsAnswer, error) {
	m, g, i, err := h.view(ctx, at)
	if err != nil {
		return nil, err
	}
	n := h.namer(m, g)
	a := &RefsAnswer{Addr: at, Block: n.block(i)}
	for e := range g.To(i) {
		if a.Total++; a.Total <= limit {
			a.Holders = append(a.Holders, n.holder(e))
		}
		if a.Total&1023 == 0 && h.target.Reading.GivenUp() {
			return nil, h.target.Reading.Cut()
		}
	}
	for _, k := range g.Sharers(i) {
		a.Sharers = append(a.Sharers, n.block(int(k)))
	}
	return a, nil
}

// A PathStep is a block on the way to another, and the word that leads to it.
type PathStep struct {
	Holder Holder
	To     HeldBlock
}

// PathAnswer is a shortest way from a root to a block.
type PathAnswer struct {
	Addr       uint64
	Block      HeldBlock
	Steps      []PathStep // none: no root leads there
	Expression string     // of the program's language, if all words on the way have names
	In         string     // the variable that the way begins at, and the members on it that are not a library's; "" not known
}

// Path is a shortest way from a root to the block around an address.
func (h *Heap) Path(ctx context.Context, at uint64) (*PathAnswer, error) {
	m, g, i, err := h.view(ctx, at)
	if err != nil {
		return nil, err
	}
	n := h.namer(m, g)
	a := &PathAnswer{Addr: at, Block: n.block(i)}
	expr := pointerChain{}
	for _, e := range g.Path(i, n.nameless) {
		s := PathStep{n.holder(e), n.block(e.To)}
		if name, ok := expr.step(n, e, &s.Holder); ok && e.From >= 0 {
			s.Holder.Name, s.Holder.Typed = name, true
		}
		if s.To.Type == nil && expr.typ != nil && !s.To.Go {
			s.To.Type = blocktype.Pointed(expr.typ, s.To.Size, s.To.Seq != 0)
		}
		a.Steps = append(a.Steps, s)
	}
	a.Expression = expr.text
	a.In = within(a.Steps)
	return a, nil
}

// marked says that a weak pointer is on the way.
func marked(in string, weak bool) string {
	if weak {
		return in + " (weak)"
	}
	return in
}

// nameless reports whether the word of a root is one of a stack that no variable is known to have.
func (n *namer) nameless(e graph.Edge) bool {
	if r := n.g.Root(e); r.Kind != memory.InRegion || r.Region.Kind != regions.Stack {
		return false
	}
	return n.holder(e).Name == ""
}

// maxWithin bounds its length.
const maxWithin = 300

// within names the variable that a path begins at and the program's members on it, as far as they are known.
func within(steps []PathStep) string {
	in, last, weak := "", "", false
	indexed := true // what the pointer before leads to has its elements by their numbers
	for i := range steps {
		h := &steps[i].Holder
		name := blocktype.Public(h.Name)
		switch {
		case i == 0 || h.Kind == HeldByTLS:
			if in = name; !h.Typed {
				return ""
			}
		case !h.Typed:
			return marked(in, weak)
		case name == h.Name && blocktype.Reserved(name): // a library's alone
		case name == last: // the next node of a list
			in = strings.TrimSuffix(in, "...") + "..."
		case name == "":
		case strings.HasPrefix(name, "[") && !indexed: // a bucket, or a part of a deque
			continue
		case strings.HasPrefix(name, "["):
			in += name
		default:
			in += "->" + strings.TrimPrefix(name, ".")
		}
		weak = weak || h.Weak
		if len(in) > maxWithin {
			return ""
		}
		last, indexed = name, name == h.Name || strings.HasSuffix(h.Name, "._M_start") || strings.HasSuffix(h.Name, ".__begin_")
	}
	return marked(in, weak)
}

// pointerChain is a chain of pointers that debug information describes.
type pointerChain struct {
	text string
	typ  *values.Type // of what the last pointer points to; nil: not known
	lost bool
}

// step follows an edge. It returns the name of the word, from the block that it is in on.
func (p *pointerChain) step(n *namer, e graph.Edge, h *Holder) (name string, ok bool) {
	if e.From >= 0 && n.m.InGo(n.g.Block(e.From).Addr) {
		*p = pointerChain{lost: true}
		return "", false
	}
	root := e.From < 0 || h.Kind == HeldByTLS
	if p.lost && !root {
		return "", false
	}
	defer func() {
		if !ok {
			*p = pointerChain{lost: true}
		}
	}()
	if root {
		p.lost = false
		p.text, p.typ = h.Name, pointedAt(n.typed[e.At].typ)
		return h.Name, h.Typed && e.Offset == 0
	}
	if p.typ == nil {
		return "", false
	}
	off := int64(h.Field)
	size := p.typ.Size()
	index := off / size
	if index > 0 && blocktype.Link(p.typ) {
		return "", false
	}
	text, t := blocktype.Member(p.typ, off%size)
	if t == nil {
		return "", false
	}
	switch {
	case index > 0:
		p.text += fmt.Sprintf("[%d]%s", index, text)
		text = fmt.Sprintf("[%d]%s", index, text)
	case strings.HasPrefix(text, "."):
		p.text += "->" + text[1:]
	case text == "":
		p.text = "*" + p.text
	default:
		p.text = "(*" + p.text + ")" + text
	}
	p.typ = pointedAt(t)
	return text, e.Offset == 0
}

// pointedAt is what a pointer of type t leads to, nil if it says nothing of that. An expression of a
// reference is written in another way.
func pointedAt(t *values.Type) *values.Type {
	if t == nil || t.Strip().Kind != values.Pointer {
		return nil
	}
	return blocktype.Pointee(t)
}

// ReachAnswer is what a block keeps alive.
type ReachAnswer struct {
	Addr     uint64
	Block    HeldBlock
	Retained graph.Sum // itself included
	LostToo  graph.Sum // of that, without itself, what lost blocks lead to as well
}

// Reach is what would go if nothing pointed to the block around an address.
func (h *Heap) Reach(ctx context.Context, at uint64) (*ReachAnswer, error) {
	m, g, i, err := h.view(ctx, at)
	if err != nil {
		return nil, err
	}
	sum, lostToo, err := g.RetainedBesideLost(ctx, i)
	if err != nil {
		return nil, err
	}
	return &ReachAnswer{at, h.namer(m, g).block(i), sum, lostToo}, nil
}

// stackOfBlock is the recorded event that made a block, and its stack; nil without.
func (h *Heap) stackOfBlock(b *memory.Block) (w *query.Whence) {
	if b.Seq == 0 {
		return nil
	}
	w, err := h.queries.Whence(b.Addr)
	if err != nil || w.Event == nil || w.Event.Seq != b.Seq {
		return nil
	}
	return w
}

// Typed reports whether types were looked for in the graph of the heap since it was forgotten, and whether those of all
// blocks of Go were.
func (h *Heap) Typed() (inGraph, all bool) {
	return h.named != nil, h.named != nil && h.named.golang.all != nil
}

// namer names the words that edges are in.
type namer struct {
	h     *Heap
	m     *memory.Image
	g     *memory.Graph
	typed map[uint64]named        // words of roots
	types map[int]*blocktype.Type // of blocks, nil: not known

	golang *goTyper // of blocks of Go; see goTypes
}

func (h *Heap) namer(m *memory.Image, g *memory.Graph) *namer {
	if h.named == nil || h.named.g != g {
		h.named = &namer{h: h, m: m, g: g, typed: map[uint64]named{}, types: map[int]*blocktype.Type{}}
	}
	return h.named
}

func (n *namer) block(i int) HeldBlock {
	b := n.g.Block(i)
	reach, behind := n.g.Reach(i), n.g.Behind(i)
	if behind {
		reach = graph.Reachable
	}
	return HeldBlock{b, i, n.m.InGo(b.Addr), reach, behind, n.typeOf(i)}
}

// holder names the word that an edge is in.
func (n *namer) holder(e graph.Edge) Holder {
	out := Holder{At: e.At, Into: e.Offset, Hidden: n.g.Hidden(e)}
	if e.From >= 0 {
		b := n.block(e.From)
		out.Kind, out.Block, out.Field = HeldByBlock, &b, e.At-b.Addr
		if b.Type != nil {
			text, at := b.Type.Field(out.Field)
			out.Name, out.Typed, out.Weak = text, at != nil, b.Type.Weak(out.Field)
		}
		n.local(&out)
		return out
	}
	r := n.g.Root(e)
	out.Thread, out.Region, out.Goroutine = r.Thread, r.Region, r.Goroutine
	switch r.Kind {
	case memory.InRegister:
		out.Kind, out.Name = HeldByRegister, r.Name
	case memory.OfThread:
		out.Kind, out.Name = HeldByThread, r.Name
	case memory.OfPool:
		out.Kind = HeldByPool
	case memory.OfGoroutine:
		out.Kind = HeldByGoroutine
	case memory.OfGo:
		out.Kind, out.Name = HeldByRuntime, r.Name
	default:
		n.inRegion(&out, r.Region, addr.Run(e.At))
	}
	return out
}

// inRegion names a word in memory that is a root.
func (n *namer) inRegion(out *Holder, r *regions.Region, at addr.Run) {
	t := n.h.target.Image.Thread(r.TID)
	if t != nil {
		out.Thread = t.Num
	}
	if n.local(out) { // whatever memory the C library has taken for it
		return
	}
	name := named{}
	switch r.Kind {
	case regions.Data, regions.BSS:
		out.Kind = HeldByGlobal
		name = n.h.places.global(at)
	case regions.Stack, regions.SignalStack:
		out.Kind = HeldByStack
		if t != nil {
			out.Frame, name = n.h.places.slot(t, r, at)
		}
	case regions.TLS:
		out.Kind = HeldByTLS
	default:
		out.Kind = HeldByMapping
	}
	out.Name, out.Typed, out.Weak = name.text, name.typ != nil, name.weak
	n.typed[uint64(at)] = name
}

// local names a word in the thread-local storage of a module, and reports whether it is one.
func (n *namer) local(out *Holder) bool {
	v, name := n.h.places.localVariable(n.m.Space(), addr.Run(out.At))
	if v == nil {
		return false
	}
	out.Kind, out.Local = HeldByTLS, v
	if t := n.h.target.Image.Thread(v.TID); t != nil {
		out.Thread = t.Num
	}
	out.Name, out.Typed, out.Weak = name.text, name.typ != nil, name.weak
	n.typed[out.At] = name
	return true
}

// maxTypeBlocks and maxTypeEdges bound how far the type of a block is looked for.
const (
	maxTypeBlocks = 256
	maxTypeEdges  = 8
)

// imageTypes are the types of the blocks, except those that only pointers tell.
func (n *namer) imageTypes() *imageTypes { return &imageTypes{n.h.types, n.m, n.goTypes()} }

// typeOf is what a block is, nil if it is not known: as imageTypes decides, else by the type of a
// pointer to it, which a variable has, or a member of a block whose type is known so.
func (n *namer) typeOf(i int) *blocktype.Type {
	b, x := n.g.Block(i), n.imageTypes()
	if x.ofGo(&b) { // it keeps its own answers
		return x.of(i, &b)
	}
	t, ok := n.types[i]
	if !ok {
		_ = symbols.Guard(func() { t = n.findType(i, map[int]bool{}) })
		n.types[i] = t
	}
	return t
}

// findType is typeOf without what is kept, which would make the answer depend on what was asked
// before: what is not found of a block because others have been tried already may be found of it alone.
func (n *namer) findType(i int, tried map[int]bool) *blocktype.Type {
	tried[i] = true
	b, x := n.g.Block(i), n.imageTypes()
	if t := x.of(i, &b); t != nil || x.ofGo(&b) {
		return t
	}
	count := 0
	for e := range n.g.To(i) {
		if count++; count > maxTypeEdges || len(tried) >= maxTypeBlocks {
			break
		}
		if e.Offset != 0 || e.From >= 0 && tried[e.From] {
			continue
		}
		if to := blocktype.Pointee(n.wordType(e, tried)); to != nil {
			if t := blocktype.Pointed(to, b.Size, b.Seq != 0); t != nil {
				return t
			}
		}
	}
	return nil
}

// wordType is the type of the word of an edge, nil if it is not known.
func (n *namer) wordType(e graph.Edge, tried map[int]bool) *values.Type {
	if name, ok := n.typed[e.At]; ok {
		return name.typ
	}
	if e.From < 0 {
		if n.g.Root(e).Kind == memory.InRegion {
			n.holder(e)
		}
		return n.typed[e.At].typ
	}
	if n.local(&Holder{At: e.At}) {
		return n.typed[e.At].typ
	}
	t := n.findType(e.From, tried)
	if t == nil {
		return nil
	}
	_, typ := t.Field(e.At - n.g.Block(e.From).Addr)
	return typ
}
