package glibc

import (
	"context"
	"encoding/binary"
	"slices"

	"hdb/heap/resident"
	"hdb/internal/addr"
)

const (
	pageSize   = resident.PageSize
	cachePages = 1024 // of random reads: 4 MiB
)

// What is read in search of something is counted in steps: a word of a page in the cache is one, a read
// of what is not there is as many as a page has places for a chunk. So is reading in order, which is done by the MiB.
const (
	readSteps   = pageSize / granule
	mostSteps   = 1 << 28 // of one search: 2 GiB for the next chain of chunks, 64 GiB in order; seconds
	inOrderStep = 256     // bytes
)

// memory is the process's memory, with what is known of its C library.
type memory struct {
	resident.Memory
	libcs  []string
	layout layout // of the release, known when the main arena is found
	most   uint64 // steps of one search
}

func newMemory(ctx context.Context, src Source, most uint64) *memory {
	return &memory{Memory: resident.New(ctx, src.Source, cachePages, readSteps), libcs: src.Libcs, most: most}
}

// A bound is how far a search may go.
type bound struct {
	mem  *memory
	most uint64 // steps of mem
}

func (m *memory) search() bound { return bound{m, m.Steps + m.most} }

// reached reports whether the search must end.
func (b bound) reached() bool { return b.mem.Steps > b.most || b.mem.Spent() }

// writable reports whether the program can write there.
func (m *memory) writable(a addr.Run) bool {
	i, ok := m.Mapping(a)
	return ok && m.Mappings[i].Writable && m.Mappings[i].Readable
}

// inLibrary reports whether an address is in constants of a module that has malloc.
func (m *memory) inLibrary(a addr.Run) bool {
	i, ok := m.Mapping(a)
	return ok && slices.Contains(m.libcs, m.Mappings[i].Path) && !m.Mappings[i].Writable
}

// present are the parts of a range that can be read.
func (m *memory) present(r addr.Range) []addr.Range { return slices.Collect(m.Present(r)) }

// partAt is the index of the range that an address is in, or of the first one behind it.
func partAt(parts []addr.Range, a addr.Run) (int, bool) {
	return slices.BinarySearchFunc(parts, a, func(r addr.Range, a addr.Run) int { return addr.Compare(r.Start, r.End, a) })
}

// words reads n words at a.
func (m *memory) words(a addr.Run, n int) []uint64 {
	b := make([]byte, 8*n)
	m.Read(b, a)
	all := make([]uint64, n)
	for i := range all {
		all[i] = binary.LittleEndian.Uint64(b[8*i:])
	}
	return all
}
