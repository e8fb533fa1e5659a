package symbols

import (
	"cmp"

	"hdb/internal/addr"
	"hdb/symbols/dwarf"
	"hdb/symbols/dwarf/scope"
	"hdb/symbols/elf"
)

// A CallSite is a call, or a jump that leaves the function (a tail call), as DWARF 5
// section 3.4 and the GNU extension before it describe them.
type CallSite struct {
	Return addr.File // the byte behind the instruction; 0 unknown
	PC     addr.File // the instruction; 0 unknown. LLVM gives it for tail calls, instead
	Tail   bool
	// What is called: the entry point of a function of this object, or the linkage name of
	// one that is defined elsewhere. Neither is known of an indirect call.
	Entry addr.File
	Name  string
}

// CallSites lists the call sites of the function with code at a, those in inlined copies
// included, and its entry point. ok is false where DWARF has no function.
func (d *DWARF) CallSites(a addr.File) (entry addr.File, sites []CallSite, ok bool) {
	elf.Guard(func() {
		dw, unit := d.dwarfAt(a)
		if dw == nil {
			return
		}
		tree := dw.tree(unit)
		i := tree.At(uint64(a))
		for i >= 0 && tree.Nodes[i].Kind != scope.Function {
			i = tree.Nodes[i].Parent
		}
		if i < 0 {
			return
		}
		n := &tree.Nodes[i]
		entry, sites, ok = addr.File(n.Entry), dw.callSites(tree.Unit.DIE(n.Off)), true
	})
	return entry, sites, ok
}

func (d *debugInfo) callSites(fn dwarf.DIE) []CallSite {
	var out []CallSite
	w := fn.Walk()
	for w.Next() {
		switch w.DIE.Tag() {
		case dwarf.TagSubprogram: // a nested function
			w.SkipChildren()
		case dwarf.TagCallSite, dwarf.TagGNUCallSite:
			out = append(out, d.callSite(w.DIE))
		}
	}
	return out
}

func (d *debugInfo) callSite(e dwarf.DIE) CallSite {
	s := CallSite{Tail: flag(e, dwarf.AtCallTailCall) || flag(e, dwarf.AtGNUTailCall)}
	if v, ok := e.First(dwarf.AtCallReturnPC, dwarf.AtLowPC); ok {
		a, _ := v.Addr()
		s.Return = addr.File(a)
	}
	if v, ok := e.Attr(dwarf.AtCallPC); ok {
		a, _ := v.Addr()
		s.PC = addr.File(a)
	}
	if v, ok := e.First(dwarf.AtCallOrigin, dwarf.AtAbstractOrigin); ok {
		s.Entry, s.Name = d.called(v.Ref())
	}
	return s
}

// called is the function that the entry fn means: its code, or its linkage name when it
// is only declared. Neither is known when several copies of it have code.
func (d *debugInfo) called(fn dwarf.DIE) (entry addr.File, name string) {
	if !fn.Valid() {
		return 0, ""
	}
	if fn.HasCode() {
		if r := fn.Ranges(nil, 1); len(r) > 0 {
			return addr.File(r[0].Low), ""
		}
	}
	// Link-time optimization makes copies of declarations for other units.
	if flag(fn, dwarf.AtDeclaration) || fn.Has(dwarf.AtAbstractOrigin) {
		if desc := scope.Describe(fn); desc.External {
			return 0, cmp.Or(desc.Linkage, desc.Name)
		}
		return 0, ""
	}
	code := d.instancesOf(fn)
	if len(code) != 1 {
		return 0, ""
	}
	return code[0], ""
}

// instancesOf are the entry points of the functions in fn's unit whose abstract origin
// fn is.
func (d *debugInfo) instancesOf(fn dwarf.DIE) []addr.File {
	unit, ok := d.index[fn.Unit]
	if !ok {
		return nil
	}
	p := &d.parts[unit]
	p.instOnce.Do(func() {
		p.instances = map[uint64][]addr.File{}
		tree := d.tree(unit)
		for i := range tree.Nodes {
			n := &tree.Nodes[i]
			if n.Kind != scope.Function {
				continue
			}
			if v, ok := tree.Unit.DIE(n.Off).Attr(dwarf.AtAbstractOrigin); ok {
				if of := v.Ref(); of.Unit == fn.Unit {
					p.instances[of.Off] = append(p.instances[of.Off], addr.File(n.Entry))
				}
			}
		}
	})
	return p.instances[fn.Off]
}

func flag(e dwarf.DIE, at dwarf.At) bool {
	v, ok := e.Attr(at)
	return ok && v.Flag()
}
