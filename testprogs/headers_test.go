package testprogs

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
)

// A headersAnswer is leaks as JSON, with what is held behind headers.
type headersAnswer struct {
	leaksAnswer
	Behind  int `json:"behind_header_blocks"`
	Heads   int `json:"behind_header_heads"`
	Pools   int `json:"behind_header_pools"`
	Headers []struct {
		Offset   int
		Pointed  int `json:"pointed_blocks"`
		Alike    int `json:"alike_blocks"`
		Function string
	}
}

// by adds up the blocks by the functions whose names tell how they are held, and by how they are.
func (a *headersAnswer) by() map[string]map[string]int {
	sums := map[string]map[string]int{}
	for _, r := range a.Rows {
		for _, f := range r.Frames {
			word, _, _ := strings.Cut(f.Function, "_")
			if heldKinds[word] == "" && word != "hidden" {
				continue
			}
			if sums[f.Function] == nil {
				sums[f.Function] = map[string]int{}
			}
			sums[f.Function][r.Reach] += r.Blocks
			break
		}
	}
	return sums
}

// TestHeaders has blocks reachable that their users hold behind headers, and others possibly lost, by both planes. With
// --strict all are possibly lost, as memcheck has them.
func TestHeaders(t *testing.T) {
	t.Parallel()
	const reachable, possible, definite = "still reachable", "possibly lost", "definitely lost"
	want := map[string]struct {
		how    string
		blocks int
		strict string
	}{
		"keep_strings": {reachable, 500, possible}, "keep_mixed": {reachable, 100, ""}, "keep_chain": {reachable, 200, possible},
		"keep_owners": {reachable, 20, possible}, "keep_below": {reachable, 20, possible}, "keep_pool": {reachable, 1, possible},
		"maybe_seven_offsets": {possible, 1, possible}, "maybe_anywhere": {possible, 300, possible}, "maybe_beside_strings": {possible, 40, possible},
		"maybe_last_byte": {possible, 300, possible}, "maybe_iterators": {possible, 200, possible}, "maybe_list": {possible, 200, possible},
		"maybe_three": {possible, 3, possible}, "hidden_cursors": {reachable, 60, possible},
		"lose_strings": {definite, 29, definite}, // and one that a register still has
	}
	path := Build(t, "headers", "-g", "-O1", "-w")
	for _, plane := range []string{"set probe on", "set probe off"} {
		t.Run(plane, func(t *testing.T) {
			t.Parallel()
			const usual, strict, brief = "leaks 100 --all", "leaks 100 --all --strict", "leaks 100"
			answers := ask(t, true, []string{path}, []string{plane, "record start", "break at_rest", "run", usual, strict, brief, "kill"})
			a, s, b := headersOf(t, answers[usual]), headersOf(t, answers[strict]), headersOf(t, answers[brief])
			got, gotStrict := a.by(), s.by()
			for name, w := range want {
				if n := got[name][w.how]; n != w.blocks && (w.how != definite || n < w.blocks) {
					t.Errorf("%s: %v, want %d %s", name, got[name], w.blocks, w.how)
				}
				if n := gotStrict[name][w.strict]; w.strict != "" && n != w.blocks && (w.how != definite || n < w.blocks) {
					t.Errorf("--strict: %s: %v, want %d %s", name, gotStrict[name], w.blocks, w.strict)
				}
			}
			if a.Behind == 0 || a.Behind != s.Possible-a.Possible || a.Heads >= a.Behind || a.Pools != 1 || s.Behind != 0 {
				t.Errorf("%d behind headers, %d of them by themselves; --strict: %d; possibly lost %d and %d", a.Behind, a.Heads, s.Behind, a.Possible, s.Possible)
			}
			if len(a.Headers) == 0 || a.Headers[0].Offset != 16 || a.Headers[0].Function != "string_new" || a.Headers[0].Pointed < 500 || a.Headers[0].Alike < a.Headers[0].Pointed {
				t.Errorf("%+v", a.Headers)
			}
			for _, r := range b.Rows {
				if r.Reach == possible {
					t.Errorf("a row that was not asked for: %+v", r)
				}
			}
			if b.Possible != a.Possible {
				t.Errorf("possibly lost %d, %d", b.Possible, a.Possible)
			}
		})
	}
	t.Run("no recording", func(t *testing.T) {
		t.Parallel()
		core := filepath.Join(t.TempDir(), "core")
		const usual, strict = "leaks 100 --all", "leaks 100 --all --strict"
		answers := ask(t, true, []string{path}, []string{"break at_rest", "run", usual, strict, "gcore " + core, "kill"})
		a, s := headersOf(t, answers[usual]), headersOf(t, answers[strict])
		if a.Behind < 200 || a.Behind != s.Possible-a.Possible {
			t.Errorf("%d behind headers; possibly lost %d, and %d with --strict", a.Behind, a.Possible, s.Possible)
		}
		if c := headersOf(t, ask(t, true, []string{"core", core}, []string{usual})[usual]); c.Behind != a.Behind || c.lost() != a.lost() {
			t.Errorf("core: %d behind headers, lost %v; the process: %d, %v", c.Behind, c.lost(), a.Behind, a.lost())
		}
	})
}

func headersOf(t *testing.T, answer string) (a headersAnswer) {
	t.Helper()
	if err := json.Unmarshal([]byte(answer), &a); err != nil {
		t.Fatalf("%v: %s", err, answer)
	}
	return a
}
