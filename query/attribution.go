package query

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"hdb/breakpoints"
	"hdb/capture"
	"hdb/goruntime"
	"hdb/internal/modkind"
	"hdb/names"
	"hdb/symbols"
	"hdb/symbols/dwarf"
)

// DefaultWrappers matches the base names of functions that allocate for their
// callers. A dealloc is none: it frees what is its own.
const DefaultWrappers = `(?i)(^|[^d]e|[^e])alloc($|[^a]|ate|ator)|strn?dup|^mem(new|dup)`

// goStandard matches files of Go's standard library in programs that were built with -trimpath:
// they have no directory.
const goStandard = `|^(archive|bufio|bytes|cmp|compress|container|context|crypto|database|debug|embed|encoding|errors|expvar|flag|fmt|go|hash|html|image|index|internal|` +
	`io|iter|log|maps|math|mime|net|os|path|plugin|reflect|regexp|runtime|slices|sort|strconv|strings|structs|sync|syscall|testing|text|time|unicode|unique|vendor/golang\.org|weak)/[a-z0-9_/]+\.go$`

// DefaultLibraries matches the frames of libraries: first by the qualified name of the
// function, in which a crate of Rust has :: before it, then by its source file, then by
// the file of the module.
const DefaultLibraries = `^(::)?(std|__gnu_cxx|__gnu_debug|__cxxabiv1)::|^::(core|alloc|hashbrown)::|^(runtime|internal/[a-z/]+)\.|^x_cgo_|^__rust_` +
	`|^/usr/(include|lib/gcc/([^/]+/)+(ada)?include(-fixed)?|src/rustc-[^/]*)/|^/rustc/|/rustlib/src/|/include/c\+\+/` +
	`|^/usr/(local/go|lib/go[^/]*)/src/|/golang\.org/toolchain@[^/]+/src/|/sdk/go[0-9][^/]*/src/|^/_/GOROOT/src/` + goStandard +
	`|^(/usr)?/lib(32|64|x32)?/([^/]+-linux-[^/]+/)?[^/]+$` +
	`|/(libc|libm|libpthread|libgcc_s|libstdc\+\+|libc\+\+|libc\+\+abi|ld)([-.][^/]*)?\.so[.0-9]*$`

// An Attribution decides which frame of a stack a block belongs to. The function of
// that frame is the one that the block counts for in every report, that the condition
// caller() asks for, and that a stop at the allocation selects.
//
// It is the innermost frame of the user's own code, inlined frames included. Not the
// user's own are
//   - the allocators: the functions of the catalogue, libjemalloc, libtcmalloc and
//     libmimalloc, and what Go's compiler calls for new, make and the like;
//   - wrappers, which allocate for their callers, by their base names, what Cython adds
//     to the functions of its sources, and Go's runtime;
//   - functions of libraries, by their names or source files, and functions without
//     debug information where the same module has one with it further out: they were
//     linked from an archive;
//   - modules of libraries, by their files, and code in no file that has no name;
//   - what calls main.
//
// A library that has an interpreter, such as libpython, is no library in this sense: it
// is the program, unless it is called by functions of Python or of a program that embeds it.
//
// Without any frame of the user's own, the block belongs to the innermost frame in a
// module of the program that is neither an allocator nor a wrapper; without one to the
// innermost frame that is neither an allocator, nor a library's wrapper, nor what calls main; without one
// to the innermost frame that is no allocator; without one to the innermost frame.
//
// The module that is the program is no library's, wherever its file is.
//
// An Attribution may be used by several goroutines.
type Attribution struct {
	wrappers, libraries *regexp.Regexp

	known        sync.Map // from a question to its answer
	interpreters sync.Map // paths, see Interprets
	programs     sync.Map // paths, see Runs
}

// Runs notes the file of the program itself, which is no library whatever its path looks like.
func (a *Attribution) Runs(path string) { a.programs.Store(path, true) }

// RunsIn notes the files of the programs of a recording.
func (a *Attribution) RunsIn(src capture.Source) {
	for _, m := range capture.Programs(src) {
		a.Runs(m.Path)
	}
}

// Interprets notes that CPython is in a file whose name does not tell: a program that embeds
// it. Until then that is seen in stacks that are known to their interpreter's loop.
func (a *Attribution) Interprets(path string) { a.interpreters.Store(path, true) }

