package jemalloc

import (
	"context"
	"encoding/binary"
	"io"
	"slices"

	"hdb/internal/addr"
)

const (
	pageSize   = 4096
	cachePages = 256 // of random reads: 1 MiB
	pieceSize  = 1 << 20
)

// What is read is counted in steps, so that hostile memory cannot have the search go on for long: a word is
// one, a page as many as it has words.
const (
	pageSteps   = pageSize / 8
	searchSteps = 1 << 28 // for the root: about a second
	mostSteps   = 1 << 30 // of the rest: the leaves of 4 TiB
)

// memory reads the process without giving it pages. What is not resident or not mapped reads as
// zeros. After the end of ctx, or after most steps, all of it does.
type memory struct {
	ctx   context.Context
	src   Source
	steps uint64
	most  uint64
	tags  []addr.Run // of the page in each slot, plus 1
	pages []byte
	part  [pageSize]byte // of a leaf that is tried
}

func newMemory(ctx context.Context, src Source) *memory {
	return &memory{ctx: ctx, src: src, most: searchSteps, tags: make([]addr.Run, cachePages), pages: make([]byte, cachePages*pageSize)}
}

// spent tells whether nothing more is to be read.
func (m *memory) spent() bool { return m.steps > m.most || m.ctx.Err() != nil }

// mapping is the index of the mapping that an address lies in, or where it would stand.
func (m *memory) mapping(a addr.Run) (int, bool) {
	return slices.BinarySearchFunc(m.src.Mappings, a, func(x Mapping, a addr.Run) int { return addr.Compare(x.Start, x.End, a) })
}

// data tells whether an address lies in memory without a file that the program can write.
func (m *memory) data(a addr.Run) bool {
	i, ok := m.mapping(a)
	if !ok {
		return false
	}
	x := &m.src.Mappings[i]
	return x.Readable && x.Writable && (x.Path == "" || x.Path[0] == '[')
}

// present yields the parts of a range that can be read without harm, ascending.
func (m *memory) present(r addr.Range, yield func(addr.Range)) {
	i, _ := m.mapping(r.Start)
	for ; i < len(m.src.Mappings) && m.src.Mappings[i].Start < r.End; i++ {
		x := &m.src.Mappings[i]
		part := r.Within(x.Range)
		if !x.Readable || part.Empty() {
			continue
		}
		m.steps += pageSteps
		if m.src.Resident == nil {
			yield(part)
			continue
		}
		known, err := m.src.Resident(part)
		if err != nil {
			continue // not to be touched then
		}
		for _, k := range known {
			if k = k.Within(part); !k.Empty() {
				yield(k)
			}
		}
	}
}

// read reads what is resident of a range into b, which is cleared before.
func (m *memory) read(b []byte, a addr.Run) {
	clear(b)
	m.steps += uint64(len(b)+7) / 8
	if m.spent() || a+addr.Run(len(b)) < a {
		return
	}
	m.present(a.To(a+addr.Run(len(b))), func(r addr.Range) {
		part := b[r.Start-a : r.End-a]
		if n, err := m.src.Memory.ReadAt(part, int64(r.Start)); err != nil && err != io.EOF {
			clear(part[max(0, min(n, len(part))):])
		}
	})
}

// pieces reads what is resident of a range in order, and yields it by pieces, until yield returns false.
func (m *memory) pieces(r addr.Range, buf []byte, yield func(at addr.Run, b []byte) bool) {
	more := true
	m.present(r, func(part addr.Range) {
		for at := part.Start; more && at < part.End && !m.spent(); {
			b := buf[:min(uint64(len(buf)), uint64(part.End-at))]
			m.steps += uint64(len(b)+7) / 8
			n, err := m.src.Memory.ReadAt(b, int64(at))
			if err != nil && err != io.EOF {
				n = max(0, min(n, len(b)))
			}
			if n > 0 {
				more = yield(at, b[:n])
			}
			at += addr.Run(len(b))
		}
	})
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
