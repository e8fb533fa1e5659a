package query

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"hdb/breakpoints"
	"hdb/capture"
	"hdb/capture/file"
	"hdb/heap"
	"hdb/internal/addr"
	"hdb/internal/cond"
	"hdb/names"
	"hdb/recording"
	"hdb/symbols"
)

// fakeNames calls the code at 0x100 f1, that at 0x200 f2 in line 2.
type fakeNames struct{}

func (n fakeNames) ShownParts([]names.Part) []bool { return nil }

func (n fakeNames) RecordedStack(src capture.Source, id capture.StackID, seq uint64) names.Stack {
	rec := src.Stack(id)
	st := names.Stack{Truncated: rec.Truncated}
	for i := range rec.PCs {
		st.Frames = n.AppendRecorded(st.Frames, src, &rec, i, seq)
	}
	return st
}

func (fakeNames) AppendRecorded(frames []names.Frame, _ capture.Source, rec *capture.Stack, i int, _ uint64) []names.Frame {
	n := int(rec.PCs[i] >> 8)
	f := names.Frame{Num: len(frames), Code: rec.Code(i), CFA: addr.Run(i), Path: "/prog", Module: "prog"}
	f.Function, f.File, f.Line, f.Frame.Source = fmt.Sprintf("f%d", n), "a.c", n, symbols.FromDWARF
	return append(frames, f)
}

// sample is a recording of five events in two functions, with a mark, to which the reasons apply.
func sample(t *testing.T, partial ...capture.Reason) *Recording {
	t.Helper()
	log := file.NewLog(capture.Info{Program: "/prog", Partial: partial})
	malloc, free := log.FuncIndex("malloc"), log.FuncIndex("free")
	one, two := log.Intern(capture.Stack{PCs: []addr.Run{0x100, 0x300}}), log.Intern(capture.Stack{PCs: []addr.Run{0x200, 0x300}})
	log.AddThread(capture.Thread{TID: 7, Num: 1, Name: "main"})
	add := func(e capture.Event) {
		e.TID, e.Time = 7, time.Duration(log.Len()+1)*time.Second
		log.AddEvent(&e)
	}
	add(capture.Event{Kind: capture.Alloc, Func: malloc, Addr: 0x1000, Size: 100, Stack: one})
	add(capture.Event{Kind: capture.Alloc, Func: malloc, Addr: 0x2000, Size: 200, Stack: two})
	add(capture.Event{Kind: capture.Free, Func: free, Addr: 0x1000, Size: 100, Stack: two, Ended: capture.Ended{Size: 100, Stack: one, Recorded: true}})
	log.AddMark(capture.MarkRecord{Seq: 3, Time: 3500 * time.Millisecond, Name: "loaded"})
	add(capture.Event{Kind: capture.Alloc, Func: malloc, Addr: 0x3000, Size: 300, Stack: one})
	add(capture.Event{Kind: capture.Alloc, Func: malloc, Addr: 0x1000, Size: 50, Stack: one})
	x, err := heap.NewIndex(log)
	if err != nil {
		t.Fatal(err)
	}
	return &Recording{
		Source: log, Index: x, Names: fakeNames{}, Attribution: defaults(), Likenesses: &Likenesses{}, Moment: heap.End, Function: breakpoints.Named,
	}
}

