package graph

import (
	"context"
	"fmt"
	"slices"
)

// NoGroup is the group of blocks that are in none.
const NoGroup = 1<<32 - 1

// maxMembers bounds the memory of sets of groups.
const maxMembers = 1 << 25

// RetainedBy tells for each of some groups of blocks what would go if nothing pointed to any block of the group: these
// blocks, and what is reached only through them. of is the group of each block, or NoGroup. A block counts once for a
// group, and for each group that all ways to it lead through. [Graph.Retained] says which ways count.
func (g *Graph) RetainedBy(ctx context.Context, of []uint32, groups int) ([]Sum, error) {
	return g.retainedBy(ctx, of, groups, func(Edge) uint32 { return NoGroup })
}

// RetainedByRoots tells for each of some groups of roots what would go if the roots of the group pointed to nothing. of is
// the group of an edge of a root, or NoGroup.
func (g *Graph) RetainedByRoots(ctx context.Context, of func(Edge) uint32, groups int) ([]Sum, error) {
	none := make([]uint32, g.blocks.Len())
	for i := range none {
		none[i] = NoGroup
	}
	return g.retainedBy(ctx, none, groups, of)
}

func (g *Graph) retainedBy(ctx context.Context, of []uint32, groups int, ofRoot func(Edge) uint32) ([]Sum, error) {
	p := passage{Graph: g, of: of, in: make([]uint32, g.blocks.Len()), queued: newBitset(g.blocks.Len()), sets: newGroupSets()}
	for i := range p.in {
		p.in[i] = unknown
	}
	for e := range g.RootEdges() {
		p.comes(uint32(e.To), p.sets.with(0, ofRoot(e)))
	}
	for i, r := range g.reach {
		if r == Definite {
			p.comes(uint32(i), 0)
		}
	}
	f := follower{Graph: g}
	for len(p.next) > 0 {
		queue := p.next
		p.next = p.spare[:0]
		for low := 0; low < len(queue); low += batchLen {
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			if p.sets.members > maxMembers {
				return nil, fmt.Errorf("graph: the groups of %d blocks hold each other in too many ways", g.blocks.Len())
			}
			batch := queue[low:min(low+batchLen, len(queue))]
			f.fetch(batch)
			for _, b := range batch {
				p.leaves(b)
			}
		}
		p.spare = queue
	}
	return p.sum(groups), nil
}

// A passage finds for each block the set of groups that all ways to it lead through. A block's set is what the sets of
// all that points to it share, and its own group. It begins with what is found on one way, and takes away what others
// do not have until nothing changes.
type passage struct {
	*Graph
	of          []uint32
	in          []uint32 // by block, without its own group: a number of a set; unknown: no way has been found yet
	queued      bitset   // blocks in next
	next, spare []uint32 // whose set has changed since it was passed on
	sets        *groupSets
}

const unknown = 1<<32 - 1

// comes tells a block that there is a way to it through the groups of a set.
func (p *passage) comes(block, set uint32) {
	if p.in[block] != unknown {
		set = p.sets.common(p.in[block], set)
	}
	if set == p.in[block] {
		return
	}
	p.in[block] = set
	if !p.queued.has(block) {
		p.queued.set(block)
		p.next = append(p.next, block)
	}
}

// leaves tells what a block points to the ways that lead through it.
func (p *passage) leaves(block uint32) {
	p.queued[block/64] &^= 1 << (block & 63)
	set, lost := p.out(block), p.isLost(block)
	for n := p.first[block]; n < p.first[block+1]; n++ {
		if to := p.edges.At(int(n)).to &^ weak; !lost || p.isLost(to) {
			p.comes(to, set)
		}
	}
}

// out is the set of a block with its own group.
func (p *passage) out(block uint32) uint32 { return p.sets.with(p.in[block], p.of[block]) }

// sum adds up the blocks by their sets, and these by groups.
func (p *passage) sum(groups int) []Sum {
	bySet := make([]Sum, 0, len(p.sets.all))
	for i := range p.in {
		if p.in[i] == unknown {
			p.in[i] = 0 // no pointer leads there that counts: it shares a slot, or garbage of a collector has it
		}
		set := p.out(uint32(i))
		for int(set) >= len(bySet) {
			bySet = append(bySet, Sum{})
		}
		bySet[set].Blocks++
		bySet[set].Bytes += p.blocks.At(i).Size
	}
	out := make([]Sum, groups)
	for set, sum := range bySet {
		for _, k := range p.sets.all[set] {
			out[k].Blocks += sum.Blocks
			out[k].Bytes += sum.Bytes
		}
	}
	return out
}

// groupSets are sets of groups, each of which there is once. Number 0 is the empty one.
type groupSets struct {
	all     [][]uint32 // ascending
	numbers map[string]uint32
	pairs   [2][]pairResult // of with and common, as they were asked last
	members int
	key     []byte
}

// A pairResult is an answer that is kept.
type pairResult struct{ a, b, result uint32 }

const pairsKept = 1 << 14

func newGroupSets() *groupSets {
	s := &groupSets{all: [][]uint32{nil}, numbers: map[string]uint32{"": 0}}
	for i := range s.pairs {
		s.pairs[i] = make([]pairResult, pairsKept)
	}
	s.pairs[0][0].a = unknown // no answer yet to what all others may be: 0 and 0
	return s
}

// with is a set with a group.
func (s *groupSets) with(set, group uint32) uint32 {
	if group == NoGroup {
		return set
	}
	r := s.kept(0, set, group)
	if r.a == set && r.b == group {
		return r.result
	}
	is := set
	if i, ok := slices.BinarySearch(s.all[set], group); !ok {
		is = s.number(slices.Insert(slices.Clone(s.all[set]), i, group))
	}
	*r = pairResult{set, group, is}
	return is
}

// common is what two sets have in common.
func (s *groupSets) common(a, b uint32) uint32 {
	if a == b {
		return a
	}
	if a == 0 || b == 0 {
		return 0
	}
	a, b = min(a, b), max(a, b)
	r := s.kept(1, a, b)
	if r.a == a && r.b == b {
		return r.result
	}
	x, y := s.all[a], s.all[b]
	var both []uint32
	for len(x) > 0 && len(y) > 0 {
		switch {
		case x[0] < y[0]:
			x = x[1:]
		case x[0] > y[0]:
			y = y[1:]
		default:
			both = append(both, x[0])
			x, y = x[1:], y[1:]
		}
	}
	is := s.number(both)
	*r = pairResult{a, b, is}
	return is
}

// kept is where the answer for a pair is, if it is there.
func (s *groupSets) kept(kind int, a, b uint32) *pairResult {
	return &s.pairs[kind][(a*0x9e3779b1^b*0x85ebca6b)>>7&(pairsKept-1)]
}

// number is the number of a set, which it may keep.
func (s *groupSets) number(set []uint32) uint32 {
	s.key = s.key[:0]
	for _, k := range set {
		s.key = append(s.key, byte(k), byte(k>>8), byte(k>>16), byte(k>>24))
	}
	n, ok := s.numbers[string(s.key)]
	if !ok {
		n = uint32(len(s.all))
		s.all = append(s.all, set)
		s.numbers[string(s.key)] = n
		s.members += len(set) + 8 // and what else a set takes
	}
	return n
}
