package inferior

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestChildrenLive: children of every kind run into no int3, while threads of
// the parent hit the same traps.
func TestChildrenLive(t *testing.T) {
	path := build(t, "forks")
	for _, how := range []string{"fork", "vfork", "vforkexec", "spawn", "forkexec"} {
		for _, emulate := range []bool{true, false} {
			for _, threads := range []string{"0", "4"} {
				p, _ := launch(t, path, how, threads)
				n, children := 0, 0
				tr := plant(t, p, symbol(t, p, "hit"), func(*Thread) Action {
					if n++; n%50 == 0 {
						return StopHere
					}
					return Resume
				})
				if !emulate {
					tr.site.emulate = nil
				}
				p.SetHooks(Hooks{Forked: func(b Birth) {
					if children++; b.Parent != p.target.PID() || b.Child == b.Parent || b.Followed || b.VFork != (how != "fork" && how != "forkexec") {
						t.Errorf("%s: %+v", how, b)
					}
				}})
				s := resume(t, p)
				for ; s.Reason == Trapped; s = resume(t, p) {
				}
				want := 1
				if threads != "0" {
					want = 30
				}
				if s.Exit.Code != 7 || children != want {
					t.Errorf("%s emulate %v threads %s: %v %v, %d children, want %d", how, emulate, threads, s.Reason, s.Exit, children, want)
				}
				if err := p.Close(); err != nil {
					t.Error(err)
				}
			}
		}
	}
}

func TestFollowChild(t *testing.T) {
	path := build(t, "forks")
	for _, c := range []struct {
		how  string
		hits int
		exec bool
	}{{"fork", 100, false}, {"vfork", 5, false}, {"vforkexec", 2, true}, {"spawn", 1, true}, {"forkexec", 1, true}} {
		for _, threads := range []string{"0", "3"} {
			p, _ := launch(t, path, c.how, threads)
			p.family.SetFollowFork(true)
			parent, hits, execs := p.target.PID(), 0, 0
			count := func(th *Thread) Action {
				if th.Process().target.PID() != parent {
					hits++
				}
				return Resume
			}
			plant(t, p, symbol(t, p, "hit"), count)
			farewell := ""
			p.SetHooks(Hooks{Execed: func(string) {
				execs++
				plant(t, p, symbol(t, p, "hit"), count)
			}, Message: func(s string) { farewell = s }})
			s := resume(t, p)
			if s.Reason != Exited || s.Exit.Code != 3 || p.target.PID() == parent {
				t.Errorf("%s: %v %v %+v", c.how, s.Reason, s.Exit, s.Signal)
			}
			if hits != c.hits || execs == 1 != c.exec {
				t.Errorf("%s threads %s: %d hits in the child, want %d; %d execs", c.how, threads, hits, c.hits, execs)
			}
			if err := p.Close(); err != nil {
				t.Error(err)
			}
			if farewell == "" { // else it has ended before its child
				_, ws, err := waitFor(parent)
				if farewell = fmt.Sprintf("%d", ws.ExitStatus()); err != nil {
					farewell = err.Error()
				}
			}
			if !strings.HasSuffix(farewell, "7") {
				t.Errorf("%s threads %s: the parent: %s, want exit 7", c.how, threads, farewell)
			}
		}
	}
}

