package testprogs

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// heldKinds are the ways in which blocks are held, by how the functions of held.c begin that
// allocate them.
var heldKinds = map[string]string{"keep": "still reachable", "maybe": "possibly lost", "lose": "definitely lost", "under": "indirectly lost"}

// A leaksAnswer is what leaks prints as JSON.
type leaksAnswer struct {
	Definite  int `json:"definitely_lost_blocks"`
	Indirect  int `json:"indirectly_lost_blocks"`
	Possible  int `json:"possibly_lost_blocks"`
	Reachable int `json:"still_reachable_blocks"`
	Rows      []struct {
		Reach  string
		Blocks int    `json:"live_blocks"`
		Size   uint64 `json:"block_size"`
		Frames []struct{ Function string }
	}
}

func leaksOf(t *testing.T, answer string) (l leaksAnswer) {
	t.Helper()
	if err := json.Unmarshal([]byte(answer), &l); err != nil {
		t.Fatalf("%v: %s", err, answer)
	}
	return l
}

// sums are the numbers of blocks that are lost, by kind.
func (l *leaksAnswer) lost() [3]int { return [3]int{l.Definite, l.Indirect, l.Possible} }

// functions are how the blocks of the functions that begin with a word of heldKinds are held.
func (l *leaksAnswer) functions() map[string]string {
	held := map[string]string{}
	for _, r := range l.Rows {
		for _, f := range r.Frames {
			name, _, _ := strings.Cut(f.Function, "(")
			word, _, _ := strings.Cut(name, "_")
			if heldKinds[word] != "" && held[name] != r.Reach {
				held[name] += r.Reach
			}
		}
	}
	return held
}

// heldPrograms are the programs whose functions say how the blocks are held that they allocate, and
// how many functions there are at least.
var heldPrograms = []struct {
	name, source string
	least        int
	sized        bool // how some blocks are held depends on their sizes
}{{"held", "held.c", 35, false}, {"heldobjects", "heldobjects.cc", 11, true}, {"heldmodules", "heldmodules.c", 25, false}}

// heldFunctions are how the blocks of a program's functions are held, by the source.
func heldFunctions(t *testing.T, source string, least int) map[string]string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", source))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{}
	for _, m := range regexp.MustCompile(`(?m)^static NOINLINE .*?((keep|maybe|lose|under)_\w+)\(`).FindAllStringSubmatch(string(text), -1) {
		want[m[1]] = heldKinds[m[2]]
	}
	if len(want) < least {
		t.Fatalf("%s has %d functions", source, len(want))
	}
	return want
}

// TestHeld has each block held as its function says: with a recording; without one, by the walk
// alone; and in a core file of the moment. Asking changes nothing: core files of before and behind
// are equal.
func TestHeld(t *testing.T) {
	t.Parallel()
	for _, p := range heldPrograms {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			want := heldFunctions(t, p.source, p.least)
			path, dir := Build(t, p.name), t.TempDir()
			const all = "leaks 100 --all --strict" // else what is pointed to behind a header is reachable
			before, core := "gcore "+filepath.Join(dir, "before"), "gcore "+filepath.Join(dir, "core")
			answers := ask(t, true, []string{path}, []string{"record start", "break at_rest", "run", before, all, core, "kill"})
			recorded := leaksOf(t, answers[all])
			got := recorded.functions()
			for _, name := range slices.Sorted(maps.Keys(want)) {
				if got[name] != want[name] {
					t.Errorf("the block of %s is %q", name, got[name])
				}
			}
			if a, b := readFile(t, strings.Fields(before)[1]), readFile(t, strings.Fields(core)[1]); !bytes.Equal(a, b) {
				t.Errorf("leaks changes the process: the core files have %d and %d bytes, and differ", len(a), len(b))
			}
			for name, args := range map[string][]string{"no recording": {path}, "core": {"core", strings.Fields(core)[1]}} {
				in := []string{all}
				if name != "core" {
					in = []string{"break at_rest", "run", all}
				}
				l := leaksOf(t, ask(t, true, args, in)[all])
				if p.sized { // of the walk only the usable size is known, and no heuristic holds that needs the size asked for
					l.Reachable += l.Possible - recorded.Possible
					l.Possible = recorded.Possible
				}
				if l.lost() != recorded.lost() || l.Reachable < recorded.Reachable {
					t.Errorf("%s: lost are %v blocks, and %d are reachable; of the recording %v and %d", name, l.lost(), l.Reachable, recorded.lost(), recorded.Reachable)
				}
				for _, r := range l.Rows {
					if len(r.Frames) > 0 {
						t.Errorf("%s: a block has a stack: %v", name, r)
					}
				}
			}
			if t.Failed() {
				t.Logf("%.2000s", answers[all])
			}
		})
	}
}

func readFile(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
