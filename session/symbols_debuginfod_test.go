package session

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"hdb/names"
	"hdb/symbols"
	"hdb/symbols/debuginfod"
)

// A remote is a program whose debug file and source only a server has.
type remote struct {
	url, prog, source string
	asked             atomic.Int32
	gate              chan bool // closed when the server may answer
	asking            func()    // called first for each request; may be nil
	once              sync.Once
}

func (r *remote) open() { r.once.Do(func() { close(r.gate) }) }

func newRemote(t *testing.T) *remote {
	t.Helper()
	dir := t.TempDir()
	r := &remote{gate: make(chan bool), source: filepath.Join(dir, "inlined.c")}
	var debug string
	r.prog, debug = splittable(t, dir, true)
	id := buildID(t, r.prog)
	away := t.TempDir()
	held := map[string]string{}
	for path, file := range map[string]string{"/buildid/" + id + "/debuginfo": debug, "/buildid/" + id + "/source" + r.source: r.source} {
		held[path] = filepath.Join(away, filepath.Base(file))
		if err := os.Rename(file, held[path]); err != nil {
			t.Fatal(err)
		}
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		r.asked.Add(1)
		if r.asking != nil {
			r.asking()
		}
		select {
		case <-r.gate:
		case <-req.Context().Done():
			return
		}
		file, ok := held[req.URL.Path]
		if !ok {
			http.NotFound(w, req)
			return
		}
		http.ServeFile(w, req, file)
	}))
	t.Cleanup(func() {
		r.open()
		server.CloseClientConnections()
		server.Close()
	})
	r.url = server.URL
	return r
}

// visit is a session that may ask the server. What it says goes to the channel.
func (r *remote) visit(t *testing.T, wait bool, mode names.DebuginfodMode) (*Session, chan string) {
	t.Helper()
	s := open(t, "basic")
	said := make(chan string, 100)
	s.target.Config.Notify = func(line string) {
		t.Log(line)
		select {
		case said <- line:
		default:
		}
	}
	s.target.Names.Sources.Dirs = nil
	s.Settings.Args = ""
	s.target.Names.Debuginfod.Configure(debuginfod.Config{URLs: []string{r.url}, CacheDir: filepath.Join(t.TempDir(), "cache"), Timeout: 20 * time.Second}, wait)
	s.Symbols.SetDebuginfod(mode)
	if _, err := s.Load(r.prog); err != nil {
		t.Fatal(err)
	}
	return s, said
}

// lines is the stack's functions and lines in the program, and the first line of its
// source.
func lines(t *testing.T, s *Session) string {
	t.Helper()
	st, err := s.Selection.Stack(0)
	if err != nil {
		t.Fatal(err)
	}
	out := ""
	for _, f := range st.Frames {
		if f.Module != "prog" {
			continue
		}
		out += f.Function + " "
		if f.Line > 0 {
			if src, err := s.target.Names.Source(f.File); err == nil {
				if text, ok := src.Line(f.Line); ok {
					out += strings.TrimSpace(text) + " "
				}
			} else {
				out += "(" + err.Error() + ") "
			}
		}
	}
	return out
}

func heard(t *testing.T, said chan string, what string) {
	t.Helper()
	for end := time.After(20 * time.Second); ; {
		select {
		case line := <-said:
			if strings.Contains(line, what) {
				return
			}
		case <-end:
			t.Fatalf("nobody said %q", what)
		}
	}
}

const inAllocation = "alloc if size > 1000 && size < 1200"

func TestDebuginfodOff(t *testing.T) {
	r := newRemote(t)
	s, _ := r.visit(t, false, names.DebuginfodOff)
	setBreak(t, s, inAllocation)
	must(t)(s.Run(nil))
	if got := lines(t, s); strings.Contains(got, "main") || r.asked.Load() != 0 {
		t.Errorf("asked %d times for %q", r.asked.Load(), got)
	}
}

