package reloc

import (
	"encoding/binary"
	"slices"
)

// decodeVector reads an instruction with a VEX or EVEX prefix at op (Intel SDM
// volume 2, sections 2.3 and 2.7). Its length follows from the opcode map
// alone. x86asm knows these instructions too, but gives vzeroupper a byte too
// many and does not say which operands are relative to RIP.
func decodeVector(code []byte, op int) (instruction, error) {
	for _, p := range code[:op] {
		switch p {
		case 0xf0, 0xf2, 0xf3, 0x66: // #UD, sections 2.3.2 and 2.3.3
			return instruction{}, unknown(code)
		}
	}
	at := op + vectorPrefix(code[op])
	if at >= len(code) {
		return instruction{}, errCut
	}
	opcodeMap := vectorMap(code[op:at])
	if opcodeMap == 0 {
		return instruction{}, unknown(code)
	}
	i := instruction{opcode: at}
	if opcodeMap == 1 && code[at] == 0x77 {
		if code[op] == 0x62 {
			return i, unknown(code)
		}
		i.raw = code[:at+1] // vzeroupper, vzeroall: the only ones without operand
		return i, nil
	}
	operand, relative := modrmLength(code[at+1:])
	end := at + 1 + operand + vectorImmediate(opcodeMap, code[at])
	if operand == 0 || end > len(code) {
		return i, errCut
	}
	i.raw = code[:end]
	if relative {
		i.disp, i.far = at+2, true
		i.rel = int64(int32(binary.LittleEndian.Uint32(code[i.disp:])))
		if slices.Contains(code[:op], 0x67) {
			i.form = immovable // relative to the lower half of RIP
		}
	}
	return i, nil
}

// vectorPrefix is the length of the prefix that begins with b.
func vectorPrefix(b byte) int {
	switch b {
	case 0xc5:
		return 2
	case 0xc4:
		return 3
	}
	return 4
}

// vectorMap is the opcode map that the prefix chooses: 1 0F, 2 0F38, 3 0F3A,
// 5 and 6 those of AVX512-FP16. 0: not known.
func vectorMap(prefix []byte) byte {
	switch prefix[0] {
	case 0xc5:
		return 1
	case 0xc4:
		if m := prefix[1] & 0x1f; m <= 3 {
			return m
		}
	case 0x62:
		m := prefix[1] & 7
		if prefix[1]&8 == 0 && prefix[2]&4 != 0 && m <= 6 && m != 4 { // else registers 16 to 31 of APX
			return m
		}
	}
	return 0
}

// vectorImmediate is the length of an instruction's immediate operand (Intel
// SDM volume 2, appendix A.3).
func vectorImmediate(opcodeMap, opcode byte) int {
	switch {
	case opcodeMap == 3:
		return 1
	case opcodeMap == 1 && (opcode >= 0x70 && opcode <= 0x73 || opcode == 0xc2 || opcode >= 0xc4 && opcode <= 0xc6):
		return 1
	}
	return 0
}

// modrmLength is the length of ModRM, SIB and displacement (Intel SDM volume 2,
// section 2.1.5), 0 when code ends before, and whether RIP is the base.
func modrmLength(code []byte) (n int, relative bool) {
	if len(code) == 0 {
		return 0, false
	}
	mod, rm := code[0]>>6, code[0]&7
	if mod == 3 {
		return 1, false
	}
	n = 1
	base := rm
	if rm == 4 {
		if len(code) < 2 {
			return 0, false
		}
		base = code[1] & 7
		n++
	}
	switch {
	case mod == 1:
		n++
	case mod == 2, base == 5:
		n += 4
	}
	if n > len(code) {
		return 0, false
	}
	return n, mod == 0 && rm == 5
}
