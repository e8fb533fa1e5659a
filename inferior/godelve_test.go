package inferior

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

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

func TestGo(t *testing.T) {
	// A debuginfod-find that leaves a trace when it is called.
	dir := t.TempDir()
	script := "#!/bin/sh\necho called >> " + dir + "/trace\nexit 1\n"
	if err := os.WriteFile(dir+"/debuginfod-find", []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	p, _ := launch(t, buildGo(t, "-gcflags=-N -l"))
	if !p.target.IsGo() {
		t.Error("not recognised as a Go program")
	}
	leaf := plant(t, p, symbol(t, p, "main.leaf"), func(*Thread) Action { return StopHere })
	s := resume(t, p)
	if s.Reason != Trapped {
		t.Fatalf("%v %+v", s.Reason, s.Signal)
	}
	g, err := p.Go()
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
		if s, err = g.Next(s.Thread); err != nil || s.Reason != Stepped {
			t.Fatalf("next: %v %v", s.Reason, err)
		}
		cur, _ := g.CurrentGoroutine(s.Thread)
		lines = append(lines, cur.Line)
	}
	if len(lines) != 3 || lines[0] != 8 || lines[1] != 9 || lines[2] != 10 {
		t.Errorf("lines %v, want 8 9 10", lines)
	}
	if s, err = g.StepOut(s.Thread); err != nil || s.Reason != Stepped {
		t.Fatalf("step out: %v %v", s.Reason, err)
	}
	if cur, _ := g.CurrentGoroutine(s.Thread); cur.Function != "main.middle" {
		t.Errorf("after step out in %+v", cur)
	}
	wantExit(t, p, 7)
	if b, err := os.ReadFile(dir + "/trace"); err == nil {
		t.Errorf("debuginfod-find was run: %s", b)
	}
}

func TestGoRefused(t *testing.T) {
	p, _ := launch(t, buildGo(t, "-ldflags=-s -w"))
	if _, err := p.Go(); err == nil || !strings.Contains(err.Error(), "no DWARF") {
		t.Errorf("%v", err)
	}
	c, _ := launch(t, build(t, "loop"), "1")
	if _, err := c.Go(); err == nil || !strings.Contains(err.Error(), "not a Go program") || c.target.IsGo() {
		t.Errorf("%v", err)
	}
}
