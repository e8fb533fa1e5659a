package planes

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hdb/capture"
	"hdb/capture/file"
	"hdb/testprogs"
)

// sanitizers are the compilers' flags for each, those of the small form of the tests
// first.
var sanitizers = [][]string{
	{"-fsanitize=address"},
	{"-fsanitize=thread"},
	{"CC=clang++", "-fsanitize=memory"},
	{"CC=clang++", "-fsanitize=address"},
	{"CC=clang++", "-fsanitize=thread"},
	{"CC=clang++", "-fsanitize=leak"},
	{"CC=clang++", "-fsanitize=undefined"},
	{"-fsanitize=leak"},
	{"-fsanitize=undefined"},
	{"-fsanitize=address,undefined", "-static-libasan"},
	{"-fsanitize=address", "-no-pie"},
	{"-fsanitize=thread", "-no-pie"},
	{"CC=clang++", "-fsanitize=memory", "-fsanitize-memory-track-origins", "-no-pie"},
}

// unsuspecting has LeakSanitizer look for nothing: it does not work under ptrace.
var unsuspecting = []string{"PATH=/usr/bin:/bin", "ASAN_OPTIONS=detect_leaks=0", "LSAN_OPTIONS=detect_leaks=0"}

// Sanitizers reserve most of the address space when a program begins, and put their
// own functions in place of the allocator's. The program runs as without hdb, launched
// or attached to, and each of its calls is one event.
func TestSanitizers(t *testing.T) {
	for _, p := range planes {
		launched, attached := sanitizers, sanitizers
		if testing.Short() && p == probe {
			launched, attached = sanitizers[:3], sanitizers[3:4]
		} else if testing.Short() {
			launched, attached = sanitizers[:1], nil
		}
		for _, flags := range launched {
			t.Run(fmt.Sprintf("%s/launched/%s", p, strings.Join(flags, " ")), func(t *testing.T) {
				j := program(t, "sanitized", flags)
				j.Env = unsuspecting
				r := record(t, p, j)
				if r.ending() != "exited with code 0" || !strings.Contains(r.out, "wrong 0") {
					t.Fatalf("%q, %q\n%s", r.ending(), r.out, r.said)
				}
				checkSanitized(t, r)
			})
		}
		for _, flags := range attached {
			t.Run(fmt.Sprintf("%s/attached/%s", p, strings.Join(flags, " ")), func(t *testing.T) {
				for _, option := range unsuspecting {
					name, value, _ := strings.Cut(option, "=")
					t.Setenv(name, value)
				}
				g := launch(t, "sanitized", flags, "wait")
				checkSanitized(t, g.recordRest(t, p))
				g.end(t)
			})
		}
	}
}

// recordRest attaches, and records all that the program does once its input has ended.
func (g *target) recordRest(t *testing.T, p plane) *recording {
	t.Helper()
	stands := filepath.Join(t.TempDir(), "stands")
	go func() { // once it does nothing before hdb has it go on
		for deadline := testprogs.Deadline(t); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
			if _, err := os.Stat(stands); err == nil {
				break
			}
		}
		g.in.Close()
	}()
	path := filepath.Join(t.TempDir(), "rest.hdb")
	said, err := hdb(t, job{}, append(p.settings(), "record start", "shell touch "+stands, "continue", "save "+path), "-p", g.pid)
	if err != nil {
		t.Fatalf("%s plane: %v\n%s", p, err, said)
	}
	f, err := file.Open(path)
	if err != nil {
		t.Fatalf("%s plane: %v\n%s", p, err, said)
	}
	t.Cleanup(func() { f.Close() })
	return &recording{File: f, plane: p, said: said}
}

// checkSanitized holds what was recorded of the program against its source.
func checkSanitized(t *testing.T, r *recording) {
	t.Helper()
	const calls = 2 * 100
	want := map[uint64]int{70001: calls, 70002: calls, 70003: calls, 70004: calls, 70005: calls, 70006: calls, 64 * 1100: calls}
	got, live, ends := map[uint64]int{}, map[uint64]bool{}, 0
	end := func(block uint64) {
		if live[block] {
			delete(live, block)
			ends++
		}
	}
	for e := range r.Events(0) {
		switch e.Kind {
		case capture.Free:
			end(e.Addr)
		case capture.Alloc, capture.Realloc:
			if e.Kind == capture.Realloc {
				end(e.Old)
			}
			size := e.Size
			if size == 1 && e.Aux > 1 {
				size = e.Aux // calloc's count
			}
			if want[size] != 0 {
				got[size]++
				live[e.Addr] = true
			}
		}
	}
	if !maps.Equal(got, want) {
		t.Errorf("%d events: calls by size %v, want %v\n%s", r.Len(), got, want, r.said)
	}
	if ends != len(want)*calls || len(live) != 0 {
		t.Errorf("%d blocks have ended, %d are live; want %d and none", ends, len(live), len(want)*calls)
	}
}

// The programs do what they are to do without hdb.
func TestSanitizersPlain(t *testing.T) {
	if testing.Short() {
		t.Skip("in full only: it tests the programs")
	}
	for _, flags := range sanitizers {
		c := testprogs.Command{Path: testprogs.Build(t, "sanitized", flags...), Env: unsuspecting}
		if out, err := c.Cmd().CombinedOutput(); err != nil || !strings.Contains(string(out), "wrong 0") {
			t.Errorf("%v: %v\n%s", flags, err, out)
		}
	}
}
