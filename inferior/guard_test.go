package inferior

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"hdb/internal/addr"
	"hdb/internal/procfs"

	"golang.org/x/sys/unix"
)

// gone waits until a process is no more.
func gone(t testing.TB, pid int) {
	t.Helper()
	for range 5000 {
		if unix.Kill(pid, 0) == unix.ESRCH {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Fatalf("process %d is still there", pid)
}

// TestGuardLives as long as it is needed, and hears nothing else.
func TestGuardLives(t *testing.T) {
	p, _ := launch(t, build(t, "patched"), "exec")
	if err := p.guard.Guard(guardCommand); err != nil {
		t.Fatal(err)
	}
	if p.guard.on {
		t.Error("a guard for a program that dies with hdb")
	}
	if err := p.SetKillOnExit(false); err != nil {
		t.Fatal(err)
	}
	first := waitGuard(t, p)
	for _, sig := range []unix.Signal{unix.SIGINT, unix.SIGTERM, unix.SIGHUP, unix.SIGQUIT} {
		if err := unix.Kill(first, sig); err != nil {
			t.Error(err)
		}
	}
	if sid, err := unix.Getsid(first); err != nil || sid != first {
		t.Errorf("session %d of process %d, %v", sid, first, err)
	}
	if name, _ := procfs.Status(first, "Name"); name != "guard" {
		t.Errorf("its name is %q", name)
	}
	// Nobody else may hold the pipe open.
	other, _ := launch(t, build(t, "threads"), "1", "1", "1")
	for _, pid := range []int{first, other.target.PID()} {
		pipes := 0
		for fd := range 100 {
			if s, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/%d", pid, fd)); err == nil && strings.HasPrefix(s, "pipe:") {
				pipes++
			}
		}
		if want := map[bool]int{true: 1}[pid == first]; pipes != want {
			t.Errorf("process %d holds %d pipes, want %d", pid, pipes, want)
		}
	}
	if err := p.SetKillOnExit(true); err != nil {
		t.Fatal(err)
	}
	gone(t, first)
	if err := p.SetKillOnExit(false); err != nil {
		t.Fatal(err)
	}
	second := waitGuard(t, p)
	p.hooks.CatchExec = func(*Thread) Action { return StopHere }
	if s := resume(t, p); s.Reason != Execed {
		t.Fatalf("%v", s.Reason)
	}
	gone(t, second)
	third := waitGuard(t, p)
	if err := p.Detach(); err != nil {
		t.Fatal(err)
	}
	gone(t, third)
}

// TestGuardMissing: that it cannot be started is told.
func TestGuardMissing(t *testing.T) {
	p, _ := launch(t, build(t, "patched"), "nap")
	said := ""
	p.SetHooks(Hooks{Message: func(s string) { said += s; _ = p.waker.Interrupt() }})
	if err := p.SetKillOnExit(false); err != nil {
		t.Fatal(err)
	}
	if err := p.guard.Guard([]string{"/no/such/program"}); err != nil {
		t.Fatal(err)
	}
	if s := resume(t, p); s.Reason != Interrupted {
		t.Errorf("%v", s.Reason)
	}
	if !strings.Contains(said, "no such file") {
		t.Errorf("message %q", said)
	}
}

// TestGuardTable: the table always says what is in memory.
func TestGuardTable(t *testing.T) {
	h := launchHook(t, "once", "1")
	if err := h.p.SetKillOnExit(false); err != nil {
		t.Fatal(err)
	}
	before := plant(t, h.p, h.target, func(*Thread) Action { return Resume })
	guarded(t, h.p)
	check := func(what string, want ...guardCover) {
		t.Helper()
		var got []guardCover
		for i := range h.p.guard.table.slots {
			if h.p.guard.table.slots[i].addr.Load() != 0 {
				got = append(got, h.p.guard.table.slots[i].cover())
			}
		}
		got = slices.DeleteFunc(got, func(c guardCover) bool { return c.at == h.p.modules.trap.Addr() })
		slices.SortFunc(got, func(a, b guardCover) int { return cmp.Compare(a.at, b.at) })
		if !slices.Equal(got, want) {
			t.Errorf("%s: %+v, want %+v", what, got, want)
		}
	}
	trap := guardCover{at: h.target, orig: 0xf3, run: 0xf3, trap: true}
	check("trap planted before", trap)
	h.install(t)
	all := make([]guardCover, 5)
	for i := range all {
		all[i] = guardCover{at: h.target + addr.Run(i), orig: targetCode[i], run: h.code[i], trap: i == 0, patched: true, first: i == 0}
	}
	check("patch", all...)
	if err := before.Remove(); err != nil {
		t.Fatal(err)
	}
	all[0].trap = false
	check("trap removed", all...)
	before = plant(t, h.p, h.target, func(*Thread) Action { return Resume })
	if err := h.patch.Remove(); err != nil {
		t.Fatal(err)
	}
	check("patch removed", trap)
	if _, err := h.p.traps.WriteAt([]byte{0x90}, int64(h.target)); err != nil {
		t.Fatal(err)
	}
	trap.orig, trap.run = 0x90, 0x90
	check("written", trap)
	if err := before.Remove(); err != nil {
		t.Fatal(err)
	}
	check("nothing")
	table := h.p.guard.table
	for range guardSlots + 1 {
		table.take()
	}
	if !table.tooMany || table.take() != -1 {
		t.Error("the table has no end")
	}
}

// BenchmarkGuardWindow is the time from killing hdb, while the inferior runs,
// until the guard has restored its code: who hits a trap meanwhile dies.
func BenchmarkGuardWindow(b *testing.B) {
	cmd, _ := background(b, build(b, "busy"), "2", "1000000")
	pid := cmd.Process.Pid
	p := attach(b, pid)
	at := symbol(b, p, "main")
	if err := p.Close(); err != nil {
		b.Fatal(err)
	}
	mem, err := os.Open(fmt.Sprintf("/proc/%d/mem", pid))
	if err != nil {
		b.Fatal(err)
	}
	defer mem.Close()
	var took []time.Duration
	for range b.N {
		hdb, _ := startKilled(b, "running", pid)
		begun := time.Now()
		if err := unix.Kill(hdb.Process.Pid, unix.SIGKILL); err != nil {
			b.Fatal(err)
		}
		for code := [1]byte{int3}; code[0] == int3; {
			_ = unix.Nanosleep(&unix.Timespec{Nsec: 10e3}, nil) // there may be few CPUs
			if _, err := mem.ReadAt(code[:], int64(at)); err != nil {
				b.Fatal(err)
			}
		}
		took = append(took, time.Since(begun))
		_ = hdb.Wait() // it was killed
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds()), "µs/median")
	b.ReportMetric(float64(took[len(took)*95/100].Microseconds()), "µs/p95")
}

