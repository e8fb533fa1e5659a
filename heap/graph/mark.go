package graph

import (
	"context"
	"math/bits"
	"unsafe"

	"hdb/internal/prefetch"
)

// A marker finds how the program can come to each block, as memcheck does (mc_leakcheck.c).
type marker struct {
	*Graph
	*scanner
	ctx   context.Context
	seen  bitset
	queue []uint32 // blocks seen, in the order they are followed
	at    [frontier]unsafe.Pointer
}

// frontier blocks are followed at a time, so that their edges are fetched at once.
const frontier = 64

// A bitset has a bit for each block.
type bitset []uint64

func newBitset(n int) bitset { return make(bitset, (n+63)/64) }

func (b bitset) has(i uint32) bool { return b[i/64]>>(i&63)&1 != 0 }
func (b bitset) set(i uint32)      { b[i/64] |= 1 << (i & 63) }

// mark sets Graph.reach.
func (m *marker) mark() error {
	n := len(m.Graph.blocks)
	m.reach = make([]Reach, n)
	m.seen = newBitset(n)
	m.queue = make([]uint32, 0, n)
	m.fromRoots(false, Reachable)
	m.flood(0, false, Reachable)
	if err := m.ctx.Err(); err != nil {
		return err
	}
	strong := len(m.queue)
	m.heuristics()
	m.fromRoots(false, Reachable)
	m.fromInterior(false, Reachable)
	m.flood(strong, false, Reachable)
	strong = len(m.queue)
	m.fromRoots(true, Possible)
	m.fromInterior(true, Possible)
	m.flood(strong, true, Possible)
	m.cliques(nil)
	return m.ctx.Err()
}

// push notes that a block is reached.
func (m *marker) push(block uint32, as Reach) {
	if !m.seen.has(block) {
		m.seen.set(block)
		m.reach[block] = as
		m.queue = append(m.queue, block)
	}
}

// fromRoots pushes what roots point to: to the start, or, with weakToo, anywhere.
func (m *marker) fromRoots(weakToo bool, as Reach) {
	for _, e := range m.rootEdges {
		if weakToo || e.to&weak == 0 {
			if e.offset > 0 && m.nowhere(e.to&^weak, e.offset) && e.to&weak != 0 {
				continue
			}
			m.push(e.to&^weak, as)
		}
	}
}

// nowhere is true of an offset behind the end of a block: a pointer that may have been of new T[0].
func (g *Graph) nowhere(block uint32, offset uint64) bool {
	return g.blocks[block].Addr+offset > g.blocks[block].last()
}

// fromInterior pushes what reached blocks point into the interior of: where a heuristic takes it for
// a pointer to the start, or, with weakToo, anywhere.
func (m *marker) fromInterior(weakToo bool, as Reach) {
	if !weakToo && len(m.why) == 0 {
		return
	}
	for _, in := range m.interior {
		if to := m.Graph.edges[in.edge].to; (weakToo || to&weak == 0) && m.seen.has(in.from) {
			m.push(to&^weak, as)
		}
	}
}

// flood follows the queue from an index on to its end: by edges to starts only, or, with weakToo, all.
func (m *marker) flood(head int, weakToo bool, as Reach) {
	first, edges, seen, reach, queue := m.first, m.Graph.edges, m.seen, m.reach, m.queue
	mask := uint32(weak)
	if weakToo {
		mask = 0
	}
	for rounds := 0; head < len(queue); rounds++ {
		if rounds&1023 == 1023 && m.ctx.Err() != nil {
			break
		}
		batch := queue[head:min(head+frontier, len(queue))]
		head += len(batch)
		m.fetch(m.at[:], batch, queue[head:min(head+frontier, len(queue))])
		for _, b := range batch {
			for _, e := range edges[first[b]:first[b+1]] {
				to := e.to
				if to&mask != 0 {
					continue
				}
				to &^= weak
				if word, bit := &seen[to/64], uint64(1)<<(to&63); *word&bit == 0 {
					*word |= bit
					reach[to] = as
					queue = append(queue, to)
				}
			}
		}
	}
	m.queue = queue
}

// fetch asks the processor for the edges of some blocks, and for where those of the next begin.
func (g *Graph) fetch(at []unsafe.Pointer, blocks, next []uint32) {
	if len(blocks) <= 4 {
		return // there is nothing to be fetched beside
	}
	at = at[:0]
	for _, b := range next {
		at = append(at, unsafe.Pointer(&g.first[b]))
	}
	prefetch.Lines(at)
	at = at[:0]
	for _, b := range blocks {
		if e := g.first[b]; e < g.first[b+1] {
			at = append(at, unsafe.Pointer(&g.edges[e]))
		}
	}
	prefetch.Lines(at)
}

// A clique is what is lost with a definitely lost block.
type clique struct {
	leader uint32
	sum    Sum
}

// cliques tells definitely from indirectly lost blocks: each block not seen yet, ascending, is lost
// definitely, and what it leads to indirectly, until it turns out that a later one leads to it. With add set
// the leader is counted with: it is called for each block that a leader takes, and for each leader that another takes.
func (m *marker) cliques(add func(leader, block uint32, wasLeader bool)) {
	for i, word := range m.seen {
		for word = ^word; word != 0; word &= word - 1 {
			leader := uint32(i*64) + uint32(bits.TrailingZeros64(word))
			if int(leader) >= len(m.reach) {
				return
			}
			if m.seen.has(leader) { // by a leader of the same word
				continue
			}
			if m.ctx.Err() != nil {
				return
			}
			m.clique(leader, add)
		}
	}
}

// clique takes what a leader leads to. Leaders are seen, and stay Definite until another one comes to them.
func (m *marker) clique(leader uint32, add func(leader, block uint32, wasLeader bool)) {
	m.seen.set(leader)
	m.reach[leader] = Definite
	queue := append(m.queue[:0], leader)
	for head := 0; head < len(queue); head++ {
		b := queue[head]
		for _, e := range m.Graph.edges[m.first[b]:m.first[b+1]] {
			to := e.to &^ weak
			if to == leader {
				continue
			}
			switch {
			case !m.seen.has(to):
				m.seen.set(to)
				m.reach[to] = Indirect
				queue = append(queue, to)
				if add != nil {
					add(leader, to, false)
				}
			case m.reach[to] == Definite: // a leader until now; what it leads to is lost with it
				m.reach[to] = Indirect
				if add != nil {
					add(leader, to, true)
				}
			}
		}
	}
	m.queue = queue[:0]
}
