package heaps

import (
	"context"
	"encoding/binary"
	"strings"

	"hdb/capture"
	"hdb/goruntime"
	"hdb/heap/golang"
	"hdb/heap/graph"
	"hdb/internal/addr"
	"hdb/memory"
	"hdb/symbols"
	"hdb/values"
	"hdb/values/blocktype"
)

// A goTyper tells what blocks of a Go runtime hold: by the event that made them, by the type that the
// heap has with them, else by the types of pointers to them.
type goTyper struct {
	n     *namer
	heap  *golang.Heap
	known map[int]goContent // of blocks that were asked about
	roots map[uint64]golang.Content
	all   []uint32 // of each block, by number in list; nil: not all were asked for
	list  []goContent
}

// A goContent is what a block holds. Type is nil if that is not known.
type goContent struct {
	golang.Content
	inferred bool
}

// goTypes is the typer of the image, nil without a Go heap.
func (n *namer) goTypes() *goTyper {
	if n.golang == nil {
		h, _ := n.m.Go()
		if h == nil {
			return nil
		}
		n.golang = &goTyper{n: n, heap: h, known: map[int]goContent{}, roots: map[uint64]golang.Content{}}
	}
	return n.golang
}

// Type is the type of a block in the form for other packages, nil if it is not known.
func (t *goTyper) Type(i int) *blocktype.Type { return t.typeOf(t.of(i)) }

func (t *goTyper) typeOf(c goContent) *blocktype.Type {
	if c.Type == nil {
		return nil
	}
	out := &blocktype.Type{Name: c.String(), Count: 1, How: blocktype.Declared, Layout: goLayout{t.heap.Types, c.Content}}
	if c.inferred {
		out.How = blocktype.Pointer
	}
	return out
}

// goLayout names members.
type goLayout struct {
	types *golang.Types
	golang.Content
}

func (l goLayout) Field(off uint64) string { return l.types.Member(l.Content, off) }

// of is what a block holds. Near it that is found at once; where that takes too long, as in a long list, what all
// blocks hold is found instead.
func (t *goTyper) of(i int) goContent {
	if t.all != nil {
		return t.list[t.all[i]]
	}
	c, ok := t.known[i]
	if ok {
		return c
	}
	near := nearby{tried: map[int]bool{}}
	_ = symbols.Guard(func() { c = t.find(i, &near) })
	if c.Type == nil && near.cut {
		ctx, done := t.n.h.target.Bound()
		defer done()
		if err := t.infer(ctx); err != nil { // given up, and said so by who asked
			return c
		}
		return t.list[t.all[i]]
	}
	t.known[i] = c
	return c
}

// nearby are the blocks that find has looked at. cut is set if there were more.
type nearby struct {
	tried map[int]bool
	cut   bool
}

// find is of without what is kept.
func (t *goTyper) find(i int, near *nearby) goContent {
	near.tried[i] = true
	b := t.n.g.Block(i)
	if c := t.declared(&b); c.Type != nil {
		return goContent{Content: c}
	}
	count := 0
	for e := range t.n.g.Graph.To(i) {
		if count++; count > maxTypeEdges || len(near.tried) >= maxTypeBlocks {
			near.cut = true
			break
		}
		if e.Weak || e.Inside || e.From < 0 && e.Offset != 0 || e.From >= 0 && near.tried[e.From] {
			continue
		}
		var to golang.Content
		ok := false
		if e.From < 0 {
			to, ok = t.root(e)
		} else if from := t.find(e.From, near); from.Type != nil {
			to, ok = t.heap.Types.Target(from.Content, e.At-t.n.g.Block(e.From).Addr, t.n.h.word(addr.Run(t.n.g.Block(e.From).Addr)))
		}
		if ok && to.Fits(golang.Block{Addr: b.Addr, Size: b.Room}) {
			return goContent{to, true}
		}
	}
	return goContent{}
}

// declared is what a block was made for, as its event or the heap tells.
func (t *goTyper) declared(b *memory.Block) (c golang.Content) {
	size := b.Room
	if src := t.n.h.recorded.Source(); b.Seq != 0 && src != nil {
		if e, ok := src.Event(b.Seq); ok {
			if stack := src.Stack(e.Stack); len(stack.PCs) > 0 {
				c.Type = t.heap.Types.At(uint64(t.n.h.target.Names.GoDescriptor(stack.Code(0), e.Seq, capture.GoAux(e.Aux))))
			}
			size = b.Size
			if c.Type != nil {
				c.Array = size != c.Type.Size
			}
		}
	}
	if c.Type == nil && b.Room >= goruntime.HeaderFrom-8 { // the heap has none with smaller ones
		if c.Type = t.heap.TypeOf(b.Addr); c.Type != nil {
			c.Array = size >= 2*c.Type.Size
		}
	}
	if c.Type != nil && (c.Type.Kind == 0 || c.Type.Size == 0 || c.Type.Name == "") {
		return golang.Content{}
	}
	return c
}

// root is what a word of a global variable points to, by the type of the variable.
func (t *goTyper) root(e graph.Edge) (golang.Content, bool) {
	r := t.n.g.Root(e)
	if r.Kind != memory.InRegion || e.At == 0 {
		return golang.Content{}, false
	}
	if c, ok := t.roots[e.At]; ok {
		return c, c.Type != nil
	}
	c, _ := t.n.h.goGlobal(t.heap.Types, addr.Run(e.At))
	t.roots[e.At] = c
	return c, c.Type != nil
}

