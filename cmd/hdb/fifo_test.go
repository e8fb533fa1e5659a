package main

import (
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"hdb/testprogs"
)

// TestFIFOIsNoProgram: opening one would wait for a writer that never comes.
func TestFIFOIsNoProgram(t *testing.T) {
	fifo := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"symbolize", "-e", fifo, "10"}, {"doctor", fifo}, {"-nx", "-batch", fifo}, {"record", fifo}} {
		cmd := exec.Command(testprogs.HDB(t), args...)
		timer := time.AfterFunc(30*time.Second, func() { _ = cmd.Process.Kill() })
		if out, err := cmd.CombinedOutput(); err == nil || cmd.ProcessState.ExitCode() != exitTarget {
			t.Errorf("%q: %v\n%s", args, err, out)
		}
		timer.Stop()
	}
}
