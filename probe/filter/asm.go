package filter

import (
	"encoding/binary"
	"math"
	"slices"
)

// The assembler knows the instructions that programs are made of. Encodings
// are those of the Intel SDM, volume 2, in its notation: /r is a ModRM byte
// with a register and an operand (rm), /7 one with the digit in the register's
// field, ib, id and io an immediate of 1, 4 and 8 bytes.

// An assembler collects instructions. Jumps go forward to labels.
type assembler struct {
	list   []instruction
	labels int // given out, except match
}

// An instruction is a finished one, a jump, or the place of a label.
type instruction struct {
	kind  instructionKind
	bytes []byte // of finished
	near  uint64 // of finished: the address that its displacement is to lead to; 0 none
	disp  int    // where in bytes that is
	cc    cc     // of jump
	label label  // of jump and here
}

type instructionKind uint8

const (
	finished instructionKind = iota
	jump
	here
)

// A label is a place in the code.
type label int

// match is the label outside the code that is linked later.
const match label = 0

// A cc is a condition of jumps, the low four bits of their opcodes (Intel SDM
// volume 1, appendix B). The lowest bit inverts it.
type cc uint8

const (
	ccOverflow       cc = 0x0
	ccBelow          cc = 0x2
	ccAboveEqual     cc = 0x3
	ccEqual          cc = 0x4
	ccNotEqual       cc = 0x5
	ccBelowEqual     cc = 0x6
	ccAbove          cc = 0x7
	ccLess           cc = 0xc
	ccGreaterEqual   cc = 0xd
	ccLessEqual      cc = 0xe
	ccGreater        cc = 0xf
	ccSign           cc = 0x8
	ccAlways         cc = 0x10 // not a condition: jmp
	ccInvert         cc = 1
	opcodeJcc8          = 0x70
	opcodeJcc32         = 0x80
	opcodeJmp8          = 0xeb
	opcodeJmp32         = 0xe9
	prefixTwoBytes      = 0x0f
	prefixREX           = 0x40
	prefixSize          = 0x66
	rexW, rexR, rexB    = 8, 4, 1
)

// newLabel is a label to be put further down.
func (a *assembler) newLabel() label {
	a.labels++
	return label(a.labels)
}

// put places a label behind what is there.
func (a *assembler) put(l label) { a.list = append(a.list, instruction{kind: here, label: l}) }

// jump goes to a label, which must be put later, if cc holds.
func (a *assembler) jump(c cc, to label) {
	a.list = append(a.list, instruction{kind: jump, cc: c, label: to})
}

// moveNumber is mov r32, imm32 (B8+r id), which clears the upper half, or
// mov r64, imm64 (REX.W B8+r io).
func (a *assembler) moveNumber(r Register, n uint64) {
	opcode := 0xb8 + byte(r&7)
	rex := rexBit(rexB, r)
	if n <= math.MaxUint32 {
		a.emit(binary.LittleEndian.AppendUint32(withREX(rex, opcode), uint32(n)))
		return
	}
	a.emit(binary.LittleEndian.AppendUint64(withREX(rex|rexW, opcode), n))
}

// load is mov r64, rm64 (REX.W 8B /r), mov r32, rm32 (8B /r) or movzx r32, rm8
// (0F B6 /r): the whole register is set.
func (a *assembler) load(r Register, from Place) {
	if from.width == bits8 {
		a.operand(from, []byte{prefixTwoBytes, 0xb6}, byte(r), nil)
		return
	}
	a.operand(from, []byte{0x8b}, byte(r), nil)
}

// compareNumber is cmp rm, imm8 (REX.W 83 /7 ib), cmp rm, imm32 (REX.W 81 /7
// id), which extend the sign, the same without REX.W for 32 bits and with the prefix 66 for
// 16, or cmp rm8, imm8 (80 /7 ib). It needs fits(n, p.width).
func (a *assembler) compareNumber(p Place, n uint64) {
	imm := int32(uint32(n))
	switch {
	case p.width == bits8:
		a.operand(p, []byte{0x80}, 7, []byte{byte(n)})
	case p.width == bits16 && int16(n) == int16(int8(n)):
		a.operand(p, []byte{0x83}, 7, []byte{byte(n)})
	case p.width == bits16:
		a.operand(p, []byte{0x81}, 7, binary.LittleEndian.AppendUint16(nil, uint16(n)))
	case imm == int32(int8(imm)):
		a.operand(p, []byte{0x83}, 7, []byte{byte(imm)})
	default:
		a.operand(p, []byte{0x81}, 7, binary.LittleEndian.AppendUint32(nil, uint32(imm)))
	}
}

// fits reports whether compareNumber can compare n with a place of width w.
func fits(n uint64, w width) bool {
	if w == bits64 {
		return n == uint64(int64(int32(uint32(n))))
	}
	return n <= w.max()
}

// compareWith is cmp rm, r (39 /r), where r has the width of p, not 8 bits.
func (a *assembler) compareWith(p Place, r Register) { a.operand(p, []byte{0x39}, byte(r), nil) }

