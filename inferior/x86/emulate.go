package x86

import (
	"math/bits"

	"golang.org/x/arch/x86/x86asm"
)

// A Memory is what emulated instructions access, as the thread would: by the permissions of its pages.
// What they cannot have ok false for is left to the processor.
type Memory interface {
	Fetch(r *Registers, a uint64, size int) (v uint64, ok bool)
	Store(r *Registers, a, v uint64, size int) (ok bool)

	// ShadowStack reports whether the processor guards return addresses (CET): then calls and returns
	// are its own to run.
	ShadowStack() bool
}

// A Stepper runs one instruction on a thread's registers and memory, so that
// a trap on it needs neither its int3 lifted nor the other threads stopped.
// False: it changed nothing, and the processor must run the instruction.
type Stepper func(Memory, *Registers) bool

// endbr64 is decoded by x86asm as a rep prefix; without shadow stacks' sister
// feature, branch tracking, it is a nop.
var endbr64 = [4]byte{0xf3, 0x0f, 0x1e, 0xfa}

// Decode compiles the instruction at the start of code, which is at address at. Nil: not one
// of those emulated. Instructions that change flags in ways the manual leaves undefined are chosen
// only where processors agree.
func Decode(code []byte, at uint64) Stepper {
	if len(code) >= 4 && [4]byte(code) == endbr64 {
		return advance(4)
	}
	i, err := x86asm.Decode(code, 64)
	if err != nil || i.Op == 0 || i.Len > len(code) || !plainPrefixes(&i) {
		return nil
	}
	c := compiler{inst: &i, next: at + uint64(i.Len), size: operandSize(&i)}
	switch i.Op {
	case x86asm.NOP:
		return advance(i.Len)
	case x86asm.MOV, x86asm.LEA, x86asm.MOVZX, x86asm.MOVSX, x86asm.MOVSXD:
		return c.move()
	case x86asm.PUSH, x86asm.POP, x86asm.LEAVE, x86asm.CALL, x86asm.RET:
		return c.stack()
	case x86asm.JMP:
		return c.jump()
	case x86asm.ADD, x86asm.SUB, x86asm.CMP, x86asm.AND, x86asm.OR, x86asm.XOR, x86asm.TEST:
		return c.arithmetic()
	}
	if cond, ok := jumpConditions[i.Op]; ok {
		return c.branch(cond)
	}
	return nil
}

// plainPrefixes reports whether the prefixes are only REX, a segment, or ones that mean nothing for
// a branch (bnd, branch hints).
func plainPrefixes(i *x86asm.Inst) bool {
	for _, p := range i.Prefix {
		switch {
		case p == 0:
			return true
		case p.IsREX(), p&x86asm.PrefixIgnored != 0:
		case p&0xff == x86asm.PrefixFS&0xff, p&0xff == x86asm.PrefixGS&0xff:
		case p&0xff == x86asm.PrefixREPN&0xff && (i.Op == x86asm.CALL || i.Op == x86asm.RET || i.Op == x86asm.JMP):
		case i.Op == x86asm.NOP && p&0xff != x86asm.PrefixLOCK&0xff:
		default:
			return false
		}
	}
	return true
}

// operandSize is the size of the operation in bytes.
func operandSize(i *x86asm.Inst) int {
	if r, ok := i.Args[0].(x86asm.Reg); ok {
		_, size := register(r)
		return size
	}
	if _, ok := i.Args[0].(x86asm.Mem); ok {
		return i.MemBytes
	}
	return i.DataSize / 8
}

// advance skips an instruction without effect.
func advance(n int) Stepper {
	return func(_ Memory, r *Registers) bool {
		r.Rip += uint64(n)
		return true
	}
}

// A compiler turns one decoded instruction into a Stepper.
type compiler struct {
	inst *x86asm.Inst
	next uint64 // address of the next instruction
	size int    // of the operation, bytes
}

// A getter reads an operand, a setter writes one; false: not by us.
type (
	getter func(Memory, *Registers) (uint64, bool)
	setter func(Memory, *Registers, uint64) bool
)

// get compiles reading an argument of size bytes.
func (c *compiler) get(arg x86asm.Arg, size int) getter {
	switch a := arg.(type) {
	case x86asm.Reg:
		ptr, have := register(a)
		if ptr == nil || have != size {
			return nil
		}
		return func(_ Memory, r *Registers) (uint64, bool) { return truncate(*ptr(r), size), true }
	case x86asm.Imm:
		return func(Memory, *Registers) (uint64, bool) { return truncate(uint64(a), size), true }
	case x86asm.Mem:
		address := c.address(a)
		if address == nil {
			return nil
		}
		return func(m Memory, r *Registers) (uint64, bool) { return m.Fetch(r, address(r), size) }
	}
	return nil
}

