// Package intern gives stacks their IDs: equal stacks have one, and frames that stacks share are kept
// once. It has the hash tables that number what a chunk of events refers to, too.
package intern

import (
	"iter"
	"maps"
	"slices"

	"hdb/capture"
	"hdb/internal/addr"
)

// Flags of a frame, part of the wire format.
const (
	FrameIsPC  = 1 << 0 // a PC, not a return address
	FrameGuess = 1 << 1 // guessed by the unwinder

	FrameFlags = FrameIsPC | FrameGuess
)

// FrameFlagsOf are the flags of frame i.
func FrameFlagsOf(s *capture.Stack, i int) uint8 {
	var f uint8
	if s.IsPC(i) {
		f |= FrameIsPC
	}
	if s.Guessed(i) {
		f |= FrameGuess
	}
	return f
}

// Unflagged reports whether no frame has flags.
func Unflagged(s *capture.Stack) bool { return !s.FirstIsPC && s.Interrupted == nil && s.Guess == nil }

// SetFrameFlags is the inverse of frameFlagsOf. The slices stay nil when no frame
// needs them, which is nearly always.
func SetFrameFlags(s *capture.Stack, i int, f uint8) {
	if f&FrameIsPC != 0 {
		if i == 0 {
			s.FirstIsPC = true
		} else {
			if s.Interrupted == nil {
				s.Interrupted = make([]bool, len(s.PCs))
			}
			s.Interrupted[i] = true
		}
	}
	if f&FrameGuess != 0 {
		if s.Guess == nil {
			s.Guess = make([]bool, len(s.PCs))
		}
		s.Guess[i] = true
	}
}

// A stackNode is a frame of one or many stacks; its parent is the caller.
type stackNode struct {
	pc     addr.Run
	parent uint32 // index of the caller's node, 0 for the outermost frame
	module uint32 // that has the address: see moduleAt
	flags  uint8
	whole  capture.StackID // the last stack that is whole and ends there, or 0
}

// same tells that two nodes are for the same frame.
func (n *stackNode) same(o *stackNode) bool {
	return n.pc == o.pc && n.parent == o.parent && n.module == o.module && n.flags == o.flags
}

// nodesPerBlock is how many nodes are in one piece of memory, which is never moved.
const nodesPerBlock = 1 << 10

// A stackEntry is a stack: its innermost node, and why the outer frames are
// missing, as an index into the reasons.
type stackEntry struct {
	node, reason uint32
}

// Stacks interns stacks. Stacks of one program share most of their outer
// frames, so it keeps a tree of frames: about 40 bytes for each frame that the
// stacks before did not have. Where modules came to the same addresses, one after the
// other, a frame is one of a module: see Occupy. It is not safe for concurrent use.
type Stacks struct {
	blocks    []*[nodesPerBlock]stackNode // of nodes
	nodes     int                         // how many there are; number 0 is the root, above the outermost frames
	children  []uint64                    // hash table of nodes: lower half of the hash, and index; 0 is empty
	entries   []stackEntry                // by StackID-1
	cut       map[stackEntry]uint32       // stacks that are not whole
	reasons   []string                    // reasons[0] is ""
	occupants []occupant                  // the last one first
	path      []pathFrame                 // the stack looked for last, from the outermost frame
}

// An occupant is a module that took the place of others.
type occupant struct {
	low, high addr.Run
	module    uint32
}

// A pathFrame is a frame with its node.
type pathFrame struct {
	pc    addr.Run
	node  uint32
	flags uint8
}

// NewStacks is without stacks.
func NewStacks() *Stacks {
	return &Stacks{
		blocks:   []*[nodesPerBlock]stackNode{new([nodesPerBlock]stackNode)},
		nodes:    1,
		children: make([]uint64, 64),
		cut:      map[stackEntry]uint32{},
		reasons:  []string{""},
	}
}

// node is the node with index i.
func (t *Stacks) node(i uint32) *stackNode { return &t.blocks[i/nodesPerBlock][i%nodesPerBlock] }

// Intern is the ID of s, and whether it is new.
func (t *Stacks) Intern(s capture.Stack) (id capture.StackID, added bool) {
	entry := t.entry(s)
	if id = t.id(entry); id != 0 {
		return id, false
	}
	return t.add(entry), true
}

// Add gives s a new ID, under which it is found from here on, whether or not there is an equal one.
func (t *Stacks) Add(s capture.Stack) capture.StackID { return t.add(t.entry(s)) }

// Len is the number of IDs.
func (t *Stacks) Len() int { return len(t.entries) }

// Frames is how many frames are kept in memory.
func (t *Stacks) Frames() int { return t.nodes }

// Reasons is how many different reasons there are for missing frames.
func (t *Stacks) Reasons() int { return len(t.reasons) }

func (t *Stacks) add(entry stackEntry) capture.StackID {
	t.entries = append(t.entries, entry)
	id := capture.StackID(len(t.entries))
	if entry.reason == 0 {
		t.node(entry.node).whole = id
	} else {
		t.cut[entry] = uint32(id)
	}
	return id
}

// Occupy has the addresses [low, high) belong to another module from here on: stacks that
// lead through it are others than those with the same addresses before, but those that lead
// through the same one, which has the same number.
func (t *Stacks) Occupy(low, high addr.Run, module uint32) {
	t.occupants = slices.DeleteFunc(slices.Clone(t.occupants), func(o occupant) bool { return low <= o.low && o.high <= high })
	t.occupants, t.path = slices.Insert(t.occupants, 0, occupant{low, high, module}), nil
}

