package reloc

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"golang.org/x/arch/x86/x86asm"

	"hdb/internal/addr"
)

// A form is the way in which an instruction is carried to another address.
type form uint8

const (
	plain      form = iota // as it is, except a displacement relative to RIP
	padding                // the same: a nop
	leaves                 // the same; what follows it does not run: ret, indirect jmp, ud2
	jump                   // jmp rel8 or rel32
	condition              // jcc rel8 or rel32
	loop                   // loopne, loope, loop, jrcxz, jecxz: rel8 only
	call                   // call rel32
	callMemory             // call *rel32(%rip)
	breakpoint             // int3
	immovable              // any other that depends on its address
)

// An instruction is one of x86-64, as far as moving it is concerned.
type instruction struct {
	form   form
	raw    []byte // its bytes
	opcode int    // index in raw of the opcode: prefixes and REX are before it
	disp   int    // index in raw of the 4 bytes that are relative to RIP; 0: none
	rel    int64  // the distance from its end to what it refers to
	far    bool   // rel holds a distance: of a branch or of an operand
}

// refersTo is the address of the branch's target or of the operand, when it is relative to RIP and
// the instruction is at at.
func (i *instruction) refersTo(at addr.Run) (addr.Run, bool) {
	return at + addr.Run(len(i.raw)) + addr.Run(i.rel), i.far
}

// longest is the most bytes that an instruction has (Intel SDM volume 2,
// section 2.3.11).
const longest = 15

// The errors of instructions whose length is not certain.
var (
	errCut     = errors.New("bytes end within an instruction")
	errUnknown = errors.New("unknown instruction")
	errSize16  = errors.New("branch with a prefix that processors disagree about")
)

// decode reads the instruction at the start of code.
func decode(code []byte) (instruction, error) {
	code = code[:min(len(code), longest)]
	op := 0
	for op < len(code) && isPrefix(code[op]) {
		op++
	}
	if op >= len(code) {
		return instruction{}, errCut
	}
	switch {
	case len(code) >= 4 && code[0] == 0xf3 && code[1] == 0x0f && code[2] == 0x1e && code[3]|1 == 0xfb:
		return instruction{raw: code[:4], opcode: 1}, nil // endbr64, endbr32: x86asm sees a lone rep
	case code[op] == 0xc4 || code[op] == 0xc5 || code[op] == 0x62:
		return decodeVector(code, op)
	}
	return decodeLegacy(code, op)
}

// isPrefix reports whether b is a legacy prefix: lock, repeat, segment, operand or address size.
func isPrefix(b byte) bool {
	switch b {
	case 0xf0, 0xf2, 0xf3, 0x26, 0x2e, 0x36, 0x3e, 0x64, 0x65, 0x66, 0x67:
		return true
	}
	return false
}

// decodeLegacy reads an instruction without VEX and EVEX, whose legacy
// prefixes end before op.
func decodeLegacy(code []byte, op int) (instruction, error) {
	in, err := x86asm.Decode(code, 64)
	if err != nil || in.Op == 0 || in.Len <= op || in.Len > len(code) {
		return instruction{}, unknown(code)
	}
	for _, p := range in.Prefix {
		if p&x86asm.PrefixInvalid != 0 {
			return instruction{}, unknown(code)
		}
	}
	i := instruction{raw: code[:in.Len], opcode: op}
	wide := false
	if p := x86asm.Prefix(code[op]); p.IsREX() {
		wide = code[op]&8 != 0
		i.opcode++
	}
	i.form = formOf(&in, i.raw[i.opcode:])
	if i.form != plain && i.form != padding && !wide && slices.Contains(code[:op], 0x66) {
		return instruction{}, errSize16 // 32 bits of displacement for Intel, 16 for AMD
	}
	return i, i.findRel(&in)
}

// unknown is the error of bytes that are no instruction, as far as is known,
// or that end within one.
func unknown(code []byte) error {
	return fmt.Errorf("%w % x", errUnknown, code[:min(len(code), 8)])
}

// findRel notes what is relative to RIP.
func (i *instruction) findRel(in *x86asm.Inst) error {
	for _, a := range in.Args {
		if m, ok := a.(x86asm.Mem); ok && m.Base == x86asm.EIP {
			i.form = immovable // relative to the lower half of RIP
		}
	}
	switch in.PCRel {
	case 0:
	case 1:
		i.rel, i.far = int64(int8(i.raw[in.PCRelOff])), true
	case 4:
		i.disp, i.far = in.PCRelOff, true
		i.rel = int64(int32(binary.LittleEndian.Uint32(i.raw[i.disp:])))
	default:
		return errSize16
	}
	return nil
}

// formOf classifies an instruction by its opcode bytes.
func formOf(in *x86asm.Inst, opcode []byte) form {
	switch in.Op {
	case x86asm.NOP:
		return padding
	case x86asm.RET, x86asm.UD2:
		return leaves
	case x86asm.JMP:
		if opcode[0] == 0xff {
			return leaves
		}
		return jump
	case x86asm.CALL:
		switch {
		case opcode[0] == 0xe8:
			return call
		case in.PCRel == 4:
			return callMemory
		}
		return immovable
	case x86asm.INT:
		if opcode[0] == 0xcc {
			return breakpoint
		}
	case x86asm.ICEBP, x86asm.LCALL, x86asm.LJMP, x86asm.LRET, x86asm.IRET, x86asm.IRETD, x86asm.IRETQ,
		x86asm.SYSEXIT, x86asm.SYSRET, x86asm.XBEGIN, x86asm.UD0:
		return immovable
	}
	switch {
	case opcode[0]&0xf0 == 0x70, opcode[0] == 0x0f && opcode[1]&0xf0 == 0x80:
		return condition
	case opcode[0] >= 0xe0 && opcode[0] <= 0xe3:
		return loop
	}
	return plain
}
