package inferior

import "testing"

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
