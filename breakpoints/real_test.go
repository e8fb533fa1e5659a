package breakpoints

import (
	"debug/elf"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hdb/capture"
	"hdb/inferior"
	"hdb/internal/addr"
)

// build compiles a file of testdata with the command line that follows, which
// a missing compiler fails with the name of its Debian package.
func build(t *testing.T, debianPackage, out string, command ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), out)
	command = slices.Insert(command, min(2, len(command)-1), "-o", path)
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Dir = "testdata"
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v (Debian package %s)\n%s", strings.Join(command, " "), err, debianPackage, text)
	}
	return path
}

func gcc(t *testing.T, source string, flags ...string) string {
	t.Helper()
	command := []string{"gcc", "-g", "-O1", "-fno-builtin", "-pthread", source + ".c"}
	return build(t, "build-essential", source, append(command, flags...)...)
}

// preload is the environment with a library preloaded.
func preload(t *testing.T, debianPackage, library string) []string {
	t.Helper()
	if !filepath.IsAbs(library) {
		library = filepath.Join("/usr/lib/x86_64-linux-gnu", library)
	}
	if _, err := os.Stat(library); err != nil {
		t.Fatalf("%v (Debian package %s)", err, debianPackage)
	}
	return append(os.Environ(), "LD_PRELOAD="+library)
}

// elfSymbols reads symbol tables with the standard library.
type elfSymbols struct{ files map[string][]elf.Symbol }

func (s *elfSymbols) Defined(m inferior.Module, names []string) ([]Symbol, error) {
	list, ok := s.files[m.Path]
	if !ok {
		f, err := elf.Open(m.Path)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		static, errS := f.Symbols()
		dynamic, errD := f.DynamicSymbols()
		if err := errors.Join(errS, errD); errS != nil && errD != nil && !errors.Is(err, elf.ErrNoSymbols) {
			return nil, err
		}
		list = append(static, dynamic...)
		s.files[m.Path] = list
	}
	var found []Symbol
	for _, y := range list {
		typ := elf.ST_TYPE(y.Info)
		if y.Section != elf.SHN_UNDEF && (typ == elf.STT_FUNC || typ == elf.STT_GNU_IFUNC) && slices.Contains(names, y.Name) {
			found = append(found, Symbol{y.Name, addr.File(y.Value).Run(m.Bias), y.Size, typ == elf.STT_GNU_IFUNC})
		}
	}
	return found, nil
}

// A trace is a program run under a tracer to its end.
type trace struct {
	t      *testing.T
	tracer *Tracer
	proc   *inferior.Process
	calls  []Call
	output string
	exit   inferior.ExitStatus
}

// run traces a program that must exit with code 0. setup may change the tracer
// and the hooks before the program's first instruction.
func run(t *testing.T, config inferior.Config, setup func(*trace, *inferior.Hooks)) *trace {
	t.Helper()
	output := filepath.Join(t.TempDir(), "output")
	config.Stdin, config.Stdout, config.Stderr = "/dev/null", output, output+"2"
	proc, err := inferior.Launch(config)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := proc.Close(); err != nil {
			t.Error(err)
		}
	}()
	tr := &trace{t: t, proc: proc}
	tr.tracer = NewTracer(proc, &elfSymbols{map[string][]elf.Symbol{}}, tr)
	hooks := inferior.Hooks{
		Modules: func(added, removed []inferior.Module) inferior.Action {
			tr.check(tr.tracer.ModulesChanged(added, removed))
			return inferior.Resume
		},
		ThreadExited: func(th *inferior.Thread) { tr.tracer.ThreadExited(int32(th.TID)) },
		Message:      func(text string) { t.Log(text) },
	}
	if setup != nil {
		setup(tr, &hooks)
	}
	proc.SetHooks(hooks)
	tr.check(tr.tracer.Arm(func(Function) bool { return true }))
	stop, err := proc.Continue()
	if err != nil {
		t.Fatal(err)
	}
	if stop.Reason != inferior.Exited {
		t.Fatalf("stopped: %v %+v %+v", stop.Reason, stop.Signal, stop.Thread)
	}
	tr.exit = stop.Exit
	if stop.Exit.Code != 0 {
		errText, _ := os.ReadFile(output + "2")
		t.Fatalf("%s %s\n%s", config.Path, stop.Exit, errText)
	}
	if s := tr.tracer.Stats(); s.Lost != 0 {
		t.Errorf("%d calls lost: %v", s.Lost, s.LostCause)
	}
	text, err := os.ReadFile(output)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	tr.output = string(text)
	return tr
}

// check accepts no error of planting but refused IFUNCs.
func (tr *trace) check(err error) {
	for line := range strings.Lines(fmt.Sprint(err)) {
		if err != nil && !strings.Contains(line, "IFUNC") {
			tr.t.Errorf("plant: %s", line)
		}
	}
}

// Alloc keeps the call.
func (tr *trace) Alloc(_ *inferior.Thread, c Call) inferior.Action {
	tr.calls = append(tr.calls, c)
	return inferior.Resume
}

