package edit

import (
	"io"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"hdb/capture"
	"hdb/capture/capturetest"
	"hdb/capture/file"
	"hdb/internal/addr"
	"hdb/internal/outfile"
	"hdb/testprogs"
)

// A mill makes events without end: of 100,000 places a random one is allocated if
// it is free, and freed if it is not.
type mill struct {
	rng    uint64
	seq    uint64
	places [100_000]capture.Ended
	stacks []capture.StackID
	now    time.Duration
}

func (m *mill) next(e *capture.Event) {
	m.rng = m.rng*6364136223846793005 + 1442695040888963407
	r := m.rng >> 33
	i := r % uint64(len(m.places))
	m.seq++
	m.now += time.Duration(r&3) * time.Microsecond
	*e = capture.Event{Addr: 0x555555560000 + i<<12, TID: 100, Time: m.now}
	if p := &m.places[i]; p.Recorded {
		e.Kind, e.Func, e.Ended = capture.Free, 1, *p
		*p = capture.Ended{}
		return
	}
	e.Kind, e.Size, e.Stack = capture.Alloc, 16+r>>8%1024, m.stacks[r>>4%uint64(len(m.stacks))]
	m.places[i] = capture.Ended{Size: e.Size, Stack: e.Stack, Recorded: true, Seq: m.seq}
}

// A capture of 100 million events is written, checked, trimmed and repaired in a
// memory that does not grow with it.
func TestHugeCapture(t *testing.T) {
	n := uint64(100_000_000)
	if testing.Short() || testprogs.UnderRace {
		n = 400_000
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "huge.hdb")
	out, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	w, err := file.NewWriter(out, capturetest.SampleInfo)
	if err != nil {
		t.Fatal(err)
	}
	m := &mill{rng: 1}
	w.FuncIndex("malloc")
	w.FuncIndex("free")
	for i := range 1000 {
		m.stacks = append(m.stacks, w.Intern(capture.Stack{PCs: []addr.Run{addr.Run(i), addr.Run(i / 10), addr.Run(i / 100)}}))
	}
	var e capture.Event
	live := uint64(0)
	for range n {
		m.next(&e)
		w.AddEvent(&e)
	}
	for _, p := range m.places {
		live += p.Size
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	bounded := func(what string) {
		var s runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&s)
		t.Logf("%s: %d MiB of memory, %d taken from the system", what, s.HeapAlloc>>20, s.HeapSys>>20)
		if s.HeapSys > 1<<30 {
			t.Errorf("%s took %d MiB", what, s.HeapSys>>20)
		}
	}
	bounded("written")
	f, err := file.OpenWhole(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if wrong := f.Verify(); len(wrong) > 0 || f.Damage() != nil || uint64(f.Len()) != n {
		t.Fatalf("%d events, %v, %q", f.Len(), f.Damage(), wrong)
	}
	bounded("verified")
	lastLive := uint64(0)
	for s, err := range f.Summaries(n) {
		if err != nil {
			t.Fatal(err)
		}
		lastLive = s.Live
	}
	if lastLive != live {
		t.Errorf("%d bytes live, want %d", lastLive, live)
	}
	part := filepath.Join(dir, "part.hdb")
	err = outfile.File{Path: part}.Write(func(w io.Writer) error {
		made, err := Trim(w, f, n/2, n/2+n/10-1)
		if made.Events != n/10 || made.Older == 0 {
			t.Errorf("%+v", made)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	bounded("trimmed")
	if err := os.Truncate(path, f.Size()/5); err != nil {
		t.Fatal(err)
	}
	cut, err := file.OpenWhole(path)
	if err != nil {
		t.Fatal(err)
	}
	defer cut.Close()
	made, err := Repair(io.Discard, cut)
	if err != nil || made.Events < n/10 || cut.Damage() == nil {
		t.Errorf("%+v, %v", made, err)
	}
	bounded("repaired")
}
