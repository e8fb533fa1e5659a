package inferior

import (
	"errors"
	"testing"

	"hdb/internal/addr"
)

// TestDiverted: a thread that is stepped goes where the trap leads, one that is placed
// runs the copy, and traps behind the first byte have their place.
func TestDiverted(t *testing.T) {
	h := byTrap.launch(t, "once", "3")
	h.over = h.thunk + 128 // endbr64; jmp target+4
	if _, err := h.p.traps.WriteAt(append([]byte{0xf3, 0x0f, 0x1e, 0xfa}, jump(h.over+4, h.target+4)...), int64(h.over)); err != nil {
		t.Fatal(err)
	}
	h.install(t)
	var pe *PatchedError
	if _, err := h.p.patches.Divert(h.target, h.thunk, h.over); !errors.As(err, &pe) {
		t.Errorf("diverted twice: %v", err)
	}
	inside := 0
	plant(t, h.p, h.target+4, func(*Thread) Action { inside++; return Resume })
	entry := plant(t, h.p, h.target, func(*Thread) Action { return StopHere })
	th := resume(t, h.p).Thread
	wantPC(t, th, h.target)
	step := func(want addr.Run) {
		t.Helper()
		if s, err := h.p.StepInstruction(th); err != nil || s.Reason != Stepped {
			t.Fatalf("%v %v", s.Reason, err)
		}
		wantPC(t, th, want)
	}
	step(h.thunk)
	if err := entry.Remove(); err != nil {
		t.Fatal(err)
	}
	match := plant(t, h.p, h.thunk+8, func(th *Thread) Action {
		if err := th.PlaceAt(h.target); err != nil {
			t.Error(err)
		}
		return StopHere
	})
	th = resume(t, h.p).Thread
	wantPC(t, th, h.target)
	step(h.over + 4)
	if err := match.Remove(); err != nil {
		t.Fatal(err)
	}
	atExit(t, h.p, func() {
		// The thunk's copy is that of five bytes.
		if n := h.seen(t); n != 3 || inside != 1 {
			t.Errorf("counted %d, want 3; %d inside, want 1", n, inside)
		}
		if err := h.patch.Remove(); err != nil {
			t.Error(err)
		}
	})
	wantExit(t, h.p, 7)
}
