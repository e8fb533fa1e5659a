package inferior

import (
	"encoding/binary"
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
