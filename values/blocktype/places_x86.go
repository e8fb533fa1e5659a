package blocktype

import (
	"golang.org/x/arch/x86/x86asm"

	"hdb/internal/addr"
	"hdb/unwind"
	"hdb/values"
)

// address is what an operand's address is known to be.
func (w *flow) address(m *x86asm.Mem) abstract {
	if m.Segment != 0 {
		return abstract{}
	}
	if m.Base == x86asm.RIP {
		return abstract{kind: atGlobal, off: int64(w.next) + m.Disp}
	}
	if m.Base == 0 && m.Index == 0 {
		return abstract{kind: atGlobal, off: m.Disp} // of a program that is not position-independent
	}
	base, whole, ok := register(m.Base)
	if !ok || !whole {
		if m.Base == 0 && m.Scale == 8 && m.Disp > 0 { // table[i]
			return abstract{kind: atGlobal, off: m.Disp}
		}
		return abstract{}
	}
	v := w.regs[base]
	if i, ok := w.scaled(m); ok && v.kind == unknown {
		v = i
		v.off += m.Disp
		v.indexed = true
		return v
	}
	switch {
	case w.row.CFA.Kind == unwind.Register && base == w.row.CFA.Reg:
		v = abstract{kind: inFrame, off: -w.row.CFA.Offset}
	case v.kind == unknown:
		v = w.variableIn(base)
	}
	if v.kind == unknown {
		return v
	}
	v.off += m.Disp
	if m.Index != 0 {
		return w.indexed(v, m)
	}
	return v
}

// indexed is the address of an element of an array of pointers: of the first, whose type all have.
func (w *flow) indexed(v abstract, m *x86asm.Mem) abstract {
	if v.kind != toType && v.kind != atGlobal || m.Scale != 8 && m.Scale != 1 {
		return abstract{}
	}
	v.indexed = true
	return v
}

// scaled is the typed address that is in the place of an index: the sum of two registers has it in either.
func (w *flow) scaled(m *x86asm.Mem) (v abstract, ok bool) {
	if m.Index == 0 || m.Scale != 1 {
		return v, false
	}
	r, whole, ok := register(m.Index)
	if !ok || !whole {
		return v, false
	}
	v = w.regs[r]
	return v, v.kind == toType
}

// elementAt is the type of a member at an offset of a value of type t, or of another element of the array that
// it is in: compilers add a part of the offset to the index. It is nil where that may be of another member.
func elementAt(t *values.Type, off int64) *values.Type {
	size := t.Size()
	_, typ := Member(t, off%size)
	s := t.Strip()
	if s.Kind != values.Struct {
		return typ
	}
	fields := s.Fields()
	for i := range fields {
		f := &fields[i]
		if f.Static || f.Type == nil {
			continue
		}
		switch a := f.Type.Strip(); a.Kind {
		case values.Array:
			if row := a.Row(); row.Strip().Kind == values.Struct || row.Size() == 8 && (typ == nil || row.Strip() != typ.Strip()) {
				return nil
			}
		case values.Struct:
			return nil
		}
	}
	return typ
}

// reallocated notes the type of the pointer that realloc is given, at its call.
func (w *flow) reallocated(call addr.File) {
	v := w.regs[unwind.RDI]
	if v.kind == unknown && w.pc < call {
		w.frame = nil
		v = w.variableIn(unwind.RDI)
	}
	if v.kind == toType && v.off == 0 {
		w.old = v.typ
	}
}

// load is what is at an operand.
func (w *flow) load(m *x86asm.Mem) abstract {
	at := w.address(m)
	switch at.kind {
	case inFrame:
		if v, ok := w.slots[at.off]; ok {
			return v
		}
	case inBlock, unknown:
		return abstract{}
	}
	return pointing(w.typeAt(at))
}

// pointing is a pointer of type t.
func pointing(t *values.Type) abstract {
	if to := Pointee(t); to != nil {
		return abstract{kind: toType, typ: to}
	}
	return abstract{}
}

