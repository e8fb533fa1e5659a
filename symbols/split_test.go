package symbols_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"hdb/internal/addr"
	"hdb/symbols"
	"hdb/testprogs"
)

// pair builds mix.cc and more.cc to a program in a directory of its own, compiled
// apart, as object files that say where their .dwo files are.
func pair(t testing.TB, compiler string, flags ...string) string {
	t.Helper()
	return made(t, "pair "+compiler+" "+strings.Join(flags, " "), func() string {
		dir, err := os.MkdirTemp(builds.dir, "pair")
		if err != nil {
			t.Fatal(err)
		}
		link := append(slices.Clone(flags), "-o", filepath.Join(dir, "prog"))
		for _, source := range []string{"mix.cc", "more.cc"} {
			copyTo(t, filepath.Join("testdata", source), filepath.Join(dir, source))
			object := strings.TrimSuffix(source, ".cc") + ".o"
			runIn(t, dir, compiler, append(slices.Clone(flags), "-c", source, "-o", object)...)
			link = append(link, object)
		}
		runIn(t, dir, compiler, link...)
		return filepath.Join(dir, "prog")
	})
}

// copyTo copies a source.
func copyTo(t testing.TB, from, to string) {
	t.Helper()
	text, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, text, 0o644); err != nil {
		t.Fatal(err)
	}
}

// runIn is run in a directory.
func runIn(t testing.TB, dir, tool string, args ...string) {
	t.Helper()
	ctx, cancel := testprogs.Context(t)
	defer cancel()
	cmd := exec.CommandContext(ctx, testprogs.Tool(t, tool), args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "RUSTC_BOOTSTRAP=1") // flags that became stable later
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s %s: %v\n%s", tool, strings.Join(args, " "), err, out)
	}
}

// copyDir copies a program with all files beside it.
func copyDir(t testing.TB, prog string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "copy")
	if err := os.CopyFS(dir, os.DirFS(filepath.Dir(prog))); err != nil {
		t.Fatal(err)
	}
	copied := filepath.Join(dir, "prog")
	if err := os.Chmod(copied, 0o755); err != nil {
		t.Fatal(err)
	}
	return copied
}

func removeDwo(t testing.TB, prog string) {
	t.Helper()
	list, err := filepath.Glob(filepath.Join(filepath.Dir(prog), "*.dwo"))
	if err != nil || len(list) == 0 {
		t.Fatalf("no .dwo files beside %s: %v", prog, err)
	}
	for _, p := range list {
		if err := os.Remove(p); err != nil {
			t.Fatal(err)
		}
	}
}

// rowAddresses lists the address of each row that ends no sequence, by llvm-dwarfdump.
func rowAddresses(t testing.TB, prog string) []addr.File {
	t.Helper()
	list := tableRows(t, run(t, "llvm-dwarfdump", "--debug-line", prog))
	slices.Sort(list)
	return slices.Compact(list)
}

// tableRows are the addresses in what llvm-dwarfdump prints of tables.
func tableRows(t testing.TB, dump string) (list []addr.File) {
	t.Helper()
	for _, m := range dumpedRow.FindAllStringSubmatch(dump, -1) {
		a, err := strconv.ParseUint(m[1], 16, 64)
		if err != nil {
			t.Fatal(err)
		}
		if a > 0x100 && !strings.Contains(m[2], "end_sequence") {
			list = append(list, addr.File(a))
		}
	}
	return list
}

var dumpedRow = regexp.MustCompile(`(?m)^0x([0-9a-f]{16})(.*)$`)

// sampled is the first address that is not below n of the list, at least, spread evenly.
func sampled(list []addr.File, n int) []addr.File {
	if len(list) <= n {
		return list
	}
	var out []addr.File
	for i := range n {
		out = append(out, list[i*len(list)/n])
	}
	return out
}

// plainOf is what is seen of a lookup, to compare objects.
func plainOf(o *symbols.Object, a addr.File) string { return fmt.Sprint(ours(o, a)) }

var splitVariants = []struct {
	compiler string
	flags    []string
	short    bool // also with -short
}{
	{"g++", []string{"-g", "-O2", "-gdwarf-4"}, false},
	{"g++", []string{"-g", "-O2", "-gdwarf-5"}, true},
	{"g++", []string{"-g", "-O0", "-gdwarf-4"}, false},
	{"g++", []string{"-g", "-O0", "-gdwarf-5"}, false},
	{"g++", []string{"-g", "-O2", "-gdwarf-4", "-fdebug-types-section"}, false}, // TestSplitPlaces has type units
	{"g++", []string{"-g", "-O2", "-gdwarf-5", "-fdebug-types-section"}, false},
	{"clang++", []string{"-g", "-O2", "-gdwarf-4"}, false},
	{"clang++", []string{"-g", "-O2", "-gdwarf-5"}, false},
	{"clang++", []string{"-g", "-O0", "-gdwarf-5"}, false},
	{"clang++", []string{"-g", "-O2", "-gdwarf-4", "-fdebug-types-section"}, false},
	{"clang++", []string{"-g", "-O2", "-gdwarf-5", "-fdebug-types-section"}, false}, // TestSplitPlaces has it
	{"clang++", []string{"-g", "-O2", "-gdwarf-5", "-ffunction-sections"}, false},
}

