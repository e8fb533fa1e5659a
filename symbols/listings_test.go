package symbols_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"hdb/symbols"
	"hdb/testprogs"
)

// TestLineRowsAsGdb asks gdb's `info line` for every line of a program: the first
// place that it names is among ours, which are all that the line has.
func TestLineRowsAsGdb(t *testing.T) {
	testprogs.SkipUnderRace(t)
	for _, tc := range []struct{ source, flags string }{{"mix.cc", "-O0"}, {"mix.cc", "-O2"}, {"inline.c", "-O2"}} {
		if testing.Short() && tc.flags == "-O0" {
			continue // its tables are the simplest, and gdb takes seconds for each
		}
		t.Run(tc.source+tc.flags, func(t *testing.T) {
			dir := t.TempDir()
			src, err := filepath.Abs(filepath.Join("testdata", tc.source))
			if err != nil {
				t.Fatal(err)
			}
			prog := filepath.Join(dir, "prog")
			run(t, "g++", "-x", map[string]string{".c": "c", ".cc": "c++"}[filepath.Ext(src)], "-g", "-no-pie", tc.flags, src, "-o", prog)
			o, err := symbols.Open(prog, symbols.Config{})
			if err != nil {
				t.Fatal(err)
			}
			defer o.Close()
			args := []string{"-q", "-batch", "-nx"}
			const lines = 60
			for n := 1; n <= lines; n++ {
				args = append(args, "-ex", fmt.Sprintf("echo \\n%d: ", n), "-ex", fmt.Sprintf("info line %s:%d", tc.source, n))
			}
			checked := 0
			for answer := range strings.SplitSeq(run(t, "gdb", append(args, prog)...), "\n") {
				found := regexp.MustCompile(`^(\d+): ?Line (\d+) of .* starts at address (0x[0-9a-f]+)`).FindStringSubmatch(answer)
				if found == nil || found[1] != found[2] {
					continue
				}
				checked++
				var n int
				fmt.Sscan(found[1], &n)
				rows := o.Lines.Rows(tc.source, n)
				var have []string
				for _, r := range rows {
					if r.Line == n {
						have = append(have, fmt.Sprintf("%#x", uint64(r.Addr)))
					}
				}
				if !strings.Contains(strings.Join(have, " ")+" ", found[3]+" ") {
					t.Errorf("line %d: gdb says %s, hdb %v", n, found[3], have)
				}
			}
			if checked < 5 {
				t.Errorf("gdb knows %d lines with code", checked)
			}
		})
	}
}

func TestUnitInfoAndGlobals(t *testing.T) {
	prog := filepath.Join(t.TempDir(), "prog")
	src, err := filepath.Abs("testdata/inline.c")
	if err != nil {
		t.Fatal(err)
	}
	run(t, "gcc", "-g", "-O1", src, "-o", prog)
	o, err := symbols.Open(prog, symbols.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	main, ok := o.Symtab.Symbol("main")
	if !ok {
		t.Fatal("no main")
	}
	u, ok := o.DWARF.UnitInfoAt(main.Addr)
	dir, _ := filepath.Abs(".")
	if !ok || u.Name != src || u.CompDir != dir || !strings.HasPrefix(u.Producer, "GNU C") || !strings.Contains(u.Producer, "-O1") || u.Version < 4 || u.Language.String() != "c" {
		t.Errorf("unit %+v, %v", u, ok)
	}
	types := o.DWARF.MatchTypes(regexp.MustCompile("^int$"), toTheEnd)
	if len(types) != 1 || types[0].Kind != "base" || types[0].Size != 4 {
		t.Errorf("types %+v", types)
	}
	vars := o.MatchVariables(regexp.MustCompile("^_IO_stdin_used$"), toTheEnd)
	if len(vars) != 1 || vars[0].Addr == 0 || vars[0].From != symbols.FromSymtab {
		t.Errorf("variables %+v", vars)
	}
}

func TestMatchesName(t *testing.T) {
	for _, tc := range []struct {
		want, function, linkage string
		same                    bool
	}{
		{"fill", "shop::fill(shop::Buffer<long>&, int)", "_ZN4shop4fillERNS_6BufferIlEEi", true},
		{"shop::fill", "shop::fill(shop::Buffer<long>&, int)", "_ZN4shop4fillERNS_6BufferIlEEi", true},
		{"other::fill", "shop::fill(shop::Buffer<long>&, int)", "_ZN4shop4fillERNS_6BufferIlEEi", false},
		{"Ring<double, 16>::push", "geo::Ring<double, 16u>::push(double const&)", "_ZN3geo4RingIdLj16EE4pushERKd", true},
		{"geo::Ring<double,16U>::push", "geo::Ring<double, 16u>::push(double const&)", "_ZN3geo4RingIdLj16EE4pushERKd", true},
		{"Ring<double, 17>::push", "geo::Ring<double, 16u>::push(double const&)", "_ZN3geo4RingIdLj16EE4pushERKd", false},
		{"main", "main", "", true},
		{"ain", "main", "", false},
		{"", "main", "", false},
		{"Grow", "main.(*T).Grow", "", true},
	} {
		if got := symbols.MatchesName(tc.want, tc.function, tc.linkage); got != tc.same {
			t.Errorf("%q, %q: %v", tc.want, tc.function, got)
		}
	}
}

// TestDeclarationsOfClang has declarations in file 0, which DWARF 5 counts from, and
// addresses by their index.
func TestDeclarationsOfClang(t *testing.T) {
	dir := t.TempDir()
	src, prog := filepath.Join(dir, "state.c"), filepath.Join(dir, "state")
	if err := os.WriteFile(src, []byte("enum kind { ONE };\nstatic int counter = 3;\nint next(enum kind k)\n{\n\treturn counter += k;\n}\nint main(void)\n{\n\treturn next(ONE);\n}\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, version := range []string{"4", "5"} {
		run(t, "clang", "-g", "-gdwarf-"+version, "-O1", src, "-o", prog)
		o, err := symbols.Open(prog, symbols.Config{})
		if err != nil {
			t.Fatal(err)
		}
		defer o.Close()
		vars := o.MatchVariables(regexp.MustCompile("^counter$"), toTheEnd)
		if len(vars) != 1 || vars[0].File != src || vars[0].Line != 2 || vars[0].Addr == 0 {
			t.Errorf("DWARF %s: variables %+v", version, vars)
		}
		if types := o.DWARF.MatchTypes(regexp.MustCompile("^kind$"), toTheEnd); len(types) != 1 || types[0].File != src || types[0].Line != 1 {
			t.Errorf("DWARF %s: types %+v", version, types)
		}
		if fns := o.FindFunctions("next"); len(fns) == 0 || fns[0].DeclFile != src || fns[0].DeclLine != 3 {
			t.Errorf("DWARF %s: functions %+v", version, fns)
		}
	}
}
