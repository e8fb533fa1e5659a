package diskcache

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func only(t *testing.T, dir string) string {
	t.Helper()
	files, err := os.ReadDir(dir)
	if err != nil || len(files) != 1 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	return filepath.Join(dir, files[0].Name())
}

func TestKept(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "sub", "hdb")
	d := Open(dir, "one")
	if got := d.Get("names", "k"); got != nil {
		t.Errorf("%q out of nothing", got)
	}
	d.Put("names", "k", []byte("first"))
	d.Put("names", "k", []byte("second"))
	if got := d.Get("names", "k"); string(got) != "second" {
		t.Errorf("kept %q", got)
	}
	for what, got := range map[string][]byte{
		"kind": d.Get("cfi", "k"), "key": d.Get("names", "l"), "maker": Open(dir, "two").Get("names", "k"), "no key": d.Get("names", ""),
	} {
		if got != nil {
			t.Errorf("of another %s: %q", what, got)
		}
	}
	only(t, dir)
	if info, _ := os.Stat(dir); info.Mode().Perm() != 0o700 {
		t.Errorf("directory has mode %v", info.Mode())
	}
}

func TestNilKeepsNothing(t *testing.T) {
	for _, d := range []*Dir{nil, Open("", "x"), Open(t.TempDir(), "")} {
		d.Put("names", "k", []byte("x"))
		if d.Get("names", "k") != nil {
			t.Error("kept")
		}
	}
}

// TestDamage: whatever happens to the file, there is what was kept or nothing.
func TestDamage(t *testing.T) {
	dir := t.TempDir()
	d := Open(dir, "one")
	contents := []byte("what was kept")
	d.Put("names", "k", contents)
	path := only(t, dir)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	check := func(what string, b []byte) {
		t.Helper()
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		if got := d.Get("names", "k"); got != nil {
			t.Errorf("%s: %q", what, got)
		}
	}
	for n := range whole {
		check(fmt.Sprintf("cut after %d bytes", n), whole[:n])
		flipped := bytes.Clone(whole)
		flipped[n] ^= 0x10
		check(fmt.Sprintf("byte %d changed", n), flipped)
	}
	check("longer", append(bytes.Clone(whole), 0))

	if err := os.WriteFile(path, whole, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := d.Get("names", "k"); !bytes.Equal(got, contents) {
		t.Errorf("whole: %q", got)
	}
	if err := os.Chmod(path, 0o620); err != nil {
		t.Fatal(err)
	}
	if d.Get("names", "k") != nil {
		t.Error("others may write it")
	}
	if err := os.Rename(path, path+"x"); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(path+"x", path); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path+"x", 0o600); err != nil {
		t.Fatal(err)
	}
	if d.Get("names", "k") != nil {
		t.Error("a link was followed")
	}
	if os.Geteuid() == 0 {
		_ = os.Remove(path)
		if err := os.Rename(path+"x", path); err != nil {
			t.Fatal(err)
		}
		if err := os.Chown(path, 4711, 4711); err != nil {
			t.Fatal(err)
		}
		if d.Get("names", "k") != nil {
			t.Error("somebody else's file was read")
		}
	}
}

func TestTrim(t *testing.T) {
	dir := t.TempDir()
	d := Open(dir, "one")
	d.limit = 3000
	foreign := filepath.Join(dir, "names-of-my-cats")
	if err := os.WriteFile(foreign, make([]byte, 5000), 0o600); err != nil {
		t.Fatal(err)
	}
	long := time.Now().Add(-24 * time.Hour)
	if err := os.Chtimes(foreign, long, long); err != nil {
		t.Fatal(err)
	}
	for i := range 5 {
		d.Put("names", fmt.Sprint(i), make([]byte, 900))
		file, _ := d.name("names", fmt.Sprint(i))
		path := filepath.Join(dir, file)
		old := time.Now().Add(time.Duration(i-10) * time.Minute)
		if err := os.Chtimes(path, old, old); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 5 {
		if got := d.Get("names", fmt.Sprint(i)) != nil; got != (i >= 2) {
			t.Errorf("%d is there: %v", i, got)
		}
	}
	left := filepath.Join(dir, ".new-1")
	if err := os.WriteFile(left, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	old := time.Now().Add(-2 * time.Hour)
	if err := os.Chtimes(left, old, old); err != nil {
		t.Fatal(err)
	}
	d.Put("names", "x", nil)
	if _, err := os.Stat(left); err == nil {
		t.Error("a dead writer's file stays")
	}
	if _, err := os.Stat(foreign); err != nil {
		t.Errorf("a file that is not the cache's: %v", err)
	}
	d.Put("names", "long", make([]byte, maxEntry+1))
	if d.Get("names", "long") != nil {
		t.Error("kept more than a file may have")
	}
}

// TestForeignDirectory: what somebody else has put where the directory should be
// leads hdb nowhere.
func TestForeignDirectory(t *testing.T) {
	none := func(what, dir string) {
		t.Helper()
		d := Open(dir, "one")
		d.Put("names", "k", []byte("x"))
		if d.Get("names", "k") != nil {
			t.Errorf("%s: kept", what)
		}
	}
	there := filepath.Join(t.TempDir(), "there")
	Open(there, "one").Put("names", "k", []byte("x"))
	file := only(t, there)
	link := filepath.Join(t.TempDir(), "hdb")
	if err := os.Symlink(there, link); err != nil {
		t.Fatal(err)
	}
	none("a link", link)
	none("a file", file)
	none("below a file", filepath.Join(file, "hdb"))
	if only(t, there) != file {
		t.Error("a file was made where a link leads")
	}
	if os.Geteuid() != 0 {
		return // nobody else can be given a directory
	}
	others := filepath.Join(t.TempDir(), "others")
	if err := os.MkdirAll(filepath.Join(others, "hdb"), 0o777); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{others, filepath.Join(others, "hdb")} {
		if err := os.Chown(dir, 4711, 4711); err != nil {
			t.Fatal(err)
		}
	}
	none("somebody else's", filepath.Join(others, "hdb"))
	none("in somebody else's", filepath.Join(others, "sub", "hdb"))
	if _, err := os.Stat(filepath.Join(others, "sub")); err == nil {
		t.Error("a directory was made in somebody else's")
	}
}
