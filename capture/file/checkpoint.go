package file

import (
	"fmt"
	"math"
	"slices"

	"hdb/capture"
)

// Sections of a chunk of a checkpoint; part of the wire format.
const (
	secFrom       = 1 // always stored: flags, after, base
	secMakers     = 2 // dictionary: kind, function, thread ID
	secMaker      = 3 // column of the blocks: index into makers
	secNumber     = 4 // column of the blocks: event's number minus the number of the block before
	secAddress    = 5 // column of the blocks: distance from the end of the block before
	secBlockSize  = 6 // column of the blocks
	secBlockStack = 7 // column of the blocks: zigzag of the difference to the one before
	secEnded      = 8 // events' numbers, each minus the one before
	secSizes      = 9
	secThreads    = 10
)

// A checkpoint is what changed since another one, or since the beginning.
type checkpoint struct {
	after   uint64            // the event after which it is
	base    uint64            // after of the one that it continues from, 0 if it is the first
	fresh   bool              // the program was replaced since: no block of earlier ones lives on
	blocks  []capture.Held    // that were made since and are live, ascending by Seq
	ended   []uint64          // events that made blocks of earlier checkpoints that ended since, ascending
	sizes   []capture.SizeSum // of what was allocated since, ascending
	threads []capture.ThreadSum
}

// A maker is what blocks have in common that one thread made with one function.
type maker struct {
	kind capture.Kind
	fn   uint16
	tid  int32
}

// parseCheckpoint is the inverse of checkpointDraft.append.
func parseCheckpoint(s sections) (*checkpoint, error) {
	var columns [secThreads + 1]cursor
	for id := range columns {
		columns[id] = cursor{name: fmt.Sprintf("section %d", id), b: s[id]}
	}
	c := &checkpoint{fresh: columns[secFrom].uvarint()&1 != 0, after: columns[secFrom].uvarint(), base: columns[secFrom].uvarint()}
	if c.after == 0 || c.base >= c.after {
		columns[secFrom].fail("no moment")
	}
	makers := columns[secMakers].makers()
	last := c.parseBlocks(&columns, makers)
	if last > c.after {
		columns[secNumber].fail("a block is of a later event")
	}
	for seq, e := uint64(0), &columns[secEnded]; len(e.b) > 0; {
		step := e.uvarint()
		if seq += step; step == 0 || seq < step || seq > c.base {
			e.fail("a block is out of order")
		}
		c.ended = append(c.ended, seq)
	}
	for size, e := uint64(0), &columns[secSizes]; len(e.b) > 0; {
		size += e.uvarint()
		c.sizes = append(c.sizes, capture.SizeSum{Size: size, Allocs: e.uvarint(), Temporary: e.uvarint()})
	}
	for e := &columns[secThreads]; len(e.b) > 0; {
		c.threads = append(c.threads, capture.ThreadSum{TID: int32(unzigzag(e.uvarint())), Allocs: e.uvarint(), Bytes: e.uvarint(), Temporary: e.uvarint()})
	}
	for id := range columns {
		e := &columns[id]
		if e.err == nil && len(e.b) > 0 && id != secFrom {
			e.fail("too long")
		}
		if e.err != nil {
			return nil, e.err
		}
	}
	return c, nil
}

// makers reads the dictionary.
func (e *cursor) makers() (makers []maker) {
	for len(e.b) > 0 {
		kind, fn, tid := e.uvarint(), e.uvarint(), int64(unzigzag(e.uvarint()))
		if kind >= uint64(capture.NumKinds) || fn > math.MaxUint16 || int64(int32(tid)) != tid {
			e.fail("an entry is out of range")
		}
		makers = append(makers, maker{capture.Kind(kind), uint16(fn), int32(tid)})
	}
	return makers
}

// parseBlocks reads the columns of blocks and returns the last one's number. There
// are as many blocks as the first column has bytes, at most.
func (c *checkpoint) parseBlocks(columns *[secThreads + 1]cursor, makers []maker) (seq uint64) {
	seq = c.base
	c.blocks = make([]capture.Held, 0, len(columns[secNumber].b))
	end, stack := uint64(0), uint64(0)
	for numbers := &columns[secNumber]; len(numbers.b) > 0; {
		step := numbers.uvarint()
		at := columns[secMaker].uvarint()
		if at >= uint64(len(makers)) {
			columns[secMaker].fail("an entry is out of range")
			return seq
		}
		b := capture.Held{Kind: makers[at].kind, Func: makers[at].fn, TID: makers[at].tid}
		b.Addr = undistance(end, columns[secAddress].uvarint())
		b.Size = columns[secBlockSize].uvarint()
		if stack += unzigzag(columns[secBlockStack].uvarint()); stack > math.MaxUint32 {
			columns[secBlockStack].fail("an entry is out of range")
		}
		if seq += step; step == 0 || seq < step {
			numbers.fail("a block is out of order")
		}
		b.Seq, b.Stack = seq, capture.StackID(stack)
		end = b.Addr + chunkSize(b.Size)
		c.blocks = append(c.blocks, b)
	}
	return seq
}

