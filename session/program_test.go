package session

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hdb/session/target"
)

// A name without a slash is that of a file in the working directory, or of a command, whose
// name a directory may have, too.
func TestFindProgram(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	bin := filepath.Join(dir, "bin")
	t.Setenv("PATH", bin)
	for _, d := range []string{bin, "tool", "other"} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range []string{filepath.Join(bin, "tool"), filepath.Join(bin, "here"), "here"} {
		if err := os.WriteFile(f, nil, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]string{
		"tool": filepath.Join(bin, "tool"), "here": filepath.Join(dir, "here"), "./tool": filepath.Join(dir, "tool"), "other": filepath.Join(dir, "other"),
	} {
		if got, err := findProgram(name); err != nil || got != want {
			t.Errorf("%s: %s, %v; want %s", name, got, err, want)
		}
	}
	if _, err := findProgram("none"); err == nil || !strings.Contains(err.Error(), "no such command") {
		t.Errorf("none: %v", err)
	}
}

// A program has hdb's environment in its order, and behind it what was set for the program.
func TestEnvironmentKeepsItsOrder(t *testing.T) {
	t.Setenv("HDB_TEST_Z", "1")
	t.Setenv("HDB_TEST_A", "2")
	t.Setenv("HDB_TEST_M", "3")
	s := New(target.Config{})
	defer s.Close()
	if _, err := s.Load("/bin/true"); err != nil {
		t.Fatal(err)
	}
	s.Settings.Env = map[string]string{"HDB_TEST_C": "5", "HDB_TEST_B": "4"}
	s.Settings.UnsetEnv = map[string]bool{"HDB_TEST_M": true}
	c, err := s.launchConfig()
	if err != nil {
		t.Fatal(err)
	}
	ours := slices.DeleteFunc(c.Env, func(kv string) bool { return !strings.HasPrefix(kv, "HDB_TEST_") })
	want := []string{"HDB_TEST_Z=1", "HDB_TEST_A=2", "HDB_TEST_B=4", "HDB_TEST_C=5"}
	if !slices.Equal(ours, want) {
		t.Errorf("%q, want %q", ours, want)
	}
}
