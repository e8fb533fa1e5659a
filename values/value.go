package values

import (
	"errors"
	"fmt"

	"hdb/internal/addr"
	"hdb/symbols/dwarf"
	"hdb/unwind"
	"hdb/unwind/dwop"
)

// A Value is a value of the program: its type, and its location or its bytes.
type Value struct {
	Type *Type

	place  place
	addr   addr.Run   // inMemory
	reg    unwind.Reg // inRegister, any of DWARF's numbers
	regOff int64      // inRegister: bytes from the register's lowest on
	frame  *Frame     // inRegister
	data   []byte     // the bytes, when they were read; always unless inMemory
	lost   []bool     // bytes that were optimized out, nil: none
	err    error      // why there is no value
	bits   int64      // of a bit field, 0: none
	bitOff int64

	pointer    dwarf.DIE // what a pointer without a number points to
	pointerOff int64
	pointerIn  *modState
	pointerFr  *Frame
}

// BitField tells a value that has some of its bytes' bits alone.
func (v Value) BitField() bool { return v.bits > 0 }

// Holding is the value that would be at v's place if these were the bytes there, as they
// were before a change.
func (v Value) Holding(b []byte) Value {
	v.data, v.lost = b, nil
	return v
}

type place uint8

const (
	nowhere place = iota // a computed value
	inMemory
	inRegister
)

// synthetic reports whether the value is a pointer to a variable that has no address.
func (v Value) synthetic() bool { return v.pointerIn != nil }

// LostValue is a value that cannot be shown because of err.
func LostValue(t *Type, err error) Value { return Value{Type: t, err: err} }

// Addr is the address of the value, false if it is not in memory.
func (v Value) Addr() (addr.Run, bool) { return v.addr, v.place == inMemory && v.err == nil }

// MemoryValue is the value of type t at a.
func MemoryValue(t *Type, a addr.Run) Value { return Value{Type: t, place: inMemory, addr: a} }

// Number is a computed value of type t.
func Number(t *Type, n uint64) Value {
	return Value{Type: t, data: encodeUint(n, int(max(t.Size(), 1)))}
}

// Part is the value of type t at an offset in v.
func (v Value) Part(t *Type, off int64) Value {
	out := Value{Type: t, err: v.err}
	size := t.Size()
	if v.err != nil {
		return out
	}
	if v.place == inMemory {
		out.place, out.addr = inMemory, v.addr+addr.Run(off)
	}
	if v.data != nil {
		if off < 0 || size < 0 || off+size > int64(len(v.data)) {
			if v.place == inMemory {
				return out
			}
			return LostValue(t, errLost)
		}
		out.data = v.data[off : off+size : off+size]
		if v.lost != nil {
			out.lost = v.lost[off : off+size]
		}
	}
	if v.place == inRegister {
		out.place, out.reg, out.regOff, out.frame = inRegister, v.reg, v.regOff+off, v.frame
	}
	return out
}

// valueOf reads a variable, parameter or constant of the debug information.
func (m *modState) valueOf(f *Frame, d dwarf.DIE) Value {
	l := locator{mod: m, frame: f, steps: new(int)}
	return l.variable(d)
}

// declaredType is the type of a variable. It may be an attribute of its abstract origin.
func (m *modState) declaredType(d dwarf.DIE) *Type {
	for hop := 0; d.Valid() && hop < maxHops; hop++ {
		if v, ok := d.Attr(dwarf.AtType); ok {
			return m.typeAt(v.Ref())
		}
		d = origin(d)
	}
	return m.prog.untyped()
}

// variable reads a variable, parameter or constant.
func (l *locator) variable(d dwarf.DIE) Value {
	t := l.mod.declaredType(d)
	if l.frame != nil {
		var err error
		if t, err = l.withLength(t); err != nil {
			return LostValue(t, err)
		}
	}
	for e, hop := d, 0; e.Valid() && hop < maxHops; hop++ {
		if v, ok := e.Attr(dwarf.AtConstValue); ok {
			return constant(t, v)
		}
		v, ok := e.Attr(dwarf.AtLocation)
		if !ok {
			e = origin(e)
			continue
		}
		expr, ok := l.frame.location(e.Unit, v, l.mod)
		if !ok {
			return LostValue(t, errLost)
		}
		in := *l
		in.unit = e.Unit
		if kept := l.frame.overCalls(e.Unit, v, l.mod, expr); kept != nil {
			in.frame = kept
		}
		pieces, err := in.locate(expr)
		if err != nil {
			return LostValue(t, err)
		}
		return in.assemble(t, pieces)
	}
	return LostValue(t, errLost)
}

