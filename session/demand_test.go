package session

import (
	"testing"
)

// TestAsksNames: the names of functions are wanted before the program runs by whatever asks
// for the frame that a block belongs to.
func TestAsksNames(t *testing.T) {
	for text, want := range map[string]bool{
		"alloc": false, "alloc if size > 3": false, "alloc if func(main)": true, "alloc if caller(main)": true,
		"alloc if n == 3": true, "free if n == 3 && size > 1": true, "main": false,
	} {
		s := open(t, "basic")
		if _, err := s.Stops.Break(text, false); err != nil {
			t.Error(err)
		}
		if got := s.demand.asksNames(); got != want {
			t.Errorf("break %s: %v, want %v", text, got, want)
		}
	}
	s := open(t, "basic")
	if _, err := s.Stops.Dprintf(`alloc,"%d\n",n`); err != nil {
		t.Error(err)
	}
	if !s.demand.asksNames() {
		t.Error("a dprintf asks for no names")
	}
}
