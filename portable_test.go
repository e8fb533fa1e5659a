package hdb_test

import (
	"go/build"
	"go/importer"
	"go/token"
	"os/exec"
	"strings"
	"testing"
)

// portable are the packages that parse and draw what was saved elsewhere.
var portable = []string{"./capture/...", "./unwind/...", "./symbols/...", "./heap/...", "./report/..."}

// TestPortable checks the types of the portable packages for macOS, where captures have to open,
// too. That takes a tenth of what it takes to compile them, and Go's library, for it.
func TestPortable(t *testing.T) {
	out, err := exec.Command("go", append([]string{"list"}, portable...)...).Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	system, cgo := build.Default.GOOS, build.Default.CgoEnabled
	defer func() { build.Default.GOOS, build.Default.CgoEnabled = system, cgo }()
	build.Default.GOOS, build.Default.CgoEnabled = "darwin", false
	source := importer.ForCompiler(token.NewFileSet(), "source", nil)
	for _, pkg := range strings.Fields(string(out)) {
		if _, err := source.Import(pkg); err != nil {
			t.Errorf("%s: %v", pkg, err)
		}
	}
}
