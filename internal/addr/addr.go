// Package addr gives addresses types, so that an address of the file is never
// taken for one of the process, nor a return address for a program counter.
package addr

import "fmt"

// A Run address is in the address space of an inferior.
type Run uint64

// A File address is the one the ELF file speaks of: p_vaddr, st_value,
// DW_AT_low_pc. It is not an offset into the file.
type File uint64

// A Bias is the load bias of a module: the run address of its file address 0.
// Arithmetic wraps, as the kernel's does.
type Bias uint64

// Run is where f is in a process that loaded its file at bias b.
func (f File) Run(b Bias) Run { return Run(uint64(f) + uint64(b)) }

// File is the address that the file of the module at bias b has for r.
func (r Run) File(b Bias) File { return File(uint64(r) - uint64(b)) }

// String prints the address as the console does, 0x55555555513a.
func (r Run) String() string { return fmt.Sprintf("%#x", uint64(r)) }

// MarshalText has the address in JSON as String prints it.
func (r Run) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// String prints the address as readelf does, 0x113a.
func (f File) String() string { return fmt.Sprintf("%#x", uint64(f)) }

// Compare tells how a range [low, high) lies to an address, for a binary search for the
// range that has it: -1 below, 0 around, 1 above.
func Compare[A Run | File](low, high, a A) int {
	switch {
	case high <= a:
		return -1
	case low > a:
		return 1
	}
	return 0
}

// Code is an address that a stack refers to: the PC of the innermost frame (and
// of one interrupted by a signal), or the return address of the frames above.
type Code struct {
	run Run
	ret bool
}

// PC is the address of the instruction that runs next.
func PC(r Run) Code { return Code{run: r} }

// Return is the address a call returns to.
func Return(r Run) Code { return Code{run: r, ret: true} }

// Addr is the address as it is in the register or on the stack.
func (c Code) Addr() Run { return c.run }

// IsReturn tells a return address from a PC.
func (c Code) IsReturn() bool { return c.ret }

// Lookup is the address to look up in tables of symbols, lines and CFI. It is
// one less than a return address: the call is the instruction before, and when
// the callee never returns, the byte after it belongs to another function.
func (c Code) Lookup() Run {
	if c.ret && c.run != 0 {
		return c.run - 1
	}
	return c.run
}
