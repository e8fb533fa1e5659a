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

// TestPythonLate attaches to a program that makes a singleton with caches later. CPython holds much of them by pointers behind the starts
// of blocks, and too few of each kind for a rule: nothing of it is possibly lost, and what is lost is found.
func TestPythonLate(t *testing.T) {
	script, err := filepath.Abs("testdata/python/late.py")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range pythons(t) {
		for name, begin := range map[string]string{"recorded": "record start --python-allocators", "unrecorded": "info program"} {
			for _, malloc := range []string{"pymalloc", "malloc", "debug", "malloc_debug"} {
				if testing.Short() && malloc != "pymalloc" && (name == "recorded" || !strings.Contains(p, "/3.12.")) {
					continue
				}
				t.Run(strings.TrimPrefix(p, "/")+" "+name+" "+malloc, func(t *testing.T) {
					t.Parallel()
					leaksLate(t, p, script, begin, malloc)
				})
			}
		}
	}
}

// leaksLate begins with a command, and asks behind the line that makes the program go on.
func leaksLate(t *testing.T, p, script, begin, malloc string) {
	fifo := filepath.Join(t.TempDir(), "go")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	in, err := os.OpenFile(fifo, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	cmd := exec.Command(p, "-S", script)
	cmd.Env = append(os.Environ(), "PYTHONMALLOC="+malloc)
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
	if line, err := bufio.NewReader(said).ReadString('\n'); err != nil || line != "ready\n" {
		t.Fatalf("the program says %q, %v", line, err)
	}
	out, err := exec.Command(HDB(t), "--json", "-batch", "-nx", "-p", fmt.Sprint(cmd.Process.Pid), "-ex", begin, "-ex", "py tbreak late.py:39", "-ex", "shell echo > "+fifo,
		"-ex", "continue", "-ex", "leaks", "-ex", "detach").Output()
	if err != nil {
		t.Fatalf("%v\n%.2000s", err, out)
	}
	for line := range bytes.Lines(out) {
		if !bytes.Contains(line, []byte(`"command":"leaks"`)) {
			continue
		}
		var v struct {
			Definitely int `json:"definitely_lost_blocks"`
			Possibly   int `json:"possibly_lost_blocks"`
			Reachable  int `json:"still_reachable_blocks"`
		}
		if err := json.Unmarshal(line, &v); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		// The last object may have left its address on the stack.
		if v.Definitely < 19 || v.Definitely > 20 || v.Possibly != 0 || v.Reachable == 0 {
			t.Errorf("%+v, want 19 or 20 definitely and none possibly lost\n%.2000s", v, line)
		}
		return
	}
	t.Errorf("no answer to leaks\n%.2000s", out)
}
