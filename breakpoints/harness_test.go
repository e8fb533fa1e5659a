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
	"hdb/symbols"
	_ "hdb/testprogs" // the same environment everywhere
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

func (s *elfSymbols) Extent(m inferior.Module, a addr.Run) (low, high addr.Run, ok bool) {
	o, err := symbols.Open(m.Path, symbols.Config{})
	if err != nil {
		return 0, 0, false
	}
	defer o.Close()
	table, err := o.CFI()
	if err != nil || table == nil {
		return 0, 0, false
	}
	code, ok := table.FunctionAt(a.File(m.Bias))
	return code.Low.Run(m.Bias), code.High.Run(m.Bias), ok
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
		Modules: func(_ *inferior.Thread, added, removed []inferior.Module) inferior.Action {
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
func (tr *trace) Begin(*inferior.Thread, Call) inferior.Action { return inferior.Resume }

func (tr *trace) Keep(*inferior.Thread, Call) any { return nil }

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
		if slices.ContainsFunc(s.Function.Also, func(symbol string) bool { return names[symbol] == name }) {
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
	for i := 0; i < min(len(said), len(calls)); i++ {
		line, optional := strings.CutPrefix(said[i], "perhaps ")
		got := calls[i].as(line)
		if optional && !strings.HasPrefix(got, line[:strings.IndexByte(line, '(')]) {
			said = slices.Delete(said, i, i+1)
			i--
			continue
		}
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

// count is the number of calls that match.
func (tr *trace) count(match func(Call) bool) int {
	n := 0
	for _, c := range tr.calls {
		if match(c) {
			n++
		}
	}
	return n
}

// as is the call by the name that the program has for it, if that is one of those of its function.
func (c Call) as(line string) string {
	if name, _, _ := strings.Cut(line, "("); slices.Contains(Names(c.Function.Name), name) {
		c.Function.Name = name
	}
	return c.String()
}
