package glibc

import (
	"fmt"

	"hdb/internal/addr"
)

// A Damage is a field in which the heap does not hold together.
type Damage struct {
	Arena int      // index in Arenas; -1 of a tcache
	TID   int      // of the thread whose tcache it is
	Chunk addr.Run // header of the chunk, or the struct that has the field
	Field string   // of struct malloc_chunk; of other structs with their name
	// What stands there, and what would be right.
	Expected, Found string
	// Passing tells that a thread is inside malloc with this arena: it may be about to change the field.
	Passing bool
}

// User is the memory of the user that the chunk has, what malloc returned for it.
func (d Damage) User() addr.Run { return d.Chunk + header }

func (d Damage) String() string {
	return fmt.Sprintf("chunk %v: %s is %s, expected %s", d.Chunk, d.Field, d.Found, d.Expected)
}

func (h *Heap) tell(d Damage) {
	if len(h.damage) < mostTold {
		h.damage = append(h.damage, d)
	} else {
		h.untold++
	}
}

func hex(v uint64) string { return fmt.Sprintf("%#x", v) }
