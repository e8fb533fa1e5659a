package values

import (
	"errors"
	"fmt"

	"hdb/internal/addr"
	"hdb/symbols/dwarf"
	"hdb/unwind"
	"hdb/unwind/dwop"
)

// DW_CC_* of functions and classes (DWARF 5 section 7.15).
const (
	ccNormal          = 1
	ccProgram         = 2
	ccPassByReference = 4
	ccPassByValue     = 5
)

// ReturnType is the return type of the frame's physical function.
func (p *Program) ReturnType(f *Frame) (*Type, error) {
	s, err := f.scope()
	if err != nil {
		return nil, err
	}
	m := p.module(f.Module)
	for d, hop := s.Physical, 0; d.Valid() && hop < maxHops; hop++ {
		if v, ok := d.Attr(dwarf.AtCallingConv); ok && v.Uint() != ccNormal && v.Uint() != ccProgram {
			return nil, fmt.Errorf("the function has an unsupported calling convention (DWARF number %#x)", v.Uint())
		}
		if v, ok := d.Attr(dwarf.AtType); ok {
			return m.typeAt(v.Ref()), nil
		}
		d = origin(d)
	}
	return &Type{Kind: Void, Name: "void", prog: p, mod: m, size: 1, lang: languageOf(s.Physical)}, nil
}

// ReturnsInMemory reports whether the frame's physical function returns its value in memory of the
// caller, whose address it has got as a hidden first argument.
func (p *Program) ReturnsInMemory(f *Frame) (bool, error) {
	t, err := p.ReturnType(f)
	if err != nil {
		return false, err
	}
	pieces, err := returnPieces(t, f)
	return err == nil && pieces == nil, err
}

// Returned is the value that the function of frame fn has returned. caller has the
// registers as they are right after the return. A void function returns a value of type
// void.
func (p *Program) Returned(fn, caller *Frame) (Value, error) {
	t, err := p.ReturnType(fn)
	if err != nil {
		return Value{}, err
	}
	pieces, err := returnPieces(t, fn)
	if err != nil {
		return Value{}, err
	}
	if pieces == nil {
		rax, ok := caller.Regs.Get(unwind.RAX)
		if !ok {
			return Value{}, errLost
		}
		return MemoryValue(t, addr.Run(rax)), nil
	}
	if t.Strip().Kind == Void {
		return Value{Type: t}, nil
	}
	for _, p := range pieces {
		if b, ok := caller.register(p.Reg); p.Kind == dwop.InRegister && (!ok || uint64(len(b)) < p.Bits/8) {
			return Value{}, fmt.Errorf("register %s cannot be read", returnRegister(p.Reg))
		}
	}
	return (&locator{mod: p.module(fn.Module), frame: caller}).assemble(t, pieces), nil
}

func returnRegister(n uint64) string {
	if n < uint64(unwind.RIP) {
		return unwind.Reg(n).String()
	}
	return registerName(n)
}

// errReturned is the error when the debug information is not sufficient.
var errReturned = errors.New("the debug information does not tell how the function returns its value")

// returnPieces is the registers in which a function returns a value of type t. It is nil
// for a value in memory, whose address is in rax.
func returnPieces(t *Type, fn *Frame) ([]dwop.Location, error) {
	s := t.Strip()
	if s.Kind == Void {
		return []dwop.Location{}, nil
	}
	if t.Rust() {
		if mangled(fn) {
			return rustReturnPieces(s)
		}
	} else if passedByReference(s, new(int)) {
		return nil, nil
	}
	if s.Kind == Struct && s.decl || s.Size() == 0 && s.Kind != Struct && s.Kind != Unspecified {
		return nil, errReturned
	}
	if s.Kind == Base && s.Enc == encComplex && s.Size() == 32 && !isQuad(s) { // class COMPLEX_X87
		return []dwop.Location{{Kind: dwop.InRegister, Reg: regST0, Bits: 128}, {Kind: dwop.InRegister, Reg: regST0 + 1, Bits: 128}}, nil
	}
	classes, err := classify(s)
	if err != nil || classes == nil {
		return nil, err
	}
	return classes.Returned(), nil
}
