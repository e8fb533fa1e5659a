package edit

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"hdb/capture"
	"hdb/capture/capturetest"
	"hdb/capture/file"
	"hdb/internal/addr"
	"hdb/testprogs"
)

// program writes a session of n events that say which blocks they end, in chunks
// of so many events.
func program(t testing.TB, info capture.Info, seed uint64, n, chunk int) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := file.NewWriter(&b, info)
	if err != nil {
		t.Fatal(err)
	}
	follower := capturetest.NewFollowing(w, chunk)
	capturetest.Fill(follower, seed, n)
	w.AddMark(capture.MarkRecord{Seq: uint64(n / 2), Time: time.Second, Name: "half"})
	w.AddMark(capture.MarkRecord{Seq: uint64(n), Time: time.Second, Name: "whole"})
	w.AddSample(capture.SampleRecord{Seq: uint64(n / 3), RSS: 4096})
	w.AddLoss(capture.Loss{After: uint64(n / 4), Count: 3, Reason: capture.Reason{Kind: capture.RingFull}})
	if err := w.Flush(); err != nil { // readBack looks at what another goroutine writes
		t.Fatal(err)
	}
	if err := w.Embed(capturetest.FakeSymbols{From: readBack(t, b.Bytes()), Files: map[string][]string{"/src/a.cc": capturetest.Numbered("a.cc", 600)}}); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// made is the capture that a tool makes, which must be whole and right.
func made(t testing.TB, tool func(io.Writer) (Copied, error)) (*file.File, Copied) {
	t.Helper()
	var b bytes.Buffer
	is, err := tool(&b)
	if err != nil {
		t.Fatal(err)
	}
	f := readBack(t, b.Bytes())
	checkWhole(t, f)
	if wrong := f.Verify(); len(wrong) > 0 {
		t.Fatalf("the new capture is wrong: %q", wrong)
	}
	if uint64(f.Len()) != is.Events {
		t.Errorf("%d events, the tool says %d", f.Len(), is.Events)
	}
	return f, is
}

// checkHeap fails unless the events of f end the blocks that f begins, and its last
// summary tells what is live.
func checkHeap(t testing.TB, f *file.File) {
	t.Helper()
	heap := capturetest.NewHeapByAddress()
	for e := range f.Events(0) {
		want := heap.Follow(&e)
		want.Temporary = e.Ended.Temporary // as was decided, also of what is not here
		if e.Ended != want {
			t.Fatalf("event #%d ends %+v, want %+v", e.Seq, e.Ended, want)
		}
	}
	live, blocks := uint64(0), uint64(0)
	for s, err := range f.Summaries(0) {
		if err != nil {
			t.Fatal(err)
		}
		live, blocks = s.Live, s.Blocks
	}
	if live != heap.Bytes() || blocks != uint64(len(heap.Blocks)) {
		t.Errorf("%d bytes live in %d blocks, want %d in %d", live, blocks, heap.Bytes(), len(heap.Blocks))
	}
}

// sameCalls fails unless got are the events of want but for what they end, and have
// their stacks and names.
func sameCalls(t testing.TB, got, want *file.File, keep func(*capture.Event) bool) {
	t.Helper()
	var wanted []capture.Event
	for e := range want.Events(0) {
		if keep(&e) {
			wanted = append(wanted, e)
		}
	}
	i := 0
	for e := range got.Events(0) {
		if i == len(wanted) {
			t.Fatalf("more than %d events", i)
		}
		w := wanted[i]
		i++
		if a, b := got.Stack(e.Stack), want.Stack(w.Stack); !slices.Equal(a.PCs, b.PCs) || a.FirstIsPC != b.FirstIsPC {
			t.Fatalf("event #%d has stack %v, want %v", e.Seq, a, b)
		}
		if i%1000 == 1 {
			sameNames(t, got, want, &e)
		}
		e.Stack, w.Stack, e.Ended, w.Ended = 0, 0, capture.Ended{}, capture.Ended{}
		if e != w {
			t.Fatalf("event %+v, want %+v", e, w)
		}
	}
	if i != len(wanted) {
		t.Fatalf("%d events, want %d", i, len(wanted))
	}
}

