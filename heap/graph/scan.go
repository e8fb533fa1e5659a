package graph

import (
	"context"
	"errors"
	"io"
	"sync"
	"sync/atomic"

	"hdb/internal/paged"
)

const (
	pieceBytes = 1 << 20 // of one read: process_vm_readv is fastest from here on
	unitBytes  = 8 << 20 // of what a worker takes at a time, at least
	maxUnits   = 1 << 16
	holeBytes  = 64 << 10  // between blocks, from which on it is not read
	faultPage  = 4 << 10   // read alone where a larger read failed
	maxEdges   = 1<<32 - 2 // their numbers have 32 bits, and one means none
	wordBytes  = 8
)

// A unit is a part of the memory to be scanned: of the blocks, or of one root.
type unit struct {
	Range
	first int // of blocks: the first one that ends behind Start
	root  int // of a root: its index; -1: blocks

	scanned bool
	found   found // until the units before it are scanned, too
}

// found is what a unit's words point to.
type found struct {
	edges    []edge
	interior []interior
	roots    []rootEdge
}

// An edge is a word that points to a block, kept with the block that it is in.
type edge struct {
	to   uint32 // the block, with weak set if it is not its start that is pointed to
	word uint32 // number of the word in its block, counted from the first that is aligned
}

// weak is set in edges that point into the interior of a block, as long as no heuristic takes them for pointers to the start.
const weak = 1 << 31

// An interior says more of a weak edge.
type interior struct {
	edge   uint32 // its number
	offset uint32 // in the block it points to; farAway if it is no smaller
	from   uint32 // the block it is in
}

const (
	farAway = 1<<32 - 1
	dropped = farAway - 1 // the pointer turned out to be to no block
)

// A rootEdge is a word of a root that points to a block.
type rootEdge struct {
	at     uint64
	offset uint64
	to     uint32 // as of an edge
	root   uint32 // as Edge.Root
}

// A scanner reads memory and collects edges.
type scanner struct {
	*table
	memory io.ReaderAt
	roots  Roots
	o      Options
	counts []uint32 // edges of each block at its index + 1: all but those that shared has
	shared []sharedCount
	units  []unit

	next    atomic.Int64 // the unit to be taken
	bytes   atomic.Int64 // of the graph
	edges   atomic.Int64
	read    atomic.Uint64
	skipped atomic.Uint64
	unread  atomic.Uint64

	mu     sync.Mutex // for what follows, shared, and scanned and found of units
	turn   int        // the first unit that is not scanned
	inTurn struct {   // what the units before it have found
		edges    paged.List[edge]
		interior paged.List[interior]
		roots    []rootEdge
	}
	err error
}

// A sharedCount is edges of a block that several units have a part of.
type sharedCount struct{ block, edges uint32 }

// makeUnits splits the memory.
func (s *scanner) makeUnits() {
	total := s.blocks.bytes()
	for _, r := range s.roots.Ranges {
		total += r.End - r.Start
	}
	size := max(unitBytes, total/maxUnits&^(wordBytes-1))
	for i, r := range s.roots.Ranges {
		for at := r.Start; at < r.End; {
			end := min(r.End, alignDown(at)+size)
			s.units = append(s.units, unit{Range: Range{at, end}, root: i})
			at = end
		}
	}
	s.unitsOfBlocks(size)
}

func (s *scanner) unitsOfBlocks(size uint64) {
	var u unit
	var in uint64 // bytes of blocks in it
	begin := func(i int, at uint64) {
		u, in = unit{Range: Range{at, at}, first: i, root: -1}, 0
	}
	end := func() {
		if in > 0 {
			s.units = append(s.units, u)
		}
	}
	for i := range s.blocks.Len() {
		b := s.blocks.At(i)
		if i == 0 {
			begin(0, b.Addr)
		}
		from, to := b.Addr, b.Addr+b.Size
		for in+(to-from) > size {
			cut := max(from, (from+size-in)&^(wordBytes-1)) // no word is cut
			in += cut - from
			u.End = cut
			end()
			begin(i, cut)
			from = cut
		}
		in += to - from
		u.End = to
	}
	end()
}

// run scans all units.
func (s *scanner) run(ctx context.Context) error {
	s.makeUnits()
	var wg sync.WaitGroup
	for range max(1, min(s.o.Workers, len(s.units))) {
		wg.Go(func() { s.work(ctx) })
	}
	wg.Wait()
	if err := ctx.Err(); err != nil {
		return err
	}
	return s.err
}

// work takes units until none is left.
func (s *scanner) work(ctx context.Context) {
	w := &worker{scanner: s, words: make([]uint64, pieceBytes/wordBytes)}
	for ctx.Err() == nil {
		n := int(s.next.Add(1)) - 1
		if n >= len(s.units) {
			return
		}
		if err := w.unit(ctx, &s.units[n]); err != nil {
			s.mu.Lock()
			s.err = errors.Join(s.err, err)
			s.mu.Unlock()
			s.next.Store(int64(len(s.units))) // the others end, too
			return
		}
	}
}
