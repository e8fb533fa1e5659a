package planes

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"hdb/testprogs"
	"hdb/testprogs/real"
)

// realJobs are real programs at work: all that package real has for them, or in
// the short form some thousand calls.
func realJobs(t *testing.T) map[string]job {
	jobs := map[string]job{}
	if !testing.Short() { // gdb takes ten seconds for its smallest work
		jobs["cc1plus"] = compiler(t)
	}
	for _, p := range []real.Program{real.SQLite(t), real.Xmllint(t), real.Git(t), real.Python(t)} {
		jobs[p.Name] = job{Command: p.Command}
	}
	if testing.Short() {
		for name, args := range lessWork {
			j := jobs[name]
			j.Args = args
			jobs[name] = j
		}
		j := jobs["xmllint"]
		j.Dir = writeFile(t, "small.xml", "<page>"+strings.Repeat("<table a='1'><row>cell &amp; cell</row><!-- note --></table>", 30)+"</page>")
		jobs["xmllint"] = j
	}
	jobs["xmllint"] = jobs["xmllint"].preloading(library(t, "frozen"))
	return jobs
}

// preloading is the job with one more library in front.
func (j job) preloading(library string) job {
	env := []string{"LD_PRELOAD=" + library}
	for _, kv := range j.Env {
		if before, ok := strings.CutPrefix(kv, "LD_PRELOAD="); ok {
			env[0] += ":" + before
		} else {
			env = append(env, kv)
		}
	}
	j.Env = env
	return j
}

// library is testdata/name.c, built into a folder of the test.
func library(t *testing.T, name string) string {
	t.Helper()
	source := filepath.Join("testdata", name+".c")
	path := filepath.Join(t.TempDir(), name+".so")
	if out, err := exec.Command(testprogs.Tool(t, "gcc"), "-O1", "-Wall", "-shared", "-fPIC", "-o", path, source).CombinedOutput(); err != nil {
		t.Fatalf("gcc %s: %v\n%s", source, err, out)
	}
	return path
}

var lessWork = map[string][]string{
	"sqlite3": {"-batch", "-bail", ":memory:", "CREATE TABLE t(a, b); INSERT INTO t VALUES(1, 'one'), (2, 'two'); CREATE INDEX i ON t(b);" +
		"SELECT group_concat(b || a, '-') FROM t; SELECT length(zeroblob(2000000)); SELECT count(*) FROM t x, t y ORDER BY x.a;"},
	"xmllint": {"--xpath", "count(//table)", "small.xml"},
	"git":     {"--no-pager", "log", "-p", "-3", "--no-color"},
	"python3": {"-I", "-S", "-B", "-c", "import json; print(len(json.dumps([{'n': i, 's': str(i)} for i in range(200)])))"},
}

// compiler is g++'s own program, compiling a source that includes much of the
// library.
func compiler(t *testing.T) job {
	t.Helper()
	gcc := testprogs.Tool(t, "g++")
	out, err := exec.Command(gcc, "-print-prog-name=cc1plus").Output()
	if err != nil {
		t.Fatal(err)
	}
	folder, err := exec.Command(gcc, "-print-multiarch").Output()
	if err != nil {
		t.Fatal(err)
	}
	args := []string{"-quiet", "-frandom-seed=1", "-D_GNU_SOURCE", "-imultiarch", strings.TrimSpace(string(folder)), testprogs.Source(t, "demo"), "-o", "/dev/null"}
	return job{Command: testprogs.Command{
		Path: strings.TrimSpace(string(out)), Args: args, Dir: t.TempDir(), Env: []string{"PATH=/usr/bin:/bin", "LC_ALL=C.UTF-8"},
	}}
}

// writeFile makes a folder with one file.
func writeFile(t *testing.T, name, content string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestSameRealEvents records real programs in both planes.
func TestSameRealEvents(t *testing.T) {
	for name, j := range realJobs(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, b := twoRecordings(t, j)
			if a.ending() != "exited with code 0" || a.out == "" && name != "cc1plus" || a.out != b.out {
				t.Errorf("%q and %q; printed %d and %d bytes", a.ending(), b.ending(), len(a.out), len(b.out))
			}
			ca, cb := newCalls(a), newCalls(b)
			if _, wrong := cb.live(); wrong != nil {
				t.Errorf("the events cannot be: %v", wrong)
			}
			if d := difference(ca, cb, false); d != "" {
				t.Error(d)
			}
			t.Logf("%d events, %d stacks", a.Len(), a.Stacks())
		})
	}
}
