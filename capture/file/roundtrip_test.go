package file

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"hdb/capture"
	"hdb/capture/capturetest"
	"hdb/capture/intern"
	"hdb/internal/addr"
	"hdb/testprogs"
)

// tb is what testing.T and rapid.T share.
type tb interface {
	Helper()
	Errorf(string, ...any)
	Fatalf(string, ...any)
}

// readBack opens what a Writer wrote.
func readBack(t tb, b []byte) *File {
	t.Helper()
	f, err := NewFile("test.hdb", bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	return f
}

// checkWhole fails if anything is damaged.
func checkWhole(t tb, f *File) {
	t.Helper()
	if err := f.Check(); err != nil {
		t.Errorf("damage: %v", err)
	}
}

// sameSource fails unless two sources hold the same.
func sameSource(t tb, got, want capture.Source) {
	t.Helper()
	check := func(what string, got, want any) {
		t.Helper()
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s differ (- want, + got):\n%s", what, diff)
		}
	}
	info, wanted := got.Info(), want.Info()
	info.Version = wanted.Version // of the format, which may be an older one
	if f, ok := got.(*File); ok && f.open {
		wanted.AddPartial(capture.Reason{Kind: capture.OpenEnd})
	}
	check("infos", info, wanted)
	check("lengths", got.Len(), want.Len())
	check("functions", slices.Clone(got.Functions()), slices.Clone(want.Functions()))
	check("modules", got.Modules(), want.Modules())
	check("threads", got.Threads(), want.Threads())
	check("stops", got.Stops(), want.Stops())
	check("console", slices.Clone(got.Console()), slices.Clone(want.Console()))
	check("losses", slices.Clip(got.Losses()), slices.Clip(want.Losses()))
	check("numbers of stacks", got.Stacks(), want.Stacks())
	for id := range min(got.Stacks(), want.Stacks()) + 2 {
		check(fmt.Sprintf("stacks %d", id), got.Stack(capture.StackID(id)), want.Stack(capture.StackID(id)))
	}
	sameEvents(t, slices.Collect(got.Events(0)), slices.Collect(want.Events(0)))
}

func sameEvents(t tb, got, want []capture.Event) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%d events, want %d", len(got), len(want))
	}
	for i := range min(len(got), len(want)) {
		want[i].Ended.Seq = 0 // which is not kept
		if got[i] != want[i] {
			t.Errorf("event %d:\n got %+v\nwant %+v", i, got[i], want[i])
			return
		}
	}
}

// pooled draws mostly from a small pool, so that values repeat, and sometimes
// anything.
func pooled(name string, pool []uint64) *rapid.Generator[uint64] {
	return rapid.Custom(func(t *rapid.T) uint64 {
		if rapid.IntRange(0, 9).Draw(t, name+" any") == 0 {
			return rapid.Uint64().Draw(t, name)
		}
		return rapid.SampledFrom(pool).Draw(t, name)
	})
}

var (
	genAddr = pooled("address", []uint64{0, 0x1000, 0x1010, 0x1020, 0x1040, 0x10a0, 0x2000, 0x7fffffffe000, math.MaxUint64})
	genSize = pooled("size", []uint64{0, 1, 24, 25, 40, 100, 4096, 1 << 20, math.MaxUint64, math.MaxUint64 - 1})
	genTID  = rapid.OneOf(rapid.Int32Range(1, 3), rapid.Int32())
)

// genEvent draws any event whatever, most of them unlike a program's.
var genEvent = rapid.Custom(func(t *rapid.T) capture.Event {
	e := capture.Event{
		Time:   time.Duration(rapid.Int64().Draw(t, "time")),
		TID:    genTID.Draw(t, "tid"),
		Kind:   capture.Kind(rapid.OneOf(rapid.Uint8Range(0, 6), rapid.Uint8()).Draw(t, "kind")),
		Func:   rapid.OneOf(rapid.Uint16Range(0, 4), rapid.Uint16()).Draw(t, "func"),
		Failed: rapid.Bool().Draw(t, "failed"), Abandoned: rapid.Bool().Draw(t, "abandoned"),
		Addr:  genAddr.Draw(t, "addr"),
		Size:  genSize.Draw(t, "size"),
		Old:   genAddr.Draw(t, "old"),
		Aux:   genSize.Draw(t, "aux"),
		Stack: capture.StackID(rapid.OneOf(rapid.Uint32Range(0, 5), rapid.Uint32()).Draw(t, "stack")),
	}
	if e.Kind.CanEnd() && rapid.Bool().Draw(t, "gone") {
		e.Ended = capture.Ended{
			Size:     genSize.Draw(t, "gone size"),
			Stack:    capture.StackID(rapid.OneOf(rapid.Uint32Range(0, 5), rapid.Uint32()).Draw(t, "gone stack")),
			Recorded: true,
		}
	}
	return e
})

