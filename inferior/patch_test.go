package inferior

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"testing"

	"hdb/internal/addr"

	"golang.org/x/sys/unix"
)

func TestPatchRuns(t *testing.T) { eachLead(t, testPatchRuns) }

func testPatchRuns(t *testing.T, l lead) {
	calls := 20000
	if l == byTrap {
		calls = 200 // each is a stop
	}
	h := l.launch(t, "threads", strconv.Itoa(calls))
	h.install(t)
	h.wantCode(t, h.code)
	atExit(t, h.p, func() {
		if n := h.seen(t); n != 8*calls {
			t.Errorf("%d calls counted, want %d", n, 8*calls)
		}
	})
	wantExit(t, h.p, 7)
	if !h.patch.Removed() {
		t.Error("the patch has outlived the process")
	}
	if err := h.patch.Remove(); err != nil {
		t.Error(err)
	}
}

// TestTrapOnPatch: a trap at the first byte comes before the patch, whichever
// was there first, whether the jump is emulated or not.
func TestTrapOnPatch(t *testing.T) { eachLead(t, testTrapOnPatch) }

func testTrapOnPatch(t *testing.T, l lead) {
	for _, trapFirst := range []bool{true, false} {
		for _, emulate := range []bool{true, false} {
			if !emulate && l == byTrap {
				continue // nothing else leads to the thunk
			}
			h := l.launch(t, "threads", "100")
			hits := 0
			count := func(*Thread) Action { hits++; return Resume }
			var tr *Trap
			if trapFirst {
				tr = plant(t, h.p, h.target, count)
			}
			h.install(t)
			if !trapFirst {
				tr = plant(t, h.p, h.target, count)
			}
			h.wantCode(t, append([]byte{int3}, h.code[1:]...))
			if !emulate {
				tr.site.emulate = nil
			}
			atExit(t, h.p, func() {
				if n := h.seen(t); n != 800 || hits != 800 {
					t.Errorf("trap first %v, emulate %v: %d calls counted, %d hits, want 800", trapFirst, emulate, n, hits)
				}
				if err := tr.Remove(); err != nil {
					t.Error(err)
				}
				h.wantCode(t, h.code)
				if err := h.patch.Remove(); err != nil {
					t.Error(err)
				}
				h.wantCode(t, targetCode)
			})
			wantExit(t, h.p, 7)
		}
	}
}

// TestPatchUnderTrap takes the patch out while a trap stands over it.
func TestPatchUnderTrap(t *testing.T) { eachLead(t, testPatchUnderTrap) }

func testPatchUnderTrap(t *testing.T, l lead) {
	h := l.launch(t, "once", "50")
	h.install(t)
	hits := 0
	plant(t, h.p, h.target, func(*Thread) Action {
		if hits++; hits == 20 {
			return StopHere
		}
		return Resume
	})
	resume(t, h.p)
	if err := h.patch.Remove(); err != nil {
		t.Fatal(err)
	}
	h.wantCode(t, append([]byte{int3}, targetCode[1:]...))
	atExit(t, h.p, func() {
		if n := h.seen(t); n != 19 || hits != 50 {
			t.Errorf("%d calls counted, want 19; %d hits, want 50", n, hits)
		}
	})
	wantExit(t, h.p, 7)
}

func TestPatchAndTrapInside(t *testing.T) {
	h := launchHook(t, "once", "3")
	var pe *PatchedError
	tr := plant(t, h.p, h.target+4, func(*Thread) Action { return Resume })
	if _, err := h.p.patches.Patch(h.target, h.code, h.over, h.moves); !errors.As(err, &pe) || pe.Addr != h.target+4 || pe.Patch != nil {
		t.Errorf("patch over a trap: %v", err)
	}
	if err := tr.Remove(); err != nil {
		t.Fatal(err)
	}
	h.wantCode(t, targetCode)
	h.install(t)
	if _, err := h.p.traps.Plant(h.target+4, nil); !errors.As(err, &pe) || pe.Addr != h.target+4 || pe.Patch != h.patch {
		t.Errorf("trap in a patch: %v", err)
	}
	if _, err := h.p.patches.Patch(h.target+2, h.code, h.over, nil); !errors.As(err, &pe) || pe.Patch != h.patch {
		t.Errorf("patch over a patch: %v", err)
	}
	if _, err := h.p.patches.Patch(8, h.code, h.over, nil); err == nil {
		t.Error("patch of memory that is not mapped")
	}
	if _, err := h.p.patches.Patch(h.target+64, make([]byte, maxPatch+1), h.over, nil); err == nil {
		t.Error("patch of any length")
	}
	wantExit(t, h.p, 7)
}

