package file

import (
	"encoding/binary"

	"github.com/klauspost/compress/huff0"
	"github.com/klauspost/compress/zstd"
)

// A packer compresses sections. It belongs to one goroutine.
type packer struct {
	z       *zstd.Encoder
	buf     []byte
	frame   []byte // of literals
	huff    huff0.Scratch
	columns [numEventSections]packing // by section
}

// A packing is how columns of a kind are packed, as one in an earlier chunk was best. Not
// to search what has no matches takes a third of the time.
type packing struct {
	literal bool // by how frequent bytes are alone, without matches
	since   int  // chunks since both ways were tried
	every   int  // after how many they are tried again
}

// A column is tried again after tryFirst chunks, then after four times as many if the way
// is the same still, up to tryLast.
const (
	tryFirst = 4
	tryLast  = 16
)

// appendPacked appends a section, compressed if that makes it smaller.
func (p *packer) appendPacked(dst []byte, id int, data []byte) []byte {
	if len(data) < minPacked {
		return appendStored(dst, id, data)
	}
	return appendSmaller(dst, id, p.matches(data), data)
}

// appendSmaller appends a section packed to a frame if that makes it smaller.
func appendSmaller(dst []byte, id int, frame, data []byte) []byte {
	if len(frame) >= len(data) {
		return appendStored(dst, id, data)
	}
	return appendSection(dst, id, packed, len(data), frame)
}

// appendColumn appends a column, compressed in a way that fits those of its kind.
func (p *packer) appendColumn(dst []byte, id int, data []byte) []byte {
	if len(data) < minLiterals || len(data) > maxLiterals {
		return p.appendPacked(dst, id, data)
	}
	c := &p.columns[id]
	if c.since++; c.since > c.every {
		return p.tryColumn(dst, id, data)
	}
	if c.literal {
		if frame := p.literals(data); frame != nil {
			return appendSmaller(dst, id, frame, data)
		}
	}
	return p.appendPacked(dst, id, data)
}

// tryColumn appends a column and decides how the next ones are packed.
func (p *packer) tryColumn(dst []byte, id int, data []byte) []byte {
	frame, literal := p.matches(data), false
	// No byte takes less than a bit, and where nothing matches little is searched: then
	// literals have to gain something.
	if n := len(frame); n >= len(data)/8 {
		if literals := p.literals(data); literals != nil && len(literals) <= min(n+n/32, len(data)-len(data)/8) {
			frame, literal = literals, true
		}
	}
	c := &p.columns[id]
	if c.since = 0; c.literal == literal && c.every > 0 {
		c.every = min(4*c.every, tryLast)
	} else {
		c.literal, c.every = literal, tryFirst
	}
	return appendSmaller(dst, id, frame, data)
}

// matches is a frame of the data as zstd makes it. It is valid until the next one.
func (p *packer) matches(data []byte) []byte {
	if p.z == nil {
		// The options are valid, so that there is no error.
		p.z, _ = zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderCRC(false),
			zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithWindowSize(1<<20))
	}
	p.buf = p.z.EncodeAll(data, p.buf[:0])
	return p.buf
}

const (
	minLiterals = 1 << 10   // bytes, from which on literals have four streams
	maxLiterals = 128 << 10 // of a block

	literalsHead = 32 // more than all that a frame of literals has before and behind them
)

// literals is a frame of data, of minLiterals to maxLiterals bytes, that is one
// block (RFC 8878, section 3.1.1) of literals without sequences; nil if that gains
// nothing. It is valid until the next one.
func (p *packer) literals(data []byte) []byte {
	p.huff.Reuse = huff0.ReusePolicyNone
	out, _, err := huff0.Compress4X(data, &p.huff)
	if err != nil || len(out)+literalsHead >= len(data) {
		return nil
	}
	b := append(p.frame[:0], "\x28\xb5\x2f\xfd"...)
	if n := len(data); n < 1<<16+256 { // the size, in one segment
		b = binary.LittleEndian.AppendUint16(append(b, 1<<6|1<<5), uint16(n-256))
	} else {
		b = binary.LittleEndian.AppendUint32(append(b, 2<<6|1<<5), uint32(n))
	}
	// The header of literals: compressed, in four streams, with both sizes in 14 or 18
	// bits. The block's, before it: the last one, compressed.
	const compressed = 2
	bits, format := 14, uint64(2)
	if len(data) >= 1<<14 {
		bits, format = 18, 3
	}
	size := (4+2*bits)/8 + len(out) + 1
	block := 1 | compressed<<1 | uint32(size)<<3
	b = append(b, byte(block), byte(block>>8), byte(block>>16))
	header := compressed | format<<2 | uint64(len(data))<<4 | uint64(len(out))<<(4+bits)
	for range (4 + 2*bits) / 8 {
		b = append(b, byte(header))
		header >>= 8
	}
	b = append(b, out...)
	p.frame = append(b, 0) // sequences
	return p.frame
}
