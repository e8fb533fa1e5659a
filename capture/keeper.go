package capture

import (
	"cmp"
	"slices"
)

// A keeper makes checkpoints of a recording: from time to time the blocks that
// have become live since the one before, and which of those in it are no more. So
// each block that lives long is written once, and what is live at any moment is
// found without the events before the last checkpoint. Only the jobs of a queue
// use it, in the order of the chunks of events.
type keeper struct {
	last   uint64 // the event of the last checkpoint, 0 if there is none
	next   *checkpoint
	recent []survivors // of the chunks since then
	alive  int         // of them
	ended  []uint64    // events of blocks in earlier checkpoints
	gaveUp bool        // what is live is not known, or there is too much of it

	latest    uint64 // address of the block that was allocated last
	latestTID int32
	sizes     table[uint64] // index into next.sizes
	tids      table[uint32] // index into next.threads

	every   int     // checkpointEvents
	count   uint64  // events in all
	since   int     // the last checkpoint
	written int64   // bytes of all checkpoints
	share   float64 // estimate of the bytes for a block

	bits []uint64 // see chunk
	rels []uint32
}

// survivors are the blocks that lived on when their chunk ended.
type survivors struct {
	blocks []Held // ascending by Seq; with address 0 it ended since
	dead   int
}

// compact drops the blocks that ended, but for the last, by which the chunk is found.
func (s *survivors) compact() {
	last := s.blocks[len(s.blocks)-1].Seq
	s.blocks = slices.Clone(slices.DeleteFunc(s.blocks, func(b Held) bool { return b.Addr == 0 && b.Seq != last }))
	s.dead = 0
}

const (
	// checkpointEvents is the least number of events between two checkpoints: they
	// are read in a tenth of a second.
	checkpointEvents = 1 << 20
	// checkpointCost is how many bytes checkpoints may take for an event, beyond
	// checkpointFree.
	checkpointCost = 0.12
	checkpointFree = 256 << 10
	// maxRecent is how many blocks that are in no checkpoint yet are kept in memory.
	// Of more a checkpoint is made in any case if all take no more than
	// forcedCost for an event beyond forcedFree; otherwise there will be none any more.
	maxRecent  = 1 << 19
	forcedCost = 4 * checkpointCost
	forcedFree = 8 << 20
)

func newKeeper() *keeper { return &keeper{share: 5, every: checkpointEvents} }

// replaced notes that no block lives on.
func (k *keeper) replaced() {
	k.next.fresh = true
	k.recent, k.alive, k.ended, k.latest = nil, 0, nil, 0
}

// chunk follows the events of a chunk and returns the checkpoint after its last
// one, if it is time for one.
func (k *keeper) chunk(head eventHead, t *trail) *checkpoint {
	k.count += uint64(head.count)
	if k.gaveUp {
		return nil
	}
	k.since += head.count
	if k.next == nil {
		k.next = &checkpoint{base: k.last}
		k.sizes.reset()
		k.tids.reset()
	}
	if t.fresh {
		k.replaced()
	}
	if k.follow(head, t.steps); k.gaveUp {
		return nil
	}
	forced := k.alive > maxRecent || len(k.ended) > maxRecent
	cost := int64(k.share*(float64(k.alive)+float64(len(k.ended))/2)) + 3*int64(len(k.next.sizes))
	switch total := k.written + cost; {
	case k.since >= k.every && total <= checkpointFree+int64(checkpointCost*float64(k.count)):
		return k.cut(head.last)
	case forced && total <= forcedFree+int64(forcedCost*float64(k.count)):
		return k.cut(head.last)
	case forced:
		k.giveUp()
	}
	return nil
}

// giveUp ends the checkpoints.
func (k *keeper) giveUp() {
	*k = keeper{gaveUp: true}
}

// follow does the steps of a chunk, in two passes: which of its blocks end in it,
// and then what lives on.
func (k *keeper) follow(head eventHead, steps []step) {
	k.begin(head, steps)
	for i := range steps {
		switch s := &steps[i]; s.what {
		case stepMade:
			if s.addr == 0 {
				k.giveUp()
				return
			}
			k.made(s)
			if at := k.slot(s.rel); at >= 0 {
				k.bits[at>>6] |= 1 << (at & 63)
			}
		case stepEnded, stepLost:
			if s.what == stepEnded && s.addr == k.latest {
				k.next.sizes[k.size(s.size)].Temporary++
				k.next.threads[k.thread(k.latestTID)].Temporary++
			}
			if !k.end(s.gone, head.first) {
				k.giveUp()
				return
			}
		}
	}
	var kept survivors
	for i := range steps {
		s := &steps[i]
		if s.what != stepMade {
			continue
		}
		if at := k.slot(s.rel); k.bits[at>>6]>>(at&63)&1 != 0 {
			kept.blocks = append(kept.blocks, Held{
				Seq: head.first + uint64(s.rel), Addr: s.addr, Size: s.size, Stack: s.stack, TID: s.tid, Func: s.fn, Kind: s.kind,
			})
		}
	}
	if len(kept.blocks) > 0 {
		kept.blocks = slices.Clip(kept.blocks)
		k.recent = append(k.recent, kept)
		k.alive += len(kept.blocks)
	}
}

