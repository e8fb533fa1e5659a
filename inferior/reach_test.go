package inferior

import (
	"encoding/binary"
	"testing"

	"hdb/internal/addr"

	"golang.org/x/sys/unix"
)

// A thread may reach where it stands and where it returns to, and nothing else.
func TestMayReach(t *testing.T) {
	p, _ := launch(t, build(t, "threads"), "4", "10", "10")
	plant(t, p, symbol(t, p, "hit"), func(*Thread) Action { return StopHere })
	s := resume(t, p)
	regs, err := s.Thread.Regs()
	if err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 8)
	if _, err := p.memory.ReadAt(b, int64(regs.Rsp)); err != nil {
		t.Fatal(err)
	}
	caller := addr.Run(binary.LittleEndian.Uint64(b))
	for a, want := range map[addr.Run]bool{regs.PC(): true, caller: true, 0x123456789000: false} {
		if got := p.family.MayReach(func(x addr.Run) bool { return x == a }); got != want {
			t.Errorf("%v: %v", a, got)
		}
	}
}

// What shares the memory may be anywhere in it.
func TestMayReachShared(t *testing.T) {
	p, _ := launch(t, build(t, "forks"), "vfork")
	p.family.SetFollowFork(true)
	p.hooks.CatchFork = func(*Thread, int, bool) Action { return StopHere }
	if s := resume(t, p); s.Reason != Forked {
		t.Fatalf("%v", s.Reason)
	}
	if !p.family.MayReach(func(addr.Run) bool { return false }) {
		t.Error("the parent of a vfork child is not seen")
	}
}

// If hdb is killed, a thread goes on where the kernel has it: nothing may be unmapped by
// what hdb alone knows.
func TestMayReachFlushes(t *testing.T) {
	p, _ := launch(t, build(t, "threads"), "4", "10", "10")
	hit := symbol(t, p, "hit")
	plant(t, p, hit, func(*Thread) Action { return StopHere })
	s := resume(t, p)
	p.family.MayReach(func(addr.Run) bool { return false })
	var kernel unix.PtraceRegs
	if err := unix.PtraceGetRegs(s.Thread.TID, &kernel); err != nil {
		t.Fatal(err)
	}
	if got := addr.Run(kernel.Rip); got != hit {
		t.Errorf("the kernel has the thread at %v, want %v, behind whose int3 it was stopped", got, hit)
	}
}
