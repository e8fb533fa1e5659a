package capture

import (
	"encoding/binary"
	"iter"
	"slices"
)

// A pending checkpoint is one that will be written.
type pending struct {
	after   uint64      // the event after which it is
	base    uint64      // see checkpoint
	fresh   bool        // see checkpoint
	recent  []survivors // the blocks that were made since and are live
	alive   int         // of them
	ended   numbers     // see checkpoint
	makers  []maker
	makerAt map[maker]uint32 // index into makers
	sizes   []SizeSum
	sizeAt  table[uint64] // size -> index
	threads []ThreadSum
	tidAt   table[uint32] // thread ID -> index
}

// survivors are the blocks that lived on when their chunk ended.
type survivors struct {
	first, last uint64 // events of the chunk
	blocks      []survivor
	live        eventSet // by survivor.index
	seqs        []uint64 // of events by index; none if nothing is left out between them
	count       int      // of blocks that live
}

// A survivor is a block. It takes 32 bytes: there may be many.
type survivor struct {
	addr, size uint64
	index      uint32 // of its event in the chunk, or where numbers are left out in survivors
	stack      StackID
	maker      uint32 // index
}

// survivors are what lives on of a chunk.
func (c *pending) survivors(head *eventHead, o *outcome, s survivors) survivors {
	count := o.live.count()
	s.first, s.last, s.count, s.blocks = head.first, head.last, count, slices.Grow(s.blocks[:0], count)[:count]
	if len(o.seqs) > 0 {
		s.seqs = make([]uint64, count)
		s.live.fill(count)
	} else {
		s.seqs, s.live = nil, append(s.live[:0], o.live...)
	}
	var known [64]struct { // by some bits of the key
		key uint64
		by  uint32
	}
	n := 0
	for i := range o.live.all() {
		m := &o.made[i]
		key := 1<<32 | uint64(m.op)<<16 | uint64(m.thread) // which is not 0
		k := &known[(m.op^m.thread)%uint16(len(known))]
		if k.key != key {
			k.key, k.by = key, c.maker(o, m)
		}
		by := k.by
		b := &s.blocks[n]
		b.addr, b.size, b.index, b.stack, b.maker = m.addr, m.size, uint32(i), o.stacks[m.stack], by
		if s.seqs != nil {
			s.seqs[n], b.index = o.seqs[i], uint32(n)
		}
		n++
	}
	return s
}

// maker is the index of what made a block.
func (c *pending) maker(o *outcome, m *madeBlock) uint32 {
	sh := o.ops[m.op]
	by := maker{sh.kind, sh.fn, o.sums[m.thread].TID}
	i, ok := c.makerAt[by]
	if !ok {
		if c.makerAt == nil {
			c.makerAt = map[maker]uint32{}
		}
		i = uint32(len(c.makers))
		c.makerAt[by] = i
		c.makers = append(c.makers, by)
	}
	return i
}

// seq is the number of the event that made a block.
func (s *survivors) seq(b *survivor) uint64 {
	if s.seqs != nil {
		return s.seqs[b.index]
	}
	return s.first + uint64(b.index)
}

// end takes the block out that event #seq made, and tells whether it was in.
func (s *survivors) end(seq uint64) bool {
	at, ok := int(seq-s.first), true
	if s.seqs != nil {
		at, ok = slices.BinarySearch(s.seqs, seq)
	}
	if !ok || !s.live.has(at) {
		return false
	}
	s.live.remove(at)
	s.count--
	if len(s.blocks) > 256 && 4*s.count < len(s.blocks) {
		s.compact()
	}
	return true
}

// compact drops the blocks that ended.
func (s *survivors) compact() {
	s.blocks = slices.Clone(slices.DeleteFunc(s.blocks, func(b survivor) bool { return !s.live.has(int(b.index)) }))
}

// numbers are numbers of events, in pieces: there may be many, and to grow is to copy.
type numbers struct {
	pieces [][]uint64 // all but the last one are full
	count  int
}

const numbersPiece = 1 << 14

