package breakpoints

import (
	"debug/elf"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hdb/capture"
	"hdb/inferior"
	"hdb/internal/addr"
	"hdb/internal/cond"
)

func TestCalls(t *testing.T) {
	musl := func(flags ...string) func(*testing.T) string {
		return func(t *testing.T) string {
			return build(t, "musl-tools", "calls", append([]string{"musl-gcc", "-g", "-O1", "-fno-builtin", "calls.c"}, flags...)...)
		}
	}
	glibc := func(flags ...string) func(*testing.T) string {
		return func(t *testing.T) string { return gcc(t, "calls", flags...) }
	}
	for _, c := range []struct {
		name    string
		build   func(*testing.T) string
		library [2]string // Debian package and file
		args    []string
	}{
		{name: "glibc", build: glibc()},
		{name: "glibc -O0", build: glibc("-O0")},
		{name: "glibc no pie", build: glibc("-no-pie", "-O2")},
		{name: "glibc now", build: glibc("-Wl,-z,now", "-O2")},
		{name: "glibc static", build: glibc("-static")},
		{name: "glibc static-pie", build: glibc("-static-pie")},
		{name: "musl", build: musl()},
		{name: "musl static", build: musl("-static")},
		{name: "jemalloc", build: glibc(), library: [2]string{"libjemalloc2", "libjemalloc.so.2"}, args: []string{"without pvalloc"}},
		{name: "tcmalloc", build: glibc(), library: [2]string{"libtcmalloc-minimal4", "libtcmalloc_minimal.so.4"}},
		{name: "mimalloc", build: glibc(), library: [2]string{"libmimalloc2.0", "libmimalloc.so.2"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			config := inferior.Config{Path: c.build(t), Args: c.args}
			if c.library[0] != "" {
				config.Env = preload(t, c.library[0], c.library[1])
			}
			run(t, config, nil).compareSaid()
		})
	}
}

// The code that gives a thread's cache back is found in glibc, whether it is linked in or
// not, and in no other library.
func TestRelease(t *testing.T) {
	for _, c := range []struct {
		name  string
		path  string
		found bool
	}{
		{"glibc", gcc(t, "calls"), true},
		{"glibc static", gcc(t, "calls", "-static"), true},
		{"glibc static-pie", gcc(t, "calls", "-static-pie"), true},
		{"musl", build(t, "musl-tools", "calls", "musl-gcc", "-O1", "-fno-builtin", "calls.c"), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			tr := run(t, inferior.Config{Path: c.path}, nil)
			found := 0
			for _, s := range tr.tracer.Sites() {
				if s.Release == (Extent{}) {
					continue
				}
				found++
				if s.Function.Symbol != "free" || s.Release.Contains(s.Addr) {
					t.Errorf("%s at %v: %v", s.Function.Symbol, s.Addr, s.Release)
				}
				if name := tr.functionAt(s.In, s.Release.Low); name != "" && name != "__malloc_arena_thread_freeres" {
					t.Errorf("it is in %s", name)
				}
			}
			if found != 0 != c.found {
				t.Errorf("found in %d functions, want %v", found, c.found)
			}
		})
	}
}

// functionAt is the name of the function at an address, "" if the module does not say.
func (tr *trace) functionAt(m inferior.Module, a addr.Run) string {
	for _, y := range tr.tracer.syms.(*elfSymbols).files[m.Path] {
		if elf.ST_TYPE(y.Info) == elf.STT_FUNC && addr.File(y.Value).Run(m.Bias) == a {
			return y.Name
		}
	}
	return ""
}

func TestOperators(t *testing.T) {
	for _, c := range []struct {
		name    string
		flags   []string
		library [2]string
		args    []string
	}{
		{name: "libstdc++"},
		{name: "libstdc++ -O0", flags: []string{"-O0"}},
		{name: "static", flags: []string{"-static"}},
		{name: "jemalloc", library: [2]string{"libjemalloc2", "libjemalloc.so.2"}},
		{name: "tcmalloc", library: [2]string{"libtcmalloc-minimal4", "libtcmalloc_minimal.so.4"}},
		{name: "mimalloc", library: [2]string{"libmimalloc2.0", "libmimalloc.so.2"}, args: []string{"without failures"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			command := []string{"g++", "-g", "-O2", "-fno-builtin", "-std=c++17", "cxx.cc"}
			config := inferior.Config{Path: build(t, "build-essential", "cxx", append(command, c.flags...)...), Args: c.args}
			if c.library[0] != "" {
				config.Env = preload(t, c.library[0], c.library[1])
			}
			run(t, config, nil).compareSaid()
		})
	}
}

