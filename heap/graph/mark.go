package graph

import (
	"context"
	"iter"
	"math/bits"
	"slices"
)

// A marker finds how the program can come to each block, as memcheck does (mc_leakcheck.c).
type marker struct {
	*Graph
	*scanner
	ctx     context.Context
	workers int // goroutines
	seen    bitset
	queue   []uint32 // blocks seen that are to be followed
}

// A bitset has a bit for each block.
type bitset []uint64

func newBitset(n int) bitset { return make(bitset, (n+63)/64) }

func (b bitset) has(i uint32) bool { return b[i/64]>>(i&63)&1 != 0 }
func (b bitset) set(i uint32)      { b[i/64] |= 1 << (i & 63) }

// all yields the bits that are set, ascending.
func (b bitset) all() iter.Seq[uint32] {
	return func(yield func(uint32) bool) {
		for i, word := range b {
			for ; word != 0; word &= word - 1 {
				if !yield(uint32(i*64 + bits.TrailingZeros64(word))) {
					return
				}
			}
		}
	}
}

// mark sets Graph.reach.
func (m *marker) mark() error {
	n := m.Graph.blocks.Len()
	m.reach = make([]Reach, n)
	m.seen = newBitset(n)
	m.sharers()
	m.fromRoots(false)
	m.flood(false)
	if err := m.ctx.Err(); err != nil {
		return err
	}
	m.heuristics()
	m.fromRoots(false)
	m.fromInterior(false)
	m.flood(false)
	strong := slices.Clone(m.seen)
	m.fromRoots(true)
	m.fromInterior(true)
	m.flood(true)
	if err := m.behindHeaders(strong); err != nil {
		return err
	}
	for i := range strong {
		strong[i] ^= m.seen[i]
	}
	for b := range strong.all() {
		m.reach[b] = Possible
	}
	m.fromGarbage()
	m.cliques(nil)
	return m.ctx.Err()
}

// push notes that a block is reached.
func (m *marker) push(block uint32) {
	if m.seen.has(block) {
		return
	}
	m.seen.set(block)
	m.queue = append(m.queue, block)
	if m.Graph.sharing != nil && m.Graph.sharing.has(block) {
		for _, b := range m.Graph.slot(block, nil) {
			if !m.seen.has(b) {
				m.seen.set(b)
				m.queue = append(m.queue, b)
			}
		}
	}
}

// fromRoots pushes what roots point to: to the start, or, with weakToo, anywhere.
func (m *marker) fromRoots(weakToo bool) {
	for _, e := range m.rootEdges {
		if weakToo || e.to&weak == 0 {
			if e.offset > 0 && m.nowhere(e.to&^weak, e.offset) && e.to&weak != 0 {
				continue
			}
			m.push(e.to &^ weak)
		}
	}
}

// nowhere is true of an offset behind the end of a block: a pointer that may have been of new T[0].
func (g *Graph) nowhere(block uint32, offset uint64) bool {
	b := g.blocks.At(int(block))
	return b.Addr+offset > b.last()
}

// fromInterior pushes what reached blocks point into the interior of: where a heuristic takes it for
// a pointer to the start, or, with weakToo, anywhere.
func (m *marker) fromInterior(weakToo bool) {
	if !weakToo && len(m.why) == 0 {
		return
	}
	for i := range m.interior.Len() {
		in := m.interior.At(i)
		if to := m.Graph.edges.At(int(in.edge)).to; (weakToo || to&weak == 0) && m.seen.has(in.from) {
			m.push(to &^ weak)
		}
	}
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
		for n := m.first[b]; n < m.first[b+1]; n++ {
			to := m.Graph.edges.At(int(n)).to &^ weak
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
