package heap

import (
	"slices"
	"strconv"
	"testing"

	"hdb/capture"
	"hdb/capture/file"
)

// A function has the line that most was allocated in.
func TestTopLine(t *testing.T) {
	log := file.NewLog(capture.Info{})
	for i := range 3 {
		log.Intern(capture.Stack{Truncated: strconv.Itoa(i)})
	}
	for _, e := range []capture.Event{
		{Kind: capture.Alloc, Addr: 0x1000, Size: 100, Stack: 1},
		{Kind: capture.Alloc, Addr: 0x2000, Size: 60, Stack: 2},
		{Kind: capture.Alloc, Addr: 0x3000, Size: 60, Stack: 3},
		{Kind: capture.Free, Addr: 0x1000},
	} {
		log.AddEvent(&e)
	}
	x, err := NewIndex(repost(log))
	if err != nil {
		t.Fatal(err)
	}
	site := func(byLine bool) func(capture.StackID) Site {
		return func(id capture.StackID) Site {
			return Site{Function: "f", Line: []int{0, 5, 7, 7}[id], ByLine: byLine}
		}
	}
	for _, by := range []Measure{ByLive, ByBytes, ByCount} {
		if rows := Top(x, End, by, site(false)); len(rows) != 1 || rows[0].Site.Line != 7 || rows[0].Bytes != 220 || rows[0].LiveBlocks != 2 {
			t.Errorf("by %v: %+v", by, rows)
		}
	}
	if rows := Top(x, End, ByBytes, site(true)); len(rows) != 2 || rows[0].Bytes != 120 || rows[1].Bytes != 100 {
		t.Errorf("per line: %+v", rows)
	}
}

// A function that changed has the line that changed most the same way.
func TestDiffLine(t *testing.T) {
	of := func(bytes ...uint64) (rows []Row) { // of lines 1, 2, ...
		for i, n := range bytes {
			rows = append(rows, Row{Site: Site{Function: "f", Line: i + 1}, LiveBytes: n, LiveBlocks: n / 10})
		}
		return rows
	}
	for _, c := range []struct {
		before, after []Row
		want          Change
	}{
		{of(20, 160), of(20), Change{Bytes: -160, Blocks: -16, Before: 180, After: 20, Site: Site{Line: 2}}},
		{of(20, 160, 90), of(10, 30, 90), Change{Bytes: -140, Blocks: -14, Before: 270, After: 130, Site: Site{Line: 2}}},
		{of(500, 20), of(500, 180), Change{Bytes: 160, Blocks: 16, Before: 520, After: 680, Site: Site{Line: 2}}},
		{of(500, 20), of(20, 510), Change{Bytes: 10, Blocks: 1, Before: 520, After: 530, Site: Site{Line: 2}}},
		{of(500, 20, 20), of(20, 280, 270), Change{Bytes: 30, Blocks: 3, Before: 540, After: 570, Site: Site{Line: 2}}},
	} {
		c.want.Site.Function = "f"
		if got := Diff(c.before, c.after); len(got) != 1 || got[0] != c.want {
			t.Errorf("%+v, then %+v:\ngot  %+v\nwant %+v", c.before, c.after, got, c.want)
		}
	}
	if got := Diff(of(500, 20), of(20, 500)); len(got) != 0 {
		t.Errorf("nothing of the function changed: %+v", got)
	}
}

// Two builds in different directories are compared file by file.
func TestSameFiles(t *testing.T) {
	of := func(files ...string) (rows []Row) {
		for _, f := range files {
			rows = append(rows, Row{Site: Site{File: f}})
		}
		return rows
	}
	rows := of("/v1/src/a.c", "/v1/lib/util.c", "/v1/src/util.c", "/usr/same.h", "/v1/gone.c", "/v1/x/twice.c", "")
	SameFiles(rows, of("/v2/src/a.c", "/v2/src/util.c", "/v2/lib/util.c", "/usr/same.h", "/v2/new.c", "/v2/y/twice.c", "/v2/z/twice.c", ""))
	var got []string
	for _, r := range rows {
		got = append(got, r.Site.File)
	}
	want := []string{"/v2/src/a.c", "/v2/lib/util.c", "/v2/src/util.c", "/usr/same.h", "/v1/gone.c", "/v1/x/twice.c", ""}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestTopCountsWhatStays(t *testing.T) {
	log := file.NewLog(capture.Info{})
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
	x, err := NewIndex(repost(log))
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
