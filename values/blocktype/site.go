package blocktype

import (
	"strings"

	"hdb/internal/addr"
	"hdb/symbols"
	"hdb/symbols/demangle"
	"hdb/symbols/dwarf"
	"hdb/values"
)

// A Frame is a physical frame of a stack: inlined calls are found from its code.
type Frame struct {
	Module values.Module // Obj is nil where the file is not there
	PC     addr.Code
}

// A Finder makes Sites. It is used by one goroutine at a time, with the Program.
type Finder struct {
	Program *values.Program
	// Wrapper tells by its name that a function without debug information allocates for its caller, and
	// returns the block. Wrapper may be nil.
	Wrapper func(function string) bool

	globals map[globalKey]*values.Value
	classes map[string]*values.Type // nil: not described
}

// A Site is what is known of the blocks that are allocated with one stack.
type Site struct {
	shape      shape
	candidates []candidate
	counted    bool // the function is given a number of elements
	// NoDebug tells that the code that decides has no debug information.
	NoDebug bool
}

// A shape says which sizes a block of a type may have.
type shape uint8

const (
	anyShape    shape = iota // malloc: one value, several, or one with a flexible array member
	oneShape                 // one value
	arrayShape               // n values
	cookieShape              // operator new[]: n values, perhaps behind their number
)

// A candidate is a type that the block may have.
type candidate struct {
	typ  *values.Type
	rank rank
}

// A rank tells how near a candidate is to the truth: lower is nearer.
type rank uint8

const (
	byTemplate    rank = iota // the argument of the allocating template
	byConstructor             // the class whose constructor is called
	byPointer                 // the type of a pointer that the block is stored in or passed as
	byLine                    // the type of a pointer that is declared at the line of the call
)

// maxCandidates bounds the types that are noted of one site.
const maxCandidates = 16

func (s *Site) add(t *values.Type, r rank) {
	for range maxNested { // names such as std::__shared_ptr<T>::element_type say less than what they represent
		if t == nil || t.Kind != values.Typedef || !strings.Contains(t.Name, ">::") {
			break
		}
		t = t.Elem().Unqualified()
	}
	if t == nil || len(s.candidates) >= maxCandidates {
		return
	}
	for _, c := range s.candidates {
		if c.rank == r && c.typ == t {
			return
		}
	}
	s.candidates = append(s.candidates, candidate{t, r})
}

// Site is what is known of the blocks that function (malloc, operator new, __rust_alloc) returned to
// the innermost of the frames. It is never nil.
func (f *Finder) Site(function string, frames []Frame) *Site {
	s := &Site{}
	_ = symbols.Guard(func() { f.find(s, function, frames) }) // a file that is cut meanwhile: what was found until then
	return s
}

// MaxFrames bounds how far out the pointer is followed.
const MaxFrames = 24

func (f *Finder) find(s *Site, function string, frames []Frame) {
	plus := isNew(function)
	s.counted = strings.Contains(function, "calloc") || strings.Contains(function, "allocarray")
	if plus && strings.Contains(function, "[]") {
		s.shape = cookieShape
	} else if plus {
		s.shape = oneShape
	}
	for i, fr := range frames[:min(len(frames), MaxFrames)] {
		if fr.Module.Obj == nil {
			s.NoDebug = true
			return
		}
		v := &values.Frame{Module: fr.Module, PC: fr.PC}
		levels := v.Levels()
		if f.isText(s, v) {
			return
		}
		if levels == 0 {
			if !f.passesOn(s, v) {
				return
			}
			continue
		}
		if f.template(s, v) {
			return
		}
		v.Inlined = levels - 1
		if fn, ok := v.Scope(); ok && languageOf(fn) == dwarf.LangRust {
			if !f.ofRustLibrary(v, fn) {
				return // the library has the type, or nothing has
			}
			continue
		}
		v.Inlined = 0
		w := f.flow(s, v, plus)
		if w == nil {
			return
		}
		w.again = i == 0 && strings.Contains(function, "realloc")
		w.follow(fr.PC.Addr().File(fr.Module.Bias))
		if w.old != nil {
			s.add(w.old, byLine)
		}
		f.declaredAtLine(s, v)
		if !w.returned {
			return
		}
		v.Inlined = levels - 1
		fn, _ := v.Scope()
		t := f.Program.DeclaredType(fr.Module, fn)
		if t == nil || t.Strip().Kind != values.Pointer {
			return
		}
		if to := Pointee(t); to != nil {
			s.add(to, byPointer)
			if len(s.candidates) > 0 && !textual(to) {
				return
			}
		}
		if !isVoidPointer(t) && !textual(t.Strip().Elem()) {
			return
		}
		plus = plus && len(s.candidates) == 0
	}
}

// isNew tells the names of operator new.
func isNew(function string) bool { return strings.HasPrefix(function, "operator new") }

// textual tells char, which memory of no type is declared as.
func textual(t *values.Type) bool { return t.Size() == 1 }

