package values

import (
	"bytes"
	"testing"

	"hdb/symbols/dwarf"
	"hdb/unwind"
	"hdb/unwind/dwop"
)

// FuzzExpression feeds the interpreter of DWARF expressions, over a frame with
// registers and a little memory.
func FuzzExpression(f *testing.F) {
	for _, seed := range [][]byte{
		{dwop.Fbreg, 0x6c}, {dwop.Breg0 + 6, 0x70}, {dwop.Reg0 + 5}, {dwop.Lit0 + 3, dwop.StackValue}, {dwop.Reg0, dwop.Piece, 4, dwop.Piece, 4},
		{dwop.Const1u, 8, dwop.Dup, dwop.Plus, dwop.Deref}, {dwop.ImplicitValue, 2, 1, 2}, {dwop.Skip, 0xfd, 0xff}, {dwop.Lit0 + 1, dwop.Bra, 0xfc, 0xff},
		{dwop.EntryValue, 1, dwop.Reg0 + 5, dwop.StackValue}, {dwop.CallFrameCFA, dwop.Consts, 0x40, dwop.Plus}, {dwop.RegvalType, 0, 0x20}, {dwop.Convert, 0},
		{dwop.BitPiece, 3, 1}, {dwop.ImplicitPointer, 0, 0, 0, 0, 0}, {dwop.Addrx, 1}, {dwop.Call4, 0, 0, 0, 0}, {dwop.DerefSize, 9}, {dwop.Lit0, dwop.Lit0, dwop.Div},
	} {
		f.Add(seed)
	}
	unit := &dwarf.Unit{Data: dwarf.New(dwarf.Sections{}, nil), Version: 5}
	f.Fuzz(func(t *testing.T, expr []byte) {
		w := &World{Program: Program{Reader: Reader{Mem: bytes.NewReader(make([]byte, 4096))}}}
		frame := &Frame{CFA: 2048}
		for r := unwind.RAX; r <= unwind.RIP; r++ {
			frame.Regs.Set(r, uint64(r)*100)
		}
		steps := 0
		l := locator{mod: &modState{prog: &w.Program}, frame: frame, unit: unit, steps: &steps}
		pieces, err := l.locate(expr)
		if steps > maxSteps+1 {
			t.Fatalf("%d steps", steps)
		}
		if err == nil {
			v := l.assemble(w.cType("long"), pieces)
			w.FormatTop(nil, v, Options{})
		}
	})
}

// noTypes knows the types of C that every program has.
type noTypes struct{ prog *Program }

func (noTypes) rust() bool { return true }

func (noTypes) cplusplus() bool { return true }

func (noTypes) typeOf(*node) (*Type, error) { return nil, errNoType }

func (n noTypes) typeFor(tag dwarf.Tag, name string) *Type {
	if tag != 0 {
		return nil
	}
	return language{prog: n.prog}.builtin(name)
}

// FuzzParse feeds the parser, and computes what it accepts without a program.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"a", "1 + 2 * 3", "(int)x", "*p->next[3].y", "a ? b : c", "sizeof(long)", "sizeof x", "$1", "$rip", "arr@3", "x = y", "'a'", `"s\n"`, "ns::Box<int>::made",
		"(unsigned char*)p", "{int} 0x10", "((((1))))", "-~!1", "1 << 70", "5 % 0", "0x1p3", "a.b::c", "1.5f", "operator", "(", "a[", "'", "void (*)(int)", "9223372036854775807+1",
		`L"wide" "more"`, "u'x'", "a.*b->*c", "not a and b", "{1, 2}", "typeof(int) x", "(int (*)(int, ...))f", "f(int)::x", "1'000", "1.5l", "(__int128)1 << 100",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, src string) {
		w := &World{Program: Program{Reader: Reader{Mem: bytes.NewReader(make([]byte, 4096))}}}
		parse(src, noTypes{&w.Program})
		if v, err := w.Eval(nil, src); err == nil {
			if text := w.FormatTop(nil, v, Options{Elements: 200}); len(text) > 2*MaxText {
				t.Fatalf("%d bytes of text", len(text))
			}
		}
	})
}
