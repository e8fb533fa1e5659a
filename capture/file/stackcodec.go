package file

import (
	"encoding/binary"
	"fmt"
	"math"

	"hdb/capture"
	"hdb/capture/intern"
	"hdb/internal/addr"
)

// Sections of a chunk of stacks; part of the wire format.
const (
	secStackHead = 1 // the first ID and the count
	secPCs       = 2 // addresses in the order of their first use, as distances
	secDepths    = 3 // frames of the stack; frames shared with the stack before; reason
	secFrames    = 4 // the other frames, outermost first: index of the address, from 1; 0 is the next new one
	secFlags     = 5 // where frames have flags: stack, frame, flags
	secReasons   = 6 // strings: why stacks are truncated
)

const (
	maxStacks = 1 << 16 // stacks of a chunk
	maxFrames = 1 << 16 // frames of a stack; deeper ones are cut when recorded
)

// clampStack cuts a stack that is too deep.
func clampStack(s capture.Stack) capture.Stack {
	if len(s.PCs) > maxFrames {
		s.PCs = s.PCs[:maxFrames]
		s.Truncated = fmt.Sprintf("deeper than %d frames", maxFrames)
	}
	if len(s.Truncated) > maxString {
		s.Truncated = s.Truncated[:maxString]
	}
	return s
}

// A stackEncoder collects the stacks of one chunk. Stacks recorded one after
// the other mostly share their outer frames, so each is stored as what it does
// not share with the one before.
type stackEncoder struct {
	first   capture.StackID
	count   int
	frames  int // in total
	columns [secReasons + 1][]byte
	pcs     intern.Table[uint64] // address -> index, from 1
	lastPC  uint64
	reasons map[string]uint64
	before  []addr.Run // the stack before
}

func newStackEncoder(first capture.StackID) *stackEncoder {
	c := new(stackEncoder)
	c.start(first)
	return c
}

// start begins a chunk with the stack first.
func (c *stackEncoder) start(first capture.StackID) {
	for i := range c.columns {
		c.columns[i] = c.columns[i][:0]
	}
	c.first, c.count, c.frames, c.lastPC = first, 0, 0, 0
	c.before = c.before[:0]
	c.reasons = map[string]uint64{"": 0}
	c.pcs.Reset()
}

func (c *stackEncoder) put(id int, v uint64) {
	c.columns[id] = binary.AppendUvarint(c.columns[id], v)
}

// add appends the stack with the next ID.
func (c *stackEncoder) add(s capture.Stack) {
	shared := sharedEnd(s.PCs, c.before)
	c.put(secDepths, uint64(len(s.PCs)))
	c.put(secDepths, uint64(shared))
	c.put(secDepths, c.reason(s.Truncated))
	for i := len(s.PCs) - 1 - shared; i >= 0; i-- {
		c.putPC(uint64(s.PCs[i]))
	}
	for i := range s.PCs {
		if intern.Unflagged(&s) {
			break
		}
		if f := intern.FrameFlagsOf(&s, i); f != 0 {
			c.put(secFlags, uint64(c.count))
			c.put(secFlags, uint64(i))
			c.put(secFlags, uint64(f))
		}
	}
	c.before = append(c.before[:0], s.PCs...)
	c.count++
	c.frames += len(s.PCs)
}

// sharedEnd is how many addresses two stacks have in common at their outer ends.
func sharedEnd(a, b []addr.Run) int {
	n := min(len(a), len(b))
	a, b = a[len(a)-n:], b[len(b)-n:]
	for i := n - 1; i >= 0; i-- {
		if a[i] != b[i] {
			return n - 1 - i
		}
	}
	return n
}

func (c *stackEncoder) reason(text string) uint64 {
	id, ok := c.reasons[text]
	if !ok {
		id = uint64(len(c.reasons))
		c.reasons[text] = id
		c.put(secReasons, uint64(len(text)))
		c.columns[secReasons] = append(c.columns[secReasons], text...)
	}
	return id
}

func (c *stackEncoder) putPC(pc uint64) {
	i, found := c.pcs.At(pc, int32(c.pcs.Len+1))
	if found {
		c.put(secFrames, uint64(i))
		return
	}
	c.put(secFrames, 0)
	c.put(secPCs, zigzag(pc-c.lastPC))
	c.lastPC = pc
}

// full reports whether the chunk should be written.
func (c *stackEncoder) full() bool { return c.count >= 4096 || c.frames >= 1<<17 }

