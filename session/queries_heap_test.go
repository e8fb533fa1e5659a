package session

import (
	"path/filepath"
	"testing"

	"hdb/capture"
	"hdb/capture/file"
	"hdb/heap"
	"hdb/internal/outfile"
	"hdb/session/target"
)

// TestTopStacksOfNoBytes finds a block of no bytes among what was not given back.
func TestTopStacksOfNoBytes(t *testing.T) {
	log := file.NewLog(capture.Info{})
	for _, e := range []capture.Event{
		{Kind: capture.Alloc, Addr: 0x1000, Stack: log.Intern(capture.Stack{Truncated: "kept"})},
		{Kind: capture.Alloc, Addr: 0x2000, Size: 8, Stack: log.Intern(capture.Stack{Truncated: "given back"})},
		{Kind: capture.Free, Addr: 0x2000, Size: 8, Ended: capture.Ended{Size: 8, Stack: 2, Recorded: true}},
	} {
		log.AddEvent(&e)
	}
	path := filepath.Join(t.TempDir(), "x.hdb")
	if err := file.Save(outfile.File{Path: path}, log, nil); err != nil {
		t.Fatal(err)
	}
	s := New(target.Config{})
	defer s.Close()
	if _, err := s.Captures.Open(path); err != nil {
		t.Fatal(err)
	}
	rows, total, err := s.Queries.TopStacks(heap.ByLive, 10)
	if err != nil || total != 1 || len(rows) != 1 || rows[0].LiveBlocks != 1 || rows[0].Stack.Truncated != "kept" {
		t.Errorf("%d stacks, %+v, %v", total, rows, err)
	}
}
