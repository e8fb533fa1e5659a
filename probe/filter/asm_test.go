package filter

import (
	"fmt"
	"math"
	"testing"

	"golang.org/x/arch/x86/x86asm"
)

// decoded is the one instruction that emit assembles, as x86asm reads it.
func decoded(t *testing.T, emit func(*assembler)) x86asm.Inst {
	t.Helper()
	var a assembler
	emit(&a)
	code, _, _ := a.link()
	inst, err := x86asm.Decode(code, 64)
	if err != nil {
		t.Fatalf("decode % x: %v", code, err)
	}
	if inst.Len != len(code) {
		t.Errorf("% x is %d bytes, but %v has %d", code, len(code), inst, inst.Len)
	}
	return inst
}

// named is a register as x86asm names it.
func named(r Register, w width) x86asm.Reg {
	switch w {
	case bits8:
		if r >= RSP && r <= RDI {
			return x86asm.SPB + x86asm.Reg(r-RSP)
		}
		if r >= R8 {
			return x86asm.R8B + x86asm.Reg(r-R8)
		}
		return x86asm.AL + x86asm.Reg(r)
	case bits32:
		return x86asm.EAX + x86asm.Reg(r)
	}
	return x86asm.RAX + x86asm.Reg(r)
}

// operands lists all registers and memory with all bases, by what x86asm has for it.
func operands(w width) map[Place]x86asm.Arg {
	all := map[Place]x86asm.Arg{}
	for r := RAX; r <= R15; r++ {
		all[Place{form: inRegister, reg: r, width: w}] = named(r, w)
		for _, disp := range []int32{0, 1, -1, 127, 128, -128, -129, math.MaxInt32, math.MinInt32} {
			all[Place{form: inMemory, reg: r, disp: disp, width: w}] = x86asm.Mem{Base: named(r, bits64), Disp: int64(disp)}
		}
	}
	return all
}

// same compares an operand, of memory only what says where it is. x86asm leaves
// the sign of 32-bit displacements to the reader.
func same(got, want x86asm.Arg) bool {
	if mem, ok := got.(x86asm.Mem); ok {
		got = x86asm.Mem{Base: mem.Base, Disp: int64(int32(mem.Disp))}
	}
	return got == want
}

func TestOperandEncodings(t *testing.T) {
	for _, w := range []width{bits8, bits32, bits64} {
		immediates := []uint64{0, 1, 127, 128, 255}
		if w > bits8 {
			immediates = append(immediates, 256, math.MaxInt32)
		}
		if w == bits32 {
			immediates = append(immediates, 1<<31, math.MaxUint32)
		}
		if w == bits64 {
			immediates = append(immediates, math.MaxUint64, math.MaxUint64-127, math.MaxUint64-128, math.MaxUint64-math.MaxInt32)
		}
		for p, arg := range operands(w) {
			for r := RAX; r <= R15; r++ {
				checkRegisterForms(t, p, arg, r)
			}
			for _, n := range immediates {
				if !fits(n, w) {
					t.Fatalf("fits(%#x, %d bytes) = false", n, w)
				}
				inst := decoded(t, func(a *assembler) { a.compareNumber(p, n) })
				imm, ok := inst.Args[1].(x86asm.Imm)
				if inst.Op != x86asm.CMP || !same(inst.Args[0], arg) || !ok || uint64(imm)&w.max() != n {
					t.Errorf("compareNumber(%+v, %#x) is %v", p, n, inst)
				}
			}
		}
	}
	for _, n := range []uint64{1 << 31, math.MaxUint32, 1 << 63, math.MaxUint64 - math.MaxInt32 - 1} {
		if fits(n, bits64) {
			t.Errorf("fits(%#x, 8 bytes) = true", n)
		}
	}
}

func checkRegisterForms(t *testing.T, p Place, arg x86asm.Arg, r Register) {
	t.Helper()
	check := func(what string, op x86asm.Op, first, second x86asm.Arg, emit func(*assembler)) {
		t.Helper()
		if inst := decoded(t, emit); inst.Op != op || !same(inst.Args[0], first) || !same(inst.Args[1], second) {
			t.Errorf("%s of %+v and register %d is %v", what, p, r, inst)
		}
	}
	own := named(r, p.width)
	if p.width == bits8 {
		check("load", x86asm.MOVZX, named(r, bits32), arg, func(a *assembler) { a.load(r, p) })
		return
	}
	check("load", x86asm.MOV, own, arg, func(a *assembler) { a.load(r, p) })
	check("compareWith", x86asm.CMP, arg, own, func(a *assembler) { a.compareWith(p, r) })
	check("testWith", x86asm.TEST, arg, own, func(a *assembler) { a.testWith(p, r) })
	if p.width == bits64 {
		check("multiply", x86asm.IMUL, own, arg, func(a *assembler) { a.multiply(r, p) })
		check("rotateRight", x86asm.ROR, arg, x86asm.Imm(32), func(a *assembler) { a.rotateRight(p, 32) })
		check("shiftRight", x86asm.SHR, arg, x86asm.Imm(32), func(a *assembler) { a.shiftRight(p, 32) })
	}
}

