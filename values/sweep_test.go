package values_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"hdb/testprogs"
)

// entryReason is that of main's arguments and others that only a caller knows.
const entryReason = "the call goes through a pointer, at which gdb 13 gives up; hdb asks the call site whether the pointer is this function"

// sweeps are programs of optimized code that are stopped at all their lines, and the
// variables that may differ, with the reason.
var sweeps = []struct {
	source, compiler string
	differs          map[string]string
}{
	{"moved.c", "gcc", map[string]string{"argc": entryReason, "argv": entryReason, "n": entryReason, "k": "it is computed from n"}},
	{"vectors.c", "gcc", nil},
	{"vectors.c", "clang", nil},
	{"plain.c", "gcc", map[string]string{"argc": entryReason, "argv": entryReason, "fl": constReason, "i128": constReason}},
}

var lineTableRow = regexp.MustCompile(`(?m)^\S*\.c\s+[1-9]\d*\s+(0x[0-9a-f]+)`)

// TestSweepAgainstGDB compares the variables at each address that begins a line.
func TestSweepAgainstGDB(t *testing.T) {
	for _, s := range sweeps {
		if testing.Short() && s.source != "vectors.c" {
			continue
		}
		t.Run(s.compiler+" "+s.source, func(t *testing.T) {
			prog := filepath.Join(t.TempDir(), "swept")
			build := exec.Command(s.compiler, "-g", "-O2", "-no-pie", filepath.Join("testdata", s.source), "-o", prog)
			if out, err := build.CombinedOutput(); err != nil {
				t.Fatalf("%v: %v\n%s", build.Args, err, out)
			}
			table, err := exec.Command("readelf", "--debug-dump=decodedline", prog).Output()
			if err != nil {
				t.Fatal(err)
			}
			var at []string
			for _, m := range lineTableRow.FindAllStringSubmatch(string(table), -1) {
				at = append(at, m[1])
			}
			slices.Sort(at)
			at = slices.Compact(at)
			if len(at) < 10 {
				t.Fatalf("%d addresses of lines", len(at))
			}
			want := sweep([]string{"gdb", "-nx", "-batch", "-iex", "set auto-load safe-path /", "-iex", "set style enabled off"}, prog, at)
			got := sweep([]string{testprogs.HDB(t), "-nx", "-batch"}, prog, at)
			compared := 0
			for pc, vars := range want {
				if got[pc] == nil {
					continue // both stop once at an address, but not at all
				}
				compared += len(vars)
				for name := range union(vars, got[pc]) {
					if vars[name] != got[pc][name] && s.differs[strings.TrimRight(name, "'")] == "" {
						t.Errorf("%s at %s:\ngdb %s\nhdb %s", name, pc, vars[name], got[pc][name])
					}
				}
			}
			t.Logf("%d values at %d stops of gdb and %d of hdb", compared, len(want), len(got))
			if compared < 100 {
				t.Errorf("only %d values were compared", compared)
			}
		})
	}
}

func union(a, b map[string]string) map[string]bool {
	all := map[string]bool{}
	for _, m := range []map[string]string{a, b} {
		for n := range m {
			all[n] = true
		}
	}
	return all
}

// sweep maps the PC of each stop to the variables there.
func sweep(debugger []string, prog string, at []string) map[string]map[string]string {
	args := debugger[1:]
	for _, a := range at {
		args = append(args, "-ex", "tbreak *"+a)
	}
	args = append(args, "-ex", "run")
	for range at {
		args = append(args, "-ex", `echo @@`, "-ex", "print $pc", "-ex", "info args", "-ex", "info locals", "-ex", `echo ##`, "-ex", "continue")
	}
	cmd := exec.Command(debugger[0], append(args, prog)...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"), "TERM=dumb", "LC_ALL=C"}
	out, _ := cmd.Output() // the exit code is that of the last command
	stops := map[string]map[string]string{}
	for _, part := range strings.Split(stackAddress.ReplaceAllString(string(out), "STACK"), "@@")[1:] {
		part, _, complete := strings.Cut(part, "##")
		_, value, ok := strings.Cut(part, " = ")
		pc := regexp.MustCompile(`0x[0-9a-f]+`).FindString(value)
		if _, vars, found := strings.Cut(value, "\n"); complete && ok && found && stops[pc] == nil {
			stops[pc] = variables(vars)
		}
	}
	return stops
}