// withLength returns the type of a variable-length array with its length in this frame.
func (l *locator) withLength(t *Type) (*Type, error) {
	s := t.Unqualified()
	if s.Kind != Array {
		return t, nil
	}
	var counts []int64
	dims := s.entry().dimensions()
	for i, n := range s.counts {
		if n < 0 {
			if i >= len(dims) {
				return t, nil
			}
			v, isCount, ok := bound(dims[i])
			if !ok || !isComputed(v) {
				return t, nil
			}
			r, err := l.attrNumber(s.die.Unit, v)
			if err != nil {
				return t, err
			}
			n = int64(r)
			if !isCount {
				n++
			}
			if n < 0 || n > 1<<40 {
				return t, fmt.Errorf("array of %d elements", n)
			}
		}
		counts = append(counts, n)
	}
	c := *s
	c.counts, c.size = counts, -1
	return &c, nil
}

// attrNumber is the number that an attribute gives by an expression, a location list or a
// reference to a variable.
func (l *locator) attrNumber(u *dwarf.Unit, v dwarf.Value) (uint64, error) {
	in := *l
	in.unit, in.depth = u, 0
	if v.IsRef() {
		d := v.Ref()
		if !d.Valid() || *l.steps > maxSteps {
			return 0, errLost
		}
		*l.steps += maxSteps / 16 // bounds arrays whose bounds are arrays
		in.depth = 1
		return l.mod.prog.Uint(in.variable(d))
	}
	expr, ok := l.frame.location(u, v, l.mod)
	if !ok {
		return 0, errLost
	}
	return in.number(expr)
}

// constant is the value of a constant in the debug information (DW_AT_const_value).
func constant(t *Type, v dwarf.Value) Value {
	size := int(t.Size())
	switch {
	case v.IsString():
		return Value{Type: t, data: append([]byte(nil), append(v.Str(), 0)...)}
	case v.IsBlock():
		b := v.Block()
		if len(b) >= 10 && len(b) < size && size <= 16 && t.isFloat() { // LLVM leaves the padding of a long double out
			b = append(b[:len(b):len(b)], make([]byte, size-len(b))...)
		}
		if len(b) < size {
			return LostValue(t, errLost)
		}
		return Value{Type: t, data: b[:size]}
	case size > 8 || size == 0:
		b := encodeUint(v.Uint(), max(size, 8))
		return Value{Type: t, data: b}
	}
	return Value{Type: t, data: encodeUint(uint64(v.Int()), size)}
}

// assemble makes a value of its pieces.
func (l *locator) assemble(t *Type, pieces []dwop.Location) Value {
	if len(pieces) == 1 && (pieces[0].Bits == 0 || pieces[0].Kind == dwop.Pointer) {
		return l.whole(t, pieces[0])
	}
	size := t.Size()
	if size > maxRead {
		return LostValue(t, fmt.Errorf("value of %d bytes in pieces", size))
	}
	out := Value{Type: t, data: make([]byte, size), lost: make([]bool, size)}
	at := uint64(0) // bits
	for _, p := range pieces {
		n := p.Bits
		if at >= 8*uint64(size) {
			break
		}
		n = min(n, 8*uint64(size)-at)
		if p.BitOff > 8*maxRead {
			p.Kind, p.BitOff = dwop.Lost, 0 // no register or object is so large
		}
		src, err := l.pieceBytes(p, (p.BitOff+n+7)/8)
		for i := range n {
			to := at + i
			if err != nil {
				out.lost[to/8] = true
				continue
			}
			from := p.BitOff + i
			out.data[to/8] |= (src[from/8] >> (from % 8) & 1) << (to % 8)
		}
		at += n
	}
	for i := (at + 7) / 8; i < uint64(size); i++ {
		out.lost[i] = true
	}
	all, any := true, false
	for _, is := range out.lost {
		all, any = all && is, any || is
	}
	if all && size > 0 {
		return LostValue(t, errLost)
	}
	if !any {
		out.lost = nil
	}
	return out
}

