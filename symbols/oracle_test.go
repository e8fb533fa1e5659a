package symbols_test

import (
	"bytes"
	"fmt"
	"os/exec"
	"path"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"hdb/internal/addr"
	"hdb/symbols"
	"hdb/testprogs"
)

// step is a frame as symbolizers print it.
type step struct {
	function string // linkage name where there is one
	file     string // last component
	line     int
}

func (s step) String() string { return fmt.Sprintf("%s %s:%d", s.function, s.file, s.line) }

// ours is the chain that Lookup gives, "??" for what it does not know.
func ours(o interface {
	Lookup(a addr.File) []symbols.Frame
}, a addr.File) []step {
	var chain []step
	for _, f := range o.Lookup(a) {
		name := f.Linkage
		if name == "" {
			name = f.Function
		}
		s := step{name, path.Base(f.File), f.Line}
		if f.File == "" || f.Line == 0 {
			s.file, s.line = "??", 0
		}
		chain = append(chain, s)
	}
	if chain == nil {
		return []step{{"??", "??", 0}}
	}
	return chain
}

// askAddr2line runs GNU or elfutils' addr2line, or llvm-symbolizer in its style.
func askAddr2line(t testing.TB, tool, file string, list []addr.File) [][]step {
	t.Helper()
	args := []string{"-e", file, "-a", "-f", "-i"}
	if tool == "llvm-symbolizer" {
		args = []string{"--output-style=GNU", "--obj=" + file, "-a", "-f", "-i", "--no-demangle"}
	}
	var in bytes.Buffer
	for _, a := range list {
		fmt.Fprintf(&in, "%#x\n", uint64(a))
	}
	cmd := exec.Command(testprogs.Tool(t, tool), args...)
	cmd.Stdin = &in
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil && (tool != "eu-addr2line" || said.Len() > 0) { // which says by 1 that an address has no line
		t.Fatalf("%s: %v %s", tool, err, said.String())
	}
	var chains [][]step
	lines := strings.Split(strings.TrimRight(string(out), "\n"), "\n")
	for i := 0; i < len(lines); {
		if strings.HasPrefix(lines[i], "0x") {
			chains = append(chains, nil)
			i++
			continue
		}
		if i+1 >= len(lines) || len(chains) == 0 {
			break
		}
		chains[len(chains)-1] = append(chains[len(chains)-1], parseStep(lines[i], lines[i+1]))
		i += 2
	}
	if len(chains) != len(list) {
		t.Fatalf("%s answered %d of %d addresses", tool, len(chains), len(list))
	}
	return chains
}

func parseStep(function, place string) step {
	function, _, _ = strings.Cut(function, " inlined at ")
	place, _, _ = strings.Cut(place, " (discriminator")
	file, rest, _ := cutLast(place, ":")
	line, err := strconv.Atoi(rest)
	if err != nil { // eu-addr2line adds the column
		file, rest, _ = cutLast(file, ":")
		line, _ = strconv.Atoi(rest)
	}
	s := step{function, path.Base(file), line}
	if line == 0 || file == "??" {
		s.file, s.line = "??", 0
	}
	return s
}

func cutLast(s, sep string) (before, after string, ok bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+1:], true
}

// sameName compares functions. Tools without a linkage name print the last
// component alone, or ask the symbol table, which knows clones by their suffix
// and glibc's internal aliases.
func sameName(ours, theirs string) bool {
	if ours == theirs || strings.HasSuffix(ours, "::"+cloneSuffix.ReplaceAllString(theirs, "")) {
		return true
	}
	ours, theirs = plain(ours), plain(theirs)
	return ours == theirs
}

var cloneSuffix = regexp.MustCompile(`(\.(constprop|part|isra|lto_priv|cold|llvm)(\.\d+)?)+$`)

func plain(s string) string {
	return strings.TrimLeft(strings.TrimPrefix(cloneSuffix.ReplaceAllString(s, ""), "__GI_"), "_")
}

// difference says how two chains differ, "" when they agree.
func difference(ours, theirs []step) string {
	if len(ours) != len(theirs) {
		return "depth"
	}
	for i := range ours {
		if !sameName(ours[i].function, theirs[i].function) {
			return "function"
		}
		if ours[i].line != theirs[i].line || ours[i].file != theirs[i].file {
			return "line"
		}
	}
	return ""
}

