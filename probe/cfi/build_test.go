package cfi

import (
	"encoding/binary"
	"io"
	"testing"

	"hdb/internal/addr"
	"hdb/unwind"
)

// Call frame instructions and the like that the tests write (DWARF 5, section 7.24).
const (
	cfaAdvanceLoc       = 0x40
	cfaOffset           = 0x80
	cfaRestoreExtended  = 0x06
	cfaUndefined        = 0x07
	cfaSameValue        = 0x08
	cfaRegister         = 0x09
	cfaDefCFA           = 0x0c
	cfaDefCFAOffset     = 0x0e
	cfaDefCFAExpression = 0x0f
	cfaExpression       = 0x10
	cfaOffsetExtendedSF = 0x11
	cfaDefCFASF         = 0x12
	cfaValOffset        = 0x14
	cfaValExpression    = 0x16

	opPlusUconst = 0x23
	opBregR10    = 0x7a
)

// asm joins bytes, byte slices and numbers: an int is one byte, other numbers are
// little-endian of their size, uleb and sleb are LEB128.
func asm(items ...any) []byte {
	var b []byte
	for _, it := range items {
		switch v := it.(type) {
		case byte:
			b = append(b, v)
		case int:
			b = append(b, byte(v))
		case unwind.Reg:
			b = append(b, byte(v))
		case uint16:
			b = binary.LittleEndian.AppendUint16(b, v)
		case uint32:
			b = binary.LittleEndian.AppendUint32(b, v)
		case uint64:
			b = binary.LittleEndian.AppendUint64(b, v)
		case uleb:
			b = binary.AppendUvarint(b, uint64(v))
		case sleb:
			for v < -64 || v > 63 {
				b = append(b, byte(v)|0x80)
				v >>= 7
			}
			b = append(b, byte(v)&0x7f)
		case string:
			b = append(append(b, v...), 0)
		case []byte:
			b = append(b, v...)
		default:
			panic(v)
		}
	}
	return b
}

type (
	uleb uint64
	sleb int64
)

// expr is an expression with its length in front.
func expr(items ...any) []byte {
	b := asm(items...)
	return asm(uleb(len(b)), b)
}

// An fde is the code range and program of an FDE. CFA is rsp+8 at first, and the
// return address below it.
type fde struct {
	low, size uint64
	signal    bool
	program   []byte
}

// ehFrame makes an .eh_frame at address 0x100000 of the FDEs: absolute addresses, a
// CIE for functions and one with the augmentation S.
func ehFrame(fdes ...fde) unwind.Sections {
	var b []byte
	entry := func(id uint32, body []byte) { b = asm(b, uint32(len(body)+4), id, body) }
	initial := asm(cfaDefCFA, unwind.RSP, 8, cfaOffset|byte(unwind.RA), 1)
	entry(0, asm(1, "z", 1, 0x78, unwind.RA, 0, initial))
	signal := len(b)
	entry(0, asm(1, "zS", 1, 0x78, unwind.RA, 0, initial))
	for _, f := range fdes {
		cie := 0
		if f.signal {
			cie = signal
		}
		entry(uint32(len(b)+4-cie), asm(f.low, f.size, 0, f.program))
	}
	return unwind.Sections{Name: "made", EhFrame: b, EhFrameAddr: 0x100000}
}

// debugFrame makes a .debug_frame of the FDEs.
func debugFrame(fdes ...fde) []byte {
	var b []byte
	entry := func(id uint32, body []byte) { b = asm(b, uint32(len(body)+4), id, body) }
	entry(^uint32(0), asm(1, "", 1, 0x78, unwind.RA, cfaDefCFA, unwind.RSP, 8, cfaOffset|byte(unwind.RA), 1))
	for _, f := range fdes {
		entry(0, asm(f.low, f.size, f.program))
	}
	return b
}

func newCFI(t testing.TB, s unwind.Sections) *unwind.Table {
	t.Helper()
	table, err := unwind.NewTable(s)
	if err != nil {
		t.Fatal(err)
	}
	return table
}

// A piece is memory at an address.
type piece struct {
	at   addr.File
	data []byte
}

// pieces are memory put together from pieces that do not overlap. It reads as a
// process does: up to the end of a piece.
type pieces []piece

func (m pieces) ReadAt(b []byte, off int64) (int, error) {
	for _, p := range m {
		if at := uint64(off) - uint64(p.at); at < uint64(len(p.data)) {
			if n := copy(b, p.data[at:]); n < len(b) {
				return n, io.ErrUnexpectedEOF
			}
			return len(b), nil
		}
	}
	return 0, io.EOF
}

// kernelFrame is the program of libc's signal trampoline, as far as it matters here.
func kernelFrame() []byte {
	saved := func(reg unwind.Reg, at int) []byte {
		return asm(cfaExpression, reg, expr(opBreg7, sleb(at)))
	}
	return asm(cfaDefCFAExpression, expr(opBreg7, sleb(160), opDeref), saved(unwind.RBP, 120), saved(unwind.RBX, 128),
		saved(unwind.RSP, 160), saved(unwind.RA, 168))
}

// pltCFA defines the CFA of PLT entries that push the relocation's number before
// offset n.
func pltCFA(n int) []byte {
	return asm(cfaDefCFAExpression, expr(0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x30+n, 0x2a, 0x33, 0x24, 0x22))
}
