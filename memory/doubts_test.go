package memory

import (
	"encoding/binary"
	"io"
	"testing"

	"hdb/goruntime"
	"hdb/heap/golang"
)

// sparse is memory that has words at some addresses, and zeros between them.
type sparse map[uint64]uint64

func (m sparse) ReadAt(b []byte, at int64) (int, error) {
	if at >= 1<<40 {
		return 0, io.EOF
	}
	for i := range b {
		a := uint64(at) + uint64(i)
		b[i] = byte(m[a&^7] >> (8 * (a % 8)))
	}
	return len(b), nil
}

// put writes a value of some bytes.
func (m sparse) put(at int, v uint64, bytes int) {
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], v)
	for i := range bytes {
		a := uint64(at + i)
		m[a&^7] = m[a&^7]&^(0xff<<(8*(a%8))) | uint64(b[i])<<(8*(a%8))
	}
}

// TestDoubtsOfGo has a Go heap with two spans in one place, and one with a finalizer that cannot be read.
func TestDoubtsOfGo(t *testing.T) {
	layout, err := goruntime.Of("go1.27")
	if err != nil {
		t.Fatal(err)
	}
	l := layout.Heap()
	const heap, list, structures = 1 << 20, 1 << 21, 1 << 22
	for _, c := range []struct {
		spans int
		torn  int
		other uint64 // where the second span begins
		first uint64 // of its specials
	}{{1, 0, 0, 0}, {2, 0, 1 << 31, 0}, {2, 1, 1 << 30, 0}, {2, 1, 1 << 31, 1 << 41}} {
		m := sparse{}
		m.put(heap+l.AllSpans, list, 8)
		m.put(heap+l.AllSpans+8, uint64(c.spans), 8)
		for i := range c.spans {
			s := structures + 1024*i
			m.put(list+8*i, uint64(s), 8)
			m.put(s+l.StartAddr, []uint64{1 << 30, c.other}[i], 8)
			m.put(s+l.NPages, 1, 8)
			m.put(s+l.FreeIndex, 2, 2)
			m.put(s+l.NElems, 2, 2)
			m.put(s+l.ElemSize, 4096, 8)
			m.put(s+l.SpanClass, 40<<1|1, 1)
			m.put(s+l.State, goruntime.SpanInUse, 1)
			if i == 1 {
				m.put(s+l.Specials, c.first, 8)
			}
		}
		image := New(Source{Memory: m, Go: func() (golang.Source, error) {
			return golang.Source{Layout: l, Heap: heap, Modules: 1 << 23, AllGs: 1 << 24}, nil
		}})
		if h, err := image.Go(); err != nil || h == nil {
			t.Fatal(err)
		}
		if got := image.Doubts().Torn; got != c.torn {
			t.Errorf("%+v: %d doubts, want %d", c, got, c.torn)
		}
	}
}
