package capture

import (
	"encoding/binary"
	"slices"
)

// blockColumns make the columns of a checkpoint from its blocks. The columns lie in
// pieces, which are never moved and used again.
type blockColumns struct {
	columns [secBlockStack + 1]pieces // from secMaker on
	spares  [][]byte                  // pieces
	seq     uint64                    // of the event that made the last block
	end     uint64                    // and where the block ends
	stack   StackID
}

// pieces are a column.
type pieces struct {
	full [][]byte
	last []byte
}

const columnPiece = 32 << 10 // bytes

// begin begins the columns of blocks that events after #base made.
func (b *blockColumns) begin(base uint64) { b.seq, b.end, b.stack = base, 0, 0 }

// room makes room for n blocks, of which a piece can hold that many.
func (b *blockColumns) room(n int) {
	for id := secMaker; id <= secBlockStack; id++ {
		if c := &b.columns[id]; cap(c.last)-len(c.last) < n*binary.MaxVarintLen64 {
			b.nextPiece(c)
		}
	}
}

func (b *blockColumns) nextPiece(c *pieces) {
	if c.last != nil {
		c.full = append(c.full, c.last)
	}
	if n := len(b.spares); n > 0 {
		c.last, b.spares = b.spares[n-1][:0], b.spares[:n-1]
	} else {
		c.last = make([]byte, 0, columnPiece)
	}
}

// add adds a block, for which there must be room.
func (b *blockColumns) add(by uint32, seq, addr, size uint64, stack StackID) {
	b.columns[secMaker].put(uint64(by))
	b.columns[secNumber].put(seq - b.seq)
	b.columns[secAddress].put(distance(b.end, addr))
	b.columns[secBlockSize].put(size)
	b.columns[secBlockStack].put(zigzag(uint64(stack) - uint64(b.stack)))
	b.seq, b.end, b.stack = seq, addr+chunkSize(size), stack
}

func (c *pieces) put(v uint64) {
	if v < 0x80 {
		c.last = append(c.last, byte(v))
	} else {
		c.last = binary.AppendUvarint(c.last, v)
	}
}

// take appends a column to dst, and takes it out.
func (b *blockColumns) take(dst []byte, id int) []byte {
	c := &b.columns[id]
	n := len(c.last)
	for _, p := range c.full {
		n += len(p)
	}
	dst = slices.Grow(dst, n)
	for _, p := range c.full {
		dst = append(dst, p...)
	}
	dst = append(dst, c.last...)
	b.spares = append(b.spares, c.full...)
	c.full, c.last = c.full[:0], c.last[:0]
	return dst
}
