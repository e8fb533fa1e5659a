package file

import (
	"encoding/binary"
	"math/bits"
	"slices"

	"hdb/capture"
	"hdb/capture/intern"
)

// A checkpointDraft is a checkpoint that will be written. What it had is memory of the next
// one.
type checkpointDraft struct {
	after   uint64        // the event after which it is
	base    uint64        // see checkpoint
	fresh   bool          // see checkpoint
	recent  []survivors   // of the chunks since
	blocks  [][]keptBlock // theirs, in pieces, which are never moved
	count   int           // of these
	alive   int           // of them
	odd     []oddBlock    // some of them
	columns blockColumns
	ended   numbers // see checkpoint
	makers  []maker
	makerAt map[maker]uint32 // index into makers
	sizes   []capture.SizeSum
	smallAt [smallSizes]uint32   // size -> index + 1
	sizeAt  intern.Table[uint64] // size -> index, of the others
	threads []capture.ThreadSum
	tidAt   intern.Table[uint32] // thread ID -> index
	buf     []byte               // of a section
}

// survivors are the blocks of a chunk that lived on when it ended.
type survivors struct {
	first, last uint64   // events of the chunk
	kept        eventSet // the events whose blocks are in checkpointDraft.blocks: by index of seqs, if there are any
	live        eventSet // those of them whose block lives
	seqs        []uint64 // of the events, if numbers are left out between them
}

// A keptBlock is a survivor. It takes 16 bytes: there may be many.
type keptBlock struct {
	where uint64 // the address, and above it the index of the maker
	size  uint32
	stack capture.StackID
}

const (
	addrBits    = 48
	oddMaker    = 1<<(64-addrBits) - 1 // instead of a maker: the address is the index of an oddBlock
	blocksPiece = 2 << 10
)

// An oddBlock is one that does not fit in a keptBlock or madeBlock.
type oddBlock struct {
	addr, size uint64
	by         uint32
}

// begin begins a checkpoint that continues from event #base.
func (c *checkpointDraft) begin(base uint64) {
	c.base, c.fresh = base, false
	c.forget()
	c.makers, c.sizes, c.threads = c.makers[:0], c.sizes[:0], c.threads[:0]
	clear(c.makerAt)
	clear(c.smallAt[:])
	c.sizeAt.Reset()
	c.tidAt.Reset()
}

// forget takes all blocks out.
func (c *checkpointDraft) forget() {
	c.recent, c.odd, c.count, c.alive = c.recent[:0], c.odd[:0], 0, 0
	c.ended.reset()
}

// survivors takes in what lives on of a chunk.
func (c *checkpointDraft) survivors(head *eventHead, o *chunkEffects) {
	count := o.live.count()
	if count == 0 {
		return
	}
	n := len(c.recent)
	c.recent = slices.Grow(c.recent, 1)[:n+1] // and with it the memory of sets
	s := &c.recent[n]
	s.first, s.last, s.seqs = head.first, head.last, s.seqs[:0]
	if len(o.seqs) > 0 {
		for i := range o.live.all() {
			s.seqs = append(s.seqs, o.seqs[i])
		}
		s.live.fill(count)
	} else {
		s.live = append(s.live[:0], o.live...)
	}
	s.kept = append(s.kept[:0], s.live...)
	var known knownMakers
	var batch [64]keptBlock
	for at, word := range o.live {
		if word == 0 {
			continue
		}
		made := (*[64]madeBlock)(o.made[at<<6:])
		out := c.room64()
		inPlace := out != nil
		if !inPlace {
			out = &batch
		}
		n := uint(0)
		for {
			if n, word = known.take(out, n, made, word, o.stacks); word == 0 {
				break
			}
			n = c.takeUnusual(out, n, &known, o, &made[bits.TrailingZeros64(word)])
			word &= word - 1
		}
		if inPlace {
			c.count += int(n)
		} else {
			c.keep(batch[:n])
		}
	}
	c.alive += count
}

// knownMakers have the index of a maker, where a keptBlock has it, by some bits of its key;
// none of oddMaker or more.
type knownMakers [64]struct{ key, by uint64 }

// makerKey tells makers apart in a chunk. It is not 0.
func (m *madeBlock) makerKey() uint64 { return m.where>>addrBits<<16 + uint64(m.thread) + 1 }

