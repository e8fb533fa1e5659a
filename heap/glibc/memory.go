package glibc

import (
	"context"
	"encoding/binary"
	"io"
	"slices"

	"hdb/internal/addr"
)

const (
	pageSize   = 4096
	cachePages = 1024 // of random reads: 4 MiB
)

// What is read in search of something is counted in steps: a word of a page in the cache is one, a read
// of what is not there is as many as a page has places for a chunk. So is reading in order, which is done by the MiB.
const (
	readSteps   = pageSize / granule
	mostSteps   = 1 << 28 // of one search: 2 GiB for the next chain of chunks, 64 GiB in order; seconds
	inOrderStep = 256     // bytes
)

// memory reads the process without giving it pages. What is not resident reads as zeros, what is not mapped as well: a
// caller that must tell them apart asks the mappings. After the end of ctx all of it reads as zeros.
type memory struct {
	ctx    context.Context
	src    Source
	layout layout     // of the release, known when the main arena is found
	steps  uint64     // so far
	most   uint64     // of one search
	tags   []addr.Run // of the page in each slot, plus 1
	pages  []byte
}

func newMemory(ctx context.Context, src Source, most uint64) *memory {
	return &memory{ctx: ctx, src: src, most: most, tags: make([]addr.Run, cachePages), pages: make([]byte, cachePages*pageSize)}
}

// A bound is how far a search may go.
type bound struct {
	mem  *memory
	most uint64 // steps of mem
}

func (m *memory) search() bound { return bound{m, m.steps + m.most} }

// reached tells whether the search must end.
func (b bound) reached() bool { return b.mem.steps > b.most || b.mem.ctx.Err() != nil }

// mapping is the index of the mapping that an address lies in, or where it would stand.
func (m *memory) mapping(a addr.Run) (int, bool) {
	return slices.BinarySearchFunc(m.src.Mappings, a, func(x Mapping, a addr.Run) int { return addr.Compare(x.Start, x.End, a) })
}

// writable tells whether the program can write there.
func (m *memory) writable(a addr.Run) bool {
	i, ok := m.mapping(a)
	return ok && m.src.Mappings[i].Writable && m.src.Mappings[i].Readable
}

// present are the parts of a range that can be read without harm, ascending and whole pages.
func (m *memory) present(r addr.Range) []addr.Range {
	if r.Start >= r.End {
		return nil
	}
	var parts []addr.Range
	i, _ := m.mapping(r.Start)
	for ; i < len(m.src.Mappings) && m.src.Mappings[i].Start < r.End; i++ {
		x := m.src.Mappings[i]
		part := r.Within(x.Range)
		if !x.Readable || part.Empty() {
			continue
		}
		if m.src.Resident == nil {
			parts = append(parts, part)
			continue
		}
		known, err := m.src.Resident(part)
		if err != nil {
			continue // not to be touched then
		}
		for _, k := range known {
			if k = k.Within(part); !k.Empty() {
				parts = append(parts, k)
			}
		}
	}
	return parts
}

// partAt is the index of the range that an address lies in, or of the first one behind it.
func partAt(parts []addr.Range, a addr.Run) (int, bool) {
	return slices.BinarySearchFunc(parts, a, func(r addr.Range, a addr.Run) int { return addr.Compare(r.Start, r.End, a) })
}

// read reads what is resident of a range into b, which is cleared before.
func (m *memory) read(b []byte, a addr.Run) {
	clear(b)
	m.steps += readSteps
	if m.ctx.Err() != nil {
		return
	}
	for _, r := range m.present(a.To(a + addr.Run(len(b)))) {
		part := b[r.Start-a : r.End-a]
		if n, err := m.src.Memory.ReadAt(part, int64(r.Start)); err != nil && err != io.EOF {
			clear(part[max(0, min(n, len(part))):])
		}
	}
}

// page is the page at a, which must be a multiple of its size. The result holds until the next call.
func (m *memory) page(a addr.Run) []byte {
	slot := uint64(a) / pageSize % cachePages
	b := m.pages[slot*pageSize : (slot+1)*pageSize]
	if m.tags[slot] != a+1 {
		m.read(b, a)
		m.tags[slot] = a + 1
	}
	return b
}

// word reads the eight bytes at a, which must be a multiple of 8.
func (m *memory) word(a addr.Run) uint64 {
	m.steps++
	off := uint64(a) % pageSize
	if off > pageSize-8 {
		return 0
	}
	return binary.LittleEndian.Uint64(m.page(a - addr.Run(off))[off:])
}

func (m *memory) pointer(a addr.Run) addr.Run { return addr.Run(m.word(a)) }

// words reads n words at a.
func (m *memory) words(a addr.Run, n int) []uint64 {
	b := make([]byte, 8*n)
	m.read(b, a)
	all := make([]uint64, n)
	for i := range all {
		all[i] = binary.LittleEndian.Uint64(b[8*i:])
	}
	return all
}
