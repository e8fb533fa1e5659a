package testprogs

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// extension builds testdata/python/leaky.cc for an interpreter and returns its folder, ""
// if there are no headers for it.
func extension(t *testing.T, p string) string {
	t.Helper()
	out, err := exec.Command(p, "-c", "import sysconfig; print(sysconfig.get_paths()['include'])").Output()
	if err != nil {
		t.Fatalf("%s: %v", p, err)
	}
	include := strings.TrimSpace(string(out))
	if _, err := os.Stat(filepath.Join(include, "Python.h")); err != nil {
		t.Skipf("%s: no headers in %s", p, include)
	}
	dir := t.TempDir()
	if out, err := exec.Command("g++", "-O2", "-g", "-shared", "-fPIC", "-I"+include, "testdata/python/leaky.cc", "-o", filepath.Join(dir, "leaky.so")).CombinedOutput(); err != nil {
		t.Fatalf("leaky.cc for %s: %v\n%s", p, err, out)
	}
	return dir
}

// A leak is a row of leaks: the function that the blocks belong to, and the innermost of Python.
type leak struct {
	owner, python string
	blocks        int
}

// leaksIn are the first rows of the answer to leaks in the output.
func leaksIn(t *testing.T, out []byte) (rows []leak) {
	t.Helper()
	for line := range bytes.Lines(out) {
		if !bytes.Contains(line, []byte(`"command":"leaks"`)) {
			continue
		}
		var v struct {
			Rows []struct {
				Blocks int    `json:"live_blocks"`
				Owner  string `json:"function"`
				Frames []struct{ Function, Source string }
			}
		}
		if err := json.Unmarshal(line, &v); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		for _, r := range v.Rows {
			l := leak{owner: r.Owner, blocks: r.Blocks}
			for _, f := range r.Frames {
				if f.Source == "python" {
					l.python = f.Function
					break
				}
			}
			rows = append(rows, l)
		}
	}
	return rows
}

// TestPythonLeaks finds two leaking handlers and a leaking extension: in a capture, in one whose
// hdb was killed, and in a process that hdb has attached to.
func TestPythonLeaks(t *testing.T) {
	script, err := filepath.Abs("testdata/python/leaks.py")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range pythons(t) {
		if testing.Short() && p != "/usr/bin/python3" && !strings.Contains(p, "/3.12.") {
			continue
		}
		t.Run(strings.TrimPrefix(p, "/"), func(t *testing.T) {
			dir := extension(t, p)
			t.Setenv("PYTHONPATH", dir)
			t.Run("saved", func(t *testing.T) { leaksSaved(t, p, script) })
			t.Run("killed", func(t *testing.T) { leaksKilled(t, p, script) })
			t.Run("attached", func(t *testing.T) { leaksAttached(t, p, script) })
		})
	}
}

// wantLeaks checks that each of the three has so many blocks, and a few more of those which
// the list of blocks takes itself.
func wantLeaks(t *testing.T, out []byte, atLeast, atMost int) {
	t.Helper()
	rows := leaksIn(t, out)
	want := []leak{{"second", "second", 0}, {"first", "first", 0}, {"::fill", "third", 0}}
	if len(rows) < len(want) {
		t.Fatalf("%d rows\n%.3000s", len(rows), out)
	}
	for i, w := range want {
		if r := rows[i]; !strings.HasSuffix(r.owner, w.owner) || strings.TrimPrefix(r.python, "Handlers.") != w.python || // up to 3.10 names are not qualified
			r.blocks < atLeast || r.blocks > atMost+3 {
			t.Errorf("row %d: %+v, want %+v of %d to %d blocks", i+1, r, w, atLeast, atMost)
		}
	}
}

func leaksSaved(t *testing.T, p, script string) {
	file := filepath.Join(t.TempDir(), "leaks.hdb")
	if out, err := exec.Command(HDB(t), "record", "-o", file, p, script, "300").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	out, err := exec.Command(HDB(t), "--json", "-batch", "-nx", "-ex", "leaks 3", file).Output()
	if err != nil {
		t.Fatal(err)
	}
	wantLeaks(t, out, 100, 100)
	out, err = exec.Command(HDB(t), "--json", "-batch", "-nx", "-ex", `allocs all if pyfile("python/leaks.py") && func("third") && size == 10000`, file).Output()
	if n := bytes.Count(out, []byte(`"size":10000`)); err != nil || n != 100 {
		t.Errorf("%v: %d calls of malloc under third, want 100", err, n)
	}
}

// leaksKilled kills hdb while it records: the names are in the file by then.
func leaksKilled(t *testing.T, p, script string) {
	file := filepath.Join(t.TempDir(), "killed.hdb")
	cmd := exec.Command(HDB(t), "record", "-o", file, p, script, "30000", "wait")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	said, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(said).ReadString('\n')
	if err != nil || line != "ready\n" {
		t.Errorf("the program says %q, %v", line, err)
	}
	_ = cmd.Process.Signal(syscall.SIGKILL)
	_ = cmd.Wait() // killed
	out, err := exec.Command(HDB(t), "--json", "-batch", "-nx", "-ex", "leaks 3", file).Output()
	if len(out) == 0 {
		t.Fatal(err)
	}
	for i, r := range leaksIn(t, out) {
		if !strings.Contains("first second third", strings.TrimPrefix(r.python, "Handlers.")) || r.blocks < 100 {
			t.Errorf("row %d: %+v", i+1, r)
		}
	}
}

// leaksAttached attaches to a program that waits, and stops where the extension allocates.
func leaksAttached(t *testing.T, p, script string) {
	fifo := filepath.Join(t.TempDir(), "go")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	in, err := os.OpenFile(fifo, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	cmd := exec.Command(p, script, "150", "wait")
	cmd.Stdin = in
	said, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}()
	lines := bufio.NewReader(said)
	if line, err := lines.ReadString('\n'); err != nil || line != "ready\n" {
		t.Fatalf("the program says %q, %v", line, err)
	}
	out, err := exec.Command(HDB(t), "--json", "-batch", "-nx", "-p", fmt.Sprint(cmd.Process.Pid), "-ex", "record start", "-ex", "mark before", "-ex", "py tbreak leaks.py:9999",
		"-ex", `break alloc if func("grow") && size == 10000`, "-ex", "shell echo > "+fifo, "-ex", "continue", "-ex", "continue 39", "-ex", "leaks 3 since before", "-ex", "detach").Output()
	if err != nil {
		t.Fatalf("%v\n%.2000s", err, out)
	}
	wantLeaks(t, out, 39, 40)
	if line, err := lines.ReadString('\n'); err != nil || line != "done\n" {
		t.Errorf("detached, the program says %q, %v", line, err)
	}
}
