package values

import (
	"bytes"
	"errors"
	"fmt"

	"hdb/internal/addr"
	"hdb/symbols/dwarf"
	"hdb/unwind/dwop"
)

const (
	maxSteps  = 1 << 14 // of one value, nested expressions included
	maxStack  = 256
	maxNested = 8 // frame bases, entry values of entry values, calls
	maxPieces = 1024
)

// errLost is the cause when a value is not anywhere any more: <optimized out>.
var errLost = errors.New("optimized out")

// A typedNum is an entry of the stack: bits of the generic type (kind 0) or of a
// base type.
type typedNum struct {
	v    uint64
	enc  uint64 // DW_ATE; 0 generic
	size int    // bytes
}

// A piece says where a part of a value is.
type piece struct {
	kind   pieceKind
	addr   addr.Run
	reg    uint64
	data   []byte    // inline
	target dwarf.DIE // pointer
	off    int64     // pointer
	bits   uint64    // size; 0 the whole value
	bitOff uint64    // from the beginning of the register, memory or data
}

type pieceKind uint8

const (
	pieceLost pieceKind = iota
	pieceMemory
	pieceRegister
	pieceInline
	piecePointer // to a variable that has no address
)

// machine computes one expression.
type machine struct {
	w     *World
	mod   *modState
	frame *Frame // nil: static storage only
	unit  *dwarf.Unit
	buf   dwarf.Buf
	data  []byte
	stack []typedNum
	depth int
	steps *int
	// object is what DW_OP_push_object_address pushes.
	object    addr.Run
	hasObject bool

	done   piece // of a location description that is not a memory address
	isDone bool
}

// locate computes a location.
func (m *machine) locate(expr []byte) ([]piece, error) {
	if len(expr) == 0 {
		return nil, errLost
	}
	m.data, m.buf = expr, dwarf.NewBuf(expr, 0)
	var pieces []piece
	for m.buf.Len() > 0 {
		op := m.buf.U8()
		if *m.steps++; *m.steps > maxSteps {
			return nil, fmt.Errorf("DWARF expression takes more than %d steps", maxSteps)
		}
		if op == dwop.Piece || op == dwop.BitPiece {
			p, err := m.current(true)
			if err != nil {
				return nil, err
			}
			if op == dwop.Piece {
				p.bits = 8 * m.buf.Uleb()
			} else {
				p.bits, p.bitOff = m.buf.Uleb(), m.buf.Uleb()
			}
			if m.buf.Bad() || len(pieces) == maxPieces {
				return nil, errors.New("DWARF expression: malformed pieces")
			}
			pieces = append(pieces, p)
			m.stack, m.isDone, m.done = m.stack[:0], false, piece{}
			continue
		}
		if err := m.step(op); err != nil {
			return nil, err
		}
		if m.buf.Bad() {
			return nil, errors.New("DWARF expression ends in an operand")
		}
	}
	if pieces != nil {
		return pieces, nil
	}
	p, err := m.current(false)
	return []piece{p}, err
}

// current is the location that the expression has described so far.
func (m *machine) current(part bool) (piece, error) {
	switch {
	case m.isDone:
		return m.done, nil
	case len(m.stack) > 0:
		return piece{kind: pieceMemory, addr: addr.Run(m.stack[len(m.stack)-1].v)}, nil
	case part:
		return piece{}, nil // DW_OP_piece alone: this part is lost
	}
	return piece{}, errors.New("DWARF expression leaves nothing")
}

// value computes an expression whose result is a number.
func (m *machine) value(expr []byte) (typedNum, error) {
	m.data, m.buf = expr, dwarf.NewBuf(expr, 0)
	for m.buf.Len() > 0 {
		if *m.steps++; *m.steps > maxSteps {
			return typedNum{}, fmt.Errorf("DWARF expression takes more than %d steps", maxSteps)
		}
		if err := m.step(m.buf.U8()); err != nil {
			return typedNum{}, err
		}
		if m.buf.Bad() {
			return typedNum{}, errors.New("DWARF expression ends in an operand")
		}
	}
	if m.isDone {
		switch m.done.kind {
		case pieceInline:
			return typedNum{v: unle(m.done.data), size: min(len(m.done.data), 8)}, nil
		case pieceRegister:
			return m.registerValue(m.done.reg)
		}
		return typedNum{}, errLost
	}
	if len(m.stack) == 0 {
		return typedNum{}, errors.New("DWARF expression leaves nothing")
	}
	return m.stack[len(m.stack)-1], nil
}

func (m *machine) registerValue(reg uint64) (typedNum, error) {
	if m.frame == nil {
		return typedNum{}, errors.New("a register is needed, but no frame is selected")
	}
	b, ok := m.frame.register(reg)
	if !ok {
		return typedNum{}, missingRegister(reg)
	}
	return typedNum{v: unle(b), size: 8}, nil
}

func (m *machine) push(v uint64) error { return m.pushTyped(typedNum{v: v, size: 8}) }

