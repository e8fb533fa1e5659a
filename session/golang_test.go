package session

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"hdb/heap"
	"hdb/internal/cond"
	"hdb/names"
	"hdb/query"
	"hdb/report"
	"hdb/session/heaps"
	"hdb/session/recordings"
	"hdb/session/target"
	"hdb/testprogs"
)

// cgoText allocates 10 blocks in C, gives 4 of them back, and 3 MiB in Go.
const cgoText = `package main

/*
#include <stdlib.h>
static void *kept[10];
static void grab(void) { for (int i = 0; i < 10; i++) kept[i] = malloc(1000); }
static void let(void) { for (int i = 0; i < 4; i++) free(kept[i]); }
*/
import "C"

var big []byte

func main() {
	C.grab()
	C.let()
	big = make([]byte, 3<<20)
}
`

// buildCgo builds a Go program with C code, whatever go env says.
func buildCgo(t *testing.T) string {
	t.Helper()
	return buildGo(t, cgoText)
}

// buildGo builds a Go program, whatever go env says.
func buildGo(t *testing.T, text string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "mixed.go"), []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(testprogs.Tool(t, "go"), "build", "-o", "mixed", "mixed.go")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "CGO_ENABLED=1", "GOENV=off", "GOFLAGS=", "CC="+testprogs.Tool(t, "gcc"))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return filepath.Join(dir, "mixed")
}

// recordGo records a program to its end, with what is said of it.
func recordGo(t *testing.T, program string, probe target.ProbeMode) (s *Session, said string) {
	s = open(t, "golang")
	s.Settings.Probe = probe
	s.target.Config.Notify = func(line string) { said += line + "\n" }
	if _, err := s.Load(program); err != nil {
		t.Fatal(err)
	}
	if err := s.Recorder.Start(); err != nil {
		t.Fatal(err)
	}
	must(t)(s.Run(nil))
	return s, said
}

// TestGoIsNotCounted has nothing added up of a Go program that plain breakpoints follow, whose
// blocks are not known, and no limit kept by it: while it is recorded, and in the capture.
func TestGoIsNotCounted(t *testing.T) {
	for _, flags := range [][]string{nil, {"-ldflags=-s"}} {
		s, said := recordGo(t, testprogs.Build(t, "golang", flags...), target.ProbeOff)
		if !strings.Contains(said, "golang: what the Go runtime allocates is not counted") {
			t.Errorf("%v: said %s", flags, said)
		}
		path := filepath.Join(t.TempDir(), "go.hdb")
		if _, err := s.Captures.Save(path, false); err != nil {
			t.Fatal(err)
		}
		for name, s := range map[string]*Session{"live": s, "saved": reopen(t, path)} {
			_, profile := s.Queries.Profile(query.ProfileParts{})
			_, top := s.Queries.Top(heap.ByLive, query.PerFunction)
			_, _, leaks := s.Queries.TopStacks(heap.ByLive, 5)
			_, live := s.Queries.Live(t.Context(), nil, query.Present, 5)
			_, diff := s.Queries.Diff(query.ParseMoment("start"), query.ParseMoment(""), query.PerFunction)
			_, whence := s.Queries.Whence(0x1000)
			_, costs := s.Queries.LineCosts("golang.go")
			for i, err := range []error{profile, top, leaks, live, diff, whence, costs} {
				if !errors.Is(err, recordings.ErrGo) || !strings.HasPrefix(err.Error(), "golang is a Go program: ") {
					t.Errorf("%v, %s: question %d: %v", flags, name, i, err)
				}
			}
			if p, err := s.Queries.WholeProfile(); err != nil || !report.Check(p, &report.Limits{MaxAllocs: new(uint64(1 << 40)), Incomplete: true})[0].Undecided {
				t.Errorf("%v, %s: %v: a limit is decided", flags, name, err)
			}
			events, err := s.Queries.Events(nil, query.Present)
			if err != nil {
				t.Fatal(err)
			}
			for e := range events {
				if got := e.Call(); !strings.HasPrefix(got, "runtime.mallocgc(") || !strings.HasSuffix(got, " = ? (the pointer is not known)") {
					t.Errorf("%s: %s", name, got)
				}
				break
			}
		}
	}
}

// TestCgoIsCounted has the C code of a Go program counted, and the Go code with it if the probe
// follows both.
func TestCgoIsCounted(t *testing.T) {
	s, said := recordGo(t, buildCgo(t), target.ProbeOn)
	p, err := s.Queries.Profile(query.ProfileParts{})
	if err != nil || said != "" || p.Moment.Live < 3<<20+6000 || p.GoHeap() || !p.Collects {
		t.Errorf("%v: %q, live %d, %+v", err, said, p.Moment.Live, p.Caveats)
	}

	s, _ = recordGo(t, buildCgo(t), target.ProbeOff)
	path := filepath.Join(t.TempDir(), "go.hdb")
	if _, err := s.Captures.Save(path, false); err != nil {
		t.Fatal(err)
	}
	for _, s := range []*Session{s, reopen(t, path)} {
		p, err := s.Queries.Profile(query.ProfileParts{})
		if err != nil || p.Moment.Live < 6000 || p.Peak.Live < 10_000 || p.Peak.Live > 1<<20 || !p.GoHeap() {
			t.Errorf("%v: live %d, peak %d, %+v", err, p.Moment.Live, p.Peak.Live, p.Partial)
		}
		if gaps := s.Recorded.Gaps(); !slices.ContainsFunc(gaps, func(line string) bool { return strings.Contains(line, "what the Go runtime allocates is not counted") }) {
			t.Errorf("gaps %q", gaps)
		}
		var text strings.Builder
		if err := report.WriteSummary(&text, p, report.Text{}); err != nil || !strings.Contains(text.String(), "Its C code allocated ") {
			t.Errorf("%v: %s", err, &text)
		}
	}
}

