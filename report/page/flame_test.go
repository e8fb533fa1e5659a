package page

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"unicode/utf8"

	"hdb/report"
	"hdb/testprogs/node"
)

// inclusive is the number of each node of a tree: of the rows at it and below.
func inclusive(tree *flameTree, m report.Measure) (nodes []uint64, all uint64) {
	nodes = make([]uint64, len(tree.Depth))
	path := make([]int, 0, 64)
	parent := make([]int, len(tree.Depth))
	for i, d := range tree.Depth {
		path = append(path[:d], i)
		parent[i] = -1
		if d > 0 {
			parent[i] = path[d-1]
		}
	}
	for row, n := range tree.Node {
		v := tree.Values[m][row]
		all += v
		for at := int(n); at >= 0; at = parent[at] {
			nodes[at] += v
		}
	}
	return nodes, all
}

// Each node of a tree has what the stacks with its frames have, however few nodes
// there may be.
func TestFlameTree(t *testing.T) {
	t.Parallel()
	for name, p := range map[string]*report.Profile{"sample": timed(sampleProfile("a.c")), "huge": timed(hugeProfile(500)), "deep": timed(deepProfile(300, 60)), "empty": {}} {
		for _, limit := range []int{0, 1, 7, 300, 1e6} {
			for _, inverse := range []bool{false, true} {
				frames := newFlameFrames(p)
				s := newFlameStacks(p, frames, inverse)
				tree := s.grown(limit)()
				if len(tree.Depth) > limit {
					t.Errorf("%s: %d nodes, at most %d wanted", name, len(tree.Depth), limit)
				}
				for m := range report.Measure(numMeasures) {
					nodes, all := inclusive(tree, m)
					if want := m.Of(p.Total()); all != want {
						t.Errorf("%s, %d nodes, %s: rows add up to %d, want %d", name, limit, m, all, want)
					}
					if len(nodes) > 2000 || limit == 300 && name == "huge" {
						continue
					}
					var path []int32
					for i, d := range tree.Depth {
						path = append(path[:d], tree.Frame[i])
						if want := branch(s, path, m); nodes[i] != want {
							t.Fatalf("%s, %d nodes, %s: node %d has %d, its stacks %d", name, limit, m, i, nodes[i], want)
						}
					}
				}
				last := uint64(0)
				for row := range tree.Node {
					end := len(tree.Grown)
					if row+1 < len(tree.Starts) {
						end = int(tree.Starts[row+1])
					}
					if len(tree.Starts) > 0 && end > int(tree.Starts[row]) {
						last += tree.Grown[end-1][1]
					}
				}
				if last != p.Total().Live {
					t.Errorf("%s, %d nodes: %d live in the last snapshot, want %d", name, limit, last, p.Total().Live)
				}
			}
		}
	}
}

// branch adds up the stacks that begin with frames of the page.
func branch(s *flameStacks, path []int32, m report.Measure) uint64 {
	sum := uint64(0)
	for i := range s.p.Stacks {
		same := true
		for d, f := range path {
			at := s.at(int32(i), d)
			same = same && at != ended && s.frames.used[at] == f
			if !same {
				break
			}
		}
		if same {
			sum += m.Of(s.p.Stacks[i].Numbers)
		}
	}
	return sum
}

// The pages of huge profiles stay small.
func TestPagesAreBounded(t *testing.T) {
	stacks := 100000
	if testing.Short() {
		stacks = 5000
	}
	for _, p := range []*report.Profile{timed(hugeProfile(stacks)), timed(deepProfile(stacks/10, 2000))} {
		var b bytes.Buffer
		if err := WriteFlamegraph(&b, p, report.Live); err != nil {
			t.Fatal(err)
		}
		if b.Len() > 8<<20 {
			t.Errorf("%s: the page has %d bytes", p.Title, b.Len())
		}
	}
}

// pages are what is written of a profile.
func pages(t *testing.T, p *report.Profile, m report.Measure) (flame, table string) {
	t.Helper()
	dir := t.TempDir()
	for name, write := range map[string]func(b *bytes.Buffer) error{
		"flame.html": func(b *bytes.Buffer) error { return WriteFlamegraph(b, p, m) },
		"table.html": func(b *bytes.Buffer) error { return WriteTable(b, p, m) },
	} {
		var b bytes.Buffer
		if err := write(&b); err != nil {
			t.Fatal(err)
		}
		if !utf8.Valid(b.Bytes()) || bytes.ContainsAny(b.Bytes(), "\x1b\x00") {
			t.Errorf("%s: control characters, or no UTF-8", name)
		}
		if n := len(regexp.MustCompile(`(?i)</script`).FindAll(b.Bytes(), -1)); n != 2 {
			t.Errorf("%s: %d ends of scripts, want 2", name, n)
		}
		if found := regexp.MustCompile(`https?://[^"' ]*`).FindString(b.String()); found != "" {
			t.Errorf("%s: the page names %s", name, found)
		}
		if err := os.WriteFile(filepath.Join(dir, name), b.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, "flame.html"), filepath.Join(dir, "table.html")
}

// TestPagesInABrowser uses the pages as people do: the scripts in testdata say
// what they saw, and what it should have been.
func TestPagesInABrowser(t *testing.T) {
	t.Parallel()
	p := timed(sampleProfile("/src/a.c"))
	p.Title += " " + hostile
	p.Frames[5].Guess = true
	p.Stacks[0].Outer, p.Stacks[1].Outer = 1, 1
	p.Stacks[3].Thread = "<img src=x onerror=alert(1)>"
	flame, table := pages(t, p, report.Bytes)
	empty, emptyTable := pages(t, &report.Profile{}, report.Live)
	one := &report.Profile{Title: "one", Frames: []report.Frame{{Function: "f", Module: -1}}, Stacks: []report.Stack{{Frames: []int{0}, Numbers: report.Numbers{Allocs: 1, Bytes: 1, Live: 1, LiveBlocks: 1}}}}
	single, singleTable := pages(t, timed(one), report.Live)
	stacks := 20000
	if testing.Short() {
		stacks = 2000
	}
	huge, hugeTable := pages(t, timed(hugeProfile(stacks)), report.Live)
	deep, _ := pages(t, timed(deepProfile(200, 2000)), report.Live)
	files := map[string]string{"flame": flame, "table": table, "empty": empty, "emptyTable": emptyTable, "single": single, "singleTable": singleTable, "huge": huge, "hugeTable": hugeTable, "deep": deep}
	in, err := json.Marshal(files)
	if err != nil {
		t.Fatal(err)
	}
	var wrong []string
	if err := json.Unmarshal(node.Browse(t, in, "pages.mjs"), &wrong); err != nil {
		t.Fatal(err)
	}
	for _, w := range wrong {
		t.Error(w)
	}
}
