// Package resident reads the memory of a stopped process, or of a core file, without giving the process pages that it never had:
// the base of the heap walkers.
package resident

import (
	"context"
	"encoding/binary"
	"io"
	"iter"
	"math"
	"slices"

	"hdb/internal/addr"
)

// PageSize is the size of a page in bytes.
const PageSize = 4096

// A Mapping is one of the process's memory map.
type Mapping struct {
	addr.Range
	Readable, Writable, Executable, Shared bool
	Path                                   string // of the file, or a name such as [heap]; "" of an anonymous one
}

// Private reports whether only the process reads and writes there.
func (m *Mapping) Private() bool { return m.Readable && m.Writable && !m.Shared }

// A Thread is what is needed of one to find its thread-local storage.
type Thread struct {
	TID int
	FS  addr.Run // base of fs: its struct pthread, below which the static thread-local storage lies
	Low addr.Run // where that begins; 0: not known
}

// A Source is a process that is stopped, or a core file.
type Source struct {
	// Memory of the process; offsets are addresses. What is not mapped is an error.
	Memory io.ReaderAt
	// Mappings of the process, ascending.
	Mappings []Mapping
	// Threads of the process; without them no cache of a thread is found, and what these have counts as in use.
	Threads []Thread
	// Resident are the parts of a range that may be read without giving the process pages
	// that it never had: those that are in memory or in swap, ascending. nil means all of it, as in a core file.
	Resident func(addr.Range) ([]addr.Range, error)
}

// A Memory is a Source's memory, with a cache of pages. What is not resident reads as zeros, what is not mapped as
// well: a caller that must tell them apart asks the mappings. Once it is spent, all of it reads as zeros.
//
// What is read is counted in steps, so that hostile memory cannot have a search continue for long: a word of a page in
// the cache is one.
type Memory struct {
	Source
	Steps uint64 // so far; a caller that reads Memory itself adds to them
	Most  uint64 // after this number it is spent

	ctx     context.Context
	perRead uint64 // steps
	cache   []page // each page has one place
}

type page struct {
	tag   addr.Run // its address, plus 1
	bytes [PageSize]byte
}

// New makes a memory that is bounded by ctx alone. Its cache has this number of pages, a power of two; a read that it
// does not serve counts perRead steps.
func New(ctx context.Context, src Source, pages int, perRead uint64) Memory {
	return Memory{Source: src, Most: math.MaxUint64, ctx: ctx, perRead: perRead, cache: make([]page, pages)}
}

// Spent reports whether nothing more is to be read.
func (m *Memory) Spent() bool { return m.Steps > m.Most || m.ctx.Err() != nil }

// Outlive has it read on when its context ends.
func (m *Memory) Outlive() { m.ctx = context.WithoutCancel(m.ctx) }

// Mapping is the index of the mapping that an address is in, or where it would be inserted.
func (m *Memory) Mapping(a addr.Run) (int, bool) {
	return slices.BinarySearchFunc(m.Mappings, a, func(x Mapping, a addr.Run) int { return addr.Compare(x.Start, x.End, a) })
}

// Present are the parts of a range that can be read without harm, ascending.
func (m *Memory) Present(r addr.Range) iter.Seq[addr.Range] {
	return func(yield func(addr.Range) bool) {
		i, _ := m.Mapping(r.Start)
		for more := true; more && i < len(m.Mappings) && m.Mappings[i].Start < r.End; i++ {
			part := r.Within(m.Mappings[i].Range)
			if !m.Mappings[i].Readable || part.Empty() {
				continue
			}
			if m.Resident == nil {
				more = yield(part)
				continue
			}
			known, err := m.Resident(part)
			if err != nil {
				continue // not to be touched then
			}
			for k := 0; more && k < len(known); k++ {
				if in := known[k].Within(part); !in.Empty() {
					more = yield(in)
				}
			}
		}
	}
}

// Bytes is how much of a range is present.
func (m *Memory) Bytes(r addr.Range) (n uint64) {
	for part := range m.Present(r) {
		n += part.Len()
	}
	return n
}

// Read reads what is resident of a range into b, which is cleared before.
func (m *Memory) Read(b []byte, a addr.Run) {
	clear(b)
	m.Steps += m.perRead
	end := a + addr.Run(len(b))
	if m.Spent() || end < a {
		return
	}
	for r := range m.Present(a.To(end)) {
		part := b[r.Start-a : r.End-a]
		clear(part[m.ReadSome(part, r.Start):])
	}
}

// ReadSome reads what it can of what is resident, and tells how many bytes. It counts no steps.
func (m *Memory) ReadSome(b []byte, a addr.Run) int {
	n, _ := m.Memory.ReadAt(b, int64(a))
	return max(0, min(n, len(b)))
}

// Page is the page at a, which must be a multiple of its size. The result holds until the next call.
func (m *Memory) Page(a addr.Run) *[PageSize]byte {
	p := &m.cache[a/PageSize&addr.Run(len(m.cache)-1)]
	if p.tag != a+1 {
		m.Read(p.bytes[:], a)
		p.tag = a + 1
	}
	return &p.bytes
}

// Word reads the eight bytes at a, which must be a multiple of 8.
func (m *Memory) Word(a addr.Run) uint64 {
	m.Steps++
	off := a % PageSize
	if off > PageSize-8 {
		return 0
	}
	return binary.LittleEndian.Uint64(m.Page(a - off)[off:])
}

// Pointer is the address there.
func (m *Memory) Pointer(a addr.Run) addr.Run { return addr.Run(m.Word(a)) }
