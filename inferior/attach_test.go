package inferior

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"hdb/internal/procfs"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// background starts a program that hdb has not launched and waits until it
// has printed a line.
func background(t testing.TB, path string, args ...string) (*exec.Cmd, *bufio.Reader) {
	t.Helper()
	cmd := exec.Command(path, args...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	started := make(chan error)
	go func() { started <- cmd.Start() }() // not a child of the tracing thread
	if err := <-started; err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	r := bufio.NewReader(out)
	if line, err := r.ReadString('\n'); err != nil || line != "ready\n" {
		t.Fatalf("%s: %q, %v", path, line, err)
	}
	return cmd, r
}

// finish waits for a background program and expects code 7.
func finish(t testing.TB, cmd *exec.Cmd, r *bufio.Reader) {
	t.Helper()
	line, _ := r.ReadString('\n')
	if err := cmd.Wait(); cmd.ProcessState.ExitCode() != 7 {
		t.Fatalf("%v, it said %q", err, line)
	}
}

func attach(t testing.TB, pid int) *Process {
	t.Helper()
	p, err := Attach(pid)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestAttachDetachCycles attaches to a busy program, traps a function that
// all threads call, stops a few times and detaches, over and over.
func TestAttachDetachCycles(t *testing.T) {
	cycles := 100
	if testing.Short() {
		cycles = 8
	}
	cmd, r := background(t, build(t, "busy"), "30", "4000")
	for i := range cycles {
		p := attach(t, cmd.Process.Pid)
		hits := 0
		plant(t, p, symbol(t, p, "hit"), func(*Thread) Action {
			if hits++; hits%5 == 0 {
				return StopHere
			}
			return Resume
		})
		for range i % 4 {
			if s := resume(t, p); s.Reason != Trapped {
				t.Fatalf("cycle %d: %v %+v %v", i, s.Reason, s.Signal, s.Exit)
			}
		}
		if err := p.Detach(); err != nil {
			t.Fatalf("cycle %d: %v", i, err)
		}
		if err := p.Close(); err != nil {
			t.Fatal(err)
		}
	}
	finish(t, cmd, r)
}

func TestAttachSeesModulesAndThreads(t *testing.T) {
	cmd, r := background(t, build(t, "busy"), "5", "2000")
	p := attach(t, cmd.Process.Pid)
	if n := len(p.target.Threads()); n < 6 {
		t.Errorf("%d threads, want 6 or more", n)
	}
	var names []string
	for _, m := range p.modules.Modules() {
		names = append(names, m.Name)
	}
	all := strings.Join(names, " ")
	for _, want := range []string{"busy", "libc.so.6", "ld-linux", "[vdso]"} {
		if !strings.Contains(all, want) {
			t.Errorf("no module %s in %v", want, names)
		}
	}
	if p.modules.trap == nil {
		t.Error("no library trap")
	}
	if !p.target.Attached() {
		t.Error("Attached() is false")
	}
	if err := p.Close(); err != nil { // detaches
		t.Fatal(err)
	}
	finish(t, cmd, r)
}

// TestDetachKeepsGroupStop: a stopped process stays stopped, through attach
// and detach, until SIGCONT.
func TestDetachKeepsGroupStop(t *testing.T) {
	cmd, r := background(t, build(t, "busy"), "4", "300")
	pid := cmd.Process.Pid
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	waitState(t, pid, "T")
	p := attach(t, pid)
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	waitState(t, pid, "T")
	if err := syscall.Kill(pid, syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	finish(t, cmd, r)
}

// waitState polls until the process is in the state.
func waitState(t testing.TB, pid int, state string) {
	t.Helper()
	for range 5000 {
		if s, _ := procfs.Status(pid, "State"); strings.HasPrefix(s, state) {
			return
		}
		time.Sleep(time.Millisecond)
	}
	s, _ := procfs.Status(pid, "State")
	t.Fatalf("process %d is in state %s, want %s", pid, s, state)
}

// waitCall waits until the process sleeps in that system call.
func waitCall(t testing.TB, pid, number int) {
	t.Helper()
	var in []byte
	for range 5000 {
		waitState(t, pid, "S")
		if in, _ = os.ReadFile(fmt.Sprintf("/proc/%d/syscall", pid)); bytes.HasPrefix(in, fmt.Appendf(nil, "%d ", number)) {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Fatalf("process %d is in system call %s, want %d", pid, in, number)
}

// TestDetachLaunched lets a launched program go; it must not die with us nor
// be hurt by the traps.
func TestDetachLaunched(t *testing.T) {
	p, out := launch(t, build(t, "threads"), "4", "2", "10")
	plant(t, p, symbol(t, p, "hit"), func(*Thread) Action { return StopHere })
	resume(t, p)
	resume(t, p)
	pid := p.target.PID()
	if err := p.Detach(); err != nil {
		t.Fatal(err)
	}
	if _, ws, err := waitFor(pid); err != nil || ws.ExitStatus() != 7 {
		t.Errorf("%v, exit %d signal %v", err, ws.ExitStatus(), ws.Signal())
	}
	if got := read(t, out); got != "total 80\n" {
		t.Errorf("it said %q", got)
	}
}

func TestAttachErrors(t *testing.T) {
	zombie := exec.Command("true")
	traced := exec.Command("strace", "-o", "/dev/null", "sleep", "100")
	headless := exec.Command(build(t, "leader"), "stay")
	started := make(chan error)
	go func() { started <- errors.Join(zombie.Start(), traced.Start(), headless.Start()) }()
	if err := <-started; err != nil {
		t.Fatalf("%v (the tests need the package strace)", err)
	}
	defer func() {
		_, _ = traced.Process.Kill(), headless.Process.Kill()
		_, _, _ = traced.Wait(), zombie.Wait(), headless.Wait()
	}()
	waitState(t, zombie.Process.Pid, "Z")
	waitState(t, headless.Process.Pid, "Z")
	threads, err := procfs.Threads(headless.Process.Pid)
	if err != nil || len(threads) != 6 {
		t.Fatalf("threads %v, %v", threads, err)
	}
	headlessMaps, err := MapsOf(headless.Process.Pid) // which the other threads have
	if resident, residentErr := Resident(headless.Process.Pid); err != nil || len(headlessMaps) == 0 || residentErr != nil || resident == 0 {
		t.Errorf("maps %v, %v; resident %d, %v", headlessMaps, err, resident, residentErr)
	}
	if all, err := MapsOf(zombie.Process.Pid); err == nil {
		t.Errorf("maps of a zombie: %v", all)
	}
	gone := fmt.Sprintf("the first thread of process %d has ended", headless.Process.Pid)
	inner := 0
	for range 2000 {
		b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", traced.Process.Pid, traced.Process.Pid))
		if _, err := fmt.Sscan(string(b), &inner); err == nil {
			if s, _ := procfs.Status(inner, "Name"); s == "sleep" {
				break
			}
		}
		_ = exec.Command("true").Run()
	}
	for _, c := range []struct {
		pid  int
		want string
	}{
		{os.Getpid(), "hdb itself"},
		{0, "not a process ID"},
		{1 << 30, "no such process"},
		{zombie.Process.Pid, "zombie"},
		{headless.Process.Pid, gone},
		{threads[5], gone},
		{inner, fmt.Sprintf("already traced by process %d (strace)", traced.Process.Pid)},
	} {
		err := CheckAttach(c.pid)
		var ae *AttachError
		if !errors.As(err, &ae) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("check %d: %v, want %q", c.pid, err, c.want)
		}
		if p, err := Attach(c.pid); err == nil {
			t.Errorf("attached to %d", c.pid)
			_ = p.Close()
		} else if !strings.Contains(err.Error(), c.want) {
			t.Errorf("attach %d: %v, want %q", c.pid, err, c.want)
		}
	}
}

// TestAttachOtherUser asks, as nobody, for a process of root.
func TestAttachOtherUser(t *testing.T) {
	if os.Getenv("HDB_TEST_CHECK_ATTACH") != "" {
		fmt.Println(CheckAttach(os.Getppid()))
		return
	}
	if os.Getuid() != 0 {
		t.Log("not root: asking for process 1 instead")
		if err := CheckAttach(1); err == nil || !strings.Contains(err.Error(), "belongs to user 0") {
			t.Errorf("%v", err)
		}
		return
	}
	exe := t.TempDir() + "/test"
	b, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.WriteFile(exe, b, 0o755), os.Chmod(t.TempDir(), 0o755)); err != nil {
		t.Fatal(err)
	}
	for dir := exe; dir != "/tmp" && len(dir) > 1; dir = dir[:strings.LastIndexByte(dir, '/')] {
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command(exe, "-test.run=TestAttachOtherUser")
	cmd.Dir = "/"
	cmd.Env = append(os.Environ(), "HDB_TEST_CHECK_ATTACH=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "belongs to user 0, hdb runs as user 65534 (try sudo)") {
		t.Errorf("%v: %s", err, out)
	}
}

// TestAttachWaitsForGuard: nothing of ours is in the program's code before the
// guard is there, which would take it out.
func TestAttachWaitsForGuard(t *testing.T) {
	cmd, _ := background(t, build(t, "busy"), "5", "2000")
	p := attach(t, cmd.Process.Pid)
	traps := func(want byte) {
		t.Helper()
		if len(p.traps.sites) == 0 {
			t.Error("no trap at the dynamic linker's hook")
		}
		for a, s := range p.traps.sites {
			if want == 0 {
				want = s.code[0]
			}
			if b, err := p.memory.peek(a); err != nil || b != want {
				t.Errorf("%#x at %v, want %#x; %v", b, a, want, err)
			}
		}
	}
	traps(0)
	if err := p.guard.Guard(guardCommand); err != nil {
		t.Fatal(err)
	}
	traps(0)
	p.waker.Wake(func() {
		traps(int3)
		if p.guard.table.head.guard.Load() == 0 {
			t.Error("the program runs before the guard is there")
		}
		_ = p.waker.Interrupt() // an error would mean that nothing runs
	})
	if s := resume(t, p); s.Reason != Interrupted {
		t.Errorf("%v", s.Reason)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
}
