package session

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"hdb/capture"
	"hdb/capture/file"
	"hdb/internal/rights"
	"hdb/session/recordings"
)

// A core says whose process it was, and anybody can write that into one: a core of root's process counts for the owner of its file.
func TestCoreOfAnother(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("hdb opens files with its own rights unless root runs it")
	}
	s := open(t, "basic")
	must(t)(s.StartInstruction(nil))
	core := filepath.Join(t.TempDir(), "core")
	if _, err := s.Cores.Write(core, false); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Kill(); err != nil {
		t.Fatal(err)
	}
	for _, owner := range []int{0, 65534} {
		if err := os.Chown(core, owner, owner); err != nil {
			t.Fatal(err)
		}
		if _, _, err := s.Cores.Open(core, ""); err != nil {
			t.Fatal(err)
		}
		if got, want := s.target.Names.Sources.User, rights.OfUser(owner, owner); got.ID() != want.ID() {
			t.Errorf("files of a core of user %d are read as user %d", owner, got.ID())
		}
	}
}

// Whose rights count for a capture is told by the file that was opened, whatever has its path by then.
func TestCaptureReplaced(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("hdb opens files with its own rights unless root runs it")
	}
	path := filepath.Join(t.TempDir(), "a.hdb")
	w, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := file.WriteSource(w, file.NewLog(capture.Info{}), nil); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(w.Close(), os.Chown(path, 65534, 65534)); err != nil {
		t.Fatal(err)
	}
	f, err := file.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := errors.Join(os.Remove(path), os.WriteFile(path, nil, 0o644)); err != nil {
		t.Fatal(err)
	}
	if u := recordings.OwnerOfCapture(f); u.ID() != 65534 {
		t.Errorf("the file of user 65534 is user %d's", u.ID())
	}
}
