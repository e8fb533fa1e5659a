package line

import (
	"errors"
	"testing"
)

// scarceKeys gives keys but for the second time.
type scarceKeys struct{ asked, held int }

func (k *scarceKeys) Keys(func([]byte)) (func() error, error) {
	if k.asked++; k.asked == 2 {
		return nil, errors.New("gone")
	}
	k.held++
	return func() error { k.held--; return nil }, nil
}

// TestKeysAreLost has a terminal that could not be had again, and somebody else had it
// once more before the view has ended for that.
func TestKeysAreLost(t *testing.T) {
	from := &scarceKeys{}
	k := HeldKeys{From: from}
	if err := k.Hold(); err != nil {
		t.Fatal(err)
	}
	for i, want := range []bool{false, true} {
		if got := k.Regain(nil); got != want {
			t.Errorf("regained at time %d: %v", i+1, got)
		}
	}
	if err := errors.Join(k.Release(), k.Release()); err != nil || from.held != 0 {
		t.Errorf("held %d times, %v", from.held, err)
	}
}
