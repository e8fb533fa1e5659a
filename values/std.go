package values

import "hdb/symbols/dwarf"

// templateType is the type that a template parameter stands for, nil without.
func (t *Type) templateType(name string) *Type {
	t = t.complete()
	w := t.die.Walk()
	for w.Next() {
		if w.Depth == 1 && w.DIE.Tag() == dwarf.TagTemplateType {
			if n, _ := w.DIE.Attr(dwarf.AtName); string(n.Str()) == name {
				return t.mod.typeOf(t.w, w.DIE)
			}
		}
		w.SkipChildren()
	}
	return nil
}

// library writes a container of a C++ library as what it holds; false when t is none.
func (p *formatter) library(v Value, t *Type) bool { return false }

// smart is the pointer in a smart pointer.
func (w *World) smart(v Value) (Value, bool) { return Value{}, false }

// element is an element of a container.
func (w *World) element(v Value, i int64) (Value, bool) { return Value{}, false }
