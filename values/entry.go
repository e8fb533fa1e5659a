package values

import (
	"bytes"
	"errors"

	"hdb/symbols/dwarf"
	"hdb/unwind/dwop"
)

// entryValue pushes what an expression, mostly a register, was when the function was
// entered: the caller's call site tells what it passed (section 2.5.1.7).
func (m *machine) entryValue(expr []byte) error {
	if len(expr) == 0 {
		return errors.New("DWARF expression: empty entry value")
	}
	want, isReg := m.asRegister(expr)
	v, err := m.fromCallSite(func(p dwarf.DIE) bool {
		at, ok := p.Attr(dwarf.AtLocation)
		if !ok || !isReg {
			return ok && bytes.Equal(at.Block(), expr)
		}
		have, ok := m.asRegister(at.Block())
		return ok && have.reg == want.reg
	})
	switch {
	case err != nil:
		return err
	case want.size == 0:
		return m.pushTyped(v)
	case want.size > v.size:
		return errLost // what the rest of the register was is not told
	}
	return m.pushTyped(typedNum{truncate(v.v, want.size), want.enc, want.size})
}

// typedRegister is a register and the base type that it is read as; size 0 is none.
type typedRegister struct {
	reg, enc uint64
	size     int
}

// asRegister is the register that an expression stands for: DW_OP_reg, as call sites
// have it, DW_OP_breg with 0, as some producers write a register that is still what it
// was, or DW_OP_regval_type, as gcc writes those of floating point.
func (m *machine) asRegister(expr []byte) (r typedRegister, ok bool) {
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
		enc, size, err := m.baseType(b.Uleb())
		if err != nil || size > 8 {
			return r, false
		}
		r.enc, r.size = enc, size
	default:
		return r, false
	}
	return r, !b.Bad() && b.Len() == 0 && offset == 0
}

// parameterRef pushes the value of a parameter that was optimized away, as the call
// site tells it (GNU extension).
func (m *machine) parameterRef(off uint32) error {
	target := m.unit.Off + uint64(off)
	v, err := m.fromCallSite(func(p dwarf.DIE) bool {
		for _, at := range []dwarf.At{dwarf.AtCallParameter, dwarf.AtAbstractOrigin} {
			if v, ok := p.Attr(at); ok {
				data, ref, ok := v.RefOffset()
				return ok && data == m.unit.Data && ref == target
			}
		}
		return false
	})
	if err != nil {
		return err
	}
	return m.pushTyped(v)
}

// fromCallSite computes in the caller what it passed for the parameter that match
// chooses.
func (m *machine) fromCallSite(match func(dwarf.DIE) bool) (typedNum, error) {
	if m.frame == nil || m.frame.Caller == nil {
		return typedNum{}, errLost
	}
	caller := m.frame.Caller()
	if caller == nil {
		return typedNum{}, errLost
	}
	site, ok := m.callSite(caller)
	if !ok {
		return typedNum{}, errLost
	}
	w := site.Walk()
	for w.Next() {
		p := w.DIE
		if tag := p.Tag(); tag != dwarf.TagCallSiteParam && tag != dwarf.TagGNUCallSiteParm || !match(p) {
			continue
		}
		v, ok := p.Attr(dwarf.AtCallValue)
		if !ok {
			if v, ok = p.Attr(dwarf.AtGNUCallSiteVal); !ok {
				return typedNum{}, errLost
			}
		}
		return m.inCaller(caller, p.Unit, v.Block())
	}
	return typedNum{}, errLost
}

// inCaller computes an expression of a unit in the caller.
func (m *machine) inCaller(caller *Frame, unit *dwarf.Unit, expr []byte) (typedNum, error) {
	in, err := m.inner(caller)
	if err != nil {
		return typedNum{}, err
	}
	in.mod, in.unit = m.w.module(caller.Module), unit
	return in.value(expr)
}

// callSite is the entry of the call that the caller is in. One that names another
// function is none: that function jumped to this one, with other arguments.
func (m *machine) callSite(caller *Frame) (dwarf.DIE, bool) {
	cs, err := caller.scope()
	if err != nil || len(caller.scopes) == 0 {
		return dwarf.DIE{}, false
	}
	ours, err := m.frame.scope()
	if err != nil {
		return dwarf.DIE{}, false
	}
	site, ok := callSiteAt(cs.Physical, uint64(caller.PC.Addr().File(caller.Module.Bias)))
	return site, ok && m.calls(site, caller, ours.Physical)
}

// callSiteAt is the entry of the call that returns to the file address ret.
func callSiteAt(fn dwarf.DIE, ret uint64) (dwarf.DIE, bool) {
	w := fn.Walk()
	for w.Next() {
		tag := w.DIE.Tag()
		if tag != dwarf.TagCallSite && tag != dwarf.TagGNUCallSite {
			continue
		}
		at, ok := w.DIE.Attr(dwarf.AtCallReturnPC)
		if !ok {
			at, ok = w.DIE.Attr(dwarf.AtLowPC)
		}
		if a, isAddr := at.Addr(); ok && isAddr && a == ret {
			return w.DIE, true
		}
	}
	return dwarf.DIE{}, false
}

// calls reports whether a call site is a call of fn.
func (m *machine) calls(site dwarf.DIE, caller *Frame, fn dwarf.DIE) bool {
	for _, at := range []dwarf.At{dwarf.AtCallOrigin, dwarf.AtAbstractOrigin} {
		if v, ok := site.Attr(at); ok {
			return sameFunction(v.Ref(), fn)
		}
	}
	for _, at := range []dwarf.At{dwarf.AtCallTarget, dwarf.AtGNUCallTarget} {
		v, ok := site.Attr(at)
		if !ok {
			continue
		}
		r, err := m.inCaller(caller, site.Unit, v.Block())
		if err != nil {
			return false
		}
		low, ok := fn.Attr(dwarf.AtLowPC)
		a, isAddr := low.Addr()
		return ok && isAddr && a+uint64(m.mod.Bias) == r.v
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
		for _, at := range []dwarf.At{dwarf.AtLinkageName, dwarf.AtName} {
			if v, ok := d.Attr(at); ok {
				return string(v.Str())
			}
		}
		return ""
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
