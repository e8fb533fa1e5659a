// Package reloc moves the first instructions of a function elsewhere, so that
// a jump can be written over them and the function still be called: through
// the copy, which ends in a jump to what was left in place.
//
// Whatever is not understood for certain is refused with a reason. It works on
// bytes and addresses alone and knows no process.
package reloc

import (
	"errors"

	"hdb/internal/addr"
)

// A Prologue is the beginning of a function, rewritten to run elsewhere.
type Prologue struct {
	Covered int    // bytes of the original that it replaces: whole instructions, at least need
	Code    []byte // the instructions for address to, then jmp back to from+Covered (omitted when the last one never falls through)
	Moves   []Move // instruction boundaries within the covered bytes, ascending, the entry itself left out
}

// A Move says that a thread that stands at from+From goes on at to+To.
type Move struct{ From, To int }

// MaxCode is an upper bound of len(Prologue.Code) for need == 5.
const MaxCode = 64

// Relocate rewrites the instructions that cover the first need bytes (5, for
// jmp rel32) of the function at from to run at to. code is the function's
// bytes and what follows it, size its length when known (0: unknown).
func Relocate(code []byte, size int, from, to addr.Run, need int) (Prologue, error) {
	return Prologue{}, errors.New("prologue: no instruction is known yet")
}

// BranchesInto is an error when the body of the function at from has, or may
// have, a branch into the covered bytes behind its entry.
func BranchesInto(body []byte, from addr.Run, covered int) error {
	return errors.New("body: no instruction is known yet")
}
