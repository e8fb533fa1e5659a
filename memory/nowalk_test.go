package memory

import (
	"testing"

	"hdb/heap/glibc"
	"hdb/heap/golang"
	"hdb/heap/jemalloc"
)

// TestNoWalkError has the sentences of programs whose heap is not walked.
func TestNoWalkError(t *testing.T) {
	ofGo := func() (golang.Source, error) { return golang.Source{}, nil }
	for _, c := range []struct {
		src  Source
		err  error
		want string
	}{
		{Source{Libcs: []string{"/libc.so.6"}}, glibc.ErrNotUsed, "heap: glibc's malloc was never used: it has no arena"},
		{Source{Libcs: []string{"/p"}, Guessed: true}, glibc.ErrNotUsed, "heap: the program's allocator is not known: glibc's malloc has no arena in it; blocks are known from a recording (record start)"},
		{Source{Libcs: []string{"/p"}, Guessed: true, Go: ofGo}, glibc.ErrNotUsed, "heap: the memory is that of Go's runtime, which has no arenas and chunks of malloc: use live, leaks or goroutines"},
		{Source{Other: "musl"}, errNoLibc, "heap of musl: hdb reads those of glibc's malloc and jemalloc only; blocks are known from a recording (record start)"},
		{Source{Other: "jemalloc", Version: "5.4.0-0-g1234"}, &jemalloc.VersionError{Version: "5.4.0-0-g1234"},
			"heap of jemalloc 5.4.0-0-g1234: its layout is not known (those of 5.2.0 to 5.3.1 are); blocks are known from a recording (record start)"},
		{Source{Other: "jemalloc", Version: "5.3.1-0-g1234"}, jemalloc.ErrNotFound,
			"heap of jemalloc 5.3.1: its map of extents was not found: it has not run yet, or is of an unknown version; blocks are known from a recording (record start)"},
	} {
		if got := New(c.src).noWalk(c.err).Error(); got != c.want {
			t.Errorf("%q\nwant %q", got, c.want)
		}
	}
	_, err := New(Source{Other: "jemalloc", Version: "5.4.0-0-g1234"}).Jemalloc()
	if want := "heap of jemalloc 5.4.0-0-g1234: its layout is not known (those of 5.2.0 to 5.3.1 are); blocks are known from a recording (record start)"; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}