// InterpretsIn notes the files that CPython is in of a recording: those of the addresses that its
// calls are on the inner side of. Reports leave these out where they show the calls. Of many stacks
// only the first are looked at.
func (a *Attribution) InterpretsIn(src capture.Source) {
	modules := src.Modules()
	for id := range min(src.Stacks(), maxLooked) {
		pcs := src.Stack(capture.StackID(id + 1)).PCs
		for i := 1; i < len(pcs); i++ {
			if !capture.IsInterpreted(pcs[i-1]) || capture.IsInterpreted(pcs[i]) {
				continue
			}
			for _, m := range modules {
				if m.Covers(pcs[i] - 1) {
					a.Interprets(m.Path)
				}
			}
		}
	}
}

// maxLooked bounds the stacks in which an interpreter is looked for.
const maxLooked = 4096

// Inherit takes over what another attribution knows interpreters.
func (a *Attribution) Inherit(from *Attribution) {
	from.interpreters.Range(func(path, _ any) bool {
		a.interpreters.Store(path, true)
		return true
	})
	from.programs.Range(func(path, _ any) bool {
		a.programs.Store(path, true)
		return true
	})
}

// NewAttribution makes the rule with the expressions that match wrappers and frames of
// libraries, see DefaultWrappers and DefaultLibraries; nil matches none.
func NewAttribution(wrappers, libraries *regexp.Regexp) *Attribution {
	return &Attribution{wrappers: wrappers, libraries: libraries}
}

// class says whose code a frame is.
type class uint8

const (
	own       class = iota // the user's
	library                // a library's, in a module of the program's
	wrapper                // in a module of the program's
	system                 // in a module of a library's
	passed                 // a wrapper in such a module
	outside                // what calls main, and code outside of all modules
	allocator              // which no block belongs to
)

// A Role is all that decides on a frame.
type Role struct {
	class       class
	debug       bool // debug information describes it
	python      bool // it is a function of Python
	interpreter bool // it is CPython's own, by the module or because it is the loop
	module      string
}

// Role is the role of a frame.
func (a *Attribution) Role(f *names.Frame) Role {
	debug := f.Line > 0 || f.Frame.Source == symbols.FromDWARF || f.Frame.Source == symbols.FromJIT
	_, embedded := a.interpreters.Load(f.Path)
	interpreter := embedded || modkind.IsPython(f.Path) || names.IsPythonLoop(f.Function)
	return Role{class: a.class(f), debug: debug || f.Python(), python: f.Python(), interpreter: interpreter, module: f.Path}
}

// Roles appends the roles of frames.
func (a *Attribution) Roles(roles []Role, frames []names.Frame) []Role {
	roles = slices.Grow(roles, len(frames))
	for i := range frames {
		roles = append(roles, a.Role(&frames[i]))
	}
	return roles
}

// Owner is the index of the frame that a block belongs to, in a stack whose innermost
// frame comes first; 0 if there are no frames.
func (a *Attribution) Owner(frames []names.Frame) int {
	for i := range frames {
		r := a.Role(&frames[i])
		if r.class != own {
			continue
		}
		if r.debug && !r.interpreter && !InPythonLibrary(r.module) {
			return i // whatever is further out
		}
		break
	}
	return Owner(a.Roles(nil, frames))
}

// Own tells a frame of the user's own code.
func (a *Attribution) Own(f *names.Frame) bool { return a.class(f) == own }

func (a *Attribution) class(f *names.Frame) class {
	switch {
	case f.Python():
		if a.libraries != nil && InPythonLibrary(f.File) {
			return library
		}
		return own
	case isAllocator(f), a.libraries != nil && f.Language == dwarf.LangGo && goruntime.Allocates(f.Function):
		return allocator
	case f.Outside(), startsProgram(f.Function), f.Path == "" && f.Function == "":
		return outside
	case a.isLibrary(f.Path) && a.isWrapper(f.Function):
		return passed
	case a.isLibrary(f.Path):
		return system
	case a.libraries != nil && ofGoRuntime(f), a.isWrapper(f.Function), names.AddedByCython(&f.Frame) && !names.TakesArguments(&f.Frame):
		return wrapper
	case a.isLibraryFunction(f):
		return library
	}
	return own
}

// Passed is why a block does not belong to a frame while there are others further out.
type Passed uint8

