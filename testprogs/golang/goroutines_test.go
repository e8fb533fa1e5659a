package golang

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"hdb/testprogs"
)

// A traced is a goroutine as a traceback or hdb shows it.
type traced struct {
	id      int
	does    string // "chan receive"
	frames  []string
	creator string
	parent  int
}

// TestGoroutines compares the goroutines of programs, their stacks and who made them with
// Go's own traceback of all (runtime.Stack): of a process and of its core file.
func TestGoroutines(t *testing.T) {
	for _, toolchain := range toolchains() {
		for _, flags := range [][]string{nil, {"-buildmode=pie", "-ldflags=-s -w"}} {
			t.Run(fmt.Sprint(toolchain, flags), func(t *testing.T) {
				program := build(t, filepath.Join("..", "..", "testdata", "goroutines.go"), toolchain, flags...)
				file := filepath.Join(t.TempDir(), "stacks")
				cmd := exec.Command(program, file)
				in, err := cmd.StdinPipe()
				if err != nil {
					t.Fatal(err)
				}
				out, err := cmd.StdoutPipe()
				if err != nil {
					t.Fatal(err)
				}
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				defer func() { in.Close(); cmd.Wait() }()
				if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
					t.Fatal(err)
				}
				text, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				want := traceback(t, string(text))
				core := filepath.Join(t.TempDir(), "core")
				got := asked(t, want, "-p", fmt.Sprint(cmd.Process.Pid), "-ex", "gcore "+core)
				compareGoroutines(t, got, want)
				compareGoroutines(t, asked(t, want, "core", program, core), want)
				finishWaiting(t, want, cmd.Process.Pid)
			})
		}
	}
}

// finishWaiting: what needs a thread says at once that a goroutine has none.
func finishWaiting(t *testing.T, all map[int]*traced, pid int) {
	t.Helper()
	c := open(t, "-p", fmt.Sprint(pid))
	for id, g := range all {
		if g.does != "chan receive" {
			continue
		}
		c.want(fmt.Sprint("goroutine ", id), fmt.Sprintf("goroutine %d [chan receive", id))
		for _, line := range []string{"finish", "step", "next", "stepi", "nexti", "until", "advance main.ready", "jump main.ready", "return", "signal 0"} {
			if text := c.ask(line); !strings.Contains(text, fmt.Sprintf("goroutine %d is not running (chan receive", id)) || strings.Contains(text, "run till") {
				t.Errorf("%s: %s", line, text)
			}
		}
		break
	}
	c.ask("detach")
	c.quit()
}

func compareGoroutines(t *testing.T, got, want map[int]*traced) {
	t.Helper()
	for id, w := range want {
		g := got[id]
		switch {
		case g == nil:
			t.Errorf("goroutine %d is not there: %+v", id, w)
		case id == 1: // which was writing its traceback
		case g.does != w.does || g.creator != w.creator || w.parent != 0 && g.parent != w.parent || !slices.Equal(g.frames, w.frames):
			t.Errorf("goroutine %d:\n%+v, want\n%+v", id, *g, *w)
		}
	}
	for id, g := range got {
		if want[id] == nil {
			t.Errorf("goroutine %d is too many: %+v", id, *g)
		}
	}
	if len(want) != 55 {
		t.Errorf("%d goroutines in the traceback", len(want))
	}
}

