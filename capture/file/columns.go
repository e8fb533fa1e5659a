package file

import (
	"encoding/binary"
	"math/bits"
	"unsafe"
)

// How numbers are put into columns.

// put appends a number to a column.
func (c *eventColumns) put(id int, v uint64) {
	if v < 0x80 {
		c.columns[id] = append(c.columns[id], byte(v))
	} else {
		c.putLong(id, v)
	}
}

// putLong is apart so that put is small wherever the compiler puts it.
//
//go:noinline
func (c *eventColumns) putLong(id int, v uint64) {
	b := c.columns[id]
	n := len(b)
	if v >= 1<<28 || cap(b)-n < 4 {
		c.columns[id] = binary.AppendUvarint(b, v)
		return
	}
	w, length := longNumber(v)
	binary.LittleEndian.PutUint32(b[n:n+4], w)
	c.columns[id] = b[:n+length]
}

// longNumber is a number below 2^28 as a uvarint, and its length. It has no branch by how
// long most numbers are, as no one is like the one before.
func longNumber(v uint64) (w uint32, length int) {
	length = (bits.Len32(uint32(v)|1) + 6) / 7
	w = uint32(v&0x7f | v<<1&0x7f00 | v<<2&0x7f0000 | v<<3&0x7f000000)
	return w | 0x808080&(1<<(8*length-8)-1), length
}

// putPlain is put of a number below plainNumber, to a column with room.
func (c *eventColumns) putPlain(id int, v uint64) {
	n := len(c.columns[id])
	p := (*[2]byte)(unsafe.Add(unsafe.Pointer(unsafe.SliceData(c.columns[id])), n))
	if v < 0x80 {
		p[0] = byte(v)
		c.columns[id] = c.columns[id][:n+1]
	} else {
		p[0], p[1] = byte(v)|0x80, byte(v>>7)
		c.columns[id] = c.columns[id][:n+2]
	}
}

// putAny is put, to a column with room.
func (c *eventColumns) putAny(id int, v uint64) {
	n := len(c.columns[id])
	b := c.columns[id][:n+binary.MaxVarintLen64]
	for ; v >= 0x80; v >>= 7 {
		b[n] = byte(v) | 0x80
		n++
	}
	b[n] = byte(v)
	c.columns[id] = b[:n+1]
}

// putFar is put of a distance, to a column with room. Those of blocks that are no multiple of 16
// bytes apart are long.
func (c *eventColumns) putFar(id int, v uint64) {
	if v >= longPlain {
		c.putAny(id, v)
		return
	}
	w, bytes := longNumber(v)
	c.putWord(id, w, bytes)
}

// putWord puts n bytes of w, to a column with room.
func (c *eventColumns) putWord(id int, w uint32, bytes int) {
	n := len(c.columns[id])
	*(*uint32)(unsafe.Add(unsafe.Pointer(unsafe.SliceData(c.columns[id])), n)) = w
	c.columns[id] = c.columns[id][:n+bytes]
}
