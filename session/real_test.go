package session

import (
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"hdb/inferior"
	"hdb/internal/addr"
	"hdb/names"
	"hdb/session/target"
	"hdb/symbols"
	"hdb/testprogs"
	"hdb/testprogs/oracle"
	"hdb/testprogs/real"
)

// realStops is how many stacks of each real program are compared: in full, and of a
// statement that has all parts of sqlite at work.
const realStops, fewStops = 200, 50

// TestRealProgramsAgainstGDB runs the same work under hdb and under gdb: as many
// calls of malloc at or above a size, and the same stacks at the first of them.
func TestRealProgramsAgainstGDB(t *testing.T) {
	testprogs.SkipUnderRace(t)
	programs, stops := real.All(t), realStops
	if testing.Short() {
		p := real.SQLite(t)
		p.Args, p.Frequent = []string{"-batch", "-bail", ":memory:", "CREATE TABLE t(a, b); CREATE INDEX i ON t(b); INSERT INTO t VALUES(1, 'one'), (2, 'two');" +
			"SELECT group_concat(x.b || y.a, '-') FROM t x, t y WHERE x.b LIKE '%o%' GROUP BY x.a ORDER BY 1;"}, 400
		programs, stops = []real.Program{p}, fewStops
	}
	for _, p := range programs {
		t.Run(p.Name, func(t *testing.T) {
			want := oracle.GDB(t, p.Command, oracle.Query{MinSize: p.Frequent, First: 1, Last: stops})
			if want.Count < stops {
				t.Fatalf("only %d calls of malloc(>= %d)", want.Count, p.Frequent)
			}
			compareRun(t, p, want)
		})
	}
}

// compareRun stops at every call that gdb stopped at, and compares the stacks.
func compareRun(t *testing.T, p real.Program, want oracle.Result) {
	s := openCommand(t, p.Command)
	s.Settings.PastMain = true
	setBreak(t, s, fmt.Sprintf("malloc if size >= %d", p.Frequent))
	c := comparison{t: t, s: s, lines: map[addr.Code]string{}}
	n := 0
	r, err := s.Run(nil)
	for ; err == nil && r.Reason != inferior.Exited && r.Reason != inferior.Gone; r, err = s.Execution.Continue(1) {
		st, err := s.Selection.Stack(0)
		if err != nil {
			t.Fatal(err)
		}
		st.Frames = s.Selection.WithTailCalls(st.Frames, s.Selection.Called())
		if r.Event() == nil {
			t.Fatalf("stopped: %s", r.Headline())
		}
		if r.Event().Function != "malloc" || inStrdup(st.Frames) {
			continue // malloc did the work for another function, which the oracle leaves out
		}
		if n < len(want.Stops) {
			c.compare(fmt.Sprintf("stop %d, %s", n+1, r.Event().Call()), st, want.Stops[n])
		}
		n++
	}
	if err != nil {
		t.Fatal(err)
	}
	if n != want.Count {
		t.Errorf("%d calls of malloc(>= %d), gdb counts %d", n, p.Frequent, want.Count)
	}
	t.Logf("%d calls; %d stacks of %d frames compared, %d of them tail calls and %d that gdb lacks, gdb's line is wrong in %d frames", n, len(want.Stops), c.frames, c.tails, c.proven, c.settled)
}

// inStrdup tells calls from inside strdup and its kin.
func inStrdup(frames []names.Frame) bool {
	return len(frames) > 0 && strings.HasSuffix(strings.TrimLeft(frames[0].Function, "_"), "dup") && strings.HasPrefix(frames[0].Module, "libc.")
}

// A comparison holds stacks against gdb's. They must be the same, except that
//
//   - gdb names a function by its linkage name, __GI_strdup or f.isra.0, hdb by
//     the one in the source or the one that its library exports;
//   - gdb goes on from _dl_start_user, which has no caller, into the arguments;
//   - gdb gives some calls the line of the callee's declaration, or another line
//     of the same statement: addr2line then settles who is right;
//   - gdb does not deduce all tail calls: the code tells whom a caller called.
type comparison struct {
	t       *testing.T
	s       *Session
	frames  int
	tails   int // deduced from call sites, by gdb, too
	proven  int // not deduced by gdb
	settled int // differences in which addr2line agrees with hdb
	lines   map[addr.Code]string
}

// compare reports the first difference; gdb's frame 0 is malloc itself.
func (c *comparison) compare(what string, got names.Stack, stop oracle.Stop) {
	want := started(stop.Frames[1:])
	got.Frames = c.provenTails(got.Frames, want)
	c.frames += len(got.Frames)
	for _, f := range got.Frames {
		if f.Tail {
			c.tails++
		}
	}
	if got.Truncated != "" {
		c.t.Errorf("%s: truncated: %s", what, got.Truncated)
	}
	for i := range min(len(got.Frames), len(want)) {
		g, w := got.Frames[i], want[i]
		same := uint64(g.Code.Addr()) == w.PC && g.Inlined == w.Inlined && (g.Tail == w.Tail || g.Tail && g.Inlined) && (g.Function == plainName(w.Function) || c.aliases(g, w.Function))
		if same && (w.File == "" || lineText(g.File, g.Line) == lineText(w.File, w.Line)) {
			continue
		}
		if same && c.agrees(got.Frames, i) {
			c.settled++
			continue
		}
		c.t.Errorf("%s: frame %d is %v %s inlined=%v tail=%v %s, gdb has %#x %s inlined=%v tail=%v %s", what, i,
			g.Code.Addr(), g.Function, g.Inlined, g.Tail, lineText(g.File, g.Line), w.PC, w.Function, w.Inlined, w.Tail, lineText(w.File, w.Line))
		return
	}
	if len(got.Frames) != len(want) {
		c.t.Errorf("%s: %d frames, gdb has %d", what, len(got.Frames), len(want))
	}
}