// goGlobal is what a word of a global variable of Go points to.
func (h *Heap) goGlobal(types *golang.Types, at addr.Run) (to golang.Content, ok bool) {
	sym, err := h.target.Names.Symbols.At(at)
	if err != nil {
		return to, false
	}
	_ = symbols.Guard(func() {
		for _, o := range h.target.Names.Images() {
			if o.Name != sym.Module {
				continue
			}
			v := h.values.World.VariableAt(values.Module{Obj: o.Object, Bias: o.Bias}, sym.Name, at)
			if v == nil || v.Type == nil {
				return
			}
			base, _ := v.Addr()
			if t := goDescriptor(types, v.Type); t != nil {
				to, ok = types.Target(golang.Content{Type: t}, uint64(at-base), h.word(base))
				return
			}
			// The type of the variable has no descriptor: the type of what the member points to may have one.
			text, member := blocktype.Member(v.Type, int64(at-base))
			if before, _ := blocktype.Member(v.Type, int64(at-base)-8); strings.HasSuffix(text, ".data") {
				methods := strings.HasSuffix(before, ".tab")
				if methods || strings.HasSuffix(before, "._type") {
					to, ok = types.Dynamic(h.word(at-8)(0), methods)
				}
				return
			}
			elem := blocktype.Pointee(member)
			if elem == nil {
				return
			}
			if t := goDescriptor(types, elem); t != nil && t.Size > 0 {
				to, ok = golang.Content{Type: t, Array: isGoSlice(text)}, true
			}
			return
		}
	})
	return to, ok
}

// goDescriptor is the type that debug information describes, nil if it has no descriptor.
func goDescriptor(types *golang.Types, of *values.Type) *golang.Type {
	for _, t := range []*values.Type{of, of.Strip()} { // the name of a struct has none, the struct has
		if off, ok := t.GoType(); ok {
			if d := types.AtOffset(off); d != nil && d.Size == uint64(t.Size()) {
				return d
			}
		}
	}
	return nil
}

// isGoSlice tells the member of a slice or string that has the address.
func isGoSlice(member string) bool {
	return strings.HasSuffix(member, ".array") || strings.HasSuffix(member, ".str")
}

// word reads words behind an address.
func (h *Heap) word(base addr.Run) func(off uint64) uint64 {
	return func(off uint64) uint64 {
		var b [8]byte
		if n, _ := h.target.Image.ReadAt(b[:], int64(uint64(base)+off)); n < len(b) {
			return 0
		}
		return binary.LittleEndian.Uint64(b[:])
	}
}

// infer finds what all blocks hold: from those that are declared on along pointers.
func (t *goTyper) infer(ctx context.Context) error {
	if t.all != nil {
		return nil
	}
	x := &goInference{goTyper: t, held: make([]uint32, t.n.m.Len()), contents: []goContent{{}},
		numbers: map[goContent]uint32{}, targets: map[goTarget]uint32{}}
	for i, b := range t.n.m.Blocks() {
		if i&1023 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if !t.n.m.InGo(b.Addr) {
			continue
		}
		if c := t.declared(&b); c.Type != nil {
			x.set(i, x.number(goContent{Content: c}))
		}
	}
	for e := range t.n.g.RootEdges() {
		if e.Offset == 0 && !e.Weak && t.n.m.InGo(t.n.g.Block(e.To).Addr) && x.held[e.To] == 0 {
			if to, ok := t.root(e); ok {
				x.take(e.To, x.number(goContent{to, true}))
			}
		}
	}
	for n := 0; n < len(x.queue); n++ {
		if n&1023 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		x.follow(int(x.queue[n]))
	}
	t.all, t.list = x.held, x.contents
	return nil
}

// A goInference is the search of infer.
type goInference struct {
	*goTyper
	held     []uint32 // by each block: a number in contents; 0 not known
	contents []goContent
	numbers  map[goContent]uint32 // in contents
	queue    []uint32             // blocks that are known, whose pointers are to be followed
	targets  map[goTarget]uint32  // numbers of those that no word decides about; 0 of none
}

// A goTarget is what the pointer at an offset of a content leads to.
type goTarget struct {
	content uint32
	off     uint64
}

// number is the number of a content.
func (x *goInference) number(c goContent) uint32 {
	k, ok := x.numbers[c]
	if !ok {
		k = uint32(len(x.contents))
		x.contents, x.numbers[c] = append(x.contents, c), k
	}
	return k
}

func (x *goInference) set(i int, k uint32) {
	x.held[i] = k
	x.queue = append(x.queue, uint32(i))
}

// take has a block that is not known hold a content, if that fits.
func (x *goInference) take(i int, k uint32) {
	if b := x.n.g.Block(i); x.held[i] == 0 && x.contents[k].Fits(golang.Block{Addr: b.Addr, Size: b.Room}) {
		x.set(i, k)
	}
}

// follow takes what the pointers of a block lead to.
func (x *goInference) follow(i int) {
	c := x.contents[x.held[i]]
	base := x.n.g.Block(i).Addr
	word := x.n.h.word(addr.Run(base))
	for e := range x.n.g.Graph.From(i) {
		if e.Weak || e.Inside || e.At == 0 || x.held[e.To] != 0 {
			continue
		}
		off := e.At - base
		key := goTarget{x.held[i], off}
		if !c.Type.Made() && c.Type.Size > 0 {
			key.off %= c.Type.Size
		}
		to, ok := x.targets[key]
		if !ok {
			asked := false
			c, _ := x.heap.Types.Target(c.Content, off, func(off uint64) uint64 { asked = true; return word(off) })
			if c.Type != nil {
				to = x.number(goContent{c, true})
			}
			if !asked && len(x.targets) < maxGoTargets {
				x.targets[key] = to
			}
		}
		if to != 0 {
			x.take(e.To, to)
		}
	}
}

// maxGoTargets bounds what is kept of types.
const maxGoTargets = 1 << 20
