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
package probe
