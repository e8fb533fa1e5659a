package hdb_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Limits of a package and of a type, tests excluded. Split what exceeds them, or list it below with a reason.
const (
	maxLines   = 10_000 // of a package
	maxFiles   = 45     // of a folder
	maxMethods = 40     // of a type
)

// A measure is how large a package is, beside tests.
type measure struct {
	lines, files int
	methods      map[string]int // by type
}

// allowed names what is larger than the limits, how large it may be, and why.
var allowed = []struct {
	what string // a package, "PACKAGE files", or PACKAGE.Type
	most int
	why  string
}{
	{"capture/file files", 50, "one format: reader, writer and the log in memory predict from one model"},
	{"capture/file.File", 42, "what capture.Source asks, and the parts of a file"},
	{"capture/file.Writer", 44, "a method for each kind of record that the format has"},
	{"capture/file.eventEncoder", 48, "a method for each field that is predicted"},
	{"console/shell.Shell", 41, "what commands of all groups ask of the shell"},
	{"heap/glibc.Heap", 48, "a walk of one structure: arenas, chunks, caches, bins"},
	{"inferior files", 55, "one ptrace engine: threads, traps, signals and forks are one state"},
	{"inferior.Process", 58, "what can be asked of a process, running or dead"},
	{"inferior.Thread", 48, "what can be asked of a thread, stopped or in a core file"},
	{"memory.Image", 49, "the questions that can be asked of one picture of memory"},
	{"names.Resolver", 51, "names of a program, a process and a capture: frames, sources, debug files"},
	{"probe.reader", 48, "a method for each kind of record of the ring"},
	{"probe.siteTable", 52, "the state of patched functions: planting, moving, lifting"},
	{"python/objects.Heap", 70, "the questions that can be asked of the objects of one interpreter"},
	{"query.Recording", 81, "the questions that can be asked of one recording"},
	{"recording.Recording", 47, "what becomes of an event is one path under one lock"},
	{"report.Profile", 50, "a method for each export"},
	{"session files", 57, "follows from its lines"},
	{"session.Planes", 49, "planting, following and reporting read what threads leave behind"},
	{"session.Session", 48, "loading, starting, following modules, forks and execs, ending"},
	{"session.Stops", 57, "setting, planting and reporting share the bindings"},
	{"session/heaps.Heap", 53, "the questions that can be asked of the memory of a process"},
	{"session/stepping.Steps", 48, "each kind of step in C, inlined code, Go and system calls"},
	{"session/view.Selection", 49, "what is selected is one state"},
	{"symbols.debugInfo", 43, "what DWARF has of one file"},
	{"values", 13800, "expressions and reading of values are to be cut apart"},
	{"values files", 65, "follows from its lines"},
	{"values.Type", 45, "what can be asked of a type"},
	{"values.World", 42, "what expressions ask of a program"},
	{"values.evaluator", 46, "a method for each form of expression"},
}

// TestLimits has growth seen when it begins.
func TestLimits(t *testing.T) {
	most := map[string]int{}
	for _, a := range allowed {
		if a.why == "" {
			t.Errorf("%s: no reason is given", a.what)
		}
		most[a.what] = a.most
	}
	all := measures(t)
	used := map[string]bool{}
	check := func(what string, n, limit int, unit string) {
		if n <= limit {
			return
		}
		used[what] = true
		if top, ok := most[what]; !ok {
			t.Errorf("%s has %d %s, more than %d: cut a room off, or name it with a reason", what, n, unit, limit)
		} else if n > top {
			t.Errorf("%s has grown to %d %s, more than the %d that it may have", what, n, unit, top)
		}
	}
	for _, pkg := range slices.Sorted(maps.Keys(all)) {
		m := all[pkg]
		check(pkg, m.lines, maxLines, "lines")
		check(pkg+" files", m.files, maxFiles, "files")
		for _, name := range slices.Sorted(maps.Keys(m.methods)) {
			check(pkg+"."+name, m.methods[name], maxMethods, "methods")
		}
	}
	for _, a := range allowed {
		if !used[a.what] {
			t.Errorf("%s is within the limits now: take it from the table", a.what)
		}
	}
}

// measures are those of all packages, by their folders.
func measures(t *testing.T) map[string]*measure {
	all := map[string]*measure{}
	set := token.NewFileSet()
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		name := d.Name()
		switch {
		case err != nil:
			return err
		case d.IsDir() && (name == "testdata" || name == "node_modules" || len(name) > 1 && name[0] == '.'):
			return fs.SkipDir
		case d.IsDir() || filepath.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		f, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		folder := filepath.Dir(path)
		m := all[folder]
		if m == nil {
			m = &measure{methods: map[string]int{}}
			all[folder] = m
		}
		m.files++
		m.lines += set.Position(f.FileEnd).Line
		for _, decl := range f.Decls {
			if fn, ok := decl.(*ast.FuncDecl); ok && fn.Recv != nil {
				m.methods[receiver(fn.Recv.List[0].Type)]++
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 10 {
		t.Fatalf("%d packages were found", len(all))
	}
	return all
}

// receiver is the name of a receiver's type.
func receiver(x ast.Expr) string {
	switch x := x.(type) {
	case *ast.StarExpr:
		return receiver(x.X)
	case *ast.IndexExpr:
		return receiver(x.X)
	case *ast.IndexListExpr:
		return receiver(x.X)
	case *ast.Ident:
		return x.Name
	}
	return ""
}
