package heap

import (
	"testing"

	"hdb/capture"
)

func TestTopCountsWhatStays(t *testing.T) {
	log := capture.NewLog(capture.Info{})
	log.Intern(capture.Stack{Truncated: "1"})
	log.Intern(capture.Stack{Truncated: "2"})
	for _, e := range []capture.Event{
		{Kind: capture.Alloc, Addr: 0x1000, Size: 100, Stack: 1},
		{Kind: capture.Alloc, Addr: 0x2000, Size: 50, Stack: 2},
		{Kind: capture.Realloc, Old: 0x1000, Addr: 0x3000, Size: 300, Stack: 2},
		{Kind: capture.Alloc, Failed: true, Size: 1 << 50, Stack: 1},
		{Kind: capture.Free, Addr: 0x2000, Size: 50},
		{Kind: capture.Map, Addr: 0x10000, Size: 8192, Stack: 1},
		{Kind: capture.Unmap, Addr: 0x10000, Size: 4096},
	} {
		log.AddEvent(&e)
	}
	names := map[capture.StackID]string{1: "grow", 2: "load"}
	x, err := NewIndex(follow(log))
	if err != nil {
		t.Fatal(err)
	}
	rows := Top(x, End, ByLive, func(id capture.StackID) Site { return Site{Function: names[id]} })
	want := []Row{
		{Site: Site{Function: "load"}, Bytes: 350, Count: 2, LiveBytes: 300, LiveBlocks: 1},
		{Site: Site{Function: "grow"}, Bytes: 100, Count: 1},
	}
	if len(rows) != len(want) {
		t.Fatalf("got %+v", rows)
	}
	for i := range want {
		if rows[i] != want[i] {
			t.Errorf("row %d: got %+v, want %+v", i, rows[i], want[i])
		}
	}
}
