package delve

import (
	"encoding/binary"
	"go/parser"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/go-delve/delve/pkg/dwarf/op"
)

func TestLostFrom(t *testing.T) {
	for _, c := range []struct {
		location string
		want     int
	}{
		{"", -1}, {"[block] DW_OP_call_frame_cfa ", -1}, {"[0x12:0x34] DW_OP_reg0(Rax) DW_OP_piece 0x8 DW_OP_reg3(Rbx) DW_OP_piece 0x8 ", -1},
		{"[0x12:0x34] DW_OP_piece 0x8 DW_OP_reg3(Rbx) DW_OP_piece 0x8 ", 0}, {"[0x12:0x34] DW_OP_reg0(Rax) DW_OP_piece 0x8 DW_OP_piece 0x8 ", 8},
		{"[0x12:0x34] DW_OP_fbreg -0x30 DW_OP_piece 0x8 DW_OP_reg3(Rbx) DW_OP_piece 0x8 DW_OP_piece 0x8 ", 16}, {"DW_OP_piece 0xffffffffff ", 0},
	} {
		if got := lostFrom(c.location); got != c.want {
			t.Errorf("%q: %d, want %d", c.location, got, c.want)
		}
	}
}

func TestLostWith(t *testing.T) {
	regs := op.NewDwarfRegisters(0, []*op.DwarfRegister{nil, nil, nil, op.DwarfRegisterFromUint64(5)}, binary.LittleEndian, 16, 7, 6, 0)
	for location, want := range map[string]string{
		"": "", "[block] DW_OP_fbreg -0x30 ": "", "[0x12:0x34] DW_OP_reg3(Rbx) ": "", "[0x12:0x34] DW_OP_reg0(Rax) ": "optimized out",
		"DW_OP_breg2(Rcx) 0x8 ": "optimized out", "DW_OP_regx 0x11 ": "optimized out", "DW_OP_regx 0x3 ": "", "DW_OP_reg31(Xmm14) ": "optimized out",
		"DW_OP_reg3(Rbx) DW_OP_piece 0x8 DW_OP_reg0(Rax) DW_OP_piece 0x8 ": "optimized out in part",
	} {
		if got := lostWith(location, regs); got != want {
			t.Errorf("%q: %q, want %q", location, got, want)
		}
	}
}

// A lost variable is no reason to refuse an expression with a field, a package's variable or an asserted type of its name.
func TestOperands(t *testing.T) {
	for expr, want := range map[string]string{
		"n": "n", "page.n": "page", "main.total": "main", "a.b.n + n": "a n", "(*p).n[i]": "i p", "runtime.frame(1).n": "runtime",
		"x.(data)": "x", "x.(*page).n": "x", "page{n: m}": "m page", "f(n).m": "f n", "-(a[n].b)": "a n", "[]int{n + 1: m}": "int m n",
	} {
		tree, err := parser.ParseExpr(expr)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(slices.Sorted(maps.Keys(operands(tree))), " "); got != want {
			t.Errorf("%s: %q, want %q", expr, got, want)
		}
	}
}
