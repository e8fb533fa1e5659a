package glibc

import (
	"fmt"
	"strconv"
	"strings"

	"hdb/internal/addr"
)

// A Damage is a field in which the heap does not hold together.
type Damage struct {
	Arena int      // index in Arenas; -1 of a tcache, or if it is not known which copy of the C library has the chunk
	TID   int      // of the thread whose tcache it is
	Chunk addr.Run // header of the chunk, or the struct that has the field
	Field string   // of struct malloc_chunk; of other structs with their name
	Kind  DamageKind
	Value uint64    // of the field
	Leads addr.Run  // where it leads, if it is a link that is not kept as it is
	Args  [3]uint64 // what Kind says
	// Passing tells that a thread is inside malloc with this arena: it may be about to change the field.
	Passing bool
}

// A DamageKind is what is wrong with a field.
type DamageKind uint8

const (
	Unwritten      DamageKind = iota // a chunk should begin there, but the page was never written
	Unsearched                       // where chunks continue was not found within the bounds of a search
	NoFencepost                      // the chunks reach to the end of a heap
	WrongSize                        // of no chunk; Args: the most that there is room for
	WrongTop                         // not the top chunk; Args: the most that there is room for
	WrongMmapped                     // IS_MMAPPED is set in an arena
	WrongArena                       // NON_MAIN_ARENA; Args: 1 if it must be set
	TopPlace                         // the top chunk is in no heap of the arena; Args: the arena
	HeapArena                        // the heap is not the arena's; Args: the arena
	HeapSize                         // Args: the most
	HeapLink                         // leads to no heap, or to one again
	PrevSize                         // Args: the size of the free chunk in front
	PrevSizeOrFlag                   // the same, or the flag PREV_INUSE
	PrevInUse                        // should be set; Args: the chunk in front, which no bin has
	BinLink                          // leads to no free chunk; Args: the bin, its head
	BinLoop                          // leads to a chunk that was in a bin before
	BinBack                          // Args: the chunk in front in the list
	BinLast                          // Args: the last chunk of the list
	BinSize                          // the chunk is not of the bin's sizes; Args: the bin
	ListLink                         // leads to no chunk; Args: the size of the list's chunks
	ListLoop                         // leads to a chunk that was in a list before
	ListState                        // leads to a chunk that is not used, for all that its neighbours say; Args: the size, its State
	ListSize                         // leads to a chunk of another size; Args: the size, that size
	ListEnd                          // the list is too long
	TCacheCount                      // Args: how many chunks the list has
	TCacheSlots                      // Args: for how many more the list has room, how many it has
	TCacheKey                        // Args: the size of the other chunks
	Overlap                          // the chunk reaches over a block of a recording; Args: the most, the block's event and address
)

// expected are the texts of what would be right, of Args in their order.
var expected = [...]string{
	Unwritten: "a chunk", Unsearched: "a chunk", NoFencepost: "a fencepost at the end of the heap",
	WrongSize: "a multiple of 16 from 0x20 to %#x", WrongTop: "that of the top chunk, at most %#x", WrongMmapped: "IS_MMAPPED clear",
	TopPlace: "an address in a heap of the arena at %#x", HeapArena: "%#x", HeapSize: "at most %#x", HeapLink: "another heap or 0",
	PrevSize: "%#x, the size of the free chunk before it", PrevSizeOrFlag: "%#x, the size of the free chunk before it, or PREV_INUSE set",
	PrevInUse: "PREV_INUSE set: no bin has the chunk before it, %#x",
	BinLoop:   "a chunk that is in no bin yet", BinBack: "%#x, whose fd leads here", BinLast: "%#x, the last chunk",
	ListLink: "a freed chunk of size %#x or the end of the list", ListLoop: "a chunk that is in no list yet",
	ListSize: "a freed chunk of size %#x, not %#x", ListEnd: "the end of the list",
	TCacheCount: "%d, as many as its list has", TCacheSlots: "%d, as its list has %d", TCacheKey: "%#x, as in the other chunks of tcaches",
	Overlap: "at most %#x: the block of #%d at %#x is live",
}

// Expected is what would be right.
func (d Damage) Expected() string {
	switch first := d.Args[0]; d.Kind {
	case WrongArena:
		if first != 0 {
			return "NON_MAIN_ARENA set"
		}
		return "NON_MAIN_ARENA clear"
	case BinLink:
		return fmt.Sprintf("a free chunk of the arena, or the %s bin's head %#x", binName(int(first)), d.Args[1])
	case BinSize:
		switch least, most := binSizes(int(first)); {
		case least == most:
			return fmt.Sprintf("%#x, the size of its bin", least)
		case most == 0:
			return fmt.Sprintf("at least %#x, the sizes of its bin", least)
		default:
			return fmt.Sprintf("%#x to %#x, the sizes of its bin", least, most)
		}
	case ListState:
		return fmt.Sprintf("a freed chunk of size %#x, not one that is %v", first, State(d.Args[1]))
	}
	text := expected[d.Kind]
	args := []any{d.Args[0], d.Args[1], d.Args[2]}
	return fmt.Sprintf(text, args[:strings.Count(text, "%")]...)
}

// Found is what is there.
func (d Damage) Found() string {
	switch {
	case d.Kind == Unwritten:
		return "memory that was never written"
	case d.Kind == Unsearched:
		return "unknown: the search for it reached its bound"
	case d.Kind == NoFencepost:
		return "the end of the heap"
	case d.Kind == TCacheCount:
		return strconv.FormatUint(d.Value, 10)
	case d.Leads != 0:
		return fmt.Sprintf("%#x, which leads to %v", d.Value, d.Leads)
	}
	return fmt.Sprintf("%#x", d.Value)
}

// User is the memory of the user that the chunk has, what malloc returned for it.
func (d Damage) User() addr.Run { return d.Chunk + header }

func (d Damage) String() string {
	return fmt.Sprintf("chunk %v: %s is %s, expected %s", d.Chunk, d.Field, d.Found(), d.Expected())
}

func (h *Heap) report(d Damage) {
	if len(h.damage) < mostDamage {
		h.damage = append(h.damage, d)
	} else {
		h.more++
	}
}

// unsearched tells that a search ended at its bound. It goes into Heap.damage however much is there.
func unsearched(arena int, at addr.Run) Damage {
	return Damage{Arena: arena, Chunk: at, Field: "size", Kind: Unsearched}
}
