package session

import (
	"bytes"
	"encoding/binary"
	"testing"

	"hdb/heap/graph"
	"hdb/internal/addr"
	"hdb/python/pymalloc"
	"hdb/session/heaps"
)

// TestBehindHeaders has blocks of headers of debug hooks within each other, as a hostile program may write them, without
// end: two are followed.
func TestBehindHeaders(t *testing.T) {
	const base, size, header, tail = 0x1000, 4096, pymalloc.HookHeader, 8
	memory := &headerMemory{}
	for at := 0; at+header+tail <= size; at += header {
		memory.bytes = binary.BigEndian.AppendUint64(memory.bytes, uint64(size-at-header-tail))
		memory.bytes = append(append(memory.bytes, 'r'), bytes.Repeat([]byte{pymalloc.Forbidden}, header-9)...)
	}
	for _, c := range []struct {
		at   addr.Run
		want bool
	}{{base + header, true}, {base + 2*header, true}, {base + 3*header, false}, {base + size - 2*header, false}} {
		var tried []addr.Run
		memory.reads = 0
		got := heaps.BehindHeaders(memory, graph.Block{Addr: base, Size: size}, c.at, func(start addr.Run) bool {
			tried = append(tried, start)
			return false
		})
		if got != c.want || len(tried) > 3 || memory.reads > 2 {
			t.Errorf("%v: %v, tried %v by %d reads", c.at, got, tried, memory.reads)
		}
	}
}

// headerMemory is memory at 0x1000.
type headerMemory struct {
	bytes []byte
	reads int
}

func (m *headerMemory) ReadAt(b []byte, at int64) (int, error) {
	m.reads++
	return bytes.NewReader(m.bytes).ReadAt(b, at-0x1000)
}
