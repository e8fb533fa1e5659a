package testprogs

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// A toldObjects is what objects.py tells: objects and bytes by type.
type toldObjects struct{ Tracked, Untracked map[string][2]int64 }

// A pythonCensus is what py types tells.
type pythonCensus struct {
	Error        string
	Interpreters []struct {
		Objects, Tracked int64
		Types            []struct {
			Type                        string
			Objects, Tracked, Unreached int64
			Bytes                       int64 `json:"object_bytes"`
			StructOnly                  bool  `json:"struct_only"`
		}
	}
}

// foundMore are types of which hdb finds more than gc.get_referents leads to: what code objects, classes and the
// states of modules have, of which the collector knows nothing.
var foundMore = []string{"str", "bytes", "tuple", "int", "dict", "code", "type", "frame", "OSError", "float", "getset_descriptor", "member_descriptor"}

// compareObjects compares py types with what the program told.
func compareObjects(t *testing.T, told toldObjects, said []byte) {
	t.Helper()
	var v pythonCensus
	if err := json.Unmarshal(said, &v); err != nil || len(v.Interpreters) != 1 {
		t.Fatalf("%v: %.300s", err, said)
	}
	if len(told.Tracked) < 100 || len(told.Untracked) < 20 {
		t.Fatalf("the program told of %d and %d types", len(told.Tracked), len(told.Untracked))
	}
	left := v.Interpreters[0]
	tracked := int64(0)
	for _, n := range told.Tracked {
		tracked += n[0]
	}
	frozen := left.Tracked - tracked // by 3.12 itself, which gc.get_objects does not have
	if frozen != 0 && frozen != 375 {
		t.Errorf("%d objects are tracked, want %d", left.Tracked, tracked)
	}
	names := map[string]bool{}
	for _, x := range left.Types {
		names[x.Type] = true
		a, b := told.Tracked[x.Type], told.Untracked[x.Type]
		objects, size := a[0]+b[0], a[1]+b[1]
		switch {
		case x.Tracked != a[0] && !(x.Type == "tuple" && x.Tracked == a[0]+frozen):
			t.Errorf("%s: %d are tracked, want %d", x.Type, x.Tracked, a[0])
		case slices.Contains(foundMore, x.Type) || x.Unreached > 0: // which the program does not reach either
			if x.Objects-x.Unreached < objects || x.Bytes < size {
				t.Errorf("%s: %d objects of %d bytes, want at least %d of %d", x.Type, x.Objects, x.Bytes, objects, size)
			}
		case x.Objects != objects:
			t.Errorf("%s: %d objects, want %d", x.Type, x.Objects, objects)
		case x.Bytes != size && !(x.StructOnly && x.Type == "_struct.Struct"):
			t.Errorf("%s: %d bytes, want %d", x.Type, x.Bytes, size)
		}
	}
	for _, of := range []map[string][2]int64{told.Tracked, told.Untracked} {
		for name, n := range of {
			if !names[name] {
				t.Errorf("%s: no objects, want %v", name, n)
			}
		}
	}
}

// objectPythons are the interpreters whose objects are compared.
func objectPythons(t *testing.T) (all []string) {
	for _, p := range pythons(t) {
		if !testing.Short() || p == "/usr/bin/python3" {
			all = append(all, p)
		}
	}
	return all
}