// append appends the payload of the chunk.
func (c *stackEncoder) append(b []byte, p *packer) []byte {
	head := binary.AppendUvarint(nil, uint64(c.first))
	head = binary.AppendUvarint(head, uint64(c.count))
	b = appendStored(b, secStackHead, head)
	for id := secPCs; id <= secReasons; id++ {
		if len(c.columns[id]) > 0 {
			b = p.appendPacked(b, id, c.columns[id])
		}
	}
	return b
}

// parseStackHead reads the section secStackHead.
func parseStackHead(b []byte) (first capture.StackID, count int, err error) {
	c := cursor{name: "head", b: b}
	f, n := c.uvarint(), c.uvarint()
	if c.err == nil && (f == 0 || n > maxStacks || f > math.MaxUint32-n) {
		c.fail(fmt.Sprintf("%d stacks from %d", n, f))
	}
	return capture.StackID(f), int(n), c.err
}

// A stackDecoder decodes one chunk of stacks.
type stackDecoder struct {
	pcs     []addr.Run // by index, from 1
	newPCs  cursor
	depths  cursor
	frames  cursor
	flags   cursor
	reasons []string
	left    int // frames that may still come, over all stacks
}

// decodeStacks is the inverse of stackEncoder.
func decodeStacks(s sections) ([]capture.Stack, error) {
	_, count, err := parseStackHead(s[secStackHead])
	if err != nil {
		return nil, err
	}
	d := stackDecoder{
		pcs:    make([]addr.Run, 1),
		newPCs: cursor{name: "addresses", b: s[secPCs]},
		depths: cursor{name: "depths", b: s[secDepths]},
		frames: cursor{name: "frames", b: s[secFrames]},
		flags:  cursor{name: "flags", b: s[secFlags]},
		left:   maxStackFrames,
	}
	if d.reasons, err = parseStrings(s[secReasons]); err != nil {
		return nil, err
	}
	stacks := make([]capture.Stack, 0, min(count, len(s[secDepths])))
	for range count {
		var before []addr.Run
		if n := len(stacks); n > 0 {
			before = stacks[n-1].PCs
		}
		stack, err := d.stack(before)
		if err != nil {
			return nil, err
		}
		stacks = append(stacks, stack)
	}
	return stacks, d.setFlags(stacks)
}

// maxStackFrames bounds the frames of a chunk's stacks, shared ones included;
// part of the wire format.
const maxStackFrames = 1 << 20

// stack decodes a stack; before is the one before.
func (d *stackDecoder) stack(before []addr.Run) (s capture.Stack, err error) {
	depth, shared, reason := d.depths.uvarint(), d.depths.uvarint(), d.depths.uvarint()
	switch {
	case d.depths.err != nil:
		return s, d.depths.err
	case depth > maxFrames || depth > uint64(d.left):
		return s, fmt.Errorf("depths: a stack of %d frames", depth)
	case shared > depth || shared > uint64(len(before)):
		return s, fmt.Errorf("depths: %d shared frames", shared)
	case reason >= uint64(len(d.reasons)):
		return s, fmt.Errorf("depths: reason %d of %d", reason, len(d.reasons))
	}
	d.left -= int(depth)
	s.Truncated = d.reasons[reason]
	if depth == 0 {
		return s, nil
	}
	s.PCs = make([]addr.Run, depth)
	own := int(depth - shared)
	copy(s.PCs[own:], before[len(before)-int(shared):])
	for i := own - 1; i >= 0; i-- {
		if s.PCs[i], err = d.pc(); err != nil {
			return s, err
		}
	}
	return s, nil
}

func (d *stackDecoder) pc() (addr.Run, error) {
	i := d.frames.uvarint()
	if d.frames.err == nil && i >= uint64(len(d.pcs)) {
		d.frames.fail(fmt.Sprintf("index %d of %d entries", i, len(d.pcs)))
	}
	if i != 0 || d.frames.err != nil {
		return d.pcs[min(i, uint64(len(d.pcs)-1))], d.frames.err
	}
	pc := d.pcs[len(d.pcs)-1] + addr.Run(unzigzag(d.newPCs.uvarint()))
	d.pcs = append(d.pcs, pc)
	return pc, d.newPCs.err
}

func (d *stackDecoder) setFlags(stacks []capture.Stack) error {
	for len(d.flags.b) > 0 {
		stack, frame, flags := d.flags.uvarint(), d.flags.uvarint(), d.flags.uvarint()
		if d.flags.err != nil {
			return d.flags.err
		}
		if stack >= uint64(len(stacks)) || frame >= uint64(len(stacks[stack].PCs)) || flags > intern.FrameFlags {
			return fmt.Errorf("flags: %#x of frame %d of stack %d", flags, frame, stack)
		}
		intern.SetFrameFlags(&stacks[stack], int(frame), uint8(flags))
	}
	return nil
}
