package inferior

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"hdb/testprogs"
)

// sleeping starts a process, in a frozen cgroup or not, which ends with the test.
func sleeping(t *testing.T, frozen bool) (pid int) {
	t.Helper()
	sleep := exec.Command("sleep", "1000")
	if err := sleep.Start(); err != nil {
		t.Fatal(err)
	}
	end := func() { _, _ = sleep.Process.Kill(), sleep.Wait() }
	if frozen {
		freeze(t, sleep.Process.Pid, end)
	} else {
		t.Cleanup(end)
	}
	return sleep.Process.Pid
}

// freeze makes a cgroup for a process, and freezes it. end ends the process.
func freeze(t *testing.T, pid int, end func()) {
	t.Helper()
	dir := filepath.Join("/sys/fs/cgroup/freezer", fmt.Sprintf("hdb-test-%d", pid))
	if err := os.Mkdir(dir, 0o755); err != nil {
		end()
		t.Skipf("no cgroup can be frozen here: %v", err)
	}
	t.Cleanup(func() {
		for end := testprogs.Deadline(t); ; time.Sleep(time.Millisecond) { // once its last process is gone
			err := os.Remove(dir)
			if err == nil {
				return
			}
			if time.Now().After(end) {
				t.Errorf("the killed process stays: %v", err)
				return
			}
		}
	})
	t.Cleanup(end)
	set := func(file, value string) error { return os.WriteFile(filepath.Join(dir, file), []byte(value), 0) }
	if err := errors.Join(set("cgroup.procs", fmt.Sprint(pid)), set("freezer.state", "FROZEN")); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = set("freezer.state", "THAWED") })
}

// A frozen process does not stop. That is told, and Interrupt ends the wait.
func TestAttachFrozen(t *testing.T) {
	pid := sleeping(t, true)
	var err error
	onThread(func() {
		var p *Process
		_, err = AttachWith(pid, AttachOptions{
			Begun: func(begun *Process) { p = begun },
			Message: func(text string) {
				if !strings.Contains(text, "its cgroup is frozen") {
					t.Errorf("said %q", text)
				}
				_ = p.Interrupt()
			},
		})
	})
	var hangs *UnstoppedError
	if !errors.As(err, &hangs) || !hangs.Frozen || hangs.PID != pid {
		t.Errorf("attach: %v", err)
	}
}

// onThread calls f on a thread that ends with it. The kernel then lets go what the thread traces, which
// would not die before.
func onThread(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // for good: the runtime ends the thread
		if unix.Gettid() == os.Getpid() {
			onThread(f) // but not the first one, which is kept away from f
			runtime.UnlockOSThread()
			return
		}
		f()
	}()
	<-done
}

// A process under SIGSTOP stands though it was resumed, which is told.
func TestContinueStopped(t *testing.T) {
	pid := sleeping(t, false)
	if err := exec.Command("kill", "-STOP", fmt.Sprint(pid)).Run(); err != nil {
		t.Fatal(err)
	}
	waitState(t, pid, "T")
	p, err := Attach(pid)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	said := ""
	p.SetHooks(Hooks{Message: func(text string) {
		said = text
		_ = p.Interrupt()
	}})
	if s, err := p.Continue(); err != nil || s.Reason != Interrupted {
		t.Errorf("%v, %v", s, err)
	}
	if want := fmt.Sprintf("process %d is stopped by a signal", pid); !strings.HasPrefix(said, want) {
		t.Errorf("said %q", said)
	}
	if err := p.Detach(); err != nil {
		t.Error(err)
	}
}
