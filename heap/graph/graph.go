// Package graph answers who points where in a heap. It reads memory once, takes each
// aligned word that is the address of a block for a pointer, and keeps the edges: from
// blocks and roots to blocks, those to a block's start apart from those into its interior.
//
// It knows no process and no allocator: it is given blocks, roots and a reader of memory,
// of a stopped process, of a copy of one, or of a core file. A [Graph] does not change once
// it is built, reads no more memory, and may be asked from several goroutines.
package graph

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"sync"

	"hdb/internal/paged"
)

// A Range is the addresses from Start up to, not including, End.
type Range struct{ Start, End uint64 }

// A Root is memory that the program reaches without the heap: global variables, stacks,
// thread-local storage. What is not block and not root is not looked at.
type Root struct {
	Start, End uint64
	Label      int // the caller's
}

// A Word is a root that is no memory: a register.
type Word struct {
	Value  uint64
	Label  int  // the caller's
	Hidden bool // from the collector, if there is one
}

// Roots are where reachability begins. Memory that is both in a root and in a block counts
// as both.
type Roots struct {
	Ranges []Root
	Words  []Word
}

// Options of [Build]. The zero value reads everything with as many workers as there are
// processors, tries no heuristic that needs the mappings of files, and has no bound.
type Options struct {
	Workers int // goroutines that read and scan; 0: GOMAXPROCS

	// Populated lists the parts of start to end, ascending, that hold anything but zeros that were
	// never written: resident or swapped pages (PAGEMAP_SCAN). Only they are read. It is called by
	// several goroutines. Nil: everything is read.
	Populated func(start, end uint64) ([]Range, error)

	// Files and Code are the readable and the executable mappings of files, ascending:
	// where tables of virtual functions, and the functions in them, may lie.
	Files, Code []Range

	// Without are heuristics not to be used.
	Without Heuristics

	// Fits reports whether b may have been made for a request of asked bytes, where b.Size is only the usable size.
	// Nil: sizes are those requested.
	Fits func(b Block, asked uint64) bool

	// Inner reports whether a runtime keeps a header of its own at the start of b, and pointer leads behind it. word is the
	// address of the pointer, 0 in a register. It is asked of blocks that nothing else reaches. Nil: there is no such runtime.
	Inner func(word, pointer uint64, b Block) bool

	// Collector manages some of the blocks; nil: there is none.
	Collector Collector

	// Families tells which blocks are made alike; it is asked only if blocks are possibly lost. Nil: nothing is known to be
	// held behind a header.
	Families func() (*Families, error)

	// MaxBytes bounds the memory of the graph while it is built, without the list of blocks; 0: none.
	MaxBytes int64
}

// blockBytes is what a block takes in addition to its entry in the list and in the table: where its edges begin,
// its Reach, bits, and its place in the queue as long as it is there.
const blockBytes = 4 + 1 + 1 + 4

// Reach is how the program can come to a block. The words are memcheck's.
type Reach uint8

const (
	// Reachable: from a root, by pointers to starts of blocks ("still reachable").
	Reachable Reach = iota
	// Possible: from a root, but only through a pointer into the interior of a block
	// ("possibly lost").
	Possible
	// Indirect: from no root, but from a block that is lost ("indirectly lost").
	Indirect
	// Definite: from no root, and no other lost block leads to it ("definitely lost"). Of
	// blocks that only point to each other in a circle it is the one at the lowest address.
	Definite
)

func (r Reach) String() string {
	return [...]string{"still reachable", "possibly lost", "indirectly lost", "definitely lost"}[r&3]
}

// Sum is a number of blocks and of bytes.
type Sum struct {
	Blocks int
	Bytes  uint64
}

// An Edge is a word that points to a block.
type Edge struct {
	From   int        // index of the block that the word is in; -1: a root
	Root   int        // of a root: index in Roots.Ranges, or len(Roots.Ranges) + index in Roots.Words
	At     uint64     // address of the word; 0 of a Roots.Words
	To     int        // index of the block
	Offset uint64     // where in the block it points to, 0: its start
	Inside bool       // it points into a managed block, and Offset is not kept
	Weak   bool       // it is no pointer to the start, nor taken for one; to a managed block: hidden from the collector
	Why    Heuristics // why a pointer into the interior makes the block Reachable, which nothing else does; or 0
}

