package breakpoints

import (
	"hdb/capture"
	"hdb/inferior"
)

// Bare makes calls of mmap's family of the system calls that a program makes
// without libc's functions. Unlike those, brk(2) tells a size: the system call
// returns the new break. The zero Bare knows no break.
type Bare struct{ brk uint64 }

// Numbers of the system calls that map and unmap memory
// (arch/x86/entry/syscalls/syscall_64.tbl).
const (
	sysMmap     = 9
	sysMprotect = 10
	sysMunmap   = 11
	sysBrk      = 12
	sysMremap   = 25
)

// Numbers are those of the system calls that Call has to see.
func (*Bare) Numbers() []uint64 { return []uint64{sysMmap, sysMprotect, sysMunmap, sysBrk, sysMremap} }

// Break tells where the heap of sbrk(2) ends at present, 0 if that is not known.
func (b *Bare) Break(end uint64) { b.brk = page(end) }

// page is the end of the page that ends at or behind a: what brk maps are pages.
func page(a uint64) uint64 { return (a + 4095) &^ 4095 }

// Call is the call that a system call is, without what the thread knows: where
// it is. False: it is none, or none yet. Like a call of munmap it is one before
// it is made, and the others when they have returned.
func (b *Bare) Call(c inferior.SystemCall) (Call, bool) {
	call := Call{Args: c.Args}
	e := &call.Event
	failed := c.Returned && -4095 <= c.Result && c.Result < 0
	switch {
	case c.Number == sysMunmap && !c.Returned:
		call.Function, _ = Named("munmap")
		*e = capture.Event{Addr: c.Args[0], Size: c.Args[1]}
	case c.Number == sysMmap && c.Returned:
		call.Function, _ = Named("mmap")
		*e = capture.Event{Addr: uint64(c.Result), Size: c.Args[1], Aux: uint64(capture.NewMapMode(c.Args[2], c.Args[3]))}
	case c.Number == sysMprotect && c.Returned:
		call.Function, _ = Named("mprotect")
		*e = capture.Event{Addr: c.Args[0], Size: c.Args[1], Aux: uint64(capture.NewMapMode(c.Args[2], 0))}
	case c.Number == sysMremap && c.Returned:
		call.Function, _ = Named("mremap")
		*e = capture.Event{Addr: uint64(c.Result), Old: c.Args[0], Size: c.Args[2], Aux: c.Args[1]}
	case c.Number == sysBrk && c.Returned:
		return call, b.moved(&call, page(uint64(c.Result)))
	default:
		return Call{}, false
	}
	e.Kind = call.Function.Kind
	if failed {
		e.Addr, e.Failed = 0, true
	}
	return call, true
}

// moved makes the call of a brk that ended at a break. False: it changed nothing,
// or none was known before.
func (b *Bare) moved(call *Call, end uint64) bool {
	before := b.brk
	b.brk = end
	if before == 0 || before == end {
		return false
	}
	call.Function, _ = Named("brk")
	call.Event = capture.Event{Kind: capture.Map, Addr: before, Size: end - before}
	if end < before {
		call.Event = capture.Event{Kind: capture.Unmap, Addr: end, Size: before - end}
	}
	return true
}
