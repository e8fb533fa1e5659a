package unwind

import (
	"fmt"

	"hdb/unwind/dwop"
)

// A reader reads a section. See dwop.Reader.
type reader struct {
	dwop.Reader
	base uint64 // file address of Data[0]
}

// readerOf returns a reader of data at a file address.
func readerOf(data []byte, base uint64) reader {
	return reader{Reader: dwop.Reader{Data: data}, base: base}
}

func (r *reader) addr() uint64 { return r.base + uint64(r.Pos) }

// Pointer encodings (Linux Standard Base 5.0 Core, section 10.5): the low four
// bits are the format, the next three the base, the top bit an indirection.
const (
	peAbsptr  = 0x00
	peUleb128 = 0x01
	peUdata2  = 0x02
	peUdata4  = 0x03
	peUdata8  = 0x04
	peSigned  = 0x08 // absptr, signed: what 64-bit readers take as eight bytes
	peSleb128 = 0x09
	peSdata2  = 0x0a
	peSdata4  = 0x0b
	peSdata8  = 0x0c

	pePcrel   = 0x10
	peTextrel = 0x20
	peDatarel = 0x30
	peFuncrel = 0x40
	peAligned = 0x50

	peIndirect = 0x80
	peOmit     = 0xff
)

// bases are the addresses that encoded pointers can be relative to, in addition to their
// own.
type bases struct{ text, data, function uint64 }

// pointer reads an encoded pointer. A null pointer stays null whatever its base, as in
// libgcc. An indirect pointer is an error: it is in memory, not in the file.
func (r *reader) pointer(enc uint8, b bases) uint64 {
	if enc&peIndirect != 0 {
		r.Fail(fmt.Errorf("pointer encoding %#x is indirect", enc))
		return 0
	}
	if enc == peAligned {
		r.Take(-r.addr() & 7)
		return r.U64()
	}
	at := r.addr()
	v := r.format(enc)
	if v == 0 {
		return 0
	}
	switch enc & 0x70 {
	case 0:
	case pePcrel:
		v += at
	case peTextrel:
		v += b.text
	case peDatarel:
		v += b.data
	case peFuncrel:
		v += b.function
	default:
		r.Fail(fmt.Errorf("unknown pointer encoding %#x", enc))
	}
	return v
}

// format reads the number of an encoded pointer without its base.
func (r *reader) format(enc uint8) uint64 {
	switch enc & 0x0f {
	case peAbsptr, peUdata8, peSigned, peSdata8:
		return r.U64()
	case peUleb128:
		return r.Uleb()
	case peUdata2:
		return uint64(r.U16())
	case peUdata4:
		return uint64(r.U32())
	case peSleb128:
		return uint64(r.Sleb())
	case peSdata2:
		return uint64(int16(r.U16()))
	case peSdata4:
		return uint64(int32(r.U32()))
	}
	r.Fail(fmt.Errorf("unknown pointer encoding %#x", enc))
	return 0
}

// skipPointer skips a pointer, indirect or not.
func (r *reader) skipPointer(enc uint8) {
	switch {
	case enc == peOmit:
	case enc == peAligned:
		r.pointer(enc, bases{})
	default:
		r.format(enc)
	}
}
