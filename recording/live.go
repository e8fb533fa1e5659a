package recording

import (
	"iter"
	"slices"

	"hdb/heap"
)

// Live is the live heap that a Recording follows.
type Live struct{ r *Recording }

// Live is the live heap.
func (r *Recording) Live() Live { return Live{r} }

// Unsized is how many blocks of unknown size were freed.
func (l Live) Unsized() uint64 {
	l.r.mu.Lock()
	defer l.r.mu.Unlock()
	return l.r.run.unsized + l.r.run.live.Strays()
}

// Blocks are the addresses and sizes of the live blocks.
func (l Live) Blocks() iter.Seq2[uint64, uint64] {
	return func(yield func(block, size uint64) bool) {
		l.r.mu.Lock()
		defer l.r.mu.Unlock()
		for block, b := range l.r.run.live.All() {
			if !yield(block, b.Size) {
				return
			}
		}
	}
}

// RecordedFrom yields the live blocks that are in the recording from an address on, ascending. The Recording is not to
// be asked meanwhile.
func (l Live) RecordedFrom(low uint64) iter.Seq2[uint64, heap.Block] {
	return func(yield func(block uint64, b heap.Block) bool) {
		l.r.mu.Lock()
		defer l.r.mu.Unlock()
		for block, b := range l.r.run.live.From(low) {
			if b.Logged && !yield(block, b) {
				return
			}
		}
	}
}

// RecordedNear are the live blocks of the recording around an address.
func (l Live) RecordedNear(addr uint64) heap.Near {
	l.r.mu.Lock()
	defer l.r.mu.Unlock()
	return l.r.run.live.Near(addr)
}

// RecordedAt is the live block of the recording that begins at the address.
func (l Live) RecordedAt(block uint64) (heap.Block, bool) {
	l.r.mu.Lock()
	defer l.r.mu.Unlock()
	b, ok := l.r.run.live.At(block)
	return b, ok && b.Logged
}

// RecordedBlocks are the live blocks that are in the recording, ascending; none if they
// are more than limit, or if there are mappings, whose ends are not told by one address.
func (l Live) RecordedBlocks(limit int) []uint64 {
	l.r.mu.Lock()
	defer l.r.mu.Unlock()
	if l.r.run.live.AnyMapped() {
		return nil
	}
	var blocks []uint64
	for block, b := range l.r.run.live.All() {
		if b.Logged {
			blocks = append(blocks, block)
		}
		if len(blocks) > limit {
			return nil
		}
	}
	slices.Sort(blocks)
	return blocks
}

// AnyRecorded reports whether blocks or mappings that are in the recording are live.
func (l Live) AnyRecorded() bool {
	l.r.mu.Lock()
	defer l.r.mu.Unlock()
	if l.r.run.recorded == 0 {
		return false
	}
	if l.r.run.live.AnyMapped() {
		return true
	}
	for _, b := range l.r.run.live.All() {
		if b.Logged {
			return true
		}
	}
	return false
}

// Recorded reports whether the live block at the address is in the recording.
func (l Live) Recorded(block uint64) bool {
	l.r.mu.Lock()
	defer l.r.mu.Unlock()
	b, ok := l.r.run.live.At(block)
	return ok && b.Logged
}

// Has reports whether a live block begins at the address.
func (l Live) Has(block uint64) bool {
	l.r.mu.Lock()
	defer l.r.mu.Unlock()
	_, ok := l.r.run.live.At(block)
	return ok
}

// Forget forgets the live block at the address, whose end will not be seen, unless it is in the
// recording.
func (l Live) Forget(block uint64) {
	l.r.mu.Lock()
	defer l.r.mu.Unlock()
	if b, ok := l.r.run.live.At(block); ok && !b.Logged {
		l.r.run.live.Take(block)
	}
}

// RecordedSize is the part of the live heap that is in the recording.
func (l Live) RecordedSize() (bytes uint64, blocks int) {
	l.r.mu.Lock()
	defer l.r.mu.Unlock()
	for _, b := range l.r.run.live.All() {
		if b.Logged {
			bytes += b.Size
			blocks++
		}
	}
	return bytes, blocks
}