// TestSplitDWARF expects the same answers whether entries are in the program, in
// .dwo files, in those moved beside the program, or in a package.
func TestSplitDWARF(t *testing.T) {
	for _, v := range splitVariants {
		if testing.Short() && !v.short {
			continue
		}
		t.Run(v.compiler+strings.Join(v.flags, ""), func(t *testing.T) {
			t.Parallel()
			whole := open(t, pair(t, v.compiler, v.flags...), symbols.Config{})
			prog := pair(t, v.compiler, append(slices.Clone(v.flags), "-gsplit-dwarf")...)
			list := rowAddresses(t, whole.File.Path())
			if len(list) < 500 {
				t.Fatalf("%d rows", len(list))
			}
			same := func(name, path string) {
				t.Helper()
				o := open(t, path, symbols.Config{DebugDirs: []string{}})
				bad := 0
				for _, a := range list {
					if got, want := plainOf(o, a), plainOf(whole, a); got != want {
						if bad++; bad <= 3 {
							t.Errorf("%s: %v:\n%s\nwhole\n%s", name, a, got, want)
						}
					}
				}
				if bad > 0 {
					t.Errorf("%s: %d of %d differ", name, bad, len(list))
				}
				for _, f := range []string{"main", "grow", "checked", "more::fill", "Counter::next", "half", "std::sort"} {
					if got, want := places(o, f), places(whole, f); !slices.Equal(got, want) {
						t.Errorf("%s: %s at %v, whole at %v", name, f, got, want)
					}
				}
				if i := o.Info(); i.MissingDwo != 0 || i.FirstDwo != "" || i.Split != 2 || i.Units != 2 || i.Debug != symbols.DebugDWARF || !slices.Equal(i.Languages, []string{"c++"}) {
					t.Errorf("%s: info %+v", name, i)
				}
			}
			same("where it was compiled", prog)
			moved := copyDir(t, prog)
			hide(t, prog, func() { same("beside the program", moved) })
			if v.compiler != "g++" || slices.Contains(v.flags, "-gdwarf-4") && !slices.Contains(v.flags, "-fdebug-types-section") {
				packed := copyDir(t, moved)
				runIn(t, filepath.Dir(packed), "llvm-dwp", "-e", "prog", "-o", "prog.dwp")
				removeDwo(t, packed)
				hide(t, prog, func() { same("package", packed) })
			} // llvm-dwp 14 never comes to an end with gcc's DWARF 5 and type units
			if slices.Contains(v.flags, "-gdwarf-4") { // binutils 2.40 knows no other version
				packed := copyDir(t, moved)
				runIn(t, filepath.Dir(packed), "dwp", "-e", "prog", "-o", "prog.dwp")
				removeDwo(t, packed)
				hide(t, prog, func() { same("package of binutils", packed) })
			}
		})
	}
}

// hide runs fn while the program's folder has another name.
func hide(t testing.TB, prog string, fn func()) {
	t.Helper()
	dir := filepath.Dir(prog)
	if err := os.Rename(dir, dir+".hidden"); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := os.Rename(dir+".hidden", dir); err != nil {
			t.Fatal(err)
		}
	}()
	fn()
}

func places(o *symbols.Object, name string) (list []addr.File) {
	for _, f := range o.FindFunctions(name) {
		list = append(list, f.Breakpoint)
	}
	return list
}

// TestMissingDwo expects symbols and lines, nothing made up, and the names of what
// is missing; and no .dwo file of another build.
func TestMissingDwo(t *testing.T) {
	testprogs.SkipUnderRace(t)
	for _, flags := range [][]string{{"-g", "-O2", "-gdwarf-4", "-gsplit-dwarf"}, {"-g", "-O2", "-gdwarf-5", "-gsplit-dwarf"}} {
		if testing.Short() && slices.Contains(flags, "-gdwarf-4") {
			continue
		}
		prog := pair(t, "g++", flags...)
		moved := copyDir(t, prog)
		dir := filepath.Dir(moved)
		other := filepath.Dir(pair(t, "g++", append(slices.Clone(flags), "-fno-inline")...))
		for _, c := range []struct {
			name    string
			prepare func()
			missing int
		}{
			{"one", func() { os.Remove(filepath.Join(dir, "more.dwo")) }, 1},
			{"another build's", func() { run(t, "cp", filepath.Join(other, "more.dwo"), dir) }, 0},
			{"cut", func() { os.Truncate(filepath.Join(dir, "more.dwo"), 300) }, 0},
			{"all", func() { removeDwo(t, moved) }, 2},
		} {
			c.prepare()
			hide(t, prog, func() {
				o := open(t, moved, symbols.Config{DebugDirs: []string{}})
				list := o.FindFunctions("more::checked")
				if len(list) == 0 || list[0].Source != symbols.FromSymtab {
					t.Fatalf("%v, %s: %+v", flags, c.name, list)
				}
				f := o.Lookup(list[0].Low)
				if len(f) != 1 || !strings.HasPrefix(f[0].Function, "more::checked(") || filepath.Base(f[0].File) != "more.cc" || f[0].Line == 0 {
					t.Errorf("%v, %s: %+v", flags, c.name, f)
				}
				if len(o.Lines.Find("more.cc", 34)) == 0 {
					t.Errorf("%v, %s: no code for line 34", flags, c.name)
				}
				i := o.Info()
				if i.Split != 2 || i.MissingDwo != c.missing || (c.missing > 0) != (i.FirstDwo != "") {
					t.Errorf("%v, %s: %d of %d missing, first %q", flags, c.name, i.MissingDwo, i.Split, i.FirstDwo)
				}
			})
		}
	}
}
