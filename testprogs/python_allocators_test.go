package testprogs

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// counterLibrary builds testdata/python/counter.c.
func counterLibrary(t *testing.T) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "counter.so")
	cmd := exec.Command("gcc", "-O1", "-g", "-fPIC", "-shared", "-o", to, "testdata/python/counter.c")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", cmd, err, out)
	}
	return to
}

// TestPythonAllocators compares the recorded calls of CPython's allocators with those that a
// library of the program counts below, in the interpreter's own tables.
func TestPythonAllocators(t *testing.T) {
	counter := counterLibrary(t)
	script, err := filepath.Abs("testdata/python/allocators.py")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range pythons(t) {
		for _, what := range []string{"", "fork", "tracemalloc", "threads fork tracemalloc"} {
			if testing.Short() && p != "/usr/bin/python3" && (what != "fork" || !strings.Contains(p, "/3.8.") && !strings.Contains(p, "/3.13.")) {
				continue // the oldest and the newest are other code than the system's
			}
			if testing.Short() && what == "" {
				continue // fork does the same, and more
			}
			t.Run(strings.TrimPrefix(p, "/")+","+what, func(t *testing.T) {
				t.Parallel()
				dir := t.TempDir()
				file, dump := filepath.Join(dir, "a.hdb"), filepath.Join(dir, "dump")
				args := []string{"-batch", "-nx", "-ex", "break recording_begins", "-ex", "run", "-ex", "record start --python-allocators",
					"-ex", "break recording_ends", "-ex", "continue", "-ex", "save " + file, "-ex", "continue", "--args", p, script, counter, dump}
				out, err := exec.Command(HDB(t), append(args, strings.Fields(what)...)...).CombinedOutput()
				if err != nil || !bytes.Contains(out, []byte("\ndone ")) {
					t.Fatalf("%v\n%.2000s", err, out)
				}
				got, want := recordedCalls(t, file), countedCalls(t, dump)
				if strings.Contains(what, "threads") { // another may be between the call and the list
					slices.Sort(got)
					slices.Sort(want)
				}
				compareCalls(t, got, want)
			})
		}
	}
}

// recordedCalls are the calls of CPython's allocators in a capture: name, bytes, block.
func recordedCalls(t *testing.T, file string) (calls []string) {
	t.Helper()
	out, err := exec.Command(HDB(t), "--json", "-batch", "-nx", "-ex", "allocs all", file).Output()
	if err != nil {
		t.Fatalf("%v\n%.2000s", err, out)
	}
	for line := range bytes.Lines(out) {
		var v struct {
			Events []struct {
				Kind, Function, Address string
				Size                    uint64
			}
		}
		if !bytes.Contains(line, []byte(`"command":"allocs"`)) {
			continue
		}
		if err := json.Unmarshal(line, &v); err != nil {
			t.Fatal(err)
		}
		for _, e := range v.Events {
			if e.Kind == "free" {
				e.Size = 0
			}
			if strings.HasPrefix(e.Function, "Py") {
				calls = append(calls, fmt.Sprintf("%s %d %s", e.Function, e.Size, e.Address))
			}
		}
	}
	return calls
}

// countedCalls are those that the counter has dumped.
func countedCalls(t *testing.T, dump string) (calls []string) {
	t.Helper()
	text, err := os.ReadFile(dump)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		f := strings.Fields(line)
		if len(f) != 4 || len(f[0]) != 2 || f[0][0] > '2' {
			t.Fatalf("%q", line)
		}
		domain := []string{"PyMem_Raw", "PyMem_", "PyObject_"}[f[0][0]-'0']
		call := map[byte]string{'m': "Malloc", 'c': "Calloc", 'r': "Realloc", 'f': "Free"}[f[0][1]]
		calls = append(calls, fmt.Sprintf("%s%s %s %s", domain, call, f[1], f[2]))
	}
	return calls
}

func compareCalls(t *testing.T, got, want []string) {
	t.Helper()
	if len(want) < 10_000 {
		t.Fatalf("the program has counted %d calls", len(want))
	}
	for i := range want {
		if i >= len(got) || got[i] != want[i] {
			t.Fatalf("call %d of %d, of %d recorded:\n got %q\nwant %q", i+1, len(want), len(got), got[i:min(i+3, len(got))], want[i:min(i+3, len(want))])
		}
	}
	if len(got) > len(want) {
		t.Errorf("%d calls recorded, %d counted: %q", len(got), len(want), got[len(want)])
	}
}

