package symbols_test

import (
	"os"
	"path/filepath"
	"testing"

	"hdb/symbols"
)

// A file that another user owns names debug files that this user may read, whoever runs hdb.
func TestOwnersRights(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("hdb opens files with its own rights unless root runs it")
	}
	const nobody = 65534
	dir := t.TempDir()
	if err := os.Chmod(filepath.Dir(dir), 0o755); err != nil { // the test's own folder, which nobody has to pass
		t.Fatal(err)
	}
	prog, debug := filepath.Join(dir, "prog"), filepath.Join(dir, "prog.debug")
	run(t, "cp", build(t, "gcc -g -O2 inline.c"), prog)
	run(t, "objcopy", "--only-keep-debug", prog, debug)
	run(t, "strip", prog)
	run(t, "objcopy", "--add-gnu-debuglink="+debug, prog)
	if err := os.Chown(prog, nobody, nobody); err != nil {
		t.Fatal(err)
	}
	for mode, want := range map[os.FileMode]string{0o600: "", 0o644: debug} {
		if err := os.Chmod(debug, mode); err != nil {
			t.Fatal(err)
		}
		o := open(t, prog, symbols.Config{})
		if got := o.Info().DebugFile; got != want || o.File.Owner().ID() != nobody {
			t.Errorf("mode %o: debug file %q, owner %d", mode, got, o.File.Owner().ID())
		}
	}
}
