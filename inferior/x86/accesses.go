package x86

import (
	"encoding/binary"
	"slices"

	"golang.org/x/arch/x86/x86asm"

	"hdb/inferior/machine"
	"hdb/internal/addr"
)

// An Access is memory that an instruction is about to read or write.
type Access struct {
	At     addr.Run
	Size   int // bytes
	Writes bool
}

// Overlaps reports whether x has a byte of size bytes at a.
func (x Access) Overlaps(a addr.Run, size int) bool {
	return x.At < a+addr.Run(size) && a < x.At+addr.Run(x.Size)
}

// Accesses are what the instruction at the beginning of code accesses, with those registers.
// Of a string instruction that repeats it is one turn, as a single step runs it. Of vectors that
// are masked, or gathered, it is what the instruction may Access at its address.
func Accesses(code []byte, r *Registers) []Access {
	if x, is := vectorAccess(code, r); is {
		return x
	}
	i, err := x86asm.Decode(code, 64)
	if err != nil || touchesNothing[i.Op] || endedRepeat(&i, r) {
		return nil
	}
	var all []Access
	for n, arg := range i.Args {
		m, ok := arg.(x86asm.Mem)
		if !ok {
			continue
		}
		size := i.MemBytes
		if size == 0 {
			size = otherSizes[i.Op]
		}
		if size > 0 {
			all = append(all, Access{effective(&i, m, r) + bitOffset(&i, r), size, writesArgument(&i, n)})
		}
	}
	return append(all, stackAccess(&i, r)...)
}

// touchesNothing are the instructions that have an operand in memory and no Access that a debug register would report.
var touchesNothing = map[x86asm.Op]bool{
	x86asm.LEA: true, x86asm.NOP: true, x86asm.CLFLUSH: true,
	x86asm.PREFETCHNTA: true, x86asm.PREFETCHT0: true, x86asm.PREFETCHT1: true, x86asm.PREFETCHT2: true, x86asm.PREFETCHW: true,
}

// endedRepeat reports whether a string instruction repeats no more: its count is 0.
func endedRepeat(i *x86asm.Inst, r *Registers) bool {
	repeats := slices.ContainsFunc(i.Prefix[:], func(p x86asm.Prefix) bool {
		return p&0xff == x86asm.PrefixREP || p&0xff == x86asm.PrefixREPN
	})
	if !repeats {
		return false
	}
	switch otherSizes[i.Op] {
	case 1, 2, 4, 8: // string instructions
	default:
		return false
	}
	if i.AddrSize == 32 {
		return uint32(r.Rcx) == 0
	}
	return r.Rcx == 0
}

// bitOffset is how far from its operand bt and its like Access, whose bit a register tells (Intel SDM volume 2, BT).
func bitOffset(i *x86asm.Inst, r *Registers) addr.Run {
	switch i.Op {
	case x86asm.BT, x86asm.BTC, x86asm.BTR, x86asm.BTS:
	default:
		return 0
	}
	reg, ok := i.Args[1].(x86asm.Reg)
	if !ok {
		return 0
	}
	bit := int64(general(r, reg))
	switch i.DataSize {
	case 16:
		bit = int64(int16(bit))
	case 32:
		bit = int64(int32(bit))
	}
	size := int64(i.DataSize)
	element := bit / size
	if bit%size < 0 {
		element--
	}
	return addr.Run(element * size / 8)
}