// busyPython starts testdata/python/tables.py; end has it end, which must be as ever.
func busyPython(t *testing.T, p, what string, env ...string) (pid int, end func()) {
	t.Helper()
	cmd := exec.Command(p, "testdata/python/tables.py", what)
	cmd.Env = append(os.Environ(), env...)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var said bytes.Buffer
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	r := bufio.NewReader(out)
	if line, err := r.ReadString('\n'); line != "busy\n" {
		t.Fatalf("%q, %v", line, err)
	}
	return cmd.Process.Pid, func() {
		t.Helper()
		in.Close()
		rest, _ := io.ReadAll(r)
		if err := cmd.Wait(); err != nil || string(rest) != "done\n" {
			t.Errorf("%v: %q\n%s", err, rest, &said)
		}
	}
}

// TestPythonAllocatorsLeft: a program is unhurt when hdb lets go of it or is killed while
// its threads allocate and tracemalloc comes and goes.
func TestPythonAllocatorsLeft(t *testing.T) {
	for _, p := range pythons(t) {
		for _, what := range []string{"alone", "tracemalloc"} {
			for _, env := range []string{"", "PYTHONMALLOC=debug"} {
				if testing.Short() && (env != "" || p != "/usr/bin/python3" && (what == "alone" || !strings.Contains(p, "/3.13."))) {
					continue
				}
				t.Run(strings.TrimPrefix(p, "/")+","+what+","+env, func(t *testing.T) {
					t.Parallel()
					pid, end := busyPython(t, p, what, env)
					file := filepath.Join(t.TempDir(), "a.hdb")
					for round := range Rounds(3, 6) {
						ctx, cancel := Context(t)
						defer cancel()
						args := []string{"record", "-q", "-f", "--python-allocators", "-o", file, "-p", strconv.Itoa(pid)}
						killed := round%3 == 2
						if !killed {
							args = slices.Insert(args, 1, "--duration", "0.3")
						}
						cmd := exec.CommandContext(ctx, HDB(t), args...)
						var out bytes.Buffer
						cmd.Stdout, cmd.Stderr = &out, &out
						if err := cmd.Start(); err != nil {
							t.Fatal(err)
						}
						ended := make(chan error, 1)
						go func() { ended <- cmd.Wait() }()
						var err error
						for over := false; !over; {
							select {
							case err = <-ended:
								over = true
							case <-time.After(10 * time.Millisecond):
								if st, err := os.Stat(file); killed && err == nil && st.Size() > 1<<12 { // it records
									_ = cmd.Process.Kill()
								}
							}
						}
						if (err != nil) != killed {
							t.Fatalf("round %d: %v\n%s", round, err, &out)
						}
						if killed {
							_ = os.Remove(file)
							continue
						}
						calls, err := exec.Command(HDB(t), "stats", file).Output()
						if err != nil || what == "alone" && !bytes.Contains(calls, []byte("PyObject_Malloc")) { // tracemalloc may take ours out at once
							t.Errorf("round %d: %v\n%s\n%s", round, err, &out, calls)
						}
						_ = os.Remove(file)
					}
					end()
				})
			}
		}
	}
}

// TestPymallocIsSaid: a recording of a Python program says what its arenas hide, unless it
// has that, and what --python-allocators has is live or was given back.
func TestPymallocIsSaid(t *testing.T) {
	for _, p := range pythons(t) {
		if testing.Short() && p != "/usr/bin/python3" && !strings.Contains(p, "/3.12.") {
			continue
		}
		t.Run(strings.TrimPrefix(p, "/"), func(t *testing.T) {
			t.Parallel()
			const script = "import gc\ngc.collect()\nkept = [object() for _ in range(100000)]\nimport os, sys\nsys.stdout.flush()\nos._exit(0)"
			for _, c := range []struct {
				env, flag string
				said      bool
				most      int
			}{{"", "", true, 100_000}, {"PYTHONMALLOC=malloc", "", false, 1 << 30}, {"", "--python-allocators", false, 1 << 30}, {"PYTHONMALLOC=debug", "--python-allocators", false, 1 << 30}} {
				file := filepath.Join(t.TempDir(), "a.hdb")
				args := slices.DeleteFunc([]string{"record", c.flag, "-f", "-o", file, p, "-c", script}, func(s string) bool { return s == "" })
				cmd := exec.Command(HDB(t), args...)
				cmd.Env = append(os.Environ(), c.env)
				out, err := cmd.CombinedOutput()
				if err != nil {
					t.Fatalf("%v\n%s", err, out)
				}
				if said := bytes.Contains(out, []byte("hdb: pymalloc: ")); said != c.said {
					t.Errorf("%+v: said %v\n%s", c, said, out)
				}
				var v struct {
					Live int `json:"live_blocks"`
				}
				out, err = exec.Command(HDB(t), "stats", "--json", file).Output()
				if err != nil {
					t.Fatal(err)
				}
				if err := json.Unmarshal(out, &v); err != nil {
					t.Fatalf("%v\n%.500s", err, out)
				}
				if (v.Live >= 100_000) == c.said {
					t.Errorf("%+v: %d blocks are live", c, v.Live)
				}
			}
		})
	}
}
