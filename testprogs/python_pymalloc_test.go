package testprogs

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// A mallocStats is a heap in the JSON of py stats.
type mallocStats struct {
	Classes []struct {
		Class       int `json:"size_class"`
		Size, Pools int
		Used        int `json:"used_blocks"`
		Available   int `json:"free_blocks"`
	}
	Arenas       uint64
	Mapped       uint64 `json:"arenas_mapped"`
	Peak         uint64 `json:"arenas_peak"`
	ArenaSize    uint64 `json:"arena_size"`
	PoolSize     uint64 `json:"pool_size"`
	Used         uint64 `json:"used_bytes"`
	Free         uint64 `json:"free_bytes"`
	FreePools    uint64 `json:"free_pools"`
	Headers      uint64 `json:"header_bytes"`
	Quantization uint64 `json:"quantization_bytes"`
	Alignment    uint64 `json:"alignment_bytes"`
	Inner        uint64 `json:"tree_inner_nodes"`
	Outer        uint64 `json:"tree_outer_nodes"`
	Tree         uint64 `json:"tree_bytes"`
	FreeLists    []struct {
		Class string
		Size  uint64
		Count uint64 `json:"free_objects"`
	} `json:"free_lists"`
	Damaged []string
}

// String is what sys._debugmallocstats() prints of it (Objects/obmalloc.c).
func (s mallocStats) String() string {
	var b strings.Builder
	b.WriteString("Small block threshold = 512, in 32 size classes.\n\n" +
		"class   size   num pools   blocks in use  avail blocks\n-----   ----   ---------   -------------  ------------\n")
	for _, c := range s.Classes {
		fmt.Fprintf(&b, "%5d %6d %11d %15d %13d\n", c.Class, c.Size, c.Pools, c.Used, c.Available)
	}
	b.WriteByte('\n')
	one := func(what string, n uint64) uint64 {
		text := strconv.FormatUint(n, 10)
		for i := len(text) - 3; i > 0; i -= 3 {
			text = text[:i] + "," + text[i:]
		}
		fmt.Fprintf(&b, "%-35s=%21s\n", what, text)
		return n
	}
	one("# arenas allocated total", s.Mapped)
	one("# arenas reclaimed", s.Mapped-s.Arenas)
	one("# arenas highwater mark", s.Peak)
	one("# arenas allocated current", s.Arenas)
	one(fmt.Sprintf("%d arenas * %d bytes/arena", s.Arenas, s.ArenaSize), s.Arenas*s.ArenaSize)
	b.WriteByte('\n')
	sum := one("# bytes in allocated blocks", s.Used)
	sum += one("# bytes in available blocks", s.Free)
	sum += one(fmt.Sprintf("%d unused pools * %d bytes", s.FreePools, s.PoolSize), s.FreePools*s.PoolSize)
	sum += one("# bytes lost to pool headers", s.Headers)
	sum += one("# bytes lost to quantization", s.Quantization)
	sum += one("# bytes lost to arena alignment", s.Alignment)
	one("Total", sum)
	if s.Outer > 0 {
		b.WriteString("\narena map counts\n")
		one("# arena map mid nodes", s.Inner)
		one("# arena map bot nodes", s.Outer)
		b.WriteByte('\n')
		// Only their sum is in the JSON; the parts are as the version has them.
		inner, outer := uint64(1)<<18, uint64(1)<<17
		if s.Tree < inner {
			inner, outer = 1<<13, 1<<11
		}
		one("# bytes lost to arena map root", inner)
		one("# bytes lost to arena map mid", s.Inner*inner)
		one("# bytes lost to arena map bot", s.Outer*outer)
		one("Total", s.Tree)
	}
	b.WriteByte('\n')
	for _, l := range s.FreeLists { // _PyDebugAllocatorStats
		what := fmt.Sprintf("%d free %ss * %d bytes each", l.Count, l.Class, l.Size)
		one(fmt.Sprintf("%48s ", what), l.Count*l.Size)
	}
	return b.String()
}

// allPythons are the interpreters whose heap can be read: those of pythons, and the debug
// build. In the short form they are two.
func allPythons(t *testing.T) []string {
	all := pythons(t)
	if testing.Short() {
		return append(all[:1:1], all[len(all)-1])
	}
	return append(all, "/usr/bin/python3d")
}

// TestPythonHeap compares what hdb reads of the allocator's arenas, pools and blocks with
// what sys._debugmallocstats() prints a moment later, line by line.
func TestPythonHeap(t *testing.T) {
	script, err := filepath.Abs("testdata/python/heap.py")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range allPythons(t) {
		t.Run(strings.TrimPrefix(p, "/"), func(t *testing.T) {
			t.Parallel()
			ctx, cancel := Context(t)
			defer cancel()
			file := filepath.Join(t.TempDir(), "stats")
			args := []string{"--json", "-batch", "-nx", "-ex", "break Py_RunMain", "-ex", "run", "-ex", "break *_PyObject_DebugMallocStats", "-ex", "continue"}
			for range 4 {
				args = append(args, "-ex", "py stats", "-ex", "continue")
			}
			cmd := exec.CommandContext(ctx, HDB(t), append(args, "--args", p, script, file)...)
			cmd.Env = append(os.Environ(), "PYTHONHASHSEED=0")
			out, err := cmd.Output()
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			var got []string
			for line := range bytes.Lines(out) {
				var v struct{ Heaps []mallocStats }
				if !bytes.Contains(line, []byte(`"py stats"`)) {
					continue
				}
				if err := json.Unmarshal(line, &v); err != nil || len(v.Heaps) != 1 || len(v.Heaps[0].Damaged) > 0 {
					t.Fatalf("%v: %s", err, line)
				}
				got = append(got, v.Heaps[0].String())
			}
			said, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			want := strings.Split(string(said), "Small block threshold")[1:]
			if len(got) != 4 || len(want) != 4 {
				t.Fatalf("%d answers of %d\n%.2000s", len(got), len(want), out)
			}
			for i := range want {
				w := strings.Split("Small block threshold"+want[i], "\n")
				g := strings.Split(strings.TrimSuffix(got[i], "\n"), "\n")
				if len(g) != len(strings.Split(strings.TrimSpace("Small block threshold"+want[i]), "\n")) {
					t.Errorf("answer %d: %d lines\n%s\nwant\n%s", i+1, len(g), got[i], want[i])
				}
				for n, line := range g {
					if n >= len(w) || line != w[n] {
						t.Fatalf("answer %d, line %d:\n got %q\nwant %q", i+1, n+1, line, w[min(n, len(w)-1)])
					}
				}
			}
		})
	}
}
