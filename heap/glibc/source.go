package glibc

import (
	"errors"

	"hdb/heap/resident"
	"hdb/internal/addr"
)

// ErrNotUsed tells that the allocator of the C library never ran: it has no arena that any
// memory came from. Programs with an allocator of their own are so.
var ErrNotUsed = errors.New("glibc's malloc was never used: it has no arena")

// A Source is what a heap is read from.
type Source struct {
	resident.Source
	// Libcs are the paths, as in Mappings, of the modules that have glibc's malloc, the program's first: the
	// C library, or a static executable. Each may be loaded several times.
	Libcs []string
	// Program is an address in the module whose malloc the program itself calls, 0 if that is not known.
	Program addr.Run
}
