package heaps

import (
	"context"

	"hdb/heap"
	"hdb/heap/golang"
	"hdb/heap/graph"
	"hdb/internal/cond"
	"hdb/memory"
	"hdb/query"
	"hdb/values/blocktype"
)

// imageTypes decides of which type a block of an image is. This is the order in which the sources are asked:
//
//  1. A block of a Go heap: the event that made it, the heap's own description of it, the types of pointers to
//     it ([goTyper]). Nothing else knows better.
//  2. A recorded block: the code that allocated it. A virtual table in memory overrides that, as it is of the
//     object that is there ([query.BlockTypes.Of]).
//  3. A block that is not recorded: its virtual table.
//  4. Where a question names single blocks, the type of a pointer to it, which is a guess ([namer.typeOf]).
//
// Without an image, in a capture, BlockTypes.Of knows what 2 has.
type imageTypes struct {
	*BlockTypes
	m      *memory.Image
	golang *goTyper // nil: no Go heap
}

// ofImage is what tells types of an image. all: of all blocks, which are found at once then.
func (t *BlockTypes) ofImage(ctx context.Context, m *memory.Image, all bool) (*imageTypes, error) {
	if h, _ := m.Go(); h == nil {
		return &imageTypes{BlockTypes: t, m: m}, nil
	}
	g, err := m.Graph(ctx)
	if err != nil {
		return nil, err
	}
	x := t.heap.namer(m, g).imageTypes()
	if all {
		if err := x.golang.infer(ctx); err != nil {
			return nil, err
		}
	}
	return x, nil
}

// of is the type of block i, nil if it is not known.
func (x *imageTypes) of(i int, b *memory.Block) *blocktype.Type {
	if x.ofGo(b) {
		return x.golang.Type(i)
	}
	return x.Of(b)
}

// ofGo tells that a block is of a Go heap.
func (x *imageTypes) ofGo(b *memory.Block) bool { return x.golang != nil && x.m.InGo(b.Addr) }

// addUnknown adds block i to a sum if it is one of Go of no type that is known.
func (x *imageTypes) addUnknown(sum *graph.Sum, i int, b *memory.Block) {
	if x.ofGo(b) && x.golang.Type(i) == nil {
		sum.Blocks++
		sum.Bytes += b.Size
	}
}

// atSlotSize is a block with the size of its slot, if it is one of Go that is not recorded: what was asked for is
// not known.
func atSlotSize(m *memory.Image, b memory.Block) memory.Block {
	if b.Seq == 0 && m.InGo(b.Addr) {
		b.Size = golang.Block{Addr: b.Addr, Size: b.Room}.Slot()
	}
	return b
}

// typedEnv is blockEnv that knows which type the block is.
type typedEnv struct {
	blockEnv
	types *imageTypes
	i     int
}

// Type reports whether the type of the block matches a pattern.
func (e typedEnv) Type(pattern string) bool {
	typ := e.types.of(e.i, e.b)
	return typ != nil && query.MatchType(pattern, typ)
}

// matches reports whether block i of the image matches a condition, which may be nil.
func (x *imageTypes) matches(c *cond.Cond, i int, b *memory.Block) bool {
	return c == nil || c.Eval(typedEnv{blockEnv{b}, x, i})
}

// TopTypes adds up the live blocks of the heap by their types, where nothing is recorded. slots: the sizes of
// some, which are of Go, are those of their slots. By tells the order: live or blocks.
func (h *Heap) TopTypes(ctx context.Context, by heap.Measure) (rows []heap.Row, slots bool, err error) {
	m, err := h.Image()
	if err != nil {
		return nil, false, err
	}
	if err := m.Walkable(); err != nil {
		return nil, false, err
	}
	types, err := h.types.ofImage(ctx, m, true)
	if err != nil {
		return nil, false, err
	}
	sums := query.TypeSums{}
	for i, b := range m.Blocks() {
		if i&1023 == 0 && ctx.Err() != nil {
			return nil, false, ctx.Err()
		}
		b = atSlotSize(m, b)
		sums.Add(types.of(i, &b), b.Size)
	}
	return sums.Rows(by), types.golang != nil, nil
}