// The reasons, NotPassed if it may belong to it.
const (
	NotPassed       Passed = iota
	PassedAllocator        // a function of the catalogue, or of an allocator's library
	PassedWrapper          // the setting wrappers matches its name
	PassedRuntime          // of Go's runtime, or made by Cython
	PassedLibrary          // the setting library-frames matches its name, its source or its module
	PassedStart            // it calls main, or is in no module
)

// Passed tells why the frame is passed over.
func (a *Attribution) Passed(f *names.Frame) Passed {
	switch a.class(f) {
	case allocator:
		return PassedAllocator
	case wrapper, passed:
		if a.isWrapper(f.Function) {
			return PassedWrapper
		}
		return PassedRuntime
	case library, system:
		return PassedLibrary
	case outside:
		return PassedStart
	}
	return NotPassed
}

// Owner is Attribution.Owner by the roles of the frames.
func Owner(stack []Role) int {
	at, _ := owner(stack)
	return at
}

// OwnerSoFar is Owner of a stack of which only the inner frames are known. The answer is
// final if no frame further out can change it.
func OwnerSoFar(stack []Role) (at int, final bool) { return owner(stack) }

func owner(stack []Role) (at int, final bool) {
	python := slices.ContainsFunc(stack, func(r Role) bool { return r.python })
	interpreter := interpreterOf(stack)
	if interpreter != "" && !python { // a program that embeds it calls it
		python = slices.ContainsFunc(stack, func(r Role) bool {
			return r.class == own && r.debug && !r.interpreter && r.module != interpreter && !InPythonLibrary(r.module)
		})
	}
	module, outermost := "", -1 // the last frame with debug information in a module
	best := allocator
	for i := range stack {
		r := &stack[i]
		c := r.class
		inside := r.interpreter || interpreter != "" && r.module == interpreter
		switch {
		case !python:
		case inside && c < system:
			c = system
		case c == own && InPythonLibrary(r.module):
			c = library
		}
		if c == own && !r.debug && r.module != "" {
			if outermost < i || r.module != module {
				module, outermost = r.module, lastDebug(stack, r.module)
			}
			if outermost > i {
				c = library
			}
		}
		if c == own {
			return i, r.debug && !inside && !InPythonLibrary(r.module)
		}
		if c == wrapper {
			c = system
		}
		if c < best {
			best, at = c, i
		}
	}
	return at, false
}

// interpreterOf is the module of CPython's loop in a stack, "" without.
func interpreterOf(stack []Role) string {
	for i := range stack {
		if stack[i].interpreter {
			return stack[i].module
		}
	}
	return ""
}

// lastDebug is the index of the outermost frame of the user's own with debug information
// in the module, -1 without.
func lastDebug(stack []Role, module string) int {
	for i := len(stack) - 1; i >= 0; i-- {
		if r := &stack[i]; r.class == own && r.debug && r.module == module {
			return i
		}
	}
	return -1
}

// catalogue has the names of the allocators' functions, as users and as linkers know them.
var catalogue = sync.OnceValue(func() map[string]bool {
	names := map[string]bool{}
	for _, fn := range breakpoints.Catalogue() {
		names[fn.Name], names[fn.Symbol] = true, true
	}
	return names
})

func isAllocator(f *names.Frame) bool {
	name := f.Function
	if strings.HasPrefix(name, "operator ") {
		name = WithoutParameters(name)
	}
	if name != "" && (catalogue()[name] || catalogue()[f.Linkage]) {
		return true
	}
	return breakpoints.IsAllocatorLibrary(filepath.Base(f.Path))
}

// InPythonLibrary tells the files of Python's standard library, and code that is in none.
func InPythonLibrary(file string) bool {
	if strings.HasPrefix(file, "<frozen ") {
		return true
	}
	_, inside, ok := strings.Cut(file, "/lib/python3.")
	return ok && !strings.Contains(inside, "/site-packages/") && !strings.Contains(inside, "/dist-packages/")
}

// startsProgram tells the functions of the program's own file that call main and
// constructors. Those that call what a thread runs are in the C library.
func startsProgram(function string) bool {
	switch function {
	case "_start", "_start_c", "_init", "_fini", "__libc_csu_init", "__libc_csu_fini", "__do_global_ctors_aux", "__do_global_dtors_aux",
		"__libc_start_main", "__libc_start_main_impl", "__libc_start_call_main", "start_thread", "clone", "clone3", "__clone", "__clone3":
		return true
	}
	return false
}