// begin makes room for a bit for each block of a chunk: by its event's number, or
// where many numbers are left out by the order of the blocks.
func (k *keeper) begin(head eventHead, steps []step) {
	k.rels = k.rels[:0]
	n := head.last - head.first + 1
	if n > 4*uint64(head.count) {
		for i := range steps {
			if steps[i].what == stepMade {
				k.rels = append(k.rels, steps[i].rel)
			}
		}
		n = uint64(len(k.rels))
	}
	words := int(n+63) / 64
	k.bits = slices.Grow(k.bits[:0], words)[:words]
	clear(k.bits)
}

// slot is the index of the bit of a block by its event, -1 if there is none.
func (k *keeper) slot(rel uint32) int {
	if len(k.rels) == 0 {
		if int(rel) < 64*len(k.bits) {
			return int(rel)
		}
		return -1
	}
	if i, ok := slices.BinarySearch(k.rels, rel); ok {
		return i
	}
	return -1
}

// end notes that the block which event #seq made is no more. It is false if there
// is none that lives.
func (k *keeper) end(seq, first uint64) bool {
	switch {
	case seq == 0:
		return false
	case seq >= first:
		if seq-first > 1<<32-1 {
			return false
		}
		at := k.slot(uint32(seq - first))
		if at < 0 || k.bits[at>>6]>>(at&63)&1 == 0 {
			return false
		}
		k.bits[at>>6] &^= 1 << (at & 63)
		return true
	case seq <= k.last:
		k.ended = append(k.ended, seq)
		return true
	}
	i, _ := slices.BinarySearchFunc(k.recent, seq, func(s survivors, seq uint64) int {
		return cmp.Compare(s.blocks[len(s.blocks)-1].Seq, seq)
	})
	if i == len(k.recent) {
		return false
	}
	s := &k.recent[i]
	j, ok := slices.BinarySearchFunc(s.blocks, seq, func(b Held, seq uint64) int { return cmp.Compare(b.Seq, seq) })
	if !ok || s.blocks[j].Addr == 0 {
		return false
	}
	s.blocks[j].Addr = 0
	s.dead++
	k.alive--
	if 4*s.dead > 3*len(s.blocks) && len(s.blocks) > 256 {
		s.compact()
	}
	return true
}

// made counts a block.
func (k *keeper) made(s *step) {
	k.next.sizes[k.size(s.size)].Allocs++
	f := &k.next.threads[k.thread(s.tid)]
	f.Allocs++
	f.Bytes += s.size
	k.latest, k.latestTID = s.addr, s.tid
}

// size is the index of a size.
func (k *keeper) size(n uint64) int32 {
	i, found := k.sizes.at(n, int32(len(k.next.sizes)))
	if !found {
		k.next.sizes = append(k.next.sizes, SizeSum{Size: n})
	}
	return i
}

// thread is the index of a thread.
func (k *keeper) thread(tid int32) int32 {
	i, found := k.tids.at(uint32(tid), int32(len(k.next.threads)))
	if !found {
		k.next.threads = append(k.next.threads, ThreadSum{TID: tid})
	}
	return i
}

// cut makes the checkpoint after event #last, which goes on from.
func (k *keeper) cut(last uint64) *checkpoint {
	c := k.next
	c.after = last
	c.blocks = make([]Held, 0, k.alive)
	for _, s := range k.recent {
		for _, b := range s.blocks {
			if b.Addr != 0 {
				c.blocks = append(c.blocks, b)
			}
		}
	}
	c.ended = k.ended
	slices.Sort(c.ended)
	slices.SortFunc(c.sizes, func(a, b SizeSum) int { return cmp.Compare(a.Size, b.Size) })
	slices.SortFunc(c.threads, func(a, b ThreadSum) int { return cmp.Compare(a.TID, b.TID) })
	k.next, k.recent, k.ended, k.alive, k.since, k.last = nil, nil, nil, 0, 0, last
	return c
}

// wrote tells what the checkpoint took.
func (k *keeper) wrote(c *checkpoint, bytes int) {
	k.written += int64(bytes)
	if n := len(c.blocks) + len(c.ended)/2; n > 1000 {
		k.share = max(2, float64(bytes)/float64(n))
	}
}
