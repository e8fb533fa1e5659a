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

	sizes table[uint64] // index into next.sizes
	tids  table[uint32] // index into next.threads

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

// alive has a bit for each block of a chunk that lived on: by its event's number, or
// where numbers are left out by the order of the blocks.
type alive struct {
	bits eventSet
	seqs []uint64 // the numbers of the blocks' events; nil if these are the indexes
}

// slot is the index of the bit of the block that event #seq made, -1 if there is none.
func (s *survivors) slot(seq uint64) int {
	if s.live.seqs == nil {
		return int(seq - s.first)
	}
	if i, ok := slices.BinarySearch(s.live.seqs, seq); ok {
		return i
	}
	return -1
}

// has tells whether a block lives.
func (s *survivors) has(b *Held) bool { return s.live.bits.has(s.slot(b.Seq)) }

// end takes the block out that event #seq made, and tells whether it was in.
func (s *survivors) end(seq uint64) bool {
	at := s.slot(seq)
	if at < 0 || !s.live.bits.has(at) {
		return false
	}
	s.live.bits.remove(at)
	return true
}

// compact drops the blocks that ended.
func (s *survivors) compact() {
	left := make([]Held, 0, s.count)
	for i := range s.blocks {
		if s.has(&s.blocks[i]) {
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
	k.recent, k.alive, k.ended = nil, 0, nil
}

// chunk follows the events of a chunk and returns the checkpoint after its last
// one, if it is time for one.
func (k *keeper) chunk(head *eventHead, o *outcome) *checkpoint {
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
	if o.fresh {
		k.replaced()
	}
	if !k.follow(head, o) {
		k.giveUp()
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

// follow takes in what a chunk did. It is false if a block ended that is not known.
func (k *keeper) follow(head *eventHead, o *outcome) bool {
	k.sum(o)
	for _, seq := range o.ended {
		if seq >= head.first {
			i, ok := o.indexOf(head, seq)
			if !ok || !o.live.has(i) {
				return false
			}
			o.live.remove(i)
		} else if !k.end(seq) {
			return false
		}
	}
	count := o.live.count()
	if count == 0 {
		return true
	}
	kept := survivors{first: head.first, last: head.last, count: count, blocks: make([]Held, 0, count)}
	for i := range o.live.all() {
		m := &o.made[i]
		sh := o.ops[m.op]
		kept.blocks = append(kept.blocks, Held{
			Seq: o.seqOf(head, i), Addr: m.addr, Size: m.size, Stack: o.stacks[m.stack], TID: o.sums[m.thread].TID, Func: sh.fn, Kind: sh.kind,
		})
	}
	if len(o.seqs) == 0 {
		kept.live.bits = slices.Clone(o.live)
	} else {
		kept.live.seqs = make([]uint64, count)
		for i := range kept.blocks {
			kept.live.seqs[i] = kept.blocks[i].Seq
		}
		kept.live.bits.fill(count)
	}
	k.recent = append(k.recent, kept)
	k.alive += count
	return true
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
	if low == len(k.recent) || seq < k.recent[low].first || !k.recent[low].end(seq) {
		return false
	}
	k.alive--
	s := &k.recent[low]
	if s.count--; len(s.blocks) > 256 && 4*s.count < len(s.blocks) {
		s.compact()
	}
	return true
}

// sum adds what a chunk allocated.
func (k *keeper) sum(o *outcome) {
	for n, allocs := range o.sizes.allocs {
		if temporary := o.sizes.temporary[n]; allocs|temporary != 0 {
			s := k.size(uint64(n))
			s.Allocs += uint64(allocs)
			s.Temporary += uint64(temporary)
		}
	}
	for _, n := range o.sizes.largeAllocs {
		k.size(n).Allocs++
	}
	for _, n := range o.sizes.largeTemporary {
		k.size(n).Temporary++
	}
	for i := range o.sums {
		if s := &o.sums[i]; s.Allocs|s.Temporary != 0 {
			t := k.thread(s.TID)
			t.Allocs += s.Allocs
			t.Bytes += s.Bytes
			t.Temporary += s.Temporary
		}
	}
	for _, tid := range o.before {
		k.thread(tid).Temporary++
	}
}

// size is the sum of a size.
func (k *keeper) size(n uint64) *SizeSum {
	i, found := k.sizes.at(n, int32(len(k.next.sizes)))
	if !found {
		k.next.sizes = append(k.next.sizes, SizeSum{Size: n})
	}
	return &k.next.sizes[i]
}

// thread is the sum of a thread.
func (k *keeper) thread(tid int32) *ThreadSum {
	i, found := k.tids.at(uint32(tid), int32(len(k.next.threads)))
	if !found {
		k.next.threads = append(k.next.threads, ThreadSum{TID: tid})
	}
	return &k.next.threads[i]
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