// TestPythonObjects compares the objects that hdb finds, by type, their sizes, the state of the garbage collector and
// who refers to some objects with what the program tells of itself, by gc and sys.getsizeof.
func TestPythonObjects(t *testing.T) {
	script, err := filepath.Abs("testdata/python/objects.py")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range objectPythons(t) {
		t.Run(strings.TrimPrefix(p, "/"), func(t *testing.T) {
			t.Parallel()
			ctx, cancel := Context(t)
			defer cancel()
			cmd := exec.CommandContext(ctx, HDB(t), "--json", "-q", "-nx", "--args", p, script)
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
			out.Buffer(nil, 4<<20)
			ask := func(line string) { fmt.Fprintln(in, line) }
			next := func(begin string) []byte {
				for out.Scan() {
					if bytes.HasPrefix(out.Bytes(), []byte(begin)) {
						return out.Bytes()[len(begin):]
					}
				}
				t.Fatalf("no %q: %v", begin, out.Err())
				return nil
			}
			command := func(name string) []byte { return []byte("{" + string(next(`{"v":1,"command":"`+name+`",`))) }
			ask("run\npy types 100000\ncontinue\npy gc")
			var told toldObjects
			if err := json.Unmarshal(next("objects "), &told); err != nil {
				t.Fatal(err)
			}
			compareObjects(t, told, command("py types"))
			collector := slices.Clone(next("collector "))
			compareCollector(t, collector, command("py gc"))
			ask("continue")
			var targets map[string]toldReferrers
			if err := json.Unmarshal(next("referrers "), &targets); err != nil || len(targets) < 30 {
				t.Fatalf("%v: %d targets", err, len(targets))
			}
			for what, target := range targets {
				ask("py refs " + target.at)
				compareReferrers(t, what, target, command("py refs"))
				if what != "closed over" && what != "enum" && what != "method" && what != "module" {
					ask("py refs -path " + target.at)
					comparePath(t, what, target, command("py refs"))
				}
			}
			ask("kill\nquit")
			_ = in.Close()
			_, _ = io.Copy(io.Discard, pipe)
			_ = cmd.Wait()
		})
	}
}

// compareCollector compares py gc with what the program told shortly before.
func compareCollector(t *testing.T, told, said []byte) {
	t.Helper()
	var want struct {
		Count, Threshold, Generations []int
		Stats                         []struct{ Collections, Collected, Uncollectable int }
		Frozen, Garbage               int
		Enabled                       bool
	}
	type generation struct{ Objects, Count, Threshold, Collections, Collected, Uncollectable int }
	var got struct {
		Collectors []struct {
			Enabled                  bool
			Tracked, Frozen, Garbage int
			Generations              []generation
		}
	}
	if err := errors.Join(json.Unmarshal(told, &want), json.Unmarshal(said, &got)); err != nil || len(got.Collectors) != 1 || len(got.Collectors[0].Generations) != 3 {
		t.Fatalf("%v: %s", err, said)
	}
	c := got.Collectors[0]
	if c.Enabled != want.Enabled || c.Frozen != want.Frozen || c.Garbage != want.Garbage || want.Frozen < 10000 || want.Garbage != 1 {
		t.Errorf("the collector is %+v, want %+v", c, want)
	}
	for i, g := range c.Generations {
		w := generation{want.Generations[i], want.Count[i], want.Threshold[i], want.Stats[i].Collections, want.Stats[i].Collected, want.Stats[i].Uncollectable}
		if i == 0 { // the program made and lost some while it told
			if d := g.Objects - w.Objects; w.Objects >= 200 && d > -100 && d < 200 {
				g.Objects = w.Objects
			}
			if d := g.Count - w.Count; d > -100 && d < 200 {
				g.Count = w.Count
			}
		}
		if g != w {
			t.Errorf("generation %d: %+v, want %+v", i, g, w)
		}
	}
}

// toldReferrers is an object and who refers to it, as gc.get_referrers tells.
type toldReferrers struct {
	at        string
	referrers []string
}

func (r *toldReferrers) UnmarshalJSON(b []byte) error {
	return json.Unmarshal(b, &[]any{&r.at, &r.referrers})
}

// notTracked are types whose objects refer to others and which the collector does not track, always or at times.
var notTracked = []string{"code", "tuple", "dict", "type"}

