package names

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"hdb/internal/lazyregexp"
	"hdb/python/cython"
	"hdb/symbols"
)

// A cythonFile is what is known of the modules of Cython that were linked into a file.
type cythonFile struct {
	r         *Resolver
	obj       *symbols.Object
	modules   []string // the last words of their names
	described []*cython.Module
	functions map[string]*cython.Function // as described, by each of their names in C
	c         map[string]*cythonSource    // by the C file's name in debug information
	code      map[string]symbols.Function // of C that Cython has made, by its name
	current   map[*cython.Module]bool     // whether the description is of this build
	places    map[[2]string]string        // paths of sources, by what a comment says and the C file
	rows      []CythonRow
	rowsRead  bool
	Problems  []string // why a description was not used
}

// A cythonSource is a generated C file.
type cythonSource struct {
	src  *cython.Source // nil if it cannot be used
	text []string
}

var (
	initFunction = lazyregexp.New(`^PyInit_[A-Za-z_]\w*$`)
	generated    = lazyregexp.New(`^(__pyx_|__Pyx_)`)
)

// maxModules bounds the modules of one file.
const maxModules = 1000

func newCythonFile(r *Resolver, obj *symbols.Object) *cythonFile {
	f := &cythonFile{r: r, obj: obj, functions: map[string]*cython.Function{}, c: map[string]*cythonSource{}, current: map[*cython.Module]bool{},
		places: map[[2]string]string{}}
	for _, name := range obj.FunctionNames(initFunction().MatchString, never) {
		if name = strings.TrimPrefix(name, "PyInit_"); !slices.Contains(f.modules, name) && len(f.modules) < maxModules {
			f.modules = append(f.modules, name)
		}
	}
	for _, dir := range f.folders() {
		entries, err := os.ReadDir(dir)
		if err != nil {
			continue
		}
		for _, e := range entries {
			if module, ok := strings.CutPrefix(e.Name(), "cython_debug_info_"); ok && slices.Contains(f.modules, module[strings.LastIndexByte(module, '.')+1:]) {
				f.describe(filepath.Join(dir, e.Name()))
			}
		}
	}
	return f
}

func never() bool { return false }

// folders are those in which what `cython --gdb` has written may be: cython_debug in the
// folder of a build.
func (f *cythonFile) folders() (dirs []string) {
	add := func(dir string) {
		if !slices.Contains(dirs, dir) {
			dirs = append(dirs, dir)
		}
	}
	for _, dir := range f.r.cfg.Settings.Cython {
		add(dir)
		add(filepath.Join(dir, "cython_debug"))
	}
	around := func(path string) {
		const above = 4 // build/lib.linux-x86_64-3.11/package/part
		for dir, n := filepath.Dir(path), 0; n <= above && filepath.IsAbs(dir) && dir != "/"; dir, n = filepath.Dir(dir), n+1 {
			add(filepath.Join(dir, "cython_debug"))
			add(filepath.Join(dir, "build", "cython_debug"))
		}
	}
	around(f.obj.File.Path())
	for _, file := range f.obj.Lines.Files() {
		if isCFile(file) || cython.IsSource(file) {
			around(file)
		}
		if len(dirs) > 100 {
			break
		}
	}
	if dir, err := os.Getwd(); err == nil {
		add(filepath.Join(dir, "cython_debug"))
	}
	return dirs
}

func isCFile(file string) bool {
	switch filepath.Ext(file) {
	case ".c", ".cpp", ".cxx", ".cc":
		return true
	}
	return false
}

// describe reads a description; the first of a module counts.
func (f *cythonFile) describe(path string) {
	text, err := f.r.Sources.User.Read(path, cython.MaxFile)
	if err != nil {
		f.Problems = append(f.Problems, err.Error())
		return
	}
	m, err := cython.Read(text)
	if err != nil {
		f.Problems = append(f.Problems, fmt.Sprintf("%s: %v: not used", path, err))
		return
	}
	if slices.ContainsFunc(f.described, func(o *cython.Module) bool { return o.Name == m.Name }) {
		return
	}
	f.described = append(f.described, m)
	for i := range m.Functions {
		fn := &m.Functions[i]
		for _, name := range fn.CNames() {
			if f.functions[name] == nil {
				f.functions[name] = fn
			}
		}
	}
}

