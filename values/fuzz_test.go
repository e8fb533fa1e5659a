package values

import (
	"bytes"
	"testing"

	"hdb/symbols/dwarf"
	"hdb/unwind"
)

// FuzzExpression feeds the interpreter of DWARF expressions, over a frame with
// registers and a little memory.
func FuzzExpression(f *testing.F) {
	for _, seed := range [][]byte{
		{opFbreg, 0x6c}, {opBreg0 + 6, 0x70}, {opReg0 + 5}, {opLit0 + 3, opStackValue}, {opReg0, opPiece, 4, opPiece, 4},
		{opConst1u, 8, opDup, opPlus, opDeref}, {opImplicitValue, 2, 1, 2}, {opSkip, 0xfd, 0xff}, {opLit0 + 1, opBra, 0xfc, 0xff},
		{opEntryValue, 1, opReg0 + 5, opStackValue}, {opCallFrameCFA, opConsts, 0x40, opPlus}, {opRegvalType, 0, 0x20}, {opConvert, 0},
		{opBitPiece, 3, 1}, {opImplicitPointer, 0, 0, 0, 0, 0}, {opAddrx, 1}, {opCall4, 0, 0, 0, 0}, {opDerefSize, 9}, {opLit0, opLit0, opDiv},
	} {
		f.Add(seed)
	}
	unit := &dwarf.Unit{Data: dwarf.New(dwarf.Sections{}, nil), Version: 5}
	f.Fuzz(func(t *testing.T, expr []byte) {
		w := &World{Mem: bytes.NewReader(make([]byte, 4096))}
		frame := &Frame{CFA: 2048}
		for r := unwind.RAX; r <= unwind.RIP; r++ {
			frame.Regs.Set(r, uint64(r)*100)
		}
		steps := 0
		m := machine{w: w, mod: &modState{}, frame: frame, unit: unit, steps: &steps}
		pieces, err := m.locate(expr)
		if steps > maxSteps+1 {
			t.Fatalf("%d steps", steps)
		}
		if err == nil {
			v := w.assemble(&modState{}, frame, baseType(w, "long", 8, encSigned), pieces)
			w.FormatTop(nil, v, Options{})
		}
	})
}

// noTypes knows the types of C that every program has.
type noTypes struct{ w *World }

func (n noTypes) typeFor(tag dwarf.Tag, name string) *Type {
	if tag != 0 {
		return nil
	}
	return n.w.builtin(nil, name)
}

// FuzzParse feeds the parser, and computes what it accepts without a program.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"a", "1 + 2 * 3", "(int)x", "*p->next[3].y", "a ? b : c", "sizeof(long)", "sizeof x", "$1", "$rip", "arr@3", "x = y", "'a'", `"s\n"`, "ns::Box<int>::made",
		"(unsigned char*)p", "{int} 0x10", "((((1))))", "-~!1", "1 << 70", "5 % 0", "0x1p3", "a.b::c", "1.5f", "operator", "(", "a[", "'", "void (*)(int)", "9223372036854775807+1",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, src string) {
		w := &World{Mem: bytes.NewReader(make([]byte, 4096))}
		parse(src, noTypes{w})
		if v, err := w.Eval(nil, src); err == nil {
			if text := w.FormatTop(nil, v, Options{Elements: 200}); len(text) > 2*maxText {
				t.Fatalf("%d bytes of text", len(text))
			}
		}
	})
}
