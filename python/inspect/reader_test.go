package inspect

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"hdb/internal/addr"
	"hdb/python/layout"
)

// bent is memory that repeats some bytes everywhere, so that chains lead in circles.
type bent []byte

func (m bent) ReadAt(b []byte, at int64) (int, error) {
	if len(m) == 0 || at < 0 {
		return 0, io.ErrUnexpectedEOF
	}
	n := min(len(b), len(m))
	for i := range n {
		b[i] = m[(uint64(at)+uint64(i))%uint64(len(m))]
	}
	for n < len(b) {
		n += copy(b[n:], b[:n-n%len(m)])
	}
	return len(b), nil
}

func none(string) (addr.Run, bool) { return 0, false }

func notGenerator(*Reader, addr.Run) (Generator, error) {
	return Generator{}, errors.New("no generator")
}

// TestBounds has many values that memory says are endless cost no more than one search.
func TestBounds(t *testing.T) {
	mem := bytes.Repeat([]byte{0x18, 0x10, 0, 0, 0, 0, 0, 0}, 64)
	for minor := 8; minor <= 13; minor++ {
		r := New(bent(mem), layout.Of(minor), none, notGenerator).Bounded(MaxSearch)
		for n := range 1000 {
			r.Repr(addr.Run(0x1000+8*n), DefaultLimits)
		}
		if left := *r.left; left < 0 || left == MaxSearch {
			t.Errorf("3.%d: %d bytes are left of %d", minor, left, MaxSearch)
		}
	}
}