// TestAlone: a program that was launched is alone until a thread or a child shares its
// memory.
func TestAlone(t *testing.T) {
	path := build(t, "forks")
	for _, c := range []struct {
		how, threads string
		follow, want bool
	}{{"fork", "0", false, true}, {"fork", "0", true, true}, {"vfork", "0", false, false}, {"vfork", "0", true, false}, {"fork", "3", false, false}} {
		p, _ := launch(t, path, c.how, c.threads)
		if !p.family.Alone() {
			t.Errorf("%+v: not alone at the start", c)
		}
		p.family.SetFollowFork(c.follow)
		seen := false
		p.SetHooks(Hooks{Forked: func(Birth) {
			if !seen && p.family.Alone() != c.want {
				t.Errorf("%+v: alone is %v", c, !c.want)
			}
			seen = true
		}})
		if s := resume(t, p); s.Reason != Exited || !seen {
			t.Errorf("%+v: %v, forked %v", c, s.Reason, seen)
		}
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestFollowOneOfMany: threads fork at the same time. One child is followed,
// the others are let go.
func TestFollowOneOfMany(t *testing.T) {
	path := build(t, "forks")
	for range 20 {
		p, _ := launch(t, path, "together", "8")
		p.family.SetFollowFork(true)
		parent, children, followed := p.target.PID(), 0, 0
		p.SetHooks(Hooks{Forked: func(b Birth) {
			if children++; b.Followed {
				followed++
			}
		}})
		plant(t, p, symbol(t, p, "hit"), func(*Thread) Action {
			time.Sleep(10 * time.Millisecond) // the more threads fork meanwhile, the better
			return Resume
		})
		wantExit(t, p, 3)
		if followed != 1 || p.target.PID() == parent {
			t.Errorf("%d of %d children followed, want 1", followed, children)
		}
		if _, ws, err := waitFor(parent); err != nil || ws.ExitStatus() != 7 {
			t.Fatalf("the parent: exit %d, signal %v, %v", ws.ExitStatus(), ws.Signal(), err)
		}
	}
}

func TestHeldChildren(t *testing.T) {
	p, _ := launch(t, build(t, "forks"), "fork", "0")
	p.family.SetDetachOnFork(false)
	p.hooks.CatchFork = func(*Thread, int, bool) Action { return StopHere }
	var pids []int
	a := symbol(t, p, "hit")
	plant(t, p, a, func(th *Thread) Action { pids = append(pids, th.Process().target.PID()); return Resume })
	s := resume(t, p)
	if s.Reason != Forked || !slices.Equal(p.family.Held(), []int{s.Child}) {
		t.Fatalf("%v, child %d, held %v", s.Reason, s.Child, p.family.Held())
	}
	parent := p.target.PID()
	if err := p.family.SwitchTo(s.Child); err != nil {
		t.Fatal(err)
	}
	if p.target.PID() != s.Child || !slices.Equal(p.family.Held(), []int{parent}) {
		t.Errorf("pid %d, held %v", p.target.PID(), p.family.Held())
	}
	wantExit(t, p, 3)
	if len(pids) != 100 || pids[0] != s.Child {
		t.Errorf("%d hits", len(pids))
	}
	if err := p.family.SwitchTo(parent); err != nil {
		t.Fatal(err)
	}
	wantExit(t, p, 7)
}

func TestExec(t *testing.T) {
	path := build(t, "forks")
	p, _ := launch(t, path, "exec")
	old := plant(t, p, symbol(t, p, "hit"), func(*Thread) Action { t.Error("hit before exec"); return Resume })
	hits, execs := 0, []string{}
	p.SetHooks(Hooks{CatchExec: func(*Thread) Action { return StopHere }, Execed: func(path string) {
		execs = append(execs, path)
		plant(t, p, symbol(t, p, "hit"), func(*Thread) Action { hits++; return Resume })
	}})
	s := resume(t, p)
	if s.Reason != Execed || s.Path != path || !slices.Equal(execs, []string{path}) {
		t.Fatalf("%v %q %v", s.Reason, s.Path, execs)
	}
	if err := old.Remove(); err != nil {
		t.Error(err)
	}
	wantExit(t, p, 3)
	if hits != 1 {
		t.Errorf("%d hits after exec", hits)
	}
}

// TestStepOverExec steps over the execve of a thread that is not the leader:
// the step ends, and the thread that made the call is the one that is left.
func TestStepOverExec(t *testing.T) {
	p, _ := launch(t, build(t, "leader", "-static"), "exec")
	plant(t, p, symbol(t, p, "execve"), func(*Thread) Action { return StopHere })
	s := resume(t, p)
	caller, execed := s.Thread, false
	if caller.TID == p.target.PID() {
		t.Fatalf("the leader called execve")
	}
	p.SetHooks(Hooks{Execed: func(string) { execed = true }})
	for range 10 {
		s, err := p.StepInstruction(caller)
		if err != nil || s.Reason != Stepped {
			t.Fatalf("%v %v", s.Reason, err)
		}
		if execed {
			break
		}
	}
	if all := p.target.Threads(); !execed || len(all) != 1 || all[0] != caller || caller.TID != p.target.PID() {
		t.Errorf("execed %v, threads %v, the caller is %v", execed, all, caller)
	}
	wantExit(t, p, 7)
}

// TestLeader: the leader exits while its threads go on, or another thread
// executes a program, with traps and stops all the while.
func TestLeader(t *testing.T) {
	path := build(t, "leader")
	for range 5 {
		for _, how := range []string{"exit", "exec"} {
			p, _ := launch(t, path, how)
			n := 0
			h := func(*Thread) Action {
				if n++; n%7 == 0 {
					return StopHere
				}
				return Resume
			}
			plant(t, p, symbol(t, p, "hit"), h)
			pid, execed := p.target.PID(), false
			p.SetHooks(Hooks{Execed: func(path string) { execed = filepath.Base(path) == "leader" }})
			s := resume(t, p)
			for ; s.Reason == Trapped; s = resume(t, p) {
				for _, th := range p.target.Threads() {
					if _, err := th.Regs(); err != nil {
						t.Errorf("%s: %v", how, err)
					}
				}
			}
			if s.Reason != Exited || s.Exit.Code != 7 || p.target.PID() != pid || execed != (how == "exec") {
				t.Errorf("%s: %v %v %+v", how, s.Reason, s.Exit, s.Signal)
			}
			if err := p.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

// TestWaitForOutlivesInterrupt: the signals of Interrupt, which go on while an
// event is handled, must not end a wait for the child that the event announced.
func TestWaitForOutlivesInterrupt(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	w := waker{tid: unix.Gettid()}
	w.request.Store(true)
	w.waiting.Store(true)
	child, err := os.StartProcess("/bin/sleep", []string{"sleep", "100"}, &os.ProcAttr{})
	if err != nil {
		t.Fatal(err)
	}
	rung := make(chan error)
	go func() {
		go func() {
			time.Sleep(20 * time.Millisecond) // many signals
			w.request.Store(false)
		}()
		w.ring()
		rung <- child.Kill()
	}()
	pid, ws, err := waitFor(child.Pid)
	if err != nil || pid != child.Pid || !ws.Signaled() {
		t.Errorf("%d %v %v, want the end of %d", pid, ws.Signal(), err, child.Pid)
	}
	if err := <-rung; err != nil {
		t.Error(err)
	}
}
