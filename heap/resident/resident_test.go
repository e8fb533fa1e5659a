package resident

import (
	"context"
	"encoding/binary"
	"io"
	"math"
	"slices"
	"testing"

	"hdb/internal/addr"
)

const base = addr.Run(0x10000000)

// words is memory whose words are their addresses; it notes what is read.
type words struct{ read []addr.Range }

func (w *words) ReadAt(b []byte, off int64) (int, error) {
	a := addr.Run(off)
	w.read = append(w.read, a.To(a+addr.Run(len(b))))
	for i := 0; i+8 <= len(b); i += 8 {
		binary.LittleEndian.PutUint64(b[i:], uint64(a)+uint64(i))
	}
	if a >= base+7*PageSize { // its end is not there
		return 16, io.ErrUnexpectedEOF
	}
	return len(b), nil
}

// source has eight pages, of which the third is not resident and the fifth not readable, and one at the end of all addresses.
func source(w *words) Source {
	return Source{
		Memory: w,
		Mappings: []Mapping{
			{Range: base.To(base + 4*PageSize), Readable: true},
			{Range: (base + 4*PageSize).To(base + 5*PageSize)},
			{Range: (base + 5*PageSize).To(base + 8*PageSize), Readable: true},
			{Range: addr.Run(math.MaxUint64 - PageSize + 1).To(math.MaxUint64), Readable: true},
		},
		Resident: func(r addr.Range) (parts []addr.Range, err error) {
			hole := (base + 2*PageSize).To(base + 3*PageSize)
			for _, part := range []addr.Range{(r.Start &^ (PageSize - 1)).To(min(r.End, hole.Start)), max(r.Start, hole.End).To(r.End)} {
				if !part.Empty() {
					parts = append(parts, part)
				}
			}
			return parts, nil
		},
	}
}

func TestPresent(t *testing.T) {
	m := New(t.Context(), source(&words{}), 4, 1)
	for _, c := range []struct {
		r    addr.Range
		want []addr.Range
	}{
		{base.To(base + 8*PageSize), []addr.Range{base.To(base + 2*PageSize), (base + 3*PageSize).To(base + 4*PageSize), (base + 5*PageSize).To(base + 8*PageSize)}},
		{(base + 8).To(base + 16), []addr.Range{(base + 8).To(base + 16)}},
		{(base + 4*PageSize).To(base + 5*PageSize), nil},
		{base.To(base), nil},
		{(base + PageSize).To(base), nil},
	} {
		got := slices.Collect(m.Present(c.r))
		if !slices.Equal(got, c.want) {
			t.Errorf("%v: %v, want %v", c.r, got, c.want)
		}
		bytes := uint64(0)
		for _, r := range c.want {
			bytes += r.Len()
		}
		if n := m.Bytes(c.r); n != bytes {
			t.Errorf("%v: %d bytes, want %d", c.r, n, bytes)
		}
	}
}

func TestWord(t *testing.T) {
	w := &words{}
	m := New(t.Context(), source(w), 4, 100)
	for _, c := range []struct{ at, want addr.Run }{
		{base, base},
		{base + PageSize - 8, base + PageSize - 8},
		{base + PageSize - 4, 0}, // over two pages
		{base + 2*PageSize, 0},   // not resident
		{base + 4*PageSize, 0},   // not readable
		{base + 7*PageSize + 8, base + 7*PageSize + 8},
		{base + 7*PageSize + 16, 0}, // not read
		{base - 8, 0},               // not mapped
		{math.MaxUint64 - 7, 0},     // the end of the page is no address
	} {
		if got := m.Pointer(c.at); got != c.want {
			t.Errorf("at %v: %v, want %v", c.at, got, c.want)
		}
	}
	for _, r := range w.read {
		if m.Bytes(r) != r.Len() {
			t.Errorf("%v was read", r)
		}
	}
	for _, c := range []struct {
		at    addr.Run
		steps uint64
	}{{base + 5*PageSize, 101}, {base + 5*PageSize + 8, 1}, {base + PageSize, 101}, {base + 5*PageSize, 101}} { // of one place in the cache
		before := m.Steps
		if m.Word(c.at); m.Steps != before+c.steps {
			t.Errorf("at %v: %d steps, want %d", c.at, m.Steps-before, c.steps)
		}
	}
}

func TestSpent(t *testing.T) {
	ctx, end := context.WithCancel(t.Context())
	m := New(ctx, source(&words{}), 4, 1)
	m.Most = 2
	if m.Spent() || m.Word(base) == 0 || m.Spent() || m.Word(base+PageSize) != 0 || !m.Spent() {
		t.Errorf("%d steps of %d", m.Steps, m.Most)
	}
	m = New(ctx, source(&words{}), 4, 1)
	end()
	if !m.Spent() || m.Word(base) != 0 {
		t.Error("it reads on when its context has ended")
	}
	if m.Outlive(); m.Spent() || m.Word(base+PageSize) == 0 {
		t.Error("it ended with its context")
	}
}