func TestMoveNumber(t *testing.T) {
	for r := RAX; r <= R15; r++ {
		for _, n := range []uint64{0, 1, math.MaxUint32, math.MaxUint32 + 1, 1 << 63, math.MaxUint64} {
			inst := decoded(t, func(a *assembler) { a.moveNumber(r, n) })
			w := bits32
			if n > math.MaxUint32 {
				w = bits64
			}
			if imm, ok := inst.Args[1].(x86asm.Imm); inst.Op != x86asm.MOV || inst.Args[0] != named(r, w) || !ok || uint64(imm)&w.max() != n {
				t.Errorf("moveNumber(%d, %#x) is %v", r, n, inst)
			}
		}
	}
}

// TestJumps has a jump over each number of bytes around the limits of its forms.
func TestJumps(t *testing.T) {
	for _, over := range []int{0, 1, 126, 127, 128, 129, 1000} {
		for _, c := range []cc{ccOverflow, ccBelow, ccAboveEqual, ccEqual, ccNotEqual, ccBelowEqual, ccAbove, ccSign, ccAlways} {
			inst := decodedJump(t, c, over)
			if inst.Len > 2 && over <= 127 {
				t.Errorf("jump over %d bytes is %v, %d bytes", over, inst, inst.Len)
			}
			if rel, ok := inst.Args[0].(x86asm.Rel); !ok || int(rel) != over {
				t.Errorf("jump over %d bytes is %v", over, inst)
			}
			if want := jumpOps[c]; inst.Op != want {
				t.Errorf("condition %#x is %v, want %v", c, inst.Op, want)
			}
		}
	}
}

var jumpOps = map[cc]x86asm.Op{
	ccOverflow: x86asm.JO, ccBelow: x86asm.JB, ccAboveEqual: x86asm.JAE, ccEqual: x86asm.JE, ccNotEqual: x86asm.JNE,
	ccBelowEqual: x86asm.JBE, ccAbove: x86asm.JA, ccSign: x86asm.JS, ccAlways: x86asm.JMP,
}

func decodedJump(t *testing.T, c cc, over int) x86asm.Inst {
	t.Helper()
	var a assembler
	to := a.newLabel()
	a.jump(c, to)
	a.emit(make([]byte, over))
	a.put(to)
	code, _, _ := a.link()
	inst, err := x86asm.Decode(code, 64)
	if err != nil {
		t.Fatal(err)
	}
	if len(code) != inst.Len+over {
		t.Errorf("jump over %d bytes: %v is %d bytes, but the code %d", over, inst, inst.Len, len(code))
	}
	return inst
}

func TestLinkRange(t *testing.T) {
	p := everything(true)
	for _, c := range []struct {
		at, match uint64
		ok        bool
	}{
		{0x1000, 0x1000, true},
		{0x1000, 0x1005 + math.MaxInt32, true},
		{0x1000, 0x1006 + math.MaxInt32, false},
		{1 << 40, 1<<40 + 5 - 1<<31, true},
		{1 << 40, 1<<40 + 4 - 1<<31, false},
		{0, 1 << 63, false},
	} {
		code, err := p.Link(c.at, c.match)
		if (err == nil) != c.ok {
			t.Errorf("Link(%#x, %#x): %v", c.at, c.match, err)
			continue
		}
		if !c.ok {
			continue
		}
		inst, err := x86asm.Decode(code, 64)
		if err != nil {
			t.Fatal(err)
		}
		if got := c.at + 5 + uint64(inst.Args[0].(x86asm.Rel)); got != c.match {
			t.Errorf("Link(%#x, %#x) jumps to %#x", c.at, c.match, got)
		}
	}
	if fmt.Sprintf("% x", p.Code) != "e9 00 00 00 00" {
		t.Errorf("Link changed the program: % x", p.Code)
	}
}
