package inferior

import (
	"bufio"
	"hdb/internal/procfs"
	"math/rand/v2"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// openGate plants the gate of testdata/gates.c. Its handler moves the thread on and
// asks what to do then.
func openGate(t testing.TB, p *Process, then func() Action) *Trap {
	t.Helper()
	low, high := symbol(t, p, "gate_low"), symbol(t, p, "gate_high")
	return p.traps.PlantGate(low, high, int(unix.SIGURG), func(th *Thread) Action {
		r, err := th.Regs()
		if err != nil || r.PC() < low || r.PC() >= high {
			t.Errorf("thread %d at %v: %v", th.Num, r.PC(), err)
		}
		r.Rip = uint64(high)
		if err := th.SetRegs(r); err != nil {
			t.Errorf("thread %d: %v", th.Num, err)
		}
		return then()
	})
}

// TestGate: each arrival of a thread runs the handlers once, whatever other threads
// are stopped for meanwhile.
func TestGate(t *testing.T) {
	p, out := launch(t, build(t, "gates"), "8", "100")
	hits, stops := 0, 0
	tr := openGate(t, p, func() Action {
		switch hits++; hits % 3 {
		case 0:
			return StopHere
		case 1:
			if err := p.StopAll(func() error { return nil }); err != nil {
				t.Error(err)
			}
		}
		return Resume
	})
	s := resume(t, p)
	for ; s.Reason == Trapped; s = resume(t, p) {
		if len(s.Traps) != 1 || s.Traps[0] != tr {
			t.Fatalf("stopped at %v", s.Traps)
		}
		stops++
	}
	if s.Exit.Code != 7 || hits != 800 || stops != 800/3 {
		t.Errorf("%v %v, %d hits, %d stops", s.Reason, s.Exit, hits, stops)
	}
	if got := read(t, out); got != "ready\nmoved 800\n" {
		t.Errorf("output %q", got)
	}
}

// TestGateRemoved: the signal does nothing then, as without a debugger, and one that
// comes elsewhere is the program's own.
func TestGateRemoved(t *testing.T) {
	p, out := launch(t, build(t, "gates"), "2", "30")
	hits := 0
	var tr *Trap
	tr = openGate(t, p, func() Action {
		if hits++; hits == 50 {
			if err := tr.Remove(); err != nil {
				t.Error(err)
			}
			if err := unix.Kill(p.target.PID(), unix.SIGURG); err != nil {
				t.Error(err)
			}
		}
		return Resume
	})
	wantExit(t, p, 7)
	if got := read(t, out); hits != 50 || got != "ready\nmoved 50\n" {
		t.Errorf("%d hits, output %q", hits, got)
	}
}

// TestGateStepped: a thread that is stepped into a gate has arrived there.
func TestGateStepped(t *testing.T) {
	p, _ := launch(t, build(t, "gates"), "1", "1")
	plant(t, p, symbol(t, p, "gate"), func(*Thread) Action { return StopHere })
	s := resume(t, p)
	hits := 0
	openGate(t, p, func() Action { hits++; return StopHere })
	for range 2 {
		var err error
		if s, err = p.StepInstruction(s.Thread); err != nil {
			t.Fatal(err)
		}
	}
	if s.Reason != Trapped || hits != 1 {
		t.Errorf("%v, %d hits", s.Reason, hits)
	}
	wantExit(t, p, 7)
}

// TestKilledAtGate: hdb is killed while threads come to a gate, and its
// handlers run. The program goes on as if nothing had been.
func TestKilledAtGate(t *testing.T) {
	rounds := 200
	if testing.Short() {
		rounds = 4
	}
	for range rounds {
		cmd, out := background(t, build(t, "gates"), "30", "1000000000", "wait")
		hdb, _ := startKilled(t, "running-gates", cmd.Process.Pid)
		begun(t, out)
		time.Sleep(rand.N(20 * time.Millisecond))
		kill(t, hdb)
		finish(t, cmd, out)
	}
}

// begun waits until the program of gates has seen that it is traced: it looks now and then
// only, and would wait for ever if hdb were killed before.
func begun(t *testing.T, out *bufio.Reader) {
	t.Helper()
	if line, err := out.ReadString('\n'); err != nil || line != "begun\n" {
		t.Fatalf("%q, %v", line, err)
	}
}

// TestGateBlocks: Block adds to the signals that a thread blocks.
func TestGateBlocks(t *testing.T) {
	p, _ := launch(t, build(t, "gates"), "1", "1")
	openGate(t, p, func() Action { return StopHere })
	s := resume(t, p)
	if err := s.Thread.Block(int(unix.SIGURG)); err != nil {
		t.Fatal(err)
	}
	if got, _ := procfs.Status(s.Thread.TID, "SigBlk"); got != "0000000000400000" {
		t.Errorf("it blocks %s", got)
	}
	wantExit(t, p, 7)
}