// provenTails leaves out the tail calls of a frame where gdb has none, if the code of its
// caller calls the outermost of them.
func (c *comparison) provenTails(frames []names.Frame, want []oracle.Frame) (out []names.Frame) {
	for i := 0; i < len(frames); i++ {
		f, n := frames[i], len(out)
		if !f.Tail || n < len(want) && want[n].Tail {
			out = append(out, f)
			continue
		}
		last := i
		for last+1 < len(frames) && frames[last+1].Tail {
			last++
		}
		if last+1 == len(frames) || c.called(frames[last+1].Code.Addr()) != frames[last].Entry.Run(c.s.target.Names.Modules.At(frames[last].Code.Lookup()).Bias) {
			c.t.Errorf("%s is no tail call: %v does not call it", f.Function, frames[last].Code.Addr())
		}
		c.proven++
		i = last
	}
	return out
}

// called is the function that the instruction before a return address calls.
func (c *comparison) called(ret addr.Run) addr.Run {
	const size, call = 5, 0xe8 // CALL rel32
	var code [size]byte
	if _, err := c.s.target.Proc.ReadAt(code[:], int64(ret)-size); err != nil || code[0] != call {
		return 0
	}
	return ret + addr.Run(int32(binary.LittleEndian.Uint32(code[1:])))
}

// started leaves out what is beyond the program's first function.
func started(frames []oracle.Frame) []oracle.Frame {
	var out []oracle.Frame
	for _, f := range frames {
		out = append(out, f)
		if f.Function == "_dl_start_user" {
			break
		}
	}
	return out
}

// aliases tells whether both are names of the frame's function.
func (c *comparison) aliases(f names.Frame, name string) bool {
	obj, _ := c.s.target.Names.Modules.ObjectAt(f.Code.Lookup())
	if obj == nil {
		return false
	}
	return slices.ContainsFunc(obj.FindFunctions(name), func(fn symbols.Function) bool { return fn.Low == f.Entry }) ||
		slices.ContainsFunc(obj.Symtab.Symbols(name), func(sym symbols.Sym) bool { return sym.Addr == f.Entry })
}

// plainName drops what the C library and the optimizer add to a name.
func plainName(linkage string) string {
	name, _, _ := strings.Cut(strings.TrimPrefix(linkage, "__GI_"), ".")
	return name
}

func lineText(file string, line int) string { return fmt.Sprintf("%s:%d", filepath.Base(file), line) }

// agrees asks addr2line for the lines at frame i's address, those of all inlined
// calls there, and compares them with hdb's.
func (c *comparison) agrees(frames []names.Frame, i int) bool {
	code := frames[i].Code
	want, ok := c.lines[code]
	if !ok {
		want = addr2line(c.t, c.s, code)
		c.lines[code] = want
	}
	var got []string
	for _, f := range frames {
		if f.Code == code && f.CFA == frames[i].CFA {
			got = append(got, lineText(f.File, f.Line))
		}
	}
	return strings.Join(got, " ") == want
}

func addr2line(t *testing.T, s *Session, code addr.Code) string {
	obj, mod := s.target.Names.Modules.ObjectAt(code.Lookup())
	if obj == nil {
		return ""
	}
	file := mod.Path
	if f := obj.Info().DebugFile; f != "" {
		file = f
	}
	out, err := exec.Command(testprogs.Tool(t, "addr2line"), "-i", "-e", file, code.Lookup().File(mod.Bias).String()).Output()
	if err != nil {
		t.Fatalf("addr2line: %v", err)
	}
	var lines []string
	for line := range strings.Lines(string(out)) {
		line, _, _ = strings.Cut(strings.TrimSpace(line), " (discriminator")
		lines = append(lines, filepath.Base(line))
	}
	return strings.Join(lines, " ")
}

// openCommand is a session about to run the command with its streams on
// /dev/null and exactly its environment.
func openCommand(t *testing.T, c testprogs.Command) *Session {
	t.Helper()
	runtime.LockOSThread()
	t.Cleanup(runtime.UnlockOSThread)
	s := New(target.Config{Version: "test", Cache: testprogs.Kept(t), Notify: func(line string) { t.Log(line) }})
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	if _, err := s.Load(c.Path); err != nil {
		t.Fatal(err)
	}
	for _, kv := range os.Environ() {
		name, _, _ := strings.Cut(kv, "=")
		s.Settings.UnsetEnv[name] = true
	}
	for _, kv := range c.Env {
		name, value, _ := strings.Cut(kv, "=")
		s.Settings.Env[name] = value
	}
	s.Settings.Dir = c.Dir
	for _, a := range c.Args {
		s.Settings.Args += "'" + strings.ReplaceAll(a, "'", `'\''`) + "' "
	}
	s.Settings.Args += "< /dev/null > /dev/null 2> /dev/null"
	return s
}