// set compiles writing an argument of size bytes.
func (c *compiler) set(arg x86asm.Arg, size int) setter {
	switch a := arg.(type) {
	case x86asm.Reg:
		ptr, have := register(a)
		if ptr == nil || have != size {
			return nil
		}
		return func(_ Memory, r *Registers, v uint64) bool {
			p := ptr(r)
			switch size {
			case 8, 4: // writing 32 bits clears the upper half
				*p = truncate(v, size)
			default:
				*p = *p&^truncate(^uint64(0), size) | truncate(v, size)
			}
			return true
		}
	case x86asm.Mem:
		address := c.address(a)
		if address == nil {
			return nil
		}
		return func(m Memory, r *Registers, v uint64) bool { return m.Store(r, address(r), v, size) }
	}
	return nil
}

// address compiles the effective address of a memory operand.
func (c *compiler) address(m x86asm.Mem) func(*Registers) uint64 {
	if op := byte(c.inst.Opcode >> 24); op >= 0xa0 && op <= 0xa3 {
		return nil // the moves with a 64-bit address
	}
	// All other displacements have at most 32 bits and are signed; x86asm
	// extends those of 32 bits with zeros.
	disp, scale := uint64(m.Disp), uint64(m.Scale)
	if disp>>31 == 1 {
		disp = uint64(int64(int32(m.Disp)))
	}
	var base, index func(*Registers) *uint64
	for _, part := range []struct {
		reg x86asm.Reg
		to  *func(*Registers) *uint64
	}{{m.Base, &base}, {m.Index, &index}} {
		switch part.reg {
		case 0:
		case x86asm.RIP:
			disp += c.next
		default:
			p, size := register(part.reg)
			if p == nil || size != 8 {
				return nil
			}
			*part.to = p
		}
	}
	switch m.Segment {
	case 0, x86asm.DS, x86asm.SS, x86asm.ES, x86asm.CS: // flat in 64-bit mode
	case x86asm.FS, x86asm.GS:
	default:
		return nil
	}
	return func(r *Registers) uint64 {
		a := disp
		if base != nil {
			a += *base(r)
		}
		if index != nil {
			a += *index(r) * scale
		}
		switch m.Segment {
		case x86asm.FS:
			a += r.FsBase
		case x86asm.GS:
			a += r.GsBase
		}
		return a
	}
}

// move compiles the instructions that copy and change no flags.
func (c *compiler) move() Stepper {
	i := c.inst
	dst := c.set(i.Args[0], c.size)
	if dst == nil {
		return nil
	}
	var src getter
	switch from := sourceSize(i, c.size); i.Op {
	case x86asm.LEA:
		m, ok := i.Args[1].(x86asm.Mem)
		if !ok || m.Segment == x86asm.FS || m.Segment == x86asm.GS {
			return nil
		}
		if address := c.address(m); address != nil {
			src = func(_ Memory, r *Registers) (uint64, bool) { return address(r), true }
		}
	case x86asm.MOVSX, x86asm.MOVSXD:
		if get := c.get(i.Args[1], from); get != nil {
			src = func(m Memory, r *Registers) (uint64, bool) {
				v, ok := get(m, r)
				return signExtend(v, from), ok
			}
		}
	default:
		src = c.get(i.Args[1], from)
	}
	if src == nil {
		return nil
	}
	return func(m Memory, r *Registers) bool {
		v, ok := src(m, r)
		if !ok || !dst(m, r, v) {
			return false
		}
		r.Rip = c.next
		return true
	}
}

// sourceSize is the size of the second operand of an extending move.
func sourceSize(i *x86asm.Inst, size int) int {
	switch i.Op {
	case x86asm.MOVZX, x86asm.MOVSX, x86asm.MOVSXD:
		if r, ok := i.Args[1].(x86asm.Reg); ok {
			_, size = register(r)
		} else {
			size = i.MemBytes
		}
	}
	return size
}

// stack compiles pushes, pops, calls and returns.
func (c *compiler) stack() Stepper {
	if c.inst.DataSize == 16 {
		return nil
	}
	switch c.inst.Op {
	case x86asm.LEAVE:
		return c.leave()
	case x86asm.POP:
		return c.pop()
	case x86asm.PUSH:
		return c.push()
	case x86asm.RET:
		return c.ret()
	}
	return c.call()
}

func (c *compiler) leave() Stepper {
	next := c.next
	return func(m Memory, r *Registers) bool {
		v, ok := m.Fetch(r, r.Rbp, 8)
		if ok {
			r.Rsp, r.Rbp, r.Rip = r.Rbp+8, v, next
		}
		return ok
	}
}

