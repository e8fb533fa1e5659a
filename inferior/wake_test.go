package inferior

import (
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// TestStopAllPatches takes a patch in and out, with all threads stopped each
// time, while they call the function as fast as they can.
func TestStopAllPatches(t *testing.T) {
	h := launchHook(t, "threads", "30000000")
	changes, stop, ended := 0, make(chan bool), make(chan bool)
	change := func() error {
		for _, th := range h.p.target.Threads() {
			if th.state != stopped {
				t.Errorf("thread %d: %s", th.Num, th.whyNot())
			}
		}
		changes++
		if h.patch != nil && !h.patch.Removed() {
			return h.patch.Remove()
		}
		var err error
		h.patch, err = h.p.patches.Patch(h.target, h.code, h.over, h.moves)
		return err
	}
	go func() {
		defer close(ended)
		for {
			select {
			case <-stop:
				return
			case <-time.After(time.Millisecond):
				h.p.waker.Wake(func() {
					if err := h.p.StopAll(change); err != nil && !errors.Is(err, ErrEnded) {
						t.Error(err)
					}
				})
			}
		}
	}()
	wantExit(t, h.p, 7)
	close(stop)
	<-ended
	t.Logf("%d changes", changes)
	if changes < 10 {
		t.Errorf("only %d changes", changes)
	}
}

// TestStopAllInHandler: what other threads arrive at meanwhile is not lost.
func TestStopAllInHandler(t *testing.T) {
	p, _ := launch(t, build(t, "threads"), "8", "3", "50")
	hits, errFound := 0, errors.New("f's own")
	plant(t, p, symbol(t, p, "hit"), func(th *Thread) Action {
		hits++
		if hits%3 != 0 {
			return Resume
		}
		err := p.StopAll(func() error {
			for _, th := range p.target.Threads() {
				if _, err := th.Regs(); err != nil {
					t.Error(err)
				}
			}
			return errFound
		})
		if err != errFound {
			t.Errorf("StopAll: %v", err)
		}
		if hits%9 == 0 {
			return StopHere
		}
		return Resume
	})
	s := resume(t, p)
	for ; s.Reason == Trapped; s = resume(t, p) {
	}
	if s.Exit.Code != 7 || hits != 8*3*50 {
		t.Errorf("%v %v, %d hits, want %d", s.Reason, s.Exit, hits, 8*3*50)
	}
	if err := p.StopAll(func() error { return nil }); !errors.Is(err, ErrEnded) {
		t.Errorf("after the end: %v", err)
	}
}

// TestWake calls from many goroutines, with the owner asleep, busy with traps,
// or not in Continue at all. Each call runs once, each goroutine's in order.
func TestWake(t *testing.T) {
	cmd, out := background(t, build(t, "busy"), "4", "2000")
	p := attach(t, cmd.Process.Pid)
	const callers, calls = 8, 200
	last := make([]int, callers)
	ran, early := 0, false
	p.waker.Wake(func() { early = true })
	done := make(chan bool)
	var trap atomic.Bool
	tr := plant(t, p, symbol(t, p, "hit"), func(*Thread) Action {
		if !early {
			t.Error("a trap was handled before the call that came before the run")
		}
		return Resume
	})
	go func() {
		var all sync.WaitGroup
		for id := range callers {
			all.Go(func() {
				for i := range calls {
					p.waker.Wake(func() {
						ran++
						if last[id] != i {
							t.Errorf("caller %d: call %d after %d", id, i, last[id])
						}
						last[id] = i + 1
						if id == 0 && i == calls/2 && trap.CompareAndSwap(false, true) {
							if err := tr.Remove(); err != nil { // from now on nothing else happens
								t.Error(err)
							}
						}
					})
					time.Sleep(time.Duration(i%5) * 100 * time.Microsecond)
				}
			})
		}
		all.Wait()
		p.waker.Wake(func() { close(done) })
		<-done
		_ = p.waker.Interrupt()
	}()
	if s := resume(t, p); s.Reason != Interrupted || ran != callers*calls {
		t.Errorf("%v %v, %d calls ran, want %d", s.Reason, s.Exit, ran, callers*calls)
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	p.waker.Wake(func() { t.Error("called after the end") })
	finish(t, cmd, out)
}

// TestWakeMayInterrupt: a call that asks for a stop gets it at once.
func TestWakeMayInterrupt(t *testing.T) {
	p, _ := launch(t, build(t, "forks"), "vforkwait")
	go func() {
		waitState(t, p.target.PID(), "D") // for its child
		p.waker.Wake(func() { _ = p.waker.Interrupt() })
	}()
	if s := resume(t, p); s.Reason != Interrupted {
		t.Fatalf("%v", s.Reason)
	}
	if err := p.Kill(); err != nil {
		t.Error(err)
	}
}

// BenchmarkWake is one call while the program sleeps and the owner does.
func BenchmarkWake(b *testing.B) {
	p, _ := launch(b, build(b, "patched"), "nap")
	took := make([]time.Duration, 0, b.N)
	go func() {
		done := make(chan bool)
		for range b.N {
			time.Sleep(200 * time.Microsecond)
			begun := time.Now()
			p.waker.Wake(func() { took = append(took, time.Since(begun)); done <- true })
			<-done
		}
		_ = p.waker.Interrupt()
	}()
	resume(b, p)
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Nanoseconds()), "ns/median")
	b.ReportMetric(float64(took[len(took)*99/100].Nanoseconds()), "ns/p99")
}

// TestInterruptAtExit: an interrupt that comes while the process is ending does not report threads that
// have exited.
func TestInterruptAtExit(t *testing.T) {
	ended := 0
	for i := range 200 {
		p, _ := launch(t, "/bin/true")
		timer := time.AfterFunc(time.Duration(i*10)*time.Microsecond, func() { _ = p.Interrupt() })
		s, err := p.Continue()
		timer.Stop()
		switch {
		case err != nil:
			t.Fatal(err)
		case s.Reason == Exited:
			ended++
		case s.Reason != Interrupted || s.Thread == nil || s.Thread.state != stopped:
			t.Errorf("after %d µs: %v, thread %+v", i*10, s.Reason, s.Thread)
		}
		if err := p.Kill(); err != nil && !errors.Is(err, ErrEnded) {
			t.Fatal(err)
		}
	}
	t.Logf("%d of 200 had ended", ended)
}
