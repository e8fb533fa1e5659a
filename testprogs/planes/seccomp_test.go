package planes

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"hdb/capture"
	"hdb/testprogs"
)

// TestConfined has programs confine themselves while they are followed: the probe must make no system call
// that a filter kills them for. They end as alone.
func TestConfined(t *testing.T) {
	for _, c := range []struct {
		args   []string
		events int // blocks that they make when they are confined
	}{
		{[]string{"most", "prctl", "some"}, 40},
		{[]string{"waits", "syscall", "some"}, 40},
		{[]string{"names", "raw", "thread"}, 40},
		{[]string{"names", "tsync", "some"}, 40},
		{[]string{"waits", "raw", "many"}, 3_000_000},
		{[]string{"most", "raw", "many"}, 3_000_000},
	} {
		for _, p := range planes {
			if c.events > 1000 && p == plain {
				continue // it waits for nothing, and takes minutes
			}
			t.Run(strings.Join(append([]string{string(p)}, c.args...), "/"), func(t *testing.T) {
				j := program(t, "selfseccomp", nil, c.args...)
				r := record(t, p, j)
				n := 0
				for e := range r.Events(0) {
					if e.Kind == capture.Alloc && (e.Size >= 5000 && e.Size < 5040 || c.events > 1000 && e.Size == 100) {
						n++
					}
				}
				if r.ending() != "exited with code 7" || n != c.events {
					t.Errorf("%q, %d blocks of %d\n%s", r.ending(), n, c.events, r.said)
				}
				size := "100"
				if c.events == 40 {
					size = "5020"
				}
				said, err := hdb(t, j, append(p.settings(), "tbreak alloc if size == "+size, "run", "continue"), append([]string{"--args", j.Path}, j.Args...)...)
				for _, want := range []string{"hit 1:", "exited with code 7"} {
					if !strings.Contains(said, want) {
						t.Errorf("%v: not %q\n%s", err, want, said)
					}
				}
			})
		}
	}
}

// TestConfinedOutlives has a launched program that is to outlive hdb be followed as an attached one is, from
// before it confines itself or from then on.
func TestConfinedOutlives(t *testing.T) {
	for _, how := range []string{"prctl", "syscall"} {
		for _, size := range []string{"300000", "5005"} {
			for _, again := range []string{"off", "on"} {
				j := program(t, "selfseccomp", nil, "names", how, "some")
				said, err := hdb(t, j, append(probe.settings(), "record start", "tbreak alloc if size == "+size, "run", "set kill-on-exit off", "tbreak alloc if size == 5010",
					"set kill-on-exit "+again, "continue", "continue"), append([]string{"--args", j.Path}, j.Args...)...)
				if strings.Count(said, "hit 1:") != 2 || !strings.Contains(said, "exited with code 7") {
					t.Errorf("%s, %s, %s: %v\n%s", how, size, again, err, said)
				}
			}
		}
	}
}

// TestConfinedAttached has programs confine themselves that hdb has attached to, by functions of the C
// library.
func TestConfinedAttached(t *testing.T) {
	for _, args := range [][]string{{"most", "prctl", "some"}, {"waits", "syscall", "many"}, {"names", "tsync", "thread"}, {"waits", "prctl", "some"}} {
		for _, do := range [][]string{{"record start"}, {"tbreak alloc if size == 5020 || size == 100", "continue"}, {"record start", "tbreak alloc if size >= 100", "continue", "detach"}} {
			t.Run(strings.Join(append(slices.Clone(args), do...), "/"), func(t *testing.T) {
				state, said := confineAttached(t, args, do)
				if state.ExitCode() != 7 {
					t.Errorf("%v\n%s", state, said)
				}
			})
		}
	}
}

// TestConfinedRaw has a program that was attached to confine itself unseen: it dies of a system call of the
// probe's, which is said, with what to do: then it does not.
func TestConfinedRaw(t *testing.T) {
	for _, c := range []struct{ what, call string }{{"waits", "futex"}, {"names", "gettid"}} {
		args := []string{c.what, "raw", "some"}
		state, said := confineAttached(t, args, []string{"record start"})
		if want := "the program's seccomp filter has refused " + c.call + ", which was hdb's own call"; !strings.Contains(said, want) || !strings.Contains(said, "`set probe off`") {
			t.Errorf("%v: not %q\n%s", state, want, said)
		}
		if state, said := confineAttached(t, args, []string{"set probe off", "record start"}); state.ExitCode() != 7 || strings.Contains(said, "refused") {
			t.Errorf("%v\n%s", state, said)
		}
	}
}

// confineAttached attaches to a program that confines itself then, and does that before it goes on to its
// end.
func confineAttached(t *testing.T, args, do []string) (state *os.ProcessState, said string) {
	t.Helper()
	end := filepath.Join(t.TempDir(), "end")
	prog := exec.Command(testprogs.Build(t, "selfseccomp"), append(slices.Clone(args), end)...)
	out, err := prog.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := prog.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "ready\n" {
		t.Fatalf("%q, %v", line, err)
	}
	commands := []string{"-batch", "-nx", "-p", strconv.Itoa(prog.Process.Pid), "-ex", "shell touch " + end}
	for _, line := range append(slices.Clone(do), "continue") {
		commands = append(commands, "-ex", line)
	}
	ctx, cancel := testprogs.Context(t)
	defer cancel()
	text, err := exec.CommandContext(ctx, testprogs.HDB(t), commands...).CombinedOutput()
	_ = prog.Wait() // its state tells
	return prog.ProcessState, fmt.Sprintf("%v\n%s", err, text)
}
