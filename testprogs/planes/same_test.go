package planes

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hdb/testprogs"
)

// A subject is a program of testprogs that both planes record.
type subject struct {
	name  string
	flags []string
	args  []string
	input string   // source file at its standard input
	do    []string // hdb's commands instead of "run"

	loose  bool // how often calls are made depends on time: only which occur is compared
	shared bool // which thread makes them does: those of all threads are compared together
	roams  bool // the allocator chooses addresses at random
	wrong  bool // frees a block twice
}

// subjects are all programs of testprogs, with the arguments of their sessions.
var subjects = []subject{
	{name: "abort", wrong: true},
	{name: "mallocaborts"},
	{name: "aliased"},
	{name: "annotated", wrong: true},
	{name: "annotated", wrong: true, flags: []string{"-no-pie", "-O2", "STRIP"}},
	{name: "annotated", wrong: true, flags: []string{"-static", "-DALONE", "STRIP"}},
	{name: "annotated", wrong: true, flags: []string{"CC=clang", "-static-pie", "-DALONE"}},
	{name: "arena"},
	{name: "arena", do: []string{"alloc add arena_alloc size=ARG3 align=ARG2 ptr=RET", "alloc add arena_free free=ARG2", "RUN"}},
	{name: "bare", do: followed},
	{name: "blocktypes"},
	{name: "blocktypes_plus"},
	{name: "blocktypes_rust"},
	{name: "bare", flags: []string{"-static"}, do: followed},
	{name: "basic"},
	{name: "blocks"},
	{name: "basic", flags: []string{"-static"}},
	{name: "basic", flags: []string{"-O2", "STRIP"}},
	{name: "basic", flags: []string{"CC=clang", "-O2"}},
	{name: "basic", flags: []string{"CC=musl-gcc"}},
	{name: "basic", flags: []string{"CC=musl-gcc", "-static"}},
	{name: "calls"},
	{name: "circle"},
	{name: "contended"},
	{name: "control"},
	{name: "crashes", args: []string{"bus"}},
	{name: "crashes", args: []string{"divide"}},
	{name: "crashes", args: []string{"illegal"}},
	{name: "crashes", args: []string{"jump"}},
	{name: "crashes", args: []string{"kill"}},
	{name: "crashes", args: []string{"exit"}},
	{name: "cxxnew"},
	{name: "deep", args: []string{"1000"}},
	{name: "deep", args: []string{"3000"}},
	{name: "demo", shared: true},
	{name: "dlopen"},
	{name: "replaced"},
	{name: "replaced", args: []string{"exec"}},
	{name: "headernew", wrong: true},
	{name: "headers"},
	{name: "leaving"},
	{name: "returning"},
	{name: "returning_bare"},
	{name: "hostileblocks"},
	{name: "oldfrees"},
	{name: "states"},
	{name: "mismatch", args: []string{"fine"}},
	{name: "wrongfrees", args: []string{"fine"}},
	{name: "wrongfrees", args: []string{"moved"}, wrong: true},
	{name: "exceptions"},
	{name: "exceptions", flags: []string{"CC=clang++"}},
	{name: "exec"},
	{name: "exec", args: []string{"thread"}},
	{name: "fail"},
	{name: "fork"},
	{name: "mmaps"},
	{name: "fork", do: []string{"set follow-fork-mode child", "RUN"}},
	{name: "globals"},
	{name: "held", shared: true},
	{name: "sized"},
	{name: "spawned"},
	{name: "heldobjects"},
	{name: "linkbases"},
	{name: "heldmodules"},
	{name: "suppressed"},
	{name: "growing"},
	{name: "exiting"},
	{name: "inlined"},
	{name: "inlinedcc"},
	{name: "inlinestep"},
	{name: "thrown"},
	{name: "input", args: []string{"one", "two words"}, input: "input.c"},
	{name: "jemalloc"},
	{name: "jeheap"},
	{name: "jetwo"},
	{name: "jit"},
	{name: "kinds"},
	{name: "failednew"},
	{name: "freesinside"},
	{name: "atfree"},
	{name: "innermalloc"},
	{name: "limited"},
	{name: "locked"},
	{name: "meetsatend"},
	{name: "longjmp"},
	{name: "macros"},
	{name: "mapped"},
	{name: "mappedpeak"},
	{name: "tickalloc"},
	{name: "functionstatics"},
	{name: "maps"},
	{name: "shrink"},
	{name: "twolibcs"},
	{name: "ownmalloc_late"},
	{name: "mimalloc", roams: true},
	{name: "mimalloc_heaps", roams: true},
	{name: "names"},
	{name: "numbers"},
	{name: "numbers", flags: []string{"-DOWN", "-static"}},
	{name: "owners"},
	{name: "gcoreinside"},
	{name: "poolmap"},
	{name: "signalled", args: []string{"handle", "10", "0"}},
	{name: "thrownlib"},
	{name: "growing_server"},
	{name: "growing_server_fixed"},
	{name: "thumbnails"},
	{name: "thumbnails_fixed"},
	{name: "phases"},
	{name: "protected"},
	{name: "mallocs"},
	{name: "realloc"},
	{name: "recorded", args: []string{"20"}},
	{name: "rust"},
	{name: "rust", flags: []string{"-O"}},
	{name: "rusttraits"},
	{name: "scripting"},
	{name: "segv"},
	{name: "sharedchild"},
	{name: "signals"},
	{name: "signals", args: []string{"200"}},
	{name: "signalstack"},
	{name: "stepsignals"},
	{name: "sizes"},
	{name: "sizes", flags: []string{"-O2", "STRIP"}},
	{name: "spin", do: []string{"break alloc #500", "RUN"}},
	{name: "stackshapes"},
	{name: "noroom", do: append(noRoom[:len(noRoom):len(noRoom)], "RUN")},
	{name: "noroom", flags: []string{"-O2"}, args: []string{"5", "2"}, do: append(noRoom[:len(noRoom):len(noRoom)], "RUN"), shared: true},
	{name: "noroom", flags: []string{"CC=clang", "-Os"}, args: []string{"5"}, do: append(noRoom[:len(noRoom):len(noRoom)], "RUN")},
	{name: "static"},
	{name: "pools", do: []string{"alloc add app::Pool::get size=ARG2 ptr=RET", "alloc add app::Pool::put free=ARG2", "RUN"}},
	{name: "staticpie"},
	{name: "stepping"},
	{name: "tailcalls"},
	{name: "tailcallslto"},
	{name: "background"},
	{name: "corefile"},
	{name: "screened"},
	{name: "stopconds"},
	{name: "watchscope"},
	{name: "stops", args: []string{"malloc"}},
	{name: "tcmalloc"},
	{name: "schedlock"},
	{name: "threadlocal"},
	{name: "threads", args: []string{"4", "2", "10"}},
	{name: "values"},
	{name: "expressions"},
	{name: "variables"},
	{name: "vfork"},
	{name: "wide"},
	{name: "worker", args: []string{"4"}, loose: true},
	{name: "workers", loose: true},
	{name: "within"},
	{name: "wrapped"},
}

