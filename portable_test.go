package hdb_test

import (
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"hdb/testprogs"
)

// portable are the packages that parse and draw what was saved elsewhere.
var portable = []string{"./capture/...", "./unwind/...", "./symbols/...", "./heap/...", "./report/...", "./names/...", "./memory"}

// TestPortable checks the types of the portable packages for macOS, where captures have to
// open, too. To compile them, and Go's library, takes fifty times as long.
func TestPortable(t *testing.T) {
	testprogs.DependOnModule(t) // go list reads it
	list := exec.Command("go", append([]string{"list", "-deps", "-json=ImportPath,Dir,GoFiles,ImportMap"}, portable...)...)
	list.Env = append(os.Environ(), "GOOS=darwin", "CGO_ENABLED=0")
	out, err := list.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	known := map[string]*types.Package{"unsafe": types.Unsafe}
	checked := 0
	for d := json.NewDecoder(strings.NewReader(string(out))); ; { // what is imported comes first
		var p listed
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		if p.ImportPath == "unsafe" {
			continue
		}
		if known[p.ImportPath], err = p.check(known); err != nil {
			t.Fatalf("%s: %v", p.ImportPath, err)
		}
		if p.own() {
			checked++
		}
	}
	if checked < len(portable) {
		t.Errorf("%d packages were checked", checked)
	}
}

// listed is a package as go list tells it.
type listed struct {
	ImportPath, Dir string
	GoFiles         []string
	ImportMap       map[string]string
}

func (p *listed) own() bool { return strings.HasPrefix(p.ImportPath, "hdb/") }

// check checks its types; of the packages of others only what they declare.
func (p *listed) check(known map[string]*types.Package) (*types.Package, error) {
	fset := token.NewFileSet()
	var files []*ast.File
	for _, name := range p.GoFiles {
		f, err := parser.ParseFile(fset, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	config := types.Config{
		IgnoreFuncBodies: !p.own(),
		Sizes:            types.SizesFor("gc", "amd64"),
		Importer: importerFunc(func(path string) (*types.Package, error) {
			if mapped := p.ImportMap[path]; mapped != "" {
				path = mapped
			}
			if pkg := known[path]; pkg != nil {
				return pkg, nil
			}
			return nil, errors.New("not listed: " + path)
		}),
	}
	return config.Check(p.ImportPath, fset, files, nil)
}

type importerFunc func(path string) (*types.Package, error)

func (f importerFunc) Import(path string) (*types.Package, error) { return f(path) }