// between is the calls between the marks of the test programs.
func (tr *trace) between() []Call {
	tr.t.Helper()
	mark := func(size uint64) int {
		return slices.IndexFunc(tr.calls, func(c Call) bool { return c.Function.Name == "calloc" && c.Event.Size == size })
	}
	begin, end := mark(0xbe61), mark(0xe17d)
	if begin < 0 || end < begin {
		tr.t.Fatalf("no marks among %d calls", len(tr.calls))
	}
	return tr.calls[begin+1 : end]
}

// spellings is line, and line with the names of the functions that share their
// address with the one it names. Frees of all forms may be one function.
func (tr *trace) spellings(line string) []string {
	name, rest, _ := strings.Cut(line, "(")
	names := map[string]string{} // of symbols
	for _, f := range tr.tracer.Functions() {
		names[f.Symbol] = f.Name
	}
	all := []string{line}
	for _, s := range tr.tracer.Sites() {
		if slices.ContainsFunc(s.Aliases, func(symbol string) bool { return names[symbol] == name }) {
			all = append(all, s.Function.Name+"("+rest)
			if s.Function.Kind == capture.Free {
				block, _, _ := strings.Cut(strings.TrimSuffix(rest, ")"), ",")
				all = append(all, s.Function.Name+"("+block+")")
			}
		}
	}
	return all
}

// compareSaid compares the calls with what the program says it did.
func (tr *trace) compareSaid() {
	tr.t.Helper()
	said := strings.Split(strings.TrimSpace(tr.output), "\n")
	calls := tr.between()
	exception := ""
	for i, line := range said {
		if i >= len(calls) {
			break
		}
		got := calls[i].String()
		switch {
		case line == "malloc(EXCEPTION) = ADDRESS":
			_, exception, _ = strings.Cut(got, " = ")
			if calls[i].Event.Size > 1000 || exception == "" {
				tr.t.Fatalf("call %d: %s, want the exception's malloc", i, got)
			}
			continue
		case line == "free(ADDRESS)":
			line = "free(" + exception + ")"
		}
		if !slices.Contains(tr.spellings(line), got) {
			tr.t.Fatalf("call %d: %s, the program did %s", i, got, line)
		}
	}
	if len(said) != len(calls) {
		tr.t.Errorf("%d calls, the program did %d", len(calls), len(said))
		for _, c := range calls[min(len(said), len(calls)):] {
			tr.t.Logf("more: %s", c)
		}
	}
}

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

// countNames counts the calls by function and size.
func (tr *trace) count(match func(Call) bool) int {
	n := 0
	for _, c := range tr.calls {
		if match(c) {
			n++
		}
	}
	return n
}

func TestThreads(t *testing.T) {
	tr := run(t, inferior.Config{Path: gcc(t, "threads")}, nil)
	type key struct {
		name string
		size uint64
	}
	got := map[key]int{}
	live := map[uint64]uint64{} // block to size
	for _, c := range tr.calls {
		e := c.Event
		got[key{c.Function.Name, e.Size}]++
		switch {
		case c.Function.Name == "realloc" && e.Old != 0 && live[e.Old] == 0:
			t.Fatalf("%s: the old block is not live", c)
		case c.Function.Name == "free" && live[e.Addr] == 0:
			t.Fatalf("%s: the block is not live", c)
		}
		delete(live, e.Old)
		switch {
		case c.Function.Group == GroupVM:
		case e.Kind.String() == "free":
			delete(live, e.Addr)
		case live[e.Addr] != 0:
			t.Fatalf("%s: the block is live already with %d bytes", c, live[e.Addr])
		default:
			live[e.Addr] = max(e.Size, 1)
		}
	}
	for g := range uint64(4) {
		for id := 10 * g; id < 10*g+8; id++ {
			for k, want := range map[key]int{
				{"malloc", 1000 + id}: 100, {"calloc", 2 * (2000 + id)}: 100,
				{"realloc", 3000 + id}: 100, {"realloc", 5000 + id}: 100, {"malloc", 7000 + id}: 1,
			} {
				if got[k] != want {
					t.Errorf("%s of %d bytes: %d, want %d", k.name, k.size, got[k], want)
				}
			}
		}
	}
	if len(tr.tracer.shadows) > 1 {
		t.Errorf("%d threads are still known", len(tr.tracer.shadows))
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
		Modules: func(added, removed []inferior.Module) inferior.Action {
			tr.check(tr.tracer.ModulesChanged(added, removed))
			return inferior.Resume
		},
		Execed: func(string) {
			tr.tracer.Reset()
			tr.check(tr.tracer.Rearm())
		},
		Forked: func(_, _ int, followed bool) {
			if followed {
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
		{"perl-base", "/usr/bin/perl", []string{"-e", `my %h; $h{$_} = "x" x ($_ * 37) for 1..300; print length(join "", map { $h{$_} } sort keys %h)`}},
	} {
		t.Run(filepath.Base(c.path), func(t *testing.T) {
			if _, err := os.Stat(c.path); err != nil {
				t.Fatalf("%v (Debian package %s)", err, c.debianPackage)
			}
			file := filepath.Join(t.TempDir(), "counts")
			env := append(preload(t, "build-essential", counter), "COUNT_FILE="+file)
			tr := run(t, inferior.Config{Path: c.path, Args: c.args, Env: env}, nil)
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
