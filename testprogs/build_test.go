package testprogs

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// TestBuildParallel has many builders of one program agree on one file.
func TestBuildParallel(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	paths := make([]string, 8)
	var wg sync.WaitGroup
	for i := range paths {
		wg.Go(func() {
			var err error
			if paths[i], err = build("basic", nil); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for _, p := range paths {
		if p != paths[0] {
			t.Errorf("paths differ: %s and %s", p, paths[0])
		}
	}
	if out, err := exec.Command(paths[0]).CombinedOutput(); err != nil {
		t.Errorf("run: %v\n%s", err, out)
	}
	left, err := filepath.Glob(filepath.Join(filepath.Dir(filepath.Dir(paths[0])), ".new-*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
}

func TestBuildKey(t *testing.T) {
	key := func(flags ...string) string {
		t.Helper()
		j, err := newJob("basic", flags)
		if err != nil {
			t.Fatal(err)
		}
		k, err := j.key()
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	plain := key()
	if key() != plain {
		t.Error("the key is not stable")
	}
	for _, flags := range [][]string{{"-O2"}, {"STRIP"}, {"-O2", "-static"}} {
		if key(flags...) == plain {
			t.Errorf("flags %q do not change the key", flags)
		}
	}
}

func TestBuildErrors(t *testing.T) {
	for _, c := range []struct {
		name  string
		flags []string
		want  string
	}{
		{"no-such-program", nil, "no source no-such-program.{c,cc,rs,go}"},
		{"basic", []string{"-lno-such-library"}, "cannot find -lno-such-library"},
		{"basic", []string{"CC=no-such-cc"}, "executable file not found"},
	} {
		_, err := build(c.name, c.flags)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("build %s %q: %v, want %q", c.name, c.flags, err, c.want)
		}
	}
}

// TestRemedy has a missing tool or library name its package.
func TestRemedy(t *testing.T) {
	_, notFound := exec.LookPath("no-such-tool-at-all")
	if got := install("no such library"); got != "" {
		t.Errorf("a library that no package is known of: %q", got)
	}
	if got := remedy("musl-gcc", notFound, ""); got != " (apt-get install musl-tools)" {
		t.Errorf("musl-gcc: %q", got)
	}
	ld := "/usr/bin/ld: cannot find -ljemalloc: No such file or directory\n"
	header := "tokens.c:4:10: fatal error: Python.h: No such file or directory\n"
	if got := remedy("gcc", os.ErrInvalid, header); got != " (apt-get install python3-dev)" {
		t.Errorf("Python.h missing: %q", got)
	}
	rt := "/usr/bin/ld: cannot find /usr/lib/llvm-14/lib/clang/14.0.6/lib/linux/libclang_rt.msan-x86_64.a: No such file or directory\n"
	if got := remedy("clang", os.ErrInvalid, rt); got != " (apt-get install libclang-rt-14-dev)" {
		t.Errorf("clang's runtime missing: %q", got)
	}
	if got := remedy("gcc", os.ErrInvalid, ld); got != " (apt-get install libjemalloc-dev)" {
		t.Errorf("jemalloc: %q", got)
	}
}

// behaviours are the programs of testdata with an answer that does not
// depend on time, address or machine: run plainly they must print it.
var behaviours = []struct {
	name  string
	flags []string
	args  []string
	want  string // standard output
	state string // exit status, empty for success
}{
	{name: "basic"},
	{name: "basic", flags: []string{"CC=musl-gcc"}},
	{name: "basic", flags: []string{"CC=musl-gcc", "-static"}},
	{name: "sizes", want: "1048597\n"},
	{name: "sizes", flags: []string{"STRIP"}, want: "1048597\n"},
	{name: "threads", args: []string{"8", "3", "5"}, want: "total 420\n"},
	{name: "schedlock", state: "exit status 3"},
	{name: "signals", want: "usr1 1 trap 2 alrm 1 rt 3\n"},
	{name: "signals", args: []string{"2000"}, want: "rt 2000 disorder 0\n"},
	{name: "stepsignals", want: "counted 1 plain 1 jumped 1 value 4\n"},
	{name: "held"},
	{name: "sized"},
	{name: "spawned"},
	{name: "heldobjects"},
	{name: "linkbases"},
	{name: "heldmodules"},
	{name: "suppressed"},
	{name: "growing"},
	{name: "importer", want: "ready\n9000 orders parsed\nidle\n"},
	{name: "importer_fixed", want: "ready\n9000 orders parsed\nidle\n"},
	{name: "thumbnails", want: "20 pictures\n"},
	{name: "thumbnails_fixed", want: "20 pictures\n"},
	{name: "search", args: []string{"-fixed"}, want: "round 0: 1 goroutines\nround 1: 1 goroutines\nround 2: 1 goroutines\n"},
	{name: "search", want: "round 0: 41 goroutines\nround 1: 81 goroutines\nround 2: 121 goroutines\n"},
	{name: "exiting", state: "exit status 3"},
	{name: "signalstack", state: "exit status 3"},
	{name: "threadlocal"},
	{name: "fork", want: "parent 11 child 7\n"},
	{name: "mmaps"},
	{name: "traceme", want: "20 of 20 traced\n"},
	{name: "vfork", want: "status 0 ok\n"},
	{name: "exec", want: "second image\n"},
	{name: "exec", args: []string{"thread"}, want: "second image\n"},
	{name: "exec", args: []string{"memory"}, want: "second image\n"},
	{name: "replaced", want: "one 8045 in 10, two 8075 in 10\n"},
	{name: "replaced", args: []string{"exec"}, want: "one 8045 in 10, two 8075 in 10\n"},
	{name: "dlopen", want: "plugin 1\nplugin 2\n"},
	{name: "static", want: "static 1\n"},
	{name: "staticpie", want: "static 1\n"},
	{name: "stackshapes", want: "1\n"},
	{name: "deep", args: []string{"1000"}, want: "1001\n"},
	{name: "inlined", want: "12\n"},
	{name: "tailcalls", want: "14\n"},
	{name: "tailcallslto", want: "14\n"},
	{name: "background", want: "ready\n"},
	{name: "screened", args: []string{"100", "3"}},
	{name: "watchscope", want: "5\n"},
	{name: "inlinedcc", want: "99 3005\n"},
	{name: "inlinestep", want: "done with ada\n206\n"},
	{name: "blocks", want: "102 99\n"},
	{name: "thrown", want: "caught 5\n"},
	{name: "thrownlib", want: "no room\n9 of 3\nopen: No such file or directory\nstd::bad_alloc\nlate\nnothing\ncaught\ncaught\n"},
	{name: "exceptions", want: "caught 33 null\n"},
	{name: "longjmp", want: "jumps 2\n"},
	{name: "mallocs"},
	{name: "realloc", want: "2 null\n"},
	{name: "fail", want: "failed 8\n"},
	{name: "mappedpeak"},
	{name: "poolmap", want: "done\n"},
	{name: "tickalloc"},
	{name: "functionstatics", want: "55\n"},
	{name: "mapped", want: "mapped\n"},
	{name: "maps", want: "3\n"},
	{name: "shrink", want: "1 1 1\n"},
	{name: "twolibcs", want: "two\n"},
	{name: "ownmalloc_late", want: "both\n"},
	{name: "cxxnew", want: "1\n"},
	{name: "jemalloc", want: "done\n"},
	{name: "jetwo"},
	{name: "tcmalloc", want: "done\n"},
	{name: "mimalloc", want: "done\n"},
	{name: "mimalloc_heaps"},
	{name: "annotated", want: "used 624\n"},
	{name: "annotated", flags: []string{"-static", "-DALONE", "STRIP"}, want: "used 624\n"},
	{name: "arena", want: "null 5 frees 15\n"},
	{name: "pools", want: "puts 3 used 1046\n"},
	{name: "wide"},
	{name: "globals", want: "sum 31\n"},
	{name: "segv", state: "signal: segmentation fault"},
	{name: "abort", state: "signal: aborted"},
	{name: "mallocaborts", args: []string{"double"}, state: "signal: aborted"},
	{name: "mallocaborts", args: []string{"pointer"}, state: "signal: aborted"},
	{name: "mallocaborts", args: []string{"behind"}, state: "signal: aborted"},
	{name: "mallocaborts", args: []string{"top"}, state: "signal: aborted"},
	{name: "mallocaborts", args: []string{"stale"}, state: "signal: aborted"},
	{name: "crashes", args: []string{"bus"}, state: "signal: bus error"},
	{name: "crashes", args: []string{"illegal"}, state: "signal: illegal instruction"},
	{name: "crashes", args: []string{"divide"}, state: "signal: floating point exception"},
	{name: "names", want: "ok\n"},
	{name: "headernew"},
	{name: "leaving"},
	{name: "returning"},
	{name: "returning_bare"},
	{name: "hostileblocks"},
	{name: "oldfrees"},
	{name: "states"},
	{name: "aliased", want: "ok\n"},
	{name: "mismatch", args: []string{"fine"}},
	{name: "mismatch", args: []string{"array-delete"}},
	{name: "wrongfrees", args: []string{"fine"}},
	{name: "wrongfrees", args: []string{"double"}, state: "signal: aborted"},
	{name: "stepping", want: "sum 246\n"},
	{name: "contended", want: "n 10050\n"},
	{name: "rust", want: "2000 300 20 3145728 3000\n"},
	{name: "rust", flags: []string{"-O"}, want: "2000 300 20 3145728 3000\n"},
	{name: "rusttraits", want: "193\n"},
	{name: "macros", want: "sum 39\n"},
	{name: "expressions", want: "337\n"},
	{name: "golang", want: "[1000 2000 3000] 10 2097152 10\n"},
	{name: "goroutines", want: "55\n"},
	{name: "demo", want: "loaded 24 pages, 2606844 bytes\nanswered 24 queries\n"},
}

func TestBehaviours(t *testing.T) {
	for _, b := range behaviours {
		t.Run(strings.Join(append(append([]string{b.name}, b.flags...), b.args...), " "), func(t *testing.T) {
			t.Parallel()
			cmd := exec.Command(Build(t, b.name, b.flags...), b.args...)
			out, err := cmd.Output()
			if string(out) != b.want {
				t.Errorf("printed %q, want %q", out, b.want)
			}
			state := ""
			if err != nil {
				state, _, _ = strings.Cut(err.Error(), " (core dumped)")
			}
			if state != b.state {
				t.Errorf("ended with %q, want %q", state, b.state)
			}
		})
	}
}