// ofGoRuntime tells functions of Go's runtime: schedinit, mapassign, newproc, and what cgo puts
// before functions of C.
func ofGoRuntime(f *names.Frame) bool {
	if strings.Contains(f.Function, "._Cfunc_") || strings.HasPrefix(f.Function, "_cgo_") {
		return true
	}
	return f.Language == dwarf.LangGo && goruntime.Internal(f.Function)
}

func (a *Attribution) isWrapper(function string) bool {
	return a.wrappers != nil && function != "" && a.memo(question{'w', function}, func() bool {
		return a.wrappers.MatchString(BaseName(function))
	})
}

// isLibrary tells the module of a library.
func (a *Attribution) isLibrary(path string) bool {
	if _, program := a.programs.Load(path); program {
		return false
	}
	return a.libraries != nil && path != "" && a.memo(question{'m', path}, func() bool {
		return a.libraries.MatchString(path) && !modkind.IsPython(path)
	})
}

// isLibraryFunction tells the function of a library, whatever module has its code: that
// may be a template, or inlined.
func (a *Attribution) isLibraryFunction(f *names.Frame) bool {
	if a.libraries == nil {
		return false
	}
	file := f.File
	if file == goruntime.NoFile {
		file = goruntime.Package(f.Function) + "/wrapper.go" // as with -trimpath
	}
	if file != "" && a.memo(question{'f', file}, func() bool { return a.libraries.MatchString(file) }) {
		return true
	}
	if f.Function == "" {
		return false
	}
	kind, rust := byte('n'), f.Language.String() == "rust" || symbols.IsRust(f.Linkage)
	if rust {
		kind = 'r'
	}
	return a.memo(question{kind, f.Function}, func() bool { return a.isLibraryName(f.Function, rust) })
}

// isLibraryName asks for the function's name as DefaultLibraries says. A method of a trait
// is a library's if the trait and the type are.
func (a *Attribution) isLibraryName(function string, rust bool) bool {
	if !rust {
		return a.libraries.MatchString(qualified(function))
	}
	name, trait, ok := implementation(function)
	if !ok {
		return a.libraries.MatchString("::" + function)
	}
	of := func(path string) bool {
		path = strings.TrimLeft(path, "&*[( ")
		for _, word := range []string{"mut ", "const ", "dyn "} {
			path = strings.TrimPrefix(path, word)
		}
		head, _, _ := strings.Cut(path, "<")
		return !strings.Contains(head, "::") || a.libraries.MatchString("::"+path)
	}
	return of(name) && (trait == "" && strings.Contains(name, "::") || trait != "" && a.libraries.MatchString("::"+trait))
}

// implementation cuts <TYPE as TRAIT>::method and <TYPE>::method of Rust.
func implementation(function string) (of, trait string, ok bool) {
	if !strings.HasPrefix(function, "<") {
		return "", "", false
	}
	depth, as := 0, -1
	for i := range len(function) {
		switch function[i] {
		case '<':
			depth++
		case '>':
			if i > 0 && function[i-1] == '-' {
				continue // of ->
			}
			if depth--; depth > 0 {
				continue
			}
			if as < 0 {
				return function[1:i], "", true
			}
			return function[1:as], function[as+len(" as ") : i], true
		case ' ':
			if depth == 1 && as < 0 && strings.HasPrefix(function[i:], " as ") {
				as = i
			}
		}
	}
	return "", "", false
}

// qualified cuts the return type off the name of an instance of a template.
func qualified(function string) string {
	depth, start := 0, 0
	for i := range len(function) {
		switch function[i] {
		case '<', '[':
			depth++
		case '>', ']':
			depth--
		case '(':
			if depth == 0 && !strings.HasPrefix(function[i:], "(anonymous namespace)") {
				return function[start:]
			}
		case ' ':
			if depth == 0 && !strings.HasSuffix(function[:i], "(anonymous") {
				start = i + 1
			}
		case 'o':
			if depth == 0 && strings.HasPrefix(function[i:], "operator") && (i == start || function[i-1] == ':') {
				return function[start:]
			}
		}
	}
	return function[start:]
}

// question asks about a text, of some kind.
type question struct {
	kind byte
	text string
}

// memo answers a question once.
func (a *Attribution) memo(q question, answer func() bool) bool {
	if yes, ok := a.known.Load(q); ok {
		return yes.(bool)
	}
	yes := answer()
	a.known.Store(q, yes)
	return yes
}
