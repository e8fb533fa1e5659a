package inferior

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

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
		for end := testprogs.Deadline(t); os.Remove(dir) != nil && time.Now().Before(end); { // once its last process is gone
			time.Sleep(time.Millisecond)
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
	result := make(chan error)
	go func() { // on a thread of its own, which ends with it and lets the process go
		var p *Process
		_, err := AttachWith(pid, AttachOptions{
			Begun: func(begun *Process) { p = begun },
			Message: func(text string) {
				if !strings.Contains(text, "its cgroup is frozen") {
					t.Errorf("said %q", text)
				}
				_ = p.Interrupt()
			},
		})
		result <- err
	}()
	var hangs *UnstoppedError
	if err := <-result; !errors.As(err, &hangs) || !hangs.Frozen || hangs.PID != pid {
		t.Errorf("attach: %v", err)
	}
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
