package heaps

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"hdb/heap/graph"
	"hdb/heap/regions"
	"hdb/internal/addr"
	"hdb/memory"
	"hdb/query"
	"hdb/recording"
	"hdb/symbols"
	"hdb/values"
	"hdb/values/blocktype"
)

// A TypedBlock is a live block and what is known of it.
type TypedBlock struct {
	memory.Block
	Type  *blocktype.Type  // nil: not known
	Event *recording.Event // that made it, nil: not recorded
	index int
}

// typed is what is known of block i.
func (x *imageTypes) typed(i int, b *memory.Block) TypedBlock {
	out := TypedBlock{Block: *b, Type: x.of(i, b), index: i}
	if b.Seq != 0 {
		out.Event, _ = x.recorded.Event(b.Seq)
	}
	return out
}

// BlocksOfType are the blocks of the heap whose type has a name.
type BlocksOfType struct {
	Found   []TypedBlock // the first, ascending by address
	All     graph.Sum
	Go      bool      // some are of Go, and not recorded: their sizes are those of their slots
	Unknown graph.Sum // blocks of Go of no type that is known
}

// OfType are the blocks of the heap whose type has a name, of which at most limit are listed.
func (t *BlockTypes) OfType(ctx context.Context, pattern string, limit int) (*BlocksOfType, error) {
	m, err := t.heap.Image()
	if err != nil {
		return nil, err
	}
	types, err := t.ofImage(ctx, m, true)
	if err != nil {
		return nil, err
	}
	out := &BlocksOfType{}
	for i, b := range m.Blocks() {
		if i&1023 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		b = atSlotSize(m, b)
		types.addUnknown(&out.Unknown, i, &b)
		typ := types.of(i, &b)
		if typ == nil || !query.MatchType(pattern, typ) {
			continue
		}
		out.All.Blocks++
		out.All.Bytes += b.Size
		out.Go = out.Go || b.Seq == 0 && m.InGo(b.Addr)
		if len(out.Found) < limit {
			out.Found = append(out.Found, types.typed(i, &b))
		}
	}
	return out, nil
}

// A BlockHit is a place in a block that has a value.
type BlockHit struct {
	Block TypedBlock
	Off   uint64
	Field string // the member there, "" not known
}

// SearchBlocks finds the places in blocks of the heap that have a pattern, at most limit of them. more: there may be others.
func (t *BlockTypes) SearchBlocks(ctx context.Context, pattern []byte, limit int) (hits []BlockHit, more bool, err error) {
	m, err := t.heap.Image()
	if err != nil {
		return nil, false, err
	}
	if m.Len() == 0 {
		if err := m.Walkable(); err != nil {
			return nil, false, err
		}
	}
	var types *imageTypes // nil before the first hit: they may need the graph of the heap
	w := window{mem: m.Reader()}
	for i, b := range m.Blocks() {
		for low := b.Addr; low+uint64(len(pattern)) <= b.End(); {
			if ctx.Err() != nil {
				return nil, false, ctx.Err()
			}
			touched, err := w.mem.Next(low, b.End())
			if err != nil {
				return nil, false, err
			}
			low = touched.Start
			part := w.read(low, b.End()-low)
			for at := 0; ; at++ {
				next := bytes.Index(part[at:], pattern)
				if next < 0 {
					break
				}
				if at += next; len(hits) >= limit {
					return hits, true, nil
				}
				if types == nil {
					if types, err = t.ofImage(ctx, m, false); err != nil {
						return nil, false, err
					}
				}
				hits = append(hits, types.hit(i, &b, low+uint64(at)-b.Addr))
			}
			switch next := low + uint64(len(part)); {
			case next >= b.End():
				low = next
			case len(part) == searchWindow:
				low = next - uint64(len(pattern)) + 1
			default: // a page that cannot be read, or holds nothing
				low = (next + regions.PageSize) &^ (regions.PageSize - 1)
			}
		}
	}
	return hits, false, nil
}

// hit describes a place in block i.
func (x *imageTypes) hit(i int, b *memory.Block, off uint64) BlockHit {
	h := BlockHit{Block: x.typed(i, b), Off: off}
	if h.Block.Type != nil {
		_ = symbols.Guard(func() { h.Field, _ = h.Block.Type.Field(off) })
	}
	return h
}

// searchWindow is how much of the memory of blocks is read at once.
const searchWindow = 256 << 10

// A window is memory that was read last: blocks are small and lie side by side.
type window struct {
	mem *graph.Touched
	low uint64
	buf []byte
}

// read is memory from an address on, at most size bytes of it, and none where it cannot be read.
func (w *window) read(at, size uint64) []byte {
	size = min(size, searchWindow)
	if at < w.low || at+size > w.low+uint64(len(w.buf)) {
		if cap(w.buf) == 0 {
			w.buf = make([]byte, searchWindow)
		}
		n, _ := w.mem.ReadAt(w.buf[:cap(w.buf)], int64(at)) // what could be read
		w.low, w.buf = at, w.buf[:n]
	}
	b := w.buf[at-w.low:]
	return b[:min(uint64(len(b)), size)]
}

// A NoTypeError tells that the type of a block is not known.
type NoTypeError struct {
	Addr    uint64
	NoDebug bool // because there is no debug information
}

func (e *NoTypeError) Error() string {
	if e.NoDebug {
		return fmt.Sprintf("the type of the block at %#x is not known: the code that allocated it has no debug information (info symbols)", e.Addr)
	}
	return fmt.Sprintf("the type of the block at %#x is not known: x shows its memory", e.Addr)
}

// errNoBlock is of addresses in no live block.
var errNoBlock = errors.New("no live block there, in the recording or in glibc's heap")

// Print shows the block around an address as of its type, and keeps it as $N.
func (t *BlockTypes) Print(at uint64, o values.Options) (n int, text string, typ *blocktype.Type, err error) {
	m, err := t.heap.Image()
	if err != nil {
		return 0, "", nil, err
	}
	i, ok := m.Find(at)
	if !ok {
		return 0, "", nil, errNoBlock
	}
	b := m.Block(i)
	if typ = t.Of(&b); typ == nil || typ.Elem == nil {
		return 0, "", nil, &NoTypeError{b.Addr, t.withoutDebug(&b)}
	}
	err = t.values.Guarded(func(f *values.Frame) error {
		of := typ.Elem
		if typ.Array {
			of = of.ArrayOf(int64(typ.Count))
		}
		x := values.MemoryValue(of, addr.Run(b.Addr+typ.Start))
		if err := t.values.World.Unreadable(x); err != nil {
			return err
		}
		if n = t.values.World.KeepAny(x); n > 0 {
			text = t.values.World.FormatTop(f, x, o)
		}
		return nil
	})
	return n, text, typ, err
}
