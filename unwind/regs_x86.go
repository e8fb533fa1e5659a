package unwind

import (
	"math/bits"

	"hdb/internal/addr"
)

// A Reg is a register by its DWARF number, as the System V ABI for AMD64 gives
// them in figure 3.36. Vector, segment and x87 registers have numbers too, but no
// frame is found through them and the package skips their rules.
type Reg uint8

// The general registers, and the column of the return address.
const (
	RAX Reg = iota
	RDX
	RCX
	RBX
	RSI
	RDI
	RBP
	RSP
	R8
	R9
	R10
	R11
	R12
	R13
	R14
	R15
	RIP
	RA = RIP // the return address column: the caller's RIP
)

const numRegs = 17

// calleeSaved is the set of callee-saved registers (System V ABI, figure 3.4). Without a
// rule, such a register still has the caller's value.
const calleeSaved = 1<<RBX | 1<<RBP | 1<<R12 | 1<<R13 | 1<<R14 | 1<<R15

var regNames = [numRegs]string{"rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp",
	"r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "rip"}

// String is the register's name as in assembly, without a percent sign.
func (r Reg) String() string {
	if r < numRegs {
		return regNames[r]
	}
	return "no general register"
}

// Regs holds the registers of one frame. Bit r of Known is set if V[r] is the register's
// value. Bit r of Left is set if the called functions may have overwritten the register, and
// V[r] is its value after that: no rule says which.
type Regs struct {
	V     [numRegs]uint64
	Known uint32
	Left  uint32 // bit numRegs represents the vector registers
}

const leftVectors = 1 << numRegs

// Get is the register's value, if it is known.
func (r *Regs) Get(n Reg) (uint64, bool) {
	if n >= numRegs || r.Known>>n&1 == 0 {
		return 0, false
	}
	return r.V[n], true
}

// Set makes v the register's known value; other than general registers are ignored.
func (r *Regs) Set(n Reg, v uint64) {
	if n < numRegs {
		r.V[n], r.Known, r.Left = v, r.Known|1<<n, r.Left&^(1<<n)
	}
}

// AsLeft is the registers, including the values that called functions left in overwritten
// ones. vectors is true if the innermost frame's vector registers are such values.
func (r *Regs) AsLeft() (regs Regs, vectors bool) {
	regs = *r
	regs.Known |= r.Left &^ leftVectors
	return regs, r.Left&leftVectors != 0
}

// leave marks all registers that are not in keep as possibly overwritten.
func (r *Regs) leave(keep uint32) {
	r.Left |= r.Known &^ keep
	r.Known &= keep
}

// forget makes all registers unknown that are not in keep.
func (r *Regs) forget(keep uint32) {
	for drop := (r.Known | r.Left&^leftVectors) &^ keep; drop != 0; drop &= drop - 1 {
		r.V[bits.TrailingZeros32(drop)] = 0
	}
	r.Known &= keep
	r.Left &= keep
}

// PC is the frame's program counter or return address, 0 when unknown.
func (r *Regs) PC() addr.Run { return addr.Run(r.V[RIP]) }

// SP is the frame's stack pointer, 0 when unknown.
func (r *Regs) SP() addr.Run { return addr.Run(r.V[RSP]) }
