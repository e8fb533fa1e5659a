package file

import (
	"bytes"
	"iter"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"hdb/capture"
	"hdb/capture/capturetest"
)

// summed is the summary of events as its fields are described; state is the heap
// before them.
func summed(events []capture.Event, fresh bool, state *heapState) *capture.Summary {
	if fresh {
		*state = heapState{}
	}
	first, last := events[0], events[len(events)-1]
	s := &capture.Summary{First: first.Seq, Last: last.Seq, Start: first.Time, End: last.Time, Events: len(events), Fresh: fresh}
	flows := map[capture.StackID]*capture.Flow{}
	flow := func(id capture.StackID) *capture.Flow {
		if flows[id] == nil {
			flows[id] = &capture.Flow{Stack: id}
		}
		return flows[id]
	}
	s.Sizes, s.Calls = make([]capture.SizeCount, 65), []uint64{}
	var maps mapList
	for _, e := range events {
		for int(e.Func) >= len(s.Calls) {
			s.Calls = append(s.Calls, 0)
		}
		s.Calls[e.Func]++
		if e.AllocationFailed() {
			s.Failed++
		}
		if !e.Failed && e.Kind == capture.Map {
			s.Mapped += e.Size
		}
		if !e.Failed && e.Kind == capture.Unmap {
			s.Unmapped += e.Size
		}
		if e.Kind.Maps() && !e.Failed && e.Addr != 0 && e.Size != 0 {
			m := capture.Event{Seq: e.Seq, Kind: e.Kind, Func: e.Func, TID: e.TID, Stack: e.Stack, Addr: e.Addr, Size: e.Size, Aux: e.Aux}
			if e.Kind == capture.Map {
				m.Old = e.Old
			}
			maps = append(maps, m)
		}
		if e.Ended.Recorded {
			f := flow(e.Ended.Stack)
			f.Frees++
			f.Freed += e.Ended.Size
			state.live -= e.Ended.Size
			state.blocks--
			if e.Ended.Temporary {
				f.Temporary++
			}
		}
		if e.Allocates() {
			f := flow(e.Stack)
			f.Allocs++
			f.Bytes += e.Size
			class := &s.Sizes[bits.Len64(e.Size)]
			class.Allocs++
			class.Bytes += e.Size
			state.live += e.Size
			state.blocks++
			if state.live > s.Peak {
				s.Peak, s.PeakSeq, s.PeakTime = state.live, e.Seq, e.Time
			}
		}
	}
	for len(s.Sizes) > 0 && s.Sizes[len(s.Sizes)-1].Allocs == 0 {
		s.Sizes = s.Sizes[:len(s.Sizes)-1]
	}
	for _, f := range flows {
		s.Flows = append(s.Flows, *f)
	}
	slices.SortFunc(s.Flows, func(a, b capture.Flow) int { return int(a.Stack) - int(b.Stack) })
	s.Live, s.Blocks = state.live, state.blocks
	if maps != nil {
		s.Maps = maps
	}
	return s
}

// A mapList is the events that change mappings.
type mapList []capture.Event

func (l mapList) Events() iter.Seq[capture.Event] { return slices.Values(l) }

func checkSummaries(t tb, src capture.Source, want []*capture.Summary) {
	t.Helper()
	var got []*capture.Summary
	for s, err := range src.Summaries(0) {
		if err != nil {
			t.Fatalf("summary: %v", err)
		}
		if s.Maps != nil {
			s.Maps = mapList(slices.Collect(s.Maps.Events()))
		}
		got = append(got, s)
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(capture.Summary{})); diff != "" {
		t.Errorf("summaries (- want, + got):\n%s", diff)
	}
}

