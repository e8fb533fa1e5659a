package unwind

import (
	"errors"
	"fmt"

	"hdb/internal/addr"
)

// Operations of DWARF expressions (DWARF 5, section 7.7.1) that call frame
// information may contain (section 6.4.2 forbids those that need a frame or types).
const (
	opAddr       = 0x03
	opDeref      = 0x06
	opConst1u    = 0x08
	opConst1s    = 0x09
	opConst2u    = 0x0a
	opConst2s    = 0x0b
	opConst4u    = 0x0c
	opConst4s    = 0x0d
	opConst8u    = 0x0e
	opConst8s    = 0x0f
	opConstu     = 0x10
	opConsts     = 0x11
	opDup        = 0x12
	opDrop       = 0x13
	opOver       = 0x14
	opPick       = 0x15
	opSwap       = 0x16
	opRot        = 0x17
	opAbs        = 0x19
	opAnd        = 0x1a
	opDiv        = 0x1b
	opMinus      = 0x1c
	opMod        = 0x1d
	opMul        = 0x1e
	opNeg        = 0x1f
	opNot        = 0x20
	opOr         = 0x21
	opPlus       = 0x22
	opPlusUconst = 0x23
	opShl        = 0x24
	opShr        = 0x25
	opShra       = 0x26
	opXor        = 0x27
	opBra        = 0x28
	opEq         = 0x29
	opGe         = 0x2a
	opGt         = 0x2b
	opLe         = 0x2c
	opLt         = 0x2d
	opNe         = 0x2e
	opSkip       = 0x2f
	opLit0       = 0x30
	opLit31      = 0x4f
	opBreg0      = 0x70
	opBreg31     = 0x8f
	opBregx      = 0x92
	opDerefSize  = 0x94
	opNop        = 0x96
)

const (
	maxExprSteps = 4096 // a branch back makes a loop; compilers emit none
	maxExprStack = 64
)

var errExprStack = errors.New("expression takes from an empty stack")

// An evaluator computes expressions over one frame's registers and memory. Its
// stack is kept from one to the next, so that a walk does not allocate.
type evaluator struct {
	mem   *memory
	regs  *Regs
	bias  addr.Bias
	code  reader
	stack [maxExprStack]uint64
	depth int
	err   error
}

// eval is the value left on top of the stack. With pushCFA the stack begins with
// the CFA, as it does for the rules of registers.
func (e *evaluator) eval(expr []byte, cfa addr.Run, pushCFA bool) (uint64, error) {
	e.code, e.depth, e.err = reader{data: expr}, 0, nil
	if pushCFA {
		e.push(uint64(cfa))
	}
	for steps := 0; e.code.rest() > 0 && e.err == nil; steps++ {
		if steps == maxExprSteps {
			return 0, fmt.Errorf("expression runs for more than %d operations", maxExprSteps)
		}
		e.step(e.code.u8())
		if e.code.err != nil {
			e.fail(e.code.err)
		}
	}
	v := e.pop()
	return v, e.err
}

func (e *evaluator) fail(err error) {
	if e.err == nil {
		e.err = err
	}
}

func (e *evaluator) push(v uint64) {
	if e.depth == maxExprStack {
		e.fail(fmt.Errorf("expression needs a stack of more than %d", maxExprStack))
		return
	}
	e.stack[e.depth] = v
	e.depth++
}

func (e *evaluator) pop() uint64 {
	if e.depth == 0 {
		e.fail(errExprStack)
		return 0
	}
	e.depth--
	return e.stack[e.depth]
}

// pick is the entry n below the top.
func (e *evaluator) pick(n uint64) uint64 {
	if n >= uint64(e.depth) {
		e.fail(errExprStack)
		return 0
	}
	return e.stack[uint64(e.depth)-1-n]
}

func (e *evaluator) step(op uint8) {
	c := &e.code
	switch {
	case op >= opLit0 && op <= opLit31:
		e.push(uint64(op - opLit0))
	case op >= opBreg0 && op <= opBreg31:
		e.based(uint64(op-opBreg0), c.sleb())
	case op >= opConst1u && op <= opConsts || op == opAddr:
		e.push(e.constant(op))
	case op >= opDup && op <= opRot:
		e.shuffle(op)
	case op == opAbs || op == opNeg || op == opNot || op == opPlusUconst:
		e.unary(op)
	case op >= opAnd && op <= opXor || op >= opEq && op <= opNe:
		b := e.pop()
		a := e.pop()
		e.push(e.binary(op, a, b))
	case op == opSkip:
		e.jump(int16(c.u16()))
	case op == opBra:
		if by := int16(c.u16()); e.pop() != 0 {
			e.jump(by)
		}
	case op == opDeref:
		e.load(8)
	case op == opDerefSize:
		e.load(c.u8())
	case op == opBregx:
		reg := c.uleb()
		e.based(reg, c.sleb())
	case op == opNop:
	default:
		e.fail(fmt.Errorf("expression with operation %#x, which call frame information may not use", op))
	}
}

