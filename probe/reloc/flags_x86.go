package reloc

import (
	"fmt"

	"golang.org/x/arch/x86/x86asm"

	"hdb/internal/addr"
)

// BranchesInside is BranchesInto for bytes in the midst of a function: body is all of its code, at
// at. An indirect jump, as a switch has, may lead to any place, and an unknown instruction may be
// one: both are errors.
func BranchesInside(body []byte, at, from addr.Run, covered int) error {
	s := sweep{part: body, at: at, from: from, covered: covered}
	if err := s.far(); err != nil {
		return err
	}
	for n := 0; n < len(body); {
		i, err := decode(body[n:])
		if err != nil {
			return fmt.Errorf("instruction at %v: %w", at+addr.Run(n), err)
		}
		if op := i.raw[i.opcode:]; len(op) > 1 && op[0] == 0xff && op[1]>>3&6 == 4 {
			return fmt.Errorf("the jump at %v may lead anywhere", at+addr.Run(n))
		}
		if target, ok := i.refersTo(at + addr.Run(n)); ok {
			if err := s.check(n, target); err != nil {
				return err
			}
		}
		n += len(i.raw)
	}
	return nil
}

// FlagsUnused reports whether the code sets the arithmetic flags before it reads them, as far as
// that is certain: a function that is called or returned from reads none.
func FlagsUnused(code []byte) bool {
	const most = 32
	for range most {
		in, err := x86asm.Decode(code, 64)
		if err != nil || in.Op == 0 || in.Len > len(code) {
			return false
		}
		switch in.Op {
		case x86asm.CMP, x86asm.TEST, x86asm.ADD, x86asm.SUB, x86asm.AND, x86asm.OR, x86asm.XOR, x86asm.NEG,
			x86asm.CALL, x86asm.RET:
			return true
		case x86asm.MOV, x86asm.MOVZX, x86asm.MOVSX, x86asm.MOVSXD, x86asm.LEA, x86asm.PUSH, x86asm.POP, x86asm.NOP,
			x86asm.LEAVE, x86asm.CBW, x86asm.CWDE, x86asm.CDQE, x86asm.CWD, x86asm.CDQ, x86asm.CQO, x86asm.NOT,
			x86asm.MOVSS, x86asm.MOVSD_XMM, x86asm.MOVAPS, x86asm.MOVAPD, x86asm.MOVUPS, x86asm.MOVUPD,
			x86asm.MOVDQA, x86asm.MOVDQU, x86asm.MOVD, x86asm.MOVQ, x86asm.PXOR, x86asm.XORPS, x86asm.XORPD,
			x86asm.CVTSI2SD, x86asm.CVTSI2SS, x86asm.CVTSS2SD, x86asm.CVTSD2SS:
		default:
			return false
		}
		code = code[in.Len:]
	}
	return false
}
