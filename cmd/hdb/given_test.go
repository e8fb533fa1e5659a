package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"hdb/annotations"
)

// TestGiven prints and writes the files that programs are given. An older one is replaced,
// somebody else's is not.
func TestGiven(t *testing.T) {
	for _, c := range []struct{ verb, name, text string }{
		{"header", "hdb.h", annotations.Header},
		{"python-module", "hdb_mark.py", annotations.PythonModule},
	} {
		dir := t.TempDir()
		path := filepath.Join(dir, c.name)
		call := func(args ...string) (int, string, string) {
			var out, errw bytes.Buffer
			code := run(append([]string{c.verb}, args...), os.Stdin, &out, &errw)
			return code, out.String(), errw.String()
		}
		if code, out, errw := call(); code != 0 || out != c.text {
			t.Errorf("%s: %d %s", c.verb, code, errw)
		}
		for range 2 {
			if code, out, errw := call(dir); code != 0 || out != path+"\n" {
				t.Errorf("%s: %d %s %s", c.verb, code, out, errw)
			}
			if b, err := os.ReadFile(path); err != nil || string(b) != c.text {
				t.Errorf("%s: %v", path, err)
			}
			if err := os.WriteFile(path, []byte(c.text[:200]), 0o600); err != nil { // an older one
				t.Fatal(err)
			}
		}
		if err := os.WriteFile(path, []byte("mine"), 0o600); err != nil {
			t.Fatal(err)
		}
		if code, _, errw := call(dir); code != 1 || errw == "" {
			t.Errorf("%s over another file: %d", c.verb, code)
		}
		if code, _, errw := call("--force", dir); code != 0 {
			t.Errorf("%s --force: %d %s", c.verb, code, errw)
		}
		if code, _, _ := call("a", "b"); code != exitUsage {
			t.Errorf("%s a b: %d", c.verb, code)
		}
	}
}
