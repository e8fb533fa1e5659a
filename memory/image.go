// Package memory tells what the memory of a stopped process, or of a core file, holds: its
// regions, the blocks of the heap, and who points to whom.
//
// The blocks are those that the recording knows as live, with the event and the stack that made
// them, and those that only a walk of the allocator's own data finds: they are older than the
// recording, or there is none. Everything is made when it is first asked for, and holds until the
// process runs on.
package memory

import (
	"io"

	"hdb/capture"
	"hdb/internal/addr"
)

// A Source is a stopped process, or what a core file has of one.
type Source struct {
	Memory   io.ReaderAt
	Mappings []Mapping // ascending
	Modules  []Module
	Threads  []Thread
	Recorded []Recorded // live blocks of the recording, in any order
	Arenas   []Range    // of allocators of language runtimes, which are roots as a whole

	// Symbol is where a module, of which this is the path or its last part, has an exported name.
	Symbol func(module, name string) (addr.Run, bool)

	// Resident are the parts of a range that have been written or read by the process, nil: all.
	// Memory outside is not read: the kernel would make page tables for it in the process.
	Resident func(Range) []Range

	GivenUp func() bool // the user wants no answer any more; nil: never
}

// A Range is addresses from Low to below High.
type Range struct{ Low, High uint64 }

// A Mapping is a line of /proc/PID/maps.
type Mapping struct {
	Range
	Perm   string // rwxp or s
	Offset uint64
	Inode  uint64
	Path   string
}

// A Module is a loaded file.
type Module struct {
	Range
	Path string
}

// A Thread is a stopped thread.
type Thread struct {
	Number    int // hdb's
	TID       int
	SP, FS    uint64
	Registers []Register // that may hold a pointer
}

// A Register is a general register of a thread.
type Register struct {
	Name  string
	Value uint64
}

// Recorded is a live block of the recording.
type Recorded struct {
	Addr  uint64
	Size  uint64          // asked for
	Seq   uint64          // the event that made it
	Stack capture.StackID // of it, 0 none
}

// A Block is memory that an allocator has handed out.
type Block struct {
	Addr  uint64
	Size  uint64          // asked for if it is recorded, else what is usable
	Seq   uint64          // the event that made it; 0: it is found by the walk alone
	Stack capture.StackID // 0: none
}

// Contains tells whether an address lies in the block. One of size 0 has its first byte.
func (b *Block) Contains(at uint64) bool { return at-b.Addr < max(b.Size, 1) }

// An Image is what the memory of a Source holds.
type Image struct {
	src    Source
	blocks []Block
}

// New is the image of a source.
func New(src Source) *Image { return &Image{src: src} }

// Blocks are the live blocks, ascending by address, not overlapping.
func (m *Image) Blocks() ([]Block, error) { return m.blocks, nil }
