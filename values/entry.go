package values

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"slices"

	"hdb/symbols/dwarf"
	"hdb/symbols/dwarf/scope"
	"hdb/unwind/dwop"
)

// EntryValue implements dwop.Variables. The expression usually is a register. The call site
// in the caller says what was passed in it (DWARF 5, section 2.5.1.7).
func (l *locator) EntryValue(expr []byte) (dwop.Num, error) {
	if len(expr) == 0 {
		return dwop.Num{}, errors.New("expression with an empty entry value")
	}
	want, isReg := l.asRegister(expr)
	v, err := l.fromCallSite(func(p dwarf.DIE) bool {
		at, ok := p.Attr(dwarf.AtLocation)
		if !ok || !isReg {
			return ok && bytes.Equal(at.Block(), expr)
		}
		have, ok := l.asRegister(at.Block())
		return ok && have.reg == want.reg
	})
	switch {
	case err != nil || want.size == 0:
		return v, err
	case want.size > v.Size:
		return v, errLost // what the rest of the register was is not told
	}
	return v.As(want.enc, want.size), nil
}

// atEntry is a parameter as the caller passed it, which gdb writes n@entry.
func (l lookup) atEntry(name string) (Value, error) {
	s, err := l.f.scope()
	if err != nil {
		return Value{}, err
	}
	var param dwarf.DIE
	fn := s.Blocks[len(s.Blocks)-1]
	eachChild(fn, func(d dwarf.DIE) {
		if d.Tag() == dwarf.TagFormalParameter && scope.Describe(d).Name == name {
			param = d
		}
	})
	switch {
	case !param.Valid():
		return Value{}, fmt.Errorf("%s@entry: %s is not an argument of this function: see info args", name, name)
	case fn.Off != s.Physical.Off:
		return Value{}, fmt.Errorf("%s@entry: the call is inlined, and passed no arguments: use up to select its caller", name)
	}
	m := l.prog.module(l.f.Module)
	in := locator{mod: m, frame: l.f, unit: param.Unit, steps: new(int)}
	t := m.declaredType(param)
	at, ok := entryOf(s.Physical)
	place, has := param.Attr(dwarf.AtLocation)
	if !ok || !has {
		return LostValue(t, errLost), nil
	}
	expr, ok := param.Unit.EntryLocation(place, m.sections(), at)
	if !ok || len(expr) > maxEntry || !isRegister(expr) {
		return LostValue(t, errLost), nil
	}
	// What the register had that the parameter was in.
	pieces, err := in.locate(slices.Concat([]byte{dwop.EntryValue, byte(len(expr))}, expr, []byte{dwop.StackValue}))
	if err != nil {
		return LostValue(t, err), nil
	}
	return in.assemble(t, pieces), nil
}

// isRegister reports whether an expression says that a value is in a register.
func isRegister(expr []byte) bool {
	return len(expr) == 1 && expr[0] >= dwop.Reg0 && expr[0] <= dwop.Reg31 || len(expr) > 1 && expr[0] == dwop.Regx
}

// maxEntry bounds the expression of a register, so that its length is one byte of LEB128.
const maxEntry = 127

// A typedRegister is a register and the base type of its value. Size 0 means no type.
type typedRegister struct {
	reg       uint64
	enc, size uint8
}

// asRegister is the register that an expression names. Call sites use DW_OP_reg, some
// producers DW_OP_breg with offset 0, and gcc DW_OP_regval_type for floating point.
func (l *locator) asRegister(expr []byte) (r typedRegister, ok bool) {
	b := dwarf.NewBuf(expr, 0)
	offset := int64(0)
	switch op := b.U8(); {
	case op >= dwop.Reg0 && op <= dwop.Reg31:
		r.reg = uint64(op - dwop.Reg0)
	case op == dwop.Regx:
		r.reg = b.Uleb()
	case op >= dwop.Breg0 && op <= dwop.Breg31:
		r.reg, offset = uint64(op-dwop.Breg0), b.Sleb()
	case op == dwop.Bregx:
		r.reg, offset = b.Uleb(), b.Sleb()
	case op == dwop.RegvalType || op == dwop.GNURegvalType:
		r.reg = b.Uleb()
		off := b.Uleb()
		if off == 0 {
			r.size = 8
			break
		}
		enc, size, err := l.BaseType(off)
		if err != nil || size > 8 || enc > math.MaxUint8 {
			return r, false
		}
		r.enc, r.size = uint8(enc), uint8(size)
	default:
		return r, false
	}
	return r, !b.Bad() && b.Len() == 0 && offset == 0
}

