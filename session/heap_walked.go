package session

import (
	"cmp"
	"errors"
	"slices"

	"hdb/heap/graph"
	"hdb/internal/cond"
	"hdb/memory"
)

// WalkedBlocks are live blocks of which only the allocator's own data tells.
type WalkedBlocks struct {
	Largest []memory.Block
	graph.Sum
}

// Walked are the live blocks that match a condition, which may be nil, the largest first, at most limit
// of them; 0 is all. It is for where nothing is recorded.
func (h *Heap) Walked(c *cond.Cond, limit int) (*WalkedBlocks, error) {
	m, err := h.Image()
	if err != nil {
		return nil, err
	}
	if err := m.Walkable(); err != nil {
		return nil, err
	}
	out := &WalkedBlocks{}
	for _, b := range m.Blocks() {
		if c != nil && !c.Eval(blockEnv{&b}) {
			continue
		}
		out.Blocks++
		out.Bytes += b.Size
		out.Largest = append(out.Largest, b)
		if limit > 0 && len(out.Largest) >= 2*limit {
			out.keepLargest(limit)
		}
	}
	out.keepLargest(limit)
	return out, nil
}

// keepLargest orders the largest blocks, and keeps at most limit of them; 0 is all.
func (w *WalkedBlocks) keepLargest(limit int) {
	slices.SortStableFunc(w.Largest, func(a, b memory.Block) int { return cmp.Compare(b.Size, a.Size) })
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

// Unrecorded tells that an error of a question to the recording means that there is none, and that
// memory can be read instead.
func (h *Heap) Unrecorded(err error) bool {
	return errors.Is(err, errNothingRecorded) && h.common.image != nil && h.readable() == nil
}
