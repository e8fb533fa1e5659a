package symbols_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"hdb/symbols"
)

const nobody = 65534

// passable is a folder of the test that nobody can pass. Only root's hdb opens files with others' rights.
func passable(t *testing.T) string {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("hdb opens files with its own rights unless root runs it")
	}
	dir := t.TempDir()
	if err := os.Chmod(filepath.Dir(dir), 0o755); err != nil { // the test's own
		t.Fatal(err)
	}
	return dir
}

// A file that another user owns names debug files that this user may read, whoever runs hdb.
func TestOwnersRights(t *testing.T) {
	dir := passable(t)
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

// A debug file that another user owns than root, whose the program is, names a dwz file and .dwo files that this user may read.
func TestDebugFileOwnersRights(t *testing.T) {
	dir := passable(t)
	alt := filepath.Join(dir, "common")
	var shared []string
	for i, v := range []string{"g++ -g -O2 -gdwarf-4 mix.cc", "g++ -g -O0 -gdwarf-4 mix.cc"} {
		p := filepath.Join(dir, fmt.Sprint("prog", i))
		run(t, "cp", build(t, v), p)
		shared = append(shared, p)
	}
	run(t, "dwz", append([]string{"-m", alt, "-M", "common"}, shared...)...)
	split := copyDir(t, pair(t, "g++", "-g", "-O2", "-gdwarf-5", "-gsplit-dwarf"))
	if err := os.Chmod(filepath.Dir(split), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, prog := range []string{shared[0], split} {
		debug := prog + ".debug"
		run(t, "objcopy", "--only-keep-debug", prog, debug)
		run(t, "strip", prog)
		run(t, "objcopy", "--add-gnu-debuglink="+debug, prog)
		if err := os.Chown(debug, nobody, nobody); err != nil {
			t.Fatal(err)
		}
	}
	for mode, read := range map[os.FileMode]bool{0o600: false, 0o644: true} {
		for _, file := range []string{alt, filepath.Join(filepath.Dir(split), "more.dwo")} {
			if err := os.Chmod(file, mode); err != nil {
				t.Fatal(err)
			}
		}
		if got := open(t, shared[0], symbols.Config{}).Info().AltFile; (got == alt) != read {
			t.Errorf("mode %o: dwz file %q", mode, got)
		}
		list := open(t, split, symbols.Config{DebugDirs: []string{}}).FindFunctions("more::checked")
		if slices.ContainsFunc(list, func(f symbols.Function) bool { return f.Source == symbols.FromDWARF }) != read {
			t.Errorf("mode %o: of the .dwo file %+v", mode, list)
		}
	}
}
