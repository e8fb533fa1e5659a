package report

import (
	"io"
	"strings"
	"testing"
)

// checkNode checks that a node's children and itself have what it has.
func checkNode(t *testing.T, n *Node, levels int) {
	t.Helper()
	var value, blocks uint64
	if levels == 0 {
		return
	}
	for _, c := range n.Children() {
		value += c.Value
		blocks += c.Blocks
		checkNode(t, c, levels-1)
	}
	if value+n.Self != n.Value || blocks > n.Blocks {
		t.Fatalf("%d of the children and %d itself, of %d", value, n.Self, n.Value)
	}
}

// checkView checks the same of the tree that JSON has.
func checkView(t *testing.T, v *TreeView) {
	t.Helper()
	sum := v.Self + v.Rest
	for i := range v.Children {
		sum += v.Children[i].Value
		checkView(t, &v.Children[i])
	}
	if sum != v.Value {
		t.Fatalf("%s: %d of the children and itself, of %d", v.Function, sum, v.Value)
	}
}

func TestTreesAddUp(t *testing.T) {
	for _, p := range []*Profile{{}, sampleProfile("/src/a.c"), hugeProfile(200)} {
		for m := range numMeasures {
			for _, o := range []TreeOptions{{}, {Inverted: true}, {Full: true}, {Inverted: true, Full: true}, {Min: 0.1}, {Depth: 2}, {Depth: 1, Inverted: true}} {
				o.Measure = m
				tree := NewTree(p, o)
				if want := m.Of(p.Total()); tree.Root.Value != want {
					t.Errorf("%+v: %d in all, the profile has %d", o, tree.Root.Value, want)
				}
				checkNode(t, tree.Root, 1000)
				v := tree.View()
				checkView(t, &v)
			}
		}
	}
}

func TestTreeOnScreen(t *testing.T) {
	p := oddProfile()
	for _, c := range []struct {
		o    TreeOptions
		to   Text
		want string
	}{
		{TreeOptions{Measure: Live}, Text{Unicode: true}, `live: bytes not freed; callers above the functions they call
1.5 KiB in all, 6 blocks
  ! 2 calls are missing from the recording: counts are too low, live and peak
    are uncertain
   1.5 KiB  100.0 %  main  a.c
   1.3 KiB   86.7 %  ├ keep  a.c:5
     200 B   13.3 %  └ 0x7f0000001234  [libc.so.6]
`},
		{TreeOptions{Measure: Live, Full: true}, Text{}, `live: bytes not freed; callers above the functions they call
1.5 KiB in all, 6 blocks
  ! 2 calls are missing from the recording: counts are too low, live and peak
    are uncertain
   1.5 KiB  100.0 %  _start > main  /src/a.c
   1.3 KiB   86.7 %  |-keep > grab(unsigned long) [inlined]  /src/a.c:2
     200 B   13.3 %  ` + "`-" + `0x7f0000001234  [libc.so.6]
`},
		{TreeOptions{Measure: Bytes, Min: 0.02}, Text{Unicode: true}, `bytes: all that were allocated; callers above the functions they call
10.7 KiB in all, 21 blocks
  ! 2 calls are missing from the recording: counts are too low, live and peak
    are uncertain
  10.6 KiB   99.0 %  main  a.c
  10.3 KiB   95.4 %  ├ keep  a.c:5
     400 B    3.6 %  └ 0x7f0000001234  [libc.so.6]
     107 B    1.0 %  (2 others with less than 2 % each)
`},
		{TreeOptions{Measure: Allocs, Inverted: true}, Text{Unicode: true}, `count: blocks allocated; functions that allocate above their callers
21 in all
  ! 2 calls are missing from the recording: counts are too low, live and peak
    are uncertain
        15   71.4 %  keep ← main  a.c:5
         4   19.0 %  0x7f0000001234 ← main  [libc.so.6]
         1    4.8 %  [no stack was recorded]
         1    4.8 %  ev?[31mil;</script>?"\? (int, char) ← [no CFI; ? at 0x1000]  script>?"\? (int, char):1
`},
		{TreeOptions{Measure: Bytes, Depth: 1}, Text{Width: 60}, `bytes: all that were allocated; callers above the functio...
10.7 KiB in all, 21 blocks
  ! 2 calls are missing from the recording: counts are too
    low, live and peak are uncertain
  10.6 KiB   99.0 %  main  a.c ...
     100 B    0.9 %  [no CFI;... > ev?[31mil...  script>?...
       7 B    0.1 %  [no stack was recorded]
`},
		{TreeOptions{Measure: LiveBlocks, Full: true, Min: 0.5}, Text{}, `blocks: not freed; callers above the functions they call
6 in all
  ! 2 calls are missing from the recording: counts are too low, live and peak
    are uncertain
         6  100.0 %  _start > main  /src/a.c
         4   66.7 %  |-keep > grab(unsigned long) [inlined]  /src/a.c:2
         2   33.3 %  ` + "`-" + `(1 other with less than 50 %)
`},
	} {
		got := strings.ReplaceAll(onScreen(t, p, c.to, writeTree(c.o)), "\uFFFD", "?")
		if got != c.want {
			t.Errorf("%+v:\n%s\nwant\n%s", c.o, got, c.want)
		}
	}
}