// Stats say what a graph was built of.
type Stats struct {
	Blocks, Edges, Interior, RootEdges int
	Read                               uint64 // bytes
	Skipped                            uint64 // bytes that Options.Populated left out
	Unread                             uint64 // bytes that could not be read; blocks to which only they point are taken for lost
}

// A Graph is who points where in a heap, at one moment. Blocks are named by their index in the
// slice given to [Build].
type Graph struct {
	blocks Blocks
	roots  Roots

	// The edges of block i are edges[first[i]:first[i+1]], ascending by address.
	first     []uint32
	edges     paged.List[edge]
	interior  paged.List[interior]  // of the weak ones and of those heuristics strengthened, ascending by edge
	why       map[uint32]Heuristics // of edges that were strengthened
	rootEdges []rootEdge
	rootWhy   map[int]Heuristics // by index in rootEdges

	reach      []Reach
	behind     bitset // blocks; nil: none
	heads      bitset // of these, those to which words behind a header point
	pools      map[uint32]bool
	behindSums Behind
	collected  bool   // there was a collector
	sharing    bitset // blocks that share a slot with others
	stats      Stats

	backOnce sync.Once
	back     reverse
	lostOnce sync.Once
	lost     []clique
}

// Build reads the memory of the blocks, which ascend and do not overlap, and of the roots. What cannot be
// read is counted ([Stats]); an error is of the arguments, of ctx, or of Options.MaxBytes. The
// graph keeps the slices.
func Build(ctx context.Context, memory io.ReaderAt, blocks *Blocks, roots Roots, o Options) (*Graph, error) {
	if err := checkBlocks(blocks); err != nil {
		return nil, err
	}
	for _, r := range roots.Ranges {
		if r.Start > r.End || r.End > maxAddress {
			return nil, fmt.Errorf("graph: a root is no memory of a process: %#x to %#x", r.Start, r.End)
		}
	}
	if o.Workers == 0 {
		o.Workers = runtime.GOMAXPROCS(0)
	}
	s := &scanner{table: newTable(blocks), memory: memory, roots: roots, o: o}
	if err := s.take(s.table.bytes() + int64(blocks.Len())*blockBytes); err != nil {
		return nil, err
	}
	s.counts = make([]uint32, blocks.Len()+1)
	if err := s.run(ctx); err != nil {
		return nil, err
	}
	g := &Graph{blocks: *blocks, roots: roots, collected: o.Collector != nil}
	g.take(s)
	m := marker{Graph: g, scanner: s, ctx: ctx, workers: o.Workers}
	if err := m.mark(); err != nil {
		return nil, err
	}
	g.stats.Unread, g.stats.Read = s.unread.Load(), s.read.Load()
	return g, nil
}

// take takes the edges that were found.
func (g *Graph) take(s *scanner) {
	for _, c := range s.shared {
		s.counts[c.block+1] += c.edges
	}
	n := uint32(0)
	for i, c := range s.counts {
		n += c
		s.counts[i] = n
	}
	g.first = s.counts
	g.edges, g.interior, g.rootEdges = s.inTurn.edges, s.inTurn.interior, s.inTurn.roots
	for i, word := range g.roots.Words {
		if word.Value-s.lo >= s.span {
			continue
		}
		to, start, ok := s.find(word.Value)
		managed := s.o.manages(word.Value)
		if !ok && (managed || !s.pastEmptyArray(to, word.Value)) {
			continue
		}
		e := rootEdge{to: to, root: uint32(len(g.roots.Ranges) + i), offset: word.Value - g.blocks.addr[to]}
		if !managed && !start || managed && word.Hidden {
			e.to = to | weak
		}
		g.rootEdges = append(g.rootEdges, e)
	}
	g.stats = Stats{Blocks: g.blocks.Len(), Skipped: s.skipped.Load(), RootEdges: len(g.rootEdges), Edges: g.edges.Len(), Interior: g.interior.Len()}
}

// Stats says what the graph was built of.
func (g *Graph) Stats() Stats { return g.stats }