func sameNames(t testing.TB, got, want *file.File, e *capture.Event) {
	t.Helper()
	for _, pc := range got.Stack(e.Stack).PCs {
		a, ok := got.Symbol(pc, true, e.Seq)
		b, wantOK := want.Symbol(pc, true, e.Seq)
		if ok != wantOK || !slices.Equal(a, b) {
			t.Fatalf("%v at #%d is %v, want %v", pc, e.Seq, a, b)
		}
	}
}

func TestTrim(t *testing.T) {
	const n = 30000
	f := readBack(t, program(t, capturetest.SampleInfo, 1, n, 4096))
	if wrong := f.Verify(); len(wrong) > 0 {
		t.Fatalf("%q", wrong)
	}
	for _, span := range [][2]uint64{{0, math.MaxUint64}, {1, n}, {1, 1}, {n, n}, {4096, 4097}, {4097, 8192}, {10000, 20000}, {10000, math.MaxUint64}, {0, 777}} {
		from, to := span[0], span[1]
		g, is := made(t, func(w io.Writer) (Copied, error) { return Trim(w, f, from, to) })
		sameCalls(t, g, f, func(e *capture.Event) bool { return from <= e.Seq && e.Seq <= to })
		checkHeap(t, g)
		if from <= 1 && is.Older != 0 {
			t.Errorf("#%d to #%d: %d blocks are older", from, to, is.Older)
		}
		for _, m := range g.Modules() {
			if m.To > to || m.From > to {
				t.Errorf("#%d to #%d: module %+v", from, to, m)
			}
		}
		for _, m := range g.Marks() {
			if m.Seq < from || m.Seq > to {
				t.Errorf("#%d to #%d: mark %+v", from, to, m)
			}
		}
		if got := g.Info(); got.Program != capturetest.SampleInfo.Program || got.Start != f.Info().Start {
			t.Errorf("info %+v", got)
		}
	}
	for _, span := range [][2]uint64{{n + 1, math.MaxUint64}, {20, 10}} {
		if _, err := Trim(io.Discard, f, span[0], span[1]); err == nil {
			t.Errorf("%d: no error", span)
		}
	}
}

// Sums are repaired as they are, and cannot be trimmed.
func TestSumsAreRepaired(t *testing.T) {
	var b bytes.Buffer
	w, err := file.NewWriter(&b, capturetest.SampleInfo)
	if err != nil {
		t.Fatal(err)
	}
	w.Bound(file.Bound{Aggregate: true})
	capturetest.Fill(capturetest.NewFollowing(w, 100), 1, 1000)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	f := readBack(t, b.Bytes())
	g, _ := made(t, func(w io.Writer) (Copied, error) { return Repair(w, f) })
	want, got := lastSummary(t, f), lastSummary(t, g)
	if got.Last != want.Last || got.Live != want.Live || got.Blocks != want.Blocks || !g.Info().Aggregate {
		t.Errorf("repaired %+v, want %+v", got, want)
	}
	if _, err := Trim(io.Discard, f, 1, 2); err == nil {
		t.Error("sums were trimmed")
	}
}

func lastSummary(t *testing.T, f *file.File) (last *capture.Summary) {
	t.Helper()
	for s, err := range f.Summaries(0) {
		if err != nil {
			t.Fatal(err)
		}
		last = s
	}
	return last
}

// A capture without events is repaired to what it was.
func TestRepairOfNoEvents(t *testing.T) {
	empty := readBack(t, program(t, capturetest.SampleInfo, 1, 0, 1))
	made(t, func(w io.Writer) (Copied, error) { return Repair(w, empty) })
}

