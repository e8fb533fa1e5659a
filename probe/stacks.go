package probe

import (
	"fmt"
	"math"
	"slices"
	"time"

	"hdb/capture"
	"hdb/internal/addr"
)

// A stackTable has the stacks that the core has numbered.
type stackTable struct {
	r         *reader
	byNumber  *[1 << stackBits]capture.StackID // 0 while the frames have not come
	overflow  map[uint32]capture.StackID       // by TID: stacks without a number
	patience  time.Duration                    // left for stacks that have not come, in this batch
	pcs       []addr.Run                       // of the stack handed to the sink
	noIslands span                             // around the last address that was found in no island
	python    map[uint64]PythonID              // calls of Python by their hash
	calls     []PythonCall                     // those handed to the sink
}

// takeAny handles a record that describes stacks.
func (ks *stackTable) takeAny(head uint64, words []uint64) {
	switch head & typeMask {
	case recStack:
		ks.take(head, words)
	case recPython:
		ks.takePython(head, words)
	case recCode:
		ks.takeCode(words)
	case recPair:
		ks.takePair(head, words)
	}
}

// take handles the frames of a stack that is new.
func (ks *stackTable) take(head uint64, words []uint64) {
	count := int(head >> countShift & 0xfff)
	number := uint32(head >> stackShift)
	frames := words[2 : 2+count]
	id := ks.r.p.cfg.Sink.Stack(ks.decode(frames, int(head>>reasonShift&0xff)))
	if number >= 1<<stackBits {
		ks.overflow[uint32(words[1])] = id
		return
	}
	ks.byNumber[number] = id
}

// at is the stack with a number. The thread that gave it may not have sent
// its frames yet: they are further on in the ring, or will be at once. How long
// a batch of records may take to find its stacks is bounded: the numbers in the
// ring are only as good as the inferior's memory.
func (ks *stackTable) at(number uint32, tid uint32) capture.StackID {
	if number == noStack-1 {
		return ks.overflow[tid] // which is all that is known of it
	}
	if number >= 1<<stackBits {
		return 0 // lost
	}
	if k := ks.byNumber[number]; k != 0 {
		return k
	}
	return ks.await(number, true)
}

// await is a stack whose frames have not come yet. With pairs it may be another one with calls
// of Python, but that other one may not: whatever the inferior writes, this ends.
func (ks *stackTable) await(number uint32, pairs bool) capture.StackID {
	begun := time.Now()
	defer func() { ks.patience -= time.Since(begun) }()
	for time.Since(begun) < ks.patience {
		if ks.ahead(number, pairs) {
			return ks.byNumber[number]
		}
		if ks.r.stopped {
			break
		}
		time.Sleep(pollInterval)
	}
	return 0
}

// ahead looks for the frames of a stack further on in the ring.
func (ks *stackTable) ahead(number uint32, pairs bool) bool {
	for at, end := ks.r.tail, ks.r.head(); at < end; {
		head := ks.r.p.shared.record(at).Load()
		if head == 0 {
			return false
		}
		words := func() []uint64 { return ks.r.p.shared.words(at, int(ks.r.p.shared.recordLength(head)/8)) }
		switch kind := head & typeMask; {
		case pairs && (kind == recPython || kind == recCode):
			ks.takeAny(head, words())
		case (kind == recStack || pairs && kind == recPair) && uint32(head>>stackShift) == number:
			ks.takeAny(head, words())
			return true
		}
		at += ks.r.p.shared.recordLength(head)
	}
	return false
}

// decode makes a stack of its frames as the core sends them. Its PCs are the probe's.
func (ks *stackTable) decode(frames []uint64, end int) capture.Stack {
	ks.pcs = slices.Grow(ks.pcs[:0], len(frames))[:len(frames)]
	st := capture.Stack{PCs: ks.pcs}
	for i, w := range frames {
		pc := addr.Run(w &^ (1<<frameGuess | 1<<framePC))
		if pc < ks.noIslands.low || pc >= ks.noIslands.high {
			pc = ks.original(pc)
		}
		st.PCs[i] = pc
		if w&(1<<frameGuess) != 0 {
			st.Guess = setBit(st.Guess, i, len(frames))
		}
		if w&(1<<framePC) != 0 {
			st.Interrupted = setBit(st.Interrupted, i, len(frames))
		}
	}
	if end != endWhole {
		st.Truncated = ks.reason(end, st)
	}
	return st
}

func setBit(bits []bool, i, n int) []bool {
	if bits == nil {
		bits = make([]bool, n)
	}
	bits[i] = true
	return bits
}

// A span is the addresses from low to before high.
type span struct{ low, high addr.Run }

// apartFrom is the addresses around a where no island is, none if a is in one.
func apartFrom(islands []*island, a addr.Run) span {
	s := span{0, math.MaxUint64}
	for _, i := range islands {
		switch {
		case i.covers(a):
			return span{}
		case i.base > a:
			s.high = min(s.high, i.base)
		default:
			s.low = max(s.low, i.base+islandSize)
		}
	}
	return s
}

// original is where an address of a moved first instruction came from.
func (ks *stackTable) original(a addr.Run) addr.Run {
	if s := apartFrom(ks.r.p.islands.list, a); s != (span{}) {
		ks.noIslands = s
		return a
	}
	for _, s := range ks.r.p.siteTable.list {
		if from, ok := s.original(a); ok {
			return from
		}
	}
	return a
}

// reason says in words why a stack ends, as package unwind does.
func (ks *stackTable) reason(end int, st capture.Stack) string {
	last := "the first frame"
	var module string
	if n := len(st.PCs); n > 0 {
		last = fmt.Sprint(st.PCs[n-1])
		module = ks.r.p.tables.path(st.Code(n - 1).Lookup())
	}
	switch end {
	case endDepth:
		return fmt.Sprintf("depth limit %d", len(st.PCs))
	case endRule:
		return "CFI of the frame at " + last + " cannot be followed inside the process"
	case endNoCFI:
		if module == "" {
			return "no CFI for the region at " + last + ", which is in no module"
		}
		return fmt.Sprintf("no CFI for %s at %s", module, last)
	case endShrinks:
		return "CFA of the frame at " + last + " does not grow"
	case endFault:
		return "unreadable stack above the frame at " + last
	case endZero:
		return "return address 0x0 not in any module"
	case endNoCode:
		return "return address above " + last + " not in any module"
	}
	return fmt.Sprintf("unknown reason %d", end)
}
