package dwarf

import (
	"bytes"
	"encoding/binary"
)

// Buf reads little-endian values from the front of a section. Past the end
// every read gives zero and Bad reports true; nothing panics.
type Buf struct {
	data []byte
	off  uint64
	bad  bool
}

// NewBuf starts to read data at off.
func NewBuf(data []byte, off uint64) Buf {
	if off > uint64(len(data)) {
		return Buf{data: data, off: uint64(len(data)), bad: true}
	}
	return Buf{data: data, off: off}
}

// Off is the offset of the next byte.
func (b *Buf) Off() uint64 { return b.off }

// Len is how many bytes are left.
func (b *Buf) Len() uint64 { return uint64(len(b.data)) - b.off }

// Bad reports whether a read went past the end.
func (b *Buf) Bad() bool { return b.bad }

func (b *Buf) fail() {
	b.bad = true
	b.off = uint64(len(b.data))
}

// Skip moves n bytes on.
func (b *Buf) Skip(n uint64) {
	if n > b.Len() {
		b.fail()
		return
	}
	b.off += n
}

// Bytes returns the next n bytes, not copied.
func (b *Buf) Bytes(n uint64) []byte {
	if n > b.Len() {
		b.fail()
		return nil
	}
	s := b.data[b.off : b.off+n]
	b.off += n
	return s
}

// U8 reads a byte.
func (b *Buf) U8() uint8 {
	if b.off >= uint64(len(b.data)) {
		b.bad = true
		return 0
	}
	v := b.data[b.off]
	b.off++
	return v
}

// U16 reads two bytes.
func (b *Buf) U16() uint16 {
	if s := b.Bytes(2); s != nil {
		return binary.LittleEndian.Uint16(s)
	}
	return 0
}

// U32 reads four bytes.
func (b *Buf) U32() uint32 {
	if s := b.Bytes(4); s != nil {
		return binary.LittleEndian.Uint32(s)
	}
	return 0
}

// U64 reads eight bytes.
func (b *Buf) U64() uint64 {
	if s := b.Bytes(8); s != nil {
		return binary.LittleEndian.Uint64(s)
	}
	return 0
}

// Uint reads n bytes, n from 0 to 8.
func (b *Buf) Uint(n int) uint64 {
	switch n {
	case 8:
		return b.U64()
	case 4:
		return uint64(b.U32())
	case 2:
		return uint64(b.U16())
	case 1:
		return uint64(b.U8())
	}
	var v uint64
	for i, c := range b.Bytes(uint64(n)) {
		v |= uint64(c) << (8 * i)
	}
	return v
}

// Uleb reads an unsigned LEB128 number (DWARF 5 section 7.6). Bits past 64 are
// dropped.
func (b *Buf) Uleb() uint64 {
	var v uint64
	for shift := uint(0); ; shift += 7 {
		if b.off >= uint64(len(b.data)) {
			b.bad = true
			return 0
		}
		c := b.data[b.off]
		b.off++
		if shift < 64 {
			v |= uint64(c&0x7f) << shift
		}
		if c < 0x80 {
			return v
		}
	}
}

// Sleb reads a signed LEB128 number.
func (b *Buf) Sleb() int64 {
	var v int64
	for shift := uint(0); ; {
		if b.off >= uint64(len(b.data)) {
			b.bad = true
			return 0
		}
		c := b.data[b.off]
		b.off++
		if shift < 64 {
			v |= int64(c&0x7f) << shift
			shift += 7
		}
		if c < 0x80 {
			if shift < 64 && c&0x40 != 0 {
				v |= -1 << shift
			}
			return v
		}
	}
}

// CString reads up to a zero byte, not copied.
func (b *Buf) CString() []byte {
	end := bytes.IndexByte(b.data[b.off:min(b.off+maxString, uint64(len(b.data)))], 0)
	if end < 0 {
		b.fail()
		return nil
	}
	s := b.data[b.off : b.off+uint64(end)]
	b.off += uint64(end) + 1
	return s
}

// InitialLength reads the length of a unit, and whether it is 64-bit DWARF
// (section 7.4).
func (b *Buf) InitialLength() (length uint64, offSize int) {
	n := b.U32()
	switch {
	case n == 0xffffffff:
		return b.U64(), 8
	case n >= 0xfffffff0:
		b.fail()
		return 0, 4
	}
	return uint64(n), 4
}
