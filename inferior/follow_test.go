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