// TestDebuginfodWaits is what scripts have: the names are there when they are needed.
func TestDebuginfodWaits(t *testing.T) {
	r := newRemote(t)
	r.open()
	s, _ := r.visit(t, true, names.DebuginfodOn)
	must(t)(s.Start(nil))
	if got := lines(t, s); !strings.HasPrefix(got, "main ") || strings.Contains(got, "(") && strings.Contains(got, "no such file") {
		t.Errorf("stands in %q", got)
	}
	rows := s.target.Names.Debuginfod.Downloads()
	if len(rows) < 2 || rows[0].File != "" || rows[0].Path == "" || rows[len(rows)-1].File != r.source {
		t.Errorf("downloads %+v", rows)
	}
}

// TestDebuginfodInBackground has a server that takes its time: nobody waits, and the
// next stop has the names.
func TestDebuginfodInBackground(t *testing.T) {
	r := newRemote(t)
	s, said := r.visit(t, false, names.DebuginfodOn)
	setBreak(t, s, inAllocation)
	begin := time.Now()
	must(t)(s.Run(nil))
	p, _ := s.Program()
	if got := lines(t, s); strings.Contains(got, "main") || !strings.Contains(fmt.Sprint(p.Attempts), "being downloaded") {
		t.Errorf("stands in %q, looked for debug info in %v", got, p.Attempts)
	}
	if d := time.Since(begin); d > 10*time.Second {
		t.Errorf("took %v", d)
	}
	if rows := s.target.Names.Debuginfod.Downloads(); len(rows) == 0 || rows[0].Path != "" || rows[0].Err != nil {
		t.Errorf("downloads %+v", rows)
	}
	r.open()
	heard(t, said, "arrived")
	if got := lines(t, s); strings.Contains(got, "main") {
		t.Errorf("before the next stop: %q", got)
	}
	must(t)(s.Stepping.StepInstruction(1))
	if got := lines(t, s); !strings.Contains(got, "main ") {
		t.Errorf("at the next stop: %q", got)
	}
	heard(t, said, "arrived") // the source
	if got := lines(t, s); strings.Contains(got, "(") && strings.Contains(got, "being downloaded") {
		t.Errorf("with the source: %q", got)
	}
}

func TestDebuginfodRefresh(t *testing.T) {
	r := newRemote(t)
	s, said := r.visit(t, false, names.DebuginfodAsk)
	setBreak(t, s, inAllocation)
	must(t)(s.Run(nil))
	lines(t, s)
	if s.target.Names.Debuginfod.Waiting() == 0 || r.asked.Load() != 0 {
		t.Errorf("%d files wait for an answer, asked %d times", s.target.Names.Debuginfod.Waiting(), r.asked.Load())
	}
	r.open()
	s.Symbols.SetDebuginfod(names.DebuginfodOn)
	heard(t, said, "arrived")
	changes, err := s.Symbols.Refresh()
	if err != nil {
		t.Fatal(err)
	}
	found := false
	for _, c := range changes {
		found = found || c.Path == r.prog && c.After == symbols.DebugDWARF.String() && filepath.Base(c.DebugFile) == "debuginfo"
	}
	if got := lines(t, s); !found || !strings.Contains(got, "main ") {
		t.Errorf("changes %+v, stands in %q", changes, got)
	}
}

func TestDebuginfodInterrupted(t *testing.T) {
	r := newRemote(t)
	s, _ := r.visit(t, true, names.DebuginfodOn)
	go func() {
		for r.asked.Load() == 0 {
			time.Sleep(time.Millisecond)
		}
		_ = s.Interrupt()
	}()
	if _, err := s.target.Names.Debuginfod.DebugInfo(buildID(t, r.prog)); err == nil || !strings.Contains(err.Error(), context.Canceled.Error()) {
		t.Errorf("error %v", err)
	}
}