func (e *evaluator) constant(op uint8) uint64 {
	c := &e.code
	switch op {
	case opAddr:
		return c.u64() + uint64(e.bias)
	case opConst1u:
		return uint64(c.u8())
	case opConst1s:
		return uint64(int8(c.u8()))
	case opConst2u:
		return uint64(c.u16())
	case opConst2s:
		return uint64(int16(c.u16()))
	case opConst4u:
		return uint64(c.u32())
	case opConst4s:
		return uint64(int32(c.u32()))
	case opConstu:
		return c.uleb()
	case opConsts:
		return uint64(c.sleb())
	}
	return c.u64() // opConst8u, opConst8s
}

func (e *evaluator) shuffle(op uint8) {
	switch op {
	case opDup:
		e.push(e.pick(0))
	case opDrop:
		e.pop()
	case opOver:
		e.push(e.pick(1))
	case opPick:
		e.push(e.pick(uint64(e.code.u8())))
	case opSwap:
		b := e.pop()
		a := e.pop()
		e.push(b)
		e.push(a)
	case opRot: // the top becomes third
		c := e.pop()
		b := e.pop()
		a := e.pop()
		e.push(c)
		e.push(a)
		e.push(b)
	}
}

func (e *evaluator) unary(op uint8) {
	v := e.pop()
	switch op {
	case opAbs:
		if int64(v) < 0 {
			v = -v
		}
	case opNeg:
		v = -v
	case opNot:
		v = ^v
	case opPlusUconst:
		v += e.code.uleb()
	}
	e.push(v)
}

// binary computes "a op b" where b was on top. Numbers are of the generic type:
// unsigned, but comparisons and division are signed (DWARF 5, section 2.5.1.4).
func (e *evaluator) binary(op uint8, a, b uint64) uint64 {
	switch op {
	case opAnd:
		return a & b
	case opOr:
		return a | b
	case opXor:
		return a ^ b
	case opPlus:
		return a + b
	case opMinus:
		return a - b
	case opMul:
		return a * b
	case opShl:
		return a << b
	case opShr:
		return a >> b
	case opShra:
		return uint64(int64(a) >> b)
	case opDiv, opMod:
		if b == 0 {
			e.fail(errors.New("expression divides by zero"))
			return 0
		}
		if op == opDiv {
			return uint64(int64(a) / int64(b))
		}
		return a % b
	}
	if compare(op, int64(a), int64(b)) {
		return 1
	}
	return 0
}

func compare(op uint8, a, b int64) bool {
	switch op {
	case opEq:
		return a == b
	case opGe:
		return a >= b
	case opGt:
		return a > b
	case opLe:
		return a <= b
	case opLt:
		return a < b
	}
	return a != b // opNe
}

// jump moves by a distance from behind its operand.
func (e *evaluator) jump(by int16) {
	to := e.code.pos + int(by)
	if to < 0 || to > len(e.code.data) {
		e.fail(fmt.Errorf("expression jumps to %d, outside its %d bytes", to, len(e.code.data)))
		return
	}
	e.code.pos = to
}

// based pushes a register plus a number.
func (e *evaluator) based(reg uint64, plus int64) {
	if reg >= numRegs {
		e.fail(fmt.Errorf("expression needs register %d", reg))
		return
	}
	v, ok := e.regs.Get(Reg(reg))
	if !ok {
		e.fail(fmt.Errorf("expression needs %v, which is lost", Reg(reg)))
		return
	}
	e.push(v + uint64(plus))
}

// load replaces an address by the size bytes there.
func (e *evaluator) load(size uint8) {
	at := addr.Run(e.pop())
	if size == 0 || size > 8 {
		e.fail(fmt.Errorf("expression loads %d bytes", size))
		return
	}
	if e.err != nil {
		return
	}
	b := e.mem.bytes(at, int(size))
	if b == nil {
		e.fail(unreadable(at))
		return
	}
	v := uint64(0)
	for i := range b {
		v |= uint64(b[i]) << (8 * i)
	}
	e.push(v)
}
