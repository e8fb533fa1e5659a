package hdb_test

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"hdb/testprogs"
)

// layers is the import order, a statement of policy: a package imports only
// what stands on a line above its own. A folder without a line belongs to its
// nearest listed parent; the packages of one folder may import one another, those
// of one line may not.
const layers = `
internal/goname internal/lazyregexp internal/procfs internal/spelling
internal/addr internal/cformat internal/cond internal/diskcache internal/elfnote internal/flags internal/golden internal/limits internal/manual internal/modkind internal/outfile internal/paged internal/panics internal/prefetch internal/procroot internal/regular internal/units
internal/rights heap/resident python/layout
internal/when python/inspect
capture unwind symbols/debuginfod inferior/cmdline inferior/corefile inferior/machine python python/eval annotations goruntime heap/glibc
heap/golang inferior/x86 capture/intern
capture/file symbols inferior values/calls values/cpp
inferior/delve
capture/edit breakpoints heap values report
probe
names
recording
query
memory
session/target
session/codeflow
session/view
session/variables
session/recordings
session/cpython
session/heaps
session/stopped
session/stepping
session/pystops
session/allocators session/pystacks
session
console/line
console/screen
console/shell
console/desk
console/allocs
console/data
console/stops
console/py
console
cmd
`

// restricted names who alone may import a package of the outside.
var restricted = map[string][]string{
	"github.com/go-delve/delve/pkg/proc": {"inferior/delve"},
	"golang.org/x/sys/unix":              {"inferior", "inferior/machine", "probe"},
	"github.com/peterh/liner":            {"console/line"},
	"github.com/alecthomas/chroma/v2":    {"console/screen"},
}

// folderLine maps each folder of layers to the number of its line.
func folderLine() map[string]int {
	lines := map[string]int{}
	for n, row := range strings.Split(strings.TrimSpace(layers), "\n") {
		for _, folder := range strings.Fields(row) {
			lines[folder] = n
		}
	}
	return lines
}

// folderOf is the longest entry of layers that contains the package.
func folderOf(lines map[string]int, pkg string) string {
	for p := pkg; p != "."; {
		if _, ok := lines[p]; ok {
			return p
		}
		i := strings.LastIndexByte(p, '/')
		if i < 0 {
			break
		}
		p = p[:i]
	}
	return ""
}

func TestImportOrder(t *testing.T) {
	testprogs.DependOnModule(t) // go list reads it
	out, err := exec.Command("go", "list", "-f", `{{.ImportPath}}{{range .Imports}} {{.}}{{end}}`, "./...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	lines := folderLine()
	for row := range strings.Lines(string(out)) {
		fields := strings.Fields(row)
		pkg, ok := strings.CutPrefix(fields[0], "hdb/")
		if !ok || strings.HasPrefix(pkg, "testprogs") || strings.HasPrefix(pkg, "bench") {
			continue // the root holds only tests; the others are test helpers
		}
		own := folderOf(lines, pkg)
		if own == "" {
			t.Errorf("%s stands on no line of the table", pkg)
			continue
		}
		for _, imp := range fields[1:] {
			checkImport(t, lines, pkg, own, imp)
		}
	}
}

// TestEnvironment has every test that starts programs import testprogs, which
// gives it the same environment everywhere.
func TestEnvironment(t *testing.T) {
	testprogs.DependOnModule(t) // go list reads it
	out, err := exec.Command("go", "list", "-f", `{{.ImportPath}}{{range .TestImports}} {{.}}{{end}}{{range .XTestImports}} {{.}}{{end}}`, "./...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	for row := range strings.Lines(string(out)) {
		fields := strings.Fields(row)
		pkg := strings.TrimPrefix(fields[0], "hdb/")
		if pkg == "testprogs" || !slices.Contains(fields[1:], "os/exec") || slices.Contains(fields[1:], "hdb/testprogs") {
			continue
		}
		t.Errorf("tests of %s start programs in the environment of the user: import _ \"hdb/testprogs\"", pkg)
	}
}

func checkImport(t *testing.T, lines map[string]int, pkg, own, imp string) {
	t.Helper()
	if inner, ok := strings.CutPrefix(imp, "hdb/"); ok {
		other := folderOf(lines, inner)
		if other != own && lines[other] >= lines[own] {
			t.Errorf("%s imports %s, which does not stand above it", pkg, inner)
		}
		return
	}
	for path, allowed := range restricted {
		if imp != path && !strings.HasPrefix(imp, path+"/") {
			continue
		}
		ok := false
		for _, a := range allowed {
			ok = ok || own == a
		}
		if !ok {
			t.Errorf("%s imports %s, which only %v may", pkg, imp, allowed)
		}
	}
}
