package unwind

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hdb/testprogs"
)

// A walkCase stops a program of testdata and compares the walk with gdb's.
type walkCase struct {
	name     string
	source   string
	compiler string // gcc unless said
	flags    string
	args     string // of the program
	gdb      []string
	// What the walk says at its end, "" for a complete stack. Where it is set, gdb may
	// go on with frames of its own.
	truncated string
	// outermost: the walk is complete, where gdb goes on with frames of its own.
	outermost bool
	spurious  int // a frame that gdb makes up, and loses registers by
	// How some frame must have been found, so that the case tests what it means to.
	how How
	// frames is the least number of frames in the deepest stack.
	frames int
}

var walkCases = []walkCase{
	{name: "recursion", source: "recursion.c", flags: "-O2 -fomit-frame-pointer",
		gdb: []string{"break stop_here", "run", "snap"}, how: CFI, frames: 303},
	{name: "recursion by debug_frame", source: "recursion.c", flags: "-O2 -fomit-frame-pointer -g -fno-asynchronous-unwind-tables",
		gdb: []string{"break stop_here", "run", "snap"}, how: CFI, frames: 303},
	{name: "alloca", source: "alloca.c", flags: "-O2",
		gdb: []string{"break *stop_here", "run", "snapstep 8"}, how: CFI, frames: 6},
	{name: "realigned", source: "realign.c", flags: "-O2 -mavx2",
		gdb: []string{"break outer", "run", "snapstep 180"}, how: CFI, frames: 6},
	{name: "realigned without optimizing", source: "realign.c", flags: "-O0 -mavx2",
		gdb: []string{"break stop_here", "run", "snap", "continue", "snapstep 5"}, how: CFI, frames: 6},
	{name: "signal", source: "signals.c", flags: "-O2",
		gdb: []string{"handle SIGSEGV SIGUSR1 nostop noprint pass", "break stop_here", "run", "snap", "continue", "snapstep 12"}, how: CFI, frames: 9},
	{name: "signal on its own stack", source: "signals.c", flags: "-O2", args: "alt",
		gdb: []string{"handle SIGSEGV SIGUSR1 nostop noprint pass", "break stop_here", "run", "snap", "continue", "snapstep 12"}, how: CFI, frames: 9},
	{name: "signal in a static program", source: "signals.c", flags: "-O2 -static",
		gdb: []string{"handle SIGSEGV SIGUSR1 nostop noprint pass", "break stop_here", "run", "snap", "continue", "snap"}, how: CFI, frames: 9},
	{name: "exception thrown", source: "exception.cc", compiler: "g++", flags: "-O2",
		gdb: []string{"set breakpoint pending on", "break __cxa_throw", "break _Unwind_RaiseException", "break __gxx_personality_v0", "break _Unwind_Find_FDE",
			"run", "snap", "continue", "snap", "continue", "snap", "continue", "snap", "continue", "snap"}, how: CFI, frames: 8},
	{name: "exception in clean-up", source: "exception.cc", compiler: "g++", flags: "-O2",
		gdb: []string{"break stop_here", "run", "snapstep 40", "tbreak _Unwind_Resume", "continue", "snapstep 40"}, how: CFI, frames: 6},
	{name: "lazy PLT", source: "calls.c", flags: "-O2 -Wl,-z,lazy -fcf-protection=none",
		gdb: []string{"set breakpoint pending on", "break *'puts@plt'", "run", "snapstep 60"}, how: CFI, frames: 4},
	{name: "lazy PLT with IBT", source: "calls.c", flags: "-O2 -Wl,-z,lazy -fcf-protection=full -Wl,-z,ibtplt",
		gdb: []string{"break main", "run", "delete", "break *'puts@plt'", "continue", "snapstep 60"}, how: CFI, frames: 4},
	{name: "callback of qsort", source: "calls.c", flags: "-O2",
		gdb: []string{"break stop_here", "run", "snapstep 30"}, how: CFI, frames: 8},
	{name: "vDSO", source: "calls.c", flags: "-O2",
		gdb: []string{"break main", "run", "delete", "break __vdso_clock_gettime", "continue", "snapstep 40"}, how: CFI, frames: 5},
	{name: "tail call", source: "calls.c", flags: "-O2 -g",
		gdb: []string{"break tail", "run", "break stop_here", "continue", "snapstep 8"}, how: CFI, frames: 5},
	{name: "call at the end of a function", source: "calls.c", flags: "-O2",
		gdb: []string{"break die", "run", "snapstep 3"}, how: CFI, frames: 5},
	{name: "exit handler", source: "calls.c", flags: "-O2",
		gdb: []string{"break at_exit", "run", "snap"}, how: CFI, frames: 6},
	{name: "every instruction of a function", source: "alloca.c", flags: "-O0",
		gdb: []string{"break *outer", "run", "snapstep 250"}, how: CFI, frames: 6},
	{name: "threads", source: "threads.c", flags: "-O2 -pthread",
		gdb: []string{"break stop_here", "run", "snap all"}, how: CFI, frames: 20},
	{name: "before libc", source: "calls.c", flags: "-O2",
		gdb: []string{"starti", "snapstep 60"}, frames: 2, outermost: true},
	{name: "constructors", source: "calls.c", flags: "-O2",
		gdb: []string{"set breakpoint pending on", "break call_init", "run", "snapstep 20"}, how: CFI, frames: 3, outermost: true},
	{name: "coroutine", source: "contexts.c", flags: "-O2",
		gdb: []string{"break stop_here", "run", "snap"}, how: CFI, frames: 3, truncated: "libc.so.6 at 0x"},
	{name: "relocation by ld.so", source: "calls.c", flags: "-O2",
		gdb: []string{"set breakpoint pending on", "break _dl_relocate_object", "run", "snapstep 30"}, how: CFI, frames: 4, outermost: true},
	{name: "call through NULL", source: "wild.c", flags: "-O2",
		gdb: []string{"break stop_here", "run", "continue", "snap"}, how: Leaf, frames: 6},
	{name: "generated code", source: "wild.c", flags: "-O2",
		gdb: []string{"break stop_here", "run", "snap"}, how: FramePointer, frames: 6, spurious: 2},
	{name: "frame pointers without CFI", source: "alloca.c", flags: "-O0 -fno-asynchronous-unwind-tables -fno-omit-frame-pointer",
		gdb: []string{"break *outer", "run", "snapstep 150"}, how: FramePointer, frames: 6},
	{name: "no CFI and no frame pointers", source: "recursion.c", flags: "-O2 -fno-asynchronous-unwind-tables -fomit-frame-pointer",
		gdb: []string{"break *stop_here", "run", "snap"}, how: Leaf, frames: 2, truncated: "no CFI for "},
	{name: "signal in musl", source: "signals.c", compiler: "musl-gcc", flags: "-O2 -static",
		gdb: []string{"handle SIGSEGV SIGUSR1 nostop noprint pass", "break stop_here", "run", "snap", "continue", "snap"}, how: Sigcontext, frames: 6, truncated: "no CFI for "},
	{name: "out of a coroutine", source: "contexts.c", flags: "-O2",
		gdb: []string{"break stop_here", "run", "continue", "snapstep 5"}, how: CFI, frames: 5},
}