// variants are the programs that all oracles see.
var variants = []string{
	"gcc -g -O0 inline.c",
	"gcc -g -O2 inline.c",
	"gcc -g -O2 -gdwarf-2 -gstrict-dwarf inline.c",
	"gcc -g -O2 -static inline.c",
	"g++ -g -O0 -gdwarf-4 mix.cc",
	"g++ -g -O0 -gdwarf-5 mix.cc",
	"g++ -g -O2 -gdwarf-3 mix.cc",
	"g++ -g -O2 -gdwarf-4 mix.cc",
	"g++ -g -O2 -gdwarf-5 mix.cc",
	"g++ -g -O2 -gdwarf64 mix.cc",
	"g++ -g -O2 -gz=zlib mix.cc",
	"g++ -g -O2 -gz=zlib-gnu mix.cc",
	"g++ -g -O2 -ffunction-sections -Wl,--gc-sections mix.cc",
	"g++ -g -O2 -flto mix.cc",
	"g++ -g -O2 -fdebug-types-section mix.cc",
	"clang++ -g -O0 mix.cc",
	"g++ -O2 -gdwarf-2 -gstrict-dwarf mix.cc",
	"clang++ -g -O2 -gdwarf-4 mix.cc",
	"clang++ -g -O2 -gdwarf-5 mix.cc",
	"clang++ -O2 -gdwarf-2 -gstrict-dwarf mix.cc",
	"rustc -g -C opt-level=0 mix.rs",
	"rustc -g -C opt-level=2 -C symbol-mangling-version=v0 mix.rs",
	"go build mix.go.txt",
}

// llvmErrs tells the known differences from llvm-symbolizer, which is right about
// all lines and chains of these programs.
func llvmErrs(o *symbols.Object, a addr.File, mine, theirs []step) string {
	outer, other := mine[len(mine)-1].function, theirs[len(theirs)-1].function
	switch {
	case strings.HasSuffix(outer, "@plt"):
		return "stubs of the PLT have no symbol: it names the one before"
	case outer == "??" || other == "??":
		return "between functions: symbols with a size do not reach into padding"
	case len(mine) > len(theirs) && strings.Contains(o.File.Path(), "gdwarf-2") && skips(mine, theirs):
		return "of a copy in several pieces, DWARF 2 tells the first: it leaves out copies that lie in the others"
	case len(mine) != len(theirs):
		return ""
	}
	for i := range mine {
		last := i == len(mine)-1
		if mine[i].line != theirs[i].line || mine[i].file != theirs[i].file || !last && !sameName(mine[i].function, theirs[i].function) {
			return ""
		}
	}
	if fn, ok := o.FunctionAt(a); ok && isAlias(o, fn.Low, other) {
		return "another name of the same code (it prefers the symbol table's, whichever comes first)"
	}
	return ""
}

// skips reports whether theirs are mine but for some functions, from the outermost in.
func skips(mine, theirs []step) bool {
	n := len(theirs)
	for i := len(mine) - 1; i >= 0 && n > 0; i-- {
		if sameName(mine[i].function, theirs[n-1].function) {
			n--
		}
	}
	return n == 0
}

// isAlias reports whether a symbol of that name begins at a, of whatever version.
func isAlias(o *symbols.Object, a addr.File, name string) bool {
	name, _, _ = strings.Cut(name, "@")
	for _, s := range o.Symtab.Symbols(name) {
		if s.Addr == a {
			return true
		}
	}
	return false
}

// TestAgainstLLVM compares functions, lines and inlined chains at many addresses
// of programs of all compilers. At least 99.9 % have to agree, besides the known
// errors.
func TestAgainstLLVM(t *testing.T) {
	testprogs.SkipUnderRace(t)
	for i, v := range variants {
		if testing.Short() && i%4 != 1 { // TestBreadth has the likes of the rest
			continue
		}
		t.Run(strings.ReplaceAll(v, " ", "_"), func(t *testing.T) {
			o := open(t, build(t, v), symbols.Config{})
			list := codeAddresses(o, 1000)
			theirs := askAddr2line(t, "llvm-symbolizer", o.File.Path(), list)
			known, bad := map[string]int{}, 0
			for i, a := range list {
				mine := ours(o, a)
				d := difference(mine, theirs[i])
				if d == "" {
					continue
				}
				if reason := llvmErrs(o, a, mine, theirs[i]); reason != "" {
					known[reason]++
					continue
				}
				if bad++; bad <= 5 {
					t.Logf("%s differs at %v:\n  ours   %v\n  theirs %v", d, a, mine, theirs[i])
				}
			}
			if bad*1000 > len(list) {
				t.Errorf("%d of %d differ; known differences: %v", bad, len(list), known)
			}
		})
	}
}