// Wherever a small capture is cut, and whichever of its bits is flipped, the
// repaired one has what could be read, and says how much is lost.
func TestRepairOfAnyDamage(t *testing.T) {
	b := program(t, capturetest.SampleInfo, 3, 60, 20)
	whole := readBack(t, b)
	repaired := func(b []byte) {
		t.Helper()
		f, err := file.NewFile("cut.hdb", bytes.NewReader(b), int64(len(b)))
		if err != nil {
			var not *capture.NotCaptureError
			var version *capture.VersionError
			if !errors.As(err, &not) && !errors.As(err, &version) {
				t.Fatal(err)
			}
			return
		}
		if f.Damage() == nil {
			t.Fatal("the damage was not noticed")
		}
		there := map[uint64]bool{}
		for e := range f.Events(0) {
			there[e.Seq] = true
		}
		if len(there) == 0 {
			if _, err := Repair(io.Discard, f); err == nil {
				t.Fatal("nothing was read, and repaired")
			}
			return
		}
		g, is := made(t, func(w io.Writer) (Copied, error) { return Repair(w, f) })
		if n := uint64(g.Len()) + is.Lost; len(there) != g.Len() || n > uint64(whole.Len()) || !is.Open && n != uint64(whole.Len()) {
			t.Fatalf("%d of %d events, %d are said to be lost, of an end that is missing: %t", g.Len(), len(there), is.Lost, is.Open)
		}
		var d *capture.DamageError
		if told := g.Info().Partial.Has(capture.OpenEnd); !errors.As(f.Damage(), &d) || is.Open != d.Open || told != d.Open {
			t.Fatalf("the end is missing: %t of the capture, %t of what is repaired, which says so: %t", d.Open, is.Open, told)
		}
		checkHeap(t, g)
		if got := g.Info().Totals; got.Events != uint64(g.Len()) || got.Lost < is.Lost {
			t.Fatalf("totals %+v", got)
		}
	}
	for n := 0; n < len(b); n += testprogs.Stride(3) {
		repaired(b[:n])
	}
	for i := headerSize; i < len(b); i += testprogs.Stride(11) {
		c := bytes.Clone(b)
		c[i] ^= 1 << (i % 8)
		repaired(c)
	}
}