// TestWriteUnderPatch: what is written where a patch stands shows when it is
// removed.
func TestWriteUnderPatch(t *testing.T) {
	h := launchHook(t, "once", "3")
	h.install(t)
	plant(t, h.p, h.target, func(*Thread) Action { return Resume })
	b := append([]byte{0x90, 0x90, 0x90, 0x90}, targetCode[4:]...)
	if _, err := h.p.traps.WriteAt(b, int64(h.target)); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, 7)
	if _, err := h.p.memory.ReadAt(got, int64(h.target-1)); err != nil || !bytes.Equal(got[1:6], b) {
		t.Errorf("read % x, %v", got, err)
	}
	if _, err := h.p.memory.raw(got[:5], int64(h.target), false); err != nil || !bytes.Equal(got[1:5], h.code[1:]) || got[0] != int3 {
		t.Errorf("in memory: % x, %v", got, err)
	}
	if err := h.patch.Remove(); err != nil {
		t.Fatal(err)
	}
	if _, err := h.p.memory.raw(got[:5], int64(h.target), false); err != nil || !bytes.Equal(got[1:5], b[1:]) {
		t.Errorf("afterwards: % x, %v", got, err)
	}
	wantExit(t, h.p, 7)
}

// atSecond stops the thread at the target's second instruction.
func (h *hook) atSecond(t testing.TB) *Thread {
	t.Helper()
	tr := plant(t, h.p, h.target, func(*Thread) Action { return StopHere })
	th := resume(t, h.p).Thread
	if _, err := h.p.StepInstruction(th); err != nil {
		t.Fatal(err)
	}
	if err := tr.Remove(); err != nil {
		t.Fatal(err)
	}
	wantPC(t, th, h.target+4)
	return th
}

func wantPC(t testing.TB, th *Thread, want addr.Run) {
	t.Helper()
	if r, err := th.Regs(); err != nil || r.PC() != want {
		t.Fatalf("PC %v, %v; want %v", r.PC(), err, want)
	}
}

// TestPatchMovesThreads: a thread inside the bytes replaced goes on in the
// copy, and shows where it stood; one within an instruction forbids the patch.
func TestPatchMovesThreads(t *testing.T) {
	h := launchHook(t, "once", "10")
	th := h.atSecond(t)
	r, err := th.Regs()
	if err != nil {
		t.Fatal(err)
	}
	bad := r
	bad.Rip -= 2
	if err := th.SetRegs(bad); err != nil {
		t.Fatal(err)
	}
	if _, err := h.p.patches.Patch(h.target, h.code, h.over, h.moves); err == nil {
		t.Error("patched under a thread that is within an instruction")
	}
	h.wantCode(t, targetCode)
	if err := th.SetRegs(r); err != nil {
		t.Fatal(err)
	}
	h.install(t)
	wantPC(t, th, h.target+4)
	var k Registers
	if err := getRegs(th.TID, &k); err != nil || k.PC() != h.over+4 {
		t.Errorf("the thread is at %v, want %v", k.PC(), h.over+4)
	}
	if err := th.SetRegs(bad); err == nil {
		t.Error("PC set within an instruction that is patched")
	}
	wantPC(t, th, h.target+4)
	atExit(t, h.p, func() {
		if n := h.seen(t); n != 9 {
			t.Errorf("%d calls counted, want 9", n)
		}
	})
	wantExit(t, h.p, 7)
}