func TestAnyEventsSurviveEncoding(t *testing.T) {
	var encoder eventEncoder // used again and again, as a Writer does
	var p packer
	var decoder eventDecoder
	rapid.Check(t, func(t *rapid.T) {
		events := rapid.SliceOfN(genEvent, 1, 200).Draw(t, "events")
		seq := uint64(0)
		for i := range events {
			if rapid.IntRange(0, 19).Draw(t, "gap?") == 0 {
				seq += rapid.Uint64Range(0, 1<<55).Draw(t, "gap")
			}
			e := events[i]
			storeEvent(&events[i], &e, seq)
			seq = events[i].Seq
		}
		got, err := decoder.decode(nil, encoder.encode(nil, &p, events, nil))
		if err != nil {
			t.Fatalf("decode: %v", err)
		}
		sameEvents(t, got, events)
	})
}

// Programs reuse addresses in ways that random events do not: this is where the
// models of the encoder and the decoder would drift apart.
func TestProgramsSurviveEncoding(t *testing.T) {
	var encoder eventEncoder
	var p packer
	var decoder eventDecoder
	for seed := range uint64(20) {
		events := capturetest.SampleEventsWithEnds(seed, 40000)
		for start := 0; start < len(events); {
			chunk := events[start:min(start+1000*int(seed+1), len(events))]
			got, err := decoder.decode(nil, encoder.encode(nil, &p, slices.Clone(chunk), nil))
			if err != nil {
				t.Fatalf("seed %d, events from %d: %v", seed, start, err)
			}
			sameEvents(t, got, chunk)
			start += len(chunk)
		}
	}
}

// genStack draws stacks that share frames.
var genStack = rapid.Custom(func(t *rapid.T) capture.Stack {
	pc := rapid.Custom(func(t *rapid.T) addr.Run { return addr.Run(genAddr.Draw(t, "pc")) })
	s := capture.Stack{
		PCs:       rapid.SliceOfN(pc, 0, 8).Draw(t, "pcs"),
		FirstIsPC: rapid.Bool().Draw(t, "first is pc"),
		Truncated: rapid.SampledFrom([]string{"", "", "no CFI", "too deep"}).Draw(t, "truncated"),
	}
	if len(s.PCs) == 0 {
		s.PCs, s.FirstIsPC = nil, false
		return s
	}
	for i := range s.PCs { // flags are kept per frame, slices only if one is set
		if rapid.IntRange(0, 9).Draw(t, "guess?") == 0 {
			intern.SetFrameFlags(&s, i, intern.FrameGuess)
		}
		if i > 0 && rapid.IntRange(0, 9).Draw(t, "interrupted?") == 0 {
			intern.SetFrameFlags(&s, i, intern.FrameIsPC)
		}
	}
	return s
})

