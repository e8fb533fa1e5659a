package oracle

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hdb/testprogs"
	"hdb/testprogs/real"
)

func command(t *testing.T, name string, args ...string) testprogs.Command {
	t.Helper()
	path := testprogs.Build(t, name)
	return testprogs.Command{Path: path, Args: args, Env: []string{"PATH=/usr/bin:/bin"}, Dir: filepath.Dir(path)}
}

// TestCount knows the answers from the sources.
func TestCount(t *testing.T) {
	for _, c := range []struct {
		name    string
		args    []string
		min     uint64
		want    int
		outside int // nested calls
	}{
		// malloc(100) alone: realloc(NULL, 300) and strdup are not malloc.
		{"basic", nil, 100, 1, 1},
		{"sizes", nil, 1 << 20, 3, 1},
		{"deep", nil, 6000, 1, 0},
		// And the buffer of standard output.
		{"threads", []string{"4", "2", "10"}, 1000, 81, 0},
	} {
		r := GDB(t, command(t, c.name, c.args...), Query{MinSize: c.min})
		if r.Count != c.want || r.Nested != c.outside || r.Exit != 0 {
			t.Errorf("%s: %d calls, %d nested, exit %d; want %d, %d, 0", c.name, r.Count, r.Nested, r.Exit, c.want, c.outside)
		}
	}
}

// TestStacks finds the inlined frames of the source.
func TestStacks(t *testing.T) {
	stops := GDBStacks(t, command(t, "inlined"), Query{MinSize: 11, First: 1, Last: 2, Depth: 6})
	if len(stops) != 2 {
		t.Fatalf("%d stops", len(stops))
	}
	want := []string{"malloc", "third", "second", "first", "one_place", "main"}
	for i, f := range stops[0].Frames {
		if i > 0 && (f.Function != want[i] || f.Inlined != (i < 4) || filepath.Base(f.File) != "inlined.c" || f.Line == 0) {
			t.Errorf("frame %d: %+v, want %s", i, f, want[i])
		}
	}
	if got := stops[1].Frames[4].Function; got != "other_place" {
		t.Errorf("second stop in %s", got)
	}
}

// TestReal checks what package real promises of its programs.
func TestReal(t *testing.T) {
	if testing.Short() {
		t.Skip("half a minute of gdb: in the full form only")
	}
	for _, p := range real.All(t) {
		t.Run(p.Name, func(t *testing.T) {
			large := GDB(t, p.Command, Query{MinSize: 1 << 20})
			frequent := GDB(t, p.Command, Query{MinSize: p.Frequent})
			t.Logf("%d calls of 1 MiB or more, %d of %d bytes or more; nested %d", large.Count, frequent.Count, p.Frequent, frequent.Nested)
			if large.Exit != 0 {
				t.Errorf("exit %d", large.Exit)
			}
			if large.Count == 0 || frequent.Count < 200 || frequent.Count > 5000 {
				t.Errorf("%d large, %d frequent calls", large.Count, frequent.Count)
			}
		})
	}
}

// TestRealStacks has gdb name the frames of each program that has debug
// info, sources and inlined calls among them.
func TestRealStacks(t *testing.T) {
	for _, p := range []real.Program{real.SQLite(t), real.Python(t)} {
		t.Run(p.Name, func(t *testing.T) {
			inlined := 0
			stops := GDBStacks(t, p.Command, Query{MinSize: 1 << 20, First: 2, Last: 3})
			for _, s := range stops {
				if n := len(s.Frames); n < 8 || s.Frames[n-1].Function != "_start" {
					t.Errorf("stop %d: %d frames, the last %+v", s.Nth, n, s.Frames[n-1])
				}
				for _, f := range s.Frames {
					if f.Inlined {
						inlined++
					}
				}
			}
			if len(stops) != 2 {
				t.Errorf("%d stops", len(stops))
			}
			source := stops[0].Frames[3].File
			if p.Sources[0] != "" {
				source = strings.Replace(source, p.Sources[0], p.Sources[1], 1)
			}
			if _, err := os.Stat(source); err != nil {
				t.Error(err)
			}
			t.Logf("%d inlined frames, %s:%d", inlined, source, stops[0].Frames[3].Line)
		})
	}
}
