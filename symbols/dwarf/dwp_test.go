package dwarf_test

import (
	"encoding/binary"
	"os/exec"
	"path/filepath"
	"testing"

	"hdb/symbols/dwarf"
	"hdb/symbols/dwarf/scope"
	"hdb/symbols/elf"
	"hdb/testprogs"
)

// splitParts are a program's skeletons and its package.
type splitParts struct {
	main, split dwarf.Sections
	cu, tu      []byte
}

// compileSplit builds symbols/testdata/inline.c with split DWARF and packs it.
func compileSplit(t testing.TB, compiler, version string) splitParts {
	t.Helper()
	dir := t.TempDir()
	source, err := filepath.Abs(filepath.Join("..", "testdata", "inline.c"))
	if err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{compiler, "-g", "-O2", version, "-gsplit-dwarf", "-o", "prog", source},
		{"llvm-dwp", "-e", "prog", "-o", "prog.dwp"},
	} {
		ctx, cancel := testprogs.Context(t)
		defer cancel()
		cmd := exec.CommandContext(ctx, testprogs.Tool(t, args[0]), args[1:]...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
	}
	get := func(name string) func(string) []byte {
		f, err := elf.Open(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		return func(section string) []byte {
			b, err := f.Section(section)
			if err != nil {
				t.Fatal(err)
			}
			return b
		}
	}
	main, dwp := get("prog"), get("prog.dwp")
	return splitParts{
		main: dwarf.Sections{
			Info: main(".debug_info"), Abbrev: main(".debug_abbrev"), Str: main(".debug_str"), StrOffsets: main(".debug_str_offsets"),
			Addr: main(".debug_addr"), Ranges: main(".debug_ranges"), RngLists: main(".debug_rnglists"),
		},
		split: dwarf.Sections{
			Info: dwp(".debug_info.dwo"), Abbrev: dwp(".debug_abbrev.dwo"), Str: dwp(".debug_str.dwo"),
			StrOffsets: dwp(".debug_str_offsets.dwo"), RngLists: dwp(".debug_rnglists.dwo"), Types: dwp(".debug_types.dwo"),
			Line: dwp(".debug_line.dwo"), Loc: dwp(".debug_loc.dwo"), LocLists: dwp(".debug_loclists.dwo"),
		},
		cu: dwp(".debug_cu_index"), tu: dwp(".debug_tu_index"),
	}
}

// readSplit reads all functions and locations of split units; it counts them.
func readSplit(s splitParts) (functions, locations int) {
	p, err := dwarf.NewPackage(s.split, s.cu, s.tu)
	if err != nil {
		return 0, 0
	}
	units, _ := dwarf.New(s.main, nil).Units()
	for _, skeleton := range units {
		if !skeleton.IsSkeleton() {
			continue
		}
		u := p.Unit(skeleton)
		if u == nil {
			continue
		}
		tree := new(scope.Builder).Build(u, func(uint64) bool { return true })
		for i := range tree.Nodes {
			n := &tree.Nodes[i]
			if d := u.DIE(n.Off); scope.Describe(d).Name != "" && len(tree.Ranges(n)) > 0 {
				functions++
			}
		}
		w := u.Walk()
		for w.Next() {
			it := w.DIE.Attrs()
			for it.Next() {
				it.Value.Ref()
				if it.At != dwarf.AtLocation || !it.Value.IsLocList() {
					continue
				}
				for i := range tree.Nodes {
					if _, ok := u.Location(it.Value, dwarf.LocSections{}, tree.Nodes[i].Entry); ok {
						locations++
						break
					}
				}
			}
		}
	}
	return functions, locations
}

// splitCases leave out gcc's DWARF 5, with which llvm-dwp 14 may never come to an end.
var splitCases = [][2]string{{"gcc", "-gdwarf-4"}, {"clang", "-gdwarf-4"}, {"clang", "-gdwarf-5"}}

// TestPackage finds functions with their inlined copies, and location lists, through
// both versions of the index.
func TestPackage(t *testing.T) {
	for _, c := range splitCases {
		s := compileSplit(t, c[0], c[1])
		if f, l := readSplit(s); f != 5 || l < 3 { // main, work, and the copies of twice and sq, twice
			t.Errorf("%v: %d functions, %d locations", c, f, l)
		}
		p, err := dwarf.NewPackage(s.split, s.cu, nil)
		if err != nil {
			t.Fatal(err)
		}
		units, _ := dwarf.New(s.main, nil).Units()
		root, _ := units[0].Load()
		if !p.Has(root.DwoID) || p.Has(root.DwoID+1) {
			t.Errorf("%v: has %v, of the next id %v", c, p.Has(root.DwoID), p.Has(root.DwoID+1))
		}
		u := p.Unit(units[0])
		if u == nil || u.Skeleton() != units[0] || u.LineUnit() != units[0] || p.Unit(units[0]) != u {
			t.Fatalf("%v: unit %+v", c, u)
		}
		again, _ := dwarf.New(s.main, nil).Units()
		if p.Unit(again[0]) != nil {
			t.Errorf("%v: one split unit is of two skeletons", c)
		}
	}
}

// TestIndexBounds refuses indexes whose tables do not fit.
func TestIndexBounds(t *testing.T) {
	index := func(version, columns, units, slots uint32, more int) []byte {
		var b []byte
		for _, v := range []uint32{version, columns, units, slots} {
			b = binary.LittleEndian.AppendUint32(b, v)
		}
		return append(b, make([]byte, more)...)
	}
	for name, bad := range map[string][]byte{
		"empty": nil, "version": index(3, 1, 1, 1, 100), "slots": index(2, 1, 2, 3, 100), "too few slots": index(2, 1, 4, 2, 400),
		"cut": index(5, 2, 1, 2, 30), "units": index(2, 1<<31, 1<<31, 1<<31, 100),
	} {
		if _, err := dwarf.NewPackage(dwarf.Sections{}, bad, nil); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	p, err := dwarf.NewPackage(dwarf.Sections{}, index(5, 0, 0, 0, 0), nil)
	if err != nil || p.Has(0) {
		t.Errorf("no units: %v, has 0: %v", err, p.Has(0))
	}
	full := index(2, 0, 0, 2, 24) // two slots with ids and no end
	full[16], full[24], full[32], full[36] = 1, 3, 1, 1
	if p, err = dwarf.NewPackage(dwarf.Sections{}, full, nil); err != nil || p.Has(5) {
		t.Errorf("full table: %v", err)
	}
}

// FuzzPackage reads foreign indexes and split units.
func FuzzPackage(f *testing.F) {
	for _, c := range splitCases {
		s := compileSplit(f, c[0], c[1])
		f.Add(s.cu, s.tu, s.split.Info, s.split.Abbrev, s.split.StrOffsets, s.split.RngLists, s.split.Loc, s.split.LocLists,
			s.main.Info, s.main.Abbrev, s.main.Addr, s.main.Ranges)
	}
	f.Fuzz(func(t *testing.T, cu, tu, info, abbrev, offsets, rnglists, loc, loclists, skeleton, skeletonAbbrev, addrs, ranges []byte) {
		str := []byte("main\x00work\x00prog.dwo\x00")
		readSplit(splitParts{
			cu: cu, tu: tu,
			split: dwarf.Sections{Info: info, Types: info, Abbrev: abbrev, Str: str, StrOffsets: offsets, RngLists: rnglists, Loc: loc, LocLists: loclists},
			main:  dwarf.Sections{Info: skeleton, Abbrev: skeletonAbbrev, Str: str, Addr: addrs, Ranges: ranges, RngLists: rnglists},
		})
		readSplit(splitParts{cu: cu, tu: cu, split: dwarf.Sections{Info: info, Abbrev: abbrev, Str: str}, main: dwarf.Sections{Info: skeleton, Abbrev: skeletonAbbrev, Str: str}})
	})
}
