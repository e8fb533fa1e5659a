package glibc

import (
	"encoding/binary"
	"fmt"
	"io"
	"testing"

	"hdb/internal/addr"
)

// overlaid is memory of which a test changes 32-bit words.
type overlaid struct {
	io.ReaderAt
	words map[addr.Run]uint32
}

func (o overlaid) ReadAt(b []byte, off int64) (int, error) {
	n, err := o.ReaderAt.ReadAt(b, off)
	for at, v := range o.words {
		if i := int64(at) - off; i >= 0 && i+4 <= int64(n) {
			binary.LittleEndian.PutUint32(b[i:], v)
		}
	}
	return n, err
}

// TestMmapped has aligned chunks with mappings of their own, whose first header mremap has left as it was, and counts of them
// as they are while a thread maps or unmaps one.
func TestMmapped(t *testing.T) {
	programs := map[string]string{"here": compiled(t, "mapped.c")}
	for version, dir := range older(t) {
		programs[version] = linkedWith(t, dir, "mapped.c")
	}
	for version, program := range programs {
		t.Run(version, func(t *testing.T) {
			src, lines := stopped(t, "end", program)
			h := sameMmapped(t, src, lines)
			if set := h.Settings(); !set.Known || set.MmapThreshold != 100000 {
				t.Errorf("settings %+v, the program has set a threshold of 100000", set)
			}
			mem := overlaid{src.Memory, map[addr.Run]uint32{}}
			count := h.params.at - 36 // see parametersAt
			if h.mem.Word(count-4)>>32 != h.params.mmaps {
				count += 4
			}
			mem.words[count] = uint32(h.params.mmaps) - 1
			src.Memory = mem
			if h := sameMmapped(t, src, lines); h.params.mmaps != uint64(len(lines)-2) {
				t.Errorf("%d mmapped chunks are counted of %d", h.params.mmaps, len(lines)-1)
			}
		})
	}
}

// sameMmapped compares the walk with what testdata/mapped.c said.
func sameMmapped(t *testing.T, src Source, lines []string) *Heap {
	t.Helper()
	h, err := Open(t.Context(), src)
	if err != nil {
		t.Fatal(err)
	}
	want := map[addr.Run]uint64{}
	for _, line := range lines[:len(lines)-1] {
		var at addr.Run
		var size uint64
		if _, err := fmt.Sscanf(line, "block 0x%x %d", &at, &size); err != nil {
			t.Fatal(line, err)
		}
		want[at] = size
	}
	all := len(want)
	for c := range h.Chunks() {
		if c.State != Mmapped {
			continue
		}
		if size, ok := want[c.Addr]; !ok || size != c.Size {
			t.Errorf("block %v of %d bytes: the program has %d, %v", c.Addr, c.Size, size, ok)
		}
		delete(want, c.Addr)
	}
	for at, size := range want {
		t.Errorf("block %v of %d bytes of %d blocks was not found", at, size, all)
	}
	return h
}
