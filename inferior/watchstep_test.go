package inferior

import (
	"encoding/binary"
	"errors"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestWatchStepping: changes of memory of any size are reported at the thread that makes them,
// one by one, while others wait in system calls.
func TestWatchStepping(t *testing.T) {
	p, _ := launch(t, build(t, "watched"), "3")
	plant(t, p, symbol(t, p, "main"), func(*Thread) Action { return StopHere })
	if s := resume(t, p); s.Reason != Trapped {
		t.Fatalf("%v", s.Reason)
	}
	w, err := p.watchpoints.WatchStepping(symbol(t, p, "watched"), 8, Write)
	if err != nil {
		t.Fatal(err)
	}
	beside, err := p.watchpoints.WatchStepping(symbol(t, p, "other"), 8, Write)
	if err != nil {
		t.Fatal(err)
	}
	for i := range uint64(3) {
		if s := resume(t, p); s.Reason != Watched || len(s.Changes) != 1 || s.Changes[0].Watch != beside {
			t.Fatalf("%v %v, want a change of other alone", s.Reason, s.Changes)
		}
		s := resume(t, p)
		if s.Reason != Watched || len(s.Changes) != 1 || binary.LittleEndian.Uint64(s.Changes[0].Old) != i || binary.LittleEndian.Uint64(s.Changes[0].New) != i+1 {
			t.Fatalf("%v %v %v", s.Reason, s.Changes, s.Exit)
		}
		if s.Thread.Num != int(i)+2 {
			t.Errorf("thread %d, want the new thread %d", s.Thread.Num, i+2)
		}
	}
	if err := errors.Join(w.Remove(), beside.Remove()); err != nil {
		t.Fatal(err)
	}
	wantExit(t, p, 7)
}

// TestSteppedPrograms: programs that run one instruction at a time do what they do otherwise, with
// signals, threads that wait for each other, forks, and system calls that are followed.
func TestSteppedPrograms(t *testing.T) {
	for _, c := range []struct {
		program string
		args    []string
		code    int
	}{{"calls", []string{"2", "5"}, 0}, {"pushes", nil, 7}, {"spins", nil, 7}, {"alone", []string{"thread"}, 7}} {
		for _, follow := range []bool{false, true} {
			p, _ := launch(t, build(t, c.program), c.args...)
			plant(t, p, symbol(t, p, "main"), func(*Thread) Action { return StopHere })
			resume(t, p)
			seen := 0
			if follow {
				p.SetHooks(Hooks{SystemCall: func(*Thread, SystemCall) Action { seen++; return Resume }})
				p.systemCalls.FollowSystemCalls([]uint64{unix.SYS_GETPPID})
			}
			w, err := p.watchpoints.WatchStepping(p.modules.Modules()[0].Low, 64, Write) // what is not written
			if err != nil {
				t.Fatal(err)
			}
			s := resume(t, p)
			for s.Reason == Trapped {
				s = resume(t, p)
			}
			if s.Reason != Exited || s.Exit.Code != c.code || s.Exit.Signal != 0 {
				t.Errorf("%s, followed %v: %v %v %+v, want exit with %d", c.program, follow, s.Reason, s.Exit, s.Signal, c.code)
			}
			if follow && c.program == "calls" && seen != 2*2*2*5 {
				t.Errorf("%d entries and returns of followed calls, want 40", seen)
			}
			if err := w.Remove(); err != nil {
				t.Error(err)
			}
		}
	}
}

// TestSteppedStops: the process is stopped again and again amid of steps, goes on without them, and
// outlives the debugger.
func TestSteppedStops(t *testing.T) {
	p, _ := launch(t, build(t, "calls"), "2", "5000")
	plant(t, p, symbol(t, p, "work"), func(*Thread) Action { return StopHere })
	resume(t, p)
	for range 8 {
		w, err := p.watchpoints.WatchStepping(symbol(t, p, "wrong"), 4, Write)
		if err != nil {
			t.Fatal(err)
		}
		for range 3 {
			go func() {
				time.Sleep(3 * time.Millisecond)
				_ = p.waker.Interrupt()
			}()
			if s := resume(t, p); s.Ended() {
				t.Fatalf("%v", s.Exit)
			}
		}
		if s, err := p.StepInstruction(p.target.Threads()[0]); err != nil || s.Ended() {
			t.Fatalf("%v %v", s.Reason, err)
		}
		if err := w.Remove(); err != nil {
			t.Fatal(err)
		}
		if s, err := p.StepInstruction(p.target.Threads()[0]); err != nil || s.Ended() {
			t.Fatalf("%v %v", s.Reason, err)
		}
	}
	if _, err := p.watchpoints.WatchStepping(symbol(t, p, "wrong"), 4, Write); err != nil {
		t.Fatal(err)
	}
	_ = p.waker.Interrupt()
	resume(t, p)
	pid := p.target.PID()
	if err := p.Detach(); err != nil {
		t.Fatal(err)
	}
	if _, ws, err := waitFor(pid); err != nil || !ws.Exited() || ws.ExitStatus() != 0 {
		t.Errorf("%v %v", ws, err)
	}
}
