package dwop

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"

	"hdb/internal/addr"
)

// Limits that no expression of a compiler reaches.
const (
	maxPieces = 1024
	maxCalls  = 8 // DW_OP_call in what DW_OP_call runs
)

// ErrLost is the error of a value that was optimized out.
var ErrLost = errors.New("optimized out")

var (
	errEmptyStack = errors.New("expression takes from an empty stack")
	errNothing    = errors.New("expression leaves nothing")
)

// A Context is what an expression refers to: the registers of a frame, and memory.
type Context interface {
	// Register is a register by its DWARF number.
	Register(n uint64) (uint64, error)
	// Load is the unsigned integer of size bytes, one to eight, at an address.
	Load(at addr.Run, size int) (uint64, error)
}

// Variables is what expressions for variables refer to in addition.
type Variables interface {
	// FrameBase is the frame base of the function (DW_OP_fbreg).
	FrameBase() (uint64, error)
	// CFA is the canonical frame address.
	CFA() (addr.Run, error)
	// Object is the address of the object whose member is located.
	Object() (addr.Run, error)
	// ThreadLocal is the address of an offset in the thread-local block of the module.
	ThreadLocal(offset uint64) (addr.Run, error)
	// Indexed is an entry of .debug_addr.
	Indexed(i uint64) (uint64, error)
	// BaseType is the encoding and size of a base type by its offset in the unit.
	BaseType(offset uint64) (enc uint64, size int, err error)
	// EntryValue is the value that an expression had on entry to the function.
	EntryValue(expr []byte) (Num, error)
	// Parameter is the argument for the parameter whose entry is at an offset in the unit.
	Parameter(offset uint64) (Num, error)
	// Call is the location of the entry that DW_OP_call2, call4 or call_ref names, and
	// the unit of the entry. It is empty if the entry has no location.
	Call(op uint8, offset uint64) (expr []byte, in Unit, err error)
}

// A Unit is the properties of the compilation unit that an expression is part of.
type Unit struct {
	AddrSize, OffSize int    // bytes of addresses and of offsets in operands
	Bias              uint64 // added to addresses of the file
	// Variables is nil for call frame information, whose expressions have fewer
	// operations.
	Variables Variables
}

// A Location says where a value, or a part of it, is.
type Location struct {
	Kind   Kind
	Addr   addr.Run // of InMemory
	Reg    uint64   // of InRegister, by its DWARF number
	Data   []byte   // of Inline
	Target uint64   // of Pointer: the offset of the variable's entry in .debug_info
	Off    int64    // of Pointer: bytes from the variable's first on
	Bits   uint64   // the size; 0: the whole value
	BitOff uint64   // from the first bit of the memory, register or data on
}

// A Kind says what a location is.
type Kind uint8

// The kinds of locations.
const (
	Lost Kind = iota // optimized out
	InMemory
	InRegister
	Inline  // the bytes are in the expression, or are computed
	Pointer // to a variable that has no address
)

// A Machine computes DWARF expressions (DWARF 5, section 2.5). It keeps its stack from
// one to the next.
type Machine struct {
	Context Context
	Unit    Unit
	// Regs has registers by their DWARF numbers. Bit n of Known is set if Regs[n] is what
	// Context.Register returns: it saves the call. Both may be empty.
	Regs     []uint64
	Known    uint32
	MaxStack int
	MaxSteps int
	Steps    *int // operations so far, shared by expressions that need one another

	code   Reader
	stack  []Num // room for entries
	depth  int   // entries that are used
	calls  int
	pieces []Location
	done   Location // a location that is no memory address, if isDone
	isDone bool
	err    error
}

// Reset makes the machine ready for another expression.
func (m *Machine) Reset() {
	m.depth, m.err, m.pieces, m.isDone = 0, nil, nil, false
}

// Locate computes where a value is. A value in pieces has several locations.
func (m *Machine) Locate(expr []byte) ([]Location, error) {
	if len(expr) == 0 {
		return nil, ErrLost
	}
	m.Reset()
	if m.run(expr); m.err != nil {
		return nil, m.err
	}
	if m.pieces == nil {
		p, ok := m.location()
		if !ok {
			return nil, errNothing
		}
		m.pieces = []Location{p}
	}
	return m.pieces, nil
}

// Value computes the number that an expression leaves. Reset and Push come before.
func (m *Machine) Value(expr []byte) (Num, error) {
	m.run(expr)
	switch {
	case m.err != nil:
		return Num{}, m.err
	case m.pieces != nil:
		return Num{}, errors.New("expression describes pieces instead of a number")
	case m.isDone && m.done.Kind == Inline:
		return Num{V: number(m.done.Data), Size: uint8(min(len(m.done.Data), 8))}, nil
	case m.isDone && m.done.Kind == InRegister:
		v, err := m.Context.Register(m.done.Reg)
		return Num{V: v, Size: 8}, err
	case m.isDone:
		return Num{}, ErrLost
	case m.depth == 0:
		return Num{}, errEmptyStack
	}
	return m.stack[m.depth-1], nil
}

