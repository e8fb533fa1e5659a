package file

import (
	"encoding/binary"
	"math/bits"
	"slices"

	"hdb/capture"
)

// blockColumns make the columns of a checkpoint from its blocks. The columns are in pieces, which
// are never moved and used again.
type blockColumns struct {
	columns [secBlockStack + 1]pieces // from secMaker on
	spares  [][]byte                  // pieces
	seq     uint64                    // of the event that made the last block
	end     uint64                    // and where the block ends
	stack   capture.StackID

	// Blocks come in batches, of which one column after the other is made, in loops that
	// call nothing.
	batch [columnBatch]keptBlock
	seqs  [columnBatch]uint64 // of the events that made them
	count int                 // of them
}

// pieces are a column.
type pieces struct {
	full [][]byte
	last []byte
}

const (
	columnPiece = 32 << 10 // bytes
	columnBatch = 256
)

// begin begins the columns of blocks that events after #base made.
func (b *blockColumns) begin(base uint64) { b.seq, b.end, b.stack, b.count = base, 0, 0, 0 }

// add adds those blocks to the batch that live, of those that the events of word after #first
// made. It must have room for 64.
func (b *blockColumns) add(blocks []keptBlock, word, live, first uint64) {
	batch, seqs := (*[64]keptBlock)(b.batch[b.count:]), (*[64]uint64)(b.seqs[b.count:])
	n := uint(0)
	if word == live {
		copy(batch[:], blocks)
		for ; word != 0; word &= word - 1 {
			seqs[n%64] = first + uint64(bits.TrailingZeros64(word))
			n++
		}
	} else {
		for i := range blocks {
			bit := uint(bits.TrailingZeros64(word))
			word &= word - 1
			// No branch: which live on cannot be predicted.
			batch[n%64], seqs[n%64] = blocks[i], first+uint64(bit)
			n += uint(live >> (bit % 64) & 1)
		}
	}
	b.count += int(n)
}

// number gives the last n blocks of the batch, which were counted from #0 on, their numbers.
func (b *blockColumns) number(n int, seqs []uint64) {
	for i := b.count - n; i < b.count; i++ {
		b.seqs[i] = seqs[b.seqs[i]]
	}
}

// flush makes the columns of the batch.
func (b *blockColumns) flush(odd []oddBlock) {
	blocks, seqs := b.batch[:b.count], b.seqs[:b.count]
	b.count = 0
	for id := secMaker; id <= secBlockStack; id++ {
		if c := &b.columns[id]; cap(c.last)-len(c.last) < len(blocks)*binary.MaxVarintLen64 {
			b.nextPiece(c)
		}
	}
	b.putSeqs(seqs)
	b.putStacks(blocks)
	if len(odd) > 0 && slices.ContainsFunc(blocks, func(k keptBlock) bool { return k.where>>addrBits == oddMaker }) {
		b.putOdd(blocks, odd)
		return
	}
	b.putMakers(blocks)
	b.putAddrs(blocks)
	b.putSizes(blocks)
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

// putNumber puts v at b[n:] and returns where it ends. It is binary.PutUvarint without a
// slice for each number.
func putNumber(b []byte, n int, v uint64) int {
	for ; v >= 0x80; v >>= 7 {
		b[n] = byte(v) | 0x80
		n++
	}
	b[n] = byte(v)
	return n + 1
}

func (b *blockColumns) putSeqs(seqs []uint64) {
	c := &b.columns[secNumber]
	dst, n, before := c.last[:cap(c.last)], len(c.last), b.seq
	for _, seq := range seqs {
		n = putNumber(dst, n, seq-before)
		before = seq
	}
	c.last, b.seq = dst[:n], before
}

func (b *blockColumns) putStacks(blocks []keptBlock) {
	c := &b.columns[secBlockStack]
	dst, n, before := c.last[:cap(c.last)], len(c.last), b.stack
	for i := range blocks {
		stack := blocks[i].stack
		n = putNumber(dst, n, zigzag(uint64(stack)-uint64(before)))
		before = stack
	}
	c.last, b.stack = dst[:n], before
}

func (b *blockColumns) putMakers(blocks []keptBlock) {
	c := &b.columns[secMaker]
	dst, n := c.last[:cap(c.last)], len(c.last)
	for i := range blocks {
		n = putNumber(dst, n, blocks[i].where>>addrBits)
	}
	c.last = dst[:n]
}

func (b *blockColumns) putAddrs(blocks []keptBlock) {
	c := &b.columns[secAddress]
	dst, n, end := c.last[:cap(c.last)], len(c.last), b.end
	for i := range blocks {
		addr := blocks[i].where & (1<<addrBits - 1)
		n = putNumber(dst, n, distance(end, addr))
		end = addr + chunkSize(uint64(blocks[i].size))
	}
	c.last, b.end = dst[:n], end
}

func (b *blockColumns) putSizes(blocks []keptBlock) {
	c := &b.columns[secBlockSize]
	dst, n := c.last[:cap(c.last)], len(c.last)
	for i := range blocks {
		n = putNumber(dst, n, uint64(blocks[i].size))
	}
	c.last = dst[:n]
}

// putOdd is putMakers, putAddrs and putSizes of blocks some of which are odd.
func (b *blockColumns) putOdd(blocks []keptBlock, odd []oddBlock) {
	for i := range blocks {
		k := &blocks[i]
		by, addr, size := uint32(k.where>>addrBits), k.where&(1<<addrBits-1), uint64(k.size)
		if by == oddMaker {
			by, addr, size = odd[addr].by, odd[addr].addr, odd[addr].size
		}
		b.columns[secMaker].put(uint64(by))
		b.columns[secAddress].put(distance(b.end, addr))
		b.columns[secBlockSize].put(size)
		b.end = addr + chunkSize(size)
	}
}

func (c *pieces) put(v uint64) { c.last = binary.AppendUvarint(c.last, v) }

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
