package testprogs

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestPythonThreads compares the functions of Python of threads that wait with the
// interpreter's lock released with what sys._current_frames tells of them.
func TestPythonThreads(t *testing.T) {
	script, err := filepath.Abs("testdata/python/threads.py")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range pythons(t) {
		t.Run(strings.TrimPrefix(p, "/"), func(t *testing.T) {
			t.Parallel()
			ctx, cancel := Context(t)
			defer cancel()
			out, _ := exec.CommandContext(ctx, HDB(t), "--json", "-batch", "-nx", "-ex", "run", "-ex", "thread apply all -s py bt", "-ex", "thread apply all -s bt 5000", "-ex", "kill", "--args", p, script).Output() // its exit code is of the signal
			want, got, merged := threadStacks(t, out)
			if len(want) < 9 {
				t.Fatalf("the program told of %d threads\n%.500s", len(want), out)
			}
			sameAsTold(t, want, got, merged)
		})
	}
}

// threadStacks are the stacks of threads that a program tells, and those of py bt and bt of all threads.
func threadStacks(t *testing.T, out []byte) (want, got map[string][]string, merged []string) {
	t.Helper()
	want, got = map[string][]string{}, map[string][]string{}
	for line := range bytes.Lines(out) {
		var v struct {
			TID    int
			Frames []struct {
				Function, File, Source string
				Line                   int
			}
		}
		var err error
		if told, ok := bytes.CutPrefix(line, []byte("threads ")); ok {
			err = json.Unmarshal(told, &want)
		} else if bytes.Contains(line, []byte(`bt","`)) || bytes.Contains(line, []byte(`"command":"bt`)) {
			err = json.Unmarshal(line, &v)
		}
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		var stack []string
		for _, f := range v.Frames {
			if v.TID != 0 || f.Source == "python" {
				stack = append(stack, fmt.Sprintf("%s %s:%d", f.Function, f.File, f.Line))
			}
		}
		switch {
		case v.TID != 0:
			got[strconv.Itoa(v.TID)] = stack
		case len(stack) > 0:
			merged = append(merged, strings.Join(stack, "\n"))
		}
	}
	return want, got, merged
}

// sameAsTold compares the stacks of threadStacks.
func sameAsTold(t *testing.T, want, got map[string][]string, merged []string) {
	t.Helper()
	for tid, stack := range want {
		if !reflect.DeepEqual(got[tid], stack) {
			t.Errorf("thread %s:\n got %v\nwant %v", tid, got[tid], stack)
		}
		if !slices.Contains(merged, strings.Join(stack, "\n")) {
			t.Errorf("thread %s: no merged stack has %v", tid, stack)
		}
	}
}

// TestPythonLentInterpreter compares the functions of Python of a thread that runs a sub-interpreter which another one
// has made, and of that one, with what the program tells; and stops at a function there.
func TestPythonLentInterpreter(t *testing.T) {
	script, err := filepath.Abs("testdata/python/lent.py")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range pythons(t) {
		if minorOf(t, p) < 10 {
			continue // nothing tells which thread runs it
		}
		t.Run(strings.TrimPrefix(p, "/"), func(t *testing.T) {
			t.Parallel()
			ctx, cancel := Context(t)
			defer cancel()
			args := []string{"--json", "-batch", "-nx", "-ex", "run", "-ex", "thread apply all -s py bt", "-ex", "thread apply all -s bt 5000"}
			out, _ := exec.CommandContext(ctx, HDB(t), append(args, "-ex", "kill", "--args", p, script)...).Output() // its exit code is of the signal
			want, got, merged := threadStacks(t, out)
			if len(want) != 2 {
				t.Fatalf("the program told of %d threads\n%.1000s", len(want), out)
			}
			sameAsTold(t, want, got, merged)

			out, _ = exec.CommandContext(ctx, HDB(t), "-batch", "-nx", "-ex", "run", "-ex", "py break wanted", "-ex", "continue", "-ex", "py bt", "-ex", "kill", "--args", p, script).Output()
			if !regexp.MustCompile(`(?m)^#0\*  wanted +<string>:12\n#1   deep +<string>:19$`).Match(out) {
				t.Errorf("no stop at wanted:\n%s", out)
			}
		})
	}
}

// TestPythonInterpreters compares the functions of Python in a sub-interpreter, and of the
// main one further out, with what both tell.
func TestPythonInterpreters(t *testing.T) {
	script, err := filepath.Abs("testdata/python/interpreters.py")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range pythons(t) {
		t.Run(strings.TrimPrefix(p, "/"), func(t *testing.T) {
			t.Parallel()
			ctx, cancel := Context(t)
			defer cancel()
			out, _ := exec.CommandContext(ctx, HDB(t), "--json", "-batch", "-nx", "-ex", "handle SIGALRM stop", "-ex", "run", "-ex", "py bt", "-ex", "bt 5000",
				"-ex", "continue", "-ex", "py bt", "-ex", "bt 5000", "-ex", "kill", "--args", p, script).Output() // its exit code is of the signal
			if bytes.HasPrefix(out, []byte("no sub-interpreters")) {
				t.Skip("it has no module of sub-interpreters")
			}
			said, got, merged := stacks(t, out)
			if len(said) != 2 || !reflect.DeepEqual(got, said) || !reflect.DeepEqual(merged, said) {
				t.Errorf("\nwant   %v\ngot    %v\nmerged %v\n%.1000s", said, got, merged, out)
			}
		})
	}
}