// slot is where the maker with a key is, if it is known.
func (known *knownMakers) slot(key uint64) *struct{ key, by uint64 } {
	return &known[(key>>16^key)%uint64(len(known))]
}

// take puts the blocks of word at #n of out and further, up to one that is odd or whose maker
// is not known. It returns where that would be, and which are left. It calls nothing.
func (known *knownMakers) take(out *[64]keptBlock, n uint, made *[64]madeBlock, word uint64, stacks []capture.StackID) (uint, uint64) {
	// Most blocks have the maker and the stack of the one before.
	var last *madeBlock
	by, stack := uint64(0), capture.StackID(0)
	for ; word != 0; word &= word - 1 {
		m := &made[bits.TrailingZeros64(word)%64]
		if last == nil || (m.where^last.where)>>addrBits|(*m.word()^*last.word())>>32 != 0 {
			key := m.makerKey()
			k := known.slot(key)
			if k.key != key || m.stack == oddStack {
				break
			}
			last, by, stack = m, k.by, stacks[m.stack]
		}
		b := &out[n%64]
		b.where = by | m.where&(1<<addrBits-1)
		b.size, b.stack = m.size, stack
		n++
	}
	return n, word
}

// takeUnusual puts a block at #n of out.
func (c *checkpointDraft) takeUnusual(out *[64]keptBlock, n uint, known *knownMakers, o *chunkEffects, m *madeBlock) uint {
	by := c.maker(o, m)
	if by < oddMaker {
		k := known.slot(m.makerKey())
		k.key, k.by = m.makerKey(), uint64(by)<<addrBits
	}
	addr, size, stack := o.block(m)
	out[n] = keptBlock{uint64(by)<<addrBits | addr, uint32(size), o.stacks[stack]}
	if addr>>addrBits|size>>32 != 0 || by >= oddMaker {
		out[n].where = oddMaker<<addrBits | uint64(len(c.odd))
		c.odd = append(c.odd, oddBlock{addr, size, by})
	}
	return n + 1
}

// room64 is where the next 64 blocks go, nil if that is not in one piece.
func (c *checkpointDraft) room64() *[64]keptBlock {
	piece, at := c.count/blocksPiece, c.count%blocksPiece
	if piece == len(c.blocks) || at > blocksPiece-64 {
		return nil
	}
	return (*[64]keptBlock)(c.blocks[piece][at:])
}

// keep appends blocks, at most blocksPiece.
func (c *checkpointDraft) keep(blocks []keptBlock) {
	piece, at := c.count/blocksPiece, c.count%blocksPiece
	if at+len(blocks) >= blocksPiece && piece+1 == len(c.blocks) || piece == len(c.blocks) {
		c.blocks = append(c.blocks, make([]keptBlock, blocksPiece))
	}
	n := copy(c.blocks[piece][at:], blocks)
	if n < len(blocks) {
		copy(c.blocks[piece+1], blocks[n:])
	}
	c.count += len(blocks)
}

// kept are n blocks from #i on, at most 64. They are in batch if they are of two pieces.
func (c *checkpointDraft) kept(i, n int, batch *[64]keptBlock) []keptBlock {
	piece, at := i/blocksPiece, i%blocksPiece
	if at+n <= blocksPiece {
		return c.blocks[piece][at : at+n]
	}
	first := copy(batch[:n], c.blocks[piece][at:])
	copy(batch[first:n], c.blocks[piece+1])
	return batch[:n]
}

