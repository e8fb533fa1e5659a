package testprogs

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A hurting is one case of TestUnhurt: a kind of stop, and what becomes of it.
type hurting struct {
	language, stop, recorded, how, then string
}

func (h hurting) String() string {
	return strings.Join([]string{h.language, h.stop, h.recorded, h.how, h.then}, ",")
}

// pairs are all pairs of what a case has in two places.
func (h hurting) pairs() (all [][4]string) {
	is := []string{h.language, h.stop, h.recorded, h.how, h.then}
	for i := range is {
		for j := range i {
			all = append(all, [4]string{fmt.Sprint(i), is[i], fmt.Sprint(j), is[j]})
		}
	}
	return all
}

// unhurtStops are the kinds of stops by their commands, and the languages whose programs have them.
// A soft one is hit on any machine.
var unhurtStops = []struct {
	name, command, languages string
	soft                     bool
}{
	{"alloc", "break alloc if size == 16000", "c c++ python", true},
	{"alloc", "break alloc if size > 12000", "go", false}, // some machines do not let the probe follow Go
	{"tbreak", "tbreak alloc if size == 16000", "c c++ python", true},
	{"malloc", "break malloc if size >= 8000", "c c++ python", true},
	{"new", "break operator new[] if size == 16000", "c++", true},
	{"realloc", "break realloc if size > 20000", "c", true},
	{"free", "break free if size > 8000", "c c++ python", false},
	{"pyalloc", "break pyalloc if size == 16000", "python", true},
	{"pyfree", "break pyfree", "python", true},
	{"pyfree-domain", "break pyfree if domain == mem", "python", true},
	{"state", "break when blocks > 0", "c c++ python", true},
	{"state", "break when blocks > 0", "go", false},
	{"function", "break work", "c c++", true},
	{"function", "break main.work", "go", true},
	{"syscall", "catch syscall clock_nanosleep", "c c++ python", true},
	{"throw", "catch throw", "c++", true},
	{"watch", "watch total", "c c++", false}, // some machines have no debug registers
}

// hurtings are all cases.
func hurtings() (cases []hurting) {
	for _, s := range unhurtStops {
		for _, language := range strings.Fields(s.languages) {
			for _, recorded := range []string{"unrecorded", "recorded"} {
				for _, how := range []string{"launched", "attached"} {
					for _, then := range []string{"continue", "ignore", "delete", "detach"} {
						cases = append(cases, hurting{language, s.name, recorded, how, then})
					}
				}
			}
		}
	}
	return cases
}

// pairwise are as few of the cases as have all pairs of values that all of them have, chosen
// greedily.
func pairwise(cases []hurting) (few []hurting) {
	seen := map[[4]string]bool{}
	fresh := func(h hurting) (n int) {
		for _, p := range h.pairs() {
			if !seen[p] {
				n++
			}
		}
		return n
	}
	for {
		best := slices.MaxFunc(cases, func(a, b hurting) int { return fresh(a) - fresh(b) })
		if fresh(best) == 0 {
			return few
		}
		for _, p := range best.pairs() {
			seen[p] = true
		}
		few = append(few, best)
	}
}

// TestUnhurt stops programs in all ways, and has them go on: each must end as it does alone.
func TestUnhurt(t *testing.T) {
	cases := hurtings()
	if testing.Short() {
		cases = pairwise(cases)
	}
	for _, h := range cases {
		t.Run(h.String(), func(t *testing.T) {
			t.Parallel()
			h.try(t)
		})
	}
}

// command is the program with the file that ends its rounds, if it is to be attached to.
func (h hurting) command(t *testing.T, end string) []string {
	var command []string
	switch h.language {
	case "c":
		command = []string{Build(t, "unhurt")}
	case "c++":
		command = []string{Build(t, "unhurt_plus")}
	case "go":
		command = []string{Build(t, "unhurt_go")}
	case "python":
		script, err := filepath.Abs("testdata/python/unhurt.py")
		if err != nil {
			t.Fatal(err)
		}
		command = []string{"/usr/bin/python3", script}
	}
	if h.how == "attached" {
		command = append(command, end)
	}
	return command
}

// script is what hdb does, and whether the stop is surely hit.
func (h hurting) script(end string) (script []string, hit bool) {
	i := slices.IndexFunc(unhurtStops, func(s struct {
		name, command, languages string
		soft                     bool
	}) bool {
		return s.name == h.stop && slices.Contains(strings.Fields(s.languages), h.language)
	})
	stop, run := unhurtStops[i], "continue"
	if h.how == "launched" {
		run = "run"
	}
	if h.recorded == "recorded" {
		record := "record start"
		if h.language == "python" {
			record += " --python-allocators"
		}
		script = append(script, record)
	}
	script = append(script, stop.command)
	ends := []string{"shell touch " + end, "continue"}
	if !stop.soft { // the program must come to its end without it
		script, ends = append(script, ends[0]), ends[1:]
	}
	switch h.then {
	case "ignore":
		script = append(script, "ignore 1 1000000", "shell touch "+end, run)
		return script, false
	case "continue":
		script = append(script, run)
		if h.stop != "tbreak" {
			script = append(script, "continue", "continue")
		}
		script = append(append(script, "delete"), ends...)
	case "delete":
		script = append(append(script, run, "delete"), ends...)
	case "detach":
		script = append(script, run, "detach")
	}
	return script, stop.soft
}

func (h hurting) try(t *testing.T) {
	end := filepath.Join(t.TempDir(), "end")
	command := h.command(t, end)
	script, hit := h.script(end)
	args := []string{"-batch", "-nx"}
	ctx, cancel := Context(t)
	defer cancel()
	var prog *exec.Cmd
	var printed bytes.Buffer
	if h.how == "attached" {
		prog = exec.CommandContext(ctx, command[0], command[1:]...)
		out, err := prog.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := prog.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewReader(out)
		if line, err := lines.ReadString('\n'); line != "ready\n" {
			t.Fatalf("%q, %v", line, err)
		}
		defer func() {
			if t.Failed() {
				_ = prog.Process.Kill() // it may have ended
			}
		}()
		args = append(args, "-p", fmt.Sprint(prog.Process.Pid))
		defer func() { _, _ = lines.WriteTo(&printed) }()
	}
	for _, line := range script {
		args = append(args, "-ex", line)
	}
	if h.how == "launched" {
		args = append(append(args, "--args"), command...)
	}
	said, err := exec.CommandContext(ctx, HDB(t), args...).CombinedOutput()
	if hit && !bytes.Contains(said, []byte("hit 1")) {
		t.Errorf("not hit")
	}
	switch {
	case h.how == "attached":
		if err := os.WriteFile(end, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		_ = prog.Wait() // its state tells
		if prog.ProcessState.ExitCode() != 7 {
			t.Errorf("the program: %v", prog.ProcessState)
		}
	case !bytes.Contains(said, []byte("fine\n")) || h.then != "detach" && !bytes.Contains(said, []byte("exited with code 7")):
		t.Errorf("the program did not end well")
	}
	if t.Failed() {
		t.Logf("hdb %q: %v\n%s", args, err, said)
	}
}
