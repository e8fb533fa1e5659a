package glibc

import (
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"testing"

	"hdb/heap/resident"
	"hdb/internal/addr"
)

// A pocked memory cannot be read from some pages on: reads that reach there are short.
type pocked struct {
	section
	bad func(page uint64) bool
}

func (p pocked) ReadAt(b []byte, off int64) (int, error) {
	at := addr.Run(off)
	for n := 0; n < len(b); {
		here := at + addr.Run(n)
		if !p.Contains(here) || p.bad(uint64(here)/pageSize) {
			return n, errors.New("not there")
		}
		part := min(len(b)-n, pageSize-int(here%pageSize))
		n += copy(b[n:n+part], p.data[here-p.Start:])
	}
	return len(b), nil
}

// TestWindow goes through memory in order, with some long strides, and wants each word as it is there, however much is
// read ahead.
func TestWindow(t *testing.T) {
	const size = 40 << 20
	s := blank(0x10000000, size)
	for o := 0; o < size; o += 8 {
		s.put(o, uint64(o)*0x9e3779b97f4a7c15)
	}
	for seed := range uint64(8) {
		r := rand.New(rand.NewPCG(seed, 1))
		m := pocked{s, func(page uint64) bool { return seed%2 == 1 && page%1500 == 77 }}
		parts := []addr.Range{{Start: s.Start, End: s.Start + 10<<20}, {Start: s.Start + 10<<20 + pageSize, End: s.End}}
		w := newWindow(newMemory(t.Context(), Source{Source: resident.Source{Memory: m}}, 0), parts, make([]byte, mostAhead))
		known, ahead := 0, 0
		for a := s.Start; a < s.End-header; {
			prev, word, ok := w.head(a)
			inside := a+header <= parts[0].End || a >= parts[1].Start
			if want := inside && !m.bad(uint64(a)/pageSize) && !m.bad(uint64(a+15)/pageSize); ok != want {
				t.Fatalf("seed %d: %v is read: %v", seed, a, ok)
			}
			if o := a - s.Start; ok && (prev != binary.LittleEndian.Uint64(s.data[o:]) || word != binary.LittleEndian.Uint64(s.data[o+8:])) {
				t.Fatalf("seed %d: at %v are %#x, %#x", seed, a, prev, word)
			}
			if ok {
				known++
			}
			ahead = max(ahead, len(w.next))
			if a += addr.Run(16 * (1 + r.IntN(100))); r.IntN(20000) == 0 {
				a += addr.Run(r.IntN(6<<20)) &^ 15
			}
		}
		w.end()
		if ahead != readers || known < 10000 {
			t.Errorf("seed %d: %d places, %d pieces ahead", seed, known, ahead)
		}
	}
}