// TestPatchRemovedUnderThread: a thread in the copy goes back.
func TestPatchRemovedUnderThread(t *testing.T) {
	h := launchHook(t, "once", "10")
	th := h.atSecond(t)
	h.install(t)
	if err := h.patch.Remove(); err != nil {
		t.Fatal(err)
	}
	if _, err := h.p.traps.WriteAt(bytes.Repeat([]byte{0xf4}, 64), int64(h.over)); err != nil { // nobody may need it
		t.Fatal(err)
	}
	wantPC(t, th, h.target+4)
	wantExit(t, h.p, 7)
}

// TestPatchUnderSystemCall: a thread blocked in a call made by the bytes
// replaced must not begin it anew there.
func TestPatchUnderSystemCall(t *testing.T) {
	cmd, out := background(t, build(t, "patched"), "nap")
	waitCall(t, cmd.Process.Pid, unix.SYS_PAUSE)
	p := attach(t, cmd.Process.Pid)
	nap, over := symbol(t, p, "nap"), symbol(t, p, "island")
	code := []byte{0x31, 0xc0, 0xb0, 0x22, 0x0f, 0x05}
	if _, err := p.traps.WriteAt(append(bytes.Clone(code), jump(over+6, nap+6)...), int64(over)); err != nil {
		t.Fatal(err)
	}
	moves := map[addr.Run]addr.Run{nap + 2: over + 2, nap + 4: over + 4}
	if _, err := p.patches.Patch(nap, jump(nap, over), over, moves); err == nil {
		t.Error("patched under the system call")
	}
	moves[nap+6] = over + 6
	if _, err := p.patches.Patch(nap, jump(nap, over), over, moves); err != nil {
		t.Fatal(err)
	}
	wantPC(t, p.target.Threads()[0], nap+6)
	go func() {
		waitState(t, p.target.PID(), "S")
		_ = p.waker.Interrupt()
	}()
	if s := resume(t, p); s.Reason != Interrupted {
		t.Fatalf("%v %+v %v", s.Reason, s.Signal, s.Exit)
	}
	wantPC(t, p.target.Threads()[0], nap+6)
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	waitCall(t, cmd.Process.Pid, unix.SYS_PAUSE)
	if err := cmd.Process.Signal(unix.SIGUSR1); err != nil {
		t.Fatal(err)
	}
	finish(t, cmd, out)
}

// TestPlaceAt: as the probe does it, a trap behind the patch's jump sets the
// thread back to the entry, from where it goes on without being counted again.
func TestPlaceAt(t *testing.T) {
	h := launchHook(t, "once", "3")
	h.install(t)
	entered := 0
	plant(t, h.p, h.target, func(*Thread) Action { entered++; return Resume })
	match := plant(t, h.p, h.thunk+8, func(th *Thread) Action {
		if err := th.PlaceAt(h.target); err != nil {
			t.Error(err)
		}
		return StopHere
	})
	th := resume(t, h.p).Thread
	wantPC(t, th, h.target)
	if stops, err := h.p.traps.Arrive(th); err != nil || stops != nil {
		t.Errorf("%v %v", stops, err)
	}
	for _, want := range []addr.Run{h.target + 4, h.target + 5, h.target + 5, h.target + 8} { // the copy's jump back is the third
		if s, err := h.p.StepInstruction(th); err != nil || s.Reason != Stepped {
			t.Fatalf("%v %v", s.Reason, err)
		}
		wantPC(t, th, want)
	}
	th = resume(t, h.p).Thread // second call
	wantPC(t, th, h.target)
	if n := h.seen(t); n != 2 || entered != 2 {
		t.Errorf("counted %d, entered %d, want 2", n, entered)
	}
	// A new PC makes it void, and going back is an arrival like any other.
	r, err := th.Regs()
	if err != nil {
		t.Fatal(err)
	}
	for _, pc := range []addr.Run{h.target + 5, h.target} {
		r.Rip = uint64(pc)
		if err := th.SetRegs(r); err != nil {
			t.Fatal(err)
		}
	}
	th = resume(t, h.p).Thread
	if n := h.seen(t); n != 3 || entered != 2 { // its trap counts as passed
		t.Errorf("counted %d, want 3; entered %d, want 2", n, entered)
	}
	if err := match.Remove(); err != nil {
		t.Fatal(err)
	}
	if err := th.PlaceAt(h.target + 5); err == nil {
		t.Error("placed where no patch begins")
	}
	wantExit(t, h.p, 7)
	if entered != 3 {
		t.Errorf("entered %d times, want 3", entered)
	}
}

