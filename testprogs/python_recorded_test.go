package testprogs

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// TestPythonRecorded compares the calls of Python in recorded stacks with those that the
// program itself tells, by sys._getframe: of either plane, saved at the end or not at all.
func TestPythonRecorded(t *testing.T) {
	script, err := filepath.Abs("testdata/python/frames.py")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range pythons(t) {
		for _, probe := range []string{"on", "off"} {
			if probe == "off" && testing.Short() && p != "/usr/bin/python3" {
				continue // the rule is the same; TestPythonFrames has it for all
			}
			t.Run(strings.TrimPrefix(p, "/")+",probe="+probe, func(t *testing.T) {
				t.Parallel()
				recordedInPython(t, p, script, probe, 45)
			})
		}
	}
}

// TestPythonReleased records blocks of a thread that has released the interpreter's lock, while another thread runs a
// sub-interpreter which the first one has made: no function of that is in its stacks.
func TestPythonReleased(t *testing.T) {
	for _, p := range pythons(t) {
		if minorOf(t, p) < 10 {
			continue // nothing tells which thread runs it
		}
		for _, probe := range []string{"on", "off"} {
			if probe == "off" && testing.Short() && p != "/usr/bin/python3" {
				continue // the rule is the same
			}
			for _, args := range [][]string{nil, {"thread"}} {
				t.Run(strings.TrimPrefix(p, "/")+",probe="+probe+strings.Join(args, ","), func(t *testing.T) {
					t.Parallel()
					file := filepath.Join(t.TempDir(), "released.hdb")
					cmd := exec.Command(HDB(t), append([]string{"-batch", "-nx", "-ex", "set probe " + probe, "-ex", "start", "-ex", "record start", "-ex", "continue",
						"-ex", "save " + file, "--args", p, "testdata/python/released.py"}, args...)...)
					if out, err := cmd.CombinedOutput(); err != nil {
						t.Fatalf("%v\n%.2000s", err, out)
					}
					out, err := exec.Command(HDB(t), "export", "collapsed", "--measure", "count", "-o", "-", file).Output()
					if err != nil {
						t.Fatal(err)
					}
					works := 0
					for line := range bytes.Lines(out) {
						switch {
						case !bytes.Contains(line, []byte("scandir")):
						case bytes.Contains(line, []byte(";works;")):
							works++
						default:
							t.Errorf("not called by works: %s", line)
						}
					}
					if works == 0 {
						t.Errorf("nothing is called by works\n%s", out)
					}
				})
			}
		}
	}
}

// recordedInPython compares at least so many stacks.
func recordedInPython(t *testing.T, p, script, probe string, least int) {
	file := filepath.Join(t.TempDir(), "frames.hdb")
	cmd := exec.Command(HDB(t), "--json", "-batch", "-nx", "-ex", "set probe "+probe, "-ex", "handle SIGUSR1 nostop noprint pass",
		"-ex", "handle SIGUSR2 nostop noprint pass", "-ex", "start", "-ex", "record start", "-ex", "continue", "-ex", "save "+file, "--args", p, script)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%.2000s", err, out)
	}
	said, _, _ := stacks(t, out)
	if len(said) < least {
		t.Fatalf("%d stacks told by the program\n%.2000s", len(said), out)
	}
	out, err = exec.Command(HDB(t), "--json", "-batch", "-nx", "-ex", "allocs all if size >= 5000000 && size < 6000000", file).Output()
	if err != nil {
		t.Fatalf("%v\n%.2000s", err, out)
	}
	asked := []string{"--json", "-batch", "-nx"}
	n := 0
	for line := range bytes.Lines(out) {
		var v struct {
			Events []struct {
				Seq  uint64 `json:"event"`
				Kind string
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
				continue
			}
			n++
			asked = append(asked, "-ex", fmt.Sprintf("goto #%d", e.Seq), "-ex", "bt 5000")
		}
	}
	if n != len(said) {
		t.Fatalf("%d allocations of these sizes for %d stacks", n, len(said))
	}
	out, err = exec.Command(HDB(t), append(asked, file)...).Output()
	if err != nil {
		t.Fatalf("%v\n%.2000s", err, out)
	}
	_, _, merged := stacks(t, out)
	for i, want := range said {
		if i >= len(merged) || !reflect.DeepEqual(merged[i], want) {
			t.Errorf("allocation %d:\n got %v\nwant %v", i+1, at(merged, i), want)
		}
	}
}
