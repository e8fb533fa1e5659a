package capture

// The effect of an event is what it did to the blocks of the heap: the block that it
// made, and the one that it ended. A heap.Ledger decides it once, when the call is taken
// in, and the event carries it from there on. All that counts blocks adds up effects;
// nothing finds out again from kinds and addresses which block ended.
//
// An event makes one block at most and ends one at most. A realloc onto the address of a recorded
// block whose end was not seen would end two: the end of that block is an event of its own in front
// of it, a Free by the function UnseenFree.
//
// When the program is replaced (exec) all blocks end without an event; see Source.Execs.

// UnseenFree is the name of the function of events that represent the end of a block that was not
// seen, as its address was handed out again.
const UnseenFree = "unseen free"

// PoolChunk is the name of the function of events that represent the end of a block because a pool,
// an allocator of the program's own, has begun to hand it out in pieces. A Protect by it says the same of
// a mapping.
const PoolChunk = "pool chunk"

// Ended is the recorded block that an event ended.
type Ended struct {
	Size      uint64  // bytes asked for
	Stack     StackID // of the event that made it, or 0
	Recorded  bool    // that event is in the recording; otherwise the rest is 0
	Temporary bool    // no other block was made between its beginning and its end
	Seq       uint64  // of that event; 0 where it is not known, as in events that are read back
}

// Allocates reports whether the event made a block of the heap: of Size bytes at Addr. Mappings are
// not part of it: blocks are in them. heap.Mappings counts these.
func (e *Event) Allocates() bool {
	return !e.Failed && e.Addr != 0 && (e.Kind == Alloc || e.Kind == Realloc)
}

// SizeKnown reports whether Size is a size: the Size of a free of no live block is 0, as it is not
// known.
func (e *Event) SizeKnown() bool {
	return e.Size != 0 || e.Kind != Free || e.Ended.Recorded
}

// EndedAt is the address of the block that the event ended, if it ended one: that handed
// in, or, of an allocation, the one that it was put in the place of.
func (e *Event) EndedAt() uint64 {
	if e.Kind == Realloc && e.Old != 0 {
		return e.Old
	}
	return e.Addr
}

// AllocationFailed reports whether the event should have made a block or mapping and did
// not.
func (e *Event) AllocationFailed() bool { return e.Failed && e.Kind.Obtains() }

// Releases tells kinds of events that give Addr back.
func (k Kind) Releases() bool { return k == Free || k == Unmap }

// Obtains tells kinds of events that should make a block or mapping.
func (k Kind) Obtains() bool { return !k.Releases() && k != Mark && k != Protect }

// CanEnd tells kinds of events that can end a block.
func (k Kind) CanEnd() bool { return k == Alloc || k == Free || k == Realloc }
