package blocktype

import (
	"strings"

	"hdb/symbols/dwarf"
	"hdb/symbols/dwarf/scope"
	"hdb/values"
)

// template finds the type that an allocating template of a library is for, in the functions that a frame
// represents, innermost first.
func (f *Finder) template(s *Site, v *values.Frame) bool {
	for v.Inlined = 0; v.Inlined < v.Levels(); v.Inlined++ {
		fn, ok := v.Scope()
		if !ok {
			break
		}
		desc := scope.Describe(fn)
		var t *values.Type
		var sh shape
		if languageOf(fn) == dwarf.LangRust {
			t, sh = f.rustTemplate(v, fn, desc)
		} else {
			t, sh = f.plusTemplate(v, fn, desc)
		}
		if t != nil && t.Size() > 0 {
			s.shape, s.candidates = sh, nil
			s.add(t, byTemplate)
			return true
		}
	}
	return false
}

func languageOf(d dwarf.DIE) dwarf.Language {
	root, err := d.Unit.Load()
	if err != nil {
		return 0
	}
	return root.Language
}

// plusTemplate is the type that a function of C++ allocates: the member function allocate of
// an allocator class, or make_unique.
func (f *Finder) plusTemplate(v *values.Frame, fn dwarf.DIE, desc scope.Desc) (*values.Type, shape) {
	if strings.HasPrefix(desc.Linkage, "_ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE") {
		return f.Program.Char(), arrayShape
	}
	switch cutTemplate(desc.Name) {
	case "allocate":
		args, _ := f.Program.Args(v)
		if len(args) == 0 || args[0].Name != "this" {
			return nil, 0
		}
		class := Pointee(args[0].Value.Type)
		if class == nil {
			return nil, 0
		}
		return class.Element(), arrayShape
	case "make_unique", "make_unique_for_overwrite":
		t := f.argument(v, fn, "")
		if t == nil {
			return nil, 0
		}
		if s := t.Strip(); s.Kind == values.Array && s.Count() < 0 {
			return s.Elem(), cookieShape
		}
		return t, oneShape
	}
	return nil, 0
}

// rustTemplate is the type that a function of Rust's library allocates.
func (f *Finder) rustTemplate(v *values.Frame, fn dwarf.DIE, desc scope.Desc) (*values.Type, shape) {
	name := v.Module.Obj.DWARF.Qualified(desc.Named, desc.Name)
	switch {
	case strings.HasPrefix(name, "alloc::raw_vec::") || strings.HasPrefix(name, "alloc::vec::"):
		return f.argument(v, fn, "T"), arrayShape
	case strings.HasPrefix(name, "alloc::boxed::"):
		return f.argument(v, fn, "T"), oneShape
	}
	return nil, 0
}

// ofRustLibrary tells the functions of Rust's library that allocate for others.
func (f *Finder) ofRustLibrary(v *values.Frame, fn dwarf.DIE) bool {
	desc := scope.Describe(fn)
	name := v.Module.Obj.DWARF.Qualified(desc.Named, desc.Name)
	for _, crate := range [...]string{"alloc::", "core::", "std::", "__rustc::"} {
		if strings.HasPrefix(name, crate) {
			return true
		}
	}
	return strings.HasPrefix(desc.Name, "__rust") || strings.HasPrefix(desc.Name, "__rdl")
}

// argument is the type of a template parameter of a function: the first one if name is "".
func (f *Finder) argument(v *values.Frame, fn dwarf.DIE, name string) *values.Type {
	for d, hop := fn, 0; d.Valid() && hop < 4; hop++ {
		w := d.Walk()
		for w.Next() {
			if w.DIE.Tag() == dwarf.TagTemplateType {
				n, _ := w.DIE.Attr(dwarf.AtName)
				if name == "" || string(n.Str()) == name {
					return f.Program.DeclaredType(v.Module, w.DIE)
				}
			}
			w.SkipChildren()
		}
		ref, ok := d.First(dwarf.AtAbstractOrigin, dwarf.AtSpecification)
		if !ok {
			break
		}
		d = ref.Ref()
	}
	return nil
}
