package objects

import "hdb/internal/addr"

// maxMarked bounds the blocks with marks: 64 GiB of objects.
const maxMarked = 1 << 20

// A page of marks has a bit for each place in a block where an object may begin.
type markPage struct {
	number uint64
	bits   [blockSize / 8 / 64]uint64
}

// Marks are addresses of objects, by the blocks that they are in: neighbours are found without a miss of the
// processor's cache, as they would not be in a hash table.
type marks struct {
	pages  map[uint64]*markPage
	recent [recent]*markPage
	n      int
}

func newMarks() *marks { return &marks{pages: map[uint64]*markPage{}} }

// page is the one with the mark of an address, nil if it has none.
func (m *marks) page(at addr.Run) *markPage {
	n := uint64(at) / blockSize
	slot := &m.recent[n%recent]
	if p := *slot; p != nil && p.number == n {
		return p
	}
	p := m.pages[n]
	if p != nil {
		*slot = p
	}
	return p
}

func place(at addr.Run) (word int, bit uint64) {
	i := at % blockSize / 8
	return int(i / 64), 1 << (i % 64)
}

// has reports whether an address is marked.
func (m *marks) has(at addr.Run) bool {
	p := m.page(at)
	if p == nil {
		return false
	}
	word, bit := place(at)
	return p.bits[word]&bit != 0
}

// add marks an address, and reports whether it was not marked.
func (m *marks) add(at addr.Run) bool {
	p := m.page(at)
	if p == nil {
		p = &markPage{number: uint64(at) / blockSize}
		m.pages[p.number] = p
	}
	word, bit := place(at)
	if p.bits[word]&bit != 0 {
		return false
	}
	p.bits[word] |= bit
	m.n++
	return true
}

// full tells that no more can be marked.
func (m *marks) full() bool { return m.n >= maxObjects || len(m.pages) >= maxMarked }
