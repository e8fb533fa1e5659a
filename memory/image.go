// Package memory tells what the memory of a stopped process, or of a core file, holds: its
// regions, the blocks of the heap, and who points to whom.
//
// The blocks are those that the recording knows as live, with the event and the stack that made
// them, and those that only a walk of the allocator's own data finds: they are older than the
// recording, or there is none. The graph begins at the roots: registers, the used parts of the
// stacks, the writable data of modules, thread-local storage, mappings of the program. The
// allocator's own data is not a root: its lists lead to every block, free ones included. If the
// allocator is not walked, memory that may hold unrecorded blocks is a root.
//
// An Image is of one moment: it is thrown away when the process runs on. What it has is made
// when it is first asked for.
package memory

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"

	"hdb/capture"
	"hdb/heap/glibc"
	"hdb/heap/golang"
	"hdb/heap/graph"
	"hdb/heap/jemalloc"
	"hdb/heap/regions"
	"hdb/heap/resident"
	"hdb/internal/addr"
)

// A Source is a stopped process, or what a core file has of one.
type Source struct {
	Memory io.ReaderAt
	// Space is divided; the Image adds the arenas. Memory that its Pages do not have is not read:
	// the kernel would make page tables for it in the process.
	Space    regions.Source
	Threads  []Thread
	Recorded Recorded // nil: none
	// Calls are the addresses of a recorded stack, innermost first: what called the allocator is the first. Nil without a recording.
	Calls func(capture.StackID) []addr.Run

	// Past tells what the recording knows memory that is no live block. Nil without a recording.
	Past func() (Past, error)

	// Inner gives graph.Options.Inner of the runtimes in that memory, nil without any. It may be nil.
	Inner func(io.ReaderAt) func(word, pointer uint64, b graph.Block) bool

	// Libcs are the paths, as in the mappings, of the modules that have glibc's malloc, the program's first. Guessed tells that
	// it is a program that may have it: what is in its memory tells.
	// Libc is an address in the one whose malloc the program itself calls, 0 if that is not known.
	Libcs   []string
	Guessed bool
	Libc    addr.Run
	// Go tells where a Go runtime has its heap, and an error why that is not known; nil: there is no runtime.
	// Memory and Stacks are the Image's.
	Go func() (golang.Source, error)
	// Other is the name of another allocator, which the program has instead, and Version its version if that is known; "" without.
	Other, Version string
	// Unread is why a file of the process was not read, which may have the allocator; nil: all were.
	Unread error
	// Bound is the context of the question that has a heap read, and what to call when it is read; nil: it is
	// read to the end. A heap whose reading was given up is not kept.
	Bound func() (context.Context, func())
}

// A Past is what memory was that is no live block of the recording.
type Past struct {
	Had   []addr.Range // blocks, in any order, live ones among them. None where blocks that are not recorded may have taken their places
	Pools []addr.Range // of these, what pools have cut up: it is not free
	All   bool         // all blocks are recorded: the rest of an allocator's memory is free, whether blocks were there or not
}

// A Thread is a stopped thread.
type Thread struct {
	Number    int // hdb's
	TID       int
	SP, FS    addr.Run // FS is 0 if the thread has no thread pointer yet
	PC        addr.Run
	Registers []Register // that may hold a pointer which the thread uses
	Unused    addr.Range // of its stack or the red zone: no instruction to come reads what is there; may be empty
}

// A Register is a general register, which may hold a pointer.
type Register struct {
	Name  string
	Value uint64
}

// A Block is memory that an allocator has handed out.
type Block struct {
	Addr  uint64
	Size  uint64          // asked for if it is recorded, else what is usable
	Room  uint64          // that it takes: in Go its slot's size, else Size
	Seq   uint64          // the event that made it; 0: the walk alone found it
	Stack capture.StackID // 0: none
}

// End is where the block ends.
func (b *Block) End() uint64 { return b.Addr + b.Size }

// An Image is what the memory of a Source holds.
type Image struct {
	src Source

	opened   bool
	heap     *glibc.Heap // nil without one
	err      error       // why there is none
	openedJe bool
	je       *jemalloc.Heap // nil without one
	jeErr    error
	openedGo bool
	golang   *golang.Heap // nil without one
	goErr    error
	arenas   []addr.Range // of golang

	owned  *owner
	blocks *blocks
	space  *regions.Space
	graph  *Graph
}

