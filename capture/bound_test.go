package capture

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"hdb/internal/addr"
)

// bounded records n events to a file under a bound, and completes it.
func bounded(t *testing.T, path string, b Bound, n, chunk int) *Writer {
	t.Helper()
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	b.Drop = func(offset, length int64) error { // as a hole in the file
		_, err := file.WriteAt(make([]byte, length), offset)
		return err
	}
	w, err := NewWriter(file, testInfo)
	if err != nil {
		t.Fatal(err)
	}
	w.Bound(b)
	f := following{w, newHeapByAddress(), chunk}
	fill(&f, 1, n)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return w
}

// A file whose old events are dropped becomes a whole capture of the last ones.
func TestRing(t *testing.T) {
	const n, chunk = 60000, 1000
	all := slices.Collect(readBack(t, program(t, testInfo, 1, n, chunk)).Events(0))
	span := all[n-1].Time - all[0].Time
	for _, b := range []Bound{{Bytes: 20 << 10}, {Last: span / 4}, {Bytes: 1}, {Bytes: 1 << 40}, {Last: span / 3, Bytes: 30 << 10}} {
		path := filepath.Join(t.TempDir(), "ring.hdb")
		w := bounded(t, path, b, n, chunk)
		made, err := Compact(path)
		if err != nil {
			t.Fatal(err)
		}
		f, err := OpenWhole(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		checkWhole(t, f)
		if wrong := f.Verify(); len(wrong) > 0 {
			t.Fatalf("%q", wrong)
		}
		checkHeap(t, f)
		if made.Events+w.Dropped() != n || f.Len() != int(made.Events) || f.Last() != n {
			t.Errorf("%+v: %d events, %d dropped, to #%d", b, f.Len(), w.Dropped(), f.Last())
		}
		_, _, from, to := f.Span()
		for _, p := range f.Parts() {
			if p.Kind == "events" && b.Bytes > 1 && p.Bytes > b.Bytes {
				t.Errorf("%+v: %d bytes of events", b, p.Bytes)
			}
		}
		if b.Last > 0 && b.Bytes == 0 && (to-from < b.Last*3/4 || to-from > b.Last*5/4) {
			t.Errorf("%+v: %v kept", b, to-from)
		}
		i := n - f.Len()
		for e := range f.Events(0) {
			if w := all[i]; e.Seq != w.Seq || e.Addr != w.Addr || e.Time != w.Time {
				t.Fatalf("event %+v, want %+v", e, w)
			}
			i++
		}
	}
}

// What a killed recorder leaves of such a file can be read and repaired.
func TestKilledRing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ring.hdb")
	bounded(t, path, Bound{Bytes: 20 << 10}, 60000, 1000)
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	f := readBack(t, b[:len(b)-100])
	if f.Damage() == nil || f.Len() == 0 {
		t.Errorf("%d events, damage %v", f.Len(), f.Damage())
	}
	var out bytes.Buffer
	if _, err := Repair(&out, f); err != nil {
		t.Fatal(err)
	}
	checkHeap(t, readBack(t, out.Bytes()))
}

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
	w, err := NewWriter(file, testInfo)
	if err != nil {
		t.Fatal(err)
	}
	w.Bound(Bound{Aggregate: true})
	rng := rand.New(rand.NewPCG(1, 1))
	heap, events, execs := newHeapByAddress(), []Event{}, map[uint64]bool{}
	state := heapState{}
	id := w.Intern(Stack{PCs: []addr.Run{1}})
	other := w.Intern(Stack{PCs: []addr.Run{2}})
	w.FuncIndex("malloc")
	for i := range n {
		e := Event{Kind: Alloc, Addr: uint64(rng.IntN(500))*16 + 16, Size: uint64(rng.IntN(3)) * uint64(rng.Uint64()>>rng.IntN(63)), Stack: id, Time: time.Duration(i) * time.Microsecond}
		if i%3 == 0 {
			e.Kind, e.Size, e.Stack = Free, 0, 0
		} else if i%5 == 0 {
			e.Stack = other
		}
		if rng.IntN(300) == 0 {
			e.Addr, e.Failed = 0, true
		}
		e.Ended = heap.follow(&e)
		e.Seq = w.AddEvent(&e)
		events = append(events, e)
		switch rng.IntN(4000) {
		case 0:
			w.Replaced()
			heap = newHeapByAddress()
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
	for _, f := range []*File{f, repaired(t, f)} {
		checkWhole(t, f)
		if wrong := f.Verify(); len(wrong) > 0 {
			t.Fatalf("%q", wrong)
		}
		var want []*Summary
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
	if _, err := Trim(&bytes.Buffer{}, f, 1, 2); err == nil {
		t.Error("sums were trimmed")
	}
}

func repaired(t *testing.T, f *File) *File {
	t.Helper()
	var b bytes.Buffer
	if _, err := Repair(&b, f); err != nil {
		t.Fatal(err)
	}
	return readBack(t, b.Bytes())
}

// Each event costs little more than to count it.
func BenchmarkSums(b *testing.B) {
	events := trace(1, 1<<16)
	w, err := NewWriter(&bytes.Buffer{}, testInfo)
	if err != nil {
		b.Fatal(err)
	}
	w.Bound(Bound{Aggregate: true})
	heap := newHeapByAddress()
	for i := range events {
		events[i].Ended = heap.follow(&events[i])
	}
	for i := 0; b.Loop(); i++ {
		e := events[i&(len(events)-1)]
		e.Seq = 0
		w.AddEvent(&e)
	}
}
