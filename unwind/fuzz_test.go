package unwind

import (
	"bytes"
	"testing"

	"hdb/internal/addr"
	"hdb/unwind/dwop"
)

// FuzzTable reads foreign bytes as both sections and a search table.
func FuzzTable(f *testing.F) {
	program := build(f, &walkCase{source: "instructions.s", flags: "-shared -nostdlib"})
	s := openELF(f, program)
	f.Add(s.EhFrame, s.EhFrameHdr, s.DebugFrame, uint64(s.EhFrameAddr), uint64(s.EhFrameHdrAddr), uint64(s.Text[0].Low))
	chain := newChain(f)
	f.Add(chain.table.sec.EhFrame, []byte{}, chain.table.sec.DebugFrame, uint64(0), uint64(0), uint64(0x1080))
	wide := debugFrame(f, cieSpec{version: 4, wide: true}, fdeSpec{0x1000, 0x10, asm(cfaRememberState, cfaRestoreState)})
	f.Add([]byte{}, []byte{}, wide.DebugFrame, uint64(0), uint64(0), uint64(0x1008))
	f.Fuzz(func(t *testing.T, eh, hdr, debug []byte, ehAddr, hdrAddr, at uint64) {
		table, err := NewTable(Sections{EhFrame: eh, EhFrameAddr: addr.File(ehAddr), EhFrameHdr: hdr,
			EhFrameHdrAddr: addr.File(hdrAddr), DebugFrame: debug})
		if err != nil {
			return
		}
		row, ok := table.RowAt(addr.File(at))
		if ok && (addr.File(at) < row.Low || row.High <= addr.File(at)) {
			t.Errorf("row %v-%v for %#x", row.Low, row.High, at)
		}
		for _, x := range []*index{table.ehIndex(), table.debugIndex()} {
			for _, s := range x.fdes {
				table.RowAt(addr.File(s.low))
			}
		}
		table.Damage()
	})
}

// FuzzWalk walks a foreign stack with foreign rules.
func FuzzWalk(f *testing.F) {
	mem, regs := newStack(5)
	f.Add(mem[0].data[:400], asm(cfaDefCFAOffset, 64), regs.V[RIP], regs.V[RSP], false)
	f.Add(words(0x8000, 0x1000), asm(cfaDefCFAExpression, 3, dwop.Breg0+byte(RSP), 0, dwop.Deref), uint64(0x1000), uint64(0x8000), true)
	f.Add(bytes.Repeat(words(0x3008), 20), asm(cfaRegister, int(RA), int(RBX)), uint64(0x1000), ^uint64(3), false)
	f.Fuzz(func(t *testing.T, stack, program []byte, pc, sp uint64, signal bool) {
		m := newRegions(t, region{low: 0x1000, high: 0x2000, program: program, signal: signal},
			region{low: 0x2000, high: 0x3000, program: asm(cfaUndefined, int(RA))}, region{low: 0x3000, high: 0x4000})
		m.tables[2].sec.PLT = []Range{{Low: 0x3000, High: 0x3100}}
		var regs Regs
		for r := range Reg(numRegs) {
			regs.Set(r, sp)
		}
		regs.Set(RIP, pc)
		code := asm(0x55, 0x48, 0x89, 0xe5, 0xff, 0x35, 0, 0, 0, 0, 0xff, 0x25)
		got := NewWalker(m).Walk(parts{{0x8000, stack}, {0x3000, code}}, regs, 100)
		if len(got.Frames) == 0 || len(got.Frames) > 100 {
			t.Errorf("%d frames", len(got.Frames))
		}
		if len(got.Frames) == 100 && got.Truncated == "" {
			t.Error("100 frames, and not truncated")
		}
	})
}

// FuzzRows visits the rows of foreign bytes, which must be RowAt's.
func FuzzRows(f *testing.F) {
	program := build(f, &walkCase{source: "instructions.s", flags: "-shared -nostdlib"})
	s := openELF(f, program)
	f.Add(s.EhFrame, s.EhFrameHdr, s.DebugFrame, uint64(s.EhFrameAddr), uint64(s.EhFrameHdrAddr))
	overlap := withHdr(0x18, []int32{0, 8, 16}, fdeSpec{0x10, 64, framed(16, 24)}, fdeSpec{0x20, 20, framed(32)}, fdeSpec{0x28, 4, nil})
	nested := debugFrame(f, cieSpec{}, fdeSpec{0x10, 16, framed(16, 24)}, fdeSpec{0x12, 4, framed(32)}, fdeSpec{0x10, 3, asm(cfaSetLoc, uint64(0x11))})
	f.Add(overlap.EhFrame, overlap.EhFrameHdr, nested.DebugFrame, uint64(overlap.EhFrameAddr), uint64(overlap.EhFrameHdrAddr))
	f.Add(nested.DebugFrame, []byte{}, overlap.EhFrame, uint64(0), uint64(0))
	f.Fuzz(func(t *testing.T, eh, hdr, debug []byte, ehAddr, hdrAddr uint64) {
		hdrAddr %= 1 << 63 // beyond, index.find's comparison wraps around
		table, err := NewTable(Sections{EhFrame: eh, EhFrameAddr: addr.File(ehAddr), EhFrameHdr: hdr,
			EhFrameHdrAddr: addr.File(hdrAddr), DebugFrame: debug})
		if err == nil && max(len(table.ehIndex().fdes), len(table.debugIndex().fdes)) <= maxNested {
			checkRows(t, table)
		}
	})
}
