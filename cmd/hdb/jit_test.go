package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"hdb/query"
	"hdb/session"
	"hdb/session/target"
	"hdb/symbols"
	"hdb/testprogs"
)

// recordMapped records a program that writes a map for perf, and removes the map: the
// capture must have its names by then.
func recordMapped(t *testing.T, words ...string) *session.Session {
	t.Helper()
	runtime.LockOSThread()
	t.Cleanup(runtime.UnlockOSThread)
	file := filepath.Join(t.TempDir(), "jit.hdb")
	var out, errw bytes.Buffer
	if code := run(append([]string{"record", "-q", "-o", file}, words...), os.Stdin, &out, &errw); code != 0 {
		t.Fatalf("hdb record %v: exit %d: %s", words, code, &errw)
	}
	s := session.New(target.Config{})
	t.Cleanup(func() { s.Close() })
	info, err := s.Captures.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(fmt.Sprintf("/tmp/perf-%d.map", info.PID)); err != nil {
		t.Errorf("the map: %v", err)
	}
	return s
}

// mappedNames are the functions of recorded stacks that a map named.
func mappedNames(t *testing.T, s *session.Session) map[string]int {
	t.Helper()
	names := map[string]int{}
	events, err := s.Queries.Events(nil, query.Present)
	if err != nil {
		t.Fatal(err)
	}
	for e := range events {
		_, st, err := s.Queries.EventStack(e.Seq)
		if err != nil {
			continue
		}
		for _, f := range st.Frames {
			if f.Frame.Source == symbols.FromPerfMap {
				names[f.Function]++
			}
		}
	}
	return names
}

// TestRecordPerfMap names code that was made at run time after the program has ended.
func TestRecordPerfMap(t *testing.T) {
	text, err := os.ReadFile(testprogs.Source(t, "jit"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	source, prog := filepath.Join(dir, "keep.c"), filepath.Join(dir, "keep")
	if err := os.WriteFile(source, bytes.Replace(text, []byte("unlink(name);"), nil, 1), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(testprogs.Tool(t, "gcc"), "-g", "-o", prog, source).CombinedOutput(); err != nil {
		t.Fatalf("gcc: %v\n%s", err, out)
	}
	if got := mappedNames(t, recordMapped(t, prog)); len(got) != 1 || got["LazyCompile:*make app.js:7"] == 0 {
		t.Errorf("named %v", got)
	}
}

// TestRecordNode does the same with a runtime that moves its code.
func TestRecordNode(t *testing.T) {
	node := testprogs.Tool(t, "node")
	t.Chdir(t.TempDir()) // it leaves a log
	script := filepath.Join(t.TempDir(), "work.js")
	if err := os.WriteFile(script, []byte("function makeBuffers(n) { let s = 0; for (let i = 0; i < n; i++) s += Buffer.allocUnsafeSlow(20000).length; return s; }\nlet t = 0;\nfor (let k = 0; k < 40; k++) t += makeBuffers(50);\nprocess.exitCode = t > 0 ? 0 : 1;\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	n := 0
	for name, count := range mappedNames(t, recordMapped(t, "--filter", "size == 20000", node, "--perf-basic-prof", script)) {
		if strings.Contains(name, "makeBuffers") {
			n += count
		}
	}
	if n < 1000 {
		t.Errorf("makeBuffers is in %d stacks of 2000", n)
	}
}

// TestRecordJITImages names code of a runtime that speaks gdb's JIT interface. In full it
// takes its code back before it ends.
func TestRecordJITImages(t *testing.T) {
	dir := t.TempDir()
	source, code := filepath.Join(dir, "made.c"), filepath.Join(dir, "made.ll")
	// It ends with the code in place, as runtimes do whose _exit runs no destructor.
	text := "void *malloc(unsigned long);\nvoid _exit(int);\nvoid *hold;\nvoid make(void) { hold = malloc(12345); }\nint main(void)\n{\n\tmake();\n\t_exit(0);\n}\n"
	if !testing.Short() { // it takes the code back; the names are read beside the program, which goes on for a moment
		text = strings.Replace(strings.Replace(text, "_exit(0);", "sleep(1);\n\treturn 0;", 1), "void _exit(int);", "int sleep(unsigned);", 1)
	}
	if err := os.WriteFile(source, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(testprogs.Tool(t, "clang"), "-g", "-O0", "-S", "-emit-llvm", source, "-o", code)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	lli, err := exec.LookPath("lli")
	if err != nil {
		t.Fatalf("lli: %v (Debian package llvm)", err)
	}
	file := filepath.Join(dir, "jit.hdb")
	if out, err := exec.Command(testprogs.HDB(t), "record", "-q", "-o", file, lli, "--jit-kind=mcjit", code).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	out, err := exec.Command(testprogs.HDB(t), "-batch", "-nx", "-ex", "allocs all if size == 12345", "open", file).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "make") || !strings.Contains(string(out), "made.c:4") {
		t.Errorf("%v\n%s", err, out)
	}
}
