package symbols_test

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"hdb/internal/addr"
	"hdb/symbols"
)

// breadthErrs explains the differences from other tools that hdb is right about.
func breadthErrs(tool, form string, o *symbols.Object, a addr.File, mine, theirs []step) string {
	if tool == "llvm-symbolizer" {
		return llvmErrs(o, a, mine, theirs)
	}
	outer := theirs[len(theirs)-1].function
	switch {
	case outer == "??" || mine[len(mine)-1].function == "??":
		return "between functions: symbols with a size do not reach into padding"
	case form == "LTO" && mine[0].file == theirs[0].file && mine[0].line == theirs[0].line:
		return "it does not follow abstract origins to other units"
	case len(theirs) != len(mine):
		return ""
	}
	for i := range mine {
		own, _, _ := strings.Cut(theirs[i].function, "<")
		if mine[i].line != theirs[i].line || mine[i].file != theirs[i].file || !sameName(mine[i].function, theirs[i].function) && !strings.Contains(mine[i].function, own) {
			return ""
		}
	}
	return "it prints DW_AT_name where gcc leaves out the linkage name (internal linkage)"
}

// askElfutils is askAddr2line for eu-addr2line, which puts the column behind the line.
func askElfutils(t *testing.T, file string, list []addr.File) [][]step {
	chains := askAddr2line(t, "eu-addr2line", file, list)
	for _, chain := range chains {
		for i, s := range chain {
			if name, line, ok := cutLast(s.file, ":"); ok {
				chain[i].file = name
				chain[i].line, _ = strconv.Atoi(line)
			}
		}
	}
	return chains
}

// TestBreadth compares functions, files, lines and inlined chains at the rows of
// all forms that compilers, linkers and packagers give to DWARF 4 and 5 with those of
// llvm-symbolizer and eu-addr2line. At least 99.9 % have to agree, besides the known
// differences.
func TestBreadth(t *testing.T) {
	for _, compiler := range []string{"g++", "clang++"} {
		for _, version := range []string{"-gdwarf-4", "-gdwarf-5"} {
			flags := []string{"-g", "-O2", version}
			with := func(more ...string) []string { return append(slices.Clone(flags), more...) }
			squeeze := func(form string) func(t *testing.T) string {
				return func(t *testing.T) string {
					prog := copyDir(t, pair(t, compiler, flags...))
					run(t, "objcopy", "--compress-debug-sections="+form, prog)
					return prog
				}
			}
			lto := with("-flto")
			if compiler == "clang++" {
				lto = with("-flto", "-fuse-ld=gold")
			}
			for _, form := range []struct {
				name  string
				build func(t *testing.T) string
			}{
				{"plain", func(t *testing.T) string { return pair(t, compiler, flags...) }},
				{"split", func(t *testing.T) string { return pair(t, compiler, with("-gsplit-dwarf")...) }},
				{"dwp", func(t *testing.T) string {
					prog := copyDir(t, pair(t, compiler, with("-gsplit-dwarf")...))
					runIn(t, filepath.Dir(prog), "llvm-dwp", "-e", "prog", "-o", "prog.dwp")
					removeDwo(t, prog)
					return prog
				}},
				{"zlib", squeeze("zlib-gabi")},
				{"zdebug", squeeze("zlib-gnu")},
				{"zstd", squeeze("zstd")},
				{"dwz", func(t *testing.T) string {
					prog := copyDir(t, pair(t, compiler, flags...))
					run(t, "dwz", prog)
					return prog
				}},
				{"LTO", func(t *testing.T) string { return pair(t, compiler, lto...) }},
				{"function-sections", func(t *testing.T) string {
					return pair(t, compiler, with("-ffunction-sections", "-Wl,--gc-sections")...)
				}},
			} {
				t.Run(compiler+version+"-"+form.name, func(t *testing.T) {
					switch {
					case form.name == "dwp" && compiler == "g++" && version == "-gdwarf-5":
						t.Log("no packager: llvm-dwp 14 never comes to an end, that of binutils 2.40 knows no DWARF 5")
						return
					case form.name == "dwz" && compiler == "clang++" && version == "-gdwarf-5":
						t.Log("dwz 0.15 refuses DW_FORM_strx")
						return
					}
					against(t, form.build(t), form.name, compiler == "g++")
				})
			}
		}
	}
}

// against compares a program with the tools that can read it.
func against(t *testing.T, prog, form string, aranges bool) {
	oracle := prog
	if form == "zstd" || form == "zdebug" { // newer than these tools, or older
		oracle = filepath.Join(t.TempDir(), "prog")
		run(t, "objcopy", "--decompress-debug-sections", prog, oracle)
	}
	list := sampled(rowAddresses(t, oracle), 1500)
	if len(list) < 500 {
		t.Fatalf("%d rows", len(list))
	}
	o := open(t, prog, symbols.Config{DebugDirs: []string{}})
	for _, tool := range []string{"llvm-symbolizer", "eu-addr2line"} {
		var theirs [][]step
		switch {
		case tool == "llvm-symbolizer":
			theirs = askAddr2line(t, tool, oracle, list)
		case !aranges || form == "split" || form == "dwp":
			continue // it finds units by .debug_aranges alone, and knows no copies in split units
		default:
			theirs = askElfutils(t, oracle, list)
		}
		known, bad := map[string]int{}, 0
		for i, a := range list {
			mine := ours(o, a)
			d := difference(mine, theirs[i])
			if d == "" {
				continue
			}
			if reason := breadthErrs(tool, form, o, a, mine, theirs[i]); reason != "" {
				known[reason]++
				continue
			}
			if bad++; bad <= 5 {
				t.Logf("%s: %s differs at %v:\n  ours   %v\n  theirs %v", tool, d, a, mine, theirs[i])
			}
		}
		t.Logf("%s: %d rows, %d differ, known %v", tool, len(list), bad, known)
		if bad*1000 > len(list) {
			t.Errorf("%s: %d of %d differ", tool, bad, len(list))
		}
	}
}
