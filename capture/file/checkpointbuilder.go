package file

import (
	"cmp"
	"slices"

	"hdb/capture"
)

// A checkpointBuilder makes checkpoints of a recording: from time to time the blocks that
// have become live since the one before, and which of those in it are no more. So
// each block that lives long is written once, and what is live at any moment is
// found without the events before the last checkpoint. Only the jobs of a queue
// use it, in the order of the chunks of events.
type checkpointBuilder struct {
	last   uint64           // the event of the last checkpoint, 0 if there is none
	next   *checkpointDraft // what was since then
	spare  *checkpointDraft // memory to use again
	gaveUp bool             // what is live is not known, or there is too much of it

	every   int     // checkpointEvents
	count   uint64  // events in all
	since   int     // the last checkpoint
	written int64   // bytes of all checkpoints
	share   float64 // estimate of the bytes for a block
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
	maxRecent  = 1 << 18
	forcedCost = 4 * checkpointCost
	forcedFree = 8 << 20
)

func newCheckpointBuilder() *checkpointBuilder {
	return &checkpointBuilder{share: 5, every: checkpointEvents}
}

// chunk follows the events of a chunk and returns the checkpoint after its last
// one, if it is time for one.
func (k *checkpointBuilder) chunk(head *eventHead, o *chunkEffects) *checkpointDraft {
	k.count += uint64(head.count)
	if k.gaveUp {
		return nil
	}
	k.since += head.count
	if k.next == nil {
		if k.next, k.spare = k.spare, nil; k.next == nil {
			k.next = new(checkpointDraft)
		}
		k.next.begin(k.last)
	}
	if o.fresh {
		k.next.replaced()
	}
	if !k.follow(head, o) {
		k.giveUp()
		return nil
	}
	c := k.next
	forced := c.alive > maxRecent || c.ended.count > maxRecent
	cost := int64(k.share*(float64(c.alive)+float64(c.ended.count)/2)) + 3*int64(len(c.sizes))
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

// replaced notes that no block lives on.
func (c *checkpointDraft) replaced() {
	c.fresh = true
	c.forget()
}

// giveUp ends the checkpoints.
func (k *checkpointBuilder) giveUp() {
	*k = checkpointBuilder{gaveUp: true}
}

// follow takes in what a chunk did. It is false if a block ended that is not known.
func (k *checkpointBuilder) follow(head *eventHead, o *chunkEffects) bool {
	if o.renumbered {
		return false
	}
	k.next.sum(o)
	for ended := o.ended; len(ended) > 0; {
		n := 1
		switch seq := ended[0]; {
		case seq >= head.first:
			i, ok := o.indexOf(head, seq)
			if !ok || !o.live.has(i) {
				return false
			}
			o.live.remove(i)
		case seq > k.last:
			if n = k.next.end(ended); n == 0 {
				return false
			}
		default:
			if n = k.next.ended.take(ended, k.last); n == 0 {
				return false
			}
		}
		ended = ended[n:]
	}
	k.next.survivors(head, o)
	if k.next.count > 2*k.next.alive+eventsPerChunk {
		k.next.compact()
	}
	return true
}

// sum adds what a chunk allocated.
func (c *checkpointDraft) sum(o *chunkEffects) {
	for n, allocs := range o.sizes.allocs {
		if temporary := o.sizes.temporary[n]; allocs|temporary != 0 {
			s := c.size(uint64(n))
			s.Allocs += uint64(allocs)
			s.Temporary += uint64(temporary)
		}
	}
	c.large(o.sizes.largeAllocs)
	for _, n := range o.sizes.largeTemporary {
		c.size(n).Temporary++
	}
	for i := range o.sums {
		if s := &o.sums[i]; s.Allocs|s.Temporary != 0 {
			t := c.thread(s.TID)
			t.Allocs += s.Allocs
			t.Bytes += s.Bytes
			t.Temporary += s.Temporary
		}
	}
	for _, tid := range o.before {
		c.thread(tid).Temporary++
	}
}

// large counts blocks of smallSizes bytes and more. Of these, too, most have the sizes of
// others.
func (c *checkpointDraft) large(allocs []uint64) {
	var usual recentSizes
	for {
		if allocs = allocs[usual.count(c.sizes, allocs):]; len(allocs) == 0 {
			return
		}
		i := c.largeSize(allocs[0])
		c.sizes[i].Allocs++
		u := usual.slot(allocs[0])
		u.size, u.at = allocs[0], uint64(i)
		allocs = allocs[1:]
	}
}

// recentSizes have the index of a size by some bits of it; 0 is none.
type recentSizes [256]struct{ size, at uint64 }

func (u *recentSizes) slot(size uint64) *struct{ size, at uint64 } {
	return &u[size*0x9e3779b97f4a7c15>>56]
}

// count counts blocks up to the first of another size, and returns how many they are. It
// calls nothing.
func (u *recentSizes) count(sizes []capture.SizeSum, allocs []uint64) int {
	for i, size := range allocs {
		k := u.slot(size)
		if k.size != size {
			return i
		}
		sizes[k.at].Allocs++
	}
	return len(allocs)
}

// size is the sum of a size.
func (c *checkpointDraft) size(n uint64) *capture.SizeSum {
	if n < smallSizes {
		return c.smallSize(n)
	}
	return &c.sizes[c.largeSize(n)]
}

// largeSize is the index of the sum of another size.
func (c *checkpointDraft) largeSize(n uint64) int32 {
	i, found := c.sizeAt.At(n, int32(len(c.sizes)))
	if !found {
		c.sizes = append(roomy(c.sizes, 256), capture.SizeSum{Size: n})
	}
	return i
}

// smallSize is the sum of a size below smallSizes.
func (c *checkpointDraft) smallSize(n uint64) *capture.SizeSum {
	at := &c.smallAt[n]
	if *at == 0 {
		c.sizes = append(roomy(c.sizes, 256), capture.SizeSum{Size: n})
		*at = uint32(len(c.sizes))
	}
	return &c.sizes[*at-1]
}

// thread is the sum of a thread.
func (c *checkpointDraft) thread(tid int32) *capture.ThreadSum {
	i, found := c.tidAt.At(uint32(tid), int32(len(c.threads)))
	if !found {
		c.threads = append(c.threads, capture.ThreadSum{TID: tid})
	}
	return &c.threads[i]
}

// cut makes the checkpoint after event #last, which continues from.
func (k *checkpointBuilder) cut(last uint64) *checkpointDraft {
	c := k.next
	c.after = last
	slices.SortFunc(c.sizes, func(a, b capture.SizeSum) int { return cmp.Compare(a.Size, b.Size) })
	slices.SortFunc(c.threads, func(a, b capture.ThreadSum) int { return cmp.Compare(a.TID, b.TID) })
	k.next, k.since, k.last = nil, 0, last
	return c
}

// wrote tells what the checkpoint took, which is not needed any more.
func (k *checkpointBuilder) wrote(c *checkpointDraft, bytes int) {
	k.written += int64(bytes)
	if n := c.alive + c.ended.count/2; n > 1000 {
		k.share = max(2, float64(bytes)/float64(n))
	}
	k.spare = c
}