// TestPlacedSurvivesSystemCall: a remote system call leaves the thread placed.
func TestPlacedSurvivesSystemCall(t *testing.T) {
	h := launchHook(t, "once", "1")
	h.install(t)
	plant(t, h.p, h.thunk+8, func(th *Thread) Action {
		if err := th.PlaceAt(h.target); err != nil {
			t.Error(err)
		}
		return StopHere
	})
	th := resume(t, h.p).Thread
	if pid, err := th.Syscall(unix.SYS_GETPID); err != nil || int(pid) != h.p.target.PID() {
		t.Errorf("getpid: %d, %v", pid, err)
	}
	wantPC(t, th, h.target)
	wantExit(t, h.p, 7)
}

// TestPatchedChildren: children with memory of their own have no patch, those
// that share the target's run it.
func TestPatchedChildren(t *testing.T) { eachLead(t, testPatchedChildren) }

func testPatchedChildren(t *testing.T, l lead) {
	for _, how := range []string{"fork", "vfork", "vm"} {
		for _, trap := range []bool{false, true} {
			if trap && l == byTrap {
				continue // it is one already
			}
			calls := 3000
			if trap || l == byTrap {
				calls = 500 // each is a stop
			}
			h := l.launch(t, how, strconv.Itoa(calls))
			h.install(t)
			hits := 0
			if trap {
				plant(t, h.p, h.target, func(*Thread) Action { hits++; return Resume })
			}
			want := 3 * calls
			if how != "fork" {
				want += 20 * 100
			}
			atExit(t, h.p, func() {
				if n := h.seen(t); n != want || trap && hits != 3*calls {
					t.Errorf("%s: %d calls counted, want %d; %d hits", how, n, want, hits)
				}
			})
			wantExit(t, h.p, 7)
		}
	}
}

// TestPatchGoesWhileChildrenAreBorn takes the patch out and in again while
// threads run and children are born, known and not known yet.
func TestPatchGoesWhileChildrenAreBorn(t *testing.T) {
	for _, how := range []string{"fork", "vfork", "vm"} {
		h := launchHook(t, how, "100000")
		h.install(t)
		changes := 0
		h.p.SetHooks(Hooks{Forked: func(Birth) {
			err := h.p.StopAll(func() error {
				changes++
				if !h.patch.Removed() {
					return h.patch.Remove()
				}
				var err error
				h.patch, err = h.p.patches.Patch(h.target, h.code, h.over, h.moves)
				return err
			})
			if err != nil {
				t.Error(err)
			}
		}})
		wantExit(t, h.p, 7)
		if changes != 20 {
			t.Errorf("%s: %d changes, want 20", how, changes)
		}
	}
}

// TestFollowedChildHasNoPatch: neither it nor the parent let go has one, and
// the hook may plant anew.
func TestFollowedChildHasNoPatch(t *testing.T) { eachLead(t, testFollowedChildHasNoPatch) }

func testFollowedChildHasNoPatch(t *testing.T, l lead) {
	h := l.launch(t, "fork", "1000")
	h.install(t)
	h.p.family.SetFollowFork(true)
	parent, again := h.p.target.PID(), false
	h.p.SetHooks(Hooks{Forked: func(b Birth) {
		if !b.Followed || !h.patch.Removed() {
			t.Errorf("followed %v, patch removed %v", b.Followed, h.patch.Removed())
		}
		h.wantCode(t, targetCode)
		h.install(t)
		again = true
	}})
	s := resume(t, h.p)
	// The child finds the patch in its memory.
	if s.Reason != Exited || s.Exit.Code != 5 || !again {
		t.Errorf("%v %v, patched again: %v", s.Reason, s.Exit, again)
	}
	if _, ws, err := waitFor(parent); err != nil || ws.ExitStatus() != 1 { // it expects 3 of its child
		t.Errorf("the parent: %v, %v", ws.ExitStatus(), err)
	}
}

