package testprogs

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"
)

// everyPython are the interpreters of this machine: the system's, and those of pyenv.
func everyPython(t *testing.T) []string {
	t.Helper()
	home, err := os.UserHomeDir()
	if err != nil {
		t.Fatal(err)
	}
	found, err := filepath.Glob(filepath.Join(home, ".pyenv/versions/3.*/bin/python3"))
	if err != nil {
		t.Fatal(err)
	}
	if len(found) == 0 {
		t.Log("no other interpreters than the system's: ~/.pyenv/versions has none")
	}
	var all []string
	for _, p := range append([]string{"/usr/bin/python3"}, found...) {
		out, err := exec.Command(p, "-c", "import sys; print(3 if sys.version_info[0] < 3 else sys.version_info[1])").Output()
		if err != nil {
			t.Fatalf("%s: %v", p, err)
		}
		if minor := strings.TrimSpace(string(out)); len(minor) == 1 && minor < "8" {
			t.Logf("%s: hdb knows 3.8 and later", p)
			continue
		}
		all = append(all, p)
	}
	return all
}

// pythons are the interpreters of everyPython; in the short form the system's and those
// of 3.8, 3.12 and 3.13. TestPythonFrames has the layouts of all.
func pythons(t *testing.T) (all []string) {
	t.Helper()
	for _, p := range everyPython(t) {
		if !testing.Short() || p == "/usr/bin/python3" || strings.Contains(p, "/3.8.") || strings.Contains(p, "/3.12.") || strings.Contains(p, "/3.13.") {
			all = append(all, p)
		}
	}
	return all
}

// somePythons are pythons; in the short form the system's and that of 3.12.
func somePythons(t *testing.T) (all []string) {
	t.Helper()
	for _, p := range pythons(t) {
		if !testing.Short() || p == "/usr/bin/python3" || strings.Contains(p, "/3.12.") {
			all = append(all, p)
		}
	}
	return all
}

// minorOf is the minor version of an interpreter.
func minorOf(t *testing.T, p string) int {
	t.Helper()
	out, err := exec.Command(p, "-c", "import sys; print(sys.version_info[1])").Output()
	if err != nil {
		t.Fatalf("%s: %v", p, err)
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(out)))
	if err != nil {
		t.Fatalf("%s: %v", p, err)
	}
	return n
}

// TestPythonFrames compares the frames that hdb reads with those that the program itself
// tells, by sys._getframe.
func TestPythonFrames(t *testing.T) {
	script, err := filepath.Abs("testdata/python/frames.py")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range everyPython(t) {
		t.Run(strings.TrimPrefix(p, "/"), func(t *testing.T) {
			t.Parallel()
			commands := "handle SIGUSR2 nostop noprint pass\nrun\n" + strings.Repeat("py bt\nbt 5000\ncontinue\n", 80)
			file := filepath.Join(t.TempDir(), "commands")
			if err := os.WriteFile(file, []byte(commands), 0o600); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := Context(t)
			defer cancel()
			out, err := exec.CommandContext(ctx, HDB(t), "--json", "-batch", "-nx", "-x", file, "--args", p, script).Output()
			said, got, merged := stacks(t, out)
			if len(said) < 45 {
				t.Fatalf("%v: %d stacks told by the program\n%.2000s", err, len(said), out)
			}
			for i, want := range said {
				if i >= len(got) || !reflect.DeepEqual(got[i], want) {
					t.Errorf("stop %d:\n got %v\nwant %v", i+1, at(got, i), want)
				}
				if i >= len(merged) || !reflect.DeepEqual(merged[i], want) {
					t.Errorf("stop %d, merged with native frames:\n got %v\nwant %v", i+1, at(merged, i), want)
				}
			}
		})
	}
}

func at(s [][]string, i int) []string {
	if i < len(s) {
		return s[i]
	}
	return nil
}

// stacks are those that the program printed, and those that py bt and bt did.
func stacks(t *testing.T, out []byte) (said, got, merged [][]string) {
	t.Helper()
	in := bufio.NewScanner(bytes.NewReader(out))
	in.Buffer(nil, 1<<20)
	for in.Scan() {
		line := in.Bytes()
		switch {
		case bytes.HasPrefix(line, []byte("[")):
			var frames [][3]any
			if err := json.Unmarshal(line, &frames); err != nil {
				t.Fatalf("%s: %v", line, err)
			}
			var stack []string
			for _, f := range frames {
				stack = append(stack, fmt.Sprintf("%v %v:%v", f[0], f[1], f[2]))
			}
			said = append(said, stack)
		case bytes.Contains(line, []byte(`"command":"py bt"`)), bytes.Contains(line, []byte(`"command":"bt"`)):
			var v struct {
				Command string
				Frames  []struct {
					Function, File, Source string
					Line                   int
				}
			}
			if err := json.Unmarshal(line, &v); err != nil {
				t.Fatalf("%s: %v", line, err)
			}
			var stack []string
			for _, f := range v.Frames {
				if v.Command == "py bt" || f.Source == "python" {
					stack = append(stack, fmt.Sprintf("%s %s:%d", f.Function, f.File, f.Line))
				}
			}
			if v.Command == "bt" {
				merged = append(merged, stack)
				continue
			}
			got = append(got, stack)
		}
	}
	return said, got, merged
}

