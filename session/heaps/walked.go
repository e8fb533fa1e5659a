package heaps

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"hdb/heap/graph"
	"hdb/internal/cond"
	"hdb/memory"
	"hdb/session/recordings"
	"hdb/session/target"
)

// WalkedBlocks are live blocks of which only the allocator's own data tells.
type WalkedBlocks struct {
	Largest []TypedBlock
	graph.Sum
	Go      bool      // sizes of blocks of Go are those of their slots
	Unknown graph.Sum // blocks of Go of no type that is known, if the condition asks for types
}

// Walked are the live blocks that match a condition, which may be nil, the largest first, at most limit
// of them; 0 is all. It is for where nothing is recorded.
func (h *Heap) Walked(ctx context.Context, c *cond.Cond, limit int) (*WalkedBlocks, error) {
	m, err := h.Image()
	if err != nil {
		return nil, err
	}
	if err := m.Walkable(); err != nil {
		return nil, err
	}
	asked := c != nil && c.UsesPredicate(cond.Type)
	types, err := h.types.ofImage(ctx, m, asked || limit == 0)
	if err != nil {
		return nil, err
	}
	out := &WalkedBlocks{}
	for i, b := range m.Blocks() {
		if i&1023 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		b = atSlotSize(m, b)
		if asked {
			types.addUnknown(&out.Unknown, i, &b)
		}
		if !types.matches(c, i, &b) {
			continue
		}
		out.Blocks++
		out.Bytes += b.Size
		out.Go = out.Go || m.InGo(b.Addr)
		out.Largest = append(out.Largest, TypedBlock{Block: b, index: i})
		if limit > 0 && len(out.Largest) >= 2*limit {
			out.keepLargest(limit)
		}
	}
	out.keepLargest(limit)
	for i := range out.Largest {
		b := &out.Largest[i]
		if b.Type = types.of(b.index, &b.Block); ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
	return out, nil
}

// UnrecordedBlocks returns the live blocks, by usable size, that no event records, if calls of the process were missed. It is nil if
// none were missed or the heap cannot be read.
func (h *Heap) UnrecordedBlocks(ctx context.Context) (*WalkedBlocks, error) {
	if h.target.Mode() != target.Live || !h.recorded.CallsMissed() || h.target.Readable() != nil {
		return nil, nil
	}
	m, err := h.Image()
	if err != nil || m.Walkable() != nil {
		return nil, ctx.Err()
	}
	out := &WalkedBlocks{}
	for i, b := range m.Blocks() {
		if i&1023 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if b.Seq != 0 {
			continue
		}
		out.Blocks++
		out.Bytes += atSlotSize(m, b).Size
		out.Go = out.Go || m.InGo(b.Addr)
	}
	return out, nil
}

// keepLargest orders the largest blocks, and keeps at most limit of them; 0 is all.
func (w *WalkedBlocks) keepLargest(limit int) {
	slices.SortStableFunc(w.Largest, func(a, b TypedBlock) int { return cmp.Compare(b.Size, a.Size) })
	if limit > 0 && len(w.Largest) > limit {
		w.Largest = w.Largest[:limit]
	}
}

// Block is the live block around an address, which need not be recorded.
func (h *Heap) Block(at uint64) (memory.Block, bool) {
	m, err := h.Image()
	if err != nil {
		return memory.Block{}, false
	}
	i, ok := m.Find(at)
	if !ok {
		return memory.Block{}, false
	}
	return m.Block(i), true
}

// Unrecorded tells that an error of a question to the recording means that there is none, or none of the blocks of
// a Go runtime, and that memory can be read instead.
func (h *Heap) Unrecorded(err error) bool {
	return (errors.Is(err, recordings.ErrNothingRecorded) || errors.Is(err, recordings.ErrGo)) && h.target.Image != nil && h.target.Readable() == nil
}
