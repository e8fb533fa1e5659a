package testprogs

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// TestBuildParallel has many builders of one program agree on one file.
func TestBuildParallel(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	paths := make([]string, 8)
	var wg sync.WaitGroup
	for i := range paths {
		wg.Go(func() {
			var err error
			if paths[i], err = build("basic", nil); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for _, p := range paths {
		if p != paths[0] {
			t.Errorf("paths differ: %s and %s", p, paths[0])
		}
	}
	if out, err := exec.Command(paths[0]).CombinedOutput(); err != nil {
		t.Errorf("run: %v\n%s", err, out)
	}
	left, err := filepath.Glob(filepath.Join(filepath.Dir(filepath.Dir(paths[0])), ".new-*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
}

func TestBuildKey(t *testing.T) {
	key := func(flags ...string) string {
		t.Helper()
		j, err := newJob("basic", flags)
		if err != nil {
			t.Fatal(err)
		}
		k, err := j.key()
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	plain := key()
	if key() != plain {
		t.Error("the key is not stable")
	}
	for _, flags := range [][]string{{"-O2"}, {"STRIP"}, {"-O2", "-static"}} {
		if key(flags...) == plain {
			t.Errorf("flags %q do not change the key", flags)
		}
	}
}

func TestBuildErrors(t *testing.T) {
	for _, c := range []struct {
		name  string
		flags []string
		want  string
	}{
		{"no-such-program", nil, "no source no-such-program.{c,cc,rs,go}"},
		{"basic", []string{"-lno-such-library"}, "cannot find -lno-such-library"},
		{"basic", []string{"CC=no-such-cc"}, "executable file not found"},
	} {
		_, err := build(c.name, c.flags)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("build %s %q: %v, want %q", c.name, c.flags, err, c.want)
		}
	}
}

// TestRemedy has a missing tool or library name its package.
func TestRemedy(t *testing.T) {
	_, notFound := exec.LookPath("no-such-tool-at-all")
	if got := remedy("musl-gcc", notFound, ""); got != " (apt-get install musl-tools)" {
		t.Errorf("musl-gcc: %q", got)
	}
	ld := "/usr/bin/ld: cannot find -ljemalloc: No such file or directory\n"
	if got := remedy("gcc", os.ErrInvalid, ld); got != " (apt-get install libjemalloc-dev)" {
		t.Errorf("jemalloc: %q", got)
	}
}