// passesOn reports whether a function without debug information returns the block to its caller.
// What functions of the C library return is known.
func (f *Finder) passesOn(s *Site, v *values.Frame) bool {
	sym, _, ok := v.Module.Obj.Symtab.SymbolAt(v.PC.Lookup().File(v.Module.Bias))
	if !ok {
		s.NoDebug = true
		return false
	}
	name, _, _ := strings.Cut(sym.Name, "@")
	if strings.HasPrefix(name, "_Zn") || f.Wrapper != nil && f.Wrapper(demangle.Name(name)) {
		return true
	}
	s.NoDebug = true
	return false
}

// isText tells functions of the C library whose blocks are text.
func (f *Finder) isText(s *Site, v *values.Frame) bool {
	sym, _, ok := v.Module.Obj.Symtab.SymbolAt(v.PC.Lookup().File(v.Module.Bias))
	if !ok || !texts[sym.Name] {
		return false
	}
	s.add(f.Program.Char(), byPointer)
	return true
}

// texts are functions of the C library whose blocks are text.
var texts = map[string]bool{
	"strdup": true, "__strdup": true, "strndup": true, "__strndup": true, "vasprintf": true, "asprintf": true, "__asprintf": true, "__vasprintf_internal": true,
	"_ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE9_M_createERmm": true,
	"getline": true, "getdelim": true, "__getdelim": true, "_IO_getdelim": true, "realpath": true,
}

// flow prepares to follow a pointer in the function that a frame is in, nil if its code is not there.
func (f *Finder) flow(s *Site, v *values.Frame, plus bool) *flow {
	at := v.PC.Lookup().File(v.Module.Bias)
	fn, ok := v.Module.Obj.FunctionAt(at)
	if !ok || fn.High <= fn.Low || at < fn.Low || at >= fn.High {
		return nil
	}
	rows, err := v.Module.Obj.CFI()
	if err != nil || rows == nil {
		return nil
	}
	w := &flow{f: f, site: s, mod: v.Module, ctor: plus, low: fn.Low, high: min(fn.High, at+maxCode), rows: rows, outer: map[uint64]bool{}}
	w.low = max(fn.Low, at-min(at, maxCode))
	w.code = make([]byte, w.high-w.low)
	if !v.Module.Obj.File.ReadAddr(w.code, w.low) {
		return nil
	}
	for v.Inlined = range v.Levels() {
		if d, ok := v.Scope(); ok {
			w.outer[d.Off] = true
		}
	}
	return w
}

// global is the variable outside of functions around an address, nil if it is not known.
func (f *Finder) global(v *values.Frame, at addr.File) *values.Value {
	key := globalKey{v.Module.Obj, at}
	if x, ok := f.globals[key]; ok {
		return x
	}
	name := ""
	if sym, _, ok := v.Module.Obj.Symtab.SymbolAt(at); ok {
		name = sym.Name
	}
	if f.globals == nil || len(f.globals) >= maxGlobals {
		f.globals = map[globalKey]*values.Value{}
	}
	x := f.Program.GlobalAt(v, at, name)
	f.globals[key] = x
	return x
}

type globalKey struct {
	obj *symbols.Object
	at  addr.File
}

// maxGlobals bounds the global variables that are remembered.
const maxGlobals = 1 << 12

// declaredAtLine notes the pointers that are declared at the line of the call: what the compiler has
// optimized away still has a declaration.
func (f *Finder) declaredAtLine(s *Site, v *values.Frame) {
	chain := v.Module.Obj.Lookup(v.PC.Lookup().File(v.Module.Bias))
	for level := 0; level < v.Levels() && level < len(chain); level++ {
		v.Inlined = level
		if level > 0 && !f.hands(s, v, level-1) {
			break
		}
		locals, _ := f.Program.Locals(v)
		for i := range locals {
			if locals[i].Line != 0 && locals[i].Line == chain[level].Line {
				if to := Pointee(locals[i].Value.Type); to != nil {
					s.add(to, byLine)
				}
			}
		}
	}
	v.Inlined = 0
}

// hands reports whether the function at a level of the call, which is inlined, may return the block. The
// type that it declares to return is noted.
func (f *Finder) hands(s *Site, v *values.Frame, level int) bool {
	old := v.Inlined
	v.Inlined = level
	defer func() { v.Inlined = old }()
	fn, ok := v.Scope()
	if !ok {
		return false
	}
	t := f.Program.DeclaredType(v.Module, fn)
	if t == nil || t.Strip().Kind != values.Pointer {
		return false
	}
	if to := Pointee(t); to != nil {
		s.add(to, byLine)
	}
	return isVoidPointer(t) || textual(t.Strip().Elem())
}

// Fit is the type of a block that was allocated there, nil if none is known that fits.
func (s *Site) Fit(b Block) (best *Type) {
	score := 0
	for _, c := range s.candidates {
		t, n := s.fit(c, b)
		if t != nil && (best == nil || n < score) {
			best, score = t, n
		}
	}
	return best
}

// Counts tells that Fit wants to know how many elements a block was allocated for, if the program said so.
func (s *Site) Counts() bool { return s.shape == anyShape && len(s.candidates) > 0 && s.counted }