// BenchmarkGuard is what starting a guard costs the caller.
func BenchmarkGuard(b *testing.B) {
	p, _ := launch(b, build(b, "threads"), "1", "1", "1")
	if err := p.SetKillOnExit(false); err != nil {
		b.Fatal(err)
	}
	b.ResetTimer()
	for range b.N {
		if err := p.guard.Guard(guardCommand); err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		waitGuard(b, p)
		p.guard.end()
		b.StartTimer()
	}
}

// TestGuardNeverThere: what waits for a guard does so once, and not at all for one
// that has ended.
func TestGuardNeverThere(t *testing.T) {
	for _, c := range []struct {
		command []string
		late    bool
	}{{[]string{"/bin/false"}, false}, {[]string{"/bin/sleep"}, true}} { // sleeps for 3 s and more
		p, _ := launch(t, build(t, "threads"), "1", "1", "1")
		var told []string
		p.SetHooks(Hooks{Message: func(m string) { told = append(told, m) }})
		if err := p.SetKillOnExit(false); err != nil {
			t.Fatal(err)
		}
		if err := p.guard.Guard(c.command); err != nil {
			t.Fatal(err)
		}
		if !c.late {
			for i := 0; !p.guard.gone.Load(); i++ {
				if i == 5000 {
					t.Fatal("its end goes unnoticed")
				}
				time.Sleep(time.Millisecond)
			}
		}
		for range 2 {
			p.guard.await()
		}
		if p.guard.late != c.late || (len(told) == 1) != c.late {
			t.Errorf("%s: late is %v, messages %q", c.command[0], p.guard.late, told)
		}
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	}
}