// What is made of a capture that was cut tells that its end is missing; of one that
// begins within the run no event is missing at its beginning.
func TestRepairTellsWhatIsMissing(t *testing.T) {
	b := program(t, capturetest.SampleInfo, 4, 4000, 500)
	b = b[:len(b)/2]
	cut, err := file.NewFile("cut.hdb", bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	for name, tool := range map[string]func(w io.Writer) (Copied, error){
		"repair":    func(w io.Writer) (Copied, error) { return Repair(w, cut) },
		"anonymize": func(w io.Writer) (Copied, error) { return Anonymize(w, cut, Anonymity{}) },
		"trim":      func(w io.Writer) (Copied, error) { return Trim(w, cut, 20, math.MaxUint64) },
		"merge":     func(w io.Writer) (Copied, error) { return Merge(w, []*file.File{cut, cut}) },
	} {
		if g, is := made(t, tool); !is.Open || !g.Info().Partial.Has(capture.OpenEnd) || g.Info().Totals.Lost == 0 {
			t.Errorf("%s: %+v, because %q", name, is, g.Info().Partial)
		}
	}
	whole := readBack(t, program(t, capturetest.SampleInfo, 4, 4000, 500))
	var late bytes.Buffer
	if _, err := Trim(&late, whole, 1000, math.MaxUint64); err != nil {
		t.Fatal(err)
	}
	bad := late.Bytes()
	bad[len(fileMagic)] ^= 1 // in the file's header
	f, err := file.NewFile("bad.hdb", bytes.NewReader(bad), int64(len(bad)))
	if err != nil {
		t.Fatal(err)
	}
	if g, is := made(t, func(w io.Writer) (Copied, error) { return Repair(w, f) }); is.Lost > 0 || is.Open || f.Damage() == nil || g.Len() != 3001 {
		t.Errorf("%d events, %+v", g.Len(), is)
	}
}

// Of a large capture that is cut anywhere all chunks before the cut can be read.
func TestThousandCuts(t *testing.T) {
	const n, chunk = 40000, 500
	b := program(t, capturetest.SampleInfo, 4, n, chunk)
	want := slices.Collect(readBack(t, b).Events(0))
	rng := rand.New(rand.NewPCG(5, 6))
	for i := range testprogs.Rounds(80, 1000) {
		at := headerSize + rng.IntN(len(b)-headerSize)
		f, err := file.NewFile("cut.hdb", bytes.NewReader(b[:at]), int64(at))
		if err != nil {
			t.Fatal(err)
		}
		if f.Damage() == nil {
			t.Fatalf("cut at %d: no damage", at)
		}
		events := slices.Collect(f.Events(0))
		if !slices.Equal(events, want[:len(events)]) || len(events)%chunk != 0 && len(events) != n {
			t.Fatalf("cut at %d: wrong events", at)
		}
		if i%50 == 0 {
			g, _ := made(t, func(w io.Writer) (Copied, error) { return Repair(w, f) })
			if g.Len() != len(events) {
				t.Fatalf("cut at %d: %d events repaired of %d", at, g.Len(), len(events))
			}
		}
	}
}

func TestMerge(t *testing.T) {
	later := capturetest.SampleInfo
	later.Start = later.Start.Add(5 * time.Millisecond) // while the first one runs
	later.PID = 5000
	const n = 20000
	a := readBack(t, program(t, capturetest.SampleInfo, 1, n, 4096))
	b := readBack(t, program(t, later, 2, n/2, 4096))
	g, is := made(t, func(w io.Writer) (Copied, error) { return Merge(w, []*file.File{b, a}) })
	if is.Events != n+n/2 || is.Lost != 0 || is.Older != 0 {
		t.Errorf("%+v", is)
	}
	checkHeap(t, g)
	// The events of each are there, in their order and at their times.
	for i, f := range []*file.File{a, b} {
		high := uint64(i) << mergeShift
		var got []capture.Event
		for e := range g.Events(0) {
			if int(e.TID)>>tidShift == i {
				got = append(got, e)
			}
		}
		k, shift := 0, time.Duration(i)*5*time.Millisecond
		for e := range f.Events(0) {
			if k == len(got) {
				t.Fatalf("%d of %d events", k, f.Len())
			}
			o := got[k]
			k++
			if o.Time != e.Time+shift || o.Kind != e.Kind || o.Size != e.Size || o.Addr != high*min(e.Addr, 1)+e.Addr || o.Ended.Size != e.Ended.Size || o.Ended.Recorded != e.Ended.Recorded {
				t.Fatalf("event %+v became %+v", e, o)
			}
			for n, pc := range f.Stack(e.Stack).PCs {
				if moved := g.Stack(o.Stack).PCs[n]; moved != pc+addr.Run(high) {
					t.Fatalf("frame %v became %v", pc, moved)
				}
				if k%500 == 0 {
					x, _ := f.Symbol(pc, true, e.Seq)
					y, _ := g.Symbol(pc+addr.Run(high), true, o.Seq)
					if len(x) != len(y) || len(x) > 0 && (x[0].Function != y[0].Function || y[1].FuncLow != x[1].FuncLow+addr.Run(high)) {
						t.Fatalf("%v is %v, was %v", pc, y, x)
					}
				}
			}
		}
		if k != len(got) {
			t.Errorf("%d events of capture %d, want %d", len(got), i, k)
		}
	}
	last := time.Duration(0)
	for e := range g.Events(0) {
		if e.Time < last {
			t.Fatalf("event #%d is before the one before", e.Seq)
		}
		last = e.Time
	}
	nums := map[int]bool{}
	for _, th := range g.Threads() {
		if nums[th.Num] {
			t.Errorf("thread %d is there twice", th.Num)
		}
		nums[th.Num] = true
	}
	if len(g.Threads()) != 4 || len(g.Modules()) != 4 || len(g.Marks()) != 4 || len(g.Stops()) != 2 || g.Info().Totals.Lost != 6 {
		t.Errorf("%d threads, %d modules, %d marks, %d stops, %+v", len(g.Threads()), len(g.Modules()), len(g.Marks()), len(g.Stops()), g.Info())
	}
	if _, err := Merge(io.Discard, []*file.File{a, handled(t, "/usr/bin/other", capture.InterpretedAddress(&capture.Frame{}, 0), capture.Frame{}, "abad1dea")}); err == nil || !strings.Contains(err.Error(), "captures of one program, with the same file name or build ID") {
		t.Errorf("captures of two programs: %v", err)
	}
	if _, err := Merge(io.Discard, []*file.File{a}); err == nil {
		t.Error("one capture was merged")
	}
}

// What an exec ends of one process ends in the merged capture, and nothing else does.
func TestMergeOverExecs(t *testing.T) {
	write := func(later time.Duration, exec, atEnd bool) *file.File {
		info := capturetest.SampleInfo
		info.Start, info.PID = info.Start.Add(later), info.PID+int(later)
		var b bytes.Buffer
		w, err := file.NewWriter(&b, info)
		if err != nil {
			t.Fatal(err)
		}
		malloc, stack := w.FuncIndex("malloc"), w.Intern(capture.Stack{PCs: []addr.Run{0x401000}})
		first := w.AddModule(capture.Module{Path: "/bin/prog", Low: 0x400000, High: 0x402000, From: 1})
		for i := range 10 {
			if exec && i == 5 {
				w.EndModule(first, 6)
				w.Replaced()
				first = w.AddModule(capture.Module{Path: "/bin/other", Low: 0x400000, High: 0x402000, From: 6})
			}
			w.AddEvent(&capture.Event{Time: time.Duration(i) * time.Second, TID: 7, Kind: capture.Alloc, Func: malloc, Addr: 0x1000 * uint64(i+1), Size: 100, Stack: stack})
		}
		if atEnd {
			w.EndModule(first, 11)
			w.Replaced()
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		return readBack(t, b.Bytes())
	}
	const second = time.Second
	for _, c := range []struct {
		files  []*file.File
		events uint64
		blocks uint64
	}{
		{[]*file.File{write(0, false, false), write(second/2, false, false)}, 20, 20},
		{[]*file.File{write(0, true, false), write(second/2, false, false)}, 25, 15},
		{[]*file.File{write(0, false, false), write(second/2, true, false)}, 25, 15},
		{[]*file.File{write(0, true, false), write(20*second, true, false)}, 30, 10},
		{[]*file.File{write(0, false, true), write(second/2, false, false)}, 30, 10},
		{[]*file.File{write(0, false, false), write(second/2, true, true)}, 30, 10},
	} {
		g, is := made(t, func(w io.Writer) (Copied, error) { return Merge(w, c.files) })
		checkHeap(t, g)
		var live, blocks uint64
		for s, err := range g.Summaries(0) {
			if err != nil || s.Fresh {
				t.Fatal(s, err)
			}
			live, blocks = s.Live, s.Blocks
		}
		if is.Events != c.events || blocks != c.blocks || live != 100*c.blocks || is.Older != 0 {
			t.Errorf("%+v, %d live in %d blocks; want %d events and %d blocks", is, live, blocks, c.events, c.blocks)
		}
		if ends := g.Execs(); len(ends) > 0 {
			t.Errorf("an exec of all at %d", ends)
		}
	}
}

func TestAnonymize(t *testing.T) {
	info := capturetest.SampleInfo
	info.Args = []string{"--password=secret"}
	info.Partial = capture.Reasons{{Kind: capture.OnlyEvents, Text: `func("secret")`}, {Kind: capture.Paused}, {Kind: capture.Failed, Text: "of secret"}}
	b := program(t, info, 1, 5000, 1000)
	f := readBack(t, b)
	for _, keep := range []bool{false, true} {
		var out bytes.Buffer
		known := func(s string) string {
			if s == "malloc" || s == "free" {
				return s
			}
			return ""
		}
		if _, err := Anonymize(&out, f, Anonymity{KeepFunctions: keep, Function: known}); err != nil {
			t.Fatal(err)
		}
		g := readBack(t, out.Bytes())
		checkWhole(t, g)
		if wrong := g.Verify(); len(wrong) > 0 {
			t.Fatalf("%q", wrong)
		}
		sameShape(t, g, f)
		text := string(unpacked(t, out.Bytes()))
		for _, word := range []string{"secret", "/usr", "bin/prog", "prog-main", "libc", "0123abcd", "host\x00", "6.1.0", "worker", "half", "/src", "a.cc", "inl_", "breakpoint", "a.cc line", "::f"} {
			if strings.Contains(text, word) && !(keep && (word == "inl_" || word == "::f" || word == "/usr" || word == "bin/prog" || word == "libc")) {
				t.Errorf("keep %v: %q is still there", keep, word)
			}
		}
		if got := g.Functions(); got[0] != "malloc" || (got[2] == "realloc") != keep {
			t.Errorf("functions %q", got)
		}
		if got := g.Info(); got.Program != "/program1" || got.Args[0] != "argument1" || got.Host != "host1" || got.Kernel != "" || !slices.Equal(got.Partial, capture.Reasons{{Kind: capture.OnlyEvents}, {Kind: capture.Paused}, {Kind: capture.Failed}}) {
			t.Errorf("info %+v", got)
		}
	}
	var x, y bytes.Buffer
	for _, w := range []*bytes.Buffer{&x, &y} {
		if _, err := Anonymize(w, f, Anonymity{}); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(x.Bytes(), y.Bytes()) {
		t.Error("the made-up names are not stable")
	}
}

// sameShape fails unless both have the same events and stacks.
func sameShape(t testing.TB, got, want *file.File) {
	t.Helper()
	sameCallsOnly := func(e *capture.Event) string {
		return fmt.Sprint(e.Seq, e.Time, e.Addr, e.Size, e.Old, e.TID, e.Kind, e.Ended.Size, e.Ended.Recorded)
	}
	a, b := slices.Collect(got.Events(0)), slices.Collect(want.Events(0))
	if len(a) != len(b) {
		t.Fatalf("%d events, want %d", len(a), len(b))
	}
	for i := range a {
		if sameCallsOnly(&a[i]) != sameCallsOnly(&b[i]) || !slices.Equal(got.Stack(a[i].Stack).PCs, want.Stack(b[i].Stack).PCs) {
			t.Fatalf("event %+v, want %+v", a[i], b[i])
		}
	}
}

func TestCutStacksNameNothing(t *testing.T) {
	m := newMask(readBack(t, program(t, capturetest.SampleInfo, 1, 10, 10)), Anonymity{})
	for _, keep := range []string{"depth limit 64", "CFI of the frame at 0x401136 cannot be followed inside the process", "return address 0x0 not in any module", lostStack} {
		if got := m.cut(keep); got != keep {
			t.Errorf("%q became %q", keep, got)
		}
	}
	for i, hide := range []string{"no CFI for myserver at 0x401136", "no CFI for /opt/x at 0x1", "open: permission denied"} {
		if got := m.cut(hide); got != fmt.Sprint("reason", i+1) {
			t.Errorf("%q became %q", hide, got)
		}
	}
}