// New is the image of a source.
func New(src Source) *Image { return &Image{src: src} }

// within has a heap read within the context of the question. cut tells that it was given up, the error is the context's then.
func (m *Image) within(read func(context.Context) error) (cut bool, err error) {
	ctx, done := context.Background(), func() {}
	if m.src.Bound != nil {
		ctx, done = m.src.Bound()
	}
	defer done()
	if err = read(ctx); err != nil && ctx.Err() != nil {
		return true, context.Cause(ctx)
	}
	return false, err
}

// A NoWalkError tells why blocks that are not recorded are not known.
type NoWalkError struct {
	Allocator string // of the program; "": none that is known
	Version   string // of Allocator; "": not known
	Guessed   bool   // nothing but Err tells that the program has no malloc of glibc
	Go        bool   // it has Go's heap
	Err       error
	Unread    error // a file that was not read may have one
}

// noWalk is the error of an allocator that is not walked.
func (m *Image) noWalk(err error) error {
	return &NoWalkError{m.src.Other, m.src.Version, m.src.Guessed, m.src.Go != nil, err, m.src.Unread}
}

// name is the allocator's, with its version.
func (e *NoWalkError) name() string {
	version, _, _ := strings.Cut(e.Version, "-")
	return strings.TrimSpace(e.Allocator + " " + version)
}

func (e *NoWalkError) Error() string {
	var layout *jemalloc.LayoutError
	var version *jemalloc.VersionError
	switch {
	case errors.As(e.Err, &version):
		return fmt.Sprintf("heap of %v; blocks are known from a recording (record start)", e.Err)
	case errors.As(e.Err, &layout) && e.Version != "":
		return fmt.Sprintf("heap of %s: %v; blocks are known from a recording (record start)", e.name(), e.Err)
	case errors.As(e.Err, &layout):
		return fmt.Sprintf("heap of %v; blocks are known from a recording (record start)", e.Err)
	case e.Allocator == jemallocName:
		return "heap of " + e.name() + ": its map of extents was not found: it has not run yet, or is of an unknown version; blocks are known from a recording (record start)"
	case e.Allocator != "":
		return fmt.Sprintf("heap of %s: hdb reads those of glibc's malloc and jemalloc only; blocks are known from a recording (record start)", e.Allocator)
	case e.Go && (e.Guessed || errors.Is(e.Err, errNoLibc)):
		return "heap: the memory is that of Go's runtime, which has no arenas and chunks of malloc: use live, leaks or goroutines"
	case e.Unread != nil:
		return fmt.Sprintf("heap: no allocator found, but not every file was read: %v", e.Unread)
	}
	if e.Guessed {
		return "heap: the program's allocator is not known: glibc's malloc has no arena in it; blocks are known from a recording (record start)"
	}
	return fmt.Sprintf("heap: %v", e.Err)
}

func (e *NoWalkError) Unwrap() error { return e.Err }

// errNoLibc is the error of programs without glibc.
var errNoLibc = errors.New("the program has no malloc of glibc")

// Heap is the heap of glibc's malloc, a *NoWalkError where there is none.
func (m *Image) Heap() (*glibc.Heap, error) {
	if m.opened {
		return m.heap, m.err
	}
	m.opened = true
	if len(m.src.Libcs) == 0 {
		m.err = m.noWalk(errNoLibc)
		return nil, m.err
	}
	src := glibc.Source{Source: m.process(), Libcs: m.src.Libcs, Program: m.src.Libc}
	var h *glibc.Heap
	cut, err := m.within(func(ctx context.Context) (err error) {
		h, err = glibc.Open(ctx, src)
		return err
	})
	if cut {
		m.opened = false
		return nil, err
	}
	if err != nil {
		m.err = m.noWalk(err)
		return nil, m.err
	}
	m.heap = h
	return h, nil
}

// process is what the heaps of glibc and jemalloc are read from.
func (m *Image) process() resident.Source {
	src := resident.Source{Memory: m.src.Memory}
	for i := range m.src.Space.Mappings {
		p := &m.src.Space.Mappings[i]
		src.Mappings = append(src.Mappings, resident.Mapping{
			Range:    p.Start.To(p.End),
			Readable: permits(p.Perm, 0, 'r'), Writable: permits(p.Perm, 1, 'w'), Executable: permits(p.Perm, 2, 'x'), Shared: permits(p.Perm, 3, 's'),
			Path: p.Path,
		})
	}
	for _, t := range m.src.Threads {
		src.Threads = append(src.Threads, resident.Thread{TID: t.TID, FS: t.FS, Low: m.staticTLS(&t)})
	}
	if m.src.Space.Pages != nil {
		src.Resident = func(r addr.Range) (parts []addr.Range, err error) {
			err = m.src.Space.Pages(r.Start, r.End, func(p regions.PageRun) { parts = append(parts, p.Start.To(p.End)) })
			return parts, err
		}
	}
	return src
}

