package x86

import "golang.org/x/arch/x86/x86asm"

// AccessVerb tells what the instruction does with the memory at a.
func AccessVerb(code []byte, r *Registers, a uint64) string {
	i, err := x86asm.Decode(code, 64)
	if err != nil || i.Op == 0 {
		return "accessing"
	}
	switch i.Op {
	case x86asm.CMP, x86asm.TEST, x86asm.JMP, x86asm.RET, x86asm.POP:
		return "reading"
	case x86asm.STOSB, x86asm.STOSD, x86asm.STOSQ, x86asm.STOSW:
		return "writing"
	case x86asm.MOVSB, x86asm.MOVSW, x86asm.MOVSQ:
		if truncate(r.Rdi-a, 8)+64 < 128 {
			return "writing"
		}
		return "reading"
	case x86asm.PUSH, x86asm.CALL:
		if r.Rsp-a <= 8 {
			return "writing"
		}
		return "reading"
	}
	if _, ok := i.Args[0].(x86asm.Mem); ok {
		return "writing"
	}
	for _, arg := range i.Args[1:] {
		if _, ok := arg.(x86asm.Mem); ok {
			return "reading"
		}
	}
	return "accessing"
}
