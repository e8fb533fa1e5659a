package filter

import (
	"math"

	"hdb/internal/cond"
)

// A Register is a general register by its number in instructions (Intel SDM
// volume 2, table 2-2).
type Register uint8

// The general registers.
const (
	RAX Register = iota
	RCX
	RDX
	RBX
	RSP
	RBP
	RSI
	RDI
	R8
	R9
	R10
	R11 // the program's own: no Place may use it
	R12
	R13
	R14
	R15
)

// scratch is the one register that a program changes.
const scratch = R11

// A Place says where a program finds a number: 64 bits, unless U32, U16 or U8 says
// otherwise. The zero Place is nowhere.
type Place struct {
	form  placeForm
	reg   Register // inRegister; the base of inMemory
	disp  int32    // inMemory, bytes
	n     uint64   // the value of constant; the address of inCell and nearby
	width width
}

type placeForm uint8

const (
	nowhere placeForm = iota
	inRegister
	inMemory
	inCell
	constant
	nearby
)

// A width is a number of bytes.
type width uint8

const (
	bits8  width = 1
	bits16 width = 2
	bits32 width = 4
	bits64 width = 8
)

// max is the greatest number of that width.
func (w width) max() uint64 { return math.MaxUint64 >> (64 - 8*w) }

// Reg is the value of a register.
func Reg(r Register) Place {
	own(r)
	return Place{form: inRegister, reg: r, width: bits64}
}

// Mem is the memory at base + disp. The base RSP is the stack pointer where the
// program begins, for a program does not push.
func Mem(base Register, disp int32) Place {
	own(base)
	return Place{form: inMemory, reg: base, disp: disp, width: bits64}
}

// Abs is the memory at an address, a cell that others may write: each
// comparison reads it once, in one piece if it is aligned.
func Abs(address uint64) Place { return Place{form: inCell, n: address, width: bits64} }

// Near is the memory at an address within 2 GiB of where the program will be.
func Near(address uint64) Place { return Place{form: nearby, n: address, width: bits64} }

// Const is a number known now.
func Const(v uint64) Place { return Place{form: constant, n: v, width: bits64} }

func own(r Register) {
	if r == scratch {
		panic("filter: r11 is the program's own register")
	}
}

// U32 is the low 32 bits of the place, without sign.
func (p Place) U32() Place { return p.narrow(bits32) }

// U16 is the low 16 bits of the place, without sign.
func (p Place) U16() Place { return p.narrow(bits16) }

// U8 is the low byte of the place, without sign.
func (p Place) U8() Place { return p.narrow(bits8) }

func (p Place) narrow(w width) Place {
	p.width = w
	if p.form == constant {
		p.n &= w.max()
	}
	return p
}

// direct reports whether one instruction can use the place as its operand.
func (p Place) direct() bool { return p.form == inRegister || p.form == inMemory }

// factor reports whether the place can be multiplied with.
func (p Place) factor() bool { return p.direct() && p.width == bits64 }

// bounds are the least and the greatest number that the place can hold.
func (p Place) bounds() (low, high uint64) {
	if p.form == constant {
		return p.n, p.n
	}
	return 0, p.width.max()
}

// A Value is a number made from Places. The zero Value is None.
type Value struct {
	x, y  Place // y is nowhere but in a product
	Bound Bound
}

// A Bound relates a Value to the number it represents.
type Bound uint8

// The bounds.
const (
	Exact Bound = iota // the number itself
	Upper              // the number or a greater one: narrows live >= 1MiB, but not live < 1MiB
)

// None is the value of a field that events of the function have not: all
// comparisons with it fail, and their negations hold.
func None() Value { return Value{} }

// At is the number at a place.
func At(p Place) Value { return Value{x: p} }

// Product is x times y, or the greatest number if that does not fit in 64 bits:
// the size of a calloc. One factor at least must be all 64 bits of a register
// or of Mem, or both Const; other products are decided outside.
func Product(x, y Place) Value {
	if x.form == constant && y.form == constant {
		return At(Const(saturated(x.n, y.n)))
	}
	if x.form == nowhere || y.form == nowhere {
		return None()
	}
	if !y.factor() {
		x, y = y, x
	}
	return Value{x: x, y: y}
}

// AtMost is v as an upper bound.
func (v Value) AtMost() Value {
	v.Bound = Upper
	return v
}

func (v Value) none() bool    { return v.x.form == nowhere }
func (v Value) product() bool { return v.y.form != nowhere }

// bounds are the least and the greatest number that the value can represent.
func (v Value) bounds() (low, high uint64) {
	low, high = 0, math.MaxUint64
	if !v.product() {
		low, high = v.x.bounds()
	}
	if v.Bound == Upper {
		low = 0
	}
	return low, high
}

// A Verdict is an answer known when the condition is compiled.
type Verdict uint8

// The verdicts.
const (
	Unknown Verdict = iota
	Yes
	No
)

// not is the verdict on the opposite.
func (v Verdict) not() Verdict {
	switch v {
	case Yes:
		return No
	case No:
		return Yes
	}
	return Unknown
}

// Operands tells where what a condition asks for is found at one point of one
// function: its entry, or its return. A nil function knows nothing. They are
// called while compiling only.
type Operands struct {
	// Number is where a field is; false when it is not known there, None when
	// the function's events have no such field (what cond.Env's Number says).
	Number func(f cond.Field) (Value, bool)

	// Is reports whether kind == name holds for all events of the function, or for none.
	Is func(name string) Verdict

	// Thread is what identifies the running thread, 32 bits in a register or
	// Mem, and ThreadCell the address of 32 bits that hold the same for the
	// thread with hdb's number num, and what no thread has while there is none.
	// They serve == and != when Number does not know cond.Thread.
	Thread     Place
	ThreadCell func(num uint64) (address uint64, ok bool)

	// Stack is a value that is not zero when func(), module() or caller()
	// holds, such as a verdict kept for the stack; as an upper bound one that
	// is zero only if it does not hold.
	Stack func(call *cond.Call) (Value, bool)

	// Type is a value that is 1 when type() holds, 0 when it does not, and greater when that is
	// not known yet; None for functions whose blocks are of no type.
	Type func(call *cond.Call) (Value, bool)

	// Expr is the part of a term of the program's language that can be decided.
	Expr func(x *cond.Expr) Term
}