func permits(perm string, i int, letter byte) bool { return i < len(perm) && perm[i] == letter }

// Space is the address space by owners.
func (m *Image) Space() *regions.Space {
	if m.space != nil {
		return m.space
	}
	src := m.src.Space
	if h, err := m.Heap(); err == nil {
		arenas := h.Arenas()
		for _, s := range h.Spans() {
			src.Arenas = append(src.Arenas, regions.Range{Start: s.Start, End: s.End, Label: spanLabel(arenas, s)})
		}
		for _, own := range h.Own() {
			src.Internal = append(src.Internal, regions.Range{Start: own.Start, End: own.End, Label: "the allocator's own"})
		}
	}
	if h, err := m.Jemalloc(); err == nil {
		for _, s := range h.Spans() {
			src.Arenas = append(src.Arenas, regions.Range{Start: s.Start, End: s.End, Label: fmt.Sprintf("jemalloc arena %d", s.Arena)})
		}
		for _, own := range h.Own() {
			src.Internal = append(src.Internal, regions.Range{Start: own.Start, End: own.End, Label: "the allocator's own"})
		}
	}
	m.claimGo(&src)
	m.claimOwned(&src)
	m.space = regions.Divide(&src)
	return m.space
}

// spanLabel says which arena has a span.
func spanLabel(arenas []glibc.Arena, s glibc.Span) string {
	switch {
	case s.Arena < 0:
		return "mmapped chunk"
	case s.Arena < len(arenas) && arenas[s.Arena].Main && arenas[s.Arena].Library > 0:
		return fmt.Sprintf("main arena of C library %d", arenas[s.Arena].Library+1)
	case s.Arena < len(arenas) && arenas[s.Arena].Main:
		return "main arena"
	}
	return fmt.Sprintf("arena %d", s.Arena)
}

// Len is how many live blocks there are. They are named by their numbers, ascending by address; they do not
// overlap, and those that have blocks of a pool in them are left out.
func (m *Image) Len() int { return m.merged().all.Len() }

// Block is block i.
func (m *Image) Block(i int) Block {
	x := m.merged().all.At(i)
	b := Block{Addr: x.Addr, Size: x.Size, Room: x.Size}
	if m.src.Recorded != nil {
		if r, ok := m.src.Recorded.At(b.Addr); ok {
			m.recorded(&b, &r)
		}
	}
	return b
}

// Blocks are all of them, with their numbers.
func (m *Image) Blocks() iter.Seq2[int, Block] {
	return func(yield func(int, Block) bool) {
		all := &m.merged().all
		c := cursor{of: m.src.Recorded}
		for i := range all.Len() {
			x := all.At(i)
			b := Block{Addr: x.Addr, Size: x.Size, Room: x.Size}
			if r := c.at(x.Addr); r != nil {
				m.recorded(&b, r)
			}
			if !yield(i, b) {
				return
			}
		}
	}
}

// recorded adds to a block what is recorded of it.
func (m *Image) recorded(b, r *Block) {
	b.Seq, b.Stack = r.Seq, r.Stack
	if m.inArenas(b.Addr) {
		b.Size = min(r.Size, b.Room)
	}
}

// Find is the index of the block that an address is in. One of size 0 has its first byte.
func (m *Image) Find(at uint64) (int, bool) { return m.merged().all.Find(at) }

// Walked tells how many blocks the walk alone found, and their bytes.
func (m *Image) Walked() graph.Sum { return m.merged().walked }

// Stale is how many blocks of the recording the allocator has back: their end was not seen.
func (m *Image) Stale() int { return m.merged().stale }

// Graph is who points where. It is made once: with the recording of ten million blocks that takes
// seconds, which ctx ends.
func (m *Image) Graph(ctx context.Context) (*Graph, error) {
	if m.graph == nil {
		g, err := m.build(ctx)
		if err != nil {
			return nil, err
		}
		m.graph = g
	}
	return m.graph, nil
}
