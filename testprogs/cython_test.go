package testprogs

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A cythonLine is a line of a function of flow.pyx.
type cythonLine struct {
	function string
	line     int
}

// flowing is the program that runs the extension of flow.pyx.
func flowing(t *testing.T, so string, args ...string) []string {
	t.Helper()
	script, err := filepath.Abs("testdata/python/flowing.py")
	if err != nil {
		t.Fatal(err)
	}
	return append([]string{"/usr/bin/python3", script, so}, args...)
}

// told is what the program prints, which is JSON.
func told(t *testing.T, v any, so string, args ...string) {
	t.Helper()
	line := flowing(t, so, args...)
	out, err := exec.Command(line[0], line[1:]...).Output()
	if err == nil {
		err = json.Unmarshal(out, v)
	}
	if err != nil {
		t.Fatalf("%s: %v\n%s", line, err, out)
	}
}

// cythonBuilds are how lines of the source are known, with the flags of their builds. Without
// the C, a call that is several lines long has the line of its last argument.
var cythonBuilds = []struct {
	name  string
	flags []string
	exact bool
}{
	{"described", []string{"--gdb", "NOC"}, false}, {"generated", nil, true}, {"optimized", []string{"-O2"}, true}, {"directives", []string{"--line-directives"}, false},
}

// cythonCommands runs commands of hdb on flow.pyx, and returns the last frames of the stops.
func cythonCommands(t *testing.T, so string, mode []string, commands ...string) (stops [][]cythonLine, out []byte) {
	t.Helper()
	line := []string{"--json", "-batch", "-nx", "-ex", "directory testdata/python"}
	for _, c := range commands {
		line = append(line, "-ex", c)
	}
	out, _ = exec.Command(HDB(t), append(append(line, "--args"), flowing(t, so, mode...)...)...).Output() // the last commands find no process
	for l := range bytes.Lines(out) {
		type frame struct {
			Function string
			Line     int
			Language string
		}
		var v struct {
			Frames []frame
			Stop   struct{ Frames []frame }
		}
		if json.Unmarshal(l, &v) != nil {
			continue
		}
		var stack []cythonLine
		if slices.Contains(commands, "cy bt") {
			v.Stop.Frames = nil // the stack is asked for
		}
		for _, f := range append(v.Frames, v.Stop.Frames...) {
			if name, ok := strings.CutPrefix(f.Function, "flow."); ok {
				stack = append(stack, cythonLine{name, f.Line})
			}
		}
		if len(stack) > 0 {
			stops = append(stops, stack)
		}
	}
	return stops, out
}

// TestCythonLines steps through functions with statements of each kind, and compares the lines
// with those that Cython's linetrace tells of them.
func TestCythonLines(t *testing.T) {
	var traced [][2]any
	told(t, &traced, Build(t, "flow", "--linetrace", "-DCYTHON_TRACE=1"), "trace")
	var want []cythonLine
	for _, l := range traced {
		want = append(want, cythonLine{l[0].(string), int(l[1].(float64))})
	}
	want = slices.Compact(want)
	if len(want) < 100 {
		t.Fatalf("linetrace told of %d lines", len(want))
	}
	source, err := os.ReadFile("testdata/python/flow.pyx")
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Split(string(source), "\n")
	for i, b := range cythonBuilds[:2] {
		if testing.Short() && i == 0 {
			continue
		}
		t.Run(b.name, func(t *testing.T) {
			commands := append([]string{"cy break flow.run", "run"}, slices.Repeat([]string{"cy step"}, 180)...)
			stops, out := cythonCommands(t, Build(t, "flow", b.flags...), nil, commands...)
			got := statements(stops)
			for _, l := range want {
				if !hasNoCode(text[l.line-1]) && !slices.Contains(got, l) {
					t.Errorf("no stop in %v", l)
				}
			}
			again := func(l cythonLine) bool { return hasNoCode(text[l.line-1]) || comesAgain(text[l.line-1]) }
			got, want := slices.Compact(slices.DeleteFunc(got, again)), slices.Compact(slices.DeleteFunc(slices.Clone(want), again))
			if !slices.Equal(got, want) {
				i := 0
				for i < min(len(got), len(want)) && got[i] == want[i] {
					i++
				}
				t.Errorf("steps go on with\n%v\nlinetrace with\n%v\n%.500s", got[i:], want[i:], out)
			}
		})
	}
}

// hasNoCode tells lines that linetrace tells of and steps pass: those without code of their own,
// and the end of an except, which unbinds its name.
func hasNoCode(line string) bool {
	line = strings.TrimSpace(line)
	return line == "try:" || line == "finally:" || strings.HasPrefix(line, "except ") && strings.Contains(line, " as ")
}

// comesAgain tells lines that steps stop at more often than linetrace tells of: the head of a loop
// in each round, a with where __exit__ has returned, and a yield that the generator goes on from.
func comesAgain(line string) bool {
	line = strings.TrimSpace(line)
	return strings.HasPrefix(line, "for ") || strings.HasPrefix(line, "while ") || strings.HasPrefix(line, "with ") || strings.HasPrefix(line, "yield ")
}

// statements are the lines at which stops have come to a statement: not those of calls that
// have returned to the middle of one.
func statements(stops [][]cythonLine) (lines []cythonLine) {
	var calls []cythonLine
	for _, stack := range stops {
		at := stack[len(stack)-1]
		name := at.function[strings.LastIndexByte(at.function, '.')+1:]
		i := slices.IndexFunc(calls, func(c cythonLine) bool { return c.function == at.function })
		if i >= 0 {
			returned := i < len(calls)-1
			calls = calls[:i+1]
			if calls[i] == at && returned {
				continue
			}
			calls[i] = at
		} else {
			calls = append(calls, at)
		}
		lines = append(lines, cythonLine{name, at.line})
	}
	return slices.Compact(lines)
}

// TestCythonTracebacks stops in what functions of Cython have called from six kinds of places, and
// compares the stack with the traceback of the error that is raised there.
func TestCythonTracebacks(t *testing.T) {
	for i, b := range cythonBuilds {
		if testing.Short() && i%2 == 1 {
			continue
		}
		t.Run(b.name, func(t *testing.T) {
			so := Build(t, "flow", b.flags...)
			var raised [][][2]any
			told(t, &raised, so, "fail")
			if len(raised) != 6 {
				t.Fatalf("%d errors", len(raised))
			}
			commands := []string{"set backtrace limit 0", `break alloc if func("stack") && func("flow.fail") && size == 12345`, "run"}
			stops, out := cythonCommands(t, so, []string{"fail"}, append(commands, slices.Repeat([]string{"cy bt", "continue"}, len(raised)+1)...)...)
			stops = slices.DeleteFunc(stops, func(s []cythonLine) bool { return !strings.HasPrefix(s[len(s)-1].function, "fail") })
			for i, stack := range stops {
				for j := range stack {
					stops[i][j].function = strings.TrimSuffix(stack[j].function, "?")
				}
			}
			for i, r := range raised {
				var want []cythonLine
				for _, f := range slices.Backward(r) {
					l := cythonLine{strings.TrimPrefix(f[0].(string), "flow."), int(f[1].(float64))}
					if last := map[int]int{149: 151, 166: 167}[l.line]; last > 0 && !b.exact {
						l.line = last
					}
					want = append(want, l)
				}
				if i >= len(stops) || !slices.Equal(stops[i], want) {
					t.Errorf("error %d: the traceback has %v\nstacks %v\n%.300s", i, want, stops, out)
				}
			}
		})
	}
}
