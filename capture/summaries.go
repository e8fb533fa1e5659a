package capture

import (
	"iter"
	"time"
)

// A Summary is what a run of consecutive events did, so that questions about a
// whole recording need not read every event. Blocks are those of the heap, not
// mappings.
type Summary struct {
	First, Last uint64        // sequence numbers
	Start, End  time.Duration // times of the first and last event
	Events      int

	// Fresh: the program was replaced (exec) before the first event; no block
	// from before it lives on.
	Fresh bool
	// Live and Blocks are the bytes and the number of recorded blocks that are
	// live after the last event.
	Live, Blocks uint64
	// Peak is the highest number of live bytes after an allocation, and PeakSeq the first event
	// after which there were that many; both 0 without allocations.
	Peak, PeakSeq uint64
	PeakTime      time.Duration // of that event
	// Mapped and Unmapped are bytes of mappings made and unmapped.
	Mapped, Unmapped uint64
	Failed           uint64 // allocations that returned NULL

	Flows []Flow      // ascending by Stack
	Sizes []SizeCount // of allocations, by bits.Len64 of their size
	Calls []uint64    // by function, failed ones included

	Touches AddressSet // see MayTouch; nil if that is not known
	Maps    MapEvents  // nil if there are none, or they are not known
}

// MapEvents are the events of a run that change mappings, except those that failed: all that
// matters of them for what is mapped, without their times.
type MapEvents interface{ Events() iter.Seq[Event] }

// A Flow is what was allocated with one stack, and how much of it was freed.
type Flow struct {
	Stack     StackID
	Allocs    uint64 // blocks allocated here
	Bytes     uint64 // their sizes
	Frees     uint64 // blocks from here that ended
	Freed     uint64 // their sizes
	Temporary uint64 // of Frees: see Ended.Temporary
}

// Add adds what o did.
func (f *Flow) Add(o *Flow) {
	f.Allocs += o.Allocs
	f.Bytes += o.Bytes
	f.Frees += o.Frees
	f.Freed += o.Freed
	f.Temporary += o.Temporary
}

// A SizeCount counts allocations of a class of sizes.
type SizeCount struct{ Allocs, Bytes uint64 }

// An AddressSet holds at least the addresses that it was made of, and perhaps others.
type AddressSet interface{ Has(addr uint64) bool }

// MayTouch reports whether an event of the run can be about a block or a mapping that
// holds the address. If it is false, no event is.
func (s *Summary) MayTouch(addr uint64) bool { return s.Touches == nil || s.Touches.Has(addr) }

// Held is a block that is live at a moment, and what is known of the event that
// made it.
type Held struct {
	Seq   uint64 // of the event
	Addr  uint64
	Size  uint64 // bytes asked for
	Stack StackID
	TID   int32
	Func  uint16 // index into Functions()
	Kind  Kind   // Alloc or Realloc
}

// Event is what is known of the event that made the block.
func (b *Held) Event() Event {
	return Event{Seq: b.Seq, Addr: b.Addr, Size: b.Size, Stack: b.Stack, TID: b.TID, Func: b.Func, Kind: b.Kind}
}

// A SizeSum is what was allocated of one size.
type SizeSum struct {
	Size      uint64
	Allocs    uint64
	Temporary uint64 // of them: freed when no other block was allocated in between
}

// A ThreadSum is what one thread allocated.
type ThreadSum struct {
	TID           int32
	Allocs, Bytes uint64
	Temporary     uint64 // as of SizeSum, whichever thread gave it back
}

// A Checkpoint is the heap after an event, so that a question about a later moment
// need not read the events up to it.
type Checkpoint struct {
	Seq     uint64 // of the event
	Blocks  []Held // that are live, ascending by Seq
	Sizes   []SizeSum
	Threads []ThreadSum
}