// Summaries are what one would count, whatever the events are, in a file, in a log
// and in a log that was saved; an exec begins another.
func TestSummaries(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		runs := rapid.SliceOfN(rapid.SliceOfN(genEvent, 1, 60), 1, 4).Draw(t, "events")
		var file bytes.Buffer
		w, err := NewWriter(&file, capturetest.SampleInfo)
		if err != nil {
			t.Fatal(err)
		}
		log := NewLog(capturetest.SampleInfo)
		var want []*capture.Summary
		var state heapState
		seq := uint64(0)
		for i, events := range runs {
			if i > 0 {
				w.Replaced()
				log.Replaced()
			}
			for j := range events {
				seq++
				e := &events[j]
				e.Time = max(0, e.Time)
				w.AddEvent(e)
				log.AddEvent(e)
				e.Seq, e.Time = seq, e.Time/capture.Resolution*capture.Resolution
			}
			want = append(want, summed(events, i > 0, &state))
		}
		checkSummaries(t, log, want)
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		f := readBack(t, file.Bytes())
		checkSummaries(t, f, want)
		for _, src := range []capture.Source{log, f} {
			var saved bytes.Buffer
			if err := WriteSource(&saved, src, nil); err != nil {
				t.Fatal(err)
			}
			checkSummaries(t, readBack(t, saved.Bytes()), want)
		}
	})
}

// A summary that was made up is refused or read, never more.
func FuzzSummary(f *testing.F) {
	file := readBack(f, minimal(f))
	payload, err := file.chunks.chunk(file.events[0])
	if err != nil {
		f.Fatal(err)
	}
	f.Add(payload)
	f.Fuzz(func(t *testing.T, payload []byte) {
		var u unpacker
		s, err := u.summaryOf(payload)
		if err == nil && len(s.Flows) > maxSection {
			t.Errorf("%d flows", len(s.Flows))
		}
	})
}

// Summaries of one chunk after the other take the memory of one.
func TestSummariesTakeNoMore(t *testing.T) {
	events := capturetest.SampleEventsWithEnds(1, 10000)[5000:] // of blocks that are older, too
	var c eventEncoder
	var ended []int
	for range 2 {
		if _, err := c.summary(events); err != nil {
			t.Fatal(err)
		}
		ended = append(ended, len(c.chunkEffects.ended))
	}
	if ended[0] == 0 || ended[1] != ended[0] {
		t.Errorf("%d ends are noted of the same events", ended)
	}
}

// The flows of a chunk are told by their stacks' order, each stack once, however many they are.
func TestMergedFlows(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 9))
	var s accumulator
	for _, n := range []int{0, 1, 40, 300, 3000, 50} { // also in the memory of others
		s.begin()
		ids, want := []capture.StackID{0}, map[capture.StackID]capture.Flow{}
		s.flows = append(s.flows, capture.Flow{})
		for i := range n {
			id := capture.StackID(rng.Uint32() >> rng.IntN(20))
			for slices.Contains(ids, id) {
				id++
			}
			f := capture.Flow{Allocs: uint64(i % 3), Bytes: uint64(i)}
			ids, s.flows = append(ids, id), append(s.flows, f)
			g := capture.Flow{Stack: id, Frees: uint64(i % 2), Freed: 7}
			if i%5 == 0 {
				g.Stack = capture.StackID(n)<<20 + capture.StackID(i)
			}
			s.origins = append(s.origins, g)
			for _, f := range []capture.Flow{{Stack: id, Allocs: f.Allocs, Bytes: f.Bytes}, g} {
				if sum := want[f.Stack]; !idle(&f) {
					sum.Stack = f.Stack
					sum.Add(&f)
					want[f.Stack] = sum
				}
			}
		}
		got := s.merged(ids)
		if len(got) != len(want) {
			t.Fatalf("%d flows: %d, want %d", n, len(got), len(want))
		}
		for i, f := range got {
			if f != want[f.Stack] || i > 0 && f.Stack <= got[i-1].Stack {
				t.Errorf("%d flows: %+v, want %+v", n, f, want[f.Stack])
			}
		}
	}
}