func (m *machine) pushTyped(v typedNum) error {
	if len(m.stack) >= maxStack {
		return fmt.Errorf("DWARF expression needs a stack of more than %d", maxStack)
	}
	m.stack = append(m.stack, v)
	return nil
}

func (m *machine) pop() (typedNum, error) { return m.pick(0, true) }

func (m *machine) pick(n uint64, drop bool) (typedNum, error) {
	if n >= uint64(len(m.stack)) {
		return typedNum{}, errors.New("DWARF expression takes from an empty stack")
	}
	v := m.stack[uint64(len(m.stack))-1-n]
	if drop {
		m.stack = m.stack[:len(m.stack)-1]
	}
	return v, nil
}

func (m *machine) step(op uint8) error {
	b := &m.buf
	switch {
	case op >= dwop.Lit0 && op <= dwop.Lit31:
		return m.push(uint64(op - dwop.Lit0))
	case op >= dwop.Reg0 && op <= dwop.Reg31:
		return m.finish(piece{kind: pieceRegister, reg: uint64(op - dwop.Reg0)})
	case op >= dwop.Breg0 && op <= dwop.Breg31:
		return m.based(uint64(op-dwop.Breg0), b.Sleb())
	case op >= dwop.Const1u && op <= dwop.Consts:
		return m.push(m.constant(op))
	case op >= dwop.Dup && op <= dwop.Rot:
		return m.shuffle(op)
	case op == dwop.Abs || op == dwop.Neg || op == dwop.Not || op == dwop.PlusUconst:
		return m.unary(op)
	case op >= dwop.And && op <= dwop.Xor || op >= dwop.Eq && op <= dwop.Ne:
		return m.binary(op)
	}
	switch op {
	case dwop.Nop, dwop.GNUUninit:
		return nil
	case dwop.Addr:
		return m.push(b.Uint(m.unit.AddrSize()) + uint64(m.mod.Bias))
	case dwop.Addrx, dwop.GNUAddrIndex, dwop.Constx, dwop.GNUConstIndex:
		v, ok := m.unit.AddrX(b.Uleb())
		if !ok {
			return errors.New("DWARF expression: no such entry in .debug_addr")
		}
		if op == dwop.Addrx || op == dwop.GNUAddrIndex {
			v += uint64(m.mod.Bias)
		}
		return m.push(v)
	case dwop.Regx:
		return m.finish(piece{kind: pieceRegister, reg: b.Uleb()})
	case dwop.Bregx:
		reg := b.Uleb()
		return m.based(reg, b.Sleb())
	case dwop.Fbreg:
		return m.frameBased(b.Sleb())
	case dwop.CallFrameCFA:
		if m.frame == nil || m.frame.CFA == 0 {
			return errors.New("the frame's address is not known")
		}
		return m.push(uint64(m.frame.CFA))
	case dwop.Deref:
		return m.load(8, 0)
	case dwop.DerefSize:
		return m.load(int(b.U8()), 0)
	case dwop.Skip, dwop.Bra:
		return m.jump(op, int16(b.U16()))
	case dwop.PushObject:
		if !m.hasObject {
			return errors.New("DWARF expression wants an object that is not there")
		}
		return m.push(uint64(m.object))
	case dwop.FormTLS, dwop.GNUTLS:
		return m.threadLocal()
	case dwop.ImplicitValue:
		return m.finish(piece{kind: pieceInline, data: bytes.Clone(b.Bytes(b.Uleb()))})
	case dwop.StackValue:
		v, err := m.pop()
		if err != nil {
			return err
		}
		return m.finish(piece{kind: pieceInline, data: le(v.v, max(v.size, 1))})
	case dwop.ImplicitPointer, dwop.GNUImplicitPtr:
		off := b.Uint(m.unit.OffSize())
		return m.finish(piece{kind: piecePointer, target: m.unit.Data.DIE(off), off: b.Sleb()})
	case dwop.EntryValue, dwop.GNUEntryValue:
		return m.entryValue(b.Bytes(b.Uleb()))
	case dwop.GNUParameterRef:
		return m.parameterRef(b.U32())
	case dwop.ConstType, dwop.GNUConstType, dwop.RegvalType, dwop.GNURegvalType, dwop.DerefType, dwop.GNUDerefType,
		dwop.Convert, dwop.GNUConvert, dwop.Reinterpret, dwop.GNUReinterpret:
		return m.typed(op)
	case dwop.Call2, dwop.Call4, dwop.CallRef:
		return m.call(op)
	}
	return fmt.Errorf("DWARF expression with operation %#x, which hdb does not know", op)
}

func (m *machine) finish(p piece) error {
	m.done, m.isDone = p, true
	return nil
}

func (m *machine) constant(op uint8) uint64 {
	b := &m.buf
	switch op {
	case dwop.Const1u:
		return uint64(b.U8())
	case dwop.Const1s:
		return uint64(int8(b.U8()))
	case dwop.Const2u:
		return uint64(b.U16())
	case dwop.Const2s:
		return uint64(int16(b.U16()))
	case dwop.Const4u:
		return uint64(b.U32())
	case dwop.Const4s:
		return uint64(int32(b.U32()))
	case dwop.Constu:
		return b.Uleb()
	case dwop.Consts:
		return uint64(b.Sleb())
	}
	return b.U64()
}

