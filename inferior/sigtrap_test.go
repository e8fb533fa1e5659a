package inferior

import (
	"hdb/internal/procfs"
	"math/rand/v2"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// TestKilledAtTraps: hdb is killed while threads come to int3s all the time. The
// program goes on as if nothing had been.
func TestKilledAtTraps(t *testing.T) {
	rounds := 200
	if testing.Short() {
		rounds = 4
	}
	for range rounds {
		cmd, out := background(t, build(t, "gates"), "30", "1000000000", "wait")
		hdb, _ := startKilled(t, "running-traps", cmd.Process.Pid)
		begun(t, out)
		time.Sleep(rand.N(20 * time.Millisecond))
		kill(t, hdb)
		finish(t, cmd, out)
	}
}

// TestTrapHandler: a process with int3s has the handler as long as it is debugged, and
// from then on none. That of an hdb that was killed serves the next, and has the
// process die of a SIGTRAP of its own.
func TestTrapHandler(t *testing.T) {
	cmd, _ := background(t, build(t, "patched"), "forever")
	pid := cmd.Process.Pid
	session := func() (at uint64) {
		p := attach(t, pid)
		guarded(t, p)
		plant(t, p, symbol(t, p, "target"), func(*Thread) Action { return StopHere })
		for range 3 {
			resume(t, p)
		}
		if !p.target.Handles(int(unix.SIGTRAP)) || !p.handler.on {
			t.Error("there is no handler")
		}
		at = uint64(p.handler.at)
		if err := p.Close(); err != nil {
			t.Fatal(err)
		}
		return at
	}
	first := session()
	if second := session(); second != first {
		t.Errorf("the handler of the second attach is at %#x, that of the first at %#x", second, first)
	}
	if caught, _ := procfs.Status(pid, "SigCgt"); caught != "0000000000000000" {
		t.Errorf("after detaching signals %s are handled", caught)
	}
	hdb, _ := startKilled(t, "handled", pid)
	kill(t, hdb)
	if caught, _ := procfs.Status(pid, "SigCgt"); caught != "0000000000000010" {
		t.Errorf("after the kill signals %s are handled", caught)
	}
	session()
	if caught, _ := procfs.Status(pid, "SigCgt"); caught != "0000000000000000" {
		t.Errorf("after detaching again signals %s are handled", caught)
	}
	hdb, _ = startKilled(t, "handled", pid)
	kill(t, hdb)
	if err := unix.Kill(pid, unix.SIGTRAP); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if ws := cmd.ProcessState.String(); ws != "signal: trace/breakpoint trap" && ws != "signal: trace/breakpoint trap (core dumped)" {
		t.Errorf("after a SIGTRAP: %s", ws)
	}
}

// TestSignalFrameOffsets has what the assembler reads of a signal frame where the kernel
// puts it: siginfo_t of signals sent with a value (sigaction(2)), and the registers of
// struct ucontext (asm/ucontext.h, asm/sigcontext.h).
func TestSignalFrameOffsets(t *testing.T) {
	type siginfo struct {
		_, _  int32 // signo, errno
		code  int32
		_     int32
		_, _  int32 // pid, uid
		value uint64
	}
	type ucontext struct {
		_, _ uint64     // flags, link
		_    [3]uint64  // stack
		_    [16]uint64 // registers, r8 to rsp
		rip  uint64
	}
	var s siginfo
	var c ucontext
	if unsafe.Offsetof(s.code) != siginfoCode || unsafe.Offsetof(s.value) != siginfoValue || unsafe.Offsetof(c.rip) != contextPC {
		t.Errorf("code at %d, value at %d, rip at %d", unsafe.Offsetof(s.code), unsafe.Offsetof(s.value), unsafe.Offsetof(c.rip))
	}
}