// TestStart: the start is before the first event, when the recording began, for all questions.
func TestStart(t *testing.T) {
	for _, c := range []struct {
		partial capture.Reasons
		began   time.Duration
	}{
		{nil, 0},
		{capture.Reasons{{Kind: capture.DroppedOlder}}, time.Second}, // with the first event that was kept
		{capture.Reasons{{Kind: capture.StartedLate}}, time.Second},
	} {
		r := sample(t, c.partial...)
		for _, start := range []string{"start", "0%"} {
			since := ParseMoment(start)
			d, err := r.Diff(since, ParseMoment("end"), PerFunction)
			if err != nil || d.FromBytes != 0 || d.FromBlocks != 0 || d.ToBytes != 550 || d.ToBlocks != 3 || d.FromElapsed != c.began || d.ToElapsed != 5*time.Second {
				t.Errorf("%v: diff %s end: %+v, %v", c.partial, start, d, err)
			}
			g, err := r.StacksSince(since, 5, false, nil)
			if err != nil || g.Bytes != 550 || g.Blocks != 3 || g.Elapsed != d.Elapsed() || r.Elapsed(since) != d.Elapsed() {
				t.Errorf("%v: leaks since %s: %+v, %v", c.partial, start, g, err)
			}
			if d, err := r.Diff(since, since, PerStack); err != nil || d.ToBytes != 0 || len(d.Changes) != 0 {
				t.Errorf("%v: diff %s %s: %+v, %v", c.partial, start, start, d, err)
			}
		}
	}
}

// TestElapsed: the time between two moments is the same however they are called, with the time
// after the last event.
func TestElapsed(t *testing.T) {
	r := sample(t)
	log := r.Source.(*file.Log)
	log.AddMark(capture.MarkRecord{Seq: 5, Time: 9 * time.Second, Name: "idle"})
	log.AddStop(capture.StopRecord{Seq: 5, Time: 8 * time.Second})
	elapsed := func(to string) time.Duration {
		t.Helper()
		d, err := r.Diff(ParseMoment("loaded"), ParseMoment(to), PerFunction)
		if err != nil {
			t.Fatal(err)
		}
		return d.Elapsed()
	}
	for to, want := range map[string]time.Duration{"now": 5500, "end": 5500, "idle": 5500, "stop 1": 4500, "#5": 1500} {
		if got := elapsed(to); got != want*time.Millisecond {
			t.Errorf("from loaded to %s: %v, want %v", to, got, want*time.Millisecond)
		}
	}
	if g, err := r.StacksSince(ParseMoment("loaded"), 5, false, nil); err != nil || g.Elapsed != 5500*time.Millisecond {
		t.Errorf("since loaded: %v, %v", g.Elapsed, err)
	}
	r.Moment = 4
	if got := elapsed("now"); got != 500*time.Millisecond {
		t.Errorf("up to #4: %v", got)
	}
	log.AddSample(capture.SampleRecord{Seq: 5, Time: 10 * time.Second})
	if r.Moment = heap.End; elapsed("end") != 6500*time.Millisecond {
		t.Errorf("with a sample at 10 s: %v", elapsed("end"))
	}
}