// codeOf is the code of a function of C that Cython has made.
func (f *cythonFile) codeOf(linkage string) (symbols.Function, bool) {
	if f.code == nil {
		f.code = map[string]symbols.Function{}
		for _, fn := range f.obj.MatchFunctions(generated(), never) {
			name := fn.Linkage
			if name == "" {
				name = fn.Name
			}
			if old, ok := f.code[name]; !ok || old.Inlined && !fn.Inlined {
				f.code[name] = fn
			}
		}
	}
	fn, ok := f.code[linkage]
	if ok = ok && fn.Low != 0; ok || linkage == "" {
		return fn, ok
	}
	base := cython.Base(linkage)
	if fn, ok = f.code[base]; !ok {
		for _, copy := range f.obj.FindFunctions(base) { // it is inlined wherever it is called
			fn, ok = copy, true
			break
		}
	}
	f.code[linkage] = fn // also that there is none
	return fn, ok && fn.Low != 0
}

// line is what a line of C in a function belongs to. Where lines of the source are in the
// debug information, it is the line itself.
func (f *cythonFile) line(linkage, file string, line int) (cython.Line, bool) {
	if cython.IsSource(file) {
		return cython.Line{File: file, Line: line}, line > 0
	}
	fn, ok := f.codeOf(linkage)
	if file == "" || !ok || fn.DeclFile != file {
		return cython.Line{}, false
	}
	// Before the first statement of a module, the piece is the one of what is before.
	toplevel := strings.HasPrefix(linkage, "__pyx_pymod_exec_")
	if src := f.source(linkage, fn); src != nil {
		l, ok := src.Lines.At(line)
		if ok = ok && (!toplevel || l.First >= fn.DeclLine) && cython.IsSource(l.File); ok {
			l.File = f.place(l.File, file)
		}
		return l, ok
	}
	for _, m := range f.described {
		if filepath.Base(m.CFile) == filepath.Base(file) && f.isCurrent(m) {
			l, ok := m.Lines.At(line)
			d := f.functions[linkage]
			l.Again = ok && d != nil && !toplevel && l.Line == d.Line && l.First > fn.DeclLine
			return l, ok && (!toplevel || l.First >= fn.DeclLine)
		}
	}
	return cython.Line{}, false
}

// source is what the generated C file says of a function; nil if it is not here, or not what was
// compiled.
func (f *cythonFile) source(linkage string, fn symbols.Function) *cython.Source {
	c, ok := f.c[fn.DeclFile]
	if !ok {
		c = &cythonSource{}
		f.c[fn.DeclFile] = c
		if isCFile(fn.DeclFile) {
			if text, err := f.r.Sources.Open(fn.DeclFile); err == nil {
				c.text = text.Lines
				c.src, _ = cython.ReadC(text.Lines)
			}
		}
	}
	if n := fn.DeclLine; c.src == nil || n < 1 || n > len(c.text) || !strings.Contains(c.text[n-1], cython.Base(linkage)) {
		return nil
	}
	return c.src
}

// place is the path of a file of the source that a comment in a C file names.
func (f *cythonFile) place(file, c string) string {
	if filepath.IsAbs(file) {
		return file
	}
	key := [2]string{file, c}
	if p, ok := f.places[key]; ok {
		return p
	}
	found := ""
	for _, m := range f.described {
		if filepath.Base(m.CFile) == filepath.Base(c) && SameFile(m.File, file) {
			found = m.File
		}
	}
	for dir, n := filepath.Dir(c), 0; found == "" && n < 5 && filepath.IsAbs(dir); dir, n = filepath.Dir(dir), n+1 {
		for _, p := range []string{filepath.Join(dir, file), filepath.Join(dir, filepath.Base(file))} {
			if st, err := os.Stat(p); found == "" && err == nil && st.Mode().IsRegular() {
				found = p
			}
		}
	}
	if found == "" {
		found = filepath.Join(filepath.Dir(c), filepath.Base(file))
	}
	f.places[key] = found
	return found
}

// isCurrent reports whether a description is of what was compiled: functions begin where it says.
func (f *cythonFile) isCurrent(m *cython.Module) bool {
	is, ok := f.current[m]
	if ok {
		return is
	}
	agree, differ := 0, 0
	for i := range m.Functions {
		fn := &m.Functions[i]
		code, ok := f.codeOf(fn.CName)
		if !ok || filepath.Base(code.DeclFile) != filepath.Base(m.CFile) {
			continue
		}
		if l, _ := m.Lines.At(code.DeclLine); l.Line == fn.Line {
			agree++
		} else {
			differ++
		}
	}
	if is = agree > 4*differ; !is && differ > 0 {
		f.Problems = append(f.Problems, "the output of cython --gdb for "+m.Name+" is of another build: not used for lines")
	}
	f.current[m] = is
	return is
}