// moduleAt is the number of the module that has an address, of those that took the place of
// others; a return address may be behind the end. 0 is any other.
func (t *Stacks) moduleAt(pc addr.Run) uint32 {
	for i := range t.occupants {
		if o := &t.occupants[i]; o.low <= pc && pc <= o.high {
			return o.module
		}
	}
	return 0
}

// Clone is a copy.
func (t *Stacks) Clone() *Stacks {
	c := *t
	c.blocks = slices.Clone(t.blocks)
	for i, b := range t.blocks {
		block := *b
		c.blocks[i] = &block
	}
	c.children, c.entries, c.cut = slices.Clone(t.children), slices.Clone(t.entries), maps.Clone(t.cut)
	c.reasons, c.path = slices.Clone(t.reasons), nil
	return &c
}

// entry is a stack with its frames in the tree. Frames that it shares with the stack before,
// most often all but a few, are not looked for.
func (t *Stacks) entry(s capture.Stack) stackEntry {
	entry := stackEntry{reason: t.reason(s.Truncated)}
	last, plain, shared := len(s.PCs)-1, Unflagged(&s), 0
	for i := range min(len(t.path), len(s.PCs)) {
		f := &t.path[i]
		if f.pc != s.PCs[last-i] || f.flags != 0 && plain || !plain && f.flags != FrameFlagsOf(&s, last-i) {
			break
		}
		entry.node = f.node
		shared++
	}
	t.path = t.path[:shared]
	for i := last - shared; i >= 0; i-- {
		f := pathFrame{pc: s.PCs[i]}
		if !plain {
			f.flags = FrameFlagsOf(&s, i)
		}
		f.node = t.child(&stackNode{pc: f.pc, parent: entry.node, module: t.moduleAt(f.pc), flags: f.flags})
		entry.node = f.node
		t.path = append(t.path, f)
	}
	return entry
}

// id is the ID of a stack, 0 if it has none yet.
func (t *Stacks) id(entry stackEntry) capture.StackID {
	if entry.reason == 0 {
		return t.node(entry.node).whole
	}
	return capture.StackID(t.cut[entry])
}

// reason is the index of text. There are a handful of reasons.
func (t *Stacks) reason(text string) uint32 {
	for i, r := range t.reasons {
		if r == text {
			return uint32(i)
		}
	}
	t.reasons = append(t.reasons, text)
	return uint32(len(t.reasons) - 1)
}

// child is the index of the node for the same frame as n, which is added if it is new.
func (t *Stacks) child(n *stackNode) uint32 {
	if 4*t.nodes > 3*len(t.children) {
		t.grow()
	}
	hash := n.hash()
	slot := t.slot(hash, n)
	if t.children[slot] == 0 {
		if t.nodes%nodesPerBlock == 0 {
			t.blocks = append(t.blocks, new([nodesPerBlock]stackNode))
		}
		*t.node(uint32(t.nodes)) = *n
		t.children[slot] = hash<<32 | uint64(t.nodes)
		t.nodes++
	}
	return uint32(t.children[slot])
}

func (n *stackNode) hash() uint64 {
	return Mix(uint64(n.pc) + uint64(n.parent)*0x9e3779b97f4a7c15 + uint64(n.flags) + uint64(n.module)<<8)
}

// slot is where the hash table has n, or the empty place where it belongs. It looks
// at no other node, but for one in billions.
func (t *Stacks) slot(hash uint64, n *stackNode) uint64 {
	mask := uint64(len(t.children) - 1)
	for slot := hash >> 32 & mask; ; slot = (slot + 1) & mask {
		if c := t.children[slot]; c == 0 || uint32(c>>32) == uint32(hash) && t.node(uint32(c)).same(n) {
			return slot
		}
	}
}

func (t *Stacks) grow() {
	t.children = make([]uint64, 2*len(t.children))
	const page = 4096 / 8
	for i := 0; i < len(t.children); i += page {
		t.children[i] = 0 // a page that is read first is faulted in twice
	}
	mask := uint64(len(t.children) - 1)
	for i := 1; i < t.nodes; i++ {
		hash := t.node(uint32(i)).hash()
		slot := hash >> 32 & mask
		for t.children[slot] != 0 {
			slot = (slot + 1) & mask
		}
		t.children[slot] = hash<<32 | uint64(i)
	}
}

// Codes yields each code address of the stacks once, and whether it is a return
// address.
func (t *Stacks) Codes() iter.Seq2[addr.Run, bool] {
	return func(yield func(addr.Run, bool) bool) {
		var seen [FrameIsPC + 1]Table[uint64] // by that flag
		for i := range seen {
			seen[i].Reset()
		}
		for i := 1; i < t.nodes; i++ {
			n := t.node(uint32(i))
			isPC := n.flags & FrameIsPC
			if _, again := seen[isPC].At(uint64(n.pc), 0); !again && !yield(n.pc, isPC == 0) {
				return
			}
		}
	}
}

// Stack is the stack that was interned as id, which must exist.
func (t *Stacks) Stack(id capture.StackID) capture.Stack {
	entry := t.entries[id-1]
	depth := 0
	for n := entry.node; n != 0; n = t.node(n).parent {
		depth++
	}
	s := capture.Stack{Truncated: t.reasons[entry.reason]}
	if depth > 0 {
		s.PCs = make([]addr.Run, depth)
	}
	for i, n := 0, entry.node; n != 0; i++ {
		f := t.node(n)
		s.PCs[i] = f.pc
		SetFrameFlags(&s, i, f.flags)
		n = f.parent
	}
	return s
}

// Mix spreads the bits of x over the result; its upper half is the better one.
func Mix(x uint64) uint64 {
	x ^= x >> 29
	x *= 0xbf58476d1ce4e5b9
	return x ^ x>>32
}
