package inferior

import (
	"errors"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// callCounts is what a test sees of the bare calls of testdata/calls.c: those
// whose instruction is the program's own.
type callCounts struct{ maps, mapped, failed, unmaps, unmapped int }

// countCalls has the hook count, after asking for the registers. then is called
// for each.
func countCalls(t *testing.T, p *Process, then func(*Thread, SystemCall) Action) *callCounts {
	n := &callCounts{}
	own := p.modules.Modules()[0]
	p.SetHooks(Hooks{SystemCall: func(th *Thread, c SystemCall) Action {
		r, err := th.Regs()
		if err != nil {
			t.Error(err)
		}
		if c.Number != unix.SYS_MMAP && c.Number != unix.SYS_MUNMAP {
			t.Errorf("a call of number %d", c.Number)
		}
		if c.Returned && int64(r.Rax) != c.Result {
			t.Errorf("%d: result %#x, rax %#x", c.Number, c.Result, r.Rax)
		}
		if a := r.PC(); a < own.Low || a >= own.High {
			return Resume
		}
		if r.Rdi != c.Args[0] || r.Rsi != c.Args[1] {
			t.Errorf("arguments %#x, registers %#x %#x", c.Args, r.Rdi, r.Rsi)
		}
		switch {
		case c.Number == unix.SYS_MMAP && !c.Returned:
			n.maps++
		case c.Number == unix.SYS_MMAP && c.Result < 0:
			n.failed++
		case c.Number == unix.SYS_MMAP:
			n.mapped++
		case !c.Returned:
			n.unmaps++
		default:
			n.unmapped++
		}
		return then(th, c)
	}})
	p.systemCalls.FollowSystemCalls([]uint64{unix.SYS_MMAP, unix.SYS_MUNMAP})
	return n
}

// TestFollowSystemCalls: each call is seen twice, whatever else goes on.
func TestFollowSystemCalls(t *testing.T) {
	const threads, rounds = 4, 500
	p, _ := launch(t, build(t, "calls"), "4", "500")
	seen, stops, ended := 0, 0, make(chan bool)
	n := countCalls(t, p, func(*Thread, SystemCall) Action {
		if seen++; seen%97 == 0 {
			return StopHere
		}
		return Resume
	})
	allRegs := func() error {
		for _, th := range p.target.Threads() {
			// One that stands in its exit call is taken through it, and is no more.
			if _, err := th.Regs(); err != nil && p.target.Thread(th.TID) != nil {
				t.Error(err)
			}
		}
		return nil
	}
	go func() {
		for {
			select {
			case <-ended:
				return
			case <-time.After(3 * time.Millisecond): // amid of calls, somewhere
				p.waker.Wake(func() {
					if err := p.StopAll(allRegs); err != nil && !errors.Is(err, ErrEnded) {
						t.Error(err)
					}
				})
			}
		}
	}()
	s := resume(t, p)
	for ; !s.Ended(); s = resume(t, p) {
		if s.Reason == Trapped {
			if stops++; len(s.Traps) > 0 {
				t.Errorf("stop %+v", s)
			}
		}
		_ = allRegs()
	}
	close(ended)
	if s.Exit != (ExitStatus{}) {
		t.Errorf("the program %v", s.Exit)
	}
	if want := (callCounts{threads*rounds + threads, threads * rounds, threads, threads * rounds, threads * rounds}); *n != want {
		t.Errorf("seen %+v, want %+v", *n, want)
	}
	if stops != seen/97 {
		t.Errorf("%d stops, want %d", stops, seen/97)
	}
}

// TestFollowNoMore: nothing is seen any more, and a detached program goes on.
func TestFollowNoMore(t *testing.T) {
	p, _ := launch(t, build(t, "calls"), "2", "2000")
	n := countCalls(t, p, func(*Thread, SystemCall) Action { return StopHere })
	for range 5 {
		resume(t, p)
	}
	p.systemCalls.FollowSystemCalls(nil)
	before := *n
	wantExit(t, p, 0)
	if *n != before {
		t.Errorf("seen %+v, then %+v", before, *n)
	}
}

// TestCatchSystemCalls: a thread stands before a caught call, may be used there, and makes
// the call once.
func TestCatchSystemCalls(t *testing.T) {
	const threads, rounds = 4, 300
	p, _ := launch(t, build(t, "calls"), "4", "300")
	before, returned, stops := 0, 0, 0
	p.SetHooks(Hooks{SystemCall: func(th *Thread, c SystemCall) Action {
		if c.Number != unix.SYS_GETPPID {
			t.Errorf("a call of number %d", c.Number)
		}
		if c.Returned {
			returned++
			return Resume
		}
		r, err := th.Regs()
		if err != nil {
			t.Error(err)
		}
		var code [2]byte
		if _, err := p.memory.readAt(code[:], int64(r.Rip)); err != nil || code != [2]byte{0x0f, 0x05} || r.Rax != c.Number || !c.Before {
			t.Errorf("before a call: rax %d at code %x, %+v, %v", r.Rax, code, c, err)
		}
		if before++; before%13 == 0 {
			return StopHere
		}
		return Resume
	}})
	p.systemCalls.CatchSystemCalls(func(n uint64) bool { return n == unix.SYS_GETPPID })
	s := resume(t, p)
	for ; !s.Ended(); s = resume(t, p) {
		if s.Reason != Trapped {
			continue
		}
		stops++
		if pid, err := s.Thread.Syscall(unix.SYS_GETPID); err != nil || int(pid) != p.target.PID() {
			t.Errorf("getpid amid: %d, %v", pid, err)
		}
		if stops%5 == 0 { // the instruction is stepped: its return is not seen
			if step, err := p.StepInstruction(s.Thread); err != nil || step.Reason != Stepped {
				continue
			}
			returned++
		}
	}
	if s.Exit != (ExitStatus{}) {
		t.Errorf("the program %v", s.Exit)
	}
	const want = 2 * threads * rounds
	if before != want || returned != want || stops != want/13 {
		t.Errorf("%d calls, %d returns, %d stops, want %d calls", before, returned, stops, want)
	}
}

// TestCatchAfterMove: a thread that is taken away from before a call stops there again, and one
// whose registers were kept and restored does not. The call that is made is followed like any other.
func TestCatchAfterMove(t *testing.T) {
	p, _ := launch(t, build(t, "calls"), "1", "20")
	var seen []SystemCall
	p.SetHooks(Hooks{SystemCall: func(th *Thread, c SystemCall) Action {
		seen = append(seen, c)
		if c.Before {
			return StopHere
		}
		return Resume
	}})
	isPPID := func(n uint64) bool { return n == unix.SYS_GETPPID }
	p.systemCalls.FollowSystemCalls([]uint64{unix.SYS_GETPPID})
	p.systemCalls.CatchSystemCalls(isPPID)
	s := resume(t, p)
	kept, err := s.Thread.Keep()
	if err != nil {
		t.Fatal(err)
	}
	back := kept.Regs
	back.Rip += 2 // behind the call, which is not made
	if err := errors.Join(s.Thread.SetRegs(back), s.Thread.Restore(kept)); err != nil {
		t.Fatal(err)
	}
	if s = resume(t, p); s.Reason != Trapped {
		t.Fatalf("%v", s.Reason)
	}
	if len(seen) != 4 || !seen[0].Before || seen[1].Before || seen[1].Returned || !seen[2].Returned || !seen[3].Before {
		t.Fatalf("seen %+v", seen)
	}
	r, err := s.Thread.Regs()
	if err != nil {
		t.Fatal(err)
	}
	seen = nil
	moved := r
	moved.Rip += 2
	if err := errors.Join(s.Thread.SetRegs(moved), s.Thread.SetRegs(r)); err != nil {
		t.Fatal(err)
	}
	if s = resume(t, p); s.Reason != Trapped || len(seen) != 1 || !seen[0].Before {
		t.Errorf("%v, seen %+v", s.Reason, seen)
	}
}

// TestDetachBeforeCall lets a program go that stands before calls.
func TestDetachBeforeCall(t *testing.T) {
	p, _ := launch(t, build(t, "calls"), "2", "500")
	p.SetHooks(Hooks{SystemCall: func(*Thread, SystemCall) Action { return StopHere }})
	p.systemCalls.CatchSystemCalls(func(uint64) bool { return true })
	for range 40 {
		if s := resume(t, p); s.Ended() {
			t.Fatal("ended")
		}
	}
	pid := p.target.PID()
	if err := p.Detach(); err != nil {
		t.Fatal(err)
	}
	if _, ws, err := waitFor(pid); err != nil || !ws.Exited() || ws.ExitStatus() != 0 {
		t.Errorf("%v %v", ws, err)
	}
}