func (n *numbers) add(seq uint64) {
	if n.count%numbersPiece == 0 {
		if k := len(n.pieces); k < cap(n.pieces) && n.pieces[:k+1][k] != nil {
			n.pieces = n.pieces[:k+1]
		} else {
			n.pieces = append(n.pieces, make([]uint64, 0, numbersPiece))
		}
	}
	last := &n.pieces[len(n.pieces)-1]
	*last = append(*last, seq)
	n.count++
}

// reset takes all numbers out, and keeps the memory.
func (n *numbers) reset() {
	for i := range n.pieces {
		n.pieces[i] = n.pieces[i][:0]
	}
	n.pieces, n.count = n.pieces[:0], 0
}

// sorted yields the numbers in their order, each once.
func (n *numbers) sorted() iter.Seq[uint64] {
	low, high := ^uint64(0), uint64(0)
	for _, p := range n.pieces {
		low, high = min(low, slices.Min(p)), max(high, slices.Max(p))
	}
	if n.count == 0 || (high-low)/64 > uint64(n.count) {
		all := slices.Concat(n.pieces...)
		slices.Sort(all)
		return slices.Values(slices.Compact(all))
	}
	var set eventSet // takes less than to compare them
	set.reset(int(high-low) + 1)
	for _, p := range n.pieces {
		for _, seq := range p {
			set.add(int(seq - low))
		}
	}
	return func(yield func(uint64) bool) {
		for i := range set.all() {
			if !yield(low + uint64(i)) {
				return
			}
		}
	}
}

// head is the content of secFrom.
func (c *pending) head() []byte {
	b := binary.AppendUvarint(nil, uint64(flagIf(c.fresh, 1)))
	return binary.AppendUvarint(binary.AppendUvarint(b, c.after), c.base)
}

// append appends the payload of the chunk.
func (c *pending) append(dst []byte, p *packer) []byte {
	dst = appendStored(dst, secFrom, c.head())
	var columns [secThreads + 1][]byte
	put := func(id int, v uint64) { columns[id] = binary.AppendUvarint(columns[id], v) }
	for _, m := range c.makers {
		put(secMakers, uint64(m.kind))
		put(secMakers, uint64(m.fn))
		put(secMakers, zigzag(uint64(int64(m.tid))))
	}
	c.blocks(&columns)
	before := uint64(0)
	columns[secEnded] = make([]byte, 0, c.ended.count+c.ended.count/4)
	for seq := range c.ended.sorted() {
		put(secEnded, seq-before)
		before = seq
	}
	size := uint64(0)
	for _, s := range c.sizes {
		put(secSizes, s.Size-size)
		put(secSizes, s.Allocs)
		put(secSizes, s.Temporary)
		size = s.Size
	}
	for _, t := range c.threads {
		put(secThreads, zigzag(uint64(int64(t.TID))))
		put(secThreads, t.Allocs)
		put(secThreads, t.Bytes)
		put(secThreads, t.Temporary)
	}
	for id, b := range columns {
		if len(b) > 0 {
			dst = p.appendPacked(dst, id, b)
		}
	}
	return dst
}

// blocks appends the columns of the blocks.
func (c *pending) blocks(columns *[secThreads + 1][]byte) {
	for id := secMaker; id <= secBlockStack; id++ {
		columns[id] = make([]byte, 0, c.alive+c.alive/8)
	}
	put := func(id int, v uint64) {
		if v < 0x80 {
			columns[id] = append(columns[id], byte(v))
		} else {
			columns[id] = binary.AppendUvarint(columns[id], v)
		}
	}
	seqBefore, end, stack := c.base, uint64(0), StackID(0)
	for i := range c.recent {
		s := &c.recent[i]
		for j := range s.blocks {
			b := &s.blocks[j]
			if !s.live.has(int(b.index)) {
				continue
			}
			seq := s.seq(b)
			put(secMaker, uint64(b.maker))
			put(secNumber, seq-seqBefore)
			put(secAddress, distance(end, b.addr))
			put(secBlockSize, b.size)
			put(secBlockStack, zigzag(uint64(b.stack)-uint64(stack)))
			seqBefore, end, stack = seq, b.addr+chunkSize(b.size), b.stack
		}
	}
}
