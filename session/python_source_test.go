package session

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hdb/session/cpython"
	"hdb/symbols"
)

// TestPythonSources looks for files as a process finds them, and has each that is not found
// told in one line.
func TestPythonSources(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"work/app.py", "work/pkg/mod.py", "lib/os.py", "lib/importlib/_bootstrap.py", "lib/json/__init__.py", "lib/site.py", "archive.zip"} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(name+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	p := cpython.Sources{Sources: &symbols.Sources{}, Dir: filepath.Join(dir, "work"), Path: func() []string {
		return []string{"", filepath.Join(dir, "archive.zip"), filepath.Join(dir, "lib")}
	}}
	for _, c := range []struct{ file, found, wrong string }{
		{"app.py", "work/app.py", ""},
		{"pkg/mod.py", "work/pkg/mod.py", ""},
		{"site.py", "lib/site.py", ""},
		{"<frozen os>", "lib/os.py", ""},
		{"<frozen importlib._bootstrap>", "lib/importlib/_bootstrap.py", ""},
		{"<frozen json>", "lib/json/__init__.py", ""},
		{filepath.Join(dir, "lib/os.py"), "lib/os.py", ""},
		{"<frozen ../../etc/passwd>", "", "no such module"},
		{"<string>", "", "this code was not read from a file"},
		{"gone.py", "", "gone.py: no such file (tried "},
		{filepath.Join(dir, "archive.zip/mod.py"), "", "in the archive " + dir + "/archive.zip, which is not opened"},
		{filepath.Join(dir, "lib/gone.py"), "", "no such file"},
	} {
		err := p.Find(c.file)
		if c.wrong != "" {
			if err == nil || !strings.Contains(err.Error(), c.wrong) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%s: %v, want %s", c.file, err, c.wrong)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", c.file, err)
			continue
		}
		src, err := p.Sources.Open(c.file)
		if err != nil || src.Path != filepath.Join(dir, c.found) {
			t.Errorf("%s: %+v, %v, want %s", c.file, src, err, c.found)
		}
	}
}