// Parameter implements dwop.Variables. The call site has the value of a parameter that was
// optimized away (GNU extension).
func (l *locator) Parameter(offset uint64) (dwop.Num, error) {
	target := l.unit.Off + offset
	return l.fromCallSite(func(p dwarf.DIE) bool {
		v, _ := p.First(dwarf.AtCallParameter, dwarf.AtAbstractOrigin)
		data, ref, ok := v.RefOffset()
		return ok && data == l.unit.Data && ref == target
	})
}

// fromCallSite computes the argument that the caller passed for the parameter that match
// selects.
func (l *locator) fromCallSite(match func(dwarf.DIE) bool) (dwop.Num, error) {
	if l.frame == nil || l.frame.Caller == nil {
		return dwop.Num{}, errLost
	}
	caller := l.frame.Caller()
	if caller == nil {
		return dwop.Num{}, errLost
	}
	site, ok := l.callSite(caller)
	if !ok {
		return dwop.Num{}, errLost
	}
	w := site.Walk()
	for w.Next() {
		p := w.DIE
		if tag := p.Tag(); tag != dwarf.TagCallSiteParam && tag != dwarf.TagGNUCallSiteParm || !match(p) {
			continue
		}
		v, ok := p.First(dwarf.AtCallValue, dwarf.AtGNUCallSiteVal)
		if !ok {
			return dwop.Num{}, errLost
		}
		return l.inCaller(caller, p.Unit, v.Block())
	}
	return dwop.Num{}, errLost
}

// inCaller computes an expression in the caller's frame.
func (l *locator) inCaller(caller *Frame, unit *dwarf.Unit, expr []byte) (dwop.Num, error) {
	in, err := l.inner(caller)
	if err != nil {
		return dwop.Num{}, err
	}
	in.mod, in.unit = l.mod.prog.module(caller.Module), unit
	return in.value(expr)
}

// callSite is the entry of the call that the caller is in. One that names another
// function is none: that function jumped to this one, with other arguments.
func (l *locator) callSite(caller *Frame) (dwarf.DIE, bool) {
	cs, err := caller.scope()
	if err != nil || len(caller.scopes) == 0 {
		return dwarf.DIE{}, false
	}
	ours, err := l.frame.scope()
	if err != nil {
		return dwarf.DIE{}, false
	}
	site, ok := callSiteAt(cs.Physical, uint64(caller.PC.Addr().File(caller.Module.Bias)))
	return site, ok && l.calls(site, caller, ours.Physical)
}

// callSiteAt is the entry of the call that returns to the file address ret.
func callSiteAt(fn dwarf.DIE, ret uint64) (dwarf.DIE, bool) {
	w := fn.Walk()
	for w.Next() {
		tag := w.DIE.Tag()
		if tag != dwarf.TagCallSite && tag != dwarf.TagGNUCallSite {
			continue
		}
		at, ok := w.DIE.First(dwarf.AtCallReturnPC, dwarf.AtLowPC)
		if a, isAddr := at.Addr(); ok && isAddr && a == ret {
			return w.DIE, true
		}
	}
	return dwarf.DIE{}, false
}

// calls reports whether a call site is a call of fn.
func (l *locator) calls(site dwarf.DIE, caller *Frame, fn dwarf.DIE) bool {
	if v, ok := site.First(dwarf.AtCallOrigin, dwarf.AtAbstractOrigin); ok {
		return sameFunction(v.Ref(), fn)
	}
	if v, ok := site.First(dwarf.AtCallTarget, dwarf.AtGNUCallTarget); ok {
		r, err := l.inCaller(caller, site.Unit, v.Block())
		if err != nil {
			return false
		}
		a, ok := entryOf(fn)
		return ok && a+uint64(l.mod.Bias) == r.V
	}
	return false
}

// sameFunction follows abstract origins and specifications of both; a declaration of
// another unit is known by its linkage name.
func sameFunction(a, b dwarf.DIE) bool {
	names := map[typeKey]bool{}
	linkage := map[string]bool{}
	visit := func(d dwarf.DIE, f func(dwarf.DIE)) {
		for hop := 0; d.Valid() && hop < maxHops; hop++ {
			f(d)
			d = origin(d)
		}
	}
	name := func(d dwarf.DIE) string {
		v, _ := d.First(dwarf.AtLinkageName, dwarf.AtName)
		return string(v.Str())
	}
	visit(a, func(d dwarf.DIE) {
		names[typeKey{d.Unit.Data, d.Off}] = true
		if n := name(d); n != "" && d.Has(dwarf.AtExternal) {
			linkage[n] = true
		}
	})
	same := false
	visit(b, func(d dwarf.DIE) {
		same = same || names[typeKey{d.Unit.Data, d.Off}] || linkage[name(d)]
	})
	return same
}
