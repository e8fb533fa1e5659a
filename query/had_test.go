package query

import (
	"slices"
	"testing"

	"hdb/capture"
	"hdb/capture/file"
	"hdb/internal/addr"
)

// Memory that blocks had is told by words, and forgotten when the program is replaced.
func TestHad(t *testing.T) {
	log := file.NewLog(capture.Info{Program: "/prog"})
	log.FuncIndex("malloc")
	add := func(e capture.Event) { log.AddEvent(&e) }
	add(capture.Event{Kind: capture.Alloc, Addr: 0x9000, Size: 64})
	log.Replaced()
	add(capture.Event{Kind: capture.Alloc, Addr: 0x1fe0, Size: 61}) // over the end of a page
	add(capture.Event{Kind: capture.Free, Addr: 0x1fe0, Ended: capture.Ended{Size: 61, Recorded: true}})
	add(capture.Event{Kind: capture.Alloc, Addr: 0x1fe0, Size: 8})
	add(capture.Event{Kind: capture.Realloc, Old: 0x1fe0, Addr: 0x30000, Size: 5000})
	add(capture.Event{Kind: capture.Alloc, Addr: 0x40000, Size: 0})
	add(capture.Event{Kind: capture.Alloc, Size: 100, Failed: true})
	add(capture.Event{Kind: capture.Map, Addr: 0x50000, Size: 4096})
	add(capture.Event{Kind: capture.Free, Func: log.FuncIndex(capture.PoolChunk), Addr: 0x30000, Ended: capture.Ended{Size: 5000, Recorded: true}})
	last := uint64(log.Len())
	add(capture.Event{Kind: capture.Alloc, Addr: 0x60000, Size: 16})
	got, pools := Had(log, last)
	slices.SortFunc(got, func(a, b addr.Range) int { return int(a.Start) - int(b.Start) })
	want := []addr.Range{{Start: 0x1fe0, End: 0x2000}, {Start: 0x2000, End: 0x2020}, {Start: 0x30000, End: 0x31388}}
	if !slices.Equal(got, want) {
		t.Errorf("%x, want %x", got, want)
	}
	if !slices.Equal(pools, want[2:]) {
		t.Errorf("of pools: %x, want %x", pools, want[2:])
	}
}
