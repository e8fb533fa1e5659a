package session

import (
	"testing"

	"hdb/heap"
	"hdb/heap/graph"
	"hdb/session/heaps"
	"hdb/session/target"
	"hdb/testprogs"
)

// TestGoHeapBesideRecording asks at a stop of a Go program that plain breakpoints follow for what its heap holds: the recording
// does not count it, and answers as none would.
func TestGoHeapBesideRecording(t *testing.T) {
	program := testprogs.Build(t, "golang")
	answers := map[bool]graph.Sum{}
	for _, recorded := range []bool{false, true} {
		s := open(t, "golang")
		s.Settings.Probe = target.ProbeOff
		if _, err := s.Load(program); err != nil {
			t.Fatal(err)
		}
		if recorded {
			if err := s.Recorder.Start(); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := s.Stops.Break("main.main", false); err != nil {
			t.Fatal(err)
		}
		must(t)(s.Run(nil))
		_, err := s.Queries.TopTypes(t.Context(), heap.ByLive)
		if !s.Heap.Unrecorded(err) {
			t.Errorf("recorded %v: %v: memory is not asked", recorded, err)
		}
		if rows, slots, err := s.Heap.TopTypes(t.Context(), heap.ByLive); err != nil || len(rows) == 0 || !slots {
			t.Errorf("recorded %v: %d types, of slots %v, %v", recorded, len(rows), slots, err)
		}
		a, err := s.Heap.Leaks(t.Context(), heaps.LeakQuestion{Limit: 5})
		if err != nil || !a.GoKnown {
			t.Fatalf("recorded %v: %+v, %v", recorded, a, err)
		}
		answers[recorded] = a.Go[graph.Reachable]
		if _, _, _, err := s.Queries.MappedStacks(heaps.LeakQuestion{}.Since, 5); recorded && err != nil {
			t.Errorf("mappings: %v", err)
		}
	}
	if a, b := answers[false], answers[true]; a.Blocks == 0 || b.Blocks == 0 {
		t.Errorf("reachable: %+v without, %+v with a recording", a, b)
	}
}