// otherSizes is how much memory instructions take whose size x86asm does not tell, bytes.
var otherSizes = map[x86asm.Op]int{
	x86asm.MOVSB: 1, x86asm.MOVSW: 2, x86asm.MOVSD: 4, x86asm.MOVSQ: 8, x86asm.STOSB: 1, x86asm.STOSW: 2, x86asm.STOSD: 4, x86asm.STOSQ: 8,
	x86asm.LODSB: 1, x86asm.LODSW: 2, x86asm.LODSD: 4, x86asm.LODSQ: 8, x86asm.SCASB: 1, x86asm.SCASW: 2, x86asm.SCASD: 4, x86asm.SCASQ: 8,
	x86asm.CMPSB: 1, x86asm.CMPSW: 2, x86asm.CMPSD: 4, x86asm.CMPSQ: 8, x86asm.XLATB: 1,
	x86asm.FLD: 10, x86asm.FSTP: 10, x86asm.FBLD: 10, x86asm.FBSTP: 10,
	x86asm.FXSAVE: 512, x86asm.FXSAVE64: 512, x86asm.FXRSTOR: 512, x86asm.FXRSTOR64: 512,
	x86asm.XSAVE: machine.XSaveMax, x86asm.XSAVE64: machine.XSaveMax, x86asm.XSAVEC: machine.XSaveMax, x86asm.XSAVEC64: machine.XSaveMax,
	x86asm.XSAVEOPT: machine.XSaveMax, x86asm.XSAVEOPT64: machine.XSaveMax, x86asm.XRSTOR: machine.XSaveMax, x86asm.XRSTOR64: machine.XSaveMax,
	x86asm.FNSAVE: 108, x86asm.FRSTOR: 108, x86asm.FNSTENV: 28, x86asm.FLDENV: 28,
	x86asm.CMPXCHG16B: 16,
}

// readsOnly are the instructions whose first operand in memory is not written, and those of
// which it is not the destination.
var readsOnly = map[x86asm.Op]bool{
	x86asm.CMP: true, x86asm.TEST: true, x86asm.BT: true, x86asm.PUSH: true, x86asm.CALL: true, x86asm.JMP: true,
	x86asm.MUL: true, x86asm.IMUL: true, x86asm.DIV: true, x86asm.IDIV: true,
	x86asm.CMPSB: true, x86asm.CMPSW: true, x86asm.CMPSD: true, x86asm.CMPSQ: true,
	x86asm.SCASB: true, x86asm.SCASW: true, x86asm.SCASD: true, x86asm.SCASQ: true,
	x86asm.PREFETCHNTA: true, x86asm.PREFETCHT0: true, x86asm.PREFETCHT1: true, x86asm.PREFETCHT2: true, x86asm.PREFETCHW: true,
	x86asm.FLD: true, x86asm.FILD: true, x86asm.FBLD: true, x86asm.FADD: true, x86asm.FIADD: true, x86asm.FSUB: true, x86asm.FISUB: true,
	x86asm.FSUBR: true, x86asm.FISUBR: true, x86asm.FMUL: true, x86asm.FIMUL: true, x86asm.FDIV: true, x86asm.FIDIV: true,
	x86asm.FDIVR: true, x86asm.FIDIVR: true, x86asm.FCOM: true, x86asm.FCOMP: true, x86asm.FICOM: true, x86asm.FICOMP: true,
	x86asm.FLDCW: true, x86asm.FLDENV: true, x86asm.FRSTOR: true, x86asm.LDMXCSR: true,
	x86asm.FXRSTOR: true, x86asm.FXRSTOR64: true, x86asm.XRSTOR: true, x86asm.XRSTOR64: true,
}

// writesArgument reports whether the instruction writes its nth operand, which is in memory.
func writesArgument(i *x86asm.Inst, n int) bool {
	if i.Op == x86asm.XCHG || i.Op == x86asm.XADD {
		return true
	}
	return n == 0 && !readsOnly[i.Op]
}

// effective is the address of an operand in memory.
func effective(i *x86asm.Inst, m x86asm.Mem, r *Registers) addr.Run {
	a := uint64(m.Disp)
	switch {
	case m.Base == x86asm.RIP || m.Base == x86asm.EIP:
		a += r.Rip + uint64(i.Len)
	case m.Base != 0:
		a += general(r, m.Base)
	}
	if m.Index != 0 {
		a += general(r, m.Index) * uint64(m.Scale)
	}
	if i.AddrSize == 32 {
		a = uint64(uint32(a))
	}
	switch m.Segment {
	case x86asm.FS:
		a += r.FsBase
	case x86asm.GS:
		a += r.GsBase
	}
	return addr.Run(a)
}

