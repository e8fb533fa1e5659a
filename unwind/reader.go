package unwind

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
)

var errShort = errors.New("data ends early")

// A reader takes little-endian values off a slice of a section. After the first
// error it returns zeros, so that a caller may check err once. pos never passes
// len(data).
type reader struct {
	data []byte
	pos  int
	base uint64 // file address of data[0]
	err  error
}

func (r *reader) fail(err error) {
	if r.err == nil {
		r.err = err
	}
	r.pos = len(r.data)
}

func (r *reader) rest() int    { return len(r.data) - r.pos }
func (r *reader) addr() uint64 { return r.base + uint64(r.pos) }

// take is the next n bytes, or nil and an error when fewer are left.
func (r *reader) take(n uint64) []byte {
	if n > uint64(r.rest()) {
		r.fail(errShort)
		return nil
	}
	b := r.data[r.pos : r.pos+int(n) : r.pos+int(n)]
	r.pos += int(n)
	return b
}

func (r *reader) u8() uint8 {
	if r.pos >= len(r.data) {
		r.fail(errShort)
		return 0
	}
	r.pos++
	return r.data[r.pos-1]
}

func (r *reader) u16() uint16 {
	if b := r.take(2); b != nil {
		return binary.LittleEndian.Uint16(b)
	}
	return 0
}

func (r *reader) u32() uint32 {
	if b := r.take(4); b != nil {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

func (r *reader) u64() uint64 {
	if b := r.take(8); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

// uleb reads an unsigned LEB128 number (DWARF 5, section 7.6). Bits above 64 are
// an error only in that they are dropped: padding of any length is legal.
func (r *reader) uleb() (v uint64) {
	for shift := uint(0); ; shift += 7 {
		b := r.u8()
		v |= uint64(b&0x7f) << shift // a shift of 64 and more gives 0
		if b&0x80 == 0 {
			return v
		}
	}
}

// sleb reads a signed LEB128 number.
func (r *reader) sleb() (v int64) {
	for shift := uint(0); ; {
		b := r.u8()
		v |= int64(b&0x7f) << shift
		shift += 7
		if b&0x80 == 0 {
			if b&0x40 != 0 && shift < 64 {
				v |= -1 << shift
			}
			return v
		}
	}
}

// cstring reads up to a zero byte, which it drops.
func (r *reader) cstring() string {
	n := bytes.IndexByte(r.data[r.pos:], 0)
	if n < 0 {
		r.fail(errors.New("string without end"))
		return ""
	}
	s := string(r.data[r.pos : r.pos+n])
	r.pos += n + 1
	return s
}

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

// bases are what encoded pointers may be relative to, besides their own address.
type bases struct{ text, data, function uint64 }

// pointer reads an encoded pointer. Null stays null whatever its base, as in libgcc.
// An indirect one names a word of memory, which a file does not have: an error.
func (r *reader) pointer(enc uint8, b bases) uint64 {
	if enc&peIndirect != 0 {
		r.fail(fmt.Errorf("pointer encoding %#x is indirect", enc))
		return 0
	}
	if enc == peAligned {
		r.take(-r.addr() & 7)
		return r.u64()
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
		r.fail(fmt.Errorf("unknown pointer encoding %#x", enc))
	}
	return v
}

// format reads the number of an encoded pointer without its base.
func (r *reader) format(enc uint8) uint64 {
	switch enc & 0x0f {
	case peAbsptr, peUdata8, peSigned, peSdata8:
		return r.u64()
	case peUleb128:
		return r.uleb()
	case peUdata2:
		return uint64(r.u16())
	case peUdata4:
		return uint64(r.u32())
	case peSleb128:
		return uint64(r.sleb())
	case peSdata2:
		return uint64(int16(r.u16()))
	case peSdata4:
		return uint64(int32(r.u32()))
	}
	r.fail(fmt.Errorf("unknown pointer encoding %#x", enc))
	return 0
}

// skipPointer passes over a pointer whose value is not needed, indirect or not.
func (r *reader) skipPointer(enc uint8) {
	switch {
	case enc == peOmit:
	case enc == peAligned:
		r.pointer(enc, bases{})
	default:
		r.format(enc)
	}
}