// elsewhere are sources of testdata that are no subjects.
var elsewhere = map[string]string{
	"goroutines":       "as golang: it is one of Go",
	"golang":           "plain breakpoints do not know the pointers of a Go runtime, and it makes other calls in each run",
	"micro":            "measured by bench",
	"microcond":        "measured by bench",
	"microcount":       "measured by bench",
	"microlibs":        "measured by bench",
	"forkedheap":       "its threads run without an end",
	"leaderended":      "its thread reads a file again and again until the first thread has ended: TestLeaderEnded",
	"gcore":            "its threads allocate for as long as it runs: TestGcore",
	"histories":        "TestHistories",
	"leakcases":        "each case is chosen by a flag: TestLeakCases",
	"notsc":            "TestNoTSC",
	"owners_lib":       "built beside owners",
	"plugin":           "built beside dlopen",
	"ownmalloc":        "built beside ownmalloc_late",
	"regions":          "its threads come in any order: TestSpace",
	"regions_lib":      "built beside regions",
	"annotatedlib":     "built beside annotated",
	"annotatedloop":    "runs for good: TestAnnotatedLeft",
	"sanitized":        "TestSanitizers",
	"threadlocal_lib":  "built beside threadlocal",
	"traceme":          "no event is its own: TestTraceMe",
	"truncates":        "TestTruncated",
	"unhurt":           "its rounds end with time: TestUnhurt",
	"unhurt_plus":      "as unhurt",
	"unhurt_go":        "as unhurt",
	"unfollowed":       "stripped by its test; unstripped, static programs are among subjects",
	"selfseccomp":      "it is killed where hdb follows it wrongly: TestConfined",
	"search":           "as golang: it is one of Go",
	"thumbnails_scale": "built beside thumbnails",
	"tokens":           "an extension of CPython: docs/tutorial/extension.md",
	"importer":         "300,000 calls, which take long with plain breakpoints: docs/tutorial/fragmentation.md",
	"importer_fixed":   "as importer",
	"untraced":         "its children are cleaned of what either plane has put into them: TestUntracedChildren",
}

