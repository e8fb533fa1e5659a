package values_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"hdb/testprogs"
)

// returned are programs whose functions f01, f02 ... return values of all shapes, and
// how they are built. testdata/SOURCE.want has the values, by the source; gdb is held to
// them, too, but for those that it does not tell or tells wrong.
var returned = []struct {
	source, prefix string
	builds         [][]string // the first is that of the small form
	gdb            map[string]string
}{
	{"returns.c", "", [][]string{{"gcc", "-O2"}, {"gcc", "-O0", "-gdwarf-4"}, {"clang", "-O0"}, {"clang", "-O2", "-gdwarf-4"}}, map[string]string{
		"f18": "gdb 13 takes the lower half alone",
		"f39": "gdb 13 takes the lower half alone",
		"f40": "gdb 13 takes the lower half alone",
		"f41": "gdb 13 takes the lower half alone",
		"f43": "gdb has another of the function's names",
		"f44": "gdb 13 fails in an assertion",
	}},
	{"returns.cc", "", [][]string{{"g++", "-std=c++17", "-O0"}, {"g++", "-std=c++17", "-O2", "-gdwarf-4"}, {"g++", "-std=c++17", "-O1", "-fdebug-types-section"}, {"clang++", "-std=c++17", "-O0"}, {"clang++", "-std=c++17", "-O2", "-gdwarf-4"}}, map[string]string{
		"f05": "gdb 13 does not know of a class that can only be moved",
		"f08": "gdb's printers have no private members of clang's",
		"f09": "gdb's printers have no private members of clang's",
	}},
	{"returns.rs", "returns::", [][]string{{"rustc", "-C", "opt-level=0"}, {"rustc", "-C", "opt-level=2"}}, nil},
}

// TestReturned finishes functions and compares the values that they returned.
func TestReturned(t *testing.T) {
	dir := t.TempDir()
	for _, c := range returned {
		text, err := os.ReadFile(filepath.Join("testdata", c.source+".want"))
		if err != nil {
			t.Fatal(err)
		}
		want := map[string]string{}
		var names []string
		for line := range strings.Lines(string(text)) {
			name, v, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
			want[name], names = v, append(names, name)
		}
		if testing.Short() {
			c.builds = c.builds[:1]
		}
		for i, build := range c.builds {
			t.Run(strings.Join(build, " ")+" "+c.source, func(t *testing.T) {
				prog := filepath.Join(dir, fmt.Sprint(c.source, i))
				args := append(build[1:], "-g", filepath.Join("testdata", c.source), "-o", prog)
				if out, err := exec.Command(build[0], args...).CombinedOutput(); err != nil {
					t.Fatalf("%v: %v\n%s", args, err, out)
				}
				debuggers := map[string][]string{"hdb": {testprogs.HDB(t), "-nx", "-batch"}}
				if !testing.Short() && c.source != "returns.rs" { // gdb takes Rust's convention for C's
					debuggers["gdb"] = []string{"gdb", "-nx", "-batch", "-iex", "set auto-load safe-path /", "-iex", "set style enabled off"}
				}
				for who, debugger := range debuggers {
					asked := slices.DeleteFunc(slices.Clone(names), func(n string) bool { return who == "gdb" && c.gdb[n] != "" })
					got := finished(debugger, prog, c.prefix, asked)
					if len(got) < len(names)*4/5 {
						t.Errorf("%s finished %d functions of %d", who, len(got), len(names))
					}
					for _, n := range asked {
						if _, ok := got[n]; !ok && build[0] == "rustc" {
							continue // LLVM merges functions with the same code
						}
						if got[n] != want[n] {
							t.Errorf("%s: %s returned\n     %s\nwant %s", who, n, got[n], want[n])
						}
					}
				}
			})
		}
	}
}

var (
	returnedValue = regexp.MustCompile(`(?m)^[vV]alue returned is \$\d+ = (.*)$`)
	finishedIn    = regexp.MustCompile(`(?m)^#\d .*\b(f\d\d)\b`)
	anyAddress    = regexp.MustCompile(`0x[0-9a-f]{6,}`)
)

// finished are the values that a debugger tells at the end of functions.
func finished(debugger []string, prog, prefix string, names []string) map[string]string {
	args := debugger[1:]
	for _, n := range names {
		args = append(args, "-ex", "tbreak "+prefix+n)
	}
	args = append(args, "-ex", "run")
	for range names {
		args = append(args, "-ex", `echo @@\n`, "-ex", "frame", "-ex", "finish", "-ex", `echo ##\n`, "-ex", "continue")
	}
	cmd := exec.Command(debugger[0], append(args, prog)...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"), "TERM=dumb", "LC_ALL=C"}
	out, _ := cmd.Output() // the exit code is that of the last command
	values := map[string]string{}
	for _, part := range strings.Split(string(out), "@@")[1:] {
		part, _, _ = strings.Cut(part, "##")
		name := finishedIn.FindStringSubmatch(part)
		if name == nil {
			continue
		}
		values[name[1]] = "nothing"
		if m := returnedValue.FindStringSubmatch(part); m != nil {
			values[name[1]] = strings.ReplaceAll(anyAddress.ReplaceAllString(m[1], "ADDR"), "_vptr$", "_vptr.") // clang's name
		}
	}
	return values
}
