package unwind

import (
	"errors"
	"fmt"

	"hdb/internal/addr"
	"hdb/unwind/dwop"
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
	case op >= dwop.Lit0 && op <= dwop.Lit31:
		e.push(uint64(op - dwop.Lit0))
	case op >= dwop.Breg0 && op <= dwop.Breg31:
		e.based(uint64(op-dwop.Breg0), c.sleb())
	case op >= dwop.Const1u && op <= dwop.Consts || op == dwop.Addr:
		e.push(e.constant(op))
	case op >= dwop.Dup && op <= dwop.Rot:
		e.shuffle(op)
	case op == dwop.Abs || op == dwop.Neg || op == dwop.Not || op == dwop.PlusUconst:
		e.unary(op)
	case op >= dwop.And && op <= dwop.Xor || op >= dwop.Eq && op <= dwop.Ne:
		b := e.pop()
		a := e.pop()
		e.push(e.binary(op, a, b))
	case op == dwop.Skip:
		e.jump(int16(c.u16()))
	case op == dwop.Bra:
		if by := int16(c.u16()); e.pop() != 0 {
			e.jump(by)
		}
	case op == dwop.Deref:
		e.load(8)
	case op == dwop.DerefSize:
		e.load(c.u8())
	case op == dwop.Bregx:
		reg := c.uleb()
		e.based(reg, c.sleb())
	case op == dwop.Nop:
	default:
		e.fail(fmt.Errorf("expression with operation %#x, which call frame information may not use", op))
	}
}

func (e *evaluator) constant(op uint8) uint64 {
	c := &e.code
	switch op {
	case dwop.Addr:
		return c.u64() + uint64(e.bias)
	case dwop.Const1u:
		return uint64(c.u8())
	case dwop.Const1s:
		return uint64(int8(c.u8()))
	case dwop.Const2u:
		return uint64(c.u16())
	case dwop.Const2s:
		return uint64(int16(c.u16()))
	case dwop.Const4u:
		return uint64(c.u32())
	case dwop.Const4s:
		return uint64(int32(c.u32()))
	case dwop.Constu:
		return c.uleb()
	case dwop.Consts:
		return uint64(c.sleb())
	}
	return c.u64() // dwop.Const8u, dwop.Const8s
}

func (e *evaluator) shuffle(op uint8) {
	switch op {
	case dwop.Dup:
		e.push(e.pick(0))
	case dwop.Drop:
		e.pop()
	case dwop.Over:
		e.push(e.pick(1))
	case dwop.Pick:
		e.push(e.pick(uint64(e.code.u8())))
	case dwop.Swap:
		b := e.pop()
		a := e.pop()
		e.push(b)
		e.push(a)
	case dwop.Rot: // the top becomes third
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
	case dwop.Abs:
		if int64(v) < 0 {
			v = -v
		}
	case dwop.Neg:
		v = -v
	case dwop.Not:
		v = ^v
	case dwop.PlusUconst:
		v += e.code.uleb()
	}
	e.push(v)
}

// binary computes "a op b" where b was on top. Numbers are of the generic type:
// unsigned, but comparisons and division are signed (DWARF 5, section 2.5.1.4).
func (e *evaluator) binary(op uint8, a, b uint64) uint64 {
	switch op {
	case dwop.And:
		return a & b
	case dwop.Or:
		return a | b
	case dwop.Xor:
		return a ^ b
	case dwop.Plus:
		return a + b
	case dwop.Minus:
		return a - b
	case dwop.Mul:
		return a * b
	case dwop.Shl:
		return a << b
	case dwop.Shr:
		return a >> b
	case dwop.Shra:
		return uint64(int64(a) >> b)
	case dwop.Div, dwop.Mod:
		if b == 0 {
			e.fail(errors.New("expression divides by zero"))
			return 0
		}
		if op == dwop.Div {
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
	case dwop.Eq:
		return a == b
	case dwop.Ge:
		return a >= b
	case dwop.Gt:
		return a > b
	case dwop.Le:
		return a <= b
	case dwop.Lt:
		return a < b
	}
	return a != b // dwop.Ne
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
