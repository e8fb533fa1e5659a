package graph

import (
	"context"
	"sync"
	"sync/atomic"
	"unsafe"

	"hdb/internal/prefetch"
)

const (
	batchLen = 64      // blocks that are followed at a time, so that their edges are fetched at once
	partLen  = 1 << 11 // blocks that a goroutine gives to others at a time
	wide     = 1 << 14 // blocks to be followed, from which on several goroutines do
)

// flood follows the queue until it is empty: by edges to starts only, or, with weakToo, all. Which blocks are
// seen does not depend on the order.
func (m *marker) flood(weakToo bool) {
	f := follower{Graph: m.Graph, seen: m.seen, mask: weak}
	if weakToo {
		f.mask = 0
	}
	for len(m.queue) > 0 && m.ctx.Err() == nil {
		if m.queue = f.step(m.queue); len(m.queue) >= wide && m.workers > 1 {
			c := newCrowd(m.queue)
			m.queue = nil
			for range m.workers {
				c.wg.Go(func() {
					f := follower{Graph: f.Graph, seen: f.seen, mask: f.mask, shared: true}
					c.work(m.ctx, &f)
				})
			}
			c.wg.Wait()
		}
	}
	m.queue = m.queue[:0]
}

// A crowd is goroutines that follow edges together. Each has a queue of its own, and gives of it to others.
type crowd struct {
	wg sync.WaitGroup

	mu    sync.Mutex
	more  sync.Cond    // there are parts, or no worker is busy
	parts [][]uint32   // that no worker follows yet
	spare [][]uint32   // room for parts
	idle  atomic.Int64 // how many wait for parts
	busy  int          // how many do not
}

func newCrowd(queue []uint32) *crowd {
	c := &crowd{}
	c.more.L = &c.mu
	for len(queue) > 0 {
		n := min(partLen, len(queue))
		c.parts, queue = append(c.parts, queue[:n:n]), queue[n:]
	}
	return c
}

// work follows parts until there are none left, or ctx ends.
func (c *crowd) work(ctx context.Context, f *follower) {
	c.mu.Lock()
	c.busy++
	c.mu.Unlock()
	var queue []uint32
	for ctx.Err() == nil {
		if len(queue) == 0 {
			if queue = c.take(queue); len(queue) == 0 {
				return
			}
		}
		queue = f.step(queue)
		if len(queue) >= 2*partLen || len(queue) > batchLen && c.idle.Load() > 0 {
			queue = c.share(queue)
		}
	}
	c.mu.Lock()
	c.busy--
	c.more.Broadcast()
	c.mu.Unlock()
}

// take is a queue of blocks that others have left, empty when all is done.
func (c *crowd) take(queue []uint32) []uint32 {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.busy--
	c.idle.Add(1)
	defer c.idle.Add(-1)
	for len(c.parts) == 0 {
		if c.busy == 0 {
			c.more.Broadcast()
			return nil
		}
		c.more.Wait()
	}
	c.busy++
	n := len(c.parts) - 1
	part := c.parts[n]
	c.parts, c.spare = c.parts[:n], append(c.spare, part)
	return append(queue, part...)
}

// share leaves the first blocks of a queue to others, and returns the rest.
func (c *crowd) share(queue []uint32) []uint32 {
	c.mu.Lock()
	defer c.mu.Unlock()
	var part []uint32
	if n := len(c.spare); n > 0 {
		part, c.spare = c.spare[n-1], c.spare[:n-1]
	}
	n := min(partLen, len(queue)/2)
	c.parts = append(c.parts, append(part[:0], queue[:n]...))
	c.more.Signal()
	return queue[:copy(queue, queue[n:])]
}

// A follower follows edges: all of them, or except those that mask has.
type follower struct {
	*Graph
	seen   bitset
	mask   uint32
	shared bool // with other followers
	batch  [batchLen]uint32
	at     [batchLen]unsafe.Pointer
}

// step follows the last blocks of a queue, and appends what they point to and was not seen.
func (f *follower) step(queue []uint32) []uint32 {
	batch := f.batch[:copy(f.batch[:], queue[max(0, len(queue)-batchLen):])]
	queue = queue[:len(queue)-len(batch)]
	f.fetch(batch)
	for _, b := range batch {
		for low, high := int(f.first[b]), int(f.first[b+1]); low < high; {
			part := f.edges.Part(low, high)
			low += len(part)
			for _, e := range part {
				if to := e.to &^ weak; e.to&f.mask == 0 && f.sees(to) {
					queue = append(queue, to)
					if f.Graph.sharing != nil && f.Graph.sharing.has(to) {
						queue = f.slots(to, queue)
					}
				}
			}
		}
	}
	return queue
}

// slots appends the blocks that share a slot with one and were not seen.
func (f *follower) slots(block uint32, queue []uint32) []uint32 {
	n := len(queue)
	queue = f.slot(block, queue)
	kept := queue[:n]
	for _, b := range queue[n:] {
		if f.sees(b) {
			kept = append(kept, b)
		}
	}
	return kept
}

// sees notes a block as seen, and reports whether it was not.
func (f *follower) sees(b uint32) bool {
	word, bit := &f.seen[b/64], uint64(1)<<(b&63)
	if atomic.LoadUint64(word)&bit != 0 {
		return false
	}
	if f.shared {
		return atomic.OrUint64(word, bit)&bit == 0
	}
	*word |= bit
	return true
}

// fetch asks the processor for where the edges of some blocks begin, and then for the edges.
func (f *follower) fetch(blocks []uint32) {
	if len(blocks) <= 4 {
		return // there is nothing else to be fetched
	}
	at := f.at[:0]
	for _, b := range blocks {
		at = append(at, unsafe.Pointer(&f.first[b]))
	}
	prefetch.Lines(at)
	at = at[:0]
	for _, b := range blocks {
		if e := f.first[b]; e < f.first[b+1] {
			at = append(at, unsafe.Pointer(f.edges.At(int(e))))
		}
	}
	prefetch.Lines(at)
}
