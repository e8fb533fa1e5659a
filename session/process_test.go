package session

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"hdb/inferior"
	"hdb/inferior/machine"
	"hdb/session/stopped"
	"hdb/session/target"
	"hdb/testprogs"
)

// output makes the inferior write to a file, and returns what it wrote.
func output(t *testing.T, s *Session, args string) func() string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "out")
	s.Settings.Args = args + " > " + file
	return func() string {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(string(b))
	}
}

// runOut continues to the end, and returns how often it stopped on the way.
func runOut(t *testing.T, s *Session, r *stopped.Report) (stops int) {
	t.Helper()
	for r.Reason != inferior.Exited {
		if r.Reason == inferior.Gone {
			t.Fatalf("killed: %v", r.Exit())
		}
		stops++
		r = must(t)(s.Execution.Continue(1))
	}
	if r.Exit().Code != 0 || r.Exit().Signal != 0 {
		t.Errorf("ended: %v", r.Exit())
	}
	return stops
}

func TestForkFollowsTheChosenProcess(t *testing.T) {
	for _, tc := range []struct {
		name   string
		follow bool // the child
		keep   bool // the other, held
		stops  int
	}{
		{"parent", false, false, 11},
		{"child", true, false, 7},
		{"parent, child held", false, true, 11 + 7},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := open(t, "fork")
			out := output(t, s, "")
			s.Settings.FollowChild, s.Settings.KeepForks = tc.follow, tc.keep
			setBreak(t, s, "malloc if size == 5000")
			r := must(t)(s.Run(nil))
			stops := 0
			for s.Mode() == target.Live {
				if r.Reason == inferior.Trapped {
					stops++
				}
				if tc.keep && stops == 1 { // the parent waits for the child
					if in, err := s.Inferiors(); err != nil || len(in) != 2 {
						t.Fatalf("inferiors %+v: %v", in, err)
					}
				}
				if tc.keep && stops == 11 && r.Reason == inferior.Trapped {
					in, err := s.Inferiors()
					if err != nil {
						t.Fatal(err)
					}
					must(t)(s.SwitchInferior(in[1].PID))
				}
				r = must(t)(s.Execution.Continue(1))
			}
			if stops != tc.stops {
				t.Errorf("%d stops, want %d", stops, tc.stops)
			}
			if got := out(); !tc.follow && got != "parent 11 child 7" {
				t.Errorf("the program printed %q", got)
			}
		})
	}
}

func TestExecKeepsStops(t *testing.T) {
	for _, args := range []string{"", "thread"} {
		t.Run("exec"+args, func(t *testing.T) {
			s := open(t, "exec")
			out := output(t, s, args)
			setBreak(t, s, "work")
			if stops := runOut(t, s, must(t)(s.Run(nil))); stops != 2 {
				t.Errorf("%d stops, want one in each image", stops)
			}
			if got := out(); got != "second image" {
				t.Errorf("the program printed %q", got)
			}
		})
	}
}

func TestPendingStopsResolveOnDlopen(t *testing.T) {
	s := open(t, "dlopen")
	out := output(t, s, "")
	setBreak(t, s, "plugin_run")
	setBreak(t, s, `alloc if size == 11111 && module("libplugin")`)
	if st := s.Stops.All()[0]; !st.Pending {
		t.Errorf("breakpoint on %+v is not pending before the library is loaded", st.Places)
	}
	if stops := runOut(t, s, must(t)(s.Run(nil))); stops != 4 {
		t.Errorf("%d stops, want 2 in each load of the library", stops)
	}
	if got := out(); got != "plugin 1\nplugin 2" {
		t.Errorf("the program printed %q", got)
	}
}

