package file

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"hdb/capture"
	"hdb/capture/capturetest"
	"hdb/internal/addr"
)

// Sums tell what the events would have told, at the end, at the peak and wherever
// one interval ends.
func TestSums(t *testing.T) {
	const n = 30000
	path := filepath.Join(t.TempDir(), "sums.hdb")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	w, err := NewWriter(file, capturetest.SampleInfo)
	if err != nil {
		t.Fatal(err)
	}
	w.Bound(Bound{Aggregate: true})
	rng := rand.New(rand.NewPCG(1, 1))
	heap, events, execs := capturetest.NewHeapByAddress(), []capture.Event{}, map[uint64]bool{}
	state := heapState{}
	id := w.Intern(capture.Stack{PCs: []addr.Run{1}})
	other := w.Intern(capture.Stack{PCs: []addr.Run{2}})
	w.FuncIndex("malloc")
	for i := range n {
		e := capture.Event{Kind: capture.Alloc, Addr: uint64(rng.IntN(500))*16 + 16, Size: uint64(rng.IntN(3)) * uint64(rng.Uint64()>>rng.IntN(63)), Stack: id, Time: time.Duration(i) * time.Microsecond}
		if i%3 == 0 {
			e.Kind, e.Size, e.Stack = capture.Free, 0, 0
		} else if i%5 == 0 {
			e.Stack = other
		}
		if rng.IntN(300) == 0 {
			e.Addr, e.Failed = 0, true
		}
		e.Ended = heap.Follow(&e)
		e.Seq = w.AddEvent(&e)
		events = append(events, e)
		switch rng.IntN(4000) {
		case 0:
			w.Replaced()
			heap = capturetest.NewHeapByAddress()
			execs[e.Seq+1] = true
		case 1, 2, 3, 4, 5:
			for range sumsEvery {
				w.Push()
			}
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	f, err := OpenWhole(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, f := range []*File{f, rewritten(t, f)} {
		checkWhole(t, f)
		if wrong := f.Verify(); len(wrong) > 0 {
			t.Fatalf("%q", wrong)
		}
		var want []*capture.Summary
		state = heapState{}
		at := uint64(0)
		for s, err := range f.Summaries(0) {
			if err != nil {
				t.Fatal(err)
			}
			want = append(want, summed(events[at:s.Last], execs[at+1], &state))
			at = s.Last
		}
		checkSummaries(t, f, want)
		if at != n || f.Len() != 0 || !f.Info().Aggregate || f.Info().Totals.Events != n {
			t.Errorf("sums to #%d, %d events, %+v", at, f.Len(), f.Info())
		}
		peaks := 0
		for i, s := range want {
			if s.PeakSeq == s.Last {
				peaks++
			} else if i == 0 || s.Peak > want[i-1].Peak {
				t.Errorf("the peak #%d is within #%d to #%d", s.PeakSeq, s.First, s.Last)
			}
		}
		if peaks < 10 {
			t.Errorf("%d intervals", peaks)
		}
	}
	if st, err := os.Stat(path); err != nil || st.Size() > 2*n {
		t.Errorf("%d bytes for %d events: %v", st.Size(), n, err)
	}
}

// rewritten is the file as WriteSource writes it.
func rewritten(t *testing.T, f *File) *File {
	t.Helper()
	var b bytes.Buffer
	if err := WriteSource(&b, f, nil); err != nil {
		t.Fatal(err)
	}
	return readBack(t, b.Bytes())
}

// Each event costs little more than to count it.
func BenchmarkSums(b *testing.B) {
	events := capturetest.SampleEvents(1, 1<<16)
	w, err := NewWriter(&bytes.Buffer{}, capturetest.SampleInfo)
	if err != nil {
		b.Fatal(err)
	}
	w.Bound(Bound{Aggregate: true})
	heap := capturetest.NewHeapByAddress()
	for i := range events {
		events[i].Ended = heap.Follow(&events[i])
	}
	for i := 0; b.Loop(); i++ {
		e := events[i&(len(events)-1)]
		e.Seq = 0
		w.AddEvent(&e)
	}
}