func TestThreads(t *testing.T) {
	glibc := func(flags ...string) func(*testing.T) string {
		return func(t *testing.T) string { return gcc(t, "threads", flags...) }
	}
	for _, c := range []struct {
		name    string
		build   func(*testing.T) string
		library [2]string
	}{
		{name: "glibc", build: glibc()},
		{name: "glibc static", build: glibc("-static")},
		{name: "musl static", build: func(t *testing.T) string {
			return build(t, "musl-tools", "threads", "musl-gcc", "-O1", "-fno-builtin", "-static", "threads.c")
		}},
		{name: "jemalloc", build: glibc(), library: [2]string{"libjemalloc2", "libjemalloc.so.2"}},
		{name: "tcmalloc", build: glibc(), library: [2]string{"libtcmalloc-minimal4", "libtcmalloc_minimal.so.4"}},
		{name: "mimalloc", build: glibc(), library: [2]string{"libmimalloc2.0", "libmimalloc.so.2"}},
	} {
		if testing.Short() && (c.name == "glibc static" || c.name == "tcmalloc" || c.name == "mimalloc") {
			continue // TestCalls has the likes
		}
		t.Run(c.name, func(t *testing.T) {
			config := inferior.Config{Path: c.build(t)}
			if c.library[0] != "" {
				config.Env = preload(t, c.library[0], c.library[1])
			}
			tr := run(t, config, nil)
			tr.checkThreads()
			// A static program frees its caches from its own module, see ownFree.
			tr.checkHeap(strings.HasPrefix(c.name, "glibc static"))
		})
	}
}

// checkThreads compares with what threads.c does.
func (tr *trace) checkThreads() {
	tr.t.Helper()
	type key struct {
		name string
		size uint64
	}
	got := map[key]int{}
	for _, c := range tr.calls {
		got[key{c.Function.Name, c.Event.Size}]++
	}
	for g := range uint64(4) {
		for id := 10 * g; id < 10*g+8; id++ {
			for k, want := range map[key]int{
				{"malloc", 1000 + id}: 100, {"calloc", 2 * (2000 + id)}: 100,
				{"realloc", 3000 + id}: 100, {"realloc", 5000 + id}: 100, {"malloc", 7000 + id}: 1,
			} {
				if got[k] != want {
					tr.t.Errorf("%s of %d bytes: %d, want %d", k.name, k.size, got[k], want)
				}
			}
		}
	}
	if len(tr.tracer.shadows) > 1 {
		tr.t.Errorf("%d threads are still known", len(tr.tracer.shadows))
	}
}

// checkHeap plays the calls: no block lives twice, and none is freed that does
// not live, unless strayFrees.
func (tr *trace) checkHeap(strayFrees bool) {
	tr.t.Helper()
	live := map[uint64]bool{}
	for _, c := range tr.calls {
		e := c.Event
		if c.Function.Group == GroupVM || e.Failed {
			continue
		}
		if e.Old != 0 {
			if !live[e.Old] {
				tr.t.Fatalf("%s: the old block is not live", c)
			}
			delete(live, e.Old)
		}
		switch {
		case e.Kind != capture.Free && live[e.Addr]:
			tr.t.Fatalf("%s: the block is live already", c)
		case e.Kind != capture.Free:
			live[e.Addr] = true
		case !live[e.Addr] && !strayFrees:
			tr.t.Fatalf("%s: the block is not live", c)
		}
		if e.Kind == capture.Free {
			delete(live, e.Addr)
		}
	}
}

