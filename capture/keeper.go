package capture

import (
	"cmp"
	"math"
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

	latest     uint64 // event of the block that was allocated last, 0 if there is none
	latestAddr uint64
	latestTID  int32
	sizes      table[uint64] // index into next.sizes
	small      [1024]int32   // the same + 1 of the first sizes, 0 none
	tids       table[uint32] // index into next.threads
	lastThread int32         // index of the thread looked for last

	every   int     // checkpointEvents
	count   uint64  // events in all
	since   int     // the last checkpoint
	written int64   // bytes of all checkpoints
	share   float64 // estimate of the bytes for a block
}

// survivors are the blocks that lived on when their chunk ended.
type survivors struct {
	first, last uint64 // events of the chunk
	blocks      []Held // ascending by Seq, also those that ended since
	live        alive
	count       int // of blocks that live
}

// alive has a bit for each block of a chunk: by its event's number, or where many
// numbers are left out by the order of the blocks.
type alive struct {
	bits []uint64
	rels []uint32 // the numbers of the blocks' events, minus that of the chunk's first; nil if these are the indexes
}

// slot is the index of the bit of a block by its event, -1 if there is none.
func (a *alive) slot(rel uint64) int {
	if a.rels == nil {
		if rel < 64*uint64(len(a.bits)) {
			return int(rel)
		}
		return -1
	}
	if i, ok := slices.BinarySearch(a.rels, uint32(rel)); ok && rel <= math.MaxUint32 {
		return i
	}
	return -1
}

func (a *alive) has(at int) bool { return a.bits[at>>6]>>(at&63)&1 != 0 }
func (a *alive) set(at int)      { a.bits[at>>6] |= 1 << (at & 63) }

// end takes the block out, and tells whether it was in.
func (a *alive) end(rel uint64) bool {
	at := a.slot(rel)
	if at < 0 || !a.has(at) {
		return false
	}
	a.bits[at>>6] &^= 1 << (at & 63)
	return true
}

// compact drops the blocks that ended.
func (s *survivors) compact() {
	left := make([]Held, 0, s.count)
	for i := range s.blocks {
		if s.live.has(s.live.slot(s.blocks[i].Seq - s.first)) {
			left = append(left, s.blocks[i])
		}
	}
	s.blocks = left
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
		k.small = [1024]int32{}
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
	now := newAlive(head, steps)
	made := 0
	for i := range steps {
		switch s := &steps[i]; s.what {
		case stepMade:
			if s.addr == 0 {
				k.giveUp()
				return
			}
			k.made(s, head.first+uint64(s.high))
			now.set(now.slot(uint64(s.high)))
			made++
		case stepEnded, stepLost:
			if s.what == stepEnded && s.gone() == k.latest && s.addr == k.latestAddr { // a realloc may tell another than that at its old address
				k.next.sizes[k.size(s.size)].Temporary++
				k.next.threads[k.thread(k.latestTID)].Temporary++
			}
			seq := s.gone()
			if seq >= head.first && now.end(seq-head.first) {
				made--
			} else if seq >= head.first || !k.end(seq) {
				k.giveUp()
				return
			}
		}
	}
	if made == 0 {
		return
	}
	kept := survivors{first: head.first, last: head.last, live: now, count: made, blocks: make([]Held, 0, made)}
	for i := range steps {
		if s := &steps[i]; s.what == stepMade && now.has(now.slot(uint64(s.high))) {
			kept.blocks = append(kept.blocks, Held{
				Seq: head.first + uint64(s.high), Addr: s.addr, Size: s.size, Stack: StackID(s.low), TID: s.tid, Func: s.fn, Kind: s.kind,
			})
		}
	}
	k.recent = append(k.recent, kept)
	k.alive += made
}

// newAlive has room for the blocks of a chunk.
func newAlive(head eventHead, steps []step) (a alive) {
	n := head.last - head.first + 1
	if n > 4*uint64(head.count) {
		a.rels = []uint32{}
		for i := range steps {
			if steps[i].what == stepMade {
				a.rels = append(a.rels, steps[i].high)
			}
		}
		n = uint64(len(a.rels))
	}
	a.bits = make([]uint64, (n+63)/64)
	return a
}

// end notes that the block which event #seq made, before the chunk, is no more. It is
// false if there is none that lives, as far as is known.
func (k *keeper) end(seq uint64) bool {
	if seq <= k.last {
		k.ended = append(k.ended, seq)
		return seq > 0
	}
	low, high := 0, len(k.recent)
	for low < high { // the chunk that it was in
		if mid := (low + high) / 2; k.recent[mid].last < seq {
			low = mid + 1
		} else {
			high = mid
		}
	}
	if low == len(k.recent) || seq < k.recent[low].first || !k.recent[low].live.end(seq-k.recent[low].first) {
		return false
	}
	k.alive--
	s := &k.recent[low]
	if s.count--; len(s.blocks) > 256 && 4*s.count < len(s.blocks) {
		s.compact()
	}
	return true
}

// made counts the block that event #seq made.
func (k *keeper) made(s *step, seq uint64) {
	k.next.sizes[k.size(s.size)].Allocs++
	f := &k.next.threads[k.thread(s.tid)]
	f.Allocs++
	f.Bytes += s.size
	k.latest, k.latestAddr, k.latestTID = seq, s.addr, s.tid
}

// size is the index of a size.
func (k *keeper) size(n uint64) int32 {
	if n < uint64(len(k.small)) {
		if k.small[n] == 0 {
			k.next.sizes = append(k.next.sizes, SizeSum{Size: n})
			k.small[n] = int32(len(k.next.sizes))
		}
		return k.small[n] - 1
	}
	i, found := k.sizes.at(n, int32(len(k.next.sizes)))
	if !found {
		k.next.sizes = append(k.next.sizes, SizeSum{Size: n})
	}
	return i
}

// thread is the index of a thread.
func (k *keeper) thread(tid int32) int32 {
	if i := k.lastThread; int(i) < len(k.next.threads) && k.next.threads[i].TID == tid {
		return i
	}
	i, found := k.tids.at(uint32(tid), int32(len(k.next.threads)))
	if !found {
		k.next.threads = append(k.next.threads, ThreadSum{TID: tid})
	}
	k.lastThread = i
	return i
}

// cut makes the checkpoint after event #last, which goes on from.
func (k *keeper) cut(last uint64) *checkpoint {
	c := k.next
	c.after = last
	c.blocks = make([]Held, 0, k.alive)
	for i := range k.recent {
		s := &k.recent[i]
		s.compact()
		c.blocks = append(c.blocks, s.blocks...)
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