// TestPythonPrint compares expressions with what the program tells of them by eval(), and
// what cannot be read with why.
func TestPythonPrint(t *testing.T) {
	script, err := filepath.Abs("testdata/python/values.py")
	if err != nil {
		t.Fatal(err)
	}
	refused := map[string]string{
		"node.computed": "Node.computed is a property: reading it would run code", "gone": "gone has no value here",
		"nobody": "no name nobody in values, its module or the built-in ones", "values(1)": "a call: nothing runs in the process; only len() is supported",
		"len(node)": "len: a Node computes it in __len__, which hdb does not run", "table['no']": "no key 'no' in the dict",
		"rest[7]": "index out of range: there are 2", "node[0]": "len: a Node computes it in __len__, which hdb does not run",
		"point.nothing": "Point: no attribute nothing that can be read", "rest[": "the expression ends within its brackets", "x + 1": "no name x in values, its module or the built-in ones",
		"cell + 1": "\"+ 1\": only names, .attribute, [constant], [from:to] and len() can be read without running code",
	}
	for _, p := range pythons(t) {
		t.Run(strings.TrimPrefix(p, "/"), func(t *testing.T) {
			t.Parallel()
			ctx, cancel := Context(t)
			defer cancel()
			out, err := exec.CommandContext(ctx, p, script).Output() // which says the same without hdb
			if err != nil {
				t.Fatal(err)
			}
			want := map[string]string{}
			for line := range bytes.Lines(out) {
				if told, ok := bytes.CutPrefix(line, []byte("expressions ")); ok {
					if err := json.Unmarshal(told, &want); err != nil {
						t.Fatal(err)
					}
				}
			}
			if len(want) < 50 {
				t.Fatalf("the program told of %d expressions\n%.300s", len(want), out)
			}
			want["node.__secret"] = "3"
			args := []string{"--json", "-batch", "-nx", "-ex", "run", "-ex", "py frame 0"}
			for e := range want {
				args = append(args, "-ex", "py print "+e)
			}
			for e := range refused {
				args = append(args, "-ex", "py print "+e)
			}
			got := map[string]string{}
			out, err = exec.CommandContext(ctx, HDB(t), append(args, "--args", p, script)...).Output()
			if status := (*exec.ExitError)(nil); err != nil && !errors.As(err, &status) {
				t.Fatal(err)
			}
			n := 0
			for line := range bytes.Lines(out) {
				var v struct{ Command, Name, Value, Error string }
				if !bytes.Contains(line, []byte(`"command":"py print"`)) {
					continue
				}
				if err := json.Unmarshal(line, &v); err != nil {
					t.Fatalf("%s: %v", line, err)
				}
				if n++; v.Error == "" {
					got[v.Name] = v.Value
				}
			}
			for e, text := range want {
				if got[e] != text {
					t.Errorf("%s = %s, want %s", e, got[e], text)
				}
			}
			for e, why := range refused {
				if text, ok := got[e]; ok {
					t.Errorf("%s = %s, but cannot be read", e, text)
				}
				if raw, err := json.Marshal("py print: " + why); err != nil || !bytes.Contains(out, raw) {
					t.Errorf("%s: no %s", e, raw)
				}
			}
		})
	}
}

// TestPythonLocals compares the texts of variables with what the program tells of them by
// repr(), and those of its own classes with what they are.
func TestPythonLocals(t *testing.T) {
	script, err := filepath.Abs("testdata/python/values.py")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range pythons(t) {
		t.Run(strings.TrimPrefix(p, "/"), func(t *testing.T) {
			t.Parallel()
			ctx, cancel := Context(t)
			defer cancel()
			out, err := exec.CommandContext(ctx, HDB(t), "--json", "-batch", "-nx", "-ex", "run", "-ex", "py locals", "--args", p, script).Output()
			if status := (*exec.ExitError)(nil); err != nil && !errors.As(err, &status) { // which tells of the stop by a signal
				t.Fatal(err)
			}
			want := map[string]string{
				"point": "<Point x=1 name='é日本😀' me=...>", "slots": "<Slots a=5 b=[1]>", "both": "<Both extra=None a=5 b=[1]>",
				"later": "<Point x=1 name='é日本😀' me=... more=2>", "circle": "[...]", "cell": "7", "kept_cell": "<cell 5>",
			}
			got := map[string]string{}
			for line := range bytes.Lines(out) {
				var v struct {
					Command string
					Locals  []struct{ Name, Value string }
				}
				err = nil
				switch {
				case bytes.HasPrefix(line, []byte("locals ")):
					err = json.Unmarshal(line[len("locals "):], &want)
				case bytes.Contains(line, []byte(`"command":"py locals"`)):
					err = json.Unmarshal(line, &v)
				}
				if err != nil {
					t.Fatalf("%s: %v", line, err)
				}
				for _, x := range v.Locals {
					got[x.Name] = x.Value
				}
			}
			if len(want) < 30 {
				t.Fatalf("the program told of %d variables\n%.300s", len(want), out)
			}
			for name, text := range want {
				if got[name] != text {
					t.Errorf("%s = %s, want %s", name, got[name], text)
				}
			}
			if text, ok := got["gone"]; ok {
				t.Errorf("gone = %s, but was deleted", text)
			}
		})
	}
}
