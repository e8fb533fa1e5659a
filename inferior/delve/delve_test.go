package delve

import (
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hdb/inferior"
	"hdb/inferior/cmdline"
	"hdb/internal/addr"
	_ "hdb/testprogs" // the same environment everywhere
)

func buildGo(t testing.TB, flags ...string) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "gorun")
	args := append(append([]string{"build", "-o", out}, flags...), "./testdata/gorun")
	if b, err := exec.Command("go", args...).CombinedOutput(); err != nil {
		t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, b)
	}
	return out
}

func launch(t testing.TB, path string) *inferior.Process {
	t.Helper()
	p, err := inferior.Launch(inferior.Config{Path: path, Redirections: cmdline.Redirections{Stdin: "/dev/null", Stdout: "/dev/null", StderrToStdout: true}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return p
}

// symbol is where the program has its function or variable now, 0 if it has none.
func symbol(p *inferior.Process, name string) addr.Run {
	f, err := elf.Open(p.Exe())
	if err != nil {
		return 0
	}
	defer f.Close()
	all, _ := f.Symbols()
	i := slices.IndexFunc(all, func(s elf.Symbol) bool { return s.Name == name })
	m := slices.IndexFunc(p.Modules(), func(m inferior.Module) bool { return m.Name == p.Exe() })
	if i < 0 || m < 0 {
		return 0
	}
	return addr.File(all[i].Value).Run(p.Modules()[m].Bias)
}

func TestProgram(t *testing.T) {
	// A debuginfod-find that leaves a trace when it is called.
	dir := t.TempDir()
	script := "#!/bin/sh\necho called >> " + dir + "/trace\nexit 1\n"
	if err := os.WriteFile(dir+"/debuginfod-find", []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	p := launch(t, buildGo(t, "-gcflags=-N -l"))
	if !p.IsGo() {
		t.Error("not recognised as a Go program")
	}
	leaf, err := p.Plant(symbol(p, "main.leaf"), func(*inferior.Thread) inferior.Action { return inferior.StopHere })
	if err != nil {
		t.Fatal(err)
	}
	s, err := p.Continue()
	if err != nil || s.Reason != inferior.Trapped {
		t.Fatalf("%v %+v: %v", s.Reason, s.Signal, err)
	}
	g, err := Load(p)
	if err != nil {
		t.Fatal(err)
	}
	all, err := g.Goroutines()
	if err != nil || len(all) < 7 {
		t.Errorf("%d goroutines, %v", len(all), err)
	}
	others, waits := 0, false
	for _, x := range all {
		if x.Function == "main.main.func1" { // waiting, or not there yet
			others++
		}
		waits = waits || x.Function == "main.main" && x.Status == "waiting" && x.WaitReason == "chan receive"
	}
	if others != 5 || !waits {
		t.Errorf("%d others, main waits to receive %v: %+v", others, waits, all)
	}
	cur, ok := g.CurrentGoroutine(s.Thread)
	if !ok || cur.Function != "main.leaf" || cur.TID != s.Thread.TID || cur.Status != "running" {
		t.Errorf("current goroutine %+v %v", cur, ok)
	}
	frames, err := g.Stack(s.Thread, 10)
	if err != nil || len(frames) < 3 || frames[0].Function != "main.leaf" || frames[1].Function != "main.middle" || frames[1].Line != 15 {
		t.Errorf("stack %+v %v", frames, err)
	}
	if err := leaf.Remove(); err != nil {
		t.Fatal(err)
	}
	lines := []int{}
	for range 3 {
		if s, err = g.Next(s.Thread); err != nil || s.Reason != inferior.Stepped {
			t.Fatalf("next: %v %v", s.Reason, err)
		}
		cur, _ := g.CurrentGoroutine(s.Thread)
		lines = append(lines, cur.Line)
	}
	if len(lines) != 3 || lines[0] != 8 || lines[1] != 9 || lines[2] != 10 {
		t.Errorf("lines %v, want 8 9 10", lines)
	}
	if s, err = g.StepOut(s.Thread); err != nil || s.Reason != inferior.Stepped {
		t.Fatalf("step out: %v %v", s.Reason, err)
	}
	if cur, _ := g.CurrentGoroutine(s.Thread); cur.Function != "main.middle" {
		t.Errorf("after step out in %+v", cur)
	}
	if s, err = p.Continue(); err != nil || s.Reason != inferior.Exited || s.Exit.Code != 7 {
		t.Fatalf("%v %+v: %v, want exit with code 7", s.Reason, s.Exit, err)
	}
	if b, err := os.ReadFile(dir + "/trace"); err == nil {
		t.Errorf("debuginfod-find was run: %s", b)
	}
}

func TestRefused(t *testing.T) {
	p := launch(t, buildGo(t, "-ldflags=-s -w"))
	if _, err := Load(p); err == nil || !strings.Contains(err.Error(), "no DWARF") {
		t.Errorf("%v", err)
	}
	c := launch(t, "/bin/true")
	if _, err := Load(c); err == nil || !strings.Contains(err.Error(), "not a Go program") || c.IsGo() {
		t.Errorf("%v", err)
	}
}

func TestOf(t *testing.T) {
	var none *Program
	p := launch(t, buildGo(t))
	if none.Of(p) {
		t.Error("no program is what the process runs")
	}
	g, err := Load(p)
	if err != nil || !g.Of(p) || g.Of(launch(t, "/bin/true")) {
		t.Errorf("of the process %v, %v", g.Of(p), err)
	}
}
