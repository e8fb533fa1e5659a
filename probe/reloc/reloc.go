// Package reloc moves the first instructions of a function elsewhere, so that
// a jump can be written over them and the function still be called: through
// the copy, which ends in a jump to what was left in place.
//
// Whatever is not understood for certain is refused with a reason. The package
// works on bytes and addresses alone and knows no process. It does not know
// symbols either: that no other function begins in the bytes to be replaced
// is for the caller to check, as far as there are symbols.
package reloc

// A Prologue is the beginning of a function, rewritten to run elsewhere. It
// leaves all registers, the flags and the stack as the original does.
type Prologue struct {
	Covered int    // bytes of the original that it replaces: whole instructions, at least need
	Code    []byte // the instructions for address to, then jmp back to from+Covered (omitted when the last instruction never falls through)
	Moves   []Move // where the threads go that are between two of the covered instructions, ascending

	// Calls says that the last of the instructions is a call. It has become
	// a push of the original's return address and a jump, so that whoever
	// walks the stack sees an address that he knows. A processor with
	// shadow stacks switched on (CET) faults when the callee returns.
	Calls bool
}

// A Move is an instruction boundary: a thread that is at from+From (0 < From < Covered) continues
// at to+To.
type Move struct{ From, To int }

// MaxCode is an upper bound of len(Prologue.Code) for need == 5, so that space
// can be set aside: two loop instructions of 2 bytes that become 9 each, and a
// call through memory that becomes 26.
const MaxCode = 2*9 + 26
