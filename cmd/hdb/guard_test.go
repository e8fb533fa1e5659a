package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hdb/inferior"
	"hdb/testprogs"
)

func TestGuardIsNotForUsers(t *testing.T) {
	for _, args := range [][]string{{guardFlag}, {guardFlag, "3", "4"}, {guardFlag, "3", "4", "x"}} {
		cmd := exec.Command(testprogs.HDB(t), args...)
		out, _ := cmd.CombinedOutput()
		if cmd.ProcessState.ExitCode() != exitUsage || string(out) != "error: the guard is started by hdb itself\n" {
			t.Errorf("hdb %v: exit %d, %q", args, cmd.ProcessState.ExitCode(), out)
		}
	}
}

// guards are the processes that run hdb as a guard.
func guards(t *testing.T, hdb string) (pids []string) {
	t.Helper()
	exes, err := filepath.Glob("/proc/[0-9]*/exe")
	if err != nil {
		t.Fatal(err)
	}
	for _, exe := range exes {
		line, _ := os.ReadFile(filepath.Join(filepath.Dir(exe), "cmdline")) // it may have ended
		if path, err := os.Readlink(exe); err == nil && path == hdb && strings.HasPrefix(string(line), "guard\x00"+guardFlag) {
			pids = append(pids, exe)
		}
	}
	return pids
}

// TestGuardMode: hdb serves as a guard, and ends with the session.
func TestGuardMode(t *testing.T) {
	// A copy, for nobody else's guard to be taken for ours.
	hdb := filepath.Join(t.TempDir(), "hdb")
	if err := os.Link(testprogs.HDB(t), hdb); err != nil {
		b, err := os.ReadFile(testprogs.HDB(t))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(hdb, b, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	sleep := exec.Command("sleep", "100")
	started := make(chan error)
	go func() { started <- sleep.Start() }() // not a child of the tracing thread
	if err := <-started; err != nil {
		t.Fatal(err)
	}
	defer func() { _ = sleep.Process.Kill(); _ = sleep.Wait() }()
	p, err := inferior.Attach(sleep.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Guard([]string{hdb, guardFlag}); err != nil {
		t.Fatal(err)
	}
	wait := func(n int) error {
		for range 5000 {
			if len(guards(t, hdb)) == n {
				return nil
			}
			time.Sleep(time.Millisecond)
		}
		return fmt.Errorf("guards %v, want %d", guards(t, hdb), n)
	}
	if err := wait(1); err != nil {
		t.Error(err)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	if err := wait(0); err != nil {
		t.Error(err)
	}
}