// Threads are inside of calls whenever the tracer is armed and disarmed.
func TestArmAndDisarmInTheMiddle(t *testing.T) {
	proc, err := inferior.Launch(inferior.Config{Path: gcc(t, "threads")})
	if err != nil {
		t.Fatal(err)
	}
	defer proc.Close()
	calls := 0
	sink := sinkFunc(func(Call) inferior.Action {
		calls++
		if calls%100 == 0 {
			return inferior.StopHere
		}
		return inferior.Resume
	})
	tracer := NewTracer(proc, &elfSymbols{map[string][]elf.Symbol{}}, sink)
	threads := 0
	proc.SetHooks(inferior.Hooks{
		ThreadStarted: func(*inferior.Thread) { // something to stop at while there are no traps
			if threads++; threads%4 == 0 && !tracer.Armed() {
				if err := tracer.Arm(func(Function) bool { return true }); err != nil {
					t.Error(err)
				}
			}
		},
		ThreadExited: func(th *inferior.Thread) { tracer.ThreadExited(int32(th.TID)) },
		Modules: func(_ *inferior.Thread, added, removed []inferior.Module) inferior.Action {
			if err := tracer.ModulesChanged(added, removed); err != nil {
				t.Error(err)
			}
			return inferior.Resume
		},
	})
	if err := tracer.Arm(func(Function) bool { return true }); err != nil {
		t.Fatal(err)
	}
	for rounds := 0; ; rounds++ {
		stop, err := proc.Continue()
		if err != nil {
			t.Fatal(err)
		}
		if stop.Ended() {
			if stop.Exit.Code != 0 || stop.Exit.Signal != 0 || rounds < 3 {
				t.Errorf("%s after %d stops", stop.Exit, rounds)
			}
			break
		}
		if stop.Reason != inferior.Trapped {
			t.Fatalf("stopped: %v %+v", stop.Reason, stop.Signal)
		}
		switch rounds % 8 {
		case 3: // armed anew at once
			tracer.Disarm()
			err = tracer.Arm(func(f Function) bool { return f.Kind != capture.Free })
		case 5:
			err = tracer.Arm(func(Function) bool { return true })
		case 7: // armed again when threads start
			tracer.Disarm()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if s := tracer.Stats(); s.Lost != 0 {
		t.Errorf("%d calls lost: %v", s.Lost, s.LostCause)
	}
}

// A stop at an allocation is at its return address with the result in hand,
// one at a free is before the free.
func TestStopsOfARealProgram(t *testing.T) {
	proc, err := inferior.Launch(inferior.Config{Path: gcc(t, "threads")})
	if err != nil {
		t.Fatal(err)
	}
	defer proc.Close()
	var last Call
	list := &List{}
	list.Add(NewStop(mustSpec(t, "realloc if size == 5000 && nth > 0"))).Ignore = 9
	tracer := NewTracer(proc, &elfSymbols{map[string][]elf.Symbol{}}, sinkFunc(func(c Call) inferior.Action {
		last = c
		env := arrival{map[cond.Field]uint64{cond.Size: c.Event.Size, cond.Nth: 1}}
		for _, s := range list.All() {
			if s.Wants(c) && s.Check(env) {
				return inferior.StopHere
			}
		}
		return inferior.Resume
	}))
	proc.SetHooks(inferior.Hooks{Modules: func(_ *inferior.Thread, added, removed []inferior.Module) inferior.Action {
		if err := tracer.ModulesChanged(added, removed); err != nil {
			t.Error(err)
		}
		return inferior.Resume
	}})
	wanted := func(f Function) bool { return list.All()[0].Wants(callOf(f)) }
	if err := tracer.Arm(wanted); err != nil {
		t.Fatal(err)
	}
	stop, err := proc.Continue()
	if err != nil {
		t.Fatal(err)
	}
	regs, err := stop.Thread.Regs()
	if err != nil {
		t.Fatal(err)
	}
	if regs.PC() != last.Return || regs.Result() != last.Event.Addr || last.Function.Name != "realloc" {
		t.Errorf("stopped at %v with result %#x after %s, which returns to %v", regs.PC(), regs.Result(), last, last.Return)
	}
	if s := list.All()[0]; s.Hits != 10 {
		t.Errorf("%d hits, want 10", s.Hits)
	}
}

func TestUserFunctionsAndLongjmp(t *testing.T) {
	tr := run(t, inferior.Config{Path: gcc(t, "jumps")}, func(tr *trace, _ *inferior.Hooks) {
		for _, text := range []string{"pool_get size=ARG2 ptr=RET", "pool_put free=ARG2", "pool_get_at size=ARG3 ptr=*ARG2"} {
			f, err := ParseFunction(text)
			if err != nil {
				t.Fatal(err)
			}
			tr.check(tr.tracer.Add(f))
		}
	})
	var got, want []string
	for _, c := range tr.calls {
		if c.Function.Group == GroupUser {
			line, _, _ := strings.Cut(c.String(), " = ")
			got = append(got, strings.ReplaceAll(line, fmt.Sprintf("%#x", c.Event.Addr), "p"))
		}
		if c.Function.Name == "malloc" && c.Event.Size < 120+16 && c.Event.Size >= 116 {
			t.Errorf("%s inside of pool_get was reported", c)
		}
	}
	for i := range 20 {
		want = append(want, fmt.Sprintf("pool_get(%d) did not return", 2000+i), fmt.Sprintf("pool_get(%d)", 100+i), "pool_put(p)")
	}
	want = append(want, "pool_get_at(77)")
	if !slices.Equal(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
	last := tr.calls[len(tr.calls)-1]
	if last.Function.Name != "free" {
		t.Errorf("last call is %s", last)
	}
}

func TestLoadForkExec(t *testing.T) {
	plugin := build(t, "build-essential", "plugin.so", "gcc", "-g", "-O1", "-fno-builtin", "-shared", "-fPIC", "plugin.c")
	loader := gcc(t, "loader")
	for _, follow := range []bool{false, true} {
		t.Run(fmt.Sprintf("follow child %v", follow), func(t *testing.T) {
			tr := runLoader(t, loader, plugin, follow)
			runs := 2 // before and after exec
			if follow {
				runs = 1
			}
			sized := func(name string, size uint64) int {
				return tr.count(func(c Call) bool { return c.Function.Name == name && c.Event.Size == size })
			}
			for i := range uint64(5) {
				if n := sized("je_malloc", 4000+10*i); n != runs {
					t.Errorf("je_malloc(%d): %d times, want %d", 4000+10*i, n, runs)
				}
				if n := sized("malloc", 4001+10*i); n != runs {
					t.Errorf("malloc(%d): %d times, want %d", 4001+10*i, n, runs)
				}
				if n := sized("malloc", 5000+10*i); n != 0 {
					t.Errorf("malloc(%d) inside of je_malloc: %d times", 5000+10*i, n)
				}
			}
			parent, child := sized("malloc", 8000), 0
			for i := range uint64(10) {
				child += sized("malloc", 6000+i)
			}
			if follow && (parent != 0 || child != 10) || !follow && (parent != 2 || child != 0) {
				t.Errorf("parent %d calls, child %d", parent, child)
			}
		})
	}
}

func runLoader(t *testing.T, loader, plugin string, follow bool) *trace {
	t.Helper()
	output := filepath.Join(t.TempDir(), "output")
	config := inferior.Config{Path: loader, Args: []string{plugin}}
	config.Stdin, config.Stdout, config.Stderr = "/dev/null", output, output
	proc, err := inferior.Launch(config)
	if err != nil {
		t.Fatal(err)
	}
	defer proc.Close()
	tr := &trace{t: t, proc: proc}
	tr.tracer = NewTracer(proc, &elfSymbols{map[string][]elf.Symbol{}}, tr)
	proc.SetFollowFork(follow)
	proc.SetHooks(inferior.Hooks{
		Modules: func(_ *inferior.Thread, added, removed []inferior.Module) inferior.Action {
			tr.check(tr.tracer.ModulesChanged(added, removed))
			return inferior.Resume
		},
		Execed: func(string) {
			tr.tracer.Reset()
			tr.check(tr.tracer.Rearm())
		},
		Forked: func(b inferior.Birth) {
			if b.Followed {
				tr.tracer.Reset()
				tr.check(tr.tracer.Rearm())
			}
		},
		Message: func(text string) { t.Log(text) },
	})
	tr.check(tr.tracer.Arm(func(Function) bool { return true }))
	stop, err := proc.Continue()
	if err != nil {
		t.Fatal(err)
	}
	want := 0
	if follow {
		want = 7
	}
	if stop.Reason != inferior.Exited || stop.Exit.Code != want {
		text, _ := os.ReadFile(output)
		t.Fatalf("%v, %v, %+v, want code %d\n%s", stop.Reason, stop.Exit, stop.Signal, want, text)
	}
	return tr
}

// A preloaded counter counts the calls of the same run.
func TestAgainstCounter(t *testing.T) {
	counter := build(t, "build-essential", "counter.so", "gcc", "-O2", "-fno-builtin", "-shared", "-fPIC", "counter.c")
	for _, c := range []struct {
		debianPackage, path string
		args                []string
	}{
		{"coreutils", "/usr/bin/sort", []string{"/etc/passwd"}},
		{"sqlite3", "/usr/bin/sqlite3", []string{":memory:", `create table t(a,b); with recursive n(x) as
			(select 1 union all select x+1 from n where x<300) insert into t select x, hex(randomblob(20)) from n;
			select count(*), b from t group by b order by b limit 3`}},
		{"perl-base", "/usr/bin/perl", []string{"-e", `my %h; $h{$_} = "x" x ($_ * 37) for 1..300; print length(join "", map { $h{$_} } sort keys %h)`}},
	} {
		t.Run(filepath.Base(c.path), func(t *testing.T) {
			if _, err := os.Stat(c.path); err != nil {
				t.Fatalf("%v (Debian package %s)", err, c.debianPackage)
			}
			file := filepath.Join(t.TempDir(), "counts")
			env := append(preload(t, "build-essential", counter), "COUNT_FILE="+file)
			tr := run(t, inferior.Config{Path: c.path, Args: c.args, Env: env}, nil)
			tr.checkHeap(false)
			counted, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for i, name := range []string{"malloc", "calloc", "realloc", "free"} {
				want, _ := reader{strings.NewReader(string(counted))}.word(addr.Run(8 * i))
				got := tr.count(func(c Call) bool {
					return c.Function.Name == name || c.Function.Name == name+"array" // reallocarray calls realloc
				})
				if uint64(got) != want {
					t.Errorf("%s: %d, the counter has %d", name, got, want)
				}
				t.Logf("%s: %d", name, got)
			}
		})
	}
}

func TestGoProgram(t *testing.T) {
	path := build(t, "golang-go", "golang", "go", "build", "golang.go")
	tr := run(t, inferior.Config{Path: path}, nil)
	for size, want := range map[uint64]int{12347: 51, 23457: 100} {
		got := tr.count(func(c Call) bool { return c.Function.Name == goMalloc && c.Event.Size == size })
		if got != want {
			t.Errorf("%d allocations of %d bytes, want %d", got, size, want)
		}
	}
}

// excluded are exported functions whose names sound like allocators' and that
// neither hand out nor take back a block of the user's, but for the last line.
var excluded = []string{
	"*usable_size*", "*good_size*", "*nallocx", "sallocx", "xallocx", "*stats*", "*expand*", "*is_in*", "*option*",
	"*register*", "*collect*", "*_MallocExtension*", "MallocHook_*", "MallocExtension_*", "*set_new_mode*", "*query_new_mode*",
	"mi_malloc_size", "malloc_size", "mi_heap_new*", "mi_arena*", "mi_reserve*", "mi_manage*", "_mi_*",
	"_Z*Extension*", "_ZN*", "_ZT*", "*deferred_free", "tc_malloc_usable*", "_Z2*", "mi_check_owned*", "tc_malloc_size", "TCMallocGetenvSafe",
	"*reallocarr", "mi_*dupenv_s", "mi_wcsdup", "mi_mbsdup", // not traced, see mimallocFunctions
}

// Every allocator function that a library exports stands in the catalogue, or
// shares its address with one that does.
func TestCatalogueCoversLibraries(t *testing.T) {
	known := map[string]bool{}
	for _, f := range Catalogue() {
		known[f.Symbol] = true
	}
	for debianPackage, library := range map[string]string{
		"libc6": "libc.so.6", "libstdc++6": "libstdc++.so.6", "libjemalloc2": "libjemalloc.so.2",
		"libtcmalloc-minimal4": "libtcmalloc_minimal.so.4", "libmimalloc2.0": "libmimalloc.so.2",
	} {
		f, err := elf.Open(filepath.Join("/usr/lib/x86_64-linux-gnu", library))
		if err != nil {
			t.Fatalf("%v (Debian package %s)", err, debianPackage)
		}
		symbols, err := f.DynamicSymbols()
		f.Close()
		if err != nil {
			t.Fatal(err)
		}
		covered := map[uint64]bool{}
		for _, s := range symbols {
			covered[s.Value] = covered[s.Value] || known[s.Name]
		}
		for _, s := range symbols {
			if s.Section == elf.SHN_UNDEF || elf.ST_TYPE(s.Info) != elf.STT_FUNC || covered[s.Value] || !isAllocatorName(library, s.Name) {
				continue
			}
			t.Errorf("%s exports %s", library, s.Name)
		}
	}
}

// isAllocatorName guesses from a name whether the function allocates or frees.
func isAllocatorName(library, name string) bool {
	if library == "libc.so.6" || library == "libstdc++.so.6" {
		return strings.HasPrefix(name, "_Zn") || strings.HasPrefix(name, "_Zd")
	}
	if slices.ContainsFunc(excluded, func(pattern string) bool { return cond.Match(pattern, name) }) {
		return false
	}
	return slices.ContainsFunc([]string{"alloc", "free", "new", "delete", "_Zn", "_Zd", "dup"}, func(part string) bool { return strings.Contains(name, part) })
}

// Attached in the middle, the tracer sees what comes; detached in the middle,
// the program goes on unharmed.
func TestAttach(t *testing.T) {
	cmd := exec.Command(build(t, "build-essential", "pairs", "gcc", "-O1", "-fno-builtin", "pairs.c"), "1000", "wait")
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(stdout, make([]byte, 1)); err != nil { // it runs
		t.Fatal(err)
	}
	proc, err := inferior.Attach(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	var calls []string
	tracer := NewTracer(proc, &elfSymbols{map[string][]elf.Symbol{}}, sinkFunc(func(c Call) inferior.Action {
		line, _, _ := strings.Cut(c.String(), " = ")
		calls = append(calls, line)
		if len(calls) == 500 {
			return inferior.StopHere
		}
		return inferior.Resume
	}))
	if err := tracer.Arm(func(Function) bool { return true }); err != nil {
		t.Fatal(err)
	}
	if _, err := stdin.Write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	if stop, err := proc.Continue(); err != nil || stop.Reason != inferior.Trapped {
		t.Fatalf("%v %v", stop.Reason, err)
	}
	if calls[0] != "malloc(1)" || calls[2] != "malloc(1000)" || calls[498] != "malloc(752)" {
		t.Errorf("calls: %q", calls)
	}
	tracer.Disarm()
	if err := proc.Detach(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("the program detached from: %v", err)
	}
}

// BenchmarkRealPair is the time of a malloc and a free of a real program: three
// traps.
func BenchmarkRealPair(b *testing.B) {
	path := filepath.Join(b.TempDir(), "pairs")
	if text, err := exec.Command("gcc", "-O1", "-fno-builtin", "-o", path, "testdata/pairs.c").CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, text)
	}
	proc, err := inferior.Launch(inferior.Config{Path: path, Args: []string{fmt.Sprint(b.N)}})
	if err != nil {
		b.Fatal(err)
	}
	defer proc.Close()
	calls := 0
	tracer := NewTracer(proc, &elfSymbols{map[string][]elf.Symbol{}}, sinkFunc(func(Call) inferior.Action {
		calls++
		return inferior.Resume
	}))
	proc.SetHooks(inferior.Hooks{Modules: func(_ *inferior.Thread, added, removed []inferior.Module) inferior.Action {
		if err := tracer.ModulesChanged(added, removed); err != nil {
			b.Error(err)
		}
		return inferior.Resume
	}})
	if err := tracer.Arm(func(Function) bool { return true }); err != nil {
		b.Fatal(err)
	}
	b.ResetTimer()
	if _, err := proc.Continue(); err != nil {
		b.Fatal(err)
	}
	if calls < 2*b.N {
		b.Errorf("%d calls of %d pairs", calls, b.N)
	}
}
