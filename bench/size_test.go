package main

import (
	"path/filepath"
	"testing"
	"time"

	"hdb/capture"
	"hdb/capture/file"
	"hdb/internal/addr"
	"hdb/internal/outfile"
)

// TestReadCapture has the chunks of a capture account for all of its bytes.
func TestReadCapture(t *testing.T) {
	log := file.NewLog(capture.Info{Program: "/bin/true"})
	f := log.FuncIndex("malloc")
	for i := range 1000 {
		st := log.Intern(capture.Stack{PCs: []addr.Run{addr.Run(0x1000 + i%7), 0x2000}})
		log.AddEvent(&capture.Event{Kind: capture.Alloc, Func: f, Addr: uint64(0x10000 + 32*i), Size: 24, Stack: st, Time: time.Duration(i) * time.Microsecond})
	}
	path := filepath.Join(t.TempDir(), "a.hdb")
	if err := file.Save(outfile.File{Path: path}, log, nil); err != nil {
		t.Fatal(err)
	}
	c, err := readCapture(path)
	if err != nil {
		t.Fatal(err)
	}
	all := int64(fileHeader)
	for _, n := range c.kinds {
		all += n
	}
	if c.totals.Events != 1000 || all != c.bytes || c.kinds[kindEvents] == 0 || c.kinds[kindStacks] == 0 {
		t.Errorf("%d events, chunks %v make %d of %d bytes", c.totals.Events, c.kinds, all, c.bytes)
	}
	if got := c.missing(1000); got != "" {
		t.Errorf("of 1000 calls it misses %q", got)
	}
	if got, want := c.missing(2000), "only 50.0% of the calls"; got != want {
		t.Errorf("of 2000 calls it misses %q, want %q", got, want)
	}
}
