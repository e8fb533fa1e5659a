package glibc

import (
	"errors"

	"hdb/heap/resident"
)

// ErrNotUsed tells that the allocator of the C library never ran: it has no arena that any
// memory came from. Programs with an allocator of their own are so.
var ErrNotUsed = errors.New("glibc's malloc was never used: it has no arena")

// A Source is what a heap is read from.
type Source struct {
	resident.Source
	// Libc is the path, as in Mappings, of the module that has glibc's malloc: the C library,
	// or a static executable.
	Libc string
}
