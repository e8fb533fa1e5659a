package session

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hdb/capture"
	"hdb/heap"
	"hdb/inferior"
	"hdb/internal/cond"
	"hdb/names"
	"hdb/probe"
	"hdb/query"
	"hdb/recording"
	"hdb/session/recordings"
	"hdb/session/target"
	"hdb/testprogs"
)

// onBothPlanes runs f with the probe and with plain breakpoints.
func onBothPlanes(t *testing.T, f func(*testing.T, target.ProbeMode)) {
	for _, mode := range []target.ProbeMode{target.ProbeOn, target.ProbeOff} {
		t.Run(string(mode), func(t *testing.T) { f(t, mode) })
	}
}

// recordedCalls are the recorded events as "#1 malloc(100)", without addresses.
func recordedCalls(t *testing.T, s *Session) []string {
	t.Helper()
	events, err := s.Queries.Events(nil, query.Present)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for e := range events {
		all = append(all, fmt.Sprintf("#%d %s %d", e.Seq, e.Function, e.Size))
	}
	return all
}

func wantCalls(t *testing.T, s *Session, want ...string) {
	t.Helper()
	if got := recordedCalls(t, s); !slices.Equal(got, want) {
		t.Errorf("recorded\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// recordFromMain records what main does, without the dynamic linker.
func recordFromMain(t *testing.T, s *Session) {
	t.Helper()
	must(t)(s.Start(nil))
	if err := s.Recorder.Start(); err != nil {
		t.Fatal(err)
	}
}

func recordOnly(t *testing.T, s *Session, text string) {
	t.Helper()
	c, err := cond.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Recorder.Filter(c); err != nil {
		t.Fatal(err)
	}
}

func TestFilterKeepsTheEndsOfWhatItKept(t *testing.T) {
	onBothPlanes(t, func(t *testing.T, mode target.ProbeMode) {
		s := open(t, "basic")
		s.Settings.Probe = mode
		recordOnly(t, s, `size == 300 || kind == calloc && func("main") && !module("nothing")`)
		recordFromMain(t, s)
		must(t)(s.Execution.Continue(1))
		wantCalls(t, s, "#2 calloc 200", "#3 realloc 300", "#4 realloc 4000", "#13 free 4000", "#14 free 200")
		st := s.Recorded.Status() // one of the stacks is that of the stop at main
		if st.Seen != 15 || st.Recorded != 5 || st.Stacks != 6 || st.LiveBlocks != 0 {
			t.Errorf("status %+v", st)
		}
		path := filepath.Join(t.TempDir(), "filtered.hdb")
		if _, err := s.Captures.Save(path, false); err != nil {
			t.Fatal(err)
		}
		if recorded, seen := reopen(t, path).Recorded.Counts(); recorded != 5 || seen != 15 {
			t.Errorf("the capture has %d of %d events", recorded, seen)
		}
	})
}

func TestPause(t *testing.T) {
	onBothPlanes(t, func(t *testing.T, mode target.ProbeMode) {
		s := open(t, "basic")
		s.Settings.Probe = mode
		if err := s.Recorder.Pause(); err == nil {
			t.Error("paused what does not record")
		}
		recordFromMain(t, s)
		setBreak(t, s, "basic.c:10")
		setBreak(t, s, "basic.c:16")
		must(t)(s.Execution.Continue(1))
		if err := s.Recorder.Pause(); err != nil {
			t.Fatal(err)
		}
		must(t)(s.Execution.Continue(1)) // 300, 4000, posix_memalign, aligned_alloc
		if st := s.Recorded.Status(); st.Seen != 6 || st.Recorded != 2 || st.LiveBlocks != 5 || st.KeptBlocks != 2 || st.KeptBytes != 300 || !st.Paused {
			t.Errorf("paused: %+v", st)
		}
		if err := s.Recorder.Resume(); err != nil {
			t.Fatal(err)
		}
		must(t)(s.Execution.Continue(1))
		wantCalls(t, s, "#1 malloc 100", "#2 calloc 200", "#7 malloc 15", "#8 reallocarray 77",
			"#9 free 77", "#10 free 15", "#11 free 96", "#12 free 4096", "#13 free 4000", "#14 free 200", "#15 free 100")
	})
}

// streamTo has s record to a new file, whose path it returns.
func streamTo(t *testing.T, s *Session) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "stream.hdb")
	s.Recorder.StreamTo(Stream{Open: func(capture.Info) (io.WriteCloser, error) { return os.Create(path) }})
	recordFromMain(t, s)
	return path
}

// reopen opens a capture as a user would.
func reopen(t *testing.T, path string) *Session {
	t.Helper()
	s := New(target.Config{Version: "test", Notify: func(line string) { t.Errorf("opening says: %s", line) }})
	t.Cleanup(func() { s.Close() })
	if _, err := s.Captures.Open(path); err != nil {
		t.Fatal(err)
	}
	return s
}

func TestStreamIsAWholeCapture(t *testing.T) {
	onBothPlanes(t, func(t *testing.T, mode target.ProbeMode) {
		s := open(t, "basic")
		s.Settings.Probe = mode
		path := streamTo(t, s)
		if r := must(t)(s.Execution.Continue(1)); r.Reason != inferior.Exited {
			t.Fatalf("stopped by %v", r.Reason)
		}
		st, err := s.Recorder.EndStream()
		if err != nil || st.Recorded != 15 || st.LiveBlocks != 0 || st.Bytes != recordings.FileSize(path) {
			t.Errorf("ended with %+v: %v", st, err)
		}
		saved := reopen(t, path)
		if n, _ := saved.Captures.Opened(); n != 15 {
			t.Errorf("%d events", n)
		}
		_, stack, err := saved.Queries.EventStack(7)
		if err != nil || path4(stack) != "strdup main" {
			t.Errorf("stack of #7: %s, %v", path4(stack), err)
		}
		if f := stack.Frames[1]; f.Line != 16 {
			t.Errorf("strdup called at line %d", f.Line)
		}
	})
}

// path4 is the first two functions of a stack without the C library's internals.
func path4(st names.Stack) string {
	var names []string
	for _, f := range st.Frames[:min(2, len(st.Frames))] {
		names = append(names, strings.TrimPrefix(f.Function, "__"))
	}
	return strings.Join(names, " ")
}

// Names are found although the library is gone when the file is completed.
func TestStreamNamesUnloadedCode(t *testing.T) {
	s := open(t, "dlopen", "-ldl")
	s.Settings.Args = testprogs.Build(t, "plugin", "-shared", "-fPIC") + " > /dev/null"
	path := streamTo(t, s)
	must(t)(s.Execution.Continue(1))
	if _, err := s.Recorder.EndStream(); err != nil {
		t.Fatal(err)
	}
	saved := reopen(t, path)
	rows, err := saved.Queries.Top(heap.ByLive, query.PerFunction)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(rows, func(r heap.Row) bool { return strings.HasPrefix(r.Site.Function, "plugin_") && r.Site.Line != 0 }) {
		t.Errorf("no row of the plugin: %+v", rows)
	}
}

// A stream may end while the program goes on.
func TestStreamEndsBeforeTheProgram(t *testing.T) {
	s := open(t, "basic")
	path := streamTo(t, s)
	setBreak(t, s, "basic.c:16")
	must(t)(s.Execution.Continue(1))
	st, err := s.Recorder.EndStream()
	if err != nil || st.Recorded != 6 || st.LiveBlocks != 5 {
		t.Errorf("ended with %+v: %v", st, err)
	}
	if r := must(t)(s.Execution.Continue(1)); r.Reason != inferior.Exited || r.Exit().Code != 0 {
		t.Errorf("ended by %v", r.Exit())
	}
	if n, _ := reopen(t, path).Captures.Opened(); n != 6 {
		t.Errorf("%d events", n)
	}
	// The next run is recorded in memory as ever.
	recordFromMain(t, s)
	must(t)(s.Execution.Continue(1))
	if got := recordedCalls(t, s); len(got) != 6 { // up to the breakpoint
		t.Errorf("recorded %v", got)
	}
}

// fullDisk takes so many bytes.
type fullDisk struct{ left int }

func (f *fullDisk) Write(b []byte) (int, error) {
	if f.left -= len(b); f.left < 0 {
		return 0, errors.New("no space left on device")
	}
	return len(b), nil
}

func (f *fullDisk) Close() error { return nil }

func TestStreamTellsOfAFullDisk(t *testing.T) {
	s := open(t, "basic")
	s.Recorder.StreamTo(Stream{Open: func(capture.Info) (io.WriteCloser, error) { return &fullDisk{left: 1000}, nil }})
	recordFromMain(t, s)
	if r := must(t)(s.Execution.Continue(1)); r.Reason != inferior.Exited || r.Exit().Code != 0 {
		t.Errorf("ended by %v", r.Exit())
	}
	if _, err := s.Recorder.EndStream(); err == nil || !strings.Contains(err.Error(), "no space left") {
		t.Errorf("error %v", err)
	}
}

// A disk that is full in the midst of a run stops the process.
func TestStreamStopsWhenTheDiskIsFull(t *testing.T) {
	s := open(t, "recorded")
	s.Settings.Args = "20000 > /dev/null"
	s.Recorder.StreamTo(Stream{Open: func(capture.Info) (io.WriteCloser, error) { return &fullDisk{left: 1000}, nil }})
	recordFromMain(t, s)
	if r := must(t)(s.Execution.Continue(1)); r.Reason != inferior.Interrupted {
		t.Errorf("stopped by %v", r.Reason)
	}
	if err := s.Recorder.Err(); err == nil {
		t.Error("no error of writing")
	}
	st, err := s.Recorder.EndStream()
	if seen := s.account.Rec.Status().Seen; err == nil || st.Recorded != 0 || st.Unwritten == 0 || st.Unwritten > seen {
		t.Errorf("%d events are written, %d are not, of %d: %v", st.Recorded, st.Unwritten, seen, err)
	}
}

// A file that cannot be created keeps the program from running.
func TestStreamThatCannotBegin(t *testing.T) {
	s := open(t, "basic")
	s.Recorder.StreamTo(Stream{Open: func(capture.Info) (io.WriteCloser, error) { return nil, os.ErrPermission }})
	if _, err := s.Run(nil); !errors.Is(err, os.ErrPermission) {
		t.Errorf("error %v", err)
	}
	if s.Mode() != target.Loaded {
		t.Errorf("mode %v", s.Mode())
	}
}

func TestLossesAreInTheRecording(t *testing.T) {
	s := open(t, "basic")
	var said []string
	s.target.Config.Notify = func(line string) { said = append(said, line) }
	path := streamTo(t, s)
	setBreak(t, s, "basic.c:16")
	must(t)(s.Execution.Continue(1))
	s.account.Losses.EndProbe(probe.Stats{Lost: 12, NoThread: 1})
	must(t)(s.Execution.Continue(1))
	st, err := s.Recorder.EndStream()
	if err != nil || st.Lost != 13 || len(st.Losses) != 2 {
		t.Errorf("lost %d, %v: %v", st.Lost, st.Losses, err)
	}
	if len(said) != 1 || !strings.HasPrefix(said[0], "13 calls lost: hdb was too slow") {
		t.Errorf("said %q", said)
	}
	if st := reopen(t, path).Recorded.Status(); st.Lost != 13 || len(st.Losses) != 2 || st.Losses[0] != (recording.Loss{Count: 12, Reason: capture.Reason{Kind: capture.RingFull}}) {
		t.Errorf("the capture says %d lost, %v", st.Lost, st.Losses)
	}
}

func TestTruncatedStacksAreCounted(t *testing.T) {
	onBothPlanes(t, func(t *testing.T, mode target.ProbeMode) {
		s := open(t, "deep")
		s.Settings.Probe, s.Settings.MaxDepth = mode, 16
		recordFromMain(t, s)
		must(t)(s.Execution.Continue(1))
		if st := s.Recorded.Status(); st.Truncated == 0 || st.Truncated >= st.Stacks {
			t.Errorf("%d of %d stacks truncated", st.Truncated, st.Stacks)
		}
	})
}

// What other code at the same addresses would answer is asked again.
func TestFilterAsksAgainWhenModulesChange(t *testing.T) {
	onBothPlanes(t, func(t *testing.T, mode target.ProbeMode) {
		s := open(t, "dlopen", "-ldl")
		s.Settings.Probe = mode
		s.Settings.Args = testprogs.Build(t, "plugin", "-shared", "-fPIC") + " > /dev/null"
		recordOnly(t, s, `module("plugin") || func("plugin_run")`)
		recordFromMain(t, s)
		must(t)(s.Execution.Continue(1))
		for _, call := range recordedCalls(t, s) {
			if !strings.HasSuffix(call, " 11111") && !strings.HasSuffix(call, " 22222") {
				t.Errorf("recorded %s", call)
			}
		}
		if len(recordedCalls(t, s)) < 4 {
			t.Errorf("recorded %v", recordedCalls(t, s))
		}
	})
}

// Events that passed a stop are those seen while it was enabled, less its hits.
func TestPassedEvents(t *testing.T) {
	onBothPlanes(t, func(t *testing.T, mode target.ProbeMode) {
		s := open(t, "basic")
		s.Settings.Probe = mode
		must(t)(s.Start(nil))
		setBreak(t, s, "alloc if size == 4000") // #4
		setBreak(t, s, "free if size == 4096")  // #12
		wants := func(id int, hits, passed uint64) {
			t.Helper()
			st, err := s.Stops.At(id)
			if err != nil {
				t.Fatal(err)
			}
			d, ok := s.Stops.Detail(st)
			if !ok || st.Hits != hits || d.Passed != passed {
				t.Errorf("stop %d: %d hits, %d passed, want %d and %d", id, st.Hits, d.Passed, hits, passed)
			}
		}
		must(t)(s.Execution.Continue(1))
		wants(1, 1, 3)
		wants(2, 0, 4)
		if err := s.Stops.Enable(1, false); err != nil {
			t.Fatal(err)
		}
		must(t)(s.Execution.Continue(1))
		wants(1, 1, 3)
		wants(2, 1, 11)
		if err := s.Stops.Enable(1, true); err != nil {
			t.Fatal(err)
		}
		must(t)(s.Execution.Continue(1))
		wants(1, 1, 6)
		wants(2, 1, 14)
		must(t)(s.Start(nil)) // counts anew, from the dynamic linker's on
		wants(2, 0, s.Recorded.Status().Seen)
	})
}

// Other threads may make events between the one that is stopped at and the stop.
func TestStopSeqIsThatOfTheStop(t *testing.T) {
	s := New(target.Config{})
	defer s.Close()
	s.account.Rec.Count(11)
	if got := s.demand.stopSeq(); got != 11 {
		t.Errorf("#%d, want the last", got)
	}
	s.demand.hits = []hit{{}, {event: &recording.Event{Event: capture.Event{Seq: 4}}}}
	if got := s.demand.stopSeq(); got != 4 {
		t.Errorf("#%d, want that of the event stopped at", got)
	}
}
