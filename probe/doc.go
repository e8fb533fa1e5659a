// Package probe is the data plane: code inside the inferior that sees every call
// of an allocator function, at the cost of nanoseconds.
//
// In a nutshell: [Inject] maps memory that hdb and the inferior share, and the
// core, machine code written in Go assembly (core_amd64.s). [Probe.Arm] puts a
// jump over the first instructions of each allocator function. It leads to a
// thunk, which decides whether there is anything to do; if so, the core runs the
// original function, walks the stack by tables that package cfi compiles from the
// modules' CFI, and writes a record to a ring. hdb reads the ring ([Probe.Drain])
// and tells its [Sink]. A call that a stop may want ends at a gate instead, where
// the engine waits.
//
// One Probe serves one program image in one process. Its methods belong to the
// goroutine that owns the process; the ring is drained by a goroutine of its own,
// under a lock. docs/probe.md explains the mechanism, its guarantees and limits.
//
// A Probe has the memory and the core; the rest belongs to its parts, one type each:
//
//	islands     code of ours near modules, functions' first instructions moved there
//	siteTable   the allocator functions: descriptors, thunks, jumps
//	finders     the functions by which exceptions find unwinding information
//	freedCode   the pointer by which Python frees code objects
//	conditions  what is asked of events, in the core, in thunks and outside
//	matcher     calls that may stop the process
//	slots       what the core keeps for each thread
//	reader      the ring, records, calls; its stackTable the stacks
//
// A part changes its own state alone and reaches the others by their methods, through
// the Probe. All are the owner's but the reader, whose lock (reader.mu) also guards
// changes of what it reads: the lists of islands and sites, and the guests' slots. The
// tables of modules have a lock of their own, which is taken after reader.mu, never before.
package probe