// TestFollowedVforkKeepsPatch: it shares the memory, and leaves it clean.
func TestFollowedVforkKeepsPatch(t *testing.T) { eachLead(t, testFollowedVforkKeepsPatch) }

func testFollowedVforkKeepsPatch(t *testing.T, l lead) {
	h := l.launch(t, "vfork", "1000")
	h.install(t)
	h.p.family.SetFollowFork(true)
	parent := h.p.target.PID()
	h.p.SetHooks(Hooks{Forked: func(b Birth) {
		if !b.Followed || h.patch.Removed() {
			t.Errorf("followed %v, patch removed %v", b.Followed, h.patch.Removed())
		}
		h.wantCode(t, h.code)
	}})
	wantExit(t, h.p, 3)
	if _, ws, err := waitFor(parent); err != nil || ws.ExitStatus() != 7 {
		t.Errorf("the parent: %v, %v", ws.ExitStatus(), err)
	}
}

func TestHeldChildHasNoPatch(t *testing.T) { eachLead(t, testHeldChildHasNoPatch) }

func testHeldChildHasNoPatch(t *testing.T, l lead) {
	h := l.launch(t, "fork", "1000")
	h.install(t)
	h.p.family.SetDetachOnFork(false)
	h.p.hooks.CatchFork = func(*Thread, int, bool) Action { return StopHere }
	s := resume(t, h.p)
	if s.Reason != Forked {
		t.Fatalf("%v", s.Reason)
	}
	h.p.hooks.CatchFork = nil
	parent := h.p.target.PID()
	if err := h.p.family.SwitchTo(s.Child); err != nil {
		t.Fatal(err)
	}
	if !h.patch.Removed() {
		t.Error("the patch is still there after the switch")
	}
	h.wantCode(t, targetCode)
	wantExit(t, h.p, 3)
	if err := h.p.family.SwitchTo(parent); err != nil {
		t.Fatal(err)
	}
	h.wantCode(t, targetCode)
	h.p.family.SetDetachOnFork(true)
	h.install(t)
	wantExit(t, h.p, 7)
}

func TestExecForgetsPatch(t *testing.T) { eachLead(t, testExecForgetsPatch) }

func testExecForgetsPatch(t *testing.T, l lead) {
	h := l.launch(t, "exec")
	h.install(t)
	execed := false
	h.p.SetHooks(Hooks{Execed: func(string) {
		execed = true
		if !h.patch.Removed() || len(h.p.patches.copies) != 0 {
			t.Error("the patch is still there after exec")
		}
	}})
	wantExit(t, h.p, 7)
	if !execed {
		t.Error("no exec")
	}
}

// TestDetachRemovesPatch with one thread in the copy and one placed.
func TestDetachRemovesPatch(t *testing.T) { eachLead(t, testDetachRemovesPatch) }

func testDetachRemovesPatch(t *testing.T, l lead) {
	h := l.launch(t, "fork", "100000")
	h.install(t)
	n := 0
	plant(t, h.p, h.thunk+8, func(th *Thread) Action {
		if n++; n < 10 {
			return Resume
		}
		if err := th.PlaceAt(h.target); err != nil {
			t.Error(err)
		}
		return StopHere
	})
	for range 2 {
		th := resume(t, h.p).Thread
		if n%2 == 0 {
			if _, err := h.p.StepInstruction(th); err != nil {
				t.Fatal(err)
			}
		}
	}
	pid := h.p.target.PID()
	if err := h.p.Detach(); err != nil {
		t.Fatal(err)
	}
	// Its children look at their copy of the code.
	if _, ws, err := waitFor(pid); err != nil || ws.ExitStatus() != 7 {
		t.Errorf("%v, exit %d signal %v", err, ws.ExitStatus(), ws.Signal())
	}
}

