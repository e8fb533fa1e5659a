package symbols_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"hdb/symbols"
	"hdb/testprogs"
)

// builds keeps what the compilers made, so that tests share programs.
var builds struct {
	sync.Mutex
	dir  string
	made map[string]*fixture
}

// fixture is a program that is built once, by the first test that wants it.
type fixture struct {
	once sync.Once
	path string // "" when it cannot be built
}

// made is the program of that key, which fn builds.
func made(t testing.TB, key string, fn func() string) string {
	t.Helper()
	builds.Lock()
	f := builds.made[key]
	if f == nil {
		f = &fixture{}
		builds.made[key] = f
	}
	builds.Unlock()
	f.once.Do(func() { f.path = fn() })
	if f.path == "" {
		t.Fatalf("%s: an earlier test could not build it", key)
	}
	return f.path
}

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "symbols")
	if err != nil {
		panic(err)
	}
	builds.dir, builds.made = dir, map[string]*fixture{}
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// build compiles a source of testdata: compiler, flags and source in one line.
// Programs are made once for each line.
func build(t testing.TB, command string) string {
	t.Helper()
	return made(t, command, func() string {
		args := strings.Fields(command)
		source := args[len(args)-1]
		from := filepath.Join("testdata", source)
		dir := filepath.Join(builds.dir, strings.NewReplacer(" ", "_", "/", "_", "=", "_").Replace(command))
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(from)
		if err != nil {
			t.Fatal(err)
		}
		source = filepath.Join(dir, strings.TrimSuffix(source, ".txt"))
		if err := os.WriteFile(source, text, 0o644); err != nil {
			t.Fatal(err)
		}
		out := filepath.Join(dir, "prog")
		run(t, args[0], append(args[1:len(args)-1], "-o", out, source)...)
		return out
	})
}

// run runs a tool and fails the test with what it prints.
func run(t testing.TB, tool string, args ...string) string {
	t.Helper()
	out, err := exec.Command(testprogs.Tool(t, tool), args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", tool, strings.Join(args, " "), err, out)
	}
	return string(out)
}

// runWith is run with standard input, of which only the output counts.
func runWith(t testing.TB, in, tool string, args ...string) string {
	t.Helper()
	cmd := exec.Command(testprogs.Tool(t, tool), args...)
	cmd.Stdin = strings.NewReader(in)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %s: %v", tool, strings.Join(args, " "), err)
	}
	return string(out)
}

// open opens a program for the time of the test.
func open(t testing.TB, path string, cfg symbols.Config) *symbols.Object {
	t.Helper()
	o, err := symbols.Open(path, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { o.Close() })
	return o
}