func parse(t *testing.T, text string) *cond.Cond {
	t.Helper()
	c, err := cond.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func numbers(events []*recording.Event) (all []uint64) {
	for _, e := range events {
		all = append(all, e.Seq)
	}
	return all
}

func TestEvents(t *testing.T) {
	r := sample(t)
	for text, want := range map[string][]uint64{
		`size >= 100`:           {1, 2, 3, 4},
		`caller("f1")`:          {1, 4, 5},
		`caller("f3")`:          nil, // it only calls the functions
		`func("f3")`:            {1, 2, 3, 4, 5},
		`kind == free`:          {3},
		`nth > 2 && live > 400`: {4, 5},
		`thread == "main"`:      {1, 2, 3, 4, 5},
	} {
		if got := numbers(slices.Collect(r.Events(parse(t, text), 0))); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
	r.Moment = 2
	if got := numbers(slices.Collect(r.Events(nil, 0))); !slices.Equal(got, []uint64{1, 2}) {
		t.Errorf("up to #2: %v", got)
	}
}

func TestMoments(t *testing.T) {
	r := sample(t)
	for text, want := range map[string]uint64{
		"": heap.End, "start": 0, "0%": 0, "end": heap.End, "peak": 5, "#3": 3, "40%": 3, "2500ms": 2, "loaded": 3,
	} {
		if got, err := r.Seq(ParseMoment(text)); err != nil || got != want {
			t.Errorf("%q: #%d, %v, want #%d", text, got, err, want)
		}
	}
	for _, text := range []string{"stop 1", "#x", "101%", "never", "1ms", "#6", "#99999999"} {
		if got, err := r.Seq(ParseMoment(text)); err == nil {
			t.Errorf("%q: #%d", text, got)
		}
	}
	if m := ParseMoment("stop 2"); m.IsPresent() || m.String() != "stop 2" {
		t.Errorf("stop 2: %+v", m)
	}
	for text, want := range map[string]bool{"30%": true, "peak": true, "#3": false, "loaded": false, "2500ms": false} {
		if p, err := r.Point(ParseMoment(text)); err != nil || p.Drawn != want || p.Stop != 0 {
			t.Errorf("%s: %+v, %v", text, p, err)
		}
	}
}

func TestHeapQuestions(t *testing.T) {
	r := sample(t)
	rows, err := r.Top(heap.ByLive, PerFunction)
	if err != nil || len(rows) != 2 || rows[0].Site.Function != "f1" || rows[0].LiveBytes != 350 || rows[1].Site.Function != "f2" || rows[1].LiveBytes != 200 {
		t.Errorf("top: %+v, %v", rows, err)
	}
	for per, want := range map[Per]string{PerLine: "f1", PerModule: "prog", PerThread: `thread 1 "main"`} {
		if rows, err := r.Top(heap.ByLive, per); err != nil || len(rows) == 0 || rows[0].Site.Function != want {
			t.Errorf("top per %v: %+v, %v", per, rows, err)
		}
	}
	if rows, err := r.Top(heap.ByLive, PerSize); err != nil || len(rows) == 0 || rows[0].Site.Size != 300 {
		t.Errorf("top per size: %+v, %v", rows, err)
	}
	if stacks, total := r.TopStacks(heap.ByLive, 1); total != 2 || len(stacks) != 1 || stacks[0].Site.Function != "f1" || len(stacks[0].Stack.Frames) != 2 {
		t.Errorf("stacks: %+v of %d", stacks, total)
	}
	live, err := r.Live(context.Background(), parse(t, `caller("f1")`), Present, 1)
	if err != nil || live.Blocks != 2 || live.Bytes != 350 || !slices.Equal(numbers(live.Largest), []uint64{4}) {
		t.Errorf("live: %+v, %v", live, err)
	}
	if w := r.Whence(0x3001); w.Start != 0x3000 || w.Event.Seq != 4 || w.Age != time.Second || len(w.Frames) != 1 || w.Frames[0].Function != "f1" {
		t.Errorf("whence of a block: %+v", w)
	}
	if w := r.Whence(0x2800); w.Event != nil || w.Below != 0x2000 || w.Above != 0x3000 {
		t.Errorf("whence of no block: %+v", w)
	}
	if events, total, more := r.History(0x1000, 2); total != 3 || more || !slices.Equal(numbers(events), []uint64{3, 5}) {
		t.Errorf("history: %v of %d, %v", numbers(events), total, more)
	}
	if costs := r.LineCosts("a.c"); costs[1] != (LineCost{450, 3}) || costs[2] != (LineCost{200, 1}) || len(costs) != 2 {
		t.Errorf("lines: %v", costs)
	}
}

func TestDiff(t *testing.T) {
	r := sample(t)
	d, err := r.Diff(ParseMoment("loaded"), Present, PerFunction)
	if err != nil || d.From != "loaded" || d.To != "now" || d.FromBytes != 200 || d.ToBytes != 550 || len(d.Changes) != 1 || d.Changes[0].Site.Function != "f1" {
		t.Errorf("%+v, %v", d, err)
	}
	other := sample(t)
	other.Moment = 2
	d, err = r.DiffOf(other, "/tmp/before.hdb", PerFunction, false)
	if err != nil || d.From != "before.hdb" || d.FromBytes != 300 || d.ToBytes != 550 {
		t.Errorf("%+v, %v", d, err)
	}
	if d.Elapsed() != 0 {
		t.Errorf("%v between two recordings", d.Elapsed())
	}
	d, err = r.Diff(ParseMoment("loaded"), ParseMoment("now"), PerStack)
	if err != nil || len(d.Changes) != 1 || d.Changes[0].Bytes != 350 || d.Changes[0].Blocks != 2 || d.Elapsed() != 1500*time.Millisecond {
		t.Fatalf("per stack: %+v, %v", d, err)
	}
	if st := d.Stack(&d.Changes[0]); len(st.Frames) != 2 || st.Frames[0].Function != "f1" {
		t.Errorf("per stack: %+v", st)
	}
	// Of another recording whose stacks have other numbers.
	d, err = r.DiffOf(renumbered(t), "/tmp/before.hdb", PerStack, false)
	if err != nil || len(d.Changes) != 1 || d.Changes[0].Bytes != 343 || d.Changes[0].Blocks != 1 || d.Stack(&d.Changes[0]).Frames[0].Function != "f1" {
		t.Errorf("per stack of two: %+v, %v", d, err)
	}
	if _, err := r.Diff(ParseMoment("never"), Present, PerFunction); err == nil {
		t.Error("a moment that is none")
	}
}

// lineNames calls all code fill, 0x100 in line 1, 0x200 in line 2.
type lineNames struct{ fakeNames }

func (n lineNames) AppendRecorded(frames []names.Frame, src capture.Source, rec *capture.Stack, i int, seq uint64) []names.Frame {
	frames = n.fakeNames.AppendRecorded(frames, src, rec, i, seq)
	frames[len(frames)-1].Function = "fill"
	return frames
}

// twoLines is a recording of a function that allocates and maps at two lines. What it has at the second
// is freed behind the mark.
func twoLines(t *testing.T, buildID string) *Recording {
	t.Helper()
	log := file.NewLog(capture.Info{Program: "/prog"})
	log.AddModule(capture.Module{Path: "/prog", BuildID: buildID, Low: 0x100, High: 0x1000})
	malloc, free, mmap := log.FuncIndex("malloc"), log.FuncIndex("free"), log.FuncIndex("mmap")
	one, two := log.Intern(capture.Stack{PCs: []addr.Run{0x100}}), log.Intern(capture.Stack{PCs: []addr.Run{0x200}})
	const mode = uint64(capture.MapPrivate | capture.MapAnonymous | capture.ProtRead | capture.ProtWrite)
	for _, e := range []capture.Event{
		{Kind: capture.Alloc, Func: malloc, Addr: 0x1000, Size: 2000, Stack: one},
		{Kind: capture.Alloc, Func: malloc, Addr: 0x2000, Size: 16000, Stack: two},
		{Kind: capture.Map, Func: mmap, Addr: 0x10000, Size: 4096, Stack: one, Aux: mode},
		{Kind: capture.Map, Func: mmap, Addr: 0x20000, Size: 8192, Stack: two, Aux: mode},
		{Kind: capture.Free, Func: free, Addr: 0x2000, Stack: two, Ended: capture.Ended{Size: 16000, Stack: two, Recorded: true}},
		{Kind: capture.Unmap, Func: mmap, Addr: 0x20000, Size: 8192, Stack: two},
	} {
		e.TID = 7
		log.AddEvent(&e)
	}
	log.AddMark(capture.MarkRecord{Seq: 4, Name: "filled"})
	x, err := heap.NewIndex(log)
	if err != nil {
		t.Fatal(err)
	}
	return &Recording{Source: log, Index: x, Names: lineNames{}, Attribution: defaults(), Likenesses: &Likenesses{}, Moment: heap.End, Function: breakpoints.Named}
}

// TestDiffLine: a function that allocates at several lines is one row, of blocks and of mappings, with the line
// that changed most, or none if the lines are those of two builds.
func TestDiffLine(t *testing.T) {
	r := twoLines(t, "b1")
	check := func(what string, d *Diff, err error, line int) {
		t.Helper()
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		if len(d.Changes) != 1 || d.Changes[0].Bytes != -16000 || d.Changes[0].After != 2000 || d.Changes[0].Site.Line != line {
			t.Errorf("%s: %+v", what, d)
		}
		if len(d.Mapped) != 1 || d.Mapped[0].Bytes != -8192 || d.Mapped[0].After != 4096 || d.Mapped[0].Site.Line != line {
			t.Errorf("%s: mappings %+v", what, d)
		}
	}
	d, err := r.Diff(ParseMoment("filled"), Present, PerFunction)
	check("two moments", d, err, 2)
	for buildID, line := range map[string]int{"b1": 2, "b2": 0} {
		other := twoLines(t, buildID)
		other.Moment = 4
		d, err = r.DiffOf(other, "/tmp/before.hdb", PerFunction, false)
		check("two recordings, "+buildID, d, err, line)
	}
	m := r.mappedBetween(0, 4)
	if rows := r.MappedTop(m, PerFunction); len(rows) != 1 || rows[0].LiveBytes != 4096+8192 || rows[0].Site.Line != 2 {
		t.Errorf("mappings: %+v", rows)
	}
	if rows := r.MappedTop(m, PerLine); len(rows) != 2 {
		t.Errorf("mappings per line: %+v", rows)
	}
	if rows := r.MappedTop(m, PerSize); len(rows) != 2 {
		t.Errorf("mappings per size: %+v", rows)
	}
}

// renumbered is a recording of sample's program whose first stack is the other's second.
func renumbered(t *testing.T) *Recording {
	t.Helper()
	log := file.NewLog(capture.Info{Program: "/prog"})
	malloc := log.FuncIndex("malloc")
	two, one := log.Intern(capture.Stack{PCs: []addr.Run{0x210, 0x310}}), log.Intern(capture.Stack{PCs: []addr.Run{0x110, 0x310}})
	log.AddEvent(&capture.Event{Kind: capture.Alloc, Func: malloc, Addr: 0x1000, Size: 200, Stack: two, TID: 7})
	log.AddEvent(&capture.Event{Kind: capture.Alloc, Func: malloc, Addr: 0x2000, Size: 7, Stack: one, TID: 7})
	x, err := heap.NewIndex(log)
	if err != nil {
		t.Fatal(err)
	}
	return &Recording{Source: log, Index: x, Names: fakeNames{}, Attribution: defaults(), Likenesses: &Likenesses{}, Moment: heap.End, Function: breakpoints.Named}
}

// TestSince counts what was allocated behind a mark, and in what time.
func TestSince(t *testing.T) {
	r := sample(t)
	g, err := r.StacksSince(ParseMoment("loaded"), 5, false, nil)
	if err != nil || g.Total != 1 || g.Bytes != 350 || g.Blocks != 2 || g.Elapsed != 1500*time.Millisecond {
		t.Fatalf("%+v, %v", g, err)
	}
	if row := g.Rows[0]; row.Site.Function != "f1" || row.Count != 2 || row.Bytes != 350 || row.LiveBytes != 350 || len(row.Stack.Frames) != 2 {
		t.Errorf("%+v", row)
	}
	live, err := r.Live(context.Background(), nil, ParseMoment("#4"), 0)
	if err != nil || live.Bytes != 50 || !slices.Equal(numbers(live.Largest), []uint64{5}) {
		t.Errorf("live since #4: %+v, %v", live, err)
	}
	if got := numbers(slices.Collect(r.Events(nil, 3))); !slices.Equal(got, []uint64{4, 5}) {
		t.Errorf("events behind #3: %v", got)
	}
	r.Moment = 3
	if _, err := r.StacksSince(ParseMoment("#4"), 5, false, nil); err == nil {
		t.Error("since a moment that is to come")
	}
}

func TestFind(t *testing.T) {
	r := sample(t)
	frees := func(e *recording.Event, _ cond.Env) bool { return e.Kind == capture.Free }
	for _, c := range []struct {
		from  uint64
		d     Direction
		seq   uint64
		found bool
	}{{heap.End, Back, 3, true}, {1, Forward, 3, true}, {3, Forward, 5, false}, {2, Back, 1, false}, {0, Back, 0, false}, {heap.End, Forward, 0, false}} {
		r.Moment = c.from
		if seq, found, err := r.Find(context.Background(), c.d, frees); err != nil || seq != c.seq || found != c.found {
			t.Errorf("from #%d, back %v: #%d, %v, %v", c.from, c.d, seq, found, err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	r.Moment = 0
	if _, _, err := r.Find(ctx, Forward, frees); !errors.Is(err, context.Canceled) {
		t.Errorf("given up: %v", err)
	}
}

func TestProfile(t *testing.T) {
	r := sample(t)
	p, err := r.Profile(ProfileParts{Line: true, Snapshots: true})
	if err != nil || p.Moment.Live != 550 || p.Peak.Seq != 5 || len(p.Stacks) != 2 || len(p.Snapshots) == 0 {
		t.Fatalf("%+v, %v", p, err)
	}
	for _, st := range p.Stacks {
		if f := p.Frames[st.Frames[st.Site]]; f.Library || f.Function == "f3" {
			t.Errorf("the blocks of stack %d belong to %+v", st.ID, f)
		}
	}
	part, err := r.Profile(ProfileParts{From: ParseMoment("loaded")})
	if err != nil || part.Total().Bytes != 350 {
		t.Errorf("since the mark: %+v, %v", part.Total(), err)
	}
	if _, err := r.Profile(ProfileParts{From: ParseMoment("#4"), To: ParseMoment("#2")}); err == nil {
		t.Error("a part that ends before it begins")
	}
	b, err := r.Before(p, ParseMoment("loaded"))
	if err != nil || b.Moment.Live != 200 || b.Name != "loaded" {
		t.Errorf("baseline: %+v, %v", b, err)
	}
}

// The live view has the same sums as top.
func TestMonitor(t *testing.T) {
	r := sample(t)
	log := r.Source.(*file.Log)
	m := NewMonitor(r, log, func() uint64 { return uint64(log.Len()) })
	if err := m.Update(); err != nil {
		t.Fatal(err)
	}
	if !m.Name(0, func(f func()) { f() }) {
		t.Fatal("not all stacks are named")
	}
	own := map[string]uint64{}
	for _, row := range m.Rows() {
		own[row.Site.Function] = row.Own.LiveBytes
	}
	if own["f1"] != 350 || own["f2"] != 200 || own["f3"] != 0 {
		t.Errorf("own: %v", own)
	}
}

// An event is like one of another run with the same stack, as often as there.
func TestLikeness(t *testing.T) {
	r := sample(t)
	reads := 0
	r.Likenesses.Read = func(path string, seq uint64) (*Likeness, error) {
		reads++
		return sample(t).LikenessOf(seq)
	}
	if got := numbers(slices.Collect(r.Events(parse(t, `like("x.hdb#4")`), 0))); !slices.Equal(got, []uint64{1, 4, 5}) || reads != 1 {
		t.Errorf("like #4: %v, %d reads", got, reads)
	}
	l, err := r.Likenesses.Of("x.hdb#4")
	if err != nil || l.Nth != 2 || l.Function != "malloc" || l.Frees || l.Of != "prog" {
		t.Errorf("%+v, %v", l, err)
	}
	r.Likenesses.Forget("x.hdb#4")
	if _, err := r.Likenesses.Of("x.hdb#4"); err != nil || reads != 2 {
		t.Errorf("%d reads, %v", reads, err)
	}
	for _, event := range []string{"x.hdb", "x.hdb#y", "x.hdb#9"} {
		if _, err := r.Likenesses.Of(event); err == nil {
			t.Errorf("%s is an event", event)
		}
	}
}
