package session

import (
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"hdb/inferior"
	"hdb/internal/cond"
	"hdb/names"
	"hdb/session/stopped"
	"hdb/session/target"
	"hdb/testprogs"
)

// open loads a test program into a session that ends with the test.
func open(t *testing.T, name string, flags ...string) *Session {
	t.Helper()
	runtime.LockOSThread() // of this test's goroutine: ptrace is bound to it
	t.Cleanup(runtime.UnlockOSThread)
	s := New(target.Config{Version: "test", Cache: testprogs.Kept(t), Notify: func(line string) { t.Log(line) }})
	s.target.Names.Sources.Dirs = []string{filepath.Dir(testprogs.Source(t, name))}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	if _, err := s.Load(testprogs.Build(t, name, flags...)); err != nil {
		t.Fatal(err)
	}
	s.Settings.Args = "> /dev/null"
	return s
}

// must is the report of a verb that has to succeed.
func must(t *testing.T) func(*stopped.Report, error) *stopped.Report {
	return func(r *stopped.Report, err error) *stopped.Report {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s [%s]", r.Headline(), path(r.Frames))
		return r
	}
}

// path is the functions of frames, innermost first.
func path(frames []names.Frame) string {
	var names []string
	for _, f := range frames {
		name := f.Function
		if f.Inlined {
			name += "*"
		}
		names = append(names, fmt.Sprintf("%s:%d", name, f.Line))
	}
	return strings.Join(names, " ")
}

func setBreak(t *testing.T, s *Session, text string) {
	t.Helper()
	if _, err := s.Stops.Break(text, false); err != nil {
		t.Fatalf("break %s: %v", text, err)
	}
}

func wantLine(t *testing.T, s *Session, function string, line int) {
	t.Helper()
	f, err := s.Selection.Frame()
	if err != nil {
		t.Fatal(err)
	}
	if f.Function != function || f.Line != line {
		t.Fatalf("at %s:%d, want %s:%d", f.Function, f.Line, function, line)
	}
}

func TestStopAtLargeAllocationWithInlinedFrames(t *testing.T) {
	s := open(t, "sizes")
	setBreak(t, s, "alloc if size >= 1MiB")
	r := must(t)(s.Run(nil))
	if r.Event() == nil || r.Event().Size != 1<<20 || r.Event().Function != "malloc" {
		t.Fatalf("stopped at %+v", r.Event())
	}
	wantLine(t, s, "main", 51)
	for range 2 {
		must(t)(s.Execution.Continue(1)) // 2 and 4 MiB
	}
	r = must(t)(s.Execution.Continue(1))
	if r.Event().Function != "realloc" || r.Event().Size != 1<<20+16 {
		t.Fatalf("stopped at %s", r.Event().Call())
	}
	if got := path(r.Frames); got != "buffer_resize*:15" {
		t.Errorf("frames %s", got)
	}
	st, err := s.Selection.Stack(0)
	if err != nil || st.Truncated != "" {
		t.Fatalf("stack truncated %q: %v", st.Truncated, err)
	}
	if r.Hits[0].Hits != 4 {
		t.Errorf("%d hits, want 4", r.Hits[0].Hits)
	}
	if r = must(t)(s.Execution.Continue(1)); r.Reason != inferior.Exited || r.Exit().Code != 0 {
		t.Errorf("ended by %v", r.Exit())
	}
}

func TestNextAllocAndFree(t *testing.T) {
	s := open(t, "basic")
	must(t)(s.Start(nil))
	var got []string
	for range 4 {
		got = append(got, strings.Fields(must(t)(s.Execution.NextAlloc(1, nil)).Event().Call())[0])
	}
	if want := "[malloc(100) calloc(10, realloc(0x0, realloc("; !strings.HasPrefix(fmt.Sprint(got), want) {
		t.Errorf("got %v, want %s", got, want)
	}
	c, err := cond.Parse(`func("strdup") && caller("main")`)
	if err != nil {
		t.Fatal(err)
	}
	if r := must(t)(s.Execution.NextAlloc(1, c)); r.Event() == nil || r.Event().Size != 15 {
		t.Errorf("strdup of 15 bytes: %+v", r.Event())
	}
	if r := must(t)(s.Execution.NextFree(7, nil)); r.Event().Size != 100 {
		t.Errorf("the last free is of the first block: %+v", r.Event())
	}
	if r := must(t)(s.Execution.NextAlloc(1, nil)); r.Reason != inferior.Exited {
		t.Errorf("stopped by %v", r.Reason)
	}
}

