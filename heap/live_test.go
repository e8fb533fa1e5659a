package heap

import (
	"testing"

	"hdb/capture"
)

func TestLiveFollowsEvents(t *testing.T) {
	steps := []struct {
		name   string
		event  capture.Event
		bytes  uint64
		blocks int
	}{
		{"malloc", capture.Event{Seq: 1, Kind: capture.Alloc, Addr: 0x1000, Size: 100}, 100, 1},
		{"failed malloc", capture.Event{Seq: 2, Kind: capture.Alloc, Size: 1 << 60, Failed: true}, 100, 1},
		{"realloc that moves", capture.Event{Seq: 3, Kind: capture.Realloc, Old: 0x1000, Addr: 0x2000, Size: 300}, 300, 1},
		{"realloc that fails keeps the old block", capture.Event{Seq: 4, Kind: capture.Realloc, Old: 0x2000, Size: 1 << 60, Failed: true}, 300, 1},
		{"mmap is no block", capture.Event{Seq: 5, Kind: capture.Map, Addr: 0x10000, Size: 8192}, 300, 1},
		{"munmap of its first page", capture.Event{Seq: 6, Kind: capture.Unmap, Addr: 0x10000, Size: 4096}, 300, 1},
		{"free of a block never seen", capture.Event{Seq: 7, Kind: capture.Free, Addr: 0x9999}, 300, 1},
		{"an address reused without a free seen", capture.Event{Seq: 8, Kind: capture.Alloc, Addr: 0x2000, Size: 1}, 1, 1},
		{"realloc to nothing", capture.Event{Seq: 9, Kind: capture.Realloc, Old: 0x2000, Size: 0, Failed: true}, 0, 0},
	}
	l := NewLive()
	for _, s := range steps {
		l.Apply(s.event)
		if l.Bytes() != s.bytes || l.Blocks() != s.blocks {
			t.Fatalf("after %s: %d bytes in %d blocks, want %d in %d", s.name, l.Bytes(), l.Blocks(), s.bytes, s.blocks)
		}
	}
	if l.Peak() != 300 {
		t.Errorf("peak %d, want 300", l.Peak())
	}
}