// compareReferrers compares py refs with what the program told, and with the references that CPython has counted.
func compareReferrers(t *testing.T, what string, want toldReferrers, said []byte) {
	t.Helper()
	var got struct {
		Error            string
		Type             string
		Count            *int
		Total, Instances int
		Referrers        []struct {
			Reference, Address, Type string
			Unsure                   bool
		}
	}
	if err := json.Unmarshal(said, &got); err != nil || got.Error != "" {
		t.Fatalf("%s: %v: %s", what, err, said)
	}
	found := map[string]bool{}
	sure := got.Instances
	for _, r := range got.Referrers {
		if r.Unsure {
			continue
		}
		sure++
		if found[r.Address] = true; r.Address != "" && !slices.Contains(want.referrers, r.Address) && !slices.Contains(notTracked, r.Type) {
			t.Errorf("%s: %s, of a %s at %s: the program does not know of that", what, r.Reference, r.Type, r.Address)
		}
	}
	missed := 0
	for _, at := range want.referrers {
		if !found[at] {
			missed++
		}
	}
	if missed > got.Instances {
		t.Errorf("%s: %d of %d referrers are missing", what, missed-got.Instances, len(want.referrers))
	}
	if got.Count != nil && sure != *got.Count {
		t.Errorf("%s, a %s: %d references, want %d: %s", what, got.Type, sure, *got.Count, said)
	}
}

// comparePath has py refs -path lead to an object in a few steps.
func comparePath(t *testing.T, what string, want toldReferrers, said []byte) {
	t.Helper()
	var got struct {
		Path  string
		Steps []struct{ Reference, Address string }
	}
	if err := json.Unmarshal(said, &got); err != nil || len(got.Steps) < 2 || len(got.Steps) > 5 || got.Steps[len(got.Steps)-1].Address != want.at ||
		!strings.HasPrefix(got.Path, "__main__.") {
		t.Errorf("%s: the path is %s", what, said)
	}
}

