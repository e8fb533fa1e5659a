package session

import (
	"os"
	"path/filepath"
	"testing"

	"hdb/internal/rights"
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
		if got, want := s.names.Sources.User, rights.OfUser(owner, owner); got.ID() != want.ID() {
			t.Errorf("files of a core of user %d are read as user %d", owner, got.ID())
		}
	}
}
