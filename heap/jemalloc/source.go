package jemalloc

import (
	"errors"
	"slices"
	"strings"

	"hdb/heap/resident"
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

// A Source is what a heap is read from.
type Source struct {
	resident.Source
	// Version is what the library says of itself, as 5.3.0-0-g54eaed1d; "" not known.
	Version string
}
