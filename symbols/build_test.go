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

// builds keeps what build made, so that tests share programs.
var builds struct {
	sync.Mutex
	dir  string
	made map[string]string
}

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "symbols")
	if err != nil {
		panic(err)
	}
	builds.dir, builds.made = dir, map[string]string{}
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// build compiles a source of testdata: compiler, flags and source in one line.
// Programs are made once for each line.
func build(t testing.TB, command string) string {
	t.Helper()
	builds.Lock()
	defer builds.Unlock()
	if p, ok := builds.made[command]; ok {
		return p
	}
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
	builds.made[command] = out
	return out
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