func TestSteps(t *testing.T) {
	s := open(t, "stepping")
	must(t)(s.Start(nil))
	wantLine(t, s, "main", 28)
	for _, step := range []struct {
		verb     func() (*stopped.Report, error)
		function string
		line     int
	}{
		{func() (*stopped.Report, error) { return s.Stepping.Next(2) }, "main", 30},
		{func() (*stopped.Report, error) { return s.Stepping.Next(1) }, "main", 31},
		{func() (*stopped.Report, error) { return s.Stepping.Step(1) }, "leaf", 8},
		{func() (*stopped.Report, error) { return s.Stepping.Finish() }, "main", 31},
		{func() (*stopped.Report, error) { return s.Stepping.Next(1) }, "main", 30},
		{func() (*stopped.Report, error) { return s.Stepping.Until("32") }, "main", 32},
		{func() (*stopped.Report, error) { return s.Stepping.Step(1) }, "middle", 14},
		{func() (*stopped.Report, error) { return s.Stepping.Next(1) }, "middle", 15},
		{func() (*stopped.Report, error) { return s.Stepping.Next(1) }, "middle", 16},
		{func() (*stopped.Report, error) { return s.Stepping.Next(2) }, "main", 32},
		{func() (*stopped.Report, error) { return s.Stepping.Next(1) }, "main", 33},
		{func() (*stopped.Report, error) { return s.Stepping.Step(1) }, "factorial", 21},
		{func() (*stopped.Report, error) { return s.Stepping.Advance("22") }, "factorial", 22},
		{func() (*stopped.Report, error) { return s.Stepping.Finish() }, "factorial", 23},
		{func() (*stopped.Report, error) { return s.Stepping.Advance("34") }, "factorial", 23},
	} {
		must(t)(step.verb())
		wantLine(t, s, step.function, step.line)
	}
}

func TestCaptureRoundTrip(t *testing.T) {
	s := open(t, "sizes")
	s.Settings.PastMain = true
	if err := s.Recorder.Start(); err != nil {
		t.Fatal(err)
	}
	setBreak(t, s, "realloc if size > 1MiB")
	r := must(t)(s.Run(nil))
	file := filepath.Join(t.TempDir(), "sizes.hdb")
	if _, err := s.Captures.Save(file, false); err != nil {
		t.Fatal(err)
	}
	live, err := s.Selection.Stack(0)
	if err != nil {
		t.Fatal(err)
	}

	c := New(target.Config{Version: "test"})
	defer c.Close()
	c.Settings.PastMain = true
	if _, err := c.Captures.Open(file); err != nil {
		t.Fatal(err)
	}
	saved, err := c.Selection.Stack(0)
	if err != nil {
		t.Fatal(err)
	}
	if a, b := path(live.Frames), path(saved.Frames); a != b {
		t.Errorf("the stack was\n%s, and opens as\n%s", a, b)
	}
	e, stack, err := c.Queries.EventStack(r.Event().Seq)
	if err != nil || e.Call() != r.Event().Call() {
		t.Fatalf("#%d is %v, want %s: %v", r.Event().Seq, e, r.Event().Call(), err)
	}
	if a, b := path(live.Frames), path(stack.Frames); a != b {
		t.Errorf("event's stack\n%s, want\n%s", b, a)
	}
}

// In ld.so calloc is the name of a variable: with its debug file the symbol is
// there to be found, and a trap in it would send the program astray.
func TestTracerArmedLateLeavesDataAlone(t *testing.T) {
	s := open(t, "threads")
	out := output(t, s, "2 1 1")
	must(t)(s.Start(nil))
	if err := s.Recorder.Start(); err != nil {
		t.Fatal(err)
	}
	if r := must(t)(s.Execution.Continue(1)); r.Reason != inferior.Exited || r.Exit().Code != 0 {
		t.Fatalf("%s", r.Headline())
	}
	if got := out(); got != "total 1" {
		t.Errorf("the program printed %q", got)
	}
}
