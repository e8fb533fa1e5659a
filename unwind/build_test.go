package unwind

import (
	"encoding/binary"
	"testing"

	"hdb/internal/addr"
)

// Helpers that make sections byte by byte.

func put64(b []byte, v uint64) { binary.LittleEndian.PutUint64(b, v) }

// asm joins bytes, byte slices and numbers: an int is one byte, a uint32 or uint64
// is little-endian.
func asm(items ...any) []byte {
	var b []byte
	for _, it := range items {
		switch v := it.(type) {
		case byte:
			b = append(b, v)
		case int:
			b = append(b, byte(v))
		case uint16:
			b = binary.LittleEndian.AppendUint16(b, v)
		case uint32:
			b = binary.LittleEndian.AppendUint32(b, v)
		case uint64:
			b = binary.LittleEndian.AppendUint64(b, v)
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

// A cieSpec describes a CIE; the zero value is x86-64's usual one: CFA at rsp+8,
// return address below it.
type cieSpec struct {
	version      int // 1 when 0
	augmentation string
	data         []byte // augmentation data
	initial      []byte
	wide         bool // 64-bit DWARF
}

func (c cieSpec) body() []byte {
	version := max(c.version, 1)
	b := asm(version, c.augmentation)
	if version == 4 {
		b = asm(b, 8, 0)
	}
	b = asm(b, 1, 0x78, int(RA)) // code alignment 1, data alignment -8
	if c.augmentation != "" && c.augmentation[0] == 'z' {
		b = asm(b, len(c.data), c.data)
	}
	if c.initial == nil {
		return asm(b, cfaDefCFA, int(RSP), 8, cfaOffset|byte(RA), 1)
	}
	return append(b, c.initial...)
}

// An fdeSpec is the code range and the program of an FDE.
type fdeSpec struct {
	low, size uint64
	program   []byte
}

// debugFrame makes a .debug_frame of one CIE and its FDEs.
func debugFrame(t testing.TB, c cieSpec, fdes ...fdeSpec) Sections {
	t.Helper()
	entry := func(id uint64, body []byte) []byte {
		if c.wide {
			return asm(uint32(0xffffffff), uint64(len(body)+8), id, body)
		}
		return asm(uint32(len(body)+4), uint32(id), body)
	}
	b := entry(^uint64(0), c.body())
	for _, f := range fdes {
		b = append(b, entry(0, asm(f.low, f.size, f.program))...)
	}
	return Sections{Name: "made", DebugFrame: b}
}

// ehFrame makes an .eh_frame at address at: a CIE and one FDE whose body, behind the
// CIE pointer, is given raw.
func ehFrame(t testing.TB, at addr.File, c cieSpec, fde []byte) Sections {
	t.Helper()
	entry := func(id uint32, body []byte) []byte {
		if c.wide {
			return asm(uint32(0xffffffff), uint64(len(body)+4), id, body)
		}
		return asm(uint32(len(body)+4), id, body)
	}
	b := entry(0, c.body())
	field := len(b) + 4
	if c.wide {
		field += 8
	}
	b = append(b, entry(uint32(field), fde)...)
	return Sections{Name: "made", EhFrame: append(b, 0, 0, 0, 0), EhFrameAddr: at}
}
