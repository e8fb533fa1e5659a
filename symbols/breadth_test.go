package symbols_test

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"hdb/internal/addr"
	"hdb/symbols"
)

// breadthErrs explains the differences from other tools that hdb is right about.
func breadthErrs(tool string, c combo, form string, o *symbols.Object, a addr.File, mine, theirs []step) string {
	outer, other := mine[len(mine)-1].function, theirs[len(theirs)-1].function
	if c.compiler == "go" {
		switch {
		case tool == "go tool addr2line" && other == "?":
			return "what C linked to the program is not in the table of the runtime"
		case strings.HasPrefix(form, "stripped") && other == outer+".abi0" && difference(mine[:len(mine)-1], theirs[:len(theirs)-1]) == "":
			return "the symbol table of the whole program names the calling convention, too"
		}
	}
	if tool == "llvm-symbolizer" {
		if why := llvmErrs(o, a, mine, theirs); why != "" || form != "debuglink" {
			return why
		}
	}
	switch {
	case other == "??" || outer == "??":
		return "between functions: symbols with a size do not reach into padding"
	case strings.Contains(form, "LTO") && mine[0].file == theirs[0].file && mine[0].line == theirs[0].line:
		return "it does not follow abstract origins to other units"
	case len(mine) > 1 && difference(ends(mine), theirs) == "" && scoped.MatchString(outer):
		return "it finds no copies in functions that are described inside of a namespace, as clang and rustc do, or of a function (lambdas)"
	case len(theirs) != len(mine):
		return ""
	}
	renamed := false
	for i := range mine {
		own, _, _ := strings.Cut(theirs[i].function, "<")
		if mine[i].line != theirs[i].line || mine[i].file != theirs[i].file {
			return ""
		}
		if !sameName(mine[i].function, theirs[i].function) && !strings.Contains(symbols.Demangle(mine[i].function), own) {
			renamed = true
		}
	}
	if !renamed {
		// llvm-symbolizer does where the symbol table is in the debug file.
		return "it prints DW_AT_name where gcc leaves out the linkage name (internal linkage)"
	}
	if fn, ok := o.FunctionAt(a); ok && isAlias(o, fn.Low, other) {
		return "another name of the same code (it prefers the symbol table's, whichever comes first)"
	}
	return ""
}

// scoped are linkage names of functions in namespaces, modules or functions.
var scoped = regexp.MustCompile(`^_ZZ?N|^_ZZ|^_ZSt|^_R`)

// askElfutils is askAddr2line for eu-addr2line, which puts the column behind the line.
func askElfutils(t *testing.T, file string, list []addr.File) [][]step {
	chains := askAddr2line(t, "eu-addr2line", file, list)
	for _, chain := range chains {
		for i, s := range chain {
			if name, line, ok := cutLast(s.file, ":"); ok {
				chain[i].file = name
				chain[i].line, _ = strconv.Atoi(line)
			}
			if chain[i].line == 0 {
				chain[i].file = "??"
			}
		}
	}
	return chains
}

// askGo is go tool addr2line, which reads the table of the runtime and says the place
// of the innermost function and the name of the outermost.
func askGo(t *testing.T, file string, list []addr.File) [][]step {
	var in strings.Builder
	for _, a := range list {
		fmt.Fprintf(&in, "%#x\n", uint64(a))
	}
	lines := strings.Split(runWith(t, in.String(), "go", "tool", "addr2line", file), "\n")
	var chains [][]step
	for i := 0; i+1 < len(lines); i += 2 {
		chains = append(chains, []step{parseStep(lines[i], lines[i+1])})
	}
	if len(chains) != len(list) {
		t.Fatalf("go tool addr2line answered %d of %d addresses", len(chains), len(list))
	}
	return chains
}

// ends is a chain as a tool sees it that knows no inlined functions.
func ends(chain []step) []step {
	return []step{{chain[len(chain)-1].function, chain[0].file, chain[0].line}}
}

// bare leaves out files and lines of functions.
func bare(chain []step) []step { return []step{{chain[len(chain)-1].function, "??", 0}} }

// TestBreadth compares functions, files, lines and inlined chains at the rows of
// all forms that compilers, linkers and packagers give to DWARF 4 and 5 with those of
// other tools. At least 99.9 % have to agree, besides the known differences. With
// -short each form and each compiler has a part.
func TestBreadth(t *testing.T) {
	for _, c := range combos {
		for _, f := range forms {
			if testing.Short() && !slices.Contains(f.short, c.String()) {
				continue
			}
			t.Run(strings.ReplaceAll(c.String()+" "+f.name, " ", "-"), func(t *testing.T) {
				if why := nothing(t, c, f.name); why != "" {
					t.Log("nothing to compare: " + why)
					return
				}
				t.Parallel()
				against(t, f.build(t, c), c, f)
			})
		}
	}
}

