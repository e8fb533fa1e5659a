package symbols_test

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"hdb/internal/addr"
	"hdb/internal/diskcache"
	"hdb/symbols"
	"hdb/testprogs"
)

func openKept(t *testing.T, path, dir string) *symbols.Object {
	t.Helper()
	o, err := symbols.Open(path, symbols.Config{Cache: diskcache.Open(dir, "test")})
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// copyFile gives the test a file of its own to change.
func copyFile(t *testing.T, from string) string {
	t.Helper()
	b, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	to := filepath.Join(t.TempDir(), filepath.Base(from))
	if err := os.WriteFile(to, b, 0o700); err != nil {
		t.Fatal(err)
	}
	return to
}

// settle waits until a file that was just written can be told from one written next.
func settle(t *testing.T, path string) {
	t.Helper()
	for end := testprogs.Deadline(t); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if st, err := os.Stat(path); err != nil {
			t.Fatal(err)
		} else if diskcache.FileID(st) != "" {
			return
		}
	}
	t.Fatalf("%s was changed all the time", path)
}

// TestKeptNames: an object that finds its names on the disk answers like one that
// reads its DWARF, and reads none.
func TestKeptNames(t *testing.T) {
	path := copyFile(t, build(t, "gcc -g -O2 inline.c"))
	settle(t, path)
	dir := t.TempDir()
	plain := openKept(t, path, "")
	defer plain.Close()
	code, text, ok := plain.File.Section(".text")
	if !ok {
		t.Fatal("no .text")
	}
	questions := func(o *symbols.Object) (all [][]symbols.Frame) {
		for a := text - 8; a < text+addr.File(len(code))+8; a++ {
			all = append(all, o.Lookup(a), o.LookupStatement(a))
		}
		return all
	}
	want := questions(plain)
	for round := range 2 {
		o := openKept(t, path, dir)
		got := questions(o)
		if !reflect.DeepEqual(got, want) {
			t.Errorf("round %d: other names", round)
		}
		if first := round == 0; first != (o.HasDWARF()) {
			t.Errorf("round %d: DWARF was read: %v", round, !first)
		}
		for i := range got { // what callers do to the frames is their own affair
			for k := range got[i] {
				got[i][k] = symbols.Frame{}
			}
		}
		if again := questions(o); !reflect.DeepEqual(again, want) {
			t.Errorf("round %d: the caller's frames were kept", round)
		}
		if err := o.Close(); err != nil {
			t.Fatal(err)
		}
	}

	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b, 0o700); err != nil { // the same, but who knows
		t.Fatal(err)
	}
	changed := openKept(t, path, dir)
	defer changed.Close()
	changed.Lookup(text)
	if !changed.HasDWARF() {
		t.Error("names of a file were taken for those of another")
	}
}
