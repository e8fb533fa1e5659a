package rights

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

const nobody, nogroup = 65534, 65534

func root(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can take the rights of another user")
	}
}

// A user reads what is the user's, everybody's, or of a group of the user's, and nothing that lies in
// another user's directory.
func TestOpen(t *testing.T) {
	root(t)
	dir, err := os.MkdirTemp("/tmp", "hdb-rights-") // t.TempDir may lie where another user may not go
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	file := func(name string, uid, gid int, mode fs.FileMode) string {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(name), 0o600), os.Chown(path, uid, gid), os.Chmod(path, mode)); err != nil {
			t.Fatal(err)
		}
		return path
	}
	const other = 4711
	paths := map[string]bool{
		file("root's", 0, 0, 0o600):               false,
		file("everybody's", 0, 0, 0o644):          true,
		file("own", nobody, nogroup, 0o400):       true,
		file("of the group", 0, nogroup, 0o640):   true,
		file("of another group", 0, other, 0o640): true,
		file("of root's group", 0, 0, 0o640):      false,
		file("closed/inside", 0, 0, 0o644):        false,
	}
	if err := os.Chmod(filepath.Join(dir, "closed"), 0o700); err != nil {
		t.Fatal(err)
	}
	u := &User{UID: nobody, GID: nogroup, Groups: []int{other}}
	for path, want := range paths {
		f, _, err := u.Open(path)
		if f != nil {
			f.Close()
		}
		if got := err == nil; got != want || !want && !errors.Is(err, fs.ErrPermission) {
			t.Errorf("%s: %v", path, err)
		}
		own, _, err := (*User)(nil).Open(path) // hdb's own rights are as they were
		if err != nil {
			t.Errorf("%s as root: %v", path, err)
			continue
		}
		own.Close()
	}
}

// TestOf asks whose rights count.
func TestOf(t *testing.T) {
	root(t)
	if u := OfProcess(os.Getpid()); u != nil {
		t.Errorf("own process: %+v", u)
	}
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if u := OfFile(path); u != nil {
		t.Errorf("root's file: %+v", u)
	}
	if err := os.Chown(path, nobody, nogroup); err != nil {
		t.Fatal(err)
	}
	if u := OfFile(path); u == nil || u.UID != nobody || u.GID != nogroup {
		t.Errorf("nobody's file: %+v", u)
	}
}