// whole makes a value that is not in pieces.
func (l *locator) whole(t *Type, p dwop.Location) Value {
	switch p.Kind {
	case dwop.InMemory:
		return MemoryValue(t, p.Addr)
	case dwop.Pointer:
		return Value{Type: t, pointer: l.unit.Data.DIE(p.Target), pointerOff: p.Off, pointerIn: l.mod, pointerFr: l.frame}
	case dwop.InRegister:
		return registerValue(l.frame, t, p.Reg)
	case dwop.Inline:
		size := t.Size()
		if int64(len(p.Data)) < size {
			p.Data = append(append([]byte(nil), p.Data...), make([]byte, min(size, maxRead)-int64(len(p.Data)))...)
		}
		return Value{Type: t, data: p.Data[:min(size, int64(len(p.Data)))]}
	}
	return LostValue(t, errLost)
}

// registerValue is a value in the low bytes of a register of the frame.
func registerValue(f *Frame, t *Type, reg uint64) Value {
	if f == nil {
		return LostValue(t, errLost)
	}
	b, ok := f.register(reg)
	if !ok {
		return LostValue(t, missingRegister(reg))
	}
	size := t.Size()
	if reg >= regST0 && reg < regST0+8 && t.isFloat() && size < 10 {
		if n, ok := roundExtended(b, size); ok { // the x87 computes with more bits than the type has
			return Value{Type: t, data: n}
		}
	}
	if int64(len(b)) < size {
		if len(b) == 8 && size <= 16 && reg < uint64(unwind.RIP) { // a pair has pieces; this is a lie of the producer
			return LostValue(t, errLost)
		}
		return LostValue(t, fmt.Errorf("register of %d bytes for a value of %d", len(b), size))
	}
	return Value{Type: t, place: inRegister, reg: unwind.Reg(min(reg, 255)), frame: f, data: b[:size]}
}

func (l *locator) pieceBytes(p dwop.Location, n uint64) ([]byte, error) {
	var b []byte
	switch p.Kind {
	case dwop.InMemory:
		return l.mod.prog.ReadMemory(p.Addr, int(min(n, maxRead+1)))
	case dwop.InRegister:
		if l.frame != nil {
			if known, ok := l.frame.register(p.Reg); ok {
				b = known
			}
		}
	case dwop.Inline:
		b = p.Data
	}
	if uint64(len(b)) < n {
		return nil, errLost
	}
	return b, nil
}

// errNoRegister is the error for a name behind $ that is no register. Such a name is a
// convenience variable, void before something is assigned to it.
var errNoRegister = errors.New("no such register")

// void is the value of a convenience variable that nothing was assigned to.
func (p *Program) void() Value {
	return Value{Type: &Type{Kind: Void, Name: "void", prog: p, lang: dwarf.LangC}}
}

// voidPointer is C's void *.
func (p *Program) voidPointer() *Type {
	return (&Type{Kind: Void, Name: "void", prog: p, size: 1, lang: dwarf.LangC}).PointerTo()
}

// IsVoid reports whether the value is void.
func (v Value) IsVoid() bool {
	return v.err == nil && v.Type.Strip().Kind == Void && v.place == nowhere
}

// A Unit is the numbers that a pointer points to. Memory is shown in such units.
type Unit struct {
	Size  int  // 2, 4 or 8 bytes; 0 for everything else
	Float bool // they are floating-point numbers
	Char  int  // bytes of a character, if they are those of a text; else 0
}

// unit is what a value points to.
func (v Value) unit() Unit {
	t := v.Type.Strip()
	if t.Kind == Array && textual(t.Row()) {
		return Unit{Char: int(t.Row().Size())}
	}
	if t.Kind != Pointer {
		return Unit{}
	}
	if textual(t.Elem()) {
		return Unit{Char: int(t.Elem().Size())}
	}
	e := t.Elem().Strip()
	for e.Kind == Array {
		e = e.Elem().Strip()
	}
	switch e.Kind {
	case Base, Enum, Pointer:
	default:
		return Unit{}
	}
	if n := int(e.Size()); (n == 2 || n == 4 || n == 8) && !textual(e) {
		return Unit{Size: n, Float: e.isFloat()}
	}
	return Unit{}
}
