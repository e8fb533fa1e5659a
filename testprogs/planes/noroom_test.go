package planes

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hdb/capture/file"
)

// noRoom adds the functions of noroom.c that do not jump back to their own entry: of those
// each arrival is a call for plain breakpoints.
var noRoom = []string{"alloc add tiny_get size=ARG1", "alloc add tiny_put free=ARG1",
	"alloc add loop_get size=ARG1", "alloc add marked_get size=ARG1"}

// TestNoRoom has the probe follow functions that are too short for its jumps as it follows
// the same ones with room, launched and attached.
func TestNoRoom(t *testing.T) {
	adds := append(slices.Clone(noRoom), "alloc add again_get size=ARG1")
	j := program(t, "noroom", nil, "10", "1")
	j.Script = append(slices.Clone(adds), "RUN")
	short := record(t, probe, j)
	if n := strings.Count(short.said, "a trap there replaces the jump"); n != 5 {
		t.Errorf("%d functions without room, want 5:\n%s", n, short.said)
	}
	j.Path = program(t, "noroom", []string{"-DROOM"}).Path
	long := record(t, probe, j)
	if strings.Contains(long.said, "a trap is put there") {
		t.Errorf("no function has room:\n%s", long.said)
	}
	want := userCalls(t, long)
	if len(want) != 2*10*6 {
		t.Errorf("%d calls, want %d", len(want), 2*10*6)
	}
	if got := userCalls(t, short); !slices.Equal(got, want) {
		t.Errorf("calls %v\nwant %v", got, want)
	}
	g := launch(t, "noroom", nil, "10", "1", "0", "wait")
	path := filepath.Join(t.TempDir(), "run.hdb")
	script := append([]string{"set probe on", "attach " + g.pid}, adds...)
	said, err := hdb(t, j, append(script, "record start", "continue", "save "+path))
	if err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	g.end(t)
	f, err := file.Open(path)
	if err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	defer f.Close()
	if got := userCalls(t, &recording{File: f, plane: probe}); !slices.Equal(got, want) {
		t.Errorf("attached: calls %v\nwant %v\n%s", got, want, said)
	}
}

// userCalls are the calls of the functions that were added, sorted: threads make them.
func userCalls(t *testing.T, r *recording) (all []string) {
	t.Helper()
	c := newCalls(r)
	for e := range c.own() {
		if name := c.function(e); strings.Contains(name, "_") {
			all = append(all, fmt.Sprintf("%s %d", name, e.Size))
		}
	}
	slices.Sort(all)
	return all
}