// testWith is test rm, r (85 /r): the flags of p & r.
func (a *assembler) testWith(p Place, r Register) { a.operand(p, []byte{0x85}, byte(r), nil) }

// multiply is imul r64, rm64 (REX.W 0F AF /r): signed, with OF for overflow.
func (a *assembler) multiply(r Register, by Place) {
	a.operand(by, []byte{prefixTwoBytes, 0xaf}, byte(r), nil)
}

// rotateRight is ror rm64, imm8 (REX.W C1 /1 ib).
func (a *assembler) rotateRight(p Place, bits byte) { a.operand(p, []byte{0xc1}, 1, []byte{bits}) }

// shiftRight is shr rm64, imm8 (REX.W C1 /5 ib).
func (a *assembler) shiftRight(p Place, bits byte) { a.operand(p, []byte{0xc1}, 5, []byte{bits}) }

// operand encodes an instruction with a ModRM byte: rm is a register or memory
// and gives the width, field a register's number or a digit.
func (a *assembler) operand(rm Place, opcode []byte, field byte, imm []byte) {
	rex := rexBit(rexB, rm.reg) | rexBit(rexR, Register(field))
	switch rm.width {
	case bits64:
		rex |= rexW
	case bits8:
		rex |= prefixREX // or sil and dil would be dh and bh
	}
	b := withREX(rex, opcode...)
	if rm.width == bits16 {
		b = append([]byte{prefixSize}, b...)
	}
	field = field & 7 << 3
	base := byte(rm.reg & 7)
	if rm.form == nearby { // mod 0 with the base of rbp is [rip+disp32]
		b = append(b, field|byte(RBP), 0, 0, 0, 0)
		a.list = append(a.list, instruction{bytes: append(b, imm...), near: rm.n, disp: len(b) - 4})
		return
	}
	if rm.form == inRegister {
		a.emit(append(append(b, 0xc0|field|base), imm...))
		return
	}
	// mod 0 is [base], 1 [base+disp8], 2 [base+disp32] (table 2-2). Base rsp and
	// r12 need a SIB byte; rbp and r13 have no mod 0.
	mod := byte(0x80)
	switch {
	case rm.disp == 0 && base != byte(RBP):
		mod = 0
	case rm.disp == int32(int8(rm.disp)):
		mod = 0x40
	}
	b = append(b, mod|field|base)
	if base == byte(RSP) {
		b = append(b, 0x24)
	}
	switch mod {
	case 0x40:
		b = append(b, byte(rm.disp))
	case 0x80:
		b = binary.LittleEndian.AppendUint32(b, uint32(rm.disp))
	}
	a.emit(append(b, imm...))
}

// rexBit is the bit of a REX prefix that makes a register r8 to r15.
func rexBit(bit byte, r Register) byte {
	if r >= R8 {
		return bit
	}
	return 0
}

// withREX is the opcode behind a REX prefix, if one is needed.
func withREX(rex byte, opcode ...byte) []byte {
	if rex == 0 {
		return slices.Clone(opcode)
	}
	return append([]byte{prefixREX | rex}, opcode...)
}

func (a *assembler) emit(b []byte) { a.list = append(a.list, instruction{bytes: b}) }

// link lays the code out and returns it with the offsets of the 32-bit fields
// of jumps to match, and what refers to memory nearby. Because all jumps go forward, the way from the last
// instruction to the first knows each jump's distance, and so its shortest form.
func (a *assembler) link() (code []byte, matches []int, refs []reference) {
	after := 0 // bytes from here to the end
	placed := make([]int, a.labels+1)
	for i, in := range slices.Backward(a.list) {
		switch in.kind {
		case here:
			placed[in.label] = after
		case jump:
			distance := 0
			if in.label != match {
				distance = after - placed[in.label]
			}
			a.list[i].bytes = encodeJump(in.cc, distance, in.label == match)
		}
		after += len(a.list[i].bytes)
	}
	for _, in := range a.list {
		if in.near != 0 {
			refs = append(refs, reference{len(code) + in.disp, len(code) + len(in.bytes), in.near})
		}
		code = append(code, in.bytes...)
		if in.kind == jump && in.label == match {
			matches = append(matches, len(code)-4)
		}
	}
	return code, matches, refs
}

// A reference is a 32-bit field at an offset of the code that is to be the distance from the
// end of its instruction to an address.
type reference struct {
	at, end int
	address uint64
}

// encodeJump is jcc rel8 (70+cc cb), jcc rel32 (0F 80+cc cd), jmp rel8 (EB cb)
// or jmp rel32 (E9 cd). The distance counts from its end.
func encodeJump(c cc, distance int, long bool) []byte {
	short := !long && distance <= math.MaxInt8
	switch {
	case short && c == ccAlways:
		return []byte{opcodeJmp8, byte(distance)}
	case short:
		return []byte{opcodeJcc8 + byte(c), byte(distance)}
	case c == ccAlways:
		return binary.LittleEndian.AppendUint32([]byte{opcodeJmp32}, uint32(distance))
	}
	return binary.LittleEndian.AppendUint32([]byte{prefixTwoBytes, opcodeJcc32 + byte(c)}, uint32(distance))
}
