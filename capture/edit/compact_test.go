package edit

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"hdb/capture/capturetest"
	"hdb/capture/file"
)

// bounded records n events to a file under a bound, and completes it.
func bounded(t *testing.T, path string, b file.Bound, n, chunk int) *file.Writer {
	t.Helper()
	out, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	b.Drop = func(offset, length int64) error { // as a hole in the file
		_, err := out.WriteAt(make([]byte, length), offset)
		return err
	}
	w, err := file.NewWriter(out, capturetest.SampleInfo)
	if err != nil {
		t.Fatal(err)
	}
	w.Bound(b)
	f := capturetest.NewFollowing(w, chunk)
	capturetest.Fill(f, 1, n)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return w
}

// A file whose old events are dropped becomes a whole capture of the last ones.
func TestRing(t *testing.T) {
	const n, chunk = 60000, 1000
	all := slices.Collect(readBack(t, program(t, capturetest.SampleInfo, 1, n, chunk)).Events(0))
	span := all[n-1].Time - all[0].Time
	for _, b := range []file.Bound{{Bytes: 20 << 10}, {Last: span / 4}, {Bytes: 1}, {Bytes: 1 << 40}, {Last: span / 3, Bytes: 30 << 10}} {
		path := filepath.Join(t.TempDir(), "ring.hdb")
		w := bounded(t, path, b, n, chunk)
		made, err := Compact(path)
		if err != nil {
			t.Fatal(err)
		}
		f, err := file.OpenWhole(path)
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
	bounded(t, path, file.Bound{Bytes: 20 << 10}, 60000, 1000)
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

// A ring, and what it is compacted to, tell the addresses of their chunks.
func TestCompactKeepsAddresses(t *testing.T) {
	const chunk = 4096 // the least number of events of a chunk that tells its addresses
	path := filepath.Join(t.TempDir(), "ring.hdb")
	bounded(t, path, file.Bound{Bytes: 1 << 40}, 3*chunk, chunk)
	for _, what := range []string{"a ring", "compacted"} {
		f, err := file.OpenWhole(path)
		if err != nil {
			t.Fatal(err)
		}
		if wrong := f.Verify(); len(wrong) > 0 {
			t.Errorf("%s: %q", what, wrong)
		}
		f.Close()
		if _, err := Compact(path); err != nil {
			t.Fatal(err)
		}
	}
}
