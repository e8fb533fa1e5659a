package file

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"hdb/capture"
	"hdb/capture/capturetest"
	"hdb/internal/addr"
)

// A capture that was written while the program ran has the same symbols as one
// that was saved from memory.
func TestStreamedCaptureHasSymbols(t *testing.T) {
	log := symbolLog()
	sym := capturetest.FakeSymbols{From: log, Files: map[string][]string{"/src/a.cc": capturetest.Numbered("a.cc", 600), "/src/a.h": capturetest.Numbered("a.h", 45)}}
	path := filepath.Join(t.TempDir(), "stream.hdb")
	out, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	w, err := NewWriter(out, capturetest.SampleInfo)
	if err != nil {
		t.Fatal(err)
	}
	first := w.AddModule(capture.Module{Path: "libold", Low: 0x1000, High: 0x3000})
	w.AddEvent(&capture.Event{Kind: capture.Alloc, Addr: 0x10, Stack: w.Intern(capture.Stack{PCs: []addr.Run{0x1064, 0x1100, 0x9000}, FirstIsPC: true})})
	w.EndModule(first, 2)
	w.AddModule(capture.Module{Path: "libnew", Low: 0x1000, High: 0x2000, From: 2})
	w.AddEvent(&capture.Event{Kind: capture.Alloc, Addr: 0x20, Stack: w.Intern(capture.Stack{PCs: []addr.Run{0x1100}})})
	if err := w.Embed(sym); err != nil {
		t.Fatal(err)
	}
	open := func() *File {
		f, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		return f
	}
	cut := open() // killed before Close
	sameSource(t, cut, log)
	checkSymbols(t, cut, sym)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	whole := open()
	checkWhole(t, whole)
	sameSource(t, whole, log)
	checkSymbols(t, whole, sym)
	if st, err := out.Stat(); err != nil || st.Size() != w.Size() {
		t.Errorf("%d bytes, of which the writer knows %d", st.Size(), w.Size())
	}
	if w.Events() != 2 || w.Stacks() != 2 || w.Last() != 0 {
		t.Errorf("%d events, %d stacks, last %v", w.Events(), w.Stacks(), w.Last())
	}
}

// A Writer is killed at any moment: what was flushed is there, with totals.
func TestFlushedEventsSurvive(t *testing.T) {
	var b bytes.Buffer
	w, err := NewWriter(&b, capturetest.SampleInfo)
	if err != nil {
		t.Fatal(err)
	}
	capturetest.Fill(w, 1, 10)
	events := capturetest.SampleEvents(1, 3000)
	flushed := []struct{ size, events int }{{b.Len(), 0}}
	totals := map[int]capture.Totals{}
	for i, e := range events[10:] {
		w.AddEvent(&e)
		if i%700 == 0 {
			if err := w.Flush(); err != nil {
				t.Fatal(err)
			}
			n := int(w.Events())
			if w.Flushed() != w.Events() || w.Pending() != 0 {
				t.Errorf("%d of %d events are flushed, %d pending", w.Flushed(), n, w.Pending())
			}
			flushed = append(flushed, struct{ size, events int }{b.Len(), n})
			totals[n] = w.Totals()
		}
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	for i, at := range flushed[1:] {
		for _, more := range []int{0, 1, 30} {
			cut := readBack(t, b.Bytes()[:at.size+more])
			sameEvents(t, slices.Collect(cut.Events(0)), events[:at.events])
			if got := cut.Info().Totals; got != totals[at.events] {
				t.Errorf("flush %d: totals %+v, want %+v", i, got, totals[at.events])
			}
		}
	}
	size := b.Len()
	for range 3 {
		if err := w.Flush(); err != nil || b.Len() != size {
			t.Errorf("a flush of nothing wrote %d bytes, %v", b.Len()-size, err)
		}
	}
}

// When the disk is full, the recording goes on to count, and nothing waits.
func TestFullDiskHoldsNothingUp(t *testing.T) {
	w, err := NewWriter(&fullDisk{room: 100_000}, capturetest.SampleInfo)
	if err != nil {
		t.Fatal(err)
	}
	const n = 20 * eventsPerChunk
	capturetest.Fill(w, 1, 100)
	for i := range n {
		w.AddEvent(&capture.Event{Kind: capture.Alloc, Addr: uint64(i)*0x1234560 + 16, Size: 1, Time: time.Duration(i*i) * capture.Resolution, Stack: 1})
	}
	if err := w.Flush(); !errors.Is(err, syscall.ENOSPC) || w.Err() != err {
		t.Errorf("got %v", err)
	}
	if w.Events() != n+100 || w.Flushed() >= n {
		t.Errorf("%d events, %d flushed", w.Events(), w.Flushed())
	}
	if err := w.Embed(nil); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("embed: %v", err)
	}
	if w.Size() > 100_000 {
		t.Errorf("%d bytes", w.Size())
	}
}

// slowDisk lets one write through at a time.
type slowDisk struct {
	bytes.Buffer
	next chan struct{}
}

func (d *slowDisk) Write(b []byte) (int, error) {
	<-d.next
	return d.Buffer.Write(b)
}

// A disk that takes nothing for a while does not hold the recorder up while
// there is memory, and loses nothing.
func TestSlowDisk(t *testing.T) {
	disk := &slowDisk{next: make(chan struct{}, 1000)}
	disk.next <- struct{}{} // the header
	disk.next <- struct{}{} // info
	w, err := NewWriter(disk, capturetest.SampleInfo)
	if err != nil {
		t.Fatal(err)
	}
	const n = 3*eventsPerChunk + 10
	events := capturetest.SampleEvents(1, n)
	for i := range 120 {
		w.Intern(capturetest.SampleStack(i))
	}
	for _, e := range events {
		w.AddEvent(&e) // would wait for ever
	}
	w.Push()
	if disk.Len() != int(w.Size()) {
		t.Errorf("%d bytes, want %d", disk.Len(), w.Size())
	}
	close(disk.next)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	f := readBack(t, disk.Bytes())
	checkWhole(t, f)
	sameEvents(t, slices.Collect(f.Events(0)), events)
}
