package dwarf_test

import (
	"bytes"
	"fmt"
	"math/rand"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"hdb/symbols/dwarf"
	"hdb/symbols/dwarf/line"
	"hdb/symbols/dwarf/scope"
	"hdb/symbols/elf"
	"hdb/testprogs"
)

// compile builds a program of symbols/testdata and returns its DWARF.
func compile(t testing.TB, compiler, source string, flags ...string) (*elf.File, dwarf.Sections) {
	t.Helper()
	prog := filepath.Join(t.TempDir(), "prog")
	args := append(flags, "-o", prog, filepath.Join("..", "testdata", source))
	if out, err := exec.Command(testprogs.Tool(t, compiler), args...).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", compiler, err, out)
	}
	f, err := elf.Open(prog)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	get := func(name string) []byte {
		b, err := f.Section(name)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	return f, dwarf.Sections{
		Info: get(".debug_info"), Abbrev: get(".debug_abbrev"), Str: get(".debug_str"), LineStr: get(".debug_line_str"),
		StrOffsets: get(".debug_str_offsets"), Addr: get(".debug_addr"), Ranges: get(".debug_ranges"),
		RngLists: get(".debug_rnglists"), Line: get(".debug_line"), Aranges: get(".debug_aranges"),
	}
}

var readelfEntry = regexp.MustCompile(`(?m)^ <[0-9a-f]+><([0-9a-f]+)>: Abbrev Number: [1-9]\d* \(DW_TAG_(\w+)\)`)

// TestWalkAgainstReadelf expects each entry where readelf sees one.
func TestWalkAgainstReadelf(t *testing.T) {
	for _, c := range []struct {
		compiler string
		flags    []string
	}{
		{"gcc", []string{"-g", "-O2", "-gdwarf-2"}},
		{"gcc", []string{"-g", "-O2", "-gdwarf-4"}},
		{"gcc", []string{"-g", "-O2", "-gdwarf-5"}},
		{"clang", []string{"-g", "-O2"}},
	} {
		f, sections := compile(t, c.compiler, "inline.c", c.flags...)
		out, err := exec.Command(testprogs.Tool(t, "readelf"), "--debug-dump=info", f.Path).Output()
		if err != nil {
			t.Fatal(err)
		}
		var want, got []string
		for _, m := range readelfEntry.FindAllStringSubmatch(string(out), -1) {
			want = append(want, m[1])
		}
		d := dwarf.New(sections, nil)
		units, err := d.Units()
		if err != nil {
			t.Fatal(err)
		}
		for _, u := range units {
			w := u.Walk()
			for w.Next() {
				got = append(got, fmt.Sprintf("%x", w.DIE.Off))
				if back := d.DIE(w.DIE.Off); back.Tag() != w.DIE.Tag() {
					t.Errorf("entry at %#x has tag %#x, found again with %#x", w.DIE.Off, w.DIE.Tag(), back.Tag())
				}
			}
		}
		if strings.Join(got, " ") != strings.Join(want, " ") || len(want) < 20 {
			t.Errorf("%s %v: entries at\n%v, readelf's\n%v", c.compiler, c.flags, got, want)
		}
	}
}

// TestSkipChildren passes over subtrees with and without DW_AT_sibling.
func TestSkipChildren(t *testing.T) {
	for _, compiler := range []string{"gcc", "clang"} { // clang writes no DW_AT_sibling
		_, sections := compile(t, compiler, "inline.c", "-g", "-O2")
		units, _ := dwarf.New(sections, nil).Units()
		top, skipped := 0, 0
		w := units[0].Walk()
		for w.Next() {
			if w.Depth == 1 {
				top++
			}
		}
		w = units[0].Walk()
		for w.Next() {
			if w.Depth == 1 {
				skipped++
				w.SkipChildren()
			} else if w.Depth > 1 {
				t.Fatalf("%s: entry %#x at depth %d", compiler, w.DIE.Off, w.Depth)
			}
		}
		if top != skipped || top < 5 {
			t.Errorf("%s: %d entries at the top, %d when skipping", compiler, top, skipped)
		}
	}
}

func TestRangeMap(t *testing.T) {
	span := func(low, high uint64, id, depth int32) dwarf.Span {
		return dwarf.Span{Range: dwarf.Range{Low: low, High: high}, ID: id, Depth: depth}
	}
	m := dwarf.NewRangeMap([]dwarf.Span{
		span(10, 50, 0, 0), span(20, 30, 1, 1), span(20, 25, 2, 2), span(40, 50, 3, 1), // nested
		span(60, 70, 4, 0), span(60, 70, 5, 1), // the same range deeper
		span(80, 90, 6, 0), span(85, 100, 7, 0), // overlapping
	})
	for a, want := range map[uint64]int32{
		0: -1, 9: -1, 10: 0, 19: 0, 20: 2, 24: 2, 25: 1, 29: 1, 30: 0, 40: 3, 49: 3, 50: -1, 59: -1,
		60: 5, 69: 5, 70: -1, 80: 6, 84: 6, 85: 7, 99: 7, 100: -1, ^uint64(0): -1,
	} {
		if got := m.At(a); got != want {
			t.Errorf("At(%d) = %d, want %d", a, got, want)
		}
	}
	if got := dwarf.NewRangeMap(nil).At(5); got != -1 {
		t.Errorf("empty map: %d", got)
	}
}

