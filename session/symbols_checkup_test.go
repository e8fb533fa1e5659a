package session

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"hdb/names"
	"hdb/session/target"
	"hdb/symbols"
	"hdb/testprogs"
)

// moduleOf is the diagnosis of the module with that base name.
func moduleOf(t *testing.T, c *names.Checkup, name string) *names.Diagnosis {
	t.Helper()
	i := slices.IndexFunc(c.Modules, func(d names.Diagnosis) bool { return d.ShortName() == name })
	if i < 0 {
		t.Fatalf("no module %s among %d", name, len(c.Modules))
	}
	return &c.Modules[i]
}

// TestCheckupOfProgram looks at a program that does not run and its libraries, one of
// them stripped by its owner.
func TestCheckupOfProgram(t *testing.T) {
	dir := t.TempDir()
	gcc(t, dir, map[string]string{"lib.c": waiterLib}, "-g", "-shared", "-fPIC", "-s", "-o", "libwaiter.so", "lib.c")
	gcc(t, dir, map[string]string{"main.c": waiterMain}, "-g", "-o", "waiter", "main.c", "-L.", "-lwaiter", "-Wl,-rpath,$ORIGIN")
	s := open(t, "basic")
	if _, err := s.Load(filepath.Join(dir, "waiter")); err != nil {
		t.Fatal(err)
	}
	c, err := s.Symbols.Checkup()
	if err != nil || c.Problem != "" || c.Good() {
		t.Errorf("checkup %+v, %v", c, err)
	}
	if d := moduleOf(t, &c, "waiter"); !d.Good() || d.Debug != symbols.DebugDWARF || len(d.Remedies) != 0 {
		t.Errorf("waiter: %+v", d)
	}
	d := moduleOf(t, &c, "libwaiter.so")
	if d.Good() || d.Found() != "dynamic symbols only" || len(d.Attempts) == 0 || !slices.Contains(d.Remedies, names.Remedy{Kind: names.CompileUnstripped}) {
		t.Errorf("libwaiter.so: %+v", d)
	}
	if d := moduleOf(t, &c, "libc.so.6"); !d.Good() {
		t.Errorf("libc.so.6: %+v", d) // libc6-dbg is among the packages of the tests
	}
	if c.Modules[0].ShortName() != "libwaiter.so" {
		t.Errorf("%s comes first, not what is missing something", c.Modules[0].Name)
	}
}

// TestCheckProcess looks at a process whose files are gone, and leaves it alone.
func TestCheckProcess(t *testing.T) {
	dir, pid := startWaiter(t)
	for _, name := range []string{"waiter", "libwaiter.so"} {
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	c, err := New(target.Config{}).Symbols.CheckProcess(pid)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"waiter", "libwaiter.so", "libc.so.6", "[vdso]"} {
		if d := moduleOf(t, &c, name); !d.Good() {
			t.Errorf("%s: %+v", name, d)
		}
	}
	if status, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "status")); err != nil || !strings.Contains(string(status), "TracerPid:\t0") {
		t.Errorf("%v\n%s", err, status)
	}
	if _, err := New(target.Config{}).Symbols.CheckProcess(2); err == nil {
		t.Error("a thread of the kernel has modules")
	}
}

// TestCheckupOfCapture counts the frames of a capture, with the program's file, without
// it, and with another in its place.
func TestCheckupOfCapture(t *testing.T) {
	prog := filepath.Join(t.TempDir(), "basic")
	b, err := os.ReadFile(testprogs.Build(t, "basic"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(prog, b, 0o755); err != nil {
		t.Fatal(err)
	}
	s := open(t, "basic")
	if _, err := s.Load(prog); err != nil {
		t.Fatal(err)
	}
	if err := s.Recorder.Start(); err != nil {
		t.Fatal(err)
	}
	must(t)(s.Run(nil))
	file := filepath.Join(t.TempDir(), "basic.hdb")
	if _, err := s.Captures.Save(file, false); err != nil {
		t.Fatal(err)
	}
	check := func() (*names.Checkup, *names.Diagnosis) {
		t.Helper()
		s := New(target.Config{Notify: func(line string) { t.Log(line) }})
		t.Cleanup(func() { s.Close() })
		if _, err := s.Captures.Open(file); err != nil {
			t.Fatal(err)
		}
		c, err := s.Symbols.Checkup()
		if err != nil {
			t.Fatal(err)
		}
		return &c, moduleOf(t, &c, "basic")
	}
	c, d := check()
	if d.Kept || !d.Good() || d.Debug != symbols.DebugDWARF || d.Frames == 0 || d.Frames > c.Frames || d.Lines == 0 || c.Events == 0 {
		t.Errorf("%d events, %d frames: %+v", c.Events, c.Frames, d)
	}
	sum := uint64(0)
	for _, d := range c.Modules {
		sum += d.Frames
	}
	if sum != c.Frames {
		t.Errorf("the modules have %d of %d frames", sum, c.Frames)
	}
	if err := os.Remove(prog); err != nil {
		t.Fatal(err)
	}
	if _, d := check(); !d.Kept || !d.Good() || !strings.HasPrefix(d.Found(), "kept in the capture, with lines") {
		t.Errorf("without the program: %+v, %s", d, d.Found())
	}
	if b, err = os.ReadFile(testprogs.Build(t, "realloc")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(prog, b, 0o755); err != nil {
		t.Fatal(err)
	}
	if _, d := check(); strings.Count(d.Why(), "build ID ") != 2 || !d.Kept {
		t.Errorf("with another program: %s", d.Why())
	}
}

// TestCheckupWithoutDwz has a program whose dwz file is gone.
func TestCheckupWithoutDwz(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"one", "two"} {
		gcc(t, dir, map[string]string{"main.c": waiterLib + "\nint main(void) { return 0; }"}, "-g", "-o", name, "main.c")
	}
	cmd := exec.Command(testprogs.Tool(t, "dwz"), "-m", "common", "one", "two")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("dwz: %v\n%s", err, out)
	}
	check := func(t *testing.T, missing bool) {
		s := open(t, "basic")
		if _, err := s.Load(filepath.Join(dir, "one")); err != nil {
			t.Fatal(err)
		}
		c, err := s.Symbols.Checkup()
		if err != nil {
			t.Fatal(err)
		}
		d := moduleOf(t, &c, "one")
		if d.Good() == missing || strings.Contains(d.Found(), "dwz file missing") != missing || missing != slices.ContainsFunc(d.Remedies, func(m names.Remedy) bool {
			return m.Kind == names.RestoreDwz && m.What == "common" && m.BuildID != ""
		}) {
			t.Errorf("%+v, found %q", d, d.Found())
		}
	}
	t.Run("there", func(t *testing.T) { check(t, false) })
	if err := os.Remove(filepath.Join(dir, "common")); err != nil {
		t.Fatal(err)
	}
	t.Run("missing", func(t *testing.T) { check(t, true) })
}
