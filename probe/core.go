package probe

import (
	"encoding/binary"
	"fmt"
	"unsafe"

	"hdb/internal/addr"
)

// coreAddr is where the core is in hdb's own text.
func coreAddr() unsafe.Pointer

// A core is the machine code of core_amd64.s, taken out of hdb's text.
type core struct {
	code  []byte
	marks map[uint32]int // offset by number
}

// maxCore bounds the search for the core's end, in bytes.
const maxCore = 1 << 15

// Encodings that the assembler cannot write with symbols: see MARK and CALLTO.
const (
	markMagic = 0x5afe
	callMagic = 0x5afc
	sumMagic  = 0x5afb
	// statePlaceholder represents the address of the state page.
	statePlaceholder = 0x1122334455667788
)

// loadCore copies the core out of hdb's text and links it. state is where the
// state page will be in the inferior.
func loadCore(state addr.Run) (*core, error) {
	text := unsafe.Slice((*byte)(coreAddr()), maxCore)
	c := &core{marks: map[uint32]int{}}
	var calls []int
	end := 0
	for i := 0; end == 0; i++ {
		if i+8 > len(text) {
			return nil, fmt.Errorf("probe: the core's end is not in %d bytes of code", len(text))
		}
		switch word := binary.LittleEndian.Uint32(text[i+1:]); {
		case text[i] == 0x0f && text[i+1] == 0x1f && text[i+2] == 0x80:
			if n := binary.LittleEndian.Uint32(text[i+3:]); n>>16 == markMagic {
				c.marks[n&0xffff] = i
				if n&0xffff == markEnd {
					end = i
				}
			}
		case text[i] == 0xe8 && word>>16 == callMagic:
			calls = append(calls, i)
		}
	}
	c.code = append([]byte(nil), text[:end]...)
	if err := c.putFactors(); err != nil {
		return nil, err
	}
	for _, at := range calls {
		n := binary.LittleEndian.Uint32(c.code[at+1:]) & 0xffff
		to, ok := c.marks[n]
		if !ok {
			return nil, fmt.Errorf("probe: the core calls mark %d, which is nowhere", n)
		}
		binary.LittleEndian.PutUint32(c.code[at+1:], uint32(to-(at+5)))
	}
	// An int3 takes the place of the first byte. A thread whose trap is not answered, because hdb
	// is dead, continues behind it, or finds the nop there again.
	for _, mark := range []uint32{markTrap, markAsk, markAskAgain} {
		copy(c.code[c.marks[mark]:], []byte{0x90, 0x66, 0x0f, 0x1f, 0x44, 0, 0}) // nop; nop of 6 bytes
	}
	for i := 0; i+8 <= len(c.code); i++ {
		if binary.LittleEndian.Uint64(c.code[i:]) == statePlaceholder {
			binary.LittleEndian.PutUint64(c.code[i:], uint64(state))
		}
	}
	return c, nil
}

// sums is where the code ends that sums up words of an entry of the memo, beginning
// with the last: sumSize bytes before it for each.
func (c *core) sums() int { return c.marks[markQuickMemoEnd] }

// putFactors puts the factors into that code.
func (c *core) putFactors() error {
	f := factors()
	for i := range memoWords {
		at := c.sums() - i*sumSize - 7 // behind the factor comes sub, of 3 bytes
		if at < 0 || binary.LittleEndian.Uint32(c.code[at:]) != sumMagic<<16|uint32(i) {
			return fmt.Errorf("probe: the core's code for word %d is not at %#x", i, at)
		}
		copy(c.code[at:at+4], f[8*i:])
	}
	return nil
}

// A faultRegion is code of the core whose loads may fault. A thread that does continues at out.
type faultRegion struct{ low, high, out uint32 }

// faultRegions lists them, by marks.
var faultRegions = [...]faultRegion{
	{markConfined, markConfinedEnd, markTrap},
	{markWide, markWideEnd, markWideEnd},
	{markResult, markResultEnd, markResultEnd},
	{markAgain, markAgainEnd, markFreeFirst},
	{markIntact, markIntactEnd, markTopDone},
	{markFreed, markFreedEnd, markFreedNo},
	{markNested, markNestedEnd, markAllocKey},
	{markQuickAgain, markQuickAgainEnd, markFreeKey},
	{markQuickMemo, markQuickMemoEnd, markQuickOdd},
	{markMemo, markMemoEnd, markMemoNext},
	{markDeep, markDeepEnd, markDeepEnd},
	{markOther, markOtherEnd, markMemoNext},
	{markFrame, markFrameEnd, markFault},
	{markDeref, markDerefEnd, markFault},
	{markSignal, markSignalEnd, markFault},
	{markPointer, markNoFrame, markNoFrame},
	{markBehind, markBehindNo, markBehindNo},
	{markPython, markPythonEnd, markPythonNone},
	{markPythonCopy, markPythonCopyEnd, markPythonCopyEnd},
	{markPythonCodes, markPythonCodesEnd, markPythonCodesDone},
	{markPythonCode, markPythonCodeEnd, markPythonNoCode},
	{markPythonNextCode, markPythonCodesDone, markPythonCodesDone},
	{markGoFrame, markGoFrameEnd, markGoLost},
	{markToGo, markToGoEnd, markFault},
	{markGoMade, markGoMadeEnd, markGoUnmade},
	{markGoCreator, markGoCreatorEnd, markGoUnmade},
}

// A mark is a nop of that size.
const markSize = 7

// Instruction prefixes: one that locks, and one that means nothing to cmpxchg.
const (
	lockPrefix = 0xf0
	noPrefix   = 0x3e
)

// alone are the offsets of the lock prefixes by which producers take turns in the ring, and
// which cost the only thread of a process a fifth of its record. With noPrefix there
// the instruction still is one, for signal handlers.
func (c *core) alone() [2]int {
	return [2]int{c.marks[markTake] + markSize, c.marks[markTakeQuick] + markSize}
}

// faultExit is where a thread continues that has faulted at the offset.
func (c *core) faultExit(offset int) (int, bool) {
	for _, r := range faultRegions {
		if c.marks[r.low] <= offset && offset < c.marks[r.high] {
			return c.marks[r.out], true
		}
	}
	return 0, false
}

// rdtsc is the instruction, and getTID what is behind it in the core's GETTID.
var (
	rdtsc  = []byte{0x0f, 0x31}
	getTID = []byte{0xb8, 186, 0, 0, 0, 0x0f, 0x05}
)
