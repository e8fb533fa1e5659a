package session

import (
	"testing"

	"hdb/recording"
	"hdb/session/target"
	"hdb/testprogs"
)

// BenchmarkStart is a whole session up to main: symbols are read anew each time.
func BenchmarkStart(b *testing.B) {
	path := testprogs.Build(b, "basic")
	for b.Loop() {
		s := New(target.Config{Version: "test"})
		if _, err := s.Load(path); err != nil {
			b.Fatal(err)
		}
		if _, err := s.Start(nil); err != nil {
			b.Fatal(err)
		}
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkEventCall is the text of a recorded event: allocs makes one for each row.
func BenchmarkEventCall(b *testing.B) {
	e := &recording.Event{Function: "mi_heap_calloc"}
	for b.Loop() {
		e.Call()
	}
}