// TestDebuginfodNamesCapture opens a capture where the program is no more.
func TestDebuginfodNamesCapture(t *testing.T) {
	r := newRemote(t)
	r.open()
	maker, _ := r.visit(t, true, names.DebuginfodOff)
	bare := recordedCapture(t, maker, r.prog)
	if err := os.Remove(r.prog); err != nil {
		t.Fatal(err)
	}
	s, _ := reader(t, bare)
	if got := stackOf(t, s); strings.Contains(got, "other_place") {
		t.Fatalf("has names already: %s", got)
	}
	s.target.Names.Debuginfod.Configure(debuginfod.Config{URLs: []string{r.url}, CacheDir: t.TempDir(), Timeout: 20 * time.Second}, true)
	s.Symbols.SetDebuginfod(names.DebuginfodOn)
	if got := stackOf(t, s); !strings.Contains(got, "other_place") {
		t.Errorf("with the server: %s", got)
	}
	st, err := s.Selection.Stack(0)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range st.Frames {
		if f.Function == "other_place" {
			if src, err := s.target.Names.Source(f.File); err != nil || src.Last() < 30 {
				t.Errorf("source: %v", err)
			}
		}
	}
}

// TestDebuginfodAheadOfFilter has a script record by the name of a function: what the
// name needs is fetched before the program goes on, and the goroutine that takes its
// events asks nobody.
func TestDebuginfodAheadOfFilter(t *testing.T) {
	r := newRemote(t)
	r.open()
	var asking atomic.Bool
	r.asking = func() {
		stacks := make([]byte, 1<<20)
		if strings.Contains(string(stacks[:runtime.Stack(stacks, true)]), "probeEnv") {
			asking.Store(true)
		}
	}
	s, _ := r.visit(t, true, names.DebuginfodOn)
	if err := s.Recorder.Start(); err != nil {
		t.Fatal(err)
	}
	recordOnly(t, s, `func("other_place")`)
	must(t)(s.Run(nil))
	if st := s.Recorded.Status(); st.Recorded == 0 || asking.Load() {
		t.Errorf("recorded %d events, asked for their names while they came: %v", st.Recorded, asking.Load())
	}
}

// TestDebuginfodHurried does not wait where nobody may, and has the file later.
func TestDebuginfodHurried(t *testing.T) {
	r := newRemote(t)
	s, _ := r.visit(t, true, names.DebuginfodOn)
	id := buildID(t, r.prog)
	done := s.target.Names.Debuginfod.DoNotWait()
	begin := time.Now()
	if _, err := s.target.Names.Debuginfod.DebugInfo(id); !errors.Is(err, names.ErrOnTheWay) || time.Since(begin) > 5*time.Second {
		t.Errorf("after %v: %v", time.Since(begin), err)
	}
	done()
	r.open()
	if path, err := s.target.Names.Debuginfod.DebugInfo(id); err != nil || path == "" {
		t.Errorf("without hurry: %v", err)
	}
}

// TestDebuginfodRelativeSource asks for a source that the compiler was told to call by a
// relative name, in no directory.
func TestDebuginfodRelativeSource(t *testing.T) {
	dir := t.TempDir()
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	prog, _ := splittable(t, dir, false, "-fdebug-prefix-map="+dir+"/=", "-fdebug-prefix-map="+here+"=.")
	served := filepath.Join(dir, "server", "buildid", buildID(t, prog), "source")
	if err := os.MkdirAll(served, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(dir, "inlined.c"), filepath.Join(served, "inlined.c")); err != nil {
		t.Fatal(err)
	}
	s := open(t, "basic")
	s.target.Names.Sources.Dirs = nil
	s.target.Names.Debuginfod.Configure(debuginfod.Config{URLs: []string{"file://" + filepath.Join(dir, "server")}, CacheDir: t.TempDir()}, true)
	s.Symbols.SetDebuginfod(names.DebuginfodOn)
	if _, err := s.Load(prog); err != nil {
		t.Fatal(err)
	}
	if files, err := s.target.Names.Symbols.SourceFiles(); err != nil || !slices.Contains(files, "inlined.c") {
		t.Fatalf("%v: sources are %q", err, files)
	}
	if src, err := s.target.Names.Source("inlined.c"); err != nil || src.Last() < 30 {
		t.Errorf("source: %v", err)
	}
}
