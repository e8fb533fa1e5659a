package inferior

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// killedEnv makes the test binary a debugger that brings a process to a stop,
// says so and waits to be killed: "HOW PID" or "HOW PATH".
const killedEnv = "HDB_TEST_KILLED"

// TestKilledDebugger is that debugger.
func TestKilledDebugger(t *testing.T) {
	var how, what string
	if n, _ := fmt.Sscan(os.Getenv(killedEnv), &how, &what); n != 2 {
		t.Skip("runs in the tests of what happens when hdb is killed")
	}
	runtime.LockOSThread()
	var p *Process
	if pid, err := strconv.Atoi(what); err == nil {
		p = attach(t, pid)
	} else {
		p, _ = launch(t, what, "8", "300")
		if !strings.HasSuffix(how, "kill") {
			if err := p.SetKillOnExit(false); err != nil {
				t.Fatal(err)
			}
		}
	}
	s := killedAt[how](t, p)
	fmt.Printf("stopped: %v %d\n", s.Reason, p.target.PID())
	if strings.HasPrefix(how, "running") {
		resume(t, p)
	}
	for how == "snapshots" {
		s, err := p.snapshots.Snapshot()
		if err == nil {
			err = s.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	select {}
}

// killedAt brings the process where the debugger is to be killed.
var killedAt = map[string]func(*testing.T, *Process) Stop{
	"trap": func(t *testing.T, p *Process) Stop { return stopSome(t, p, true) },
	"step": func(t *testing.T, p *Process) Stop {
		s := stopSome(t, p, true)
		for range 3 {
			var err error
			if s, err = p.StepInstruction(s.Thread); err != nil || s.Reason != Stepped {
				t.Fatalf("%v %v", s.Reason, err)
			}
		}
		return s
	},
	"watch": func(t *testing.T, p *Process) (s Stop) {
		if _, err := p.watchpoints.Watch(symbol(t, p, "total"), 8, Write); err != nil {
			t.Fatal(err)
		}
		for range 5 {
			s = resume(t, p)
		}
		return s
	},
	"snapshot": func(t *testing.T, p *Process) Stop {
		guarded(t, p)
		s := stopSome(t, p, false)
		if _, err := p.snapshots.Snapshot(); err != nil {
			t.Fatal(err)
		}
		return s
	},
	"snapshots": func(t *testing.T, p *Process) Stop {
		guarded(t, p)
		return stopSome(t, p, false)
	},
	"running-snapshot": func(t *testing.T, p *Process) Stop {
		guarded(t, p)
		s := stopSome(t, p, false)
		if _, err := p.snapshots.Snapshot(); err != nil {
			t.Fatal(err)
		}
		return s
	},
	"guarded": func(t *testing.T, p *Process) Stop {
		guarded(t, p)
		return stopSome(t, p, false)
	},
	"patched":  func(t *testing.T, p *Process) Stop { return atPatch(t, p, byJump) },
	"diverted": func(t *testing.T, p *Process) Stop { return atPatch(t, p, byTrap) },
	"signal": func(t *testing.T, p *Process) Stop {
		guarded(t, p)
		if err := unix.Kill(p.target.PID(), unix.SIGUSR1); err != nil {
			t.Fatal(err)
		}
		return resume(t, p)
	},
	"running": func(t *testing.T, p *Process) Stop {
		guarded(t, p)
		plant(t, p, symbol(t, p, "main"), nil) // it is called no more
		return Stop{}
	},
	"running-gates": func(t *testing.T, p *Process) Stop {
		guarded(t, p)
		openGate(t, p, func() Action { return Resume })
		return Stop{}
	},
	"running-traps": func(t *testing.T, p *Process) Stop {
		guarded(t, p)
		plant(t, p, symbol(t, p, "gate"), func(*Thread) Action { return Resume })
		return Stop{}
	},
	"handled": func(t *testing.T, p *Process) Stop {
		guarded(t, p)
		plant(t, p, symbol(t, p, "target"), func(*Thread) Action { return StopHere })
		return resume(t, p)
	},
	"kill": func(t *testing.T, p *Process) Stop { return stopSome(t, p, false) },
	"chosen-kill": func(t *testing.T, p *Process) Stop {
		stopSome(t, p, false)
		if err := p.SetKillOnExit(true); err != nil {
			t.Fatal(err)
		}
		return resume(t, p)
	},
	"exec": func(t *testing.T, p *Process) Stop {
		guarded(t, p)
		p.SetHooks(Hooks{CatchExec: func(*Thread) Action { return StopHere }, Execed: func(string) {
			plant(t, p, symbol(t, p, "target"), func(*Thread) Action { return StopHere })
		}})
		if s := resume(t, p); s.Reason != Execed {
			t.Fatalf("%v", s.Reason)
		}
		waitGuard(t, p)
		return resume(t, p)
	},
}

// atPatch stops a few times at the entry of a patched function.
func atPatch(t *testing.T, p *Process, l lead) (s Stop) {
	guarded(t, p)
	h := l.newHook(t, p)
	h.install(t)
	hits := 0
	plant(t, p, h.target, func(*Thread) Action {
		if hits++; hits%3 == 0 {
			return StopHere
		}
		return Resume
	})
	for range 5 {
		s = resume(t, p)
	}
	return s
}

// stopSome stops a few times in hit.
func stopSome(t *testing.T, p *Process, remove bool) (s Stop) {
	hits := 0
	tr := plant(t, p, symbol(t, p, "hit"), func(*Thread) Action {
		if hits++; hits%3 == 0 {
			return StopHere
		}
		return Resume
	})
	for range 5 {
		s = resume(t, p)
	}
	if remove {
		if err := tr.Remove(); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// guarded starts the guard and waits for it.
func guarded(t *testing.T, p *Process) {
	if err := p.guard.Guard(guardCommand); err != nil {
		t.Fatal(err)
	}
	waitGuard(t, p)
}

// guardCommand has the test binary be the guard, see TestMain.
var guardCommand = []string{"/proc/self/exe", "--guard"}

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == guardCommand[1] {
		os.Exit(RunGuard(os.Args[2:]))
	}
	if len(os.Args) > 2 && os.Args[1] == tracesFlag {
		os.Exit(traceAsGuard(os.Args[2]))
	}
	os.Exit(m.Run())
}

// tracesFlag is the mode in which the test is a guard that traces a process until its input ends.
const tracesFlag = "-traces"

func traceAsGuard(pid string) int {
	runtime.LockOSThread()
	n, err := strconv.Atoi(pid)
	if err == nil {
		err = os.WriteFile("/proc/self/comm", []byte(guardName), 0)
	}
	if err == nil {
		err = ptrace(unix.PTRACE_SEIZE, n, 0, 0)
	}
	fmt.Println(err)
	_, _ = io.Copy(io.Discard, os.Stdin) // up to its end
	return 0
}

// TestAttachBesideGuard: a process that the guard of a killed debugger still traces is attached to when
// that has let go.
func TestAttachBesideGuard(t *testing.T) {
	target := exec.Command("sleep", "1000")
	if err := target.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _, _ = target.Process.Kill(), target.Wait() }() // it was killed
	guard := exec.Command("/proc/self/exe", tracesFlag, strconv.Itoa(target.Process.Pid))
	in, err := guard.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := guard.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := guard.Start(); err != nil {
		t.Fatal(err)
	}
	said, _ := bufio.NewReader(out).ReadString('\n')
	if said != "<nil>\n" {
		t.Fatalf("the guard: %s", said)
	}
	time.AfterFunc(20*time.Millisecond, func() { in.Close() })
	if err := CheckAttach(target.Process.Pid); err != nil {
		t.Error(err)
	}
	_ = guard.Wait() // its input has ended
}

// waitGuard waits until the guard is there, and tells its pid.
func waitGuard(t testing.TB, p *Process) int {
	t.Helper()
	for range 5000 {
		if pid := p.guard.table.head.guard.Load(); pid != 0 {
			return int(pid)
		}
		time.Sleep(time.Millisecond)
	}
	t.Fatal("the guard does not come")
	return 0
}

// startKilled starts the debugger on a process or a program and waits for its
// stop.
func startKilled(t testing.TB, how string, what any) (hdb *exec.Cmd, pid int) {
	t.Helper()
	cmd := exec.Command("/proc/self/exe", "-test.run=^TestKilledDebugger$", "-test.v")
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s %v", killedEnv, how, what), "TMPDIR="+t.TempDir()) // it cannot clean up
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	r, all := bufio.NewReader(out), ""
	for {
		line, err := r.ReadString('\n')
		all += line
		var reason string
		if n, _ := fmt.Sscanf(line, "stopped: %s %d", &reason, &pid); n == 2 {
			return cmd, pid
		}
		if err != nil {
			t.Fatalf("%s: the debugger says %s", how, all)
		}
	}
}

// kill ends the debugger as the kernel may at any time.
func kill(t testing.TB, hdb *exec.Cmd) {
	t.Helper()
	if err := hdb.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = hdb.Wait() // it was killed
}

// TestKilledAtStop: hdb is killed while an attached process is at a stop; the
// process goes on as if nothing had been.
func TestKilledAtStop(t *testing.T) {
	for _, c := range []struct {
		how  string
		prog []string
	}{
		{"trap", []string{"busy", "8", "300", "wait"}},
		{"step", []string{"busy", "8", "300", "wait"}},
		{"watch", []string{"busy", "8", "300", "wait"}},
		{"guarded", []string{"busy", "8", "300", "wait"}},
		{"patched", []string{"patched", "forever"}},
		{"diverted", []string{"patched", "forever"}},
		{"exec", []string{"patched", "later"}},
		{"signal", []string{"patched", "nap"}},
	} {
		t.Run(c.how, func(t *testing.T) {
			path, rounds := build(t, c.prog[0]), 20
			if testing.Short() {
				rounds = 3
			}
			for range rounds {
				cmd, out := background(t, path, c.prog[1:]...)
				hdb, _ := startKilled(t, c.how, cmd.Process.Pid)
				kill(t, hdb)
				finish(t, cmd, out)
			}
		})
	}
}

// TestKillOnExit: whether the process dies with hdb is as chosen, for launched
// and for attached ones and for threads born since.
func TestKillOnExit(t *testing.T) {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil { // orphans come to us
		t.Fatal(err)
	}
	defer func() { _ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0) }()
	for _, c := range []struct {
		how    string
		attach bool
		want   string
	}{
		{"kill", false, "killed by SIGKILL"},
		{"guarded", false, "exited with code 7"},
		{"chosen-kill", true, "killed by SIGKILL"},
		{"guarded", true, "exited with code 7"},
	} {
		path := build(t, "busy")
		var what any = path
		if c.attach {
			cmd, _ := background(t, path, "8", "300", "wait")
			what = cmd.Process.Pid
		}
		hdb, pid := startKilled(t, c.how, what)
		kill(t, hdb)
		_, ws, err := waitFor(pid)
		got := ExitStatus{Code: ws.ExitStatus()}
		if ws.Signaled() {
			got = ExitStatus{Signal: int(ws.Signal())}
		}
		if err != nil || got.String() != c.want {
			t.Errorf("%s, attached %v: %v, %v; want %s", c.how, c.attach, got, err, c.want)
		}
	}
}
