package console

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"hdb/capture"
	"hdb/console/desk"
	"hdb/console/shell"
	"hdb/recording"
)

// fullDevice takes so many bytes.
type fullDevice struct{ room int }

func (d *fullDevice) Write(b []byte) (int, error) {
	if d.room -= len(b); d.room < 0 {
		return 0, errors.New("full")
	}
	return len(b), nil
}

// many yields events, and counts those that were taken.
func many(n int, taken *int) func(func(*recording.Event) bool) {
	return func(yield func(*recording.Event) bool) {
		for i := range n {
			*taken = i + 1
			if !yield(&recording.Event{Event: capture.Event{Seq: uint64(i + 1), Size: 8, Kind: capture.Alloc}, Function: "malloc"}) {
				return
			}
		}
	}
}

// TestListsEndWithTheirReader: nothing is laid out for an output that is full.
func TestListsEndWithTheirReader(t *testing.T) {
	for _, asJSON := range []bool{false, true} {
		st := newStage(t, func(c *Config) { c.JSON, c.Out = asJSON, &fullDevice{room: 100} })
		taken := 0
		if err := desk.ListEvents(t.Context(), st.Desk, desk.EventList{In: shell.Input{Name: "allocs"}}, many(100_000, &taken), func() desk.Listed { return desk.Listed{Total: 100_000} }); err != nil {
			t.Error(err)
		}
		if taken > 2*desk.ListPart {
			t.Errorf("JSON %v: %d events were laid out", asJSON, taken)
		}
	}
}

// TestEventObject: a list that is printed in parts is one object on one line, in which no
// notice stands.
func TestEventObject(t *testing.T) {
	for _, n := range []int{0, 1, desk.ListPart, 2*desk.ListPart + 1} {
		st := newStage(t, func(c *Config) { c.JSON = true })
		taken := 0
		events := func(yield func(*recording.Event) bool) {
			for e := range many(n, &taken) {
				if taken%100 == 0 {
					st.Notify("beside")
				}
				if !yield(e) {
					return
				}
			}
		}
		if err := desk.ListEvents(t.Context(), st.Desk, desk.EventList{In: shell.Input{Name: "allocs"}}, events, func() desk.Listed { return desk.Listed{Total: n, More: n == 1} }); err != nil {
			t.Error(err)
		}
		line, notices, _ := strings.Cut(st.out.String(), "\n")
		var got struct {
			Command string
			Events  []struct{ Seq int }
			Total   int
			More    bool
		}
		if err := json.Unmarshal([]byte(line), &got); err != nil || got.Events == nil {
			t.Fatalf("%d events: %v\n%s", n, err, line)
		}
		if got.Command != "allocs" || len(got.Events) != n || got.Total != n || got.More != (n == 1) || strings.Count(notices, "\n") != n/100 {
			t.Errorf("%d events: %+v, then %q", n, got, notices)
		}
	}
}

// TestEventObjectCutShort: an interrupted list is an object that says so, and prints
// nothing if it has not begun.
func TestEventObjectCutShort(t *testing.T) {
	for _, after := range []int{0, 1, desk.ListPart, 2*desk.ListPart + 1} {
		for _, ends := range []bool{true, false} { // by themselves, as what is read from a capture does
			st := newStage(t, func(c *Config) { c.JSON = true })
			ctx, cancel := context.WithCancel(t.Context())
			reading := capture.NewReading(ctx)
			restore, within := st.Desk.Out.Until(reading.GivenUp), (&host{Desk: st.Desk}).Within(reading)
			taken := 0
			events := func(yield func(*recording.Event) bool) {
				for e := range many(3*desk.ListPart, &taken) {
					if taken > after {
						if cancel(); ends {
							return
						}
					}
					if !yield(e) {
						return
					}
				}
			}
			err := desk.ListEvents(ctx, st.Desk, desk.EventList{In: shell.Input{Name: "allocs"}}, events, func() desk.Listed { return desk.Listed{Total: taken} })
			restore()
			within()
			if err != nil && !errors.Is(err, shell.ErrInterrupted) {
				t.Error(err)
			}
			out := st.out.String()
			if after < desk.ListPart {
				if out != "" {
					t.Errorf("after %d events, ending %v: %s", after, ends, out)
				}
				continue
			}
			var got struct {
				Events      []struct{ Seq int }
				Total       *int
				Interrupted bool
			}
			if err := json.Unmarshal([]byte(out), &got); err != nil || strings.Count(out, "\n") != 1 {
				t.Fatalf("after %d events, ending %v: %v\n%s", after, ends, err, out)
			}
			if len(got.Events) == 0 || got.Total != nil || !got.Interrupted {
				t.Errorf("after %d events, ending %v: %d events, total %v, interrupted %v", after, ends, len(got.Events), got.Total, got.Interrupted)
			}
		}
	}
}
