package inferior

import (
	"errors"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"hdb/testprogs"
)

func handle(t testing.TB, p *Process, name string, policy Policy) {
	t.Helper()
	if err := p.policies.HandleSignal(name, policy); err != nil {
		t.Fatal(err)
	}
}

// TestSignalStorm loses no signal and no siginfo while threads hit traps, with
// and without stops.
func TestSignalStorm(t *testing.T) {
	path := build(t, "storm")
	for _, every := range []int{0, 3, 1} {
		p, out := launch(t, path, "6", "300")
		handle(t, p, "SIGUSR1", Policy{Pass: true})
		handle(t, p, "37", Policy{Pass: true}) // SIGRTMIN+3
		n := 0
		tr := plant(t, p, symbol(t, p, "hit"), func(*Thread) Action {
			if n++; every != 0 && n%every == 0 {
				return StopHere
			}
			return Resume
		})
		tr.site.emulate = nil // single-steps are what signals disturb
		for stops := 0; ; stops++ {
			s := resume(t, p)
			if s.Reason != Trapped {
				if s.Exit.Code != 7 {
					t.Errorf("every %d: %v %v %+v, it said %s", every, s.Reason, s.Exit, s.Signal, read(t, out))
				}
				break
			}
			if stops == 3000 { // enough; the rest at full speed
				if err := tr.Remove(); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}

// TestHeldSignals stops at a SIGTSTP that would suspend the process, and delivers one that would not.
func TestHeldSignals(t *testing.T) {
	if p := defaultPolicies(); !p[unix.SIGTSTP].Hold || !p[unix.SIGTSTP].Pass {
		t.Errorf("SIGTSTP: %+v", p[unix.SIGTSTP])
	}
	for action, got := range map[string]int{"handle": 2, "ignore": 0, "default": 0} {
		p, _ := launch(t, testprogs.Build(t, "signalled"), action, "20", "0")
		handle(t, p, "SIGTSTP", Policy{Pass: true, Hold: true})
		held := 0
		s := resume(t, p)
		for ; s.Reason == Signaled; s = resume(t, p) {
			if held++; !s.Signal.Policy.Hold || s.Signal.Policy.Pass {
				t.Errorf("%s: %+v", action, s.Signal)
			}
		}
		if s.Exit.Code != got || (action == "default") != (held == 2) {
			t.Errorf("%s: %d stops, %v", action, held, s.Exit)
		}
	}
}

// TestSignalStops stops at every signal and passes it on, also to threads
// that were being single-stepped when it came.
func TestSignalStops(t *testing.T) {
	p, out := launch(t, build(t, "storm"), "3", "100")
	usr1, rt := 0, 0
	for {
		s := resume(t, p)
		if s.Reason != Signaled {
			if s.Exit.Code != 7 {
				t.Errorf("%v %v, it said %s", s.Reason, s.Exit, read(t, out))
			}
			break
		}
		switch s.Signal.Number {
		case int(unix.SIGUSR1):
			usr1++
			if s.Signal.SenderPID != p.target.PID() || s.Signal.Explanation != "SIGUSR1 sent by the process itself" {
				t.Errorf("%+v", s.Signal)
			}
		case 37:
			rt++
		}
		if s.Thread.PendingSignal() != s.Signal.Number {
			t.Errorf("pending %d, want %d", s.Thread.PendingSignal(), s.Signal.Number)
		}
		for range 3 {
			if s, err := p.StepInstruction(s.Thread); err != nil || s.Reason != Stepped {
				t.Fatalf("step: %v %+v %v", s.Reason, s.Signal, err)
			}
		}
		if _, err := s.Thread.Syscall(unix.SYS_GETPID); err != nil {
			t.Error(err)
		}
	}
	if usr1 != 100 || rt != 100 {
		t.Errorf("%d SIGUSR1 and %d SIGRTMIN+3, want 100 of each", usr1, rt)
	}
}

func TestFaultsExplained(t *testing.T) {
	path := build(t, "faults")
	for _, c := range []struct {
		what, want string
		sig        syscall.Signal
	}{
		{"read0", "SIGSEGV reading 0x0: address not mapped", syscall.SIGSEGV},
		{"write", "SIGSEGV writing 0x1234: address not mapped", syscall.SIGSEGV},
		{"readonly", "SIGSEGV writing 0x", syscall.SIGSEGV},
		{"execute", "SIGSEGV executing 0x4321: address not mapped", syscall.SIGSEGV},
		{"divide", "SIGFPE: integer division by zero", syscall.SIGFPE},
		{"illegal", "SIGILL: illegal operand", syscall.SIGILL},
		{"canonical", "SIGSEGV: general protection", syscall.SIGSEGV},
		{"abort", "SIGABRT sent by the process itself", syscall.SIGABRT},
	} {
		p, _ := launch(t, path, c.what)
		s := resume(t, p)
		if s.Reason != Signaled || !s.Signal.Fatal || !strings.HasPrefix(s.Signal.Explanation, c.want) {
			t.Errorf("%s: %v %+v, want %s", c.what, s.Reason, s.Signal, c.want)
			continue
		}
		if s = resume(t, p); s.Reason != Exited || s.Exit.Signal != int(c.sig) {
			t.Errorf("%s: %v %v, want death by %v", c.what, s.Reason, s.Exit, c.sig)
		}
		if _, err := p.Continue(); !errors.Is(err, ErrEnded) {
			t.Errorf("%s: continue after the end: %v", c.what, err)
		}
	}
}

func TestOwnInt3(t *testing.T) {
	p, _ := launch(t, build(t, "faults"), "int3")
	hits := 0
	plant(t, p, symbol(t, p, "hit"), func(*Thread) Action { hits++; return Resume })
	for n := range 2 {
		s := resume(t, p)
		if s.Reason != Signaled || s.Signal.Explanation != "SIGTRAP: an int3 of the program's own" {
			t.Fatalf("stop %d: %v %+v", n, s.Reason, s.Signal)
		}
		if n == 0 { // a trap on the second one: ours first, then its own
			r, err := s.Thread.Regs()
			if err != nil {
				t.Fatal(err)
			}
			plant(t, p, r.PC(), func(*Thread) Action { hits += 10; return Resume })
		}
	}
	wantExit(t, p, 7)
	if hits != 11 {
		t.Errorf("hits %d, want 11", hits)
	}
}

func TestSignalPolicies(t *testing.T) {
	path := build(t, "faults")
	t.Run("trap passed", func(t *testing.T) {
		p, _ := launch(t, path, "trap")
		handle(t, p, "SIGTRAP", Policy{Pass: true})
		wantExit(t, p, 7)
	})
	t.Run("trap not passed", func(t *testing.T) {
		p, _ := launch(t, path, "trap")
		if s := resume(t, p); s.Reason != Signaled || s.Signal.Code != sigTkill {
			t.Fatalf("%v %+v", s.Reason, s.Signal)
		}
		wantExit(t, p, 0)
	})
	t.Run("usr1 changed to nothing", func(t *testing.T) {
		p, _ := launch(t, path, "usr1")
		s := resume(t, p)
		s.Thread.SetPendingSignal(0)
		wantExit(t, p, 0)
	})
	t.Run("print", func(t *testing.T) {
		p, _ := launch(t, path, "usr1")
		handle(t, p, "usr1", Policy{Print: true, Pass: true})
		var seen []string
		p.SetHooks(Hooks{Signal: func(_ *Thread, s *Signal) { seen = append(seen, s.Name) }})
		wantExit(t, p, 7)
		if len(seen) != 1 || seen[0] != "SIGUSR1" {
			t.Errorf("printed %v", seen)
		}
	})
	t.Run("alarm passes silently", func(t *testing.T) {
		p, _ := launch(t, path, "alarm")
		wantExit(t, p, 7)
	})
	t.Run("unknown", func(t *testing.T) {
		p, _ := launch(t, path, "usr1")
		if err := p.policies.HandleSignal("SIGFOO", Policy{}); err == nil || !strings.Contains(err.Error(), `"SIGFOO"`) {
			t.Errorf("%v", err)
		}
	})
}

// TestGroupStop: a SIGSTOP passed on stops the process for real; it can be
// interrupted there, and goes on at SIGCONT.
func TestGroupStop(t *testing.T) {
	p, _ := launch(t, build(t, "faults"), "stop")
	if s := resume(t, p); s.Reason != Signaled || s.Signal.Name != "SIGSTOP" {
		t.Fatalf("%v %+v", s.Reason, s.Signal)
	}
	go func() {
		waitState(t, p.target.PID(), "t")
		if err := p.waker.Interrupt(); err != nil {
			t.Error(err)
		}
	}()
	if s := resume(t, p); s.Reason != Interrupted {
		t.Fatalf("%v %+v", s.Reason, s.Signal)
	}
	handle(t, p, "SIGCONT", Policy{Pass: true})
	if err := syscall.Kill(p.target.PID(), syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	wantExit(t, p, 7)
}

// TestStepInGroupStop steps a thread of a stopped process. Resumed, it stands
// again with the process until SIGCONT.
func TestStepInGroupStop(t *testing.T) {
	p, _ := launch(t, build(t, "faults"), "stop")
	handle(t, p, "SIGCONT", Policy{Pass: true})
	resume(t, p) // SIGSTOP arrives
	interrupt := func() Stop {
		t.Helper()
		if err := p.waker.Interrupt(); err != nil {
			t.Fatal(err)
		}
		s := resume(t, p)
		if s.Reason != Interrupted {
			t.Fatalf("%v %+v", s.Reason, s.Signal)
		}
		return s
	}
	s := interrupt()
	for range 3 {
		if s, err := p.StepInstruction(s.Thread); err != nil || s.Reason != Stepped {
			t.Fatalf("%v %v", s.Reason, err)
		}
		if s = interrupt(); !s.Thread.group {
			t.Error("it ran on in a stopped process")
		}
	}
	if err := syscall.Kill(p.target.PID(), syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	wantExit(t, p, 7)
}

func TestInterrupt(t *testing.T) {
	p, _ := launch(t, build(t, "faults"), "sleep")
	for n := range 20 {
		go func() {
			if n%2 == 0 {
				waitState(t, p.target.PID(), "S")
			}
			if err := p.waker.Interrupt(); err != nil {
				t.Error(err)
			}
		}()
		if s := resume(t, p); s.Reason != Interrupted || s.Thread == nil {
			t.Fatalf("%v %+v", s.Reason, s.Signal)
		}
		if _, err := s0(p).Regs(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestInterruptInVfork interrupts a program whose only thread cannot stop, as
// it waits in vfork for its child. There is a thread to name all the same.
func TestInterruptInVfork(t *testing.T) {
	p, _ := launch(t, build(t, "forks"), "vforkwait")
	p.SetHooks(Hooks{Forked: func(b Birth) {
		t.Cleanup(func() { _ = syscall.Kill(b.Child, syscall.SIGKILL) })
		if err := p.waker.Interrupt(); err != nil {
			t.Error(err)
		}
	}})
	s := resume(t, p)
	if s.Reason != Interrupted || s.Thread == nil {
		t.Fatalf("%v in thread %v", s.Reason, s.Thread)
	}
	if _, err := s.Thread.Regs(); err == nil || !strings.Contains(err.Error(), "vfork") {
		t.Errorf("registers: %v, want an error that names vfork", err)
	}
}

func s0(p *Process) *Thread { return p.target.Threads()[0] }

func TestKilledFromOutside(t *testing.T) {
	p, _ := launch(t, build(t, "threads"), "4", "100000", "100")
	plant(t, p, symbol(t, p, "hit"), func(*Thread) Action { return StopHere })
	resume(t, p)
	if err := syscall.Kill(p.target.PID(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if s := resume(t, p); s.Reason != Gone || s.Exit.Signal != int(syscall.SIGKILL) {
		t.Errorf("%v %v", s.Reason, s.Exit)
	}
}

func TestKill(t *testing.T) {
	p, _ := launch(t, build(t, "threads"), "20", "100000", "100")
	plant(t, p, symbol(t, p, "hit"), func(*Thread) Action { return StopHere })
	for range 10 {
		resume(t, p)
	}
	if err := p.Kill(); err != nil {
		t.Fatal(err)
	}
	if st, ok := p.target.Exited(); !ok || st.Signal != int(syscall.SIGKILL) {
		t.Errorf("%v %v", st, ok)
	}
}
