package recording

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"hdb/breakpoints"
	"hdb/capture"
	"hdb/capture/file"
	"hdb/internal/addr"
	"hdb/internal/cond"
)

// A transcript is what a recording was told of, in its order.
type transcript struct {
	*file.Log
	lines []string
}

func (out *transcript) AddEvent(e *capture.Event) uint64 {
	out.lines = append(out.lines, fmt.Sprintf("#%d %v %#x", e.Seq, e.Kind, e.Addr))
	return out.Log.AddEvent(e)
}

func (out *transcript) AddEvents(events []capture.Event) (seq uint64) {
	for i := range events {
		seq = out.AddEvent(&events[i])
	}
	return seq
}

// A numbered process only counts the events whose numbers no call made.
type numbered struct {
	Process
	n int
}

func (p *numbered) Numbered() { p.n++ }

func newTranscript() (*Recording, *transcript) {
	out := &transcript{Log: file.NewLog(capture.Info{})}
	r := New(nil)
	r.Start()
	r.run.out = out
	return r, out
}

// take hands over events at once, of the functions #0 and #1. Their stacks are those of
// Stack, in its order.
func (out *transcript) take(to *Recording, events ...capture.Event) {
	to.Batch(events, []*breakpoints.Function{{Name: "realloc"}, {Name: "malloc"}})
}

// bothWays tests with a recording of all events, and with one that a filter lets all
// through to.
func bothWays(t *testing.T, test func(t *testing.T, r *Recording, out *transcript)) {
	t.Run("all", func(t *testing.T) {
		r, out := newTranscript()
		test(t, r, out)
	})
	t.Run("filtered", func(t *testing.T) {
		r, out := newTranscript()
		c, err := cond.Parse("size > 0")
		if err != nil {
			t.Fatal(err)
		}
		r.SetFilter(NewFilter(c))
		test(t, r, out)
	})
}

// The second block that a realloc ends is freed by an event in front of it, and what comes
// after them is numbered on.
func TestUnseenFree(t *testing.T) {
	bothWays(t, func(t *testing.T, r *Recording, out *transcript) {
		p := &numbered{}
		r.run.process = p
		out.take(r,
			capture.Event{Kind: capture.Alloc, Addr: 0x1000, Size: 8},
			capture.Event{Kind: capture.Alloc, Addr: 0x2000, Size: 8},
			capture.Event{Kind: capture.Alloc, Addr: 0x3000, Size: 16},
			capture.Event{Kind: capture.Realloc, Old: 0x1000, Addr: 0x4000, Size: 8},
			capture.Event{Kind: capture.Realloc, Old: 0x2000, Addr: 0x3000, Size: 8, Time: 7 * time.Microsecond, TID: 5},
			capture.Event{Kind: capture.Realloc, Old: 0x4000, Addr: 0x1000, Size: 8})
		out.take(r, capture.Event{Kind: capture.Alloc, Addr: 0x5000, Size: 8})
		want := []string{"#1 alloc 0x1000", "#2 alloc 0x2000", "#3 alloc 0x3000",
			"#4 realloc 0x4000", "#5 free 0x3000", "#6 realloc 0x3000", "#7 realloc 0x1000", "#8 alloc 0x5000"}
		if !slices.Equal(out.lines, want) || p.n != 1 {
			t.Errorf("recorded %q, %d of no call, want %q", out.lines, p.n, want)
		}
		e, _ := out.Event(5)
		if e.Ended != (capture.Ended{Size: 16, Recorded: true}) || e.Size != 16 || e.Time != 7*time.Microsecond || e.TID != 5 || out.Functions()[e.Func] != capture.UnseenFree {
			t.Errorf("the end that nobody saw is %+v", e)
		}
	})
}

// What a recorded block became while nothing is recorded has its end recorded, too,
// however soon it comes; what is at its place then does not.
func TestEndsWhilePaused(t *testing.T) {
	r, out := newTranscript()
	out.take(r, capture.Event{Kind: capture.Alloc, Addr: 0x1000, Size: 8})
	r.Pause(true)
	out.take(r,
		capture.Event{Kind: capture.Realloc, Old: 0x1000, Addr: 0x2000, Size: 16},
		capture.Event{Kind: capture.Free, Addr: 0x2000},
		capture.Event{Kind: capture.Alloc, Addr: 0x2000, Size: 8},
		capture.Event{Kind: capture.Free, Addr: 0x2000})
	want := []string{"#1 alloc 0x1000", "#2 realloc 0x2000", "#3 free 0x2000"}
	if !slices.Equal(out.lines, want) {
		t.Errorf("recorded %q, want %q", out.lines, want)
	}
}

// Times do not go back in a recording, neither within a batch nor from one to the next.
func TestRecordedTimes(t *testing.T) {
	bothWays(t, func(t *testing.T, r *Recording, out *transcript) {
		at := func(addr uint64, us time.Duration) capture.Event {
			return capture.Event{Kind: capture.Alloc, Addr: addr, Size: 8, Time: us * time.Microsecond}
		}
		out.take(r, at(0x1000, 5), at(0x2000, 3), at(0x3000, -9))
		out.take(r, at(0x4000, 4), at(0x5000, 7))
		var got []time.Duration
		for e := range out.Events(0) {
			got = append(got, e.Time/time.Microsecond)
		}
		if want := []time.Duration{5, 5, 5, 5, 7}; !slices.Equal(got, want) {
			t.Errorf("recorded at %d µs, want %d", got, want)
		}
	})
}

// Functions and stacks are told as the recording numbers them, whichever of the two is new.
func TestRecordedFunctionsAndStacks(t *testing.T) {
	bothWays(t, func(t *testing.T, r *Recording, out *transcript) {
		out.FuncIndex("other") // so that no number is the same there
		out.Intern(capture.Stack{PCs: []addr.Run{0x900}})
		first := r.Stack(capture.Stack{PCs: []addr.Run{0x100}})
		second := r.Stack(capture.Stack{PCs: []addr.Run{0x200}})
		third := r.Stack(capture.Stack{PCs: []addr.Run{0x300}})
		block := uint64(0x1000)
		from := func(function uint16, stack capture.StackID) capture.Event {
			block += 0x1000
			return capture.Event{Kind: capture.Alloc, Addr: block, Size: 8, Func: function, Stack: stack}
		}
		out.take(r, from(0, first), from(0, second), from(1, second), from(1, first), from(0, 0))
		out.take(r, from(1, third), from(0, second))
		var got []string
		for e := range out.Events(0) {
			got = append(got, fmt.Sprintf("%s %v", out.Functions()[e.Func], out.Stack(e.Stack).PCs))
		}
		want := []string{"realloc [0x100]", "realloc [0x200]", "malloc [0x200]", "malloc [0x100]", "realloc []", "malloc [0x300]", "realloc [0x200]"}
		if !slices.Equal(got, want) {
			t.Errorf("recorded %q, want %q", got, want)
		}
	})
}

// TestKeptCode adds addresses that share places of the lately added ones, again and again.
func TestKeptCode(t *testing.T) {
	var k keptCode
	for turn := range 3 {
		for i := range 3 * len(k.lately) {
			if added, want := k.add(addr.Run(16*i+8)), turn == 0; added != want {
				t.Fatalf("turn %d: address %d is new: %v", turn, i, added)
			}
		}
	}
}
