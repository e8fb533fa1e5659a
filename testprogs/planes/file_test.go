package planes

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"hdb/capture/file"
	"hdb/testprogs"
)

// recordCommand is hdb record, which writes a file while the program runs. args
// are those behind -o FILE.
func recordCommand(t *testing.T, j job, args ...string) (cmd *exec.Cmd, path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "run.hdb")
	cmd = exec.Command(testprogs.HDB(t), append([]string{"record", "-q", "-o", path}, args...)...)
	cmd.Env, cmd.Dir = j.Env, j.Dir
	cmd.WaitDelay = 5 * time.Second
	return cmd, path
}

// openWhole opens what a command wrote; it must have no damage.
func openWhole(t *testing.T, path string) *calls {
	t.Helper()
	c := openAny(t, path)
	if d := c.Damage(); d != nil {
		t.Errorf("%v", d)
	}
	return c
}

// openAny opens what was written until hdb was killed.
func openAny(t *testing.T, path string) *calls {
	t.Helper()
	f, err := file.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return newCalls(&recording{File: f, plane: either})
}

// TestRecordToFile has hdb record compare with what storms say.
func TestRecordToFile(t *testing.T) {
	for _, s := range storms {
		switch s.name {
		case "storm_threads", "storm_churn", "storm_realloc", "storm_exec", "storm_dlopen":
		default:
			continue
		}
		if s.flags != nil {
			continue
		}
		t.Run(s.title(), func(t *testing.T) {
			t.Parallel()
			j := s.job(t, s.much.of(probe, testing.Short()))
			cmd, path := recordCommand(t, j, append([]string{j.Path}, j.Args...)...)
			var out, said bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out, &said
			if err := cmd.Run(); err != nil {
				t.Fatalf("%v: %v\n%s%s", cmd, err, said.String(), out.String())
			}
			c := openWhole(t, path)
			c.out = out.String()
			sameCalls(t, newSums(c.recording))
			if _, wrong := c.live(); wrong != nil {
				t.Errorf("the events cannot be: %v", wrong)
			}
		})
	}
}

// TestRecordDeath kills the program under hdb record. The file has all that
// happened before.
func TestRecordDeath(t *testing.T) {
	progress := newProgress(t)
	j := program(t, "storm_progress", nil, "never", "0", string(progress))
	cmd, path := recordCommand(t, j, append([]string{j.Path}, j.Args...)...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for progress.calls() < 1000 {
		time.Sleep(time.Millisecond)
	}
	if err := syscall.Kill(progress.pid(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	var status *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &status) || status.ExitCode() != diedBySignal {
		t.Errorf("hdb record: %v", err)
	}
	checkProgress(t, openWhole(t, path), progress.calls(), 1)
}

// TestRecorderKilled kills hdb record itself. The file opens with what was written,
// and a program to which it was attached goes on.
func TestRecorderKilled(t *testing.T) {
	n := 30
	if testing.Short() {
		n = 1
	}
	g := launch(t, "storm_pace", nil, "2")
	opened := 0
	for i := 0; i < n || opened == 0 && time.Now().Before(testprogs.Deadline(t)); i++ {
		cmd, path := recordCommand(t, job{}, "-p", g.pid)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(200*time.Millisecond + rand.N(600*time.Millisecond))
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Wait(); err == nil {
			t.Fatal("hdb record had ended")
		}
		if _, err := os.Stat(path); err == nil {
			c := openAny(t, path)
			if wrong := c.twice(); wrong != nil {
				t.Error(wrong)
			}
			if c.Len() > 0 {
				opened++
			}
			t.Logf("%d events, %v", c.Len(), c.Damage())
		}
		g.paces(t, 2)
	}
	if opened == 0 {
		t.Error("no file has events")
	}
	g.end(t)
}

// TestRecordForAWhile attaches for a time, many times.
func TestRecordForAWhile(t *testing.T) {
	n := 50
	if testing.Short() {
		n = 2
	}
	g := launch(t, "storm_pace", nil, "2")
	for range n {
		cmd, path := recordCommand(t, job{}, "--duration", strconv.Itoa(20+rand.IntN(200))+"ms", "-p", g.pid)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", cmd, err, out)
		}
		c := openWhole(t, path)
		if wrong := c.twice(); wrong != nil || c.Len() == 0 {
			t.Errorf("%d events, %v", c.Len(), wrong)
		}
	}
	g.end(t)
}