// Threads exit while stops are hit; nothing is lost and the sum is right.
func TestThreadsComeAndGo(t *testing.T) {
	runs := 20
	if testing.Short() {
		runs = 3
	}
	for range runs {
		s := open(t, "threads")
		out := output(t, s, "52 2 3")
		setBreak(t, s, "malloc if size == 1002")
		if stops := runOut(t, s, must(t)(s.Run(nil))); stops != 104 {
			t.Fatalf("%d stops, want 104", stops)
		}
		if got := out(); got != "total 7956" {
			t.Fatalf("the program printed %q", got)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestFatalSignalIsExplained(t *testing.T) {
	s := open(t, "segv")
	r := must(t)(s.Run(nil))
	if r.Reason != inferior.Signaled || !strings.Contains(r.Headline(), "SIGSEGV writing 0x10") {
		t.Fatalf("headline %q", r.Headline())
	}
	wantLine(t, s, "set", 11)
	if r = must(t)(s.Execution.Continue(1)); r.Reason != inferior.Gone && r.Exit().Signal == 0 {
		t.Errorf("ended: %v", r.Exit())
	}
}

func TestGoStepsByGoroutine(t *testing.T) {
	s := open(t, "golang")
	setBreak(t, s, "main.chain")
	must(t)(s.Run(nil))
	wantLine(t, s, "main.chain", 17)
	must(t)(s.Stepping.Next(1))
	wantLine(t, s, "main.chain", 19)
	must(t)(s.Stepping.Finish())
	if f, err := s.Selection.Frame(); err != nil || f.Function != "main.main" {
		t.Errorf("finished in %s: %v", f.Function, err)
	}
	gs, lost, err := s.Goroutines.List()
	if err != nil || lost != 0 || len(gs) == 0 || gs[0].ID != 1 || gs[0].Where == nil || gs[0].Where.Function != "main.main" {
		t.Errorf("goroutines %+v: %v", gs, err)
	}
}

// A process that is none of the session's is no reason to lift the stops.
func TestSwitchToUnknownInferiorKeepsStops(t *testing.T) {
	s := open(t, "stops")
	setBreak(t, s, "target")
	must(t)(s.Run(nil))
	if _, err := s.SwitchInferior(1); err == nil {
		t.Fatal("switched to process 1")
	}
	if r := must(t)(s.Execution.Continue(1)); len(r.Hits) != 1 {
		t.Errorf("the breakpoint is gone: %s", r.Headline())
	}
}

func TestWatchTakesTheVariablesSize(t *testing.T) {
	testprogs.OnMachines(t, machine.DebugRegisters, watchTakesTheVariablesSize)
}

func watchTakesTheVariablesSize(t *testing.T) {
	s := open(t, "globals")
	must(t)(s.Start(nil))
	for name, want := range map[string]int{"byte_value": 1, "short_value": 2, "int_value": 4, "long_value": 8} {
		st, err := s.Stops.Watch(name, 0, inferior.Write)
		if err != nil {
			t.Fatalf("watch %s: %v", name, err)
		}
		if got := s.Stops.binds[st.ID].watch.Size; got != want {
			t.Errorf("%s is watched as %d bytes, want %d", name, got, want)
		}
	}
	if r := must(t)(s.Execution.Continue(1)); len(r.Watched()) == 0 || r.Watched()[0].Size != 1 {
		t.Errorf("the first change is of byte_value: %s", r.Headline())
	}
}

// TestSourcesAsHdbSees: when a process has ended or another one is the one under the debugger,
// sources are not looked for through its eyes any more.
func TestSourcesAsHdbSees(t *testing.T) {
	s := open(t, "fork")
	s.Settings.KeepForks = true
	setBreak(t, s, "malloc if size == 5000")
	must(t)(s.Run(nil))
	root := &s.target.Names.Sources.Root
	held := s.target.Proc.Held()
	for len(held) == 0 {
		must(t)(s.Execution.Continue(1))
		held = s.target.Proc.Held()
	}
	*root = "/proc/1/root"
	if err := s.switchTo(held[0]); err != nil || *root != "" {
		t.Errorf("after the switch: %q, %v", *root, err)
	}
	for s.Mode() == target.Live {
		*root = "/proc/1/root"
		if _, err := s.Kill(); err != nil {
			t.Fatal(err)
		}
	}
	if *root != "" {
		t.Errorf("after the end: %q", *root)
	}
}

// A server that forks hundreds of times a second is reported ten times.
func TestForksAreToldTenTimes(t *testing.T) {
	runtime.LockOSThread() // of this test's goroutine: ptrace is bound to it
	defer runtime.UnlockOSThread()
	told, last := 0, ""
	s := New(target.Config{Version: "test", Notify: func(line string) {
		if strings.Contains(line, " forked ") {
			told++
			last = line
		}
	}})
	defer s.Close()
	if _, err := s.Load(testprogs.Build(t, "storm_forks")); err != nil {
		t.Fatal(err)
	}
	output(t, s, "40")
	if r := must(t)(s.Run(nil)); r.Reason != inferior.Exited {
		t.Fatal(r.Reason)
	}
	if told != toldBirths || !strings.HasSuffix(last, "further children are not reported") {
		t.Errorf("told %d times, at last %q", told, last)
	}
}
