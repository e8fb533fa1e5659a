package symbols_test

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"hdb/internal/addr"
	"hdb/symbols"
	"hdb/testprogs"
)

var (
	lineSpec   = regexp.MustCompile(`^(\S+\.\w+):(\d+)$`)
	gdbPlace   = regexp.MustCompile(`(?m) y\s+0x([0-9a-f]+) `)
	cppPlaces  = strings.Split("main|grow|ns::Buffer::grow|grow(unsigned long)|ns::Buffer::grow(std::string const&)|Buffer::operator+=|hidden|ns::(anonymous namespace)::hidden|Box<int>::get|Box::get|Box::Box|ns::Box<int>::Box|Box::~Box|as|as<long>|plain|plain(int)|plain(double)|largest|largest<int>|bump|versioned|ns::versioned|ns::Buffer::operator new|Local::f|std::sort|operator()|_Z5plaini|nosuch|mix.cc:1|mix.cc:9|mix.cc:15|mix.cc:20|mix.cc:22|mix.cc:30|mix.cc:33|mix.cc:34|mix.cc:45|mix.cc:46|mix.cc:50|mix.cc:51|nosuch.cc:1", "|")
	cPlaces    = strings.Split("main|work|twice|sq|inline.c:1|inline.c:3|inline.c:5|inline.c:6|inline.c:7|inline.c:8|inline.c:9|inline.c:10|inline.c:11|inline.c:12|inline.c:14|inline.c:15|inline.c:17|inline.c:18", "|")
	goPlaces   = strings.Split("main.main|mix.go:4|mix.go:5|mix.go.nosuch:1", "|")
	rustPlaces = strings.Split("mix::main|mix::Buffer::grow|mix::inner::largest|mix.rs:4|mix.rs:7|mix.rs:8|mix.rs:11|mix.rs:14|mix.rs:15", "|")
)

// gdbPlaces asks gdb for the addresses of breakpoints.
func gdbPlaces(t *testing.T, prog string, specs []string) map[string][]addr.File {
	t.Helper()
	args := []string{"-nx", "-batch", "-ex", "set confirm off", "-ex", "set breakpoint pending off"}
	for _, s := range specs {
		args = append(args, "-ex", "echo @@"+s+"\\n", "-ex", "break "+s, "-ex", "info breakpoints", "-ex", "delete")
	}
	places := map[string][]addr.File{}
	for _, part := range strings.Split(run(t, "gdb", append(args, prog)...), "@@")[1:] {
		spec, rest, _ := strings.Cut(part, "\n")
		for _, m := range gdbPlace.FindAllStringSubmatch(rest, -1) {
			a, _ := strconv.ParseUint(m[1], 16, 64)
			places[spec] = append(places[spec], addr.File(a))
		}
	}
	return places
}

// ourPlaces is the same by FindFunctions and FindLine.
func ourPlaces(o *symbols.Object, spec string) []addr.File {
	var list []addr.File
	if m := lineSpec.FindStringSubmatch(spec); m != nil {
		n, _ := strconv.Atoi(m[2])
		for _, l := range o.Lines.Find(m[1], n) {
			list = append(list, l.Addr)
		}
		return list
	}
	for _, f := range o.FindFunctions(spec) {
		list = append(list, f.Breakpoint)
	}
	return list
}

// gdbErrs are places where we differ from gdb 13, with the reason.
var gdbErrs = map[string]string{
	"rustc -g -C opt-level=0 mix.rs mix::inner::largest": "gdb wants the type arguments of generic functions of Rust",
	"g++ -g -O2 mix.cc mix.cc:15":                        "the line's code is in main.cold, below main: gdb takes that for a prologue and moves the breakpoint to main",
	"clang++ -g -O2 mix.cc largest":                      "prologue_end is at the entry: gdb 13 does not know it and passes the first instruction",
	"clang++ -g -O2 mix.cc largest<int>":                 "prologue_end",
	"clang++ -g -O2 mix.cc versioned":                    "prologue_end",
	"clang++ -g -O2 mix.cc mix.cc:33":                    "prologue_end",
	"clang++ -g -O2 mix.cc mix.cc:30":                    "prologue_end",
	"clang++ -g -O2 mix.cc main":                         "prologue_end is in a header's line, behind the prologue: gdb 13 stops at the entry",
	"clang++ -g -O2 mix.cc mix.cc:34":                    "prologue_end",
	"g++ -g -O2 mix.cc mix.cc:1":                         "",
}

func TestBreakpointsAgainstGDB(t *testing.T) {
	testprogs.SkipUnderRace(t)
	for i, c := range []struct {
		build string
		specs []string
	}{
		{"gcc -g -O0 inline.c", cPlaces},
		{"gcc -g -O2 inline.c", cPlaces},
		{"gcc -g -O1 -fno-omit-frame-pointer inline.c", cPlaces},
		{"gcc -O1 -fno-omit-frame-pointer inline.c", []string{"main", "work"}},
		{"g++ -g -O0 mix.cc", cppPlaces},
		{"g++ -g -O2 mix.cc", cppPlaces},
		{"g++ -g -O2 -flto mix.cc", cppPlaces},
		{"clang++ -g -O0 mix.cc", cppPlaces},
		{"clang++ -g -O2 mix.cc", cppPlaces},
		{"rustc -g -C opt-level=0 mix.rs", rustPlaces},
		{"go build mix.go.txt", goPlaces},
	} {
		if testing.Short() && i%2 == 0 && !strings.HasPrefix(c.build, "go ") { // each compiler has one left
			continue
		}
		t.Run(strings.ReplaceAll(c.build, " ", "_"), func(t *testing.T) {
			o := open(t, build(t, c.build), symbols.Config{})
			theirs := gdbPlaces(t, o.File.Path(), c.specs)
			for _, s := range c.specs {
				mine := ourPlaces(o, s)
				slices.Sort(mine)
				want := theirs[s]
				slices.Sort(want)
				if mine, want = slices.Compact(mine), slices.Compact(want); slices.Equal(mine, want) {
					continue
				}
				if _, known := gdbErrs[c.build+" "+s]; !known {
					t.Errorf("break %s: ours %v, gdb's %v", s, mine, want)
				}
			}
		})
	}
}
