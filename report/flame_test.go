package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// timed adds snapshots to a profile: half of all at the first, what is live at the
// last.
func timed(p *Profile) *Profile {
	half, end := Snapshot{Moment: Moment{Seq: 40, Time: time.Second}}, Snapshot{Moment: p.Moment}
	for i, s := range p.Stacks {
		at := s.Peak / 2
		if i%3 == 1 {
			at = 0
		}
		half.Stacks, end.Stacks = append(half.Stacks, at), append(end.Stacks, s.Live)
		half.Live += at
	}
	end.Live = p.Total().Live
	p.Snapshots = []Snapshot{half, end}
	return p
}

// deepProfile has stacks of many frames that part near their ends.
func deepProfile(stacks, deep int) *Profile {
	p := &Profile{Title: "deep", Frames: []Frame{{Function: "main", Module: -1, Known: true}}}
	for i := range 40 {
		p.Frames = append(p.Frames, Frame{Function: fmt.Sprintf("recurse%d", i), File: "r.c", Line: i, Module: -1, Known: true})
	}
	for i := range stacks {
		s := Stack{Numbers: Numbers{Allocs: 1, Bytes: 64, Live: 64, LiveBlocks: 1, Peak: 64, PeakBlocks: 1}}
		for k := range deep {
			s.Frames = append(s.Frames, 1+k%3)
			if k < 4 {
				s.Frames[k] = 1 + (i>>(k*4))%40
			}
		}
		s.Frames = append(s.Frames, 0)
		p.Stacks = append(p.Stacks, s)
	}
	return p
}

// inclusive is the number of each node of a tree: of the rows at it and below.
func inclusive(tree *flameTree, m Measure) (nodes []uint64, all uint64) {
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
	for name, p := range map[string]*Profile{"sample": timed(sampleProfile("a.c")), "huge": timed(hugeProfile(500)), "deep": timed(deepProfile(300, 60)), "empty": {}} {
		for _, limit := range []int{0, 1, 7, 300, 1e6} {
			for _, inverse := range []bool{false, true} {
				frames := newFlameFrames(p)
				s := newFlameStacks(p, frames, inverse)
				tree := s.grown(limit)()
				if len(tree.Depth) > limit {
					t.Errorf("%s: %d nodes, at most %d wanted", name, len(tree.Depth), limit)
				}
				for m := range numMeasures {
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
func branch(s *flameStacks, path []int32, m Measure) uint64 {
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
	for _, p := range []*Profile{timed(hugeProfile(stacks)), timed(deepProfile(stacks/10, 2000))} {
		var b bytes.Buffer
		if err := WriteFlamegraph(&b, p, Options{}); err != nil {
			t.Fatal(err)
		}
		if b.Len() > 8<<20 {
			t.Errorf("%s: the page has %d bytes", p.Title, b.Len())
		}
	}
}

// pages are what is written of a profile.
func pages(t *testing.T, p *Profile, m Measure) (flame, table string) {
	t.Helper()
	dir := t.TempDir()
	for name, write := range map[string]func(b *bytes.Buffer) error{
		"flame.html": func(b *bytes.Buffer) error { return WriteFlamegraph(b, p, Options{Measure: m}) },
		"table.html": func(b *bytes.Buffer) error { return WriteTableHTML(b, p, Options{Measure: m}) },
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
	p.Stacks[3].Thread = "<img src=x onerror=alert(1)>"
	flame, table := pages(t, p, Bytes)
	empty, emptyTable := pages(t, &Profile{}, Live)
	one := &Profile{Title: "one", Frames: []Frame{{Function: "f", Module: -1}}, Stacks: []Stack{{Frames: []int{0}, Numbers: Numbers{Allocs: 1, Bytes: 1, Live: 1, LiveBlocks: 1}}}}
	single, singleTable := pages(t, timed(one), Live)
	stacks := 20000
	if testing.Short() {
		stacks = 2000
	}
	huge, hugeTable := pages(t, timed(hugeProfile(stacks)), Live)
	deep, _ := pages(t, timed(deepProfile(200, 2000)), Live)
	files := map[string]string{"flame": flame, "table": table, "empty": empty, "emptyTable": emptyTable, "single": single, "singleTable": singleTable, "huge": huge, "hugeTable": hugeTable, "deep": deep}
	in, err := json.Marshal(files)
	if err != nil {
		t.Fatal(err)
	}
	var wrong []string
	if err := json.Unmarshal(browsing(t, in, "pages.mjs"), &wrong); err != nil {
		t.Fatal(err)
	}
	for _, w := range wrong {
		t.Error(w)
	}
}

// The functions' own numbers add up to the profile, and no total is above it.
func TestFunctions(t *testing.T) {
	for _, p := range []*Profile{{}, sampleProfile("a.c"), hugeProfile(300), deepProfile(50, 30)} {
		var own Numbers
		total := p.Total()
		for _, r := range p.Functions() {
			own.Add(r.Own)
			for m := range numMeasures {
				if m.Of(r.Own) > m.Of(r.Total) || m.Of(r.Total) > m.Of(total) {
					t.Errorf("%s: %s: own %d, total %d of %d", r.Function, m, m.Of(r.Own), m.Of(r.Total), m.Of(total))
				}
			}
		}
		if own != total {
			t.Errorf("%s: own numbers add up to %+v, want %+v", p.Title, own, total)
		}
	}
	rows := sampleProfile("a.c").Sorted(Bytes)
	if r := rows[0]; r.Function != "keep" || r.Own.Bytes != 10500 || r.Library {
		t.Errorf("most has %+v", r)
	}
	if i := slices.IndexFunc(rows, func(r *Row) bool { return r.Function == "main" }); rows[i].Line != 9 || rows[i].Total.Bytes != 10900 {
		t.Errorf("main is %+v", rows[i])
	}
}

func TestTableText(t *testing.T) {
	var b strings.Builder
	if err := WriteTable(&b, sampleProfile("/src/a.c"), Options{Measure: Allocs}, 3); err != nil {
		t.Fatal(err)
	}
	want := `prog --flag
own and total by count: blocks allocated; of all: 21

  own          total             live     bytes  temporary  function
   15  71.4 %     15  71.4 %  1.3 KiB  10.3 KiB          3  keep  a.c:5
    4  19.0 %      4  19.0 %    200 B     400 B          1  0x7f0000001234  [libc.so.6]
    1   4.8 %      1   4.8 %      0 B       7 B          0  [no stack was recorded]

3 of 7 functions

2 calls are missing from the recording: counts are too low, live and peak are unsure
`
	if got := b.String(); got != want {
		t.Errorf("%s", got)
	}
}