func (s subject) title() string {
	return strings.Join(append(append([]string{s.name}, s.flags...), append(s.args, s.do...)...), " ")
}

func (s subject) job(t testing.TB) job {
	j := program(t, s.name, s.flags, s.args...)
	j.Script = s.do
	if s.input != "" {
		dir, err := testprogs.Dir()
		if err != nil {
			t.Fatal(err)
		}
		j.Input = filepath.Join(dir, s.input)
	}
	return j
}

// TestSameEvents records each program in both planes.
func TestSameEvents(t *testing.T) {
	for i := 0; i < len(subjects); i += testprogs.Stride(3) {
		s := subjects[i]
		t.Run(s.title(), func(t *testing.T) {
			t.Parallel()
			a, b := twoRecordings(t, s.job(t))
			for _, r := range []*recording{a, b} {
				if _, wrong := newCalls(r).live(); wrong != nil && !s.wrong {
					t.Errorf("the events cannot be: %v", wrong)
				}
			}
			if d := s.difference(a, b); d != "" {
				t.Error(d)
			}
			if a.ending() != b.ending() {
				t.Errorf("%q in the %s plane, %q in the %s plane", a.ending(), a.plane, b.ending(), b.plane)
			}
		})
	}
}

// twoRecordings are of both planes.
func twoRecordings(t *testing.T, j job) (a, b *recording) {
	t.Helper()
	return record(t, plain, j), record(t, probe, j)
}

func (s subject) difference(a, b *recording) string {
	ca, cb := newCalls(a), newCalls(b)
	switch {
	case s.loose:
		return occurring(ca, cb)
	case s.shared:
		return together(ca, cb)
	}
	return difference(ca, cb, s.roams)
}

// TestSameStorms records the storms that do the same in each run.
func TestSameStorms(t *testing.T) {
	for _, s := range storms {
		if s.varies || s.refuse != "" {
			continue
		}
		t.Run(s.title(), func(t *testing.T) {
			t.Parallel()
			a, b := twoRecordings(t, s.job(t, s.much.plainShort))
			ca, cb := newCalls(a), newCalls(b)
			d := ""
			if s.races {
				d = ca.tally(ca.own()).unlike(ca, cb, cb.tally(cb.own()))
			} else {
				d = difference(ca, cb, false)
			}
			if d != "" {
				t.Error(d)
			}
		})
	}
}

// TestEverySubject misses no program of testprogs.
func TestEverySubject(t *testing.T) {
	dir, err := testprogs.Dir()
	if err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for _, s := range subjects {
		known[s.name] = true
	}
	for _, e := range entries {
		name := strings.TrimSuffix(e.Name(), filepath.Ext(e.Name()))
		switch filepath.Ext(e.Name()) {
		case ".c", ".cc", ".rs", ".go":
			if !known[name] && elsewhere[name] == "" && !strings.HasPrefix(name, "storm_") {
				t.Errorf("%s is not recorded in both planes: add it to subjects", e.Name())
			}
		}
	}
}