// general is the value of a register that addresses memory, 64 or 32 bits of it.
func general(r *Registers, reg x86asm.Reg) uint64 {
	if reg >= x86asm.EAX && reg <= x86asm.R15L {
		return uint64(uint32(*r.Numbered(int(reg - x86asm.EAX))))
	}
	if reg >= x86asm.RAX && reg <= x86asm.R15 {
		return *r.Numbered(int(reg - x86asm.RAX))
	}
	return 0
}

// Numbered is the general register of a number in instructions, 0 to 15.
func (r *Registers) Numbered(n int) *uint64 {
	return [...]*uint64{&r.Rax, &r.Rcx, &r.Rdx, &r.Rbx, &r.Rsp, &r.Rbp, &r.Rsi, &r.Rdi, &r.R8, &r.R9, &r.R10, &r.R11, &r.R12, &r.R13, &r.R14, &r.R15}[n&15]
}

// stackAccess is what an instruction pushes or pops.
func stackAccess(i *x86asm.Inst, r *Registers) []Access {
	size := 8
	if i.DataSize == 16 {
		size = 2
	}
	switch i.Op {
	case x86asm.CALL:
		return []Access{{addr.Run(r.Rsp - 8), 8, true}}
	case x86asm.PUSH, x86asm.PUSHF, x86asm.PUSHFQ:
		return []Access{{addr.Run(r.Rsp - uint64(size)), size, true}}
	case x86asm.ENTER:
		return []Access{{addr.Run(r.Rsp - 8), 8, true}}
	case x86asm.RET:
		return []Access{{addr.Run(r.Rsp), 8, false}}
	case x86asm.POP, x86asm.POPF, x86asm.POPFQ:
		return []Access{{addr.Run(r.Rsp), size, false}}
	case x86asm.LEAVE:
		return []Access{{addr.Run(r.Rbp), 8, false}}
	}
	return nil
}

// A vector is an instruction with a VEX or EVEX prefix (Intel SDM volume 2, sections 2.3 and 2.7), which
// x86asm does not decode.
type vector struct {
	pmap, opcode byte // the opcode map: 1 is 0F, 2 is 0F38, 3 is 0F3A
	pp           byte // 1, 2, 3: 66, F3, F2
	wide         bool // W
	length       int  // of vectors, bytes
	evex, one    bool // one: an element in memory is for all
	rexR         byte
	rexX, rexB   byte
}

// vectorAccess is the Access of an instruction with such a prefix; is reports whether it has one.
func vectorAccess(code []byte, r *Registers) (all []Access, is bool) {
	n, base, narrow := 0, uint64(0), false
	for ; n < len(code); n++ {
		switch code[n] {
		case 0x64:
			base = r.FsBase
			continue
		case 0x65:
			base = r.GsBase
			continue
		case 0x67:
			narrow = true
			continue
		case 0x26, 0x2e, 0x36, 0x3e:
			continue
		}
		break
	}
	v, n, ok := vectorPrefix(code, n)
	if !ok {
		return nil, false
	}
	size, writes := v.memory()
	scale := 1
	if v.evex {
		scale = size
	}
	a, ok := v.address(code[n:], n, scale, r)
	if !ok || size == 0 {
		return nil, true
	}
	if narrow {
		a = uint64(uint32(a))
	}
	return []Access{{addr.Run(a + base), size, writes}}, true
}

