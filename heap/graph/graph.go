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
	"io"
	"iter"
	"runtime"
)

// A Block is a piece of memory that the program has from its allocator.
type Block struct {
	Addr uint64
	Size uint64 // bytes the program asked for, or may use; may be 0
}

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
	Value uint64
	Label int // the caller's
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

	// Populated lists the parts of start to end, ascending, that hold anything but zeros
	// that nobody has written: resident or swapped pages (PAGEMAP_SCAN). Only they are read. It is
	// called by several goroutines. Nil: everything is read.
	Populated func(start, end uint64) ([]Range, error)

	// Files and Code are the readable and the executable mappings of files, ascending:
	// where tables of virtual functions, and the functions in them, may lie.
	Files, Code []Range

	// Without are heuristics not to be used.
	Without Heuristics

	// MaxBytes bounds the memory of the graph while it is built; 0: none.
	MaxBytes int64
}

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
	From   int        // index of the block that the word lies in; -1: a root
	Root   int        // of a root: index in Roots.Ranges, or len(Roots.Ranges) + index in Roots.Words
	At     uint64     // address of the word; 0 of a Roots.Words
	To     int        // index of the block
	Offset uint64     // where in the block it points to, 0: its start
	Why    Heuristics // why a pointer into the interior counts as one to the start, or 0
}

// A Fault is memory that could not be read. Blocks to which only it points are taken for lost.
type Fault struct {
	Range
	Err error
}

// Stats say what a graph was built of.
type Stats struct {
	Blocks, Edges, Interior, RootEdges int
	Read                               uint64 // bytes
	Skipped                            uint64 // bytes that Options.Populated left out
	Unread                             uint64 // bytes that could not be read, those of Faults and more
}

// A Graph is who points where in a heap, at one moment. Blocks are named by their index in the
// slice given to [Build].
type Graph struct {
	blocks []Block
	roots  Roots
}

// Build reads the memory of the blocks, which ascend and do not overlap, and of the roots. What cannot be read is
// counted ([Graph.Faults]); an error is of the arguments, of ctx, or of Options.MaxBytes. The
// graph keeps the slices.
func Build(ctx context.Context, memory io.ReaderAt, blocks []Block, roots Roots, o Options) (*Graph, error) {
	if o.Workers == 0 {
		o.Workers = runtime.GOMAXPROCS(0)
	}
	return &Graph{blocks: blocks, roots: roots}, ctx.Err()
}

// Blocks is what the graph was built of.
func (g *Graph) Blocks() []Block { return g.blocks }

// Stats says what the graph was built of.
func (g *Graph) Stats() Stats { return Stats{Blocks: len(g.blocks)} }

// Faults lists memory that could not be read, the first thousand pieces.
func (g *Graph) Faults() []Fault { return nil }

// Find is the block that an address lies in, which for one of size 0 is its start.
func (g *Graph) Find(address uint64) (block int, ok bool) { return 0, false }

// Reach is how the program can come to a block.
func (g *Graph) Reach(block int) Reach { return Reachable }

// Sums adds up the blocks of each Reach.
func (g *Graph) Sums() [4]Sum { return [4]Sum{} }

// Lost is, for a definitely lost block, what is lost with it: the indirectly lost blocks that it leads to,
// without itself. A block that several lead to is counted with the last of them, as memcheck does.
func (g *Graph) Lost(block int) Sum { return Sum{} }

// To lists the edges into a block: first those of roots, then those of blocks, ascending.
func (g *Graph) To(block int) iter.Seq[Edge] { return func(func(Edge) bool) {} }

// From lists the edges out of a block, ascending by the address of the word.
func (g *Graph) From(block int) iter.Seq[Edge] { return func(func(Edge) bool) {} }

// Path is a shortest chain of edges from a root to a block, by starts of blocks only if it is
// Reachable; nil if no root leads there.
func (g *Graph) Path(block int) []Edge { return nil }

// Retained is what would go if nothing pointed to the block: it, and what is reached only through it.
func (g *Graph) Retained(ctx context.Context, block int) (Sum, error) { return Sum{}, ctx.Err() }

// A Dominators tells for each block what only it keeps alive.
type Dominators struct{}

// RetainedAll finds what each block keeps alive, all at once: the dominator tree of the graph from its
// roots and, as if they were roots, from the definitely lost blocks.
func (g *Graph) RetainedAll(ctx context.Context) (*Dominators, error) {
	return &Dominators{}, ctx.Err()
}

// Retained is the block and what is reached only through it.
func (d *Dominators) Retained(block int) Sum { return Sum{} }

// Parent is the block without which this one could not be reached, the nearest such; -1 if there is none.
func (d *Dominators) Parent(block int) int { return -1 }