// maxHeld bounds the blocks of a checkpoint with those it continues from.
const maxHeld = 1 << 26

// A restorer makes Checkpoints of a chain of checkpoints.
type restorer struct {
	capture.Checkpoint
	ended   []uint64 // of Blocks, not yet taken out
	least   int      // Blocks when that was last done
	sizes   map[uint64]int
	threads map[int32]int
}

// add continues to the next checkpoint, if it belongs to the chain.
func (r *restorer) add(c *checkpoint) {
	if c.base != r.Seq || len(r.Blocks)+len(c.blocks) > maxHeld {
		return
	}
	if c.base == 0 {
		r.sizes, r.threads = map[uint64]int{}, map[int32]int{}
	}
	if c.fresh {
		r.Blocks, r.ended = r.Blocks[:0], r.ended[:0]
	}
	r.Seq = c.after
	r.Blocks = append(r.Blocks, c.blocks...)
	r.ended = append(r.ended, c.ended...)
	if len(r.Blocks) > 2*r.least+1<<18 {
		r.settle()
	}
	for _, s := range c.sizes {
		i, ok := r.sizes[s.Size]
		if !ok {
			i = len(r.Sizes)
			r.sizes[s.Size] = i
			r.Sizes = append(r.Sizes, capture.SizeSum{Size: s.Size})
		}
		r.Sizes[i].Allocs += s.Allocs
		r.Sizes[i].Temporary += s.Temporary
	}
	for _, t := range c.threads {
		i, ok := r.threads[t.TID]
		if !ok {
			i = len(r.Threads)
			r.threads[t.TID] = i
			r.Threads = append(r.Threads, capture.ThreadSum{TID: t.TID})
		}
		k := &r.Threads[i]
		k.Allocs += t.Allocs
		k.Bytes += t.Bytes
		k.Temporary += t.Temporary
	}
}

// settle takes out the blocks that ended.
func (r *restorer) settle() {
	slices.Sort(r.ended)
	kept, ended := r.Blocks[:0], r.ended
	for i := range r.Blocks {
		for len(ended) > 0 && ended[0] < r.Blocks[i].Seq {
			ended = ended[1:]
		}
		if len(ended) == 0 || ended[0] != r.Blocks[i].Seq {
			kept = append(kept, r.Blocks[i])
		}
	}
	r.Blocks, r.ended, r.least = kept, r.ended[:0], len(kept)
}

// done is the checkpoint, nil if there is none.
func (r *restorer) done() *capture.Checkpoint {
	if r.Seq == 0 {
		return nil
	}
	r.settle()
	return &r.Checkpoint
}

// Checkpoint is the last one of the file that is not later than event #seq, nil if
// there is none. What is damaged is as if it were not there.
func (f *File) Checkpoint(seq uint64) *capture.Checkpoint {
	var r restorer
	for _, ref := range f.checkpoints {
		c, err := f.checkpoint(ref)
		if err != nil {
			continue
		}
		if c.after > seq {
			break
		}
		r.add(c)
	}
	return r.done()
}

// checkpoint reads one; an error is damage.
func (f *File) checkpoint(ref chunkRef) (*checkpoint, error) {
	s, err := f.chunks.sections(ref)
	var c *checkpoint
	if err == nil {
		c, err = parseCheckpoint(s)
	}
	if err != nil {
		f.fail(ref, err)
	}
	return c, err
}

// Checkpoint is the last one of the log that is not later than event #seq.
func (l *Log) Checkpoint(seq uint64) *capture.Checkpoint {
	var r restorer
	var u unpacker
	for _, b := range l.checkpointsTo(seq) {
		payload, err := b.load()
		if err != nil {
			break
		}
		s, err := u.sections(payload)
		if err != nil {
			break
		}
		c, err := parseCheckpoint(s)
		if err != nil {
			break
		}
		r.add(c)
	}
	return r.done()
}

// checkpointsTo are those up to event #seq.
func (l *Log) checkpointsTo(seq uint64) []eventBlock {
	l.mu.RLock()
	defer l.mu.RUnlock()
	for i := range l.checkpoints {
		if l.checkpoints[i].head.last > seq {
			return slices.Clip(l.checkpoints[:i])
		}
	}
	return slices.Clip(l.checkpoints)
}
