package glibc

import (
	"errors"
	"io"

	"hdb/internal/addr"
)

// ErrNotUsed tells that the allocator of the C library never ran: it has no arena that any
// memory came from. Programs with an allocator of their own are so.
var ErrNotUsed = errors.New("glibc's malloc was never used: it has no arena")

// A Mapping is one of the process's memory map.
type Mapping struct {
	addr.Range
	Readable, Writable, Executable, Shared bool
	Path                                   string // of the file, or a name such as [heap]; "" of an anonymous one
}

// A Thread is what is needed of one to find its tcache.
type Thread struct {
	TID int
	FS  addr.Run // base of fs: its struct pthread, below which the static TLS lies
}

// A Source is what a heap is read from: a process that is stopped, or a core file.
type Source struct {
	// Memory of the process; offsets are addresses. What is not mapped is an error.
	Memory io.ReaderAt
	// Mappings of the process, ascending.
	Mappings []Mapping
	// Threads of the process; without them no tcache is found, and its chunks are shown as used.
	Threads []Thread
	// Libc is the path, as in Mappings, of the module that has glibc's malloc: the C library,
	// or a static executable.
	Libc string
	// Resident are the parts of a range that may be read without giving the process pages
	// that it never had: those that are in memory or in swap, ascending. nil means all of it, as in a core file.
	Resident func(addr.Range) ([]addr.Range, error)
}
