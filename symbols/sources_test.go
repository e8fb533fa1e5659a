package symbols_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hdb/symbols"
)

func TestSources(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"home/src/a.c":    "one\r\ntwo\n\nlast",
		"moved/src/b.c":   "b\n",
		"flat/c.c":        "c\n",
		"deep/lib/x/d.c":  "d\n",
		"home/src/dir/no": "",
	} {
		p := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	s := &symbols.Sources{
		Substitute: [][2]string{{"/build", filepath.Join(dir, "moved")}, {"/build/src", "/nowhere"}},
		Dirs:       []string{filepath.Join(dir, "flat"), filepath.Join(dir, "deep")},
	}
	for _, c := range []struct{ file, found string }{
		{filepath.Join(dir, "home/src/a.c"), "home/src/a.c"},
		{"/build/src/b.c", "moved/src/b.c"},
		{"/elsewhere/src/c.c", "flat/c.c"},
		{"/elsewhere/lib/x/d.c", "deep/lib/x/d.c"},
		{"lib/x/d.c", "deep/lib/x/d.c"},
	} {
		f, err := s.Open(c.file)
		if err != nil || f.Path != filepath.Join(dir, c.found) {
			t.Errorf("Open(%s) = %+v, %v", c.file, f, err)
		}
	}
	a, err := s.Open(filepath.Join(dir, "home/src/a.c"))
	if err != nil || !slices.Equal(a.Lines, []string{"one", "two", "", "last"}) {
		t.Errorf("lines %q, %v", a.Lines, err)
	}

	_, err = s.Open("/buildings/x.c")
	var missing *symbols.SourceError
	if !errors.As(err, &missing) || !errors.Is(err, fs.ErrNotExist) || len(missing.Tried) != 5 {
		t.Errorf("missing: %v, tried %q", err, missing.Tried)
	}
	if !strings.HasPrefix(err.Error(), "/buildings/x.c: no such file (tried "+dir+"/flat/buildings/x.c, ") || !strings.Contains(err.Error(), "substitute-path") {
		t.Errorf("message %q", err)
	}
	_, err = new(symbols.Sources).Open("/nowhere/x.c")
	if want := "/nowhere/x.c: no such file; use `set substitute-path FROM TO` or `directory DIR`"; err == nil || err.Error() != want {
		t.Errorf("message %q, want %q", err, want)
	}
	if _, err := s.Open(filepath.Join(dir, "home/src/dir")); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("directory: %v", err)
	}

	// A file that appears later is found once the cache is dropped.
	late := filepath.Join(dir, "flat/late.c")
	if _, err := s.Open("late.c"); err == nil {
		t.Error("late.c found too early")
	}
	if err := os.WriteFile(late, []byte("x\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	s.Forget()
	if f, err := s.Open("late.c"); err != nil || f.Path != late {
		t.Errorf("late.c: %+v, %v", f, err)
	}
}
