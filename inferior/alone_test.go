package inferior

import (
	"encoding/binary"
	"errors"
	"testing"
	"time"

	"hdb/internal/addr"

	"golang.org/x/sys/unix"
)

// atHit launches a program and stops it at hit.
func atHit(t *testing.T, program string, args ...string) (*Process, *Trap, Stop) {
	t.Helper()
	p, _ := launch(t, build(t, program), args...)
	tr := plant(t, p, symbol(t, p, "hit"), func(*Thread) Action { return StopHere })
	s := resume(t, p)
	if s.Reason != Trapped {
		t.Fatalf("%v %v", s.Reason, s.Exit)
	}
	return p, tr, s
}

// TestAloneThreadEnds: the run of a thread that ends is over, though another one stands aside.
func TestAloneThreadEnds(t *testing.T) {
	p, _, s := atHit(t, "alone", "thread")
	if s, err := p.RunAlone(s.Thread); !errors.Is(err, ErrThreadEnded) {
		t.Errorf("%v %v %v, want %v", s.Reason, s.Exit, err, ErrThreadEnded)
	}
	wantExit(t, p, 7)
}

// TestAloneProcessEnds: a thread whose end is that of the process does not end alone.
func TestAloneProcessEnds(t *testing.T) {
	for range 4 {
		p, _, s := atHit(t, "alone", "process")
		s, err := p.RunAlone(s.Thread)
		if err != nil || s.Reason != Exited || s.Exit.Code != 7 {
			t.Errorf("%v %v %v", s.Reason, s.Exit, err)
		}
	}
}

// TestAloneInterrupted: an interrupt is shown at the thread that runs.
func TestAloneInterrupted(t *testing.T) {
	p, _, _ := atHit(t, "alone", "thread")
	second := p.target.Threads()[1]
	if err := p.waker.Interrupt(); err != nil {
		t.Fatal(err)
	}
	if s, err := p.RunAlone(second); err != nil || s.Reason != Interrupted || s.Thread != second {
		t.Errorf("%v at %+v, %v", s.Reason, s.Thread, err)
	}
}

// TestAloneSignals: of the signals that come while a thread passes a trap only the one is
// dropped that it stops for.
func TestAloneSignals(t *testing.T) {
	p, tr, s := atHit(t, "threads", "1", "1", "1000")
	tr.site.emulate = nil // single-steps are what signals arrive in
	for _, sig := range []unix.Signal{unix.SIGINT, unix.SIGUSR1} {
		if err := unix.Tgkill(p.target.PID(), s.Thread.TID, sig); err != nil {
			t.Fatal(err)
		}
	}
	if s, err := p.RunAlone(s.Thread); err != nil || s.Reason != Signaled || s.Signal.Number != int(unix.SIGINT) {
		t.Fatalf("%v %+v %v, want SIGINT", s.Reason, s.Signal, err)
	}
	if s := resume(t, p); s.Reason != Signaled || s.Signal.Number != int(unix.SIGUSR1) {
		t.Errorf("%v %+v, want SIGUSR1", s.Reason, s.Signal)
	}
}

// TestAloneKeepsHits: a watchpoint that a thread had hit before it runs alone does not end that
// run, and is reported afterwards.
func TestAloneKeepsHits(t *testing.T) {
	p, tr, s := atHit(t, "threads", "1", "1", "1000")
	if err := tr.Remove(); err != nil {
		t.Fatal(err)
	}
	w, err := p.watchpoints.Watch(symbol(t, p, "hit")&^7, 8, Write)
	if err != nil {
		t.Fatal(err)
	}
	th := s.Thread
	th.changes = []Change{{Watch: w}}
	r, err := th.Regs()
	if err != nil {
		t.Fatal(err)
	}
	back := make([]byte, 8)
	if _, err := p.memory.readAt(back, int64(r.SP())); err != nil {
		t.Fatal(err)
	}
	returned := plant(t, p, addr.Run(binary.LittleEndian.Uint64(back)), func(*Thread) Action { return StopHere })
	if s, err := p.RunAlone(th); err != nil || s.Reason != Trapped {
		t.Errorf("%v, %v", s.Reason, err)
	}
	if err := returned.Remove(); err != nil {
		t.Fatal(err)
	}
	if s := resume(t, p); s.Reason != Watched || len(s.Changes) != 1 {
		t.Errorf("%v %v", s.Reason, s.Changes)
	}
}

// TestContinueAlone: while one thread runs the others stand, it is interrupted in a system call
// that waits for one of them, its signals are reported and delivered, and theirs wait.
func TestContinueAlone(t *testing.T) {
	p, _, s := atHit(t, "locked")
	first, second := p.target.Threads()[0], s.Thread
	for _, th := range []*Thread{first, second} {
		if err := unix.Tgkill(p.target.PID(), th.TID, unix.SIGUSR1); err != nil {
			t.Fatal(err)
		}
	}
	if s, err := p.ContinueAlone(first); err != nil || s.Reason != Signaled || s.Thread != first {
		t.Fatalf("%v at %+v, %v; want a signal of the first thread", s.Reason, s.Thread, err)
	}
	first.SetPendingSignal(0)
	time.AfterFunc(20*time.Millisecond, func() { _ = p.waker.Interrupt() })
	if s, err := p.ContinueAlone(first); err != nil || s.Reason != Interrupted || s.Thread != first { // it joins the second
		t.Fatalf("%v at %+v, %v; want an interrupt of the first thread", s.Reason, s.Thread, err)
	}
	if s, err := p.ContinueAlone(second); err != nil || s.Reason != Signaled || s.Thread != second {
		t.Fatalf("%v at %+v, %v; want the signal of the second thread", s.Reason, s.Thread, err)
	}
	second.SetPendingSignal(0)
	if s, err := p.ContinueAlone(second); !errors.Is(err, ErrThreadEnded) {
		t.Errorf("%v %v %v, want %v", s.Reason, s.Exit, err, ErrThreadEnded)
	}
	wantExit(t, p, 7)
}

// TestContinueAloneLeaves: when the thread executes a program that runs, and when it forks and the
// child is followed that does, though neither is the thread that was to run.
func TestContinueAloneLeaves(t *testing.T) {
	for how, code := range map[string]int{"exec": 8, "fork": 9} {
		p, tr, s := atHit(t, "locked", how)
		if err := tr.Remove(); err != nil {
			t.Fatal(err)
		}
		p.SetFollowFork(true)
		if s, err := p.ContinueAlone(s.Thread); err != nil || s.Reason != Exited || s.Exit.Code != code {
			t.Errorf("%s: %v %v, %v; want exit code %d", how, s.Reason, s.Exit, err, code)
		}
	}
}
