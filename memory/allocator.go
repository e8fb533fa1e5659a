package memory

import "hdb/heap/glibc"

// A Fit is how recorded blocks fill their chunks.
type Fit struct {
	Blocks    int    `json:"recorded_blocks"`
	Requested uint64 `json:"requested_bytes"` // by the program
	Usable    uint64 `json:"usable_bytes"`    // as malloc_usable_size(3) says
}

// Slack are the bytes that it did not ask for.
func (f Fit) Slack() uint64 { return f.Usable - min(f.Usable, f.Requested) }

// Add adds a block.
func (f *Fit) Add(requested, usable uint64) {
	f.Blocks++
	f.Requested += requested
	f.Usable += usable
}

// Fits visits the chunks in use that the recording knows as blocks of their own, ascending. The
// others it leaves out: older ones, and chunks that are cut up by a pool.
func (m *Image) Fits(visit func(b *Block, usable uint64)) error {
	if err := m.Native(); err != nil {
		return err
	}
	all := &m.merged().all
	rec := cursor{of: m.src.Recorded}
	i := 0
	for c := range m.nativeSpans() {
		for i < all.Len() && all.At(i).Addr < c.Addr {
			i++
		}
		if i == all.Len() || all.At(i).Addr != c.Addr || i+1 < all.Len() && all.At(i+1).Addr < c.Addr+c.Size {
			continue
		}
		if r := rec.at(c.Addr); r != nil && r.Seq != 0 {
			b := *r
			b.Size = all.At(i).Size
			visit(&b, c.Size)
		}
	}
	return nil
}

// Allocator is the name of an allocator of the program whose heap is not walked; "" without.
func (m *Image) Allocator() string {
	if m.src.Other == jemallocName {
		if _, err := m.Jemalloc(); err == nil {
			return ""
		}
	}
	return m.src.Other
}

// BlockAt is the live block that begins at an address.
func (m *Image) BlockAt(at uint64) *Block {
	if i, ok := m.Find(at); ok {
		if b := m.Block(i); b.Addr == at {
			return &b
		}
	}
	return nil
}

// A Neighbour is a chunk next to another one, and its recorded block.
type Neighbour struct {
	glibc.Chunk
	Block *Block // nil: none that is recorded
}

// Neighbour is a chunk with its recorded block.
func (m *Image) Neighbour(c glibc.Chunk) Neighbour {
	n := Neighbour{Chunk: c}
	if c.State.Live() {
		if b := m.BlockAt(uint64(c.Addr)); b != nil && b.Seq != 0 {
			n.Block = b
		}
	}
	return n
}

// Hidden are the recorded blocks that are in chunks of others. If the recording lacks events, they may be
// blocks whose end it has not seen.
func (m *Image) Hidden() []Hidden { return m.merged().hidden }
