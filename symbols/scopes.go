package symbols

import (
	"slices"

	"hdb/internal/addr"
	"hdb/internal/panics"
	"hdb/symbols/dwarf"
	"hdb/symbols/dwarf/scope"
	"hdb/symbols/elf"
)

// A Scope is what one frame of the chain at an address can name: the entries
// whose children are its variables.
type Scope struct {
	// Blocks are the entries around the address, innermost first: lexical blocks and
	// last the function, or the inlined copy.
	Blocks []dwarf.DIE
	// Physical is the function with code of its own, whose DW_AT_frame_base holds.
	Physical dwarf.DIE
	Language Language
}

// Scopes lists the scopes at a as Lookup lists the frames: innermost first. For a
// return address ask for the byte before.
func (d *DWARF) Scopes(a addr.File) []Scope {
	var out []Scope
	elf.Guard(func() {
		dw, unit := d.dwarfAt(a)
		if dw == nil {
			return
		}
		tree := dw.tree(unit)
		var s Scope
		for i := tree.At(uint64(a)); i >= 0; i = tree.Nodes[i].Parent {
			n := &tree.Nodes[i]
			e := tree.Unit.DIE(n.Off)
			s.Blocks = append(s.Blocks, e)
			if n.Kind == scope.Block {
				continue
			}
			s.Language = languageOf(dw.nodeName(unit, i), tree.Unit)
			out = append(out, s)
			s = Scope{}
			if n.Kind == scope.Function {
				for j := range out {
					out[j].Physical = e
				}
				return
			}
		}
	})
	return out
}

// Guard runs fn, which reads entries of an object, and ends it early with an error
// when the object's file is cut meanwhile.
func Guard(fn func()) error { return elf.Guard(fn) }

// Declared indexes what is declared outside of functions: variables, types and
// enumerators, by the last part of their names.
type Declared struct {
	variables, types, unplaced map[string][]dwarf.DIE
}

// Variables are the variables of that last name part; declarations are left out.
func (d *Declared) Variables(name string) []dwarf.DIE { return d.variables[name] }

// Unplaced are the variables of that last name part which have no place here: those
// that were optimized out, and for each unit's first such name the declaration of one
// that another object or language defines (DW_AT_declaration tells which).
func (d *Declared) Unplaced(name string) []dwarf.DIE { return d.unplaced[name] }

// Types are the types of that last name part, as in DW_AT_name; declarations are left out.
func (d *Declared) Types(name string) []dwarf.DIE { return d.types[name] }

// VariablesLike are the variables whose last name part is accepted.
func (d *Declared) VariablesLike(accept func(name string) bool) []dwarf.DIE {
	var out []dwarf.DIE
	for n, list := range d.variables {
		if accept(n) {
			out = append(out, list...)
		}
	}
	return out
}

// TypesLike are the types whose last name part is accepted.
func (d *Declared) TypesLike(accept func(name string) bool) []dwarf.DIE {
	var out []dwarf.DIE
	for n, list := range d.types {
		if accept(n) {
			out = append(out, list...)
		}
	}
	return out
}

func newDeclared() *Declared {
	return &Declared{variables: map[string][]dwarf.DIE{}, types: map[string][]dwarf.DIE{}, unplaced: map[string][]dwarf.DIE{}}
}

// NewDeclared scans units. Entries inside of functions are passed over.
func NewDeclared(units []*dwarf.Unit, workers int) *Declared {
	all := newDeclared()
	parts := make([]*Declared, len(units))
	next := make(chan int, len(units))
	for i := range units {
		next <- i
	}
	close(next)
	var wg panics.Group
	for range max(workers, 1) {
		wg.Go(func() {
			for i := range next {
				elf.Guard(func() { parts[i] = declaredIn(units[i]) })
			}
		})
	}
	wg.Wait()
	for _, p := range parts {
		if p == nil {
			continue
		}
		for n, list := range p.variables {
			all.variables[n] = append(all.variables[n], list...)
		}
		for n, list := range p.types {
			all.types[n] = append(all.types[n], list...)
		}
		for n, list := range p.unplaced {
			all.unplaced[n] = append(all.unplaced[n], list...)
		}
	}
	return all
}

// addEnumerators adds the names of an enum's values.
func (d *Declared) addEnumerators(enum dwarf.DIE) {
	if enum.Tag() != dwarf.TagEnumerationType {
		return
	}
	w := enum.Walk()
	for w.Next() {
		if v, ok := w.DIE.Attr(dwarf.AtName); ok && w.DIE.Tag() == dwarf.TagEnumerator {
			d.variables[string(v.Str())] = append(d.variables[string(v.Str())], w.DIE)
		}
	}
}

func (d *Declared) addUnplaced(e dwarf.DIE) {
	name := scope.Describe(e).Name
	if name == "" || e.Has(dwarf.AtDeclaration) && len(d.unplaced[name]) > 0 {
		return
	}
	d.unplaced[name] = append(d.unplaced[name], e)
}

func declaredIn(u *dwarf.Unit) *Declared {
	d := newDeclared()
	w := u.Walk()
	class := -1 // depth of the class around
	var constants []dwarf.DIE
	for w.Next() {
		e := w.DIE
		if w.Depth <= class {
			class = -1
		}
		switch e.Tag() {
		case dwarf.TagStructureType, dwarf.TagClassType, dwarf.TagUnionType:
			if class < 0 {
				class = w.Depth
			}
		}
		switch e.Tag() {
		case dwarf.TagSubprogram, dwarf.TagArrayType, dwarf.TagSubroutineType, dwarf.TagLexicalBlock, dwarf.TagInlinedSubroutine:
			w.SkipChildren()
		case dwarf.TagVariable:
			if e.Has(dwarf.AtDeclaration) || !e.Has(dwarf.AtLocation) && !e.Has(dwarf.AtConstValue) {
				if class < 0 && e.Has(dwarf.AtConstValue) {
					constants = append(constants, e)
				} else if class < 0 { // static members have their class for a place
					d.addUnplaced(e)
				}
				continue
			}
			if name := scope.Describe(e).Name; name != "" {
				d.variables[name] = append(d.variables[name], e)
			}
		case dwarf.TagStructureType, dwarf.TagClassType, dwarf.TagUnionType, dwarf.TagEnumerationType, dwarf.TagTypedef, dwarf.TagBaseType:
			full := e
			if v, ok := e.Attr(dwarf.AtSignature); ok {
				full = v.Ref() // what a type unit has
				d.addEnumerators(full)
			} else if e.Has(dwarf.AtDeclaration) {
				continue
			}
			if v, ok := full.Attr(dwarf.AtName); ok {
				name := string(v.Str())
				d.types[name] = append(d.types[name], e)
			}
		case dwarf.TagEnumerator:
			if v, ok := e.Attr(dwarf.AtName); ok {
				name := string(v.Str())
				d.variables[name] = append(d.variables[name], e)
			}
		}
	}
	d.addConstants(constants)
	return d
}

// addConstants adds the declarations that have their value with them, as g++ writes a
// constant of a namespace. One that is defined with a place is known by its definition.
func (d *Declared) addConstants(list []dwarf.DIE) {
	for _, e := range list {
		name := scope.Describe(e).Name
		defines := func(v dwarf.DIE) bool {
			n := scope.Describe(v).Named
			return n.Valid() && n.Unit == e.Unit && n.Off == e.Off
		}
		if name != "" && !slices.ContainsFunc(d.variables[name], defines) {
			d.variables[name] = append(d.variables[name], e)
		}
	}
}
