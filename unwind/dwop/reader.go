package dwop

import (
	"bytes"
	"encoding/binary"
	"errors"
)

var errShort = errors.New("data ends early")

// A Reader takes little-endian values off a slice. After the first error it returns
// zeros, so that a caller may check Err once. Pos never passes len(Data).
type Reader struct {
	Data []byte
	Pos  int
	Err  error
}

// Fail makes err the reader's error, unless it has one, and ends the data.
func (r *Reader) Fail(err error) {
	if r.Err == nil {
		r.Err = err
	}
	r.Pos = len(r.Data)
}

// Rest is the number of bytes that are left.
func (r *Reader) Rest() int { return len(r.Data) - r.Pos }

// Take is the next n bytes, or nil and an error when fewer are left.
func (r *Reader) Take(n uint64) []byte {
	if n > uint64(r.Rest()) {
		r.Fail(errShort)
		return nil
	}
	b := r.Data[r.Pos : r.Pos+int(n) : r.Pos+int(n)]
	r.Pos += int(n)
	return b
}

// U8 reads a byte.
func (r *Reader) U8() uint8 {
	if r.Pos >= len(r.Data) {
		r.Fail(errShort)
		return 0
	}
	r.Pos++
	return r.Data[r.Pos-1]
}

// U16 reads two bytes.
func (r *Reader) U16() uint16 {
	if b := r.Take(2); b != nil {
		return binary.LittleEndian.Uint16(b)
	}
	return 0
}

// U32 reads four bytes.
func (r *Reader) U32() uint32 {
	if b := r.Take(4); b != nil {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

// U64 reads eight bytes.
func (r *Reader) U64() uint64 {
	if b := r.Take(8); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

// Uint reads a number of at most eight bytes.
func (r *Reader) Uint(size int) uint64 {
	return number(r.Take(uint64(size)))
}

// Uleb reads an unsigned LEB128 number (DWARF 5, section 7.6). Bits above 64 are dropped:
// padding of any length is legal.
func (r *Reader) Uleb() (v uint64) {
	for shift := uint(0); ; shift += 7 {
		b := r.U8()
		v |= uint64(b&0x7f) << shift // a shift of 64 and more gives 0
		if b&0x80 == 0 {
			return v
		}
	}
}

// Sleb reads a signed LEB128 number.
func (r *Reader) Sleb() (v int64) {
	for shift := uint(0); ; {
		b := r.U8()
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

// Cstring reads up to a zero byte, which it drops.
func (r *Reader) Cstring() string {
	n := bytes.IndexByte(r.Data[r.Pos:], 0)
	if n < 0 {
		r.Fail(errors.New("string without end"))
		return ""
	}
	s := string(r.Data[r.Pos : r.Pos+n])
	r.Pos += n + 1
	return s
}

// number is what at most eight bytes hold.
func number(b []byte) uint64 {
	var v uint64
	for i := range min(len(b), 8) {
		v |= uint64(b[i]) << (8 * i)
	}
	return v
}
