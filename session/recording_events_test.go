package session

import (
	"fmt"
	"slices"
	"testing"

	"hdb/breakpoints"
	"hdb/capture"
)

// A transcript is what a recording was told of, in its order.
type transcript struct {
	*capture.Log
	lines []string
}

func (r *transcript) AddEvent(e *capture.Event) uint64 {
	r.lines = append(r.lines, fmt.Sprintf("#%d %v %#x", e.Seq, e.Kind, e.Addr))
	return r.Log.AddEvent(e)
}

func (r *transcript) AddEvents(events []capture.Event) (seq uint64) {
	for i := range events {
		seq = r.AddEvent(&events[i])
	}
	return seq
}

func (r *transcript) Ended(seq uint64) {
	r.lines = append(r.lines, fmt.Sprintf("and #%d", seq))
	r.Log.Ended(seq)
}

func newTranscript() (*Session, *transcript) {
	r := &transcript{Log: capture.NewLog(capture.Info{})}
	s := &Session{rec: r, log: r.Log}
	s.trace.recording = true
	s.trace.reset()
	return s, r
}

// take hands over events at once, which have no stacks.
func (r *transcript) take(s *Session, events ...capture.Event) {
	s.probeEvents(events, []*breakpoints.Function{{Name: "realloc"}})
}

// The second block that a realloc ends is said behind it, not behind another one of
// the same batch.
func TestEndedBehindItsRealloc(t *testing.T) {
	s, r := newTranscript()
	r.take(s,
		capture.Event{Kind: capture.Alloc, Addr: 0x1000, Size: 8},
		capture.Event{Kind: capture.Alloc, Addr: 0x2000, Size: 8},
		capture.Event{Kind: capture.Alloc, Addr: 0x3000, Size: 8},
		capture.Event{Kind: capture.Realloc, Old: 0x1000, Addr: 0x4000, Size: 8},
		capture.Event{Kind: capture.Realloc, Old: 0x2000, Addr: 0x3000, Size: 8},
		capture.Event{Kind: capture.Realloc, Old: 0x4000, Addr: 0x1000, Size: 8})
	want := []string{"#1 alloc 0x1000", "#2 alloc 0x2000", "#3 alloc 0x3000",
		"#4 realloc 0x4000", "#5 realloc 0x3000", "and #3", "#6 realloc 0x1000"}
	if !slices.Equal(r.lines, want) {
		t.Errorf("recorded %q, want %q", r.lines, want)
	}
}

// What a recorded block became while nothing is recorded has its end recorded, too,
// however soon it comes; what is at its place then does not.
func TestEndsWhilePaused(t *testing.T) {
	s, r := newTranscript()
	r.take(s, capture.Event{Kind: capture.Alloc, Addr: 0x1000, Size: 8})
	s.trace.paused = true
	r.take(s,
		capture.Event{Kind: capture.Realloc, Old: 0x1000, Addr: 0x2000, Size: 16},
		capture.Event{Kind: capture.Free, Addr: 0x2000},
		capture.Event{Kind: capture.Alloc, Addr: 0x2000, Size: 8},
		capture.Event{Kind: capture.Free, Addr: 0x2000})
	want := []string{"#1 alloc 0x1000", "#2 realloc 0x2000", "#3 free 0x2000"}
	if !slices.Equal(r.lines, want) {
		t.Errorf("recorded %q, want %q", r.lines, want)
	}
}