func TestFaultHook(t *testing.T) {
	p, _ := launch(t, build(t, "patched"), "fault")
	toReady(t, p)
	bad, calls, on := symbol(t, p, "peek_bad"), 0, true
	plant(t, p, symbol(t, p, "ready"), func(*Thread) Action { on = false; return Resume })
	p.SetHooks(Hooks{Fault: func(th *Thread, s *Signal) bool {
		calls++
		r, err := th.Regs()
		if err != nil || s.Number != int(unix.SIGSEGV) || r.PC() != symbol(t, p, "peek") {
			t.Errorf("%+v at %v, %v", s, r.PC(), err)
		}
		if !on {
			return false
		}
		r.Rip = uint64(bad)
		if err := th.SetRegs(r); err != nil {
			t.Error(err)
		}
		return true
	}})
	var stops []string
	s := resume(t, p)
	for ; s.Reason == Signaled; s = resume(t, p) {
		stops = append(stops, fmt.Sprintf("%s code %d", s.Signal.Name, s.Signal.Code))
	}
	if s.Exit.Code != 7 || calls != 3 || fmt.Sprint(stops) != "[SIGSEGV code 1 SIGSEGV code -6]" {
		t.Errorf("%v, %d calls of the hook, stops %v", s.Exit, calls, stops)
	}
}

// TestPatchWord: readers see the pointer that was there until the program writes another,
// which stays.
func TestPatchWord(t *testing.T) {
	p, _ := launch(t, build(t, "busy"), "1", "1")
	at := symbol(t, p, "total")
	raw := func() uint64 {
		t.Helper()
		var b [8]byte
		if _, err := p.memory.raw(b[:], int64(at), false); err != nil {
			t.Fatal(err)
		}
		return binary.LittleEndian.Uint64(b[:])
	}
	write := func(v uint64, through func([]byte, int64) (int, error)) {
		t.Helper()
		if _, err := through(binary.LittleEndian.AppendUint64(nil, v), int64(at)); err != nil {
			t.Fatal(err)
		}
	}
	program := func(b []byte, at int64) (int, error) { return p.memory.raw(b, at, true) }
	want := func(what string, pt *Patch, inMemory, read uint64, stands bool) {
		t.Helper()
		var b [8]byte
		for i := range b { // byte by byte: the patch is whole or not at all
			if _, err := p.ReadAt(b[i:i+1], int64(at)+int64(i)); err != nil {
				t.Fatal(err)
			}
		}
		if got := binary.LittleEndian.Uint64(b[:]); raw() != inMemory || got != read || pt.Intact() != stands {
			t.Errorf("%s: %#x in memory, %#x read, stands %v, want %#x, %#x, %v", what, raw(), got, pt.Intact(), inMemory, read, stands)
		}
	}
	const ours, first, second, third = 0x1111222233334444, 0x5555, 0x6666000000000001, 0x7777
	write(first, p.WriteAt)
	pt, err := p.PatchWord(at, ours)
	if err != nil {
		t.Fatal(err)
	}
	want("patched", pt, ours, first, true)
	write(second, p.WriteAt)
	want("written by hdb", pt, ours, second, true)
	write(third, program)
	want("written by the program", pt, third, third, false)
	write(first, p.WriteAt)
	want("written by hdb then", pt, first, first, false)
	write(ours, program)
	want("put back by the program", pt, ours, second, true)
	if err := pt.Remove(); err != nil {
		t.Fatal(err)
	}
	want("removed", pt, second, second, false)
	if pt, err = p.PatchWord(at, ours); err != nil {
		t.Fatal(err)
	}
	write(third, program)
	if err := pt.Remove(); err != nil {
		t.Fatal(err)
	}
	want("removed, though the program has written", pt, third, third, false)
	if _, err := p.PatchWord(at+4, ours); err == nil {
		t.Error("a word across a boundary is patched")
	}
	write(0, p.WriteAt)
	wantExit(t, p, 7)
}
