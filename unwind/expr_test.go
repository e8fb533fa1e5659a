package unwind

import (
	"strings"
	"testing"
)

func TestExpressions(t *testing.T) {
	neg := func(n int64) uint64 { return uint64(-n) }
	var memory memory
	memory.reset(parts{{0x8000, asm(uint64(0x1122334455667788), uint64(0x9000))}})
	var regs Regs
	regs.Set(RBP, 0x8008)
	regs.Set(RSP, 0x7ff0)
	regs.Set(RIP, 0x102b)
	for _, c := range []struct {
		name string
		expr []byte
		want uint64
		err  string
	}{
		{name: "PLT, before the push", want: 0x7ff8,
			expr: asm(opBreg0+7, 8, opBreg0+16, 0, opLit0+15, opAnd, opLit0+12, opGe, opLit0+3, opShl, opPlus)},
		{name: "PLT, behind the push", want: 0x8000,
			expr: asm(opBreg0+7, 8, opBreg0+16, 0, opLit0+15, opAnd, opLit0+11, opGe, opLit0+3, opShl, opPlus)},
		{name: "saved pointer", expr: asm(opBreg0+6, 0, opDeref), want: 0x9000},
		{name: "breg of negative", expr: asm(opBreg0+6, 0x78), want: 0x8000},
		{name: "bregx", expr: asm(opBregx, 6, 0x78, opDeref), want: 0x1122334455667788},
		{name: "deref_size", expr: asm(opBreg0+6, 0x78, opDerefSize, 2), want: 0x7788},
		{name: "addr", expr: asm(opAddr, uint64(0x10)), want: 0x5010},
		{name: "const1u", expr: asm(opConst1u, 0xff), want: 255},
		{name: "const1s", expr: asm(opConst1s, 0xff), want: neg(1)},
		{name: "const2u", expr: asm(opConst2u, 0xfe, 0xff), want: 0xfffe},
		{name: "const2s", expr: asm(opConst2s, 0xfe, 0xff), want: neg(2)},
		{name: "const4u", expr: asm(opConst4u, uint32(1<<31)), want: 1 << 31},
		{name: "const4s", expr: asm(opConst4s, uint32(1<<31)), want: neg(1 << 31)},
		{name: "const8u", expr: asm(opConst8u, uint64(1<<63)), want: 1 << 63},
		{name: "constu", expr: asm(opConstu, 0xe5, 0x8e, 0x26), want: 624485},
		{name: "consts", expr: asm(opConsts, 0x80, 0x7f), want: neg(128)},
		{name: "dup", expr: asm(opLit0+4, opDup, opMul), want: 16},
		{name: "drop", expr: asm(opLit0+4, opLit0+5, opDrop), want: 4},
		{name: "over", expr: asm(opLit0+9, opLit0+5, opOver, opMinus, opMinus), want: 13},
		{name: "pick", expr: asm(opLit0+9, opLit0+5, opLit0, opPick, 2), want: 9},
		{name: "swap", expr: asm(opLit0+2, opLit0+3, opSwap, opMinus), want: 1},
		{name: "rot puts the top third", expr: asm(opLit0+20, opLit0+7, opLit0+5, opRot, opMinus, opPlus), want: 18},
		{name: "abs", expr: asm(opConst1s, 0xf0, opAbs), want: 16},
		{name: "neg", expr: asm(opLit0+1, opNeg), want: neg(1)},
		{name: "not", expr: asm(opLit0, opNot), want: neg(1)},
		{name: "plus_uconst", expr: asm(opLit0+1, opPlusUconst, 0x80, 1), want: 129},
		{name: "div is signed", expr: asm(opConst1s, 0xf8, opLit0+2, opDiv), want: neg(4)},
		{name: "least number by -1", expr: asm(opConst8u, uint64(1<<63), opConst1s, 0xff, opDiv), want: 1 << 63},
		{name: "mod", expr: asm(opLit0+17, opLit0+5, opMod), want: 2},
		{name: "or xor and", expr: asm(opLit0+12, opLit0+3, opOr, opLit0+1, opXor, opLit0+6, opAnd), want: 6},
		{name: "shr", expr: asm(opConst1s, 0x80, opConst1u, 60, opShr), want: 15},
		{name: "shra", expr: asm(opConst1s, 0x80, opLit0+3, opShra), want: neg(16)},
		{name: "shift by 64", expr: asm(opLit0+1, opConst1u, 64, opShl), want: 0},
		{name: "comparisons are signed", expr: asm(opConst1s, 0xff, opLit0, opLt), want: 1},
		{name: "eq ne le gt", expr: asm(opLit0+1, opLit0+1, opEq, opLit0, opNe, opLit0+1, opLe, opLit0, opGt), want: 1},
		{name: "skip", expr: asm(opLit0+1, opSkip, 1, 0, opLit0+2), want: 1},
		{name: "bra taken and not", expr: asm(opLit0+7, opLit0+1, opBra, 1, 0, opLit0+2, opLit0, opBra, 1, 0, opLit0+3), want: 3},
		{name: "nop", expr: asm(opLit0+1, opNop), want: 1},

		{name: "empty", err: "empty stack"},
		{name: "underflow", expr: asm(opLit0, opPlus), err: "empty stack"},
		{name: "pick too deep", expr: asm(opLit0, opPick, 1), err: "empty stack"},
		{name: "divide by zero", expr: asm(opLit0+1, opLit0, opDiv), err: "divides by zero"},
		{name: "mod by zero", expr: asm(opLit0+1, opLit0, opMod), err: "divides by zero"},
		{name: "lost register", expr: asm(opBreg0+3, 0), err: "needs rbx, which is lost"},
		{name: "vector register", expr: asm(opBreg0+17, 0), err: "needs register 17"},
		{name: "unreadable", expr: asm(opLit0+16, opDeref), err: "unreadable stack at 0x10"},
		{name: "loads 9 bytes", expr: asm(opLit0+16, opDerefSize, 9), err: "loads 9 bytes"},
		{name: "endless", expr: asm(opSkip, 0xfd, 0xff), err: "more than 4096 operations"},
		{name: "too deep", expr: asm(opLit0, opSkip, 0xfc, 0xff), err: "stack of more than 64"},
		{name: "jumps away", expr: asm(opSkip, 0, 1), err: "jumps to 259"},
		{name: "jumps before", expr: asm(opSkip, 0, 0x80), err: "jumps to -32765"},
		{name: "unknown", expr: asm(0x9c), err: "operation 0x9c"},
		{name: "cut off", expr: asm(opConst4u, 1), err: "data ends early"},
	} {
		e := evaluator{mem: &memory, regs: &regs, bias: 0x5000}
		got, err := e.eval(c.expr, 0, false)
		switch {
		case c.err != "":
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%s: %#x, error %v; expected %q", c.name, got, err, c.err)
			}
		case err != nil || got != c.want:
			t.Errorf("%s: %#x, error %v; expected %#x", c.name, got, err, c.want)
		}
	}
	e := evaluator{mem: &memory, regs: &regs}
	if got, err := e.eval(asm(opPlusUconst, 8), 0x100, true); err != nil || got != 0x108 {
		t.Errorf("expression over the CFA: %#x, error %v", got, err)
	}
}
