package inferior

import (
	"bytes"
	"encoding/binary"
	"testing"

	"hdb/internal/addr"
)

// hook is a patch of the function target of testdata/patched.c: a jump to code
// that counts the call in seen and goes on in the relocated copy.
type hook struct {
	p                   *Process
	lead                lead
	target, thunk, over addr.Run
	code                []byte
	moves               map[addr.Run]addr.Run
	patch               *Patch
}

// lead is how calls come to the thunk: by a jump, or as Divert has them by a trap.
type lead string

const (
	byJump lead = "jump"
	byTrap lead = "trap"
)

// eachLead runs a test for both.
func eachLead(t *testing.T, test func(*testing.T, lead)) {
	for _, l := range []lead{byJump, byTrap} {
		t.Run(string(l), func(t *testing.T) { test(t, l) })
	}
}

// targetCode are the first bytes of the function, which the patch replaces.
var targetCode = []byte{0xf3, 0x0f, 0x1e, 0xfa, 0x55}

// jump is a jmp rel32.
func jump(from, to addr.Run) []byte {
	return binary.LittleEndian.AppendUint32([]byte{0xe9}, uint32(to-from-5))
}

// newHook writes the island's code. p must be stopped.
func (l lead) newHook(t testing.TB, p *Process) *hook {
	t.Helper()
	h := &hook{p: p, lead: l, target: symbol(t, p, "target"), thunk: symbol(t, p, "island")}
	h.over = h.thunk + 64
	// lock incq seen(%rip)
	thunk := []byte{0xf0, 0x48, 0xff, 0x05}
	thunk = binary.LittleEndian.AppendUint32(thunk, uint32(symbol(t, p, "seen")-(h.thunk+8)))
	thunk = append(thunk, jump(h.thunk+8, h.over)...)
	over := append(bytes.Clone(targetCode), jump(h.over+5, h.target+5)...)
	for a, code := range map[addr.Run][]byte{h.thunk: thunk, h.over: over} {
		if _, err := p.traps.WriteAt(code, int64(a)); err != nil {
			t.Fatal(err)
		}
	}
	h.code = jump(h.target, h.thunk)
	if l == byTrap {
		h.code = append([]byte{int3}, targetCode[1:]...)
	}
	h.moves = map[addr.Run]addr.Run{h.target + 4: h.over + 4, h.target + 5: h.over + 5}
	return h
}

func (h *hook) install(t testing.TB) {
	t.Helper()
	var err error
	if h.lead == byTrap {
		if h.patch, err = h.p.patches.Divert(h.target, h.thunk, h.over); err != nil {
			t.Fatal(err)
		}
		return
	}
	if h.patch, err = h.p.patches.Patch(h.target, h.code, h.over, h.moves); err != nil {
		t.Fatal(err)
	}
}

// seen is how many calls the patch has counted.
func (h *hook) seen(t testing.TB) int {
	t.Helper()
	var b [8]byte
	if _, err := h.p.memory.ReadAt(b[:], int64(symbol(t, h.p, "seen"))); err != nil {
		t.Fatal(err)
	}
	return int(binary.LittleEndian.Uint64(b[:]))
}

// wantCode checks what readers see at the target, and the processor.
func (h *hook) wantCode(t testing.TB, run []byte) {
	t.Helper()
	b := make([]byte, 5)
	if _, err := h.p.memory.ReadAt(b, int64(h.target)); err != nil || !bytes.Equal(b, targetCode) {
		t.Errorf("readers see % x, %v; want % x", b, err, targetCode)
	}
	if _, err := h.p.memory.raw(b, int64(h.target), false); err != nil || !bytes.Equal(b, run) {
		t.Errorf("the processor sees % x, %v; want % x", b, err, run)
	}
}

// toReady runs to the moment when everything is loaded.
func toReady(t testing.TB, p *Process) {
	t.Helper()
	tr := plant(t, p, symbol(t, p, "ready"), func(*Thread) Action { return StopHere })
	if s := resume(t, p); s.Reason != Trapped {
		t.Fatalf("%v %v", s.Reason, s.Exit)
	}
	if err := tr.Remove(); err != nil {
		t.Fatal(err)
	}
}

// launch launches a program of patched.c and runs it to ready.
func (l lead) launch(t testing.TB, args ...string) *hook {
	t.Helper()
	p, _ := launch(t, build(t, "patched"), args...)
	toReady(t, p)
	return l.newHook(t, p)
}

// launchHook does so for a jump.
func launchHook(t testing.TB, args ...string) *hook {
	t.Helper()
	return byJump.launch(t, args...)
}

// atExit has the handler called when the program is about to end: the memory
// is gone at the stop for it.
func atExit(t testing.TB, p *Process, f func()) {
	t.Helper()
	called := false
	plant(t, p, symbol(t, p, "_fini"), func(*Thread) Action { f(); called = true; return Resume })
	t.Cleanup(func() {
		if !called {
			t.Error("the program has not come to its end")
		}
	})
}