func (c *compiler) pop() Stepper {
	next, dst := c.next, c.set(c.inst.Args[0], 8)
	if _, ok := c.inst.Args[0].(x86asm.Reg); !ok || dst == nil {
		return nil
	}
	return func(m Memory, r *Registers) bool {
		v, ok := m.Fetch(r, r.Rsp, 8)
		if ok {
			r.Rsp, r.Rip = r.Rsp+8, next
			dst(m, r, v) // after rsp: it may be the operand
		}
		return ok
	}
}

func (c *compiler) push() Stepper {
	next, src := c.next, c.get(c.inst.Args[0], 8)
	if src == nil {
		return nil
	}
	return func(m Memory, r *Registers) bool {
		v, ok := src(m, r)
		if !ok || !m.Store(r, r.Rsp-8, v, 8) {
			return false
		}
		r.Rsp, r.Rip = r.Rsp-8, next
		return true
	}
}

func (c *compiler) ret() Stepper {
	if c.inst.Args[0] != nil {
		return nil
	}
	return func(m Memory, r *Registers) bool {
		v, ok := m.Fetch(r, r.Rsp, 8)
		if !ok || !inUserSpace(v) || m.ShadowStack() {
			return false
		}
		r.Rsp, r.Rip = r.Rsp+8, v
		return true
	}
}

func (c *compiler) call() Stepper {
	next, target := c.next, c.target()
	if target == nil {
		return nil
	}
	return func(m Memory, r *Registers) bool {
		to, ok := target(m, r)
		if !ok || m.ShadowStack() || !m.Store(r, r.Rsp-8, next, 8) {
			return false
		}
		r.Rsp, r.Rip = r.Rsp-8, to
		return true
	}
}

// target compiles where a jump or call goes.
func (c *compiler) target() getter {
	if rel, ok := c.inst.Args[0].(x86asm.Rel); ok {
		to := c.next + uint64(int64(rel))
		return func(Memory, *Registers) (uint64, bool) { return to, inUserSpace(to) }
	}
	if c.inst.DataSize == 16 {
		return nil
	}
	get := c.get(c.inst.Args[0], 8)
	if get == nil {
		return nil
	}
	return func(m Memory, r *Registers) (uint64, bool) {
		to, ok := get(m, r)
		return to, ok && inUserSpace(to)
	}
}

// inUserSpace reports whether a can be jumped to; elsewhere processors differ in which instruction
// faults.
func inUserSpace(a uint64) bool { return a>>47 == 0 }

func (c *compiler) jump() Stepper {
	target := c.target()
	if target == nil {
		return nil
	}
	return func(m Memory, r *Registers) bool {
		to, ok := target(m, r)
		if ok {
			r.Rip = to
		}
		return ok
	}
}

func (c *compiler) branch(cond func(flags uint64) bool) Stepper {
	rel, ok := c.inst.Args[0].(x86asm.Rel)
	if !ok {
		return nil
	}
	to, next := c.next+uint64(int64(rel)), c.next
	return func(_ Memory, r *Registers) bool {
		if !cond(r.Eflags) {
			r.Rip = next
			return true
		}
		if inUserSpace(to) {
			r.Rip = to
		}
		return inUserSpace(to)
	}
}

// arithmetic compiles two-operand instructions that set all status flags.
func (c *compiler) arithmetic() Stepper {
	i, size, next := c.inst, c.size, c.next
	a, b := c.get(i.Args[0], size), c.get(i.Args[1], size)
	if a == nil || b == nil {
		return nil
	}
	var dst setter
	if i.Op != x86asm.CMP && i.Op != x86asm.TEST {
		if _, ok := i.Args[0].(x86asm.Reg); !ok {
			return nil // a read-modify-write of memory is left to the processor
		}
		dst = c.set(i.Args[0], size)
	}
	return func(m Memory, r *Registers) bool {
		x, ok := a(m, r)
		y, ok2 := b(m, r)
		if !ok || !ok2 {
			return false
		}
		v, flags := compute(i.Op, x, y, size)
		if dst != nil {
			dst(m, r, v)
		}
		r.Eflags = r.Eflags&^statusFlags | flags
		r.Rip = next
		return true
	}
}

// The status flags, Intel SDM volume 1, section 3.4.3.1.
const (
	flagC       = 1 << 0
	flagP       = 1 << 2
	flagA       = 1 << 4
	flagZ       = 1 << 6
	flagS       = 1 << 7
	flagO       = 1 << 11
	statusFlags = flagC | flagP | flagA | flagZ | flagS | flagO
)