// TestTreeOfRecursion names a function that called itself once, and a long chain by
// its ends.
func TestTreeOfRecursion(t *testing.T) {
	p := &Profile{}
	name := func(f string) int {
		p.Frames = append(p.Frames, Frame{Function: f, Module: -1})
		return len(p.Frames) - 1
	}
	again := name("again")
	deep := make([]int, 100000)
	for i := range deep {
		deep[i] = again
	}
	p.Stacks = append(p.Stacks, Stack{Frames: append(deep, name("main")), Numbers: Numbers{Live: 4, LiveBlocks: 1}})
	long := []int{}
	for i := range 50 {
		long = append(long, name("f"+string(rune('A'+i))))
	}
	p.Stacks = append(p.Stacks, Stack{Frames: append(long, name("thread")), Numbers: Numbers{Live: 2, LiveBlocks: 1}})
	got := onScreen(t, p, Text{}, writeTree(TreeOptions{}))
	for _, want := range []string{"4 B   66.7 %  main > again x100000\n", "2 B   33.3 %  thread > (39 more) > fK > fJ > fI > fH > fG > fF > fE > fD > fC > fB > fA\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("it lacks %q:\n%s", want, got)
		}
	}
}

// TestBrowser opens, closes and searches trees of any size.
func TestBrowser(t *testing.T) {
	for _, p := range []*Profile{{}, sampleProfile("/src/a.c"), hugeProfile(300)} {
		for _, inverted := range []bool{false, true} {
			b := NewBrowser(NewTree(p, TreeOptions{Measure: Bytes, Inverted: inverted}))
			screen := func(height int) string {
				lines, cursor := b.Lines(Text{Width: 70, Unicode: true}, height)
				if len(lines) > height || cursor >= len(lines) || cursor < 0 && len(b.rows) > 0 && height > 0 {
					t.Fatalf("%d lines, the cursor in %d, of %d", len(lines), cursor, height)
				}
				return strings.Join(lines, "\n")
			}
			before := screen(30)
			for i := range 400 {
				switch i % 7 {
				case 0, 2, 5:
					b.Open()
				case 6:
					b.Close()
				case 3:
					b.Toggle()
				default:
					b.Move(i%11 - 3)
				}
				screen(i % 9)
			}
			b.Search("FUNCTION1")
			screen(5)
			for range 10000 { // back to one row, closed
				b.Close()
				if len(b.rows) > 0 && b.rows[b.cursor].parent < 0 && !b.open[b.rows[b.cursor].last()] {
					break
				}
			}
			if p.Stacks == nil && before != "" || p.Stacks != nil && before == "" {
				t.Errorf("it shows %q", before)
			}
			if b.Search("no such name") {
				t.Error("it finds what is not there")
			}
		}
	}
	b := NewBrowser(NewTree(sampleProfile("/src/a.c"), TreeOptions{Measure: Bytes, Full: true}))
	if !b.Search("SRC/a") || !b.Search("libc.so") {
		t.Error("a source file or a module is not found")
	}
	b = NewBrowser(NewTree(sampleProfile("/src/a.c"), TreeOptions{Measure: Bytes}))
	var found []string
	for range 3 {
		if !b.Search("k") { // in keep only
			t.Fatal("keep is not found")
		}
		lines, cursor := b.Lines(Text{}, 20)
		found = append(found, strings.Join(strings.Fields(lines[cursor]), " "))
	}
	if got := strings.Join(found, "; "); got != "10.3 KiB 95.4 % keep a.c:5; 1 [no stack was recorded]" && !strings.HasPrefix(got, "10.3 KiB 95.4 % keep a.c:5; 7 B 0.1 % [no stack was recorded]; 10.3 KiB") {
		t.Errorf("a search finds %s", got)
	}
}

// TestTreeOfNoBytes counts blocks of no bytes, as all other reports do.
func TestTreeOfNoBytes(t *testing.T) {
	p := &Profile{
		Frames: []Frame{{Function: "zero", Module: -1}, {Function: "some", Module: -1}, {Function: "main", Module: -1}},
		Stacks: []Stack{
			{Frames: []int{0, 2}, Numbers: Numbers{Allocs: 1, LiveBlocks: 1}}, {Frames: []int{1, 2}, Numbers: Numbers{Allocs: 1, Bytes: 100, Live: 100, LiveBlocks: 1}},
			{Frames: []int{0, 1, 2}, Numbers: Numbers{}},
		},
	}
	for _, m := range []Measure{Bytes, Live} {
		all := NewTree(p, TreeOptions{Measure: m}).View()
		if main := all.Children[0]; all.Blocks != 2 || main.Blocks != 2 || len(main.Children) != 2 || main.Children[1].Function != "zero" || main.Children[1].Blocks != 1 {
			t.Errorf("%s: %+v", m, all)
		}
	}
}

// TestNothingButBlocksOfNoBytes shows blocks although the measure adds up to nothing.
func TestNothingButBlocksOfNoBytes(t *testing.T) {
	p := &Profile{
		Frames: []Frame{{Function: "zero", Module: -1}, {Function: "gone", Module: -1}},
		Stacks: []Stack{{Frames: []int{0}, Numbers: Numbers{Allocs: 1, LiveBlocks: 1}}, {Frames: []int{1}, Numbers: Numbers{Allocs: 1}}},
	}
	tree := onScreen(t, p, Text{}, func(w io.Writer, p *Profile, t Text) error { return WriteTree(w, p, TreeOptions{Min: 0.01}, t) })
	var table strings.Builder
	if err := WriteTable(&table, p, Options{}, 0); err != nil {
		t.Fatal(err)
	}
	for name, got := range map[string]string{"tree": tree, "table": table.String()} {
		if !strings.Contains(got, "zero") || strings.Contains(got, "gone") {
			t.Errorf("%s of what is live:\n%s", name, got)
		}
	}
}