// record makes random calls of all recorders.
func record(t *rapid.T, recorders ...capture.Recorder) {
	text := rapid.SampledFrom([]string{"", "a", "libfoo.so", "größer", "line\nline", strings.Repeat("x", 300)})
	number := rapid.Uint64Range(0, 1<<62)
	modules := 0
	steps := map[string]func(*rapid.T) func(capture.Recorder){
		"event": func(t *rapid.T) func(capture.Recorder) {
			e := genEvent.Draw(t, "event")
			return func(r capture.Recorder) { r.AddEvent(&e) }
		},
		"stack": func(t *rapid.T) func(capture.Recorder) {
			s := genStack.Draw(t, "stack")
			return func(r capture.Recorder) { r.Intern(s) }
		},
		"function": func(t *rapid.T) func(capture.Recorder) {
			name := text.Draw(t, "name")
			return func(r capture.Recorder) { r.FuncIndex(name) }
		},
		"module": func(t *rapid.T) func(capture.Recorder) {
			modules++
			m := capture.Module{
				Path: text.Draw(t, "path"), BuildID: text.Draw(t, "id"), Bias: addr.Bias(genAddr.Draw(t, "bias")),
				Low: addr.Run(genAddr.Draw(t, "low")), High: addr.Run(genAddr.Draw(t, "high")), From: number.Draw(t, "from"), GoBuildID: text.Draw(t, "go id"),
			}
			return func(r capture.Recorder) { r.AddModule(m) }
		},
		"end of module": func(t *rapid.T) func(capture.Recorder) {
			if modules == 0 {
				return func(capture.Recorder) {}
			}
			i, to := rapid.IntRange(0, modules-1).Draw(t, "index"), number.Draw(t, "to")
			return func(r capture.Recorder) { r.EndModule(i, to) }
		},
		"thread": func(t *rapid.T) func(capture.Recorder) {
			th := capture.Thread{TID: genTID.Draw(t, "tid"), Num: rapid.IntRange(1, 4).Draw(t, "num"), Name: text.Draw(t, "name")}
			return func(r capture.Recorder) { r.AddThread(th) }
		},
		"stop": func(t *rapid.T) func(capture.Recorder) {
			s := capture.StopRecord{
				Seq: number.Draw(t, "seq"), Time: time.Duration(rapid.Int64().Draw(t, "time")), Text: text.Draw(t, "text"),
				TID: genTID.Draw(t, "tid"), Stack: capture.StackID(rapid.Uint32().Draw(t, "stack")), Event: number.Draw(t, "event"),
			}
			return func(r capture.Recorder) { r.AddStop(s) }
		},
		"loss": func(t *rapid.T) func(capture.Recorder) {
			l := capture.Loss{After: rapid.Uint64Range(0, 2).Draw(t, "after"), Count: number.Draw(t, "count"), Reason: reason(t)}
			return func(r capture.Recorder) { r.AddLoss(l) }
		},
		"info": func(t *rapid.T) func(capture.Recorder) {
			info := capturetest.SampleInfo
			info.Host, info.Args = text.Draw(t, "host"), rapid.SliceOfN(text, 1, 3).Draw(t, "args")
			info.Partial = info.Partial.With(reason(t), reason(t))
			return func(r capture.Recorder) { r.SetInfo(info) }
		},
	}
	kinds := []string{"event", "event", "event", "event", "stack", "function", "module", "end of module", "thread", "stop", "loss", "info"}
	for range rapid.IntRange(0, 60).Draw(t, "steps") {
		step := steps[rapid.SampledFrom(kinds).Draw(t, "step")](t)
		for _, r := range recorders {
			step(r)
		}
	}
}

// reason draws a reason of any kind.
func reason(t *rapid.T) capture.Reason {
	return capture.Reason{Kind: capture.ReasonKind(rapid.Uint8().Draw(t, "kind")), Text: rapid.StringN(0, 20, -1).Draw(t, "reason")}
}

func TestLogAndFileHoldTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		log := NewLog(capturetest.SampleInfo)
		var b bytes.Buffer
		w, err := NewWriter(&b, capturetest.SampleInfo)
		if err != nil {
			t.Fatalf("%v", err)
		}
		for range rapid.IntRange(1, 3).Draw(t, "flushes") {
			record(t, log, w)
			if err := w.Flush(); err != nil {
				t.Fatalf("flush: %v", err)
			}
			f := readBack(t, b.Bytes())
			if f.Damage() == nil {
				t.Errorf("a file that is not closed has no damage")
			}
			sameSource(t, f, log)
		}
		if err := w.Close(); err != nil {
			t.Fatalf("close: %v", err)
		}
		f := readBack(t, b.Bytes())
		checkWhole(t, f)
		sameSource(t, f, log)

		var saved bytes.Buffer
		if err := WriteSource(&saved, f, nil); err != nil {
			t.Fatalf("save: %v", err)
		}
		f = readBack(t, saved.Bytes())
		checkWhole(t, f)
		sameSource(t, f, log)
	})
}

// session is a log and a file of the same session of n events.
func session(t testing.TB, n int) (*Log, []byte) {
	t.Helper()
	log := NewLog(capturetest.SampleInfo)
	capturetest.Fill(log, 1, n)
	var b bytes.Buffer
	w, err := NewWriter(&b, capturetest.SampleInfo)
	if err != nil {
		t.Fatal(err)
	}
	capturetest.Fill(w, 1, n)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return log, b.Bytes()
}

