package jemalloc

import (
	"errors"
	"io"
	"slices"
	"strings"

	"hdb/internal/addr"
)

// ErrNotFound tells that no module has the map of extents of a jemalloc that has run.
var ErrNotFound = errors.New("jemalloc: no module's data has its map of extents (rtree)")

// A LayoutError tells that the map of extents was found, and that what it leads to is of a version whose
// layout is not known.
type LayoutError struct {
	Root addr.Run
	What string // that is not known
}

func (e *LayoutError) Error() string {
	return "jemalloc: map of extents at " + e.Root.String() + ": " + e.What + " not recognised (those of " + readVersions + " are)"
}

// readVersions are the versions whose heaps are read, for messages.
const readVersions = "5.2.0 to 5.3.1"

// A VersionError tells that the program has a jemalloc of a version that is not known.
type VersionError struct{ Version string }

func (e *VersionError) Error() string {
	return "jemalloc " + e.Version + ": its layout is not known (those of " + readVersions + " are)"
}

// Known reports whether the layout of a version may be known: of releases, and of what was built on the way to the next one,
// which is refused if it does not fit. What was built without git calls itself 0.0.0.
func Known(version string) bool {
	return version == "" || strings.HasPrefix(version, "0.0.0-") || slices.ContainsFunc([]string{"5.2.0-", "5.2.1-", "5.3.0-", "5.3.1-"}, func(v string) bool { return strings.HasPrefix(version, v) })
}

// A Mapping is one of the process's memory map.
type Mapping struct {
	addr.Range
	Readable, Writable bool
	Shared             bool
	Path               string // of the file, or a name such as [heap]; "" of an anonymous one
}

// A Thread is what is needed of one to find its tcache.
type Thread struct {
	TID int
	FS  addr.Run // base of fs, below which the static thread-local storage lies
	Low addr.Run // where that begins; 0: not known
}

// A Source is what a heap is read from: a process that is stopped, or a core file.
type Source struct {
	// Memory of the process; offsets are addresses. What is not mapped is an error.
	Memory io.ReaderAt
	// Version is what the library says of itself, as 5.3.0-0-g54eaed1d; "" not known.
	Version string
	// Mappings of the process, ascending.
	Mappings []Mapping
	// Threads of the process; without them no tcache is found, and what it has counts as in use.
	Threads []Thread
	// Resident are the parts of a range that may be read without giving the process pages that
	// it never had, ascending. nil means all of it, as in a core file.
	Resident func(addr.Range) ([]addr.Range, error)
}
