package blocktype

import (
	"strings"

	"hdb/internal/addr"
	"hdb/symbols/demangle"
	"hdb/symbols/dwarf"
	"hdb/symbols/dwarf/scope"
	"hdb/unwind"
	"hdb/values"
)

// arguments notes the types of the parameters that a call of the function at target gives the
// block's address to. It returns true if the function does not return.
func (w *flow) arguments(target addr.File) (ends bool) {
	passed := -1 // the first argument that is the block
	for i, r := range argumentRegisters {
		if w.regs[r].isBlock() {
			passed = i
			break
		}
	}
	sym, off, named := w.mod.Obj.Symtab.SymbolAt(target)
	name := ""
	if named && off == 0 {
		name = strings.TrimSuffix(sym.Name, "@plt")
	}
	if noReturn[name] {
		return true
	}
	callee := &values.Frame{Module: w.mod, PC: addr.PC(target.Run(w.mod.Bias))}
	levels := callee.Levels()
	if levels == 0 {
		if passed == 0 && w.ctor {
			w.constructorNamed(name)
		}
		return false
	}
	callee.Inlined = levels - 1
	fn, _ := callee.Scope()
	if scope.Describe(fn).Noreturn {
		return true
	}
	first := w.regs[unwind.RDI]
	if passed < 0 && !(w.ctor && first.kind == inBlock && first.off > 0) {
		return false
	}
	args, _ := w.f.Program.Args(callee)
	w.parameters(fn, args)
	return false
}

// parameters notes the types of the parameters that are the block's address.
func (w *flow) parameters(fn dwarf.DIE, args []values.Variable) {
	for i := range args {
		t := args[i].Value.Type
		if i >= len(argumentRegisters) || t == nil || !inRegister(t) {
			return // where those behind it are is not known
		}
		v := w.regs[argumentRegisters[i]]
		this := i == 0 && args[i].Name == "this"
		switch {
		case this && w.ctor && v.kind == inBlock && isConstructor(fn, t):
			w.constructor(t, v.off)
		case v.isBlock():
			w.found(t)
		}
	}
}

// inRegister tells types that are passed in a general register.
func inRegister(t *values.Type) bool {
	switch s := t.Strip(); s.Kind {
	case values.Pointer, values.Reference, values.RvalueReference, values.Enum:
		return true
	case values.Base:
		const float, complex = 4, 3 // DW_ATE
		return s.Enc != float && s.Enc != complex && s.Size() <= 8
	}
	return false
}

// constructor notes the class of a constructor that is called with an address in the block. Where that
// call is a part of another constructor, which was inlined, it is that one's.
func (w *flow) constructor(this *values.Type, off int64) {
	class := Pointee(this)
	if outer := w.outermost(); outer != nil {
		class = outer
	}
	// Behind the block's beginning is a part of an object that was found before, or the first element of an array.
	if off == 0 || w.site.shape == cookieShape && off == max(8, alignment(class)) {
		w.site.add(class, byConstructor)
	}
}

// constructing notes the class of the inlined constructor that writes into the block.
func (w *flow) constructing() {
	if class := w.outermost(); class != nil {
		w.site.add(class, byConstructor)
	}
}

// outermost is the class of the outermost constructor that is inlined at the instruction, of those that the
// allocation does not belong to; nil without.
func (w *flow) outermost() (class *values.Type) {
	f := w.frameAt()
	for level := f.Levels() - 1; level >= 0; level-- {
		f.Inlined = level
		args, _ := w.f.Program.Args(f)
		if len(args) > 0 && args[0].Name == "this" {
			if t := w.constructed(level, args[0].Value.Type); t != nil {
				class = t
				break
			}
		}
	}
	f.Inlined = 0
	return class
}

func alignment(t *values.Type) int64 {
	if t == nil {
		return 0
	}
	return t.Alignment()
}

// constructed is the class whose constructor is inlined at a level of the instruction, nil if that is no
// constructor, or one that the allocation is a part of.
func (w *flow) constructed(level int, this *values.Type) *values.Type {
	f := w.frameAt()
	old := f.Inlined
	f.Inlined = level
	fn, ok := f.Scope()
	f.Inlined = old
	if !ok || w.outer[fn.Off] || !isConstructor(fn, this) {
		return nil
	}
	return Pointee(this)
}

// isConstructor tells a constructor by the name of its class.
func isConstructor(fn dwarf.DIE, this *values.Type) bool {
	class := Pointee(this)
	if class == nil {
		return false
	}
	name := scope.Describe(fn).Name
	return name != "" && cutTemplate(name) == lastName(class.Name)
}

// lastName is the name of a class without its namespaces and template arguments.
func lastName(name string) string {
	name = cutTemplate(name)
	return name[strings.LastIndexByte(name, ':')+1:]
}

func cutTemplate(name string) string {
	if i := strings.IndexByte(name, '<'); i >= 0 {
		return name[:i]
	}
	return name
}

// constructorNamed notes the class of a constructor of which only the linker's name is known.
func (w *flow) constructorNamed(linkage string) {
	if class := classOfConstructor(linkage); class != "" {
		if t := w.f.Program.Named(class); t != nil {
			w.site.add(t, byConstructor)
		}
	}
}

// noReturn are functions that do not return, as their declarations say.
var noReturn = map[string]bool{
	"abort": true, "exit": true, "_exit": true, "__stack_chk_fail": true, "_Unwind_Resume": true, "__cxa_throw": true, "__cxa_rethrow": true,
	"__assert_fail": true, "_ZSt17__throw_bad_allocv": true, "_ZSt20__throw_length_errorPKc": true, "__cxa_throw_bad_array_new_length": true,
	"longjmp": true, "siglongjmp": true, "err": true, "errx": true, "quick_exit": true, "pthread_exit": true, "_ZSt9terminatev": true,
}

// classOfConstructor is the class of a constructor by the linker's name of it (Itanium C++ ABI, section
// 5.1.4.3), "" for other functions.
func classOfConstructor(linkage string) string {
	if !strings.HasPrefix(linkage, "_ZN") || !strings.Contains(linkage, "C1") && !strings.Contains(linkage, "C2") {
		return ""
	}
	name := demangle.Bare(linkage)
	depth := 0
	for i := len(name) - 1; i > 0; i-- {
		switch name[i] {
		case '>', ')', ']', '}':
			depth++
		case '<', '(', '[', '{':
			depth--
		case ':':
			if depth == 0 && name[i-1] == ':' && name[i+1:] == lastName(name[:i-1]) {
				return name[:i-1]
			}
			if depth == 0 {
				return ""
			}
		}
	}
	return ""
}
