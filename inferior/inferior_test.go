package inferior

import (
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"hdb/inferior/cmdline"
	"hdb/internal/addr"
)

// compiled has the programs that build has made, by name and flags.
var compiled sync.Map

// build compiles testdata/NAME.c and returns the program's path. Each test has a file of its own;
// what a test before has compiled is not compiled again.
func build(t testing.TB, name string, flags ...string) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), name)
	key := strings.Join(append([]string{name}, flags...), " ")
	if program, ok := compiled.Load(key); ok {
		if err := os.WriteFile(out, program.([]byte), 0o755); err != nil {
			t.Fatal(err)
		}
		return out
	}
	args := append([]string{"-g", "-O1", "-pthread", "-o", out, filepath.Join("testdata", name+".c")}, flags...)
	if b, err := exec.Command("gcc", args...).CombinedOutput(); err != nil {
		t.Fatalf("gcc %s: %v\n%s(the tests need the package build-essential)", strings.Join(args, " "), err, b)
	}
	program, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	compiled.Store(key, program)
	return out
}

// launch starts a program with its output in a file, whose path it returns,
// and closes it at the end of the test.
func launch(t testing.TB, path string, args ...string) (*Process, string) {
	t.Helper()
	out := filepath.Join(t.TempDir(), "out")
	p, err := Launch(Config{Path: path, Args: args, Redirections: cmdline.Redirections{Stdin: "/dev/null", Stdout: out, StderrToStdout: true}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return p, out
}

// symbol is where the main program has its function or variable now.
func symbol(t testing.TB, p *Process, name string) addr.Run {
	t.Helper()
	v, ok := elfSymbol(p.target.Exe(), name)
	if !ok {
		t.Fatalf("%s: no symbol %s", p.target.Exe(), name)
	}
	for _, m := range p.modules.Modules() {
		if m.Name == p.target.Exe() {
			return v.Run(m.Bias)
		}
	}
	t.Fatalf("%s is not among the modules %v", p.target.Exe(), p.modules.Modules())
	return 0
}

// plant plants a trap that must work.
func plant(t testing.TB, p *Process, a addr.Run, h Handler) *Trap {
	t.Helper()
	tr, err := p.traps.Plant(a, h)
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

// resume is Continue that must work.
func resume(t testing.TB, p *Process) Stop {
	t.Helper()
	s, err := p.Continue()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// wantExit resumes and expects the end with this code.
func wantExit(t testing.TB, p *Process, code int) {
	t.Helper()
	if s := resume(t, p); s.Reason != Exited || s.Exit.Signal != 0 || s.Exit.Code != code {
		t.Fatalf("stop %v %v %+v, want exit with code %d", s.Reason, s.Exit, s.Signal, code)
	}
}

func read(t testing.TB, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestLaunchStopsAtFirstInstruction(t *testing.T) {
	p, out := launch(t, build(t, "threads"), "2", "1", "3")
	r, err := p.target.Threads()[0].Regs()
	if err != nil {
		t.Fatal(err)
	}
	auxv, err := p.target.Auxv()
	if err != nil {
		t.Fatal(err)
	}
	f, err := elf.Open("/lib64/ld-linux-x86-64.so.2")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if want := auxv[7] + f.Entry; r.Rip != want {
		t.Errorf("stopped at %#x, want the dynamic linker's entry %#x", r.Rip, want)
	}
	wantExit(t, p, 7)
	if got := read(t, out); got != "total 6\n" {
		t.Errorf("output %q", got)
	}
}

func TestTrapsCountEveryCall(t *testing.T) {
	p, _ := launch(t, build(t, "threads"), "8", "10", "50")
	n := 0
	plant(t, p, symbol(t, p, "hit"), func(th *Thread) Action {
		if r, err := th.Regs(); err != nil || r.Arg(0) != 1 {
			t.Errorf("argument %d, %v", r.Arg(0), err)
		}
		n++
		return Resume
	})
	wantExit(t, p, 7)
	if n != 8*10*50 {
		t.Errorf("%d hits, want %d", n, 8*10*50)
	}
}

func TestStopsCountEveryCall(t *testing.T) {
	p, _ := launch(t, build(t, "threads"), "60", "4", "5")
	plant(t, p, symbol(t, p, "hit"), func(*Thread) Action { return StopHere })
	n := 0
	for {
		s := resume(t, p)
		if s.Reason != Trapped {
			if s.Exit.Code != 7 {
				t.Errorf("%v %v", s.Reason, s.Exit)
			}
			break
		}
		n++
	}
	if n != 60*4*5 {
		t.Errorf("%d stops, want %d", n, 60*4*5)
	}
}