// compute is an operation of size bytes on operands of that size, and the
// status flags it leaves.
func compute(op x86asm.Op, x, y uint64, size int) (v, flags uint64) {
	sign := uint64(1) << (8*size - 1)
	switch op {
	case x86asm.ADD:
		v = truncate(x+y, size)
		if v < x {
			flags |= flagC
		}
		if (x^v)&(y^v)&sign != 0 {
			flags |= flagO
		}
		flags |= (x ^ y ^ v) & flagA
	case x86asm.SUB, x86asm.CMP:
		v = truncate(x-y, size)
		if x < y {
			flags |= flagC
		}
		if (x^y)&(x^v)&sign != 0 {
			flags |= flagO
		}
		flags |= (x ^ y ^ v) & flagA
	case x86asm.AND, x86asm.TEST:
		v = x & y
	case x86asm.OR:
		v = x | y
	case x86asm.XOR:
		v = x ^ y
	}
	if v == 0 {
		flags |= flagZ
	}
	if v&sign != 0 {
		flags |= flagS
	}
	if bits.OnesCount8(uint8(v))%2 == 0 {
		flags |= flagP
	}
	return v, flags
}

// jumpConditions are the conditions of Intel SDM volume 1, appendix B.
var jumpConditions = map[x86asm.Op]func(f uint64) bool{
	x86asm.JO:  func(f uint64) bool { return f&flagO != 0 },
	x86asm.JNO: func(f uint64) bool { return f&flagO == 0 },
	x86asm.JB:  func(f uint64) bool { return f&flagC != 0 },
	x86asm.JAE: func(f uint64) bool { return f&flagC == 0 },
	x86asm.JE:  func(f uint64) bool { return f&flagZ != 0 },
	x86asm.JNE: func(f uint64) bool { return f&flagZ == 0 },
	x86asm.JBE: func(f uint64) bool { return f&(flagC|flagZ) != 0 },
	x86asm.JA:  func(f uint64) bool { return f&(flagC|flagZ) == 0 },
	x86asm.JS:  func(f uint64) bool { return f&flagS != 0 },
	x86asm.JNS: func(f uint64) bool { return f&flagS == 0 },
	x86asm.JP:  func(f uint64) bool { return f&flagP != 0 },
	x86asm.JNP: func(f uint64) bool { return f&flagP == 0 },
	x86asm.JL:  func(f uint64) bool { return f&flagS != 0 != (f&flagO != 0) },
	x86asm.JGE: func(f uint64) bool { return f&flagS != 0 == (f&flagO != 0) },
	x86asm.JLE: func(f uint64) bool { return f&flagZ != 0 || f&flagS != 0 != (f&flagO != 0) },
	x86asm.JG:  func(f uint64) bool { return f&flagZ == 0 && f&flagS != 0 == (f&flagO != 0) },
}

func truncate(v uint64, size int) uint64 {
	if size >= 8 {
		return v
	}
	return v & (1<<(8*size) - 1)
}

func signExtend(v uint64, size int) uint64 {
	shift := 64 - 8*size
	return uint64(int64(v<<shift) >> shift)
}

// register is where a general register is kept, and its size in bytes. Nil:
// ah to dh, segment, control, vector registers.
func register(r x86asm.Reg) (func(*Registers) *uint64, int) {
	switch {
	case r >= x86asm.RAX && r <= x86asm.R15:
		return registerFields[r-x86asm.RAX], 8
	case r >= x86asm.EAX && r <= x86asm.R15L:
		return registerFields[r-x86asm.EAX], 4
	case r >= x86asm.AX && r <= x86asm.R15W:
		return registerFields[r-x86asm.AX], 2
	case r >= x86asm.AL && r <= x86asm.BL:
		return registerFields[r-x86asm.AL], 1
	case r >= x86asm.SPB && r <= x86asm.R15B:
		return registerFields[r-x86asm.SPB+4], 1
	}
	return nil, 0
}

// registerFields are in the order of the processor's register numbers.
var registerFields = [16]func(*Registers) *uint64{
	func(r *Registers) *uint64 { return &r.Rax }, func(r *Registers) *uint64 { return &r.Rcx },
	func(r *Registers) *uint64 { return &r.Rdx }, func(r *Registers) *uint64 { return &r.Rbx },
	func(r *Registers) *uint64 { return &r.Rsp }, func(r *Registers) *uint64 { return &r.Rbp },
	func(r *Registers) *uint64 { return &r.Rsi }, func(r *Registers) *uint64 { return &r.Rdi },
	func(r *Registers) *uint64 { return &r.R8 }, func(r *Registers) *uint64 { return &r.R9 },
	func(r *Registers) *uint64 { return &r.R10 }, func(r *Registers) *uint64 { return &r.R11 },
	func(r *Registers) *uint64 { return &r.R12 }, func(r *Registers) *uint64 { return &r.R13 },
	func(r *Registers) *uint64 { return &r.R14 }, func(r *Registers) *uint64 { return &r.R15 },
}