func TestBuf(t *testing.T) {
	b := dwarf.NewBuf([]byte{0xe5, 0x8e, 0x26, 0x7f, 0x80, 0x7f, 'a', 0, 1, 2, 3}, 0)
	if v := b.Uleb(); v != 624485 {
		t.Errorf("uleb %d", v)
	}
	if v := b.Sleb(); v != -1 {
		t.Errorf("sleb %d", v)
	}
	if v := b.Sleb(); v != -128 {
		t.Errorf("sleb %d", v)
	}
	if s := b.CString(); string(s) != "a" {
		t.Errorf("string %q", s)
	}
	if v := b.Uint(3); v != 0x030201 || b.Bad() {
		t.Errorf("3 bytes %#x", v)
	}
	if v := b.U32(); v != 0 || !b.Bad() {
		t.Errorf("past the end: %#x, bad %v", v, b.Bad())
	}
}

// FuzzDWARF runs everything that reads entries and lines over foreign sections.
func FuzzDWARF(f *testing.F) {
	for _, c := range []struct {
		compiler string
		flags    []string
	}{
		{"gcc", []string{"-g", "-O2", "-gdwarf-4"}},
		{"gcc", []string{"-g", "-O2", "-gdwarf-5"}},
		{"clang", []string{"-g", "-O2", "-gdwarf-5"}},
	} {
		_, s := compile(f, c.compiler, "inline.c", c.flags...)
		f.Add(s.Info, s.Abbrev, s.Str, s.StrOffsets, s.Addr, s.Ranges, s.RngLists, s.Line, s.Aranges)
	}
	f.Fuzz(func(t *testing.T, info, abbrev, str, offsets, addrs, ranges, rnglists, lines, aranges []byte) {
		readAll(t, dwarf.Sections{
			Info: info, Abbrev: abbrev, Str: str, LineStr: str, StrOffsets: offsets, Addr: addrs,
			Ranges: ranges, RngLists: rnglists, Line: lines, Aranges: aranges,
		})
	})
}

// TestCorrupted overwrites bytes of good sections at random: whatever is read,
// it comes to an end.
func TestCorrupted(t *testing.T) {
	_, good := compile(t, "g++", "mix.cc", "-g", "-O2")
	r := rand.New(rand.NewSource(1))
	for range 60 {
		s := good
		for _, section := range []*[]byte{&s.Info, &s.Abbrev, &s.Str, &s.RngLists, &s.Line} {
			*section = bytes.Clone(*section)
			for range r.Intn(4) {
				(*section)[r.Intn(len(*section))] = byte(r.Intn(256))
			}
		}
		if n := len(s.Line); r.Intn(4) == 0 {
			s.Line = s.Line[:r.Intn(n)]
		}
		readAll(t, s)
	}
}

// readAll reads everything of the sections in every way.
func readAll(t *testing.T, s dwarf.Sections) {
	d := dwarf.New(s, dwarf.New(dwarf.Sections{Info: s.Info, Abbrev: s.Abbrev, Str: s.Str}, nil))
	d.ReadAranges()
	units, _ := d.Units()
	all := func(uint64) bool { return true }
	for _, u := range units {
		root, err := u.Load()
		if err != nil {
			continue
		}
		tree := new(scope.Builder).Build(u, all)
		e := scope.FindEnclosures(u)
		for i := range tree.Nodes {
			n := &tree.Nodes[i]
			desc := scope.Describe(u.DIE(n.Off))
			e.Qualify(u.DIE(n.Off), desc.Name)
			if len(tree.Ranges(n)) == 0 || n.Parent >= int32(i) {
				t.Fatalf("node %d: %+v", i, n)
			}
			tree.FunctionOf(tree.At(n.Entry))
		}
		table, _ := new(line.Reader).Read(u, root.StmtList, all)
		for i := range table.Files() {
			table.File(uint32(i))
		}
		for _, r := range table.Rows {
			if i, ok := table.StmtAt(r.Addr); ok {
				table.StmtEnd(i)
			}
			if i, ok := table.At(r.Addr); ok {
				table.End(i)
			}
		}
	}
	x := scope.NewIndex(units, 2, elf.Guard)
	x.Named("main")
}