// TestPythonObjectsElsewhere compares py types of a process that hdb attached to, and of its core file.
func TestPythonObjectsElsewhere(t *testing.T) {
	script, err := filepath.Abs("testdata/python/objects.py")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range objectPythons(t) {
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
			out.Buffer(nil, 4<<20)
			if !out.Scan() {
				t.Fatalf("it told nothing: %v", out.Err())
			}
			var told toldObjects
			if err := json.Unmarshal(bytes.TrimPrefix(out.Bytes(), []byte("objects ")), &told); err != nil {
				t.Fatal(err)
			}
			if !out.Scan() || out.Text() != "ready" {
				t.Fatalf("it says %q", out.Text())
			}
			core := filepath.Join(t.TempDir(), "core")
			for _, args := range [][]string{{"-p", strconv.Itoa(cmd.Process.Pid), "-ex", "py types 100000", "-ex", "gcore " + core}, {"-ex", "core-file " + core, "-ex", "py types 100000"}} {
				said, err := exec.CommandContext(ctx, HDB(t), append([]string{"--json", "-batch", "-nx", "-q"}, args...)...).Output()
				if err != nil || !bytes.Contains(said, []byte(`"command":"py types"`)) {
					t.Fatalf("%v: %v\n%s", args, err, said)
				}
				for line := range bytes.Lines(said) {
					if bytes.Contains(line, []byte(`"command":"py types"`)) {
						compareObjects(t, told, line)
					}
				}
			}
			fmt.Fprint(in, "123")
			_, _ = io.Copy(io.Discard, pipe)
			if err := cmd.Wait(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestPythonUnreached has objects that nothing refers to found in the pools of small objects.
func TestPythonUnreached(t *testing.T) {
	script, err := filepath.Abs("testdata/python/unreached.py")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range objectPythons(t) {
		t.Run(strings.TrimPrefix(p, "/"), func(t *testing.T) {
			t.Parallel()
			ctx, cancel := Context(t)
			defer cancel()
			said, err := exec.CommandContext(ctx, HDB(t), "--json", "-batch", "-nx", "-q", "-ex", "run", "-ex", "py types", "-ex", "continue", "-ex", "py types 1000", "--args", p, script).Output()
			if status := (*exec.ExitError)(nil); err != nil && !errors.As(err, &status) { // which tells of the stop by a signal
				t.Fatalf("%v\n%s", err, said)
			}
			var unreached []map[string]int
			for line := range bytes.Lines(said) {
				var v struct {
					Interpreters []struct {
						Types []struct {
							Type      string
							Unreached int
						}
						Warnings []string
					}
				}
				if !bytes.Contains(line, []byte(`"command":"py types"`)) {
					continue
				}
				if err := json.Unmarshal(line, &v); err != nil || len(v.Interpreters) != 1 || len(v.Interpreters[0].Warnings) != 1 || !strings.Contains(v.Interpreters[0].Warnings[0], "more than 512 bytes") {
					t.Fatalf("%v: %.200s", err, line)
				}
				all := map[string]int{}
				for _, x := range v.Interpreters[0].Types {
					all[x.Type] = x.Unreached
				}
				unreached = append(unreached, all)
			}
			if len(unreached) != 2 {
				t.Fatalf("%d answers\n%s", len(unreached), said)
			}
			for name, want := range map[string]int{"float": 70, "tuple": 20, "str": 50} {
				off := 0
				if name == "str" { // names that only the interpreter has come and go
					off = 2
				}
				if got := unreached[1][name] - unreached[0][name]; got < want-off || got > want+off {
					t.Errorf("%s: %d more are unreached, want %d", name, got, want)
				}
			}
		})
	}
}

// TestPythonObjectsWhile has hdb read objects while a collection runs, and those of a sub-interpreter.
func TestPythonObjectsWhile(t *testing.T) {
	const collection = `
import gc, os, signal
class A:
    def __del__(self): os.kill(os.getpid(), signal.SIGUSR1)
signal.signal(signal.SIGUSR1, signal.SIG_IGN)
a = A(); a.me = a; a.bulk = [[] for _ in range(123)]; del a
gc.collect()`
	const interpreter = `
import os, signal
try: import _interpreters as s
except ImportError: import _xxsubinterpreters as s
signal.signal(signal.SIGUSR1, signal.SIG_IGN)
code = "import os, signal\nclass A: pass\nkeep = [A() for _ in range(77)]\nos.kill(os.getpid(), signal.SIGUSR1)"
(s.run_string if hasattr(s, "run_string") else s.exec)(s.create(), code)`
	for _, p := range objectPythons(t) {
		for what, code := range map[string]string{"collection": collection, "interpreter": interpreter} {
			t.Run(strings.TrimPrefix(p, "/")+"/"+what, func(t *testing.T) {
				t.Parallel()
				ctx, cancel := Context(t)
				defer cancel()
				said, err := exec.CommandContext(ctx, HDB(t), "--json", "-batch", "-nx", "-q", "-ex", "run", "-ex", "py gc", "-ex", "py types ^__main__.A$", "--args", p, "-c", code).Output()
				if status := (*exec.ExitError)(nil); err != nil && !errors.As(err, &status) { // which tells of the stop by a signal
					t.Fatalf("%v\n%s", err, said)
				}
				var v struct {
					Command    string
					Collectors []struct {
						Interpreter int
						Collecting  bool
						Truncated   string
						Generations []struct{ Collections int }
					}
					Interpreters []struct {
						Types    []struct{ Objects, Unreached int }
						Warnings []string
					}
				}
				for line := range bytes.Lines(said) {
					if bytes.Contains(line, []byte(`"command":"py `)) {
						if err := json.Unmarshal(line, &v); err != nil {
							t.Fatalf("%v: %s", err, line)
						}
					}
				}
				if len(v.Interpreters) != 1 || len(v.Interpreters[0].Types) != 1 || len(v.Collectors) == 0 {
					t.Fatalf("%s", said)
				}
				objects, warnings, first := v.Interpreters[0].Types[0].Objects, strings.Join(v.Interpreters[0].Warnings, "; "), v.Collectors[0]
				switch {
				case what == "collection":
					if objects != 1 || !first.Collecting || first.Truncated != "" || !strings.Contains(warnings, "the collector is running") {
						t.Errorf("%d objects, %+v, %s", objects, first, warnings)
					}
				case objects != 77 || first.Collecting || first.Interpreter != 0 || len(v.Collectors) == 1 && !strings.Contains(p, "/3.8.") || len(v.Collectors) > 2:
					t.Errorf("%d objects, %+v, %s", objects, v.Collectors, warnings)
				}
			})
		}
	}
}