// vectorPrefix reads the prefix at n and the opcode behind it, and tells where the operands begin.
func vectorPrefix(code []byte, n int) (v vector, next int, ok bool) {
	if n+6 > len(code) {
		return v, n, false
	}
	p := code[n:]
	switch p[0] {
	case 0xc5:
		v = vector{pmap: 1, rexR: ^p[1] >> 7 & 1, pp: p[1] & 3, length: 16 << (p[1] >> 2 & 1), opcode: p[2]}
		return v, n + 3, true
	case 0xc4:
		v = vector{pmap: p[1] & 31, rexR: ^p[1] >> 7 & 1, rexX: ^p[1] >> 6 & 1, rexB: ^p[1] >> 5 & 1,
			wide: p[2]&0x80 != 0, pp: p[2] & 3, length: 16 << (p[2] >> 2 & 1), opcode: p[3]}
		return v, n + 4, true
	case 0x62:
		v = vector{pmap: p[1] & 7, rexR: ^p[1] >> 7 & 1, rexX: ^p[1] >> 6 & 1, rexB: ^p[1] >> 5 & 1,
			wide: p[2]&0x80 != 0, pp: p[2] & 3, length: 16 << min(p[3]>>5&3, 2), evex: true, one: p[3]&0x10 != 0, opcode: p[4]}
		return v, n + 5, true
	}
	return v, n, false
}

// key is the opcode with its map.
func (v *vector) key() uint16 { return uint16(v.pmap)<<8 | uint16(v.opcode) }

// vectorStores are the instructions that write their operand in memory.
var vectorStores = map[uint16]bool{
	0x111: true, 0x113: true, 0x117: true, 0x129: true, 0x12b: true, 0x17e: true, 0x17f: true, 0x1ae: true, 0x1d6: true, 0x1e7: true,
	0x22e: true, 0x22f: true, 0x263: true, 0x28a: true, 0x28b: true, 0x28e: true,
	0x314: true, 0x315: true, 0x316: true, 0x317: true, 0x319: true, 0x31b: true, 0x31d: true, 0x339: true, 0x33b: true,
}

// Sizes of operands that are no whole vectors: bytes, or one of these.
const (
	oneElement = -1 // 4 bytes, 8 with W
	aHalf      = -2 // of a vector; the others are a quarter and an eighth
	aQuarter   = -4
	anEighth   = -8
	unseen     = -9 // gathered and scattered elements
)

var vectorSizes = map[uint16]int{
	0x112: 8, 0x113: 8, 0x116: 8, 0x117: 8, 0x1d6: 8, // halves of 16 bytes
	0x12a: oneElement, 0x12c: oneElement, 0x12d: oneElement, 0x16e: oneElement, 0x17e: oneElement, 0x1ae: 4, 0x1c4: 2,
	0x218: 4, 0x258: 4, 0x219: 8, 0x259: 8, 0x278: 1, 0x279: 2, // one for all
	0x21a: 16, 0x25a: 16, 0x21b: 32, 0x25b: 32,
	0x220: aHalf, 0x223: aHalf, 0x225: aHalf, 0x230: aHalf, 0x233: aHalf, 0x235: aHalf, // extended
	0x221: aQuarter, 0x224: aQuarter, 0x231: aQuarter, 0x234: aQuarter, 0x222: anEighth, 0x232: anEighth,
	0x290: unseen, 0x291: unseen, 0x292: unseen, 0x293: unseen, 0x2a0: unseen, 0x2a1: unseen, 0x2a2: unseen, 0x2a3: unseen,
	0x2f2: oneElement, 0x2f3: oneElement, 0x2f5: oneElement, 0x2f6: oneElement, 0x2f7: oneElement, 0x3f0: oneElement, // general registers
	0x314: 1, 0x315: 2, 0x316: oneElement, 0x317: 4, 0x31d: aHalf, 0x320: 1, 0x321: 4, 0x322: oneElement,
	0x318: 16, 0x319: 16, 0x338: 16, 0x339: 16, 0x31a: 32, 0x31b: 32, 0x33a: 32, 0x33b: 32, // parts of a longer one
}

