package breakpoints

import (
	"bytes"
	"encoding/binary"
	"io"

	"hdb/capture"
	"hdb/internal/addr"
)

// goMalloc is the function through which all Go allocations go, apart from
// the size-specialized ones of some runtimes.
const goMalloc = "runtime.mallocgc"

// goSweep is the function that finds out which blocks of a span were freed.
const goSweep = "runtime.(*sweepLocked).sweep"

// goSmallClasses is the number of size-specialized functions of a form, at
// most; those that a runtime lacks are not found, and that is all.
const goSmallClasses = 68

// Specialized tells functions of a Go runtime that allocate blocks of one size or size class.
func (f Function) Specialized() bool {
	return f.Group == GroupGo && f.Kind == capture.Alloc && f.Symbol != goMalloc
}

// goCheckLength is how many bytes the stack check of a function has at most.
const goCheckLength = 24

// goCheckEnd is the length of the check for stack space at the head of a Go
// function, 0 if there is none. A function that needs more stack is started
// anew from its first instruction, so a trap there could be hit twice for one
// call. The check compares the stack pointer, or for large frames R12 below
// it, with the stack guard of the goroutine in R14 and jumps if not above:
//
//	49 3b 66 10              cmp rsp, [r14+0x10]
//	76 rel8 | 0f 86 rel32    jbe morestack
func goCheckEnd(code []byte) int {
	rest := code
	switch {
	case bytes.HasPrefix(rest, []byte{0x4c, 0x8d, 0x64, 0x24}) && len(rest) > 5: // lea r12, [rsp+disp8]
		rest = rest[5:]
	case bytes.HasPrefix(rest, []byte{0x4c, 0x8d, 0xa4, 0x24}) && len(rest) > 8: // lea r12, [rsp+disp32]
		rest = rest[8:]
	}
	rsp, r12 := []byte{0x49, 0x3b, 0x66, 0x10}, []byte{0x4d, 0x3b, 0x66, 0x10}
	if !bytes.HasPrefix(rest, rsp) && !bytes.HasPrefix(rest, r12) {
		return 0
	}
	rest = rest[4:]
	switch {
	case len(rest) >= 2 && rest[0] == 0x76:
		rest = rest[2:]
	case len(rest) >= 6 && rest[0] == 0x0f && rest[1] == 0x86 && int32(binary.LittleEndian.Uint32(rest[2:])) > 0:
		rest = rest[6:]
	default:
		return 0
	}
	return len(code) - len(rest)
}

// GoCheck is the length of the check for stack space at the head of the Go function at entry,
// in bytes, 0 if there is none: a function without it is called once for each call.
func GoCheck(memory io.ReaderAt, entry addr.Run) int {
	var code [goCheckLength]byte
	n, _ := memory.ReadAt(code[:], int64(entry))
	return goCheckEnd(code[:n])
}