// store writes an operand.
func (w *flow) store(m *x86asm.Mem, v abstract, size int64) {
	at := w.address(m)
	if at.kind == inBlock && w.ctor {
		w.constructing()
	}
	switch {
	case !v.isBlock():
	case at.kind == inFrame:
		w.spilled, w.spilledAt = true, at.off
	default:
		if t := w.typeAt(at); t != nil {
			w.found(t)
		}
	}
	if at.kind != inFrame {
		return
	}
	for off := range w.slots {
		if off < at.off+max(size, 1) && at.off < off+8 {
			delete(w.slots, off)
		}
	}
	if size == 8 {
		w.slots[at.off] = v
		if v.kind == inBlock {
			w.changed = 3
		}
	}
}

// found notes the type of a pointer that the block's address is given to.
func (w *flow) found(t *values.Type) {
	if to := Pointee(t); to != nil {
		w.site.add(to, byPointer)
	}
}

// typeAt is the type of what is at an address, nil if it is not known.
func (w *flow) typeAt(at abstract) (typ *values.Type) {
	switch at.kind {
	case toType:
		size := at.typ.Size()
		if at.off < 0 || size <= 0 {
			return nil
		}
		if at.indexed {
			return elementAt(at.typ, at.off)
		}
		_, typ = Member(at.typ, at.off%size)
	case inFrame:
		w.variables(func(level int, v *values.Variable) bool {
			if low, ok := v.Value.Addr(); ok && v.Value.Type != nil {
				if off := at.off - int64(low-fakeCFA); off >= 0 && off < v.Value.Type.Size() {
					_, typ = Member(v.Value.Type, off)
				}
			}
			return typ == nil
		})
	case atGlobal:
		if v := w.f.global(w.frameAt(), addr.File(at.off)); v != nil {
			low, _ := v.Addr()
			_, typ = Member(v.Type, int64(addr.File(at.off)-low.File(w.mod.Bias)))
		}
	}
	return typ
}

// frameAt is the frame at the instruction. Of its registers only that is known which the canonical
// frame address is computed from.
func (w *flow) frameAt() *values.Frame {
	if w.frame == nil {
		w.frame = &values.Frame{Module: w.mod, PC: addr.PC(w.pc.Run(w.mod.Bias)), CFA: fakeCFA}
		if cfa := w.row.CFA; cfa.Kind == unwind.Register && cfa.Reg < unwind.RIP {
			w.frame.Regs.Set(cfa.Reg, uint64(fakeCFA-cfa.Offset))
		}
	}
	return w.frame
}

// variables visits the variables and parameters at the instruction, of the innermost function first,
// until visit returns false.
func (w *flow) variables(visit func(level int, v *values.Variable) bool) {
	f := w.frameAt()
	defer func() { f.Inlined = 0 }()
	for f.Inlined = 0; f.Inlined < f.Levels(); f.Inlined++ {
		locals, _ := w.f.Program.Locals(f)
		args, _ := w.f.Program.Args(f)
		for i := range locals {
			if !visit(f.Inlined, &locals[i]) {
				return
			}
		}
		for i := range args {
			if !visit(f.Inlined, &args[i]) {
				return
			}
		}
	}
}

// variableIn is what the variable that is in a register has.
func (w *flow) variableIn(r unwind.Reg) (out abstract) {
	w.variables(func(level int, v *values.Variable) bool {
		if reg, ok := v.Value.Register(); ok && reg == r {
			out = pointing(v.Value.Type)
		}
		return out.kind == unknown
	})
	return out
}

// askVariables notes the types of variables that have the block's address, in a register.
func (w *flow) askVariables() {
	class, outermost := (*values.Type)(nil), -1
	w.variables(func(level int, v *values.Variable) bool {
		r, ok := v.Value.Register()
		if !ok || r >= unwind.RIP || !w.regs[r].isBlock() {
			return true
		}
		if v.Name == "this" && w.ctor {
			if t := w.constructed(level, v.Value.Type); t != nil {
				class, outermost = t, level
				return true
			}
		}
		w.found(v.Value.Type)
		return true
	})
	if outermost >= 0 {
		w.site.add(class, byConstructor)
	}
}
