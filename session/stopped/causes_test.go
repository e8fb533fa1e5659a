package stopped

import (
	"testing"
)

// TestInvisibleChange is of a value whose bytes have changed, and whose text has not: the bytes are told.
func TestInvisibleChange(t *testing.T) {
	w := &WatchHit{Addr: 0x1000, Size: 16, Old: make([]byte, 16), New: make([]byte, 16), Name: "bases"}
	w.New[8] = 5
	w.Parts = w.Visible("bases", []WatchedPart{{Name: "bases", Old: "empty std::list", New: "empty std::list"}})
	if got, want := w.String(), "bases, bytes 8 to 15: 0x0 -> 0x5"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	w.Parts = w.Visible("bases", []WatchedPart{{Name: "a", Old: "1", New: "1"}, {Name: "b", Old: "1", New: "2"}})
	if got, want := w.String(), "b: 1 -> 2"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