// TestGoStackWithoutDWARF has the whole stack of a stripped Go program: at the first
// instruction of a function, where its frame pointer is the caller's, too.
func TestGoStackWithoutDWARF(t *testing.T) {
	for _, flags := range []string{"-ldflags=-s", "-ldflags=-w"} {
		s := open(t, "golang", flags)
		setBreak(t, s, "main.chain")
		must(t)(s.Run(nil))
		for _, at := range []string{"the first instruction", "the second", "the third"} {
			st := get[names.Stack](t)(s.Selection.Stack(0))
			var names []string
			for _, f := range st.Frames {
				names = append(names, f.Function)
			}
			if got, want := strings.Join(names, " "), "main.chain main.main runtime.main runtime.goexit"; got != want || st.Truncated != "" {
				t.Errorf("%s, at %s: %s (%s), want %s", flags, at, got, st.Truncated, want)
			}
			must(t)(s.Stepping.NextInstruction(1))
		}
	}
}

// deepText has a list of 1000 nodes, farther from each other than types are looked for, and three blocks
// that are larger than what the list has, whose types the heap knows, beside what main has.
const deepText = `package main

import "runtime"

type node struct {
	next *node
	buf  []byte
}

type wide struct {
	pad  [1000]int
	last *node
}

var (
	list  *node
	broad [3]*wide
)

type leaf struct{ pad [6]int }

func main() {
	leaves := make([]*leaf, 10_000) // too large for the stack
	for i := range leaves {
		leaves[i] = new(leaf)
	}
	for range 1000 {
		list = &node{list, make([]byte, 4000)}
	}
	for i := range broad {
		broad[i] = &wide{}
	}
	runtime.GC()
	runtime.Breakpoint()
	runtime.KeepAlive(leaves)
}
`

// TestTypesAreInferredWhenAsked has the heap look for the types of all its blocks only where those of the
// blocks that are shown are not found without, and build the graph only for types.
func TestTypesAreInferredWhenAsked(t *testing.T) {
	s := open(t, "golang")
	if _, err := s.Load(buildGo(t, deepText)); err != nil {
		t.Fatal(err)
	}
	must(t)(s.Run(nil))
	if _, _, err := s.BlockTypes.SearchBlocks(t.Context(), []byte("no block has this"), 1); err != nil {
		t.Fatal(err)
	}
	if inGraph, _ := s.Heap.Typed(); inGraph {
		t.Error("the graph was built for no hit")
	}
	for _, c := range []struct {
		limit    int
		of       string
		typ      string
		inferred bool
	}{{3, "size == 8192", "main.wide", false}, {800, "size == 4096", "[]uint8", true}} {
		of, err := cond.Parse(c.of)
		if err != nil {
			t.Fatal(err)
		}
		w, err := s.Heap.Walked(t.Context(), of, c.limit)
		if err != nil || len(w.Largest) != c.limit {
			t.Fatalf("%d blocks: %v", len(w.Largest), err)
		}
		if last := w.Largest[c.limit-1].Type; last == nil || last.Name != c.typ {
			t.Errorf("of %d blocks the last is of %v, want %s", c.limit, last, c.typ)
		}
		if _, inferred := s.Heap.Typed(); inferred != c.inferred {
			t.Errorf("for %d blocks all types were looked for: %v", c.limit, inferred)
		}
		// What is asked of one block has its type, whatever was asked before.
		for _, b := range w.Largest {
			s.Heap.Forget()
			if p, err := s.Heap.Path(t.Context(), b.Addr); err != nil || p.Block.Type == nil || p.Block.Type.Name != c.typ {
				t.Fatalf("the block at %#x is told alone as %+v: %v", b.Addr, p, err)
			}
		}
	}
}

// TestWayFromAStack has the way to a block of an array that only a stack leads to: the element is not to be
// read as a part of the goroutine's number.
func TestWayFromAStack(t *testing.T) {
	s := open(t, "golang")
	if _, err := s.Load(buildGo(t, deepText)); err != nil {
		t.Fatal(err)
	}
	must(t)(s.Run(nil))
	a, err := s.Heap.Leaks(t.Context(), heaps.LeakQuestion{Limit: 100})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range a.GoRows {
		if r.Type != nil && r.Type.Name == "main.leaf" {
			if !regexp.MustCompile(`^a (stack of goroutine 1|register): \[\d+\]$`).MatchString(r.HeldBy) {
				t.Errorf("a leaf is held by %s", r.HeldBy)
			}
			return
		}
	}
	t.Error("no row of main.leaf")
}
