package testprogs

import (
	"encoding/json"
	"fmt"
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
			word, _, _ := strings.Cut(f.Function, "_")
			if heldKinds[word] != "" && held[f.Function] != r.Reach {
				held[f.Function] += r.Reach
			}
		}
	}
	return held
}

// TestHeld has each block of held.c held as its function says: with a recording; without one, by
// the walk alone; and in a core file of the moment.
func TestHeld(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile("testdata/held.c")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{}
	for _, m := range regexp.MustCompile(`(?m)^static NOINLINE void \*(([a-z]+)_\w+)\(void\)`).FindAllStringSubmatch(string(source), -1) {
		want[m[1]] = heldKinds[m[2]]
	}
	if len(want) < 35 {
		t.Fatalf("held.c has %d functions", len(want))
	}
	path, core := Build(t, "held"), filepath.Join(t.TempDir(), "core")
	const all = "leaks 100 --all"
	answers := ask(t, true, []string{path}, []string{"record start", "break at_rest", "run", all, "record stop", "gcore " + core, "kill"})
	recorded := leaksOf(t, answers[all])
	got := recorded.functions()
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if got[name] != want[name] {
			t.Errorf("the block of %s is %q", name, got[name])
		}
	}
	for name, args := range map[string][]string{"no recording": {path}, "core": {"core", core}} {
		in := []string{all}
		if name != "core" {
			in = []string{"break at_rest", "run", all}
		}
		l := leaksOf(t, ask(t, true, args, in)[all])
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
		t.Log(fmt.Sprintf("%.2000s", answers[all]))
	}
}