// location is the location that was described since the last piece, false if none was.
func (m *Machine) location() (Location, bool) {
	if m.isDone {
		return m.done, true
	}
	if m.depth == 0 {
		return Location{}, false
	}
	return Location{Kind: InMemory, Addr: addr.Run(m.stack[m.depth-1].V)}, true
}

// run executes an expression until its end or the first error.
func (m *Machine) run(expr []byte) {
	m.code = Reader{Data: expr}
	steps := *m.Steps
	for m.code.Pos < len(m.code.Data) { // an error is the end, too
		if steps++; steps > m.MaxSteps {
			m.fail(fmt.Errorf("expression runs for more than %d operations", m.MaxSteps))
			break
		}
		op := m.code.Data[m.code.Pos]
		m.code.Pos++
		if !m.step(op) {
			*m.Steps = steps // other expressions may be needed
			m.describe(op)
			steps = *m.Steps
		}
	}
	*m.Steps = steps
	if m.code.Err != nil {
		m.fail(m.code.Err)
	}
}

// fail ends the expression with an error.
func (m *Machine) fail(err error) {
	if m.err == nil {
		m.err = err
	}
	m.code.Pos = len(m.code.Data)
}

// Push puts a number of the generic type on the stack.
func (m *Machine) Push(v uint64) { m.push(Num{V: v, Size: 8}) }

func (m *Machine) push(n Num) {
	if m.depth == len(m.stack) && !m.grow() {
		return
	}
	m.stack[m.depth] = n
	m.depth++
}

// grow makes room for another entry, if the stack may have one.
func (m *Machine) grow() bool {
	if len(m.stack) >= m.MaxStack {
		m.fail(fmt.Errorf("expression needs a stack of more than %d", m.MaxStack))
		return false
	}
	larger := make([]Num, min(max(16, 2*len(m.stack)), m.MaxStack))
	copy(larger, m.stack)
	m.stack = larger
	return true
}

// pushed pushes the answer of a context.
func (m *Machine) pushed(v uint64, err error) {
	if err != nil {
		m.fail(err)
		return
	}
	m.Push(v)
}

func (m *Machine) pushedNum(n Num, err error) {
	if err != nil {
		m.fail(err)
		return
	}
	m.push(n)
}

func (m *Machine) pop() Num {
	if m.depth == 0 {
		m.fail(errEmptyStack)
		return Num{}
	}
	m.depth--
	return m.stack[m.depth]
}

// pick pushes the entry n below the top.
func (m *Machine) pick(n uint64) {
	if n >= uint64(m.depth) {
		m.fail(errEmptyStack)
		return
	}
	m.push(m.stack[uint64(m.depth)-1-n])
}

// rotate moves the top below the next n entries.
func (m *Machine) rotate(n int) {
	if m.depth <= n {
		m.fail(errEmptyStack)
		return
	}
	s := m.stack[m.depth-1-n : m.depth]
	top := s[n]
	copy(s[1:], s[:n])
	s[0] = top
}

// step executes an operation that is valid in all expressions. It reports false for other
// operations.
func (m *Machine) step(op uint8) bool {
	c := &m.code
	switch {
	case op >= Lit0 && op <= Lit31:
		m.Push(uint64(op - Lit0))
		return true
	case op >= Breg0 && op <= Breg31:
		m.based(uint64(op-Breg0), c.Sleb())
		return true
	}
	switch op {
	case Nop:
	case Addr:
		m.Push(c.Uint(m.Unit.AddrSize) + m.Unit.Bias)
	case Const1u, Const1s, Const2u, Const2s, Const4u, Const4s, Const8u, Const8s, Constu, Consts:
		m.Push(m.constant(op))
	case Dup:
		m.pick(0)
	case Over:
		m.pick(1)
	case Pick:
		m.pick(uint64(c.U8()))
	case Drop:
		m.pop()
	case Swap:
		m.rotate(1)
	case Rot:
		m.rotate(2)
	case Abs, Neg, Not, PlusUconst:
		m.unary(op)
	case And, Or, Xor, Plus, Minus, Mul, Div, Mod, Shl, Shr, Shra, Eq, Ge, Gt, Le, Lt, Ne:
		m.binary(op)
	case Skip:
		m.jump(int16(c.U16()))
	case Bra:
		if by := int16(c.U16()); m.pop().V != 0 {
			m.jump(by)
		}
	case Deref:
		m.load(8, Num{Size: 8})
	case DerefSize:
		m.load(int(c.U8()), Num{Size: 8})
	case Bregx:
		reg := c.Uleb()
		m.based(reg, c.Sleb())
	default:
		return false
	}
	return true
}

// constant reads a number that is in the expression.
func (m *Machine) constant(op uint8) uint64 {
	c := &m.code
	switch op {
	case Const1u:
		return uint64(c.U8())
	case Const1s:
		return uint64(int8(c.U8()))
	case Const2u:
		return uint64(c.U16())
	case Const2s:
		return uint64(int16(c.U16()))
	case Const4u:
		return uint64(c.U32())
	case Const4s:
		return uint64(int32(c.U32()))
	case Constu:
		return c.Uleb()
	case Consts:
		return uint64(c.Sleb())
	}
	return c.U64()
}