// build compiles a source of testdata.
func build(t testing.TB, c *walkCase) string {
	t.Helper()
	compiler, pkg := "gcc", "gcc"
	switch c.compiler {
	case "":
	case "musl-gcc":
		compiler, pkg = c.compiler, "musl-tools"
	default:
		compiler, pkg = c.compiler, c.compiler
	}
	needTool(t, compiler, pkg)
	source, err := filepath.Abs(filepath.Join("testdata", c.source))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	run(t, dir, compiler, append([]string{"-w", "-o", "prog", source}, strings.Fields(c.flags)...)...)
	return filepath.Join(dir, "prog")
}

func TestWalksLikeGDB(t *testing.T) {
	for i := 0; i < len(walkCases); i += testprogs.Stride(2) {
		c := walkCases[i]
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := takeSnapshot(t, build(t, &c), append([]string{"set args " + c.args}, c.gdb...)...)
			w := NewWalker(s)
			deepest, found := 0, false
			for i := range s.Stops {
				stop := &s.Stops[i]
				got := w.Walk(s.memory(t, stop), stop.regs(), 0)
				deepest = max(deepest, len(got.Frames))
				for _, f := range got.Frames {
					found = found || f.How == c.how
				}
				if c.spurious != 0 {
					stop.Frames = slices.Delete(stop.Frames, c.spurious, c.spurious+1)
					for _, f := range stop.Frames[c.spurious:] {
						f.Regs["rbp"] = nil
					}
				}
				if diff := diffStack(&got, stop, &c); diff != "" {
					t.Fatalf("stop %d: %s\n%s", i, diff, describe(&got, stop))
				}
			}
			if deepest < c.frames {
				t.Errorf("deepest stack has %d frames, expected %d", deepest, c.frames)
			}
			if !found {
				t.Errorf("no frame was found by %v", c.how)
			}
		})
	}
}

