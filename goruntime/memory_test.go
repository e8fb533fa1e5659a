package goruntime

import (
	"encoding/binary"
	"errors"
	"io"
	"slices"
	"testing"
)

// pages are pages of memory, each word of which has its address. It counts reads.
type pages struct {
	at    []uint64
	reads int
}

const pageBytes = 4096

func (m *pages) ReadAt(b []byte, at int64) (int, error) {
	m.reads++
	for i := range b {
		a := uint64(at) + uint64(i)
		if !slices.Contains(m.at, a&^(pageBytes-1)) {
			return i, io.EOF
		}
		b[i] = byte((a &^ 7) >> (8 * (a % 8)))
	}
	return len(b), nil
}

// TestEach reads structures that lie near each other at once, and those near what cannot be read one by one.
func TestEach(t *testing.T) {
	const base = 1 << 20
	page := func(n uint64) uint64 { return base + n*pageBytes }
	for _, c := range []struct {
		name  string
		at    []uint64
		has   []uint64
		reads int
		read  int // structures
	}{
		{"near", []uint64{base, base + 64, base + 1024}, []uint64{page(0)}, 1, 3},
		{"far", []uint64{base, page(3)}, []uint64{page(0), page(3)}, 2, 2},
		{"a hole", []uint64{base, page(1), page(2)}, []uint64{page(0), page(2)}, 1 + 3, 2},
		{"across a page", []uint64{page(1) - 8}, []uint64{page(0), page(1)}, 1, 1},
		{"its end is missing", []uint64{page(1) - 8}, []uint64{page(0)}, 1 + 1, 0},
		{"none", nil, nil, 0, 0},
	} {
		m := &pages{at: c.has}
		read, asked := 0, 0
		Memory{ReaderAt: m}.Each(c.at, func(int) int { return 32 }, func(i int, b []byte) {
			if i != asked {
				t.Errorf("%s: %d comes behind %d structures", c.name, i, asked)
			}
			asked++
			if b == nil {
				return
			}
			read++
			if len(b) != 32 || binary.LittleEndian.Uint64(b) != c.at[i] || binary.LittleEndian.Uint64(b[24:]) != c.at[i]+24 {
				t.Errorf("%s: %x at %#x", c.name, b, c.at[i])
			}
		})
		if asked != len(c.at) || read != c.read || m.reads != c.reads {
			t.Errorf("%s: %d of %d structures by %d reads, want %d by %d", c.name, read, asked, m.reads, c.read, c.reads)
		}
	}
}

// TestEachGivenUp ends before the next read.
func TestEachGivenUp(t *testing.T) {
	m := &pages{at: []uint64{1 << 20, 2 << 20, 3 << 20}}
	var given error
	asked := 0
	Memory{m, func() error { return given }}.Each(m.at, func(int) int { return 8 }, func(i int, b []byte) {
		if asked++; i == 1 {
			given = errors.New("enough")
		}
	})
	if asked != 2 || m.reads != 2 {
		t.Errorf("%d structures by %d reads", asked, m.reads)
	}
}

// TestAddressesAtTheEnd has structures at the last addresses, behind which they would begin again at 0.
func TestAddressesAtTheEnd(t *testing.T) {
	for _, size := range []int{160, 512} {
		got := 0
		at := []uint64{MaxAddress - 8, ^uint64(0) - 400, ^uint64(0) - 300, ^uint64(0) - 7}
		Memory{ReaderAt: &pages{}}.Each(at, func(int) int { return size }, func(i int, b []byte) {
			if got++; b != nil {
				t.Errorf("%#x is readable", at[i])
			}
		})
		if got != len(at) {
			t.Errorf("%d structures of %d bytes, want %d", got, size, len(at))
		}
	}
}

// TestBytes reads arrays of more than is read at once, and one that ends too early.
func TestBytes(t *testing.T) {
	m := &pages{}
	for i := range uint64(2*sliceBytes/pageBytes + 1) {
		m.at = append(m.at, 1<<20+i*pageBytes)
	}
	whole := Memory{ReaderAt: m}
	if b := whole.Bytes(1<<20, 2*sliceBytes+8); len(b) != 2*sliceBytes+8 || word(b, 2*sliceBytes) != 1<<20+2*sliceBytes || m.reads != 3 {
		t.Errorf("%d bytes by %d reads", len(b), m.reads)
	}
	if b := whole.Bytes(1<<20, 1<<46); b != nil {
		t.Errorf("%d bytes", len(b))
	}
	if w := whole.Words(1<<20+8, 3, 2); !slices.Equal(w, []uint64{1<<20 + 8, 1<<20 + 16}) {
		t.Errorf("%#x", w)
	}
}
