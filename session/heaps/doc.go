// Package heaps answers what the memory of a target holds: which blocks are live, of which types, who allocated them, who
// holds them, what leaked, what the allocators have, and who owns each part of the address space.
//
// How events are recorded it does not know: the recording is asked by small interfaces, which recordings satisfies.
package heaps
