package values

import (
	"strings"

	"hdb/internal/addr"
	"hdb/symbols/dwarf"
	"hdb/symbols/dwarf/scope"
	"hdb/unwind"
)

// Register is the register that the value is the whole of, false if it is elsewhere.
func (v Value) Register() (unwind.Reg, bool) {
	return v.reg, v.place == inRegister && v.regOff == 0 && v.err == nil
}

// DeclaredType is the type that an entry of a module, a variable, parameter or function, is declared
// with; nil if it has none.
func (p *Program) DeclaredType(m Module, d dwarf.DIE) *Type {
	t := p.module(m).declaredType(d)
	if t.untyped {
		return nil
	}
	return t
}

// TypeAt is the type that an entry of a module describes.
func (p *Program) TypeAt(m Module, d dwarf.DIE) *Type { return p.module(m).typeAt(d) }

// Scope is the entry of the function that the frame is of, inlined or not; not valid without debug
// information.
func (f *Frame) Scope() (function dwarf.DIE, ok bool) {
	s, err := f.scope()
	if err != nil {
		return dwarf.DIE{}, false
	}
	return s.Blocks[len(s.Blocks)-1], true
}

// Levels is how many frames the code of the frame represents, inlined calls included.
func (f *Frame) Levels() int {
	if _, err := f.scope(); err != nil {
		return 0
	}
	return len(f.scopes)
}

// GlobalAt is the variable outside of functions that lies around an address of a module, as the unit of
// the frame's code declares it; nil if it declares none. name is the linker's.
func (p *Program) GlobalAt(f *Frame, at addr.File, name string) *Value {
	s, err := f.scope()
	if err != nil {
		return nil
	}
	m := p.module(f.Module)
	var named *Value
	w := s.Physical.Unit.Walk()
	for w.Next() {
		switch w.DIE.Tag() {
		case dwarf.TagVariable:
			v := m.valueOf(nil, w.DIE)
			if a, ok := v.Addr(); ok && v.Type != nil {
				if low := a.File(m.Bias); low <= at && at-low < addr.File(max(v.Type.Size(), 1)) {
					return &v
				}
				continue
			}
			if desc := scope.Describe(w.DIE); name != "" && (desc.Linkage == name || desc.Linkage == "" && desc.Name == name) && named == nil {
				v := MemoryValue(m.declaredType(w.DIE), at.Run(m.Bias))
				named = &v
			}
			w.SkipChildren()
		case dwarf.TagCompileUnit, dwarf.TagNamespace, dwarf.TagClassType, dwarf.TagStructureType:
		default:
			w.SkipChildren()
		}
	}
	return named
}

// VariableAt is the variable outside of functions that has the byte at an address, by the name of the
// symbol there; nil if the module's debug information has none.
func (p *Program) VariableAt(m Module, name string, at addr.Run) *Value {
	mod := p.module(m)
	for _, d := range mod.placed(name) {
		if d.Tag() != dwarf.TagVariable {
			continue
		}
		v := mod.valueOf(nil, d)
		if low, ok := v.Addr(); ok && v.Type != nil && low <= at && uint64(at-low) < uint64(max(v.Type.Size(), 1)) {
			return &v
		}
	}
	return nil
}

// Destroyed reports whether objects of the type have a destructor that does something, as far as
// debug information tells.
func (t *Type) Destroyed() bool { return t.destroyed(0) }

func (t *Type) destroyed(depth int) bool {
	s := t.Strip()
	for ; s.Kind == Array && depth < maxTypeDepth; depth++ {
		s = s.Elem().Strip()
	}
	if s.Kind != Struct || !s.die.Valid() || depth > maxDepth {
		return false
	}
	const inClass = 1 // DW_DEFAULTED_in_class
	for d := range children(s.die) {
		if d.Tag() != dwarf.TagSubprogram || !strings.HasPrefix(nameOf(d), "~") || d.Has(dwarf.AtArtificial) || d.Has(dwarf.AtDeleted) {
			continue
		}
		if v, _ := d.Attr(dwarf.AtDefaulted); v.Uint() != inClass {
			return true
		}
		if v, ok := d.Attr(dwarf.AtVirtuality); ok && v.Uint() != 0 {
			return true
		}
	}
	for _, f := range s.Fields() {
		if !f.Static && f.Type.destroyed(depth+1) {
			return true
		}
	}
	return false
}

// Element is the type of the elements of an allocator or container class: the type that it declares as
// value_type, else the first argument of its template; nil without.
func (t *Type) Element() *Type {
	s := t.Strip()
	if s.Kind != Struct || !s.die.Valid() {
		return nil
	}
	if v := s.Nested("value_type"); v != nil {
		return v
	}
	for d := range children(s.die) {
		if d.Tag() == dwarf.TagTemplateType {
			return s.mod.typeOf(d)
		}
	}
	return nil
}