// jump moves by a distance from the end of its operand.
func (m *Machine) jump(by int16) {
	to := m.code.Pos + int(by)
	if to < 0 || to > len(m.code.Data) {
		m.fail(fmt.Errorf("expression jumps to %d, outside its %d bytes", to, len(m.code.Data)))
		return
	}
	m.code.Pos = to
}

// based pushes a register plus a number.
func (m *Machine) based(reg uint64, plus int64) {
	if reg < uint64(len(m.Regs)) && m.Known>>reg&1 != 0 {
		m.push(Num{V: m.Regs[reg] + uint64(plus), Size: 8})
		return
	}
	v, err := m.Context.Register(reg)
	m.pushed(v+uint64(plus), err)
}

// load replaces an address by the number there, which is of type t.
func (m *Machine) load(size int, t Num) {
	at := addr.Run(m.pop().V)
	if size < 1 || size > 8 {
		m.fail(fmt.Errorf("expression loads %d bytes", size))
	}
	if m.err != nil {
		return
	}
	v, err := m.Context.Load(at, size)
	t.V = v
	m.pushedNum(t, err)
}

// describe executes an operation that is valid only in expressions for variables.
func (m *Machine) describe(op uint8) {
	c, vars := &m.code, m.Unit.Variables
	if vars == nil {
		m.fail(fmt.Errorf("expression with operation %#x, which call frame information may not use", op))
		return
	}
	switch op {
	case GNUUninit:
	case Piece, BitPiece:
		m.piece(op)
	case Regx:
		m.finish(Location{Kind: InRegister, Reg: c.Uleb()})
	case Fbreg:
		plus := c.Sleb()
		v, err := vars.FrameBase()
		m.pushed(v+uint64(plus), err)
	case CallFrameCFA:
		v, err := vars.CFA()
		m.pushed(uint64(v), err)
	case PushObject:
		v, err := vars.Object()
		m.pushed(uint64(v), err)
	case FormTLS, GNUTLS:
		if off := m.pop(); m.err == nil {
			v, err := vars.ThreadLocal(off.V)
			m.pushed(uint64(v), err)
		}
	case Addrx, GNUAddrIndex:
		v, err := vars.Indexed(c.Uleb())
		m.pushed(v+m.Unit.Bias, err)
	case Constx, GNUConstIndex:
		m.pushed(vars.Indexed(c.Uleb()))
	case ImplicitValue:
		m.finish(Location{Kind: Inline, Data: bytes.Clone(c.Take(c.Uleb()))})
	case StackValue:
		n := m.pop()
		data := binary.LittleEndian.AppendUint64(nil, n.V)
		m.finish(Location{Kind: Inline, Data: data[:max(n.Size, 1)]})
	case ImplicitPointer, GNUImplicitPtr:
		target := c.Uint(m.Unit.OffSize)
		m.finish(Location{Kind: Pointer, Target: target, Off: c.Sleb()})
	case EntryValue, GNUEntryValue:
		if expr := c.Take(c.Uleb()); c.Err == nil {
			m.pushedNum(vars.EntryValue(expr))
		}
	case GNUParameterRef:
		m.pushedNum(vars.Parameter(uint64(c.U32())))
	case Call2:
		m.call(op, uint64(c.U16()))
	case Call4:
		m.call(op, uint64(c.U32()))
	case CallRef:
		m.call(op, c.Uint(m.Unit.OffSize))
	default:
		if op >= Reg0 && op <= Reg31 {
			m.finish(Location{Kind: InRegister, Reg: uint64(op - Reg0)})
			return
		}
		m.typed(op)
	}
}

// finish makes p the location that the expression describes.
func (m *Machine) finish(p Location) { m.done, m.isDone = p, true }

// piece ends the description of a part of the value. Without one, the part is lost.
func (m *Machine) piece(op uint8) {
	p, _ := m.location()
	if op == Piece {
		p.Bits = 8 * m.code.Uleb()
	} else {
		p.Bits, p.BitOff = m.code.Uleb(), m.code.Uleb()
	}
	if len(m.pieces) == maxPieces {
		m.fail(fmt.Errorf("expression describes more than %d pieces", maxPieces))
		return
	}
	m.pieces = append(m.pieces, p)
	m.depth, m.isDone = 0, false
}

// call runs the location of another entry on the same stack. An entry without one has no
// effect (section 2.5.1.5).
func (m *Machine) call(op uint8, offset uint64) {
	if m.calls == maxCalls {
		m.fail(errors.New("expression calls too deeply"))
		return
	}
	expr, unit, err := m.Unit.Variables.Call(op, offset)
	if err != nil {
		m.fail(err)
		return
	}
	code, caller := m.code, m.Unit
	m.Unit = unit
	m.calls++
	m.run(expr)
	m.calls--
	m.code, m.Unit = code, caller
	if m.err != nil {
		m.code.Pos = len(m.code.Data)
	}
}
