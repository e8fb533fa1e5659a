package probe

import (
	"encoding/binary"
	"fmt"
	"iter"

	"hdb/internal/addr"
	"hdb/probe/cfi"
	"hdb/unwind"

	"golang.org/x/arch/x86/x86asm"
)

// A frameRow is the unwinding rule of a piece of the probe's own code: the CFA
// is at rsp+cfa, and rbp and rbx are saved at the CFA plus 8 times the slot,
// unless that is 0.
type frameRow struct {
	cfa    int32
	bp, bx int8
}

func (f frameRow) rule() cfi.Rule {
	var flags cfi.Flags
	if f.bp != 0 {
		flags |= cfi.RBPAtCFA
	}
	if f.bx != 0 {
		flags |= cfi.RBXAtCFA
	}
	return cfi.NewRule(cfi.Hidden, f.cfa, flags, f.bp, f.bx)
}

// rowOf is the row of a rule that ehFrame can describe to hdb's own unwinder: the probe's all, and
// most of instructions that were moved.
func rowOf(r cfi.Rule) (row frameRow, ok bool) {
	row = frameRow{cfa: r.Offset()}
	saved := r.Flags()
	if saved&cfi.RBPAtCFA != 0 {
		row.bp = r.RBPSlot()
	}
	if saved&cfi.RBXAtCFA != 0 {
		row.bx = r.RBXSlot()
	}
	form := r.Form()
	return row, (form == cfi.Hidden || form == cfi.SP) && saved&^(cfi.RBPAtCFA|cfi.RBXAtCFA) == 0 && row.cfa >= 8
}

// A frameMap is the rows of a piece of code by offset: one for each instruction
// that can be reached, and zeros.
type frameMap []frameRow

// trace follows all paths through the code from the entries and notes where the
// CFA is at each instruction. Every instruction must see one frame only,
// whichever way leads there; the core is written so.
func (c *core) trace() (frameMap, error) {
	rows := make(frameMap, len(c.code))
	type point struct {
		at  int
		row frameRow
	}
	outs := map[int]int{} // where a thread continues that has faulted in the region that begins there
	for _, r := range faultRegions {
		outs[c.marks[r.low]] = c.marks[r.out]
	}
	entry := frameRow{cfa: 8}
	var work []point
	for _, mark := range []uint32{markAlloc, markFree, markQuickAlloc, markQuickLong, markQuickFree, markQuickFreeSized, markGoReturn} {
		work = append(work, point{c.marks[mark], entry})
	}
	for _, mark := range []uint32{markGoSweep, markGoMark} {
		work = append(work, point{c.marks[mark], frameRow{cfa: 8 + gwSize}})
	}
	for len(work) > 0 {
		p := work[len(work)-1]
		work = work[:len(work)-1]
		if p.at >= len(c.code) {
			return nil, fmt.Errorf("probe: core+%#x is behind its end", p.at)
		}
		if known := rows[p.at]; known != (frameRow{}) {
			if known != p.row {
				return nil, fmt.Errorf("probe: two frames at core+%#x: %+v and %+v", p.at, known, p.row)
			}
			continue
		}
		rows[p.at] = p.row
		in, err := x86asm.Decode(c.code[p.at:], 64)
		if err != nil {
			return nil, fmt.Errorf("probe: core+%#x: %w", p.at, err)
		}
		next := point{p.at + in.Len, p.row}
		target := point{at: -1, row: p.row}
		if rel, ok := in.Args[0].(x86asm.Rel); ok {
			target.at = next.at + int(rel)
		}
		switch in.Op {
		case x86asm.RET:
			continue
		case x86asm.JMP:
			next.at = -1
		case x86asm.CALL:
			target.row.cfa += 8
		default:
			next.row.apply(in)
		}
		if out, ok := outs[p.at]; ok {
			work = append(work, point{out, p.row})
		}
		for _, to := range []point{next, target} {
			if to.at >= 0 {
				work = append(work, to)
			}
		}
	}
	return rows, nil
}

// apply changes the row as an instruction changes the frame.
func (f *frameRow) apply(in x86asm.Inst) {
	switch in.Op {
	case x86asm.PUSH:
		f.cfa += 8
		switch {
		case in.Args[0] == x86asm.RBX && f.bx == 0:
			f.bx = int8(-f.cfa / 8)
		case in.Args[0] == x86asm.RBP && f.bp == 0:
			f.bp = int8(-f.cfa / 8)
		}
	case x86asm.POP:
		f.cfa -= 8
		switch in.Args[0] {
		case x86asm.RBX:
			f.bx = 0
		case x86asm.RBP:
			f.bp = 0
		}
	case x86asm.ADD, x86asm.SUB:
		if n, ok := in.Args[1].(x86asm.Imm); ok && in.Args[0] == x86asm.RSP {
			if in.Op == x86asm.SUB {
				n = -n
			}
			f.cfa -= int32(n)
		}
	case x86asm.LEA:
		if m, ok := in.Args[1].(x86asm.Mem); ok && in.Args[0] == x86asm.RSP && m.Base == x86asm.RSP {
			f.cfa -= int32(m.Disp)
		}
	}
}

