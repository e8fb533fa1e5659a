package testprogs

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestPythonProcess compares what hdb py tells of a running process, and of its core file,
// with what the process itself tells, and has it go on unhurt.
func TestPythonProcess(t *testing.T) {
	script, err := filepath.Abs("testdata/python/threads.py")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range pythons(t) {
		t.Run(strings.TrimPrefix(p, "/"), func(t *testing.T) {
			t.Parallel()
			ctx, cancel := Context(t)
			defer cancel()
			cmd := exec.CommandContext(ctx, p, script, "wait")
			in, err := cmd.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			pipe, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			out := bufio.NewScanner(pipe)
			out.Buffer(nil, 1<<20)
			if !out.Scan() {
				t.Fatalf("it told nothing: %v", out.Err())
			}
			want := map[string][]string{}
			if err := json.Unmarshal([]byte(strings.TrimPrefix(out.Text(), "threads ")), &want); err != nil || len(want) < 9 {
				t.Fatalf("%s: %v", out.Text(), err)
			}
			pid := strconv.Itoa(cmd.Process.Pid)
			core := filepath.Join(t.TempDir(), "core")
			for _, args := range [][]string{{"py", "--json", "--locals", pid}, {"py", "--json", "--native", pid}, {"-batch", "-nx", "-q", "-p", pid, "-ex", "gcore " + core},
				{"py", "--json", "--locals", core}, {"py", "--json", "--native", core}} {
				said, err := exec.CommandContext(ctx, HDB(t), args...).Output()
				if err != nil {
					t.Fatalf("%v: %v\n%s", args, err, said)
				}
				if args[0] == "py" {
					comparePython(t, said, want, !slices.Contains(args, "--native"))
				}
			}
			if _, err := fmt.Fprintln(in); err != nil {
				t.Error(err)
			}
			if !out.Scan() || out.Text() != "unhurt" {
				t.Errorf("behind the last stop it says %q", out.Text())
			}
			if err := cmd.Wait(); err != nil {
				t.Error(err)
			}
		})
	}
}

// comparePython compares the threads of hdb py --json with what the process told.
func comparePython(t *testing.T, said []byte, want map[string][]string, locals bool) {
	t.Helper()
	var v struct {
		Threads []struct {
			TID    int
			Frames []struct {
				Function, File, Source, Text string
				Line                         int
				Locals                       []struct{ Name, Value string }
			}
		}
	}
	if err := json.Unmarshal(said, &v); err != nil {
		t.Fatalf("%.300s: %v", said, err)
	}
	found := 0
	for _, thread := range v.Threads {
		stack, told := want[strconv.Itoa(thread.TID)]
		if !told {
			continue
		}
		found++
		var got, vars []string
		for _, f := range thread.Frames {
			if f.Source != "python" {
				continue
			}
			got = append(got, fmt.Sprintf("%s %s:%d", f.Function, f.File, f.Line))
			if f.Text == "" {
				t.Errorf("thread %d: no source of %s", thread.TID, got[len(got)-1])
			}
			for _, x := range f.Locals {
				vars = append(vars, x.Name+"="+x.Value)
			}
		}
		if !reflect.DeepEqual(got, stack) {
			t.Errorf("thread %d:\n got %v\nwant %v", thread.TID, got, stack)
		}
		if locals && !slices.Contains(vars, "n=0") {
			t.Errorf("thread %d: n is not 0 anywhere in %v", thread.TID, vars)
		}
	}
	if found != len(want) {
		t.Errorf("%d of %d threads", found, len(want))
	}
}

// TestOldPythons has interpreters that are not known named and refused, for the functions of
// Python only.
func TestOldPythons(t *testing.T) {
	home, err := os.UserHomeDir()
	if err != nil {
		t.Fatal(err)
	}
	for version, why := range map[string]string{"3.7": "CPython 3.7: frames of Python are known of 3.8 to 3.13", "3.6": "no CPython: "} {
		found, err := filepath.Glob(filepath.Join(home, ".pyenv/versions", version+".*/bin/python3"))
		if err != nil {
			t.Fatal(err)
		}
		if len(found) == 0 {
			t.Logf("CPython %s is not tried: ~/.pyenv/versions has none", version)
			continue
		}
		ctx, cancel := Context(t)
		defer cancel()
		out, err := exec.CommandContext(ctx, HDB(t), "-batch", "-nx", "-ex", "break select", "-ex", "run", "-ex", "bt -1", "-ex", "py bt", "-ex", "kill", "--args", found[0], "-c", "import time; time.sleep(100)").CombinedOutput()
		if text := string(out); !strings.Contains(text, "error: py bt: ") || !strings.Contains(text, why) || !strings.Contains(text, "\n#1") {
			t.Errorf("CPython %s: %v\n%s", version, err, text)
		}
	}
}

// TestPythonNames compares the names of threads and the tasks of asyncio that hdb py tells, of a
// process and of its core file, with those that the program gave.
func TestPythonNames(t *testing.T) {
	const script = `
import asyncio, threading, time

async def child():
    await asyncio.sleep(1000)

async def main():
    tasks = [asyncio.create_task(child(), name="job %d" % i) for i in range(3)]
    asyncio.get_running_loop().call_later(0.1, lambda: print("ready", flush=True))  # it waits by then
    await asyncio.gather(*tasks)

for name in "loader", "it's":
    threading.Thread(target=time.sleep, args=(1000,), name=name, daemon=True).start()
asyncio.run(main())
`
	for i, p := range pythons(t) {
		if i > 1 && testing.Short() {
			break
		}
		t.Run(strings.TrimPrefix(p, "/"), func(t *testing.T) {
			t.Parallel()
			ctx, cancel := Context(t)
			defer cancel()
			cmd := exec.CommandContext(ctx, p, "-c", script)
			pipe, err := cmd.StdoutPipe()
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
			if out := bufio.NewScanner(pipe); !out.Scan() || out.Text() != "ready" {
				t.Fatalf("%q: %v", out.Text(), out.Err())
			}
			pid := strconv.Itoa(cmd.Process.Pid)
			core := filepath.Join(t.TempDir(), "core")
			for _, args := range [][]string{{"py", "--json", pid}, {"-batch", "-nx", "-q", "-p", pid, "-ex", "gcore " + core}, {"py", "--json", core}} {
				said, err := exec.CommandContext(ctx, HDB(t), args...).Output()
				if err != nil {
					t.Fatalf("%v: %v\n%s", args, err, said)
				}
				if args[0] != "py" {
					continue
				}
				var v struct {
					Threads []struct {
						Name string `json:"python_name"`
					}
					Tasks []struct {
						Task  string
						Waits string   `json:"waits_for"`
						By    []string `json:"awaited_by"`
					}
				}
				if err := json.Unmarshal(said, &v); err != nil {
					t.Fatalf("%v\n%s", err, said)
				}
				var told []string
				for _, th := range v.Threads {
					if th.Name != "" {
						told = append(told, th.Name)
					}
				}
				for _, task := range v.Tasks {
					if len(task.By) > 0 {
						told = append(told, task.Task)
					}
				}
				slices.Sort(told)
				if want := []string{"it's", "job 0", "job 1", "job 2", "loader"}; !slices.Equal(told, want) || len(v.Tasks) != 4 {
					t.Errorf("%v tells of %q and %d tasks, want %q and 4", args[:2], told, len(v.Tasks), want)
				}
			}
		})
	}
}
