package capture

import (
	"hash/fnv"
	"strconv"

	"hdb/internal/addr"
)

// A position in a program that an interpreter runs has a code address in stacks as machine code
// has: one that no process can have, because the kernel's and the user's are apart from it (Intel
// SDM volume 1, section 3.3.7.1, canonical addressing). It is computed from the position, so that
// it is the same in each recording, and is a return address. What it represents is kept with
// Recorder.Keep.
const (
	interpretedTag   = 0x7079
	interpretedShift = 48
	interpretedStep  = 1 << 4 // between two: the byte before one is still its own
)

// InterpretedAddress is the code address of a position. It may be the address of another, then the
// next one may be tried, by n.
func InterpretedAddress(f *Frame, n int) addr.Run {
	h := fnv.New64a()
	for _, part := range []string{f.Function, f.File, strconv.Itoa(f.Line)} {
		h.Write([]byte(part))
		h.Write([]byte{0})
	}
	sum := (h.Sum64() ^ h.Sum64()>>44) + uint64(n)
	return addr.Run(interpretedTag<<interpretedShift | sum*interpretedStep&(1<<interpretedShift-1) | interpretedStep/2)
}

// IsInterpreted tells the code address of a position in a program that an interpreter runs.
func IsInterpreted(a addr.Run) bool { return a>>interpretedShift == interpretedTag }