// table makes the walker's table of the rows; code between them has no CFI.
func (m frameMap) table(rules *cfi.Rules) *cfi.Table {
	t := &cfi.Table{}
	for at, row := range m.all() {
		if id := rules.ID(row.rule()); len(t.IDs) == 0 || t.IDs[len(t.IDs)-1] != id {
			t.Offs, t.IDs = append(t.Offs, uint32(at)), append(t.IDs, id)
		}
	}
	return t
}

// all yields the rows in the order of their offsets.
func (m frameMap) all() iter.Seq2[int, frameRow] {
	return func(yield func(int, frameRow) bool) {
		for at, row := range m {
			if row.cfa != 0 && !yield(at, row) {
				return
			}
		}
	}
}

// DWARF 5, section 6.4.2 and figure 7.29.
const (
	dwCFAAdvance4  = 0x04
	dwCFASameValue = 0x08
	dwCFADefCFA    = 0x0c
	dwCFADefOffset = 0x0e
	dwCFAOffset    = 0x80
	dwRBX, dwRBP   = 3, 6
	dwRSP, dwRA    = 7, 16
)

// ehFrame writes the rows as an .eh_frame section with one FDE for
// [low, low+size), and tells where the FDE is in it. The unwinders in the
// inferior and in hdb read it.
func (m frameMap) ehFrame(low addr.Run, size int) (section []byte, fde int) {
	cie := []byte{
		1, 'z', 'R', 0, // version, augmentation
		1, 0x78, dwRA, // code factor, data factor -8, return address
		1, 0, // augmentation data: addresses are absolute
		dwCFADefCFA, dwRSP, 8, dwCFAOffset | dwRA, 1,
	}
	section = appendEntry(section, 0, cie)
	fde = len(section)
	body := binary.LittleEndian.AppendUint64(nil, uint64(low))
	body = binary.LittleEndian.AppendUint64(body, uint64(size))
	body = append(body, 0) // no augmentation data
	at, now := 0, frameRow{cfa: 8}
	for off, row := range m.all() {
		if row == now {
			continue
		}
		if off > at {
			body = binary.LittleEndian.AppendUint32(append(body, dwCFAAdvance4), uint32(off-at))
			at = off
		}
		body = binary.AppendUvarint(append(body, dwCFADefOffset), uint64(row.cfa))
		body = appendSaved(body, dwRBP, row.bp)
		body = appendSaved(body, dwRBX, row.bx)
		now = row
	}
	section = appendEntry(section, uint32(fde+4), body)
	return append(section, 0, 0, 0, 0), fde
}

// unwinding is the island's table for hdb's own unwinder; rules are the walker's.
func (i *island) unwinding(rules []cfi.Rule) (*unwind.Table, error) {
	var section []byte
	var low addr.Run
	var piece frameMap
	end := func(at addr.Run) {
		if len(piece) > 0 {
			b, _ := piece.ehFrame(low, int(at-low))
			section = append(section, b[:len(b)-4]...) // not the terminator
			piece = nil
		}
	}
	for _, r := range i.rows {
		if n := int(r.at - low); n < len(piece) { // of two rows at an address the second holds
			piece = piece[:n]
		}
		row, ok := rowOf(rules[r.id])
		if !ok {
			end(r.at)
			continue
		}
		if len(piece) == 0 {
			low = r.at
		}
		piece = append(piece, make(frameMap, int(r.at-low)-len(piece))...)
		piece = append(piece, row)
	}
	end(i.next())
	section = append(section, 0, 0, 0, 0)
	return unwind.NewTable(unwind.Sections{Name: "[hdb probe]", EhFrame: section, EhFrameAddr: addr.File(i.base)})
}

func appendSaved(b []byte, reg byte, slot int8) []byte {
	if slot == 0 {
		return append(b, dwCFASameValue, reg)
	}
	return binary.AppendUvarint(append(b, dwCFAOffset|reg), uint64(-slot))
}

// appendEntry adds a CIE (id 0) or FDE (id: distance back to the CIE) with
// padding of DW_CFA_nop.
func appendEntry(b []byte, id uint32, body []byte) []byte {
	for len(body)%8 != 0 {
		body = append(body, 0)
	}
	b = binary.LittleEndian.AppendUint32(b, uint32(len(body)+4))
	b = binary.LittleEndian.AppendUint32(b, id)
	return append(b, body...)
}