// TestUnreadableGoroutine has a program whose list of goroutines leads to one that cannot be read: the
// others are listed, and it is said that it may be missing.
func TestUnreadableGoroutine(t *testing.T) {
	p := start(t, build(t, "idle", "local"))
	p.waits(t)
	c := open(t, "-p", fmt.Sprint(p.cmd.Process.Pid))
	word := func(at string) string { return strings.TrimSpace(c.ask("print *(*uintptr)(" + at + ")")) }
	_, variable, _ := strings.Cut(strings.TrimRight(c.ask("print &runtime.allgs"), ")\n"), ")(")
	array, err := strconv.ParseUint(word(variable), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	second := fmt.Sprint(array + 8) // none that runs
	was, before := word(second), c.want("goroutines -system", "main.main")
	c.ask("set var *(*uintptr)(" + second + ") = 4096")
	if c.want("goroutines -system", "main.main", "\n! 1 goroutine could not be read, and may be missing here\n") == before {
		t.Error("no goroutine is missing")
	}
	c.want("goroutines -group creator", "main.main", "! 1 goroutine could not be read")
	c.want("goroutine 1", "main.main")
	c.want("goroutine 4000", "1 goroutine could not be read")
	c.ask("set var *(*uintptr)(" + second + ") = " + was)
	if after := c.ask("goroutines -system"); after != before {
		t.Errorf("goroutines were\n%s, are\n%s", before, after)
	}
	c.quit()
	p.end(t)
}

var (
	headLine  = regexp.MustCompile(`^goroutine (\d+) \[([^],]*)`)
	placeLine = regexp.MustCompile(`^\t(.*/)?([^/]+:\d+)`)
	arguments = regexp.MustCompile(`\([^()]*(\([^()]*\)[^()]*)*\)$`)
	typeArgs  = regexp.MustCompile(`\[.*\]`)
)

// traceback reads what runtime.Stack writes.
func traceback(t *testing.T, text string) map[int]*traced {
	all := map[int]*traced{}
	var g *traced
	name, made := "", false
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if m := headLine.FindStringSubmatch(line); m != nil {
			g = &traced{does: m[2]}
			g.id, _ = strconv.Atoi(m[1])
			all[g.id] = g
		} else if m := placeLine.FindStringSubmatch(line); m != nil && made {
			g.creator = name + " " + m[2]
		} else if m != nil {
			g.frames = append(g.frames, name+" "+m[2])
		} else if name, made = strings.CutPrefix(line, "created by "); made {
			var parent string
			name, parent, _ = strings.Cut(name, " in goroutine ")
			g.parent, _ = strconv.Atoi(parent)
		} else {
			name = arguments.ReplaceAllString(line, "")
		}
	}
	return all
}

// asked is what hdb says of the goroutines.
func asked(t *testing.T, of map[int]*traced, args ...string) map[int]*traced {
	t.Helper()
	args = append([]string{"--json", "-nx"}, args...)
	args = append(args, "-ex", "goroutines all")
	var ids []int
	for id := range of {
		ids = append(ids, id)
		args = append(args, "-ex", fmt.Sprintf("goroutine %d bt -200", id))
	}
	cmd := exec.Command(testprogs.HDB(t), args...)
	var errs strings.Builder
	cmd.Stderr = &errs
	b, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s%s", err, b, &errs)
	}
	type frame struct {
		Function string
		File     string
		Line     int
		Created  bool `json:"created"`
	}
	all := map[int]*traced{}
	asked := 0
	for line := range strings.Lines(string(b)) {
		var list struct {
			Command    string
			Goroutines []struct {
				Goroutine, Parent int
				Status, Reason    string
				Created           *frame `json:"go_statement"`
			}
			Frames []frame
		}
		if err := json.Unmarshal([]byte(line), &list); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		place := func(f frame) string {
			return fmt.Sprintf("%s %s:%d", typeArgs.ReplaceAllString(f.Function, "[...]"), filepath.Base(f.File), f.Line)
		}
		for _, g := range list.Goroutines {
			x := &traced{id: g.Goroutine, does: g.Status, parent: g.Parent}
			if g.Reason != "" {
				x.does = g.Reason
			}
			if g.Created != nil {
				x.creator = place(*g.Created)
			}
			all[x.id] = x
		}
		if list.Command != "bt" || asked == len(ids) {
			continue
		}
		if x := all[ids[asked]]; x != nil {
			for _, f := range list.Frames {
				if !f.Created && tracebackShows(f.Function) {
					x.frames = append(x.frames, place(f))
				}
			}
		}
		asked++
	}
	return all
}

// tracebackShows is runtime.showfuncinfo: tracebacks have no functions of the runtime that are
// not exported.
func tracebackShows(name string) bool {
	rest, ok := strings.CutPrefix(name, "runtime.")
	return !ok || rest != "" && 'A' <= rest[0] && rest[0] <= 'Z' && rest != "Goexit"
}
