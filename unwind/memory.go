package unwind

import (
	"encoding/binary"
	"fmt"
	"io"

	"hdb/internal/addr"
)

// unreadable is the error for memory that cannot be read at an address.
type unreadable addr.Run

func (u unreadable) Error() string { return fmt.Sprintf("unreadable stack at %v", addr.Run(u)) }

const (
	pageSize    = 4096
	firstWindow = 8 << 10  // holds most stacks whole
	lastWindow  = 64 << 10 // windows double up to this while a walk needs more
	maxAddrBits = 56       // user addresses with five-level page tables
)

// A memory reads the inferior in windows, because each read of a live process is a
// system call. It holds a few: a stack, a signal stack, code.
type memory struct {
	source  io.ReaderAt
	windows [4]window
	next    int // the window to be replaced
	grow    int // size of the next one
}

type window struct {
	low addr.Run
	buf []byte // what could be read from low on
}

// reset drops what was read, because the inferior has run since. It keeps the buffers.
func (m *memory) reset(source io.ReaderAt) {
	m.source, m.next, m.grow = source, 0, firstWindow
	for i := range m.windows {
		m.windows[i].buf = m.windows[i].buf[:0]
	}
}

// bytes is the n bytes at a, valid until the next call; nil if any cannot be read.
// n is at most a page.
func (m *memory) bytes(a addr.Run, n int) []byte {
	for i := range m.windows {
		w := &m.windows[i]
		if off := uint64(a - w.low); off < uint64(len(w.buf)) && n <= len(w.buf)-int(off) {
			return w.buf[off : int(off)+n]
		}
	}
	// Stacks are walked upwards, so a window begins at the page of the address. The
	// memory of a core file may begin inside a page: then only the bytes themselves are
	// read.
	low := a &^ (pageSize - 1)
	if w := m.fill(low, m.grow); len(w.buf) >= int(a-low)+n {
		m.grow = min(2*m.grow, lastWindow)
		return w.buf[a-low:][:n]
	}
	if w := m.fill(a, n); len(w.buf) == n {
		return w.buf
	}
	return nil
}

// fill replaces a window by what can be read at low. Kernel addresses are not read: they
// may not be valid offsets of a ReaderAt.
func (m *memory) fill(low addr.Run, size int) *window {
	w := &m.windows[m.next]
	m.next = (m.next + 1) % len(m.windows)
	if cap(w.buf) < size {
		w.buf = make([]byte, size)
	}
	w.low, w.buf = low, w.buf[:0]
	if low>>maxAddrBits != 0 {
		return w
	}
	// A short read is not an error: it ends at the end of a mapping.
	n, _ := m.source.ReadAt(w.buf[:size], int64(low))
	w.buf = w.buf[:max(0, min(n, size))]
	return w
}

func (m *memory) word(a addr.Run) (uint64, bool) {
	b := m.bytes(a, 8)
	if b == nil {
		return 0, false
	}
	return binary.LittleEndian.Uint64(b), true
}