// maker is the index of what made a block.
func (c *checkpointDraft) maker(o *chunkEffects, m *madeBlock) uint32 {
	sh := o.ops[m.where>>addrBits]
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

// end takes blocks of one chunk out, made after base by the events that seqs begin with, and returns
// how many they were: 0 if the first was not in.
func (c *checkpointDraft) end(seqs []uint64) (n int) {
	s := c.survivorsOf(seqs[0])
	if s == nil {
		return 0
	}
	if len(s.seqs) == 0 {
		n = s.end(seqs)
	} else if at, ok := slices.BinarySearch(s.seqs, seqs[0]); ok && s.live.has(at) {
		s.live.remove(at)
		n = 1
	}
	c.alive -= n
	return n
}

// end is checkpointDraft.end for a chunk without gaps between numbers.
func (s *survivors) end(seqs []uint64) int {
	live, first, last := s.live, s.first, s.last
	for n, seq := range seqs {
		if seq < first || seq > last {
			return n
		}
		at := seq - first
		word, bit := &live[at>>6], uint64(1)<<(at&63)
		if *word&bit == 0 {
			return n
		}
		*word &^= bit
	}
	return len(seqs)
}

// survivorsOf are those of the chunk with event #seq, nil if there are none.
func (c *checkpointDraft) survivorsOf(seq uint64) *survivors {
	if len(c.recent) == 0 {
		return nil
	}
	low, high := 0, len(c.recent)
	// Most chunks are full, and most have survivors.
	if guess := (seq - c.recent[0].first) / eventsPerChunk; guess < uint64(high) && c.recent[guess].first <= seq && seq <= c.recent[guess].last {
		return &c.recent[guess]
	}
	for low < high {
		if mid := (low + high) / 2; c.recent[mid].last < seq {
			low = mid + 1
		} else {
			high = mid
		}
	}
	if low == len(c.recent) || seq < c.recent[low].first {
		return nil
	}
	return &c.recent[low]
}

// compact drops the blocks that ended.
func (c *checkpointDraft) compact() {
	var batch [64]keptBlock
	from := 0
	c.count = 0
	for i := range c.recent {
		s := &c.recent[i]
		for at, word := range s.kept {
			blocks := c.kept(from, bits.OnesCount64(word), &batch)
			from += len(blocks)
			live := s.live[at]
			if word == live {
				c.keep(blocks)
				continue
			}
			s.kept[at] = live
			n := 0
			for ; live != 0; live &= live - 1 {
				batch[n] = blocks[bits.OnesCount64(word&(live&-live-1))]
				n++
			}
			c.keep(batch[:n])
		}
	}
}

// write makes the columns of the blocks that live.
func (c *checkpointDraft) write() {
	var batch [64]keptBlock
	c.columns.begin(c.base)
	from := 0
	for i := range c.recent {
		s := &c.recent[i]
		for at, word := range s.kept {
			if word == 0 {
				continue
			}
			blocks := c.kept(from, bits.OnesCount64(word), &batch)
			from += len(blocks)
			live := s.live[at]
			if live == 0 {
				continue
			}
			if len(s.seqs) == 0 {
				c.columns.add(blocks, word, live, s.first+uint64(at)<<6)
			} else {
				c.columns.add(blocks, word, live, 0)
				c.columns.number(bits.OnesCount64(live), s.seqs[at<<6:])
			}
			if c.columns.count > columnBatch-64 {
				c.columns.flush(c.odd)
			}
		}
	}
	c.columns.flush(c.odd)
}

// head is the content of secFrom.
func (c *checkpointDraft) head() []byte {
	b := binary.AppendUvarint(nil, uint64(flagIf(c.fresh, 1)))
	return binary.AppendUvarint(binary.AppendUvarint(b, c.after), c.base)
}

// append appends the payload of the chunk.
func (c *checkpointDraft) append(dst []byte, p *packer) []byte {
	dst = appendStored(dst, secFrom, c.head())
	put := func(v uint64) { c.buf = binary.AppendUvarint(c.buf, v) }
	pack := func(id int) {
		if len(c.buf) > 0 {
			dst = p.appendPacked(dst, id, c.buf)
		}
		c.buf = c.buf[:0]
	}
	for _, m := range c.makers {
		put(uint64(m.kind))
		put(uint64(m.fn))
		put(zigzag(uint64(int64(m.tid))))
	}
	pack(secMakers)
	c.write()
	for id := secMaker; id <= secBlockStack; id++ {
		c.buf = c.columns.take(c.buf, id)
		pack(id)
	}
	c.buf = c.ended.append(c.buf)
	pack(secEnded)
	size := uint64(0)
	for _, s := range c.sizes {
		put(s.Size - size)
		put(s.Allocs)
		put(s.Temporary)
		size = s.Size
	}
	pack(secSizes)
	for _, t := range c.threads {
		put(zigzag(uint64(int64(t.TID))))
		put(t.Allocs)
		put(t.Bytes)
		put(t.Temporary)
	}
	pack(secThreads)
	return dst
}