func TestManyChunks(t *testing.T) {
	testprogs.SkipUnderRace(t) // TestFileIsReadByMany and TestLogIsReadWhileItGrows have many goroutines
	const n = 3*eventsPerChunk + 1000
	log, b := session(t, n)
	f := readBack(t, b)
	checkWhole(t, f)
	sameSource(t, f, log)

	indexed, err := newFile("test.hdb", bytes.NewReader(b), int64(len(b)), 0)
	if err != nil {
		t.Fatal(err)
	}
	checkWhole(t, indexed)
	sameSource(t, indexed, log)

	want := capturetest.SampleEvents(1, n)
	for _, src := range []capture.Source{log, f, indexed} {
		for _, seq := range []uint64{1, 2, eventsPerChunk, eventsPerChunk + 1, 2*eventsPerChunk + 77, n - 1, n} {
			if e, ok := src.Event(seq); !ok || e != want[seq-1] {
				t.Errorf("%T: event #%d is %+v, %v", src, seq, e, ok)
			}
			count := 0
			for e := range src.Events(seq) {
				if e != want[seq-1+uint64(count)] {
					t.Fatalf("%T: event %d from #%d is %+v", src, count, seq, e)
				}
				if count++; count == eventsPerChunk+10 {
					break
				}
			}
			if count != min(n-int(seq)+1, eventsPerChunk+10) {
				t.Errorf("%T: %d events from #%d", src, count, seq)
			}
		}
		for _, seq := range []uint64{0, n + 1, math.MaxUint64} {
			if e, ok := src.Event(seq); ok {
				t.Errorf("%T: event #%d is %+v", src, seq, e)
			}
		}
	}
}

func TestNumbersMayHaveGaps(t *testing.T) {
	log := NewLog(capturetest.SampleInfo)
	for _, seq := range []uint64{5, 6, 100, 0, 3} { // 0 and 3 are taken as the next
		log.AddEvent(&capture.Event{Seq: seq, Kind: capture.Mark})
	}
	var b bytes.Buffer
	if err := WriteSource(&b, log, nil); err != nil {
		t.Fatal(err)
	}
	for _, src := range []capture.Source{log, readBack(t, b.Bytes())} {
		var got []uint64
		for e := range src.Events(0) {
			got = append(got, e.Seq)
		}
		if want := []uint64{5, 6, 100, 101, 102}; !slices.Equal(got, want) {
			t.Errorf("%T: numbers %v, want %v", src, got, want)
		}
		if _, ok := src.Event(7); ok {
			t.Errorf("%T: there is an event #7", src)
		}
	}
}

func TestTooLongIsCut(t *testing.T) {
	log := NewLog(capturetest.SampleInfo)
	id := log.Intern(capture.Stack{PCs: make([]addr.Run, maxFrames+5)})
	log.AddStop(capture.StopRecord{Text: strings.Repeat("y", maxString+5)})
	var b bytes.Buffer
	if err := WriteSource(&b, log, nil); err != nil {
		t.Fatal(err)
	}
	f := readBack(t, b.Bytes())
	checkWhole(t, f)
	if s := f.Stack(id); len(s.PCs) != maxFrames || s.Truncated != "deeper than 65536 frames" {
		t.Errorf("%d frames, truncated: %q", len(s.PCs), s.Truncated)
	}
	if n := len(f.Stops()[0].Text); n != maxString {
		t.Errorf("%d bytes of text", n)
	}
}

// One goroutine records, others read: the race detector watches, and what is
// read must be the beginning of what is recorded.
func TestLogIsReadWhileItGrows(t *testing.T) {
	const n = eventsPerChunk + 5000
	want := capturetest.SampleEvents(3, n)
	log := NewLog(capturetest.SampleInfo)
	done := make(chan struct{})
	var readers sync.WaitGroup
	for range 2 {
		readers.Go(func() {
			for last := false; !last; {
				select {
				case <-done:
					last = true
				default:
				}
				i := 0
				for e := range log.Events(0) {
					if e != want[i] {
						t.Errorf("event %d is %+v", i, e)
						return
					}
					i++
				}
				log.Event(uint64(i))
				log.Stack(capture.StackID(log.Stacks()))
				_, _, _ = log.Info(), log.Modules(), log.Threads()
				if last && i != n {
					t.Errorf("%d events in the end", i)
				}
			}
		})
	}
	capturetest.Fill(log, 3, n)
	close(done)
	readers.Wait()
}

// Numbers of all lengths are put as uvarints, whatever room a column has.
func TestPut(t *testing.T) {
	var c eventEncoder
	var want []byte
	for shift := range 64 {
		for _, v := range []uint64{1<<shift - 1, 1 << shift, 1<<shift + 1} {
			want = binary.AppendUvarint(want, v)
			c.columns[secSize] = slices.Clip(c.columns[secSize])
			c.put(secSize, v)
			c.put(secAge, v)
		}
	}
	if !bytes.Equal(c.columns[secSize], want) || !bytes.Equal(c.columns[secAge], want) {
		t.Errorf("% x and % x, want % x", c.columns[secSize], c.columns[secAge], want)
	}
}
