package session

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
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
