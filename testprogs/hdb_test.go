package testprogs

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// TestBuiltOnce has a program built for the first who asks, and again for other sources, for
// one that is gone, and after a build that failed.
func TestBuiltOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "program")
	builds := 0
	good := func(tmp string) error {
		builds++
		return os.WriteFile(tmp, []byte{byte(builds)}, 0o755)
	}
	for _, c := range []struct {
		what, from string
		remove     bool
		build      func(string) error
		builds     int
	}{
		{"first", "a", false, good, 1},
		{"the same", "a", false, good, 1},
		{"other sources", "b", false, good, 2},
		{"gone", "b", true, good, 3},
		{"failing", "c", false, func(string) error { return errors.New("no compiler") }, 3},
		{"as before the failure", "b", false, good, 3},
		{"after the failure", "c", false, good, 4},
	} {
		if c.remove {
			os.Remove(path)
		}
		err := builtFrom(path, c.from, c.build)
		if failed := c.what == "failing"; (err != nil) != failed || builds != c.builds {
			t.Fatalf("%s: %d builds, %v, want %d", c.what, builds, err, c.builds)
		}
		if b, err := os.ReadFile(path); err != nil || len(b) != 1 || int(b[0]) != builds {
			t.Errorf("%s: program %v, %v, want build %d", c.what, b, err, builds)
		}
	}
}

// TestSourcesTold has a changed source make another answer; tests and hidden files do not.
func TestSourcesTold(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("main.go", "package main")
	was, err := dependOn(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		same bool
	}{{"main_test.go", true}, {".hidden.go", true}, {"core.s", false}, {"main.go", false}} {
		write(c.name, "package main\n\n// changed\n")
		now, err := dependOn(dir)
		if err != nil || (now == was) != c.same {
			t.Errorf("after %s: the same %v, %v, want %v", c.name, now == was, err, c.same)
		}
		was = now
	}
}
