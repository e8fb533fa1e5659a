package testprogs

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"hdb/inferior/machine"
)

// linesBegun is how often each line of the script begins in work(), by sys.settrace.
func linesBegun(t *testing.T, p, script string) map[int]int {
	t.Helper()
	out, err := exec.Command(p, script, "trace").Output()
	if err != nil {
		t.Fatal(err)
	}
	var told struct{ Calls [][]any }
	if err := json.Unmarshal(out, &told); err != nil {
		t.Fatal(err)
	}
	begun := map[int]int{}
	for _, call := range told.Calls {
		for _, e := range call[2:] {
			if e := e.([]any); e[0] == "line" {
				begun[int(e[1].(float64))]++
			}
		}
	}
	return begun
}

// TestPythonBreaks counts the hits of breakpoints at lines, one after the other in new
// processes, and compares with how often sys.settrace tells of the line.
func TestPythonBreaks(t *testing.T) {
	SkipUnderRace(t)
	script, err := filepath.Abs("testdata/python/lines.py")
	if err != nil {
		t.Fatal(err)
	}
	onPythons(t, func(t *testing.T, p string, m Machine) {
		begun := linesBegun(t, p, script)
		var commands strings.Builder
		asked := map[int]int{} // by the number of the stop
		for line, i := 1, 0; line < 200; line++ {
			if begun[line] == 0 {
				continue
			}
			if i++; i%Stride(17) != 0 || line == 190 && minorOf(t, p) == 10 {
				continue // a jump leads from the line into its middle
			}
			asked[len(asked)+1] = line
			fmt.Fprintf(&commands, "py break lines.py:%d\nignore %d 100000\nrun\ninfo breakpoints\ndelete\n", line, len(asked))
		}
		file := filepath.Join(t.TempDir(), "commands")
		if err := os.WriteFile(file, []byte(commands.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := Context(t)
		defer cancel()
		hdb := exec.CommandContext(ctx, HDB(t), "--json", "-batch", "-nx", "-x", file, "--args", p, script)
		hdb.Env = append(os.Environ(), m.Env...)
		out, err := hdb.Output()
		if err != nil {
			t.Fatalf("%v\n%.2000s", err, out)
		}
		if len(m.Env) > 0 && !bytes.Contains(out, []byte("traps in the interpreter's loop")) {
			t.Errorf("not by the jumps of the loop\n%.2000s", out)
		}
		compared := 0
		for row := range bytes.Lines(out) {
			var v struct {
				Command string
				Stops   []struct {
					Stop, Hits int
					Places     []any
				}
			}
			if json.Unmarshal(row, &v) != nil || v.Command != "info breakpoints" {
				continue
			}
			for _, st := range v.Stops {
				compared++
				if line := asked[st.Stop]; st.Hits != begun[line] {
					t.Errorf("line %d: %d hits, sys.settrace tells of it %d times", line, st.Hits, begun[line])
				}
			}
		}
		if compared != len(asked) || compared < 5 {
			t.Errorf("%d of %d lines compared\n%.2000s", compared, len(asked), out)
		}
	})
}

// onPythons runs a test with some interpreters, with debug registers and without.
func onPythons(t *testing.T, f func(t *testing.T, python string, m Machine)) {
	t.Helper()
	for _, p := range somePythons(t) {
		for _, m := range Machines(machine.DebugRegisters) {
			t.Run(strings.TrimPrefix(p, "/")+"/"+m.Name, func(t *testing.T) {
				t.Parallel()
				f(t, p, m)
			})
		}
	}
}

// TestPythonBreakLeft: a program with breakpoints, which it comes to all the time, goes on
// when hdb detaches and when it is killed, at a stop and while the program runs.
func TestPythonBreakLeft(t *testing.T) {
	SkipUnderRace(t)
	const script = `
import sys, threading
def hot(n):
    m = n + 1
    return m
def work():
    while True:
        hot(1)
t = threading.Thread(target=work, daemon=True)
t.start()
print("ready", flush=True)
for line in sys.stdin:
    print(sum(hot(i) for i in range(1000)), threading.active_count(), flush=True)
`
	onPythons(t, func(t *testing.T, p string, m Machine) {
		if testing.Short() && p != "/usr/bin/python3" {
			return
		}
		prog := exec.Command(p, "-c", script)
		in, err := prog.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		said, err := prog.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := prog.Start(); err != nil {
			t.Fatal(err)
		}
		defer func() { _ = prog.Process.Kill() }() // it has ended
		lines := bufio.NewScanner(said)
		lines.Scan()
		for _, how := range []string{"detach", "quit", "killed at a stop", "killed in a run"} {
			commands := "py break hot if n == 77\npy tbreak <string>:5\ncontinue\n"
			switch how {
			case "detach", "quit":
				commands += how + "\n"
			case "killed in a run":
				commands += "echo going\\n\ncontinue\n"
			default:
				commands += "echo stands\\n\n"
			}
			ctx, cancel := Context(t)
			defer cancel()
			hdb := exec.CommandContext(ctx, HDB(t), "-nx", "-p", strconv.Itoa(prog.Process.Pid))
			hdb.Env = append(os.Environ(), m.Env...)
			var errs bytes.Buffer
			hdb.Stderr = &errs
			typed, err := hdb.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			out, err := hdb.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := hdb.Start(); err != nil {
				t.Fatal(err)
			}
			if _, err := typed.Write([]byte(commands)); err != nil {
				t.Fatal(err)
			}
			if how == "detach" || how == "quit" {
				_ = typed.Close() // it ends by itself
			}
			var told strings.Builder
			for sc := bufio.NewScanner(out); sc.Scan(); {
				told.WriteString(sc.Text() + "\n")
				if sc.Text() == "stands" || sc.Text() == "going" {
					_ = hdb.Process.Kill() // the test fails below if it has ended
				}
			}
			_ = hdb.Wait() // it was killed
			if !strings.Contains(told.String(), "breakpoint 2, hit 1") {
				t.Fatalf("%s: not stopped\n%s%s", how, &told, &errs)
			}
			if _, err := in.Write([]byte("go\n")); err != nil {
				t.Fatal(err)
			}
			if !lines.Scan() || lines.Text() != "500500 2" {
				t.Fatalf("%s: the program says %q\n%s", how, lines.Text(), &told)
			}
		}
		if err := in.Close(); err != nil {
			t.Fatal(err)
		}
		if err := prog.Wait(); err != nil {
			t.Errorf("the program: %v", err)
		}
	})
}

// TestPythonSteps compares where steps stop with the lines that sys.settrace tells: all of
// them by py step, those of one function by py next.
func TestPythonSteps(t *testing.T) {
	SkipUnderRace(t)
	script, err := filepath.Abs("testdata/python/lines.py")
	if err != nil {
		t.Fatal(err)
	}
	onPythons(t, func(t *testing.T, p string, m Machine) {
		out, err := exec.Command(p, script, "trace").Output()
		if err != nil {
			t.Fatal(err)
		}
		var told struct{ Order [][2]any }
		if err := json.Unmarshal(out, &told); err != nil {
			t.Fatal(err)
		}
		var all []string
		for _, o := range told.Order {
			all = append(all, fmt.Sprintf("%v %v", o[0], o[1]))
		}
		for _, c := range []struct {
			verb, from string
			want       []string
		}{
			{"py step", "work", all},
			{"py next", "work", linesOf(all, "work")},
			{"py next", "nested", linesOf(all, "nested")},
			{"py next", "coroutine", linesOf(all, "coroutine")},
			{"py next", "exceptions", linesOf(all, "exceptions")},
		} {
			if testing.Short() && (c.from == "nested" || c.from == "exceptions") {
				continue
			}
			if testing.Short() && c.verb == "py step" {
				c.want = c.want[:60]
			}
			commands := "py tbreak lines.py:" + c.from + "\nrun\n" + strings.Repeat(c.verb+"\n", len(c.want)-1) + "kill\n"
			file := filepath.Join(t.TempDir(), "commands")
			if err := os.WriteFile(file, []byte(commands), 0o600); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := Context(t)
			defer cancel()
			hdb := exec.CommandContext(ctx, HDB(t), "--json", "-batch", "-nx", "-x", file, "--args", p, script)
			hdb.Env = append(os.Environ(), m.Env...)
			out, err := hdb.Output()
			if err != nil {
				t.Errorf("%s in %s: %v", c.verb, c.from, err)
			}
			got := stopsInPython(out)
			for i, want := range c.want {
				if i >= len(got) || got[i] != want {
					t.Errorf("%s in %s, stop %d of %d: at %v, want %s, behind %v\n%.300s", c.verb, c.from, i, len(c.want), got[min(i, len(got)):min(i+3, len(got))], want, c.want[max(0, i-3):i], out)
					break
				}
			}
		}
	})
}

// linesOf are those stops which are in one function.
func linesOf(all []string, function string) (some []string) {
	for _, s := range all {
		if strings.HasSuffix(s, " "+function) {
			some = append(some, s)
		}
	}
	return some
}

// stopsInPython are the lines and functions of the stops that were reported.
func stopsInPython(out []byte) (all []string) {
	for row := range bytes.Lines(out) {
		var v struct {
			Stop struct {
				Python *struct {
					Function string
					Line     int
				}
			}
		}
		if json.Unmarshal(row, &v) != nil || v.Stop.Python == nil {
			continue
		}
		name := v.Stop.Python.Function
		all = append(all, fmt.Sprintf("%d %s", v.Stop.Python.Line, name[strings.LastIndexByte(name, '.')+1:]))
	}
	return all
}