// against compares a program with the tools that can read it.
func against(t *testing.T, prog string, c combo, f form) {
	whole := prog
	switch {
	case f.name == "stripped" && c.cpp() || f.name == "stripped" && c.compiler == "rustc":
		whole = c.build(t, exported(c)...)
	case f.name == "stripped PIE of another linker":
		whole = c.build(t, "-buildmode=pie", "-ldflags=-linkmode=external")
	case f.names || f.name == "debuglink":
		whole = c.build(t)
	}
	oracle := prog
	switch f.name {
	case "zstd", "zdebug": // newer than these tools, or older
		oracle = filepath.Join(t.TempDir(), "prog")
		run(t, "objcopy", "--decompress-debug-sections", prog, oracle)
		whole = oracle
	case "split LTO with references": // llvm-symbolizer 14 crashes
		oracle = c.build(t, "-flto")
	}
	o := open(t, prog, symbols.Config{DebugDirs: []string{}})
	list := slices.DeleteFunc(ownRows(t, whole, c.compiler == "rustc" || f.name == "dwp of rustc"), func(a addr.File) bool { // rows of functions that the linker left out
		return !slices.ContainsFunc(o.File.Segments(), func(s symbols.Segment) bool { return s.Exec && s.Contains(a) })
	})
	list = sampled(list, 1500)
	if len(list) < 500 {
		t.Fatalf("%d rows", len(list))
	}
	if testing.Short() {
		list = sampled(list, 250)
	}
	split := strings.Contains(f.name, "split") || strings.HasPrefix(f.name, "dwp")
	same := func(chain []step) []step { return chain }
	mine := make([][]step, len(list))
	for i, a := range list {
		mine[i] = ours(o, a)
	}
	compare := func(tool string, theirs [][]step, seen func([]step) []step) {
		t.Helper()
		agree(t, tool, c, f, o, list, mine, theirs, seen)
	}
	switch {
	case c.compiler == "go" && f.names:
		table := prog
		if strings.HasPrefix(f.name, "stripped PIE") { // it takes where .text begins for where Go's code begins
			table = whole
		}
		compare("go tool addr2line", askGo(t, table, list), ends)
		compare("llvm-symbolizer", askAddr2line(t, "llvm-symbolizer", whole, list), same) // what was there before
	case c.compiler == "go":
		compare("llvm-symbolizer", askAddr2line(t, "llvm-symbolizer", oracle, list), same)
		compare("go tool addr2line", askGo(t, oracle, list), ends)
	case f.name == "MiniDebugInfo":
		compare("eu-addr2line", askElfutils(t, prog, list), bare)
		compare("llvm-symbolizer", askAddr2line(t, "llvm-symbolizer", whole, list), bare)
	case f.names:
		compare("llvm-symbolizer", askAddr2line(t, "llvm-symbolizer", prog, list), bare)
		compare("eu-addr2line", askElfutils(t, prog, list), bare)
	case split:
		compare("llvm-symbolizer", askAddr2line(t, "llvm-symbolizer", oracle, list), same)
		if c.compiler == "rustc" && rustMinor(t) < 88 {
			t.Log("nothing for eu-addr2line: LLVM wrote no .debug_aranges for skeletons")
			return
		}
		compare("eu-addr2line", askElfutils(t, oracle, list), ends) // it knows no copies in split units
	default:
		compare("llvm-symbolizer", askAddr2line(t, "llvm-symbolizer", oracle, list), same)
		compare("eu-addr2line", askElfutils(t, oracle, list), same)
	}
}

// agree compares the chains at addresses with those of a tool, as far as both see them.
// At most one in a thousand may differ without a reason.
func agree(t *testing.T, tool string, c combo, f form, o *symbols.Object, list []addr.File, ours, theirs [][]step, seen func([]step) []step) {
	t.Helper()
	known, bad := map[string]int{}, 0
	for i, a := range list {
		mine, other := seen(ours[i]), seen(theirs[i])
		d := difference(mine, other)
		if d == "" {
			continue
		}
		if reason := breadthErrs(tool, c, f.name, o, a, mine, other); reason != "" {
			known[reason]++
			continue
		}
		if bad++; bad <= 5 {
			t.Logf("%s: %s differs at %v:\n  ours   %v\n  theirs %v", tool, d, a, mine, other)
		}
	}
	t.Logf("%s: %d addresses, %d differ, known %v", tool, len(list), bad, known)
	if bad*1000 > len(list) {
		t.Errorf("%s: %d of %d differ", tool, bad, len(list))
	}
}

// ownRows are the rows of all tables, or of those of the program's own sources: of a
// program of Rust most are of its standard library.
func ownRows(t testing.TB, prog string, own bool) []addr.File {
	t.Helper()
	if !own {
		return rowAddresses(t, prog)
	}
	var list []addr.File
	for _, table := range strings.Split(run(t, "llvm-dwarfdump", "--debug-line", prog), "debug_line[")[1:] {
		if ownTable.MatchString(table) {
			list = append(list, tableRows(t, table)...)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

var ownTable = regexp.MustCompile(`name: "[^"]*(more\.rs|more\.cc|mix\.cc)"`)
