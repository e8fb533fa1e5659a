// Package recording makes kept events of allocator calls: it numbers them, follows the
// live heap, has those recorded that are wanted, and notes what is missing.
//
// # Goroutines and locks
//
// Two goroutines make events. The one that drains the ring of a probe calls Stack, Batch
// and Heap of a Recording, holding the probe's lock. The one that owns the process (the
// session's) calls Take for calls that it follows itself, and everything else. A
// Recording has a lock of its own, which each of its methods takes: it guards the
// numbers, the live heap, the filter, the stacks and functions of the probe, and the log
// or file that events go to, with the Writer of a File.
//
// The order is the probe's lock before the lock of the Recording. So nothing that is
// called with the latter held may take the probe's lock or call the Recording: the
// methods of a Process, an Origin and a Thread, and the loop over Blocks. Whoever has to
// come behind all events that threads have made so far, or between two of them, drains
// the ring and holds the probe's lock (Probe.Exclusive) around the calls of the
// Recording.
//
// A ConsoleLog has a lock of its own, under which nothing else is called. Losses and Gaps
// belong to the goroutine that owns the process. The size of a File, its error and whether
// it is full may be asked by any goroutine.
package recording
