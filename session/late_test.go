package session

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"hdb/capture/file"
	"hdb/internal/diskcache"
	"hdb/internal/outfile"
	"hdb/names"
	"hdb/session/target"
	"hdb/testprogs"
)

// run runs a tool of the tests.
func run(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := exec.Command(name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return string(out)
}

// splittable copies the source of a test program into dir and builds it there, with a
// separate debug file when split is set: the path of that one comes back, too.
func splittable(t *testing.T, dir string, split bool, flags ...string) (prog, debug string) {
	t.Helper()
	src := filepath.Join(dir, "inlined.c")
	text, err := os.ReadFile(testprogs.Source(t, "inlined"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(src, text, 0o644); err != nil {
		t.Fatal(err)
	}
	prog = filepath.Join(dir, "prog")
	run(t, "gcc", append([]string{"-O2", "-g", "-Wl,--build-id", src, "-o", prog}, flags...)...)
	if split {
		debug = filepath.Join(dir, "prog.full")
		run(t, "objcopy", "--only-keep-debug", prog, debug)
		run(t, "strip", prog)
	}
	return prog, debug
}

// recordedCapture runs prog and saves what it did without any names, as an hdb
// that was killed leaves it.
func recordedCapture(t *testing.T, s *Session, prog string) string {
	t.Helper()
	if _, err := s.Load(prog); err != nil {
		t.Fatal(err)
	}
	if err := s.Recorder.Start(); err != nil {
		t.Fatal(err)
	}
	setBreak(t, s, "alloc if size > 1000 && size < 1200")
	must(t)(s.Run(nil))
	path := filepath.Join(t.TempDir(), "bare.hdb")
	if err := file.Save(outfile.File{Path: path}, s.Recorded.Source(), nil); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Kill(); err != nil {
		t.Fatal(err)
	}
	return path
}

// reader opens a capture in a session of its own; what it says goes to said.
func reader(t *testing.T, path string) (s *Session, said *bytes.Buffer) {
	t.Helper()
	said = &bytes.Buffer{}
	s = New(target.Config{Version: "test", Notify: func(line string) { said.WriteString(line + "\n") }})
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	if _, err := s.Captures.Open(path); err != nil {
		t.Fatal(err)
	}
	return s, said
}

const wholeStack = "third*:12 second*:19 first*:26 other_place:41 main:50"

// stackOf is the stack that a capture begins with, down to main.
func stackOf(t *testing.T, s *Session) string {
	t.Helper()
	st, err := s.Selection.Stack(0)
	if err != nil {
		t.Fatal(err)
	}
	return path(st.Frames[:min(5, len(st.Frames))])
}

func TestCaptureWithoutNamesFindsThemLate(t *testing.T) {
	dir := t.TempDir()
	prog, _ := splittable(t, dir, false)
	bare := recordedCapture(t, open(t, "inlined", "-O2"), prog)
	s, said := reader(t, bare)
	if got := stackOf(t, s); got != wholeStack || said.Len() > 0 {
		t.Fatalf("stack %s, want %s; said %q", got, wholeStack, said)
	}
	s.Selection.ShowPastMain(true)
	st, _ := s.Selection.Stack(0)
	if f := st.Frames[3]; f.Frame.Source.String() != "dwarf" || f.Offset == 0 {
		t.Errorf("frame %+v", f)
	}
	if got := path(st.Frames[5:]); !strings.Contains(got, "libc") {
		t.Errorf("frames of the C library: %s", got)
	}
	// Functions and places are known, too, where the capture ran.
	fns, err := s.target.Names.Symbols.Functions(regexp.MustCompile("^other_place$"))
	if err != nil || len(fns) != 1 || fns[0].DeclLine != 39 {
		t.Errorf("functions %+v, %v", fns, err)
	}
	info, err := s.Captures.Embed("", false)
	if err != nil || info.Path != bare {
		t.Fatalf("embed: %+v, %v", info, err)
	}
	if got := stackOf(t, s); got != wholeStack {
		t.Errorf("after embed: %s", got)
	}
	for _, f := range []string{prog, filepath.Join(dir, "inlined.c")} {
		if err := os.Remove(f); err != nil {
			t.Fatal(err)
		}
	}
	elsewhere, _ := reader(t, bare)
	if got := stackOf(t, elsewhere); got != wholeStack {
		t.Errorf("elsewhere: %s", got)
	}
	src, err := elsewhere.target.Names.Source(filepath.Join(dir, "inlined.c"))
	if err != nil || src.Whole() {
		t.Fatalf("source %+v, %v", src, err)
	}
	if line, ok := src.Line(41); !ok || !strings.Contains(line, "first(n + 100)") {
		t.Errorf("line 41: %q", line)
	}
}

func TestWrongBuildIDIsRefusedWithBothValues(t *testing.T) {
	dir := t.TempDir()
	prog, _ := splittable(t, dir, false)
	bare := recordedCapture(t, open(t, "inlined", "-O2"), prog)
	before := buildID(t, prog)
	splittable(t, dir, false, "-DREBUILT", "-O1")
	after := buildID(t, prog)
	s, said := reader(t, bare)
	if got := stackOf(t, s); strings.Contains(got, "other_place") {
		t.Errorf("stack %s from the wrong file", got)
	}
	want := prog + ": build ID " + after + ", the capture has build ID " + before + ": not used\n"
	if before == after || said.String() != want {
		t.Errorf("said %q, want %q", said, want)
	}
	again, said := reader(t, bare)
	if places, err := again.Locations.Places("other_place"); len(places) != 0 || err != nil || said.String() != want {
		t.Errorf("places %v, %v, said %q", places, err, said)
	}
	changes, err := s.Symbols.Refresh()
	if err != nil {
		t.Fatal(err)
	}
	found := false
	for _, c := range changes {
		found = found || c.Module == "prog" && c.Err != nil && strings.Contains(c.Err.Error(), after) && strings.Contains(c.Err.Error(), before)
	}
	if !found {
		t.Errorf("refresh says nothing of it: %+v", changes)
	}
}

func buildID(t *testing.T, path string) string {
	t.Helper()
	found := regexp.MustCompile(`Build ID: ([0-9a-f]+)`).FindStringSubmatch(run(t, "readelf", "-n", path))
	if found == nil {
		t.Fatalf("%s: no build ID", path)
	}
	return found[1]
}

// TestProgramWithoutBuildID can only be told by its age.
func TestProgramWithoutBuildID(t *testing.T) {
	dir := t.TempDir()
	prog, _ := splittable(t, dir, false, "-Wl,--build-id=none")
	bare := recordedCapture(t, open(t, "inlined", "-O2"), prog)
	s, _ := reader(t, bare)
	if got := stackOf(t, s); got != wholeStack {
		t.Errorf("stack %s", got)
	}
	splittable(t, dir, false, "-Wl,--build-id=none")
	s, said := reader(t, bare)
	if got := stackOf(t, s); got == wholeStack || !strings.Contains(said.String(), "no build ID and changed ") {
		t.Errorf("stack %s, said %q", got, said)
	}
}

// install puts the debug file where its build ID says, below a new debug directory.
func install(t *testing.T, debug, id string) string {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, ".build-id", id[:2], id[2:]+".debug")
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(debug, path); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestRefreshFindsDebugFileInCapture(t *testing.T) {
	dir := t.TempDir()
	prog, debug := splittable(t, dir, true)
	s := open(t, "inlined", "-O2")
	recordedCapture(t, s, prog)
	kept := filepath.Join(dir, "kept.hdb")
	if _, err := s.Captures.Save(kept, false); err != nil {
		t.Fatal(err)
	}
	r, _ := reader(t, kept)
	if got := stackOf(t, r); strings.Contains(got, "other_place") {
		t.Fatalf("stack %s of a stripped program", got)
	}
	id := buildID(t, prog)
	r.Settings.DebugDirs = []string{install(t, debug, id)}
	if err := os.Remove(prog); err != nil { // the debug file alone will do
		t.Fatal(err)
	}
	if _, err := r.Symbols.Refresh(); err != nil {
		t.Fatal(err)
	}
	if got := stackOf(t, r); got != wholeStack {
		t.Errorf("after refresh: %s", got)
	}
	if _, err := r.Captures.Embed(filepath.Join(dir, "better.hdb"), false); err != nil {
		t.Fatal(err)
	}
	better, _ := reader(t, filepath.Join(dir, "better.hdb"))
	if got := stackOf(t, better); got != wholeStack {
		t.Errorf("embedded: %s", got)
	}
}

func TestRefreshFindsDebugFileOfProcess(t *testing.T) {
	prog, debug := splittable(t, t.TempDir(), true)
	s := open(t, "inlined", "-O2")
	if _, err := s.Load(prog); err != nil {
		t.Fatal(err)
	}
	if err := s.Recorder.Start(); err != nil {
		t.Fatal(err)
	}
	setBreak(t, s, "alloc if size > 1000 && size < 1200")
	setBreak(t, s, "inlined.c:43")
	must(t)(s.Run(nil))
	if got := stackOf(t, s); strings.Contains(got, "other_place") {
		t.Fatalf("stack %s of a stripped program", got)
	}
	if changes, err := s.Symbols.Refresh(); err != nil || len(changes) != 0 {
		t.Errorf("nothing is new, but %+v, %v", changes, err)
	}
	s.Settings.DebugDirs = []string{install(t, debug, buildID(t, prog))}
	changes, err := s.Symbols.Refresh()
	if err != nil || len(changes) != 1 || changes[0].After != "DWARF" || changes[0].DebugFile == "" {
		t.Errorf("changes %+v, %v", changes, err)
	}
	if got := stackOf(t, s); got != wholeStack {
		t.Errorf("after refresh: %s", got)
	}
	_, st, err := s.Queries.EventStack(s.account.Rec.Seq())
	if err != nil || path(st.Frames[:5]) != wholeStack {
		t.Errorf("recorded stack: %s, %v", path(st.Frames), err)
	}
	r := must(t)(s.Execution.Continue(1)) // the pending breakpoint has its place now
	if len(r.Hits) != 1 || r.Hits[0].ID != 2 {
		t.Errorf("stopped by %+v", r)
	}
}

// TestChangedSourceDoesNotReplaceKeptLines: a capture shows the lines that ran.
func TestChangedSourceDoesNotReplaceKeptLines(t *testing.T) {
	dir := t.TempDir()
	prog, _ := splittable(t, dir, false)
	s := open(t, "inlined", "-O2")
	recordedCapture(t, s, prog)
	kept := filepath.Join(dir, "kept.hdb")
	if _, err := s.Captures.Save(kept, false); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "inlined.c")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, append([]byte("// new\n"), text...), 0o644); err != nil {
		t.Fatal(err)
	}
	r, _ := reader(t, kept)
	if _, err := r.Captures.Embed("", false); err != nil {
		t.Fatal(err)
	}
	src, err := r.target.Names.Source(file)
	if err != nil || !src.Changed {
		t.Fatalf("source %+v, %v", src, err)
	}
	if line, _ := src.Line(41); !strings.Contains(line, "first(n + 100)") {
		t.Errorf("line 41: %q", line)
	}
}

// TestCaptureFetchesDebugFiles: the program is gone, a server has its debug file.
func TestCaptureFetchesDebugFiles(t *testing.T) {
	r := newRemote(t)
	r.open()
	bare := recordedCapture(t, open(t, "inlined", "-O2"), r.prog)
	s, _ := r.visit(t, true, names.DebuginfodOn)
	if err := os.Remove(r.prog); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Captures.Open(bare); err != nil {
		t.Fatal(err)
	}
	if got := stackOf(t, s); got != wholeStack {
		t.Errorf("stack %s, want %s", got, wholeStack)
	}
}

// TestRefreshOfAFreshProgram has nothing new to tell of a program that was opened as
// soon as it was linked.
func TestRefreshOfAFreshProgram(t *testing.T) {
	s := open(t, "basic")
	prog, _ := splittable(t, t.TempDir(), false)
	if _, err := s.Load(prog); err != nil {
		t.Fatal(err)
	}
	now := time.Now() // which is when it was changed last
	if err := os.Chtimes(prog, now, now); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Load(prog); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if changes, err := s.Symbols.Refresh(); err != nil || len(changes) != 0 {
			t.Errorf("%v: %+v", err, changes)
		}
		for id := ""; id == ""; { // until it is old enough to be told from what is written next
			st, err := os.Stat(prog)
			if err != nil {
				t.Fatal(err)
			}
			id = diskcache.FileID(st)
		}
	}
}