// memory is how much an operand in memory has, and whether it is written.
func (v *vector) memory() (size int, writes bool) {
	narrows := v.evex && v.pmap == 2 && v.pp == 2 && v.opcode >= 0x10 && v.opcode <= 0x35 // to shorter elements
	loads := v.key() == 0x17e && v.pp == 2                                                // vmovq
	writes = (vectorStores[v.key()] || narrows) && !loads
	element := 4
	if v.wide {
		element = 8
	}
	size, listed := vectorSizes[v.key()]
	switch {
	case loads:
		return 8, false
	case v.one && !writes, size == oneElement:
		return element, writes
	case size == unseen:
		return 0, false
	case size < 0:
		return v.length / -size, writes
	case listed && !(v.pp >= 2 && (v.key() == 0x112 || v.key() == 0x116)): // vmovddup and the like
		return size, writes
	case v.pmap == 1 && v.single():
		return map[bool]int{false: 4, true: 8}[v.pp == 3 || v.pp == 1], writes
	}
	return v.length, writes
}

// single reports whether an instruction of the first map is about one number: by F3 or F2, or as a comparison.
func (v *vector) single() bool {
	switch v.opcode {
	case 0x10, 0x11, 0x51, 0x52, 0x53, 0x58, 0x59, 0x5a, 0x5c, 0x5d, 0x5e, 0x5f, 0xc2:
		return v.pp >= 2
	case 0x2e, 0x2f:
		return true
	}
	return false
}

// immediate reports whether a byte follows the operand.
func (v *vector) immediate() bool {
	switch v.opcode {
	case 0x70, 0x71, 0x72, 0x73, 0xc2, 0xc4, 0xc5, 0xc6:
		return v.pmap == 1
	}
	return v.pmap == 3
}

// address computes the address of the operand whose ModRM byte is at the beginning of b, which
// begins n bytes behind the instruction's beginning. ok is false of a register.
func (v *vector) address(b []byte, n, scale int, r *Registers) (a uint64, ok bool) {
	if len(b) < 6 || b[0]>>6 == 3 {
		return 0, false
	}
	mod, rm, at := b[0]>>6, int(b[0]&7), 1
	switch {
	case rm == 4:
		sib := b[1]
		at = 2
		if base := int(sib & 7); base != 5 || mod != 0 {
			a = *r.Numbered(base | int(v.rexB)<<3)
		} else {
			mod = 2 // no base, but 32 bits
		}
		if index := int(sib>>3&7) | int(v.rexX)<<3; index != 4 {
			a += *r.Numbered(index) << (sib >> 6)
		}
	case rm == 5 && mod == 0:
		end := n + at + 4
		if v.immediate() {
			end++
		}
		return r.Rip + uint64(end) + uint64(int32(binary.LittleEndian.Uint32(b[1:]))), true
	default:
		a = *r.Numbered(rm | int(v.rexB)<<3)
	}
	switch {
	case mod == 1:
		a += uint64(int(int8(b[at])) * scale)
	case mod == 2 && len(b) >= at+4:
		a += uint64(int32(binary.LittleEndian.Uint32(b[at:])))
	}
	return a, true
}

// JumpTarget is where the indirect jump at the beginning of code leads; read reads memory. ok is
// false of other instructions.
func JumpTarget(code []byte, r *Registers, read func(b []byte, a addr.Run) error) (to addr.Run, ok bool) {
	i, err := x86asm.Decode(code, 64)
	if err != nil || i.Op != x86asm.JMP {
		return 0, false
	}
	switch arg := i.Args[0].(type) {
	case x86asm.Reg:
		return addr.Run(general(r, arg)), true
	case x86asm.Mem:
		var b [8]byte
		err := read(b[:], effective(&i, arg, r))
		return addr.Run(binary.LittleEndian.Uint64(b[:])), err == nil
	}
	return 0, false
}
