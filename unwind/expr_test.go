package unwind

import (
	"strings"
	"testing"

	"hdb/unwind/dwop"
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
			expr: asm(dwop.Breg0+7, 8, dwop.Breg0+16, 0, dwop.Lit0+15, dwop.And, dwop.Lit0+12, dwop.Ge, dwop.Lit0+3, dwop.Shl, dwop.Plus)},
		{name: "PLT, behind the push", want: 0x8000,
			expr: asm(dwop.Breg0+7, 8, dwop.Breg0+16, 0, dwop.Lit0+15, dwop.And, dwop.Lit0+11, dwop.Ge, dwop.Lit0+3, dwop.Shl, dwop.Plus)},
		{name: "saved pointer", expr: asm(dwop.Breg0+6, 0, dwop.Deref), want: 0x9000},
		{name: "breg of negative", expr: asm(dwop.Breg0+6, 0x78), want: 0x8000},
		{name: "bregx", expr: asm(dwop.Bregx, 6, 0x78, dwop.Deref), want: 0x1122334455667788},
		{name: "deref_size", expr: asm(dwop.Breg0+6, 0x78, dwop.DerefSize, 2), want: 0x7788},
		{name: "addr", expr: asm(dwop.Addr, uint64(0x10)), want: 0x5010},
		{name: "const1u", expr: asm(dwop.Const1u, 0xff), want: 255},
		{name: "const1s", expr: asm(dwop.Const1s, 0xff), want: neg(1)},
		{name: "const2u", expr: asm(dwop.Const2u, 0xfe, 0xff), want: 0xfffe},
		{name: "const2s", expr: asm(dwop.Const2s, 0xfe, 0xff), want: neg(2)},
		{name: "const4u", expr: asm(dwop.Const4u, uint32(1<<31)), want: 1 << 31},
		{name: "const4s", expr: asm(dwop.Const4s, uint32(1<<31)), want: neg(1 << 31)},
		{name: "const8u", expr: asm(dwop.Const8u, uint64(1<<63)), want: 1 << 63},
		{name: "constu", expr: asm(dwop.Constu, 0xe5, 0x8e, 0x26), want: 624485},
		{name: "consts", expr: asm(dwop.Consts, 0x80, 0x7f), want: neg(128)},
		{name: "dup", expr: asm(dwop.Lit0+4, dwop.Dup, dwop.Mul), want: 16},
		{name: "drop", expr: asm(dwop.Lit0+4, dwop.Lit0+5, dwop.Drop), want: 4},
		{name: "over", expr: asm(dwop.Lit0+9, dwop.Lit0+5, dwop.Over, dwop.Minus, dwop.Minus), want: 13},
		{name: "pick", expr: asm(dwop.Lit0+9, dwop.Lit0+5, dwop.Lit0, dwop.Pick, 2), want: 9},
		{name: "swap", expr: asm(dwop.Lit0+2, dwop.Lit0+3, dwop.Swap, dwop.Minus), want: 1},
		{name: "rot puts the top third", expr: asm(dwop.Lit0+20, dwop.Lit0+7, dwop.Lit0+5, dwop.Rot, dwop.Minus, dwop.Plus), want: 18},
		{name: "abs", expr: asm(dwop.Const1s, 0xf0, dwop.Abs), want: 16},
		{name: "neg", expr: asm(dwop.Lit0+1, dwop.Neg), want: neg(1)},
		{name: "not", expr: asm(dwop.Lit0, dwop.Not), want: neg(1)},
		{name: "plus_uconst", expr: asm(dwop.Lit0+1, dwop.PlusUconst, 0x80, 1), want: 129},
		{name: "div is signed", expr: asm(dwop.Const1s, 0xf8, dwop.Lit0+2, dwop.Div), want: neg(4)},
		{name: "least number by -1", expr: asm(dwop.Const8u, uint64(1<<63), dwop.Const1s, 0xff, dwop.Div), want: 1 << 63},
		{name: "mod", expr: asm(dwop.Lit0+17, dwop.Lit0+5, dwop.Mod), want: 2},
		{name: "or xor and", expr: asm(dwop.Lit0+12, dwop.Lit0+3, dwop.Or, dwop.Lit0+1, dwop.Xor, dwop.Lit0+6, dwop.And), want: 6},
		{name: "shr", expr: asm(dwop.Const1s, 0x80, dwop.Const1u, 60, dwop.Shr), want: 15},
		{name: "shra", expr: asm(dwop.Const1s, 0x80, dwop.Lit0+3, dwop.Shra), want: neg(16)},
		{name: "shift by 64", expr: asm(dwop.Lit0+1, dwop.Const1u, 64, dwop.Shl), want: 0},
		{name: "comparisons are signed", expr: asm(dwop.Const1s, 0xff, dwop.Lit0, dwop.Lt), want: 1},
		{name: "eq ne le gt", expr: asm(dwop.Lit0+1, dwop.Lit0+1, dwop.Eq, dwop.Lit0, dwop.Ne, dwop.Lit0+1, dwop.Le, dwop.Lit0, dwop.Gt), want: 1},
		{name: "skip", expr: asm(dwop.Lit0+1, dwop.Skip, 1, 0, dwop.Lit0+2), want: 1},
		{name: "bra taken and not", expr: asm(dwop.Lit0+7, dwop.Lit0+1, dwop.Bra, 1, 0, dwop.Lit0+2, dwop.Lit0, dwop.Bra, 1, 0, dwop.Lit0+3), want: 3},
		{name: "nop", expr: asm(dwop.Lit0+1, dwop.Nop), want: 1},

		{name: "empty", err: "empty stack"},
		{name: "underflow", expr: asm(dwop.Lit0, dwop.Plus), err: "empty stack"},
		{name: "pick too deep", expr: asm(dwop.Lit0, dwop.Pick, 1), err: "empty stack"},
		{name: "divide by zero", expr: asm(dwop.Lit0+1, dwop.Lit0, dwop.Div), err: "divides by zero"},
		{name: "mod by zero", expr: asm(dwop.Lit0+1, dwop.Lit0, dwop.Mod), err: "divides by zero"},
		{name: "lost register", expr: asm(dwop.Breg0+3, 0), err: "needs rbx, which is lost"},
		{name: "vector register", expr: asm(dwop.Breg0+17, 0), err: "needs register 17"},
		{name: "unreadable", expr: asm(dwop.Lit0+16, dwop.Deref), err: "unreadable stack at 0x10"},
		{name: "loads 9 bytes", expr: asm(dwop.Lit0+16, dwop.DerefSize, 9), err: "loads 9 bytes"},
		{name: "endless", expr: asm(dwop.Skip, 0xfd, 0xff), err: "more than 4096 operations"},
		{name: "too deep", expr: asm(dwop.Lit0, dwop.Skip, 0xfc, 0xff), err: "stack of more than 64"},
		{name: "jumps away", expr: asm(dwop.Skip, 0, 1), err: "jumps to 259"},
		{name: "jumps before", expr: asm(dwop.Skip, 0, 0x80), err: "jumps to -32765"},
		{name: "unknown", expr: asm(0x9c), err: "operation 0x9c"},
		{name: "cut off", expr: asm(dwop.Const4u, 1), err: "data ends early"},
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
	if got, err := e.eval(asm(dwop.PlusUconst, 8), 0x100, true); err != nil || got != 0x108 {
		t.Errorf("expression over the CFA: %#x, error %v", got, err)
	}
}