func (m *machine) shuffle(op uint8) error {
	n := uint64(0)
	switch op {
	case dwop.Drop:
		_, err := m.pop()
		return err
	case dwop.Over:
		n = 1
	case dwop.Pick:
		n = uint64(m.buf.U8())
	case dwop.Swap, dwop.Rot:
		k := 2
		if op == dwop.Rot {
			k = 3
		}
		if len(m.stack) < k {
			return errors.New("DWARF expression takes from an empty stack")
		}
		s := m.stack[len(m.stack)-k:]
		top := s[k-1]
		copy(s[1:], s[:k-1]) // the top goes below the other one or two
		s[0] = top
		return nil
	}
	v, err := m.pick(n, false)
	if err != nil {
		return err
	}
	return m.pushTyped(v)
}

func (m *machine) jump(op uint8, by int16) error {
	if op == dwop.Bra {
		v, err := m.pop()
		if err != nil || v.v == 0 {
			return err
		}
	}
	to := int64(m.buf.Off()) + int64(by)
	if to < 0 || to > int64(len(m.data)) {
		return fmt.Errorf("DWARF expression jumps to %d, outside its %d bytes", to, len(m.data))
	}
	m.buf = dwarf.NewBuf(m.data, uint64(to))
	return nil
}

func (m *machine) based(reg uint64, plus int64) error {
	v, err := m.registerValue(reg)
	if err != nil {
		return err
	}
	return m.push(v.v + uint64(plus))
}

// load replaces an address by what is there.
func (m *machine) load(size int, enc uint64) error {
	at, err := m.pop()
	if err != nil {
		return err
	}
	if size < 1 || size > 8 {
		return fmt.Errorf("DWARF expression loads %d bytes", size)
	}
	v, err := m.w.ReadUint(addr.Run(at.v), size)
	if err != nil {
		return err
	}
	if enc == 0 {
		return m.push(v)
	}
	return m.pushTyped(typedNum{v, enc, size})
}

// inner is a machine for an expression that this one needs.
func (m *machine) inner(f *Frame) (*machine, error) {
	if m.depth >= maxNested {
		return nil, errors.New("DWARF expressions nest too deeply")
	}
	return &machine{w: m.w, mod: m.mod, frame: f, unit: m.unit, depth: m.depth + 1, steps: m.steps, object: m.object, hasObject: m.hasObject}, nil
}

// frameBased pushes the frame base of the function plus a number (section 2.5.1.2).
func (m *machine) frameBased(plus int64) error {
	s, err := m.frame.scope()
	if err != nil {
		return err
	}
	v, ok := s.Physical.Attr(dwarf.AtFrameBase)
	if !ok {
		return errors.New("the function has no frame base")
	}
	expr, ok := m.frame.location(s.Physical.Unit, v, m.mod)
	if !ok {
		return errors.New("the function's frame base is not known here")
	}
	in, err := m.inner(m.frame)
	if err != nil {
		return err
	}
	in.unit = s.Physical.Unit
	pieces, err := in.locate(expr)
	if err != nil {
		return err
	}
	switch p := pieces[0]; p.kind {
	case pieceMemory:
		return m.push(uint64(p.addr) + uint64(plus))
	case pieceInline:
		return m.push(unle(p.data) + uint64(plus))
	case pieceRegister:
		return m.based(p.reg, plus)
	}
	return errLost
}

func (m *machine) threadLocal() error {
	v, err := m.pop()
	if err != nil {
		return err
	}
	if m.w.TLS == nil {
		return errors.New("thread-local storage: no thread to look at")
	}
	a, err := m.w.TLS(m.mod.Module, v.v)
	if err != nil {
		return err
	}
	return m.push(uint64(a))
}

// call runs the location of another entry (DW_OP_call2, call4, call_ref).
func (m *machine) call(op uint8) error {
	var off uint64
	switch op {
	case dwop.Call2:
		off = m.unit.Off + uint64(m.buf.U16())
	case dwop.Call4:
		off = m.unit.Off + uint64(m.buf.U32())
	default:
		off = m.buf.Uint(m.unit.OffSize())
	}
	d := m.unit.Data.DIE(off)
	v, ok := d.Attr(dwarf.AtLocation)
	if !ok {
		return nil // "no effect", section 2.5.1.5
	}
	expr, ok := m.frame.location(d.Unit, v, m.mod)
	if !ok {
		return nil
	}
	in, err := m.inner(m.frame)
	if err != nil {
		return err
	}
	in.unit, in.stack = d.Unit, m.stack
	if _, err := in.locate(expr); err != nil {
		return err
	}
	m.stack, m.done, m.isDone = in.stack, in.done, in.isDone
	return nil
}