// diffStack compares every frame's PC, stack pointer and known callee-saved
// registers. The CFA of a frame is its caller's stack pointer.
func diffStack(got *Stack, want *stop, c *walkCase) string {
	if !strings.Contains(got.Truncated, c.truncated) || c.truncated == "" && got.Truncated != "" {
		return fmt.Sprintf("truncated %q, expected %q", got.Truncated, c.truncated)
	}
	guess := false // the registers behind a guess are lost
	for i, f := range got.Frames {
		guess = guess || f.How.Guess()
		if i >= len(want.Frames) {
			return fmt.Sprintf("frame %d is more than gdb has", i)
		}
		g := want.Frames[i]
		if uint64(f.PC.Addr()) != g.PC {
			return fmt.Sprintf("frame %d: PC %v, gdb has %#x", i, f.PC.Addr(), g.PC)
		}
		if f.Signal != g.Signal {
			return fmt.Sprintf("frame %d: signal %v, gdb has %v", i, f.Signal, g.Signal)
		}
		if i > 0 && uint64(got.Frames[i-1].CFA) != uint64(f.Regs.SP()) {
			return fmt.Sprintf("frame %d: CFA %v, but the next stack pointer is %v", i-1, got.Frames[i-1].CFA, f.Regs.SP())
		}
		for _, r := range []Reg{RSP, RBX, RBP, R12, R13, R14, R15} {
			v, ok := f.Regs.Get(r)
			if w := g.Regs[r.String()]; ok && w != nil && v != *w {
				return fmt.Sprintf("frame %d: %v is %#x, gdb has %#x", i, r, v, *w)
			} else if !ok && w != nil && !guess {
				return fmt.Sprintf("frame %d: %v is lost, gdb has %#x", i, r, *w)
			}
		}
	}
	if c.truncated == "" && !c.outermost && len(got.Frames) < len(want.Frames) {
		return fmt.Sprintf("%d frames, gdb has %d", len(got.Frames), len(want.Frames))
	}
	return ""
}

// describe shows both stacks side by side.
func describe(got *Stack, want *stop) string {
	var b strings.Builder
	for i := range min(40, max(len(got.Frames), len(want.Frames))) {
		if i < len(got.Frames) {
			f := &got.Frames[i]
			fmt.Fprintf(&b, "#%-3d %-18v sp %-18v cfa %-18v %-14v", i, f.PC.Addr(), f.Regs.SP(), f.CFA, f.How)
		} else {
			fmt.Fprintf(&b, "%-80s", "-")
		}
		if i < len(want.Frames) {
			g := want.Frames[i]
			sp := uint64(0)
			if g.Regs["rsp"] != nil {
				sp = *g.Regs["rsp"]
			}
			fmt.Fprintf(&b, " | %#x sp %#x %s", g.PC, sp, g.Name)
		}
		b.WriteByte('\n')
	}
	fmt.Fprintf(&b, "truncated: %q\n", got.Truncated)
	return b.String()
}

// TestPLTWithoutCFI steps through a PLT for which the linker made no CFI. gdb loses
// the stack behind the first push; all stops must have the callers of the first.
func TestPLTWithoutCFI(t *testing.T) {
	for name, c := range map[string]struct {
		flags string
		steps int // that stay in the PLT
	}{
		"plain": {"-fcf-protection=none", 4},
		"IBT":   {"-fcf-protection=full -Wl,-z,ibtplt", 6},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			program := build(t, &walkCase{source: "calls.c", flags: "-O2 -Wl,-z,lazy -Wl,--no-ld-generated-unwind-info " + c.flags})
			s := takeSnapshot(t, program, "break *'puts@plt'", "run", fmt.Sprintf("snapstep %d", c.steps))
			first := &s.Stops[0]
			if len(first.Frames) < 4 {
				t.Fatalf("gdb has only %d frames", len(first.Frames))
			}
			w := NewWalker(s)
			for i := range s.Stops {
				stop := &s.Stops[i]
				got := w.Walk(s.memory(t, stop), stop.regs(), 0)
				want := *first
				want.Frames = append([]gdbFrame{stop.Frames[0]}, first.Frames[1:]...)
				if diff := diffStack(&got, &want, &walkCase{}); diff != "" {
					t.Fatalf("stop %d: %s\n%s", i, diff, describe(&got, &want))
				}
				if got.Frames[1].How != PLT {
					t.Errorf("stop %d: caller found by %v", i, got.Frames[1].How)
				}
			}
		})
	}
}
