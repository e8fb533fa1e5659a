package capture

import (
	"encoding/binary"
	"math/bits"
	"slices"
)

// numbers are numbers of events. They lie in pieces, as there may be many and to grow
// is to copy.
type numbers struct {
	high   uint64     // the upper half of those in pieces
	full   [][]uint32 // pieces of lower halves
	last   []uint32   // the last one
	spares [][]uint32 // memory to use again
	others []uint64   // with another upper half
	count  int
	set    eventSet // memory to use again
}

const numbersPiece = 1 << 13

func (n *numbers) add(seq uint64) {
	if n.count == 0 {
		n.high = seq >> 32
	}
	n.count++
	if seq>>32 != n.high {
		n.others = append(n.others, seq)
		return
	}
	if len(n.last) == cap(n.last) {
		n.nextPiece()
	}
	n.last = append(n.last, uint32(seq))
}

func (n *numbers) nextPiece() {
	if n.last != nil {
		n.full = append(n.full, n.last)
	}
	if k := len(n.spares); k > 0 {
		n.last, n.spares = n.spares[k-1], n.spares[:k-1]
	} else {
		n.last = make([]uint32, 0, numbersPiece)
	}
}

// reset takes all numbers out, and keeps the memory.
func (n *numbers) reset() {
	for _, p := range n.full {
		n.spares = append(n.spares, p[:0])
	}
	n.full, n.last, n.others, n.count = n.full[:0], n.last[:0], n.others[:0], 0
}

// append appends the numbers in their order, each once and minus the one before.
func (n *numbers) append(dst []byte) []byte {
	if n.count == 0 {
		return dst
	}
	pieces := append(n.full, n.last)
	low, high := ^uint32(0), uint32(0)
	for _, p := range pieces {
		for _, seq := range p {
			low, high = min(low, seq), max(high, seq)
		}
	}
	words := int(high-low)/64 + 1
	if len(n.others) > 0 || words > 32*n.count || words > 1<<19 {
		return n.compared(dst, pieces)
	}
	if cap(n.set) < words { // the next ones are farther apart
		n.set = make(eventSet, 2*words)
	}
	n.set.reset(int(high-low) + 1) // takes less than to compare them
	for _, p := range pieces {
		for _, seq := range p {
			n.set.add(int(seq - low))
		}
	}
	dst = slices.Grow(dst, n.count)
	before, first := uint64(0), n.high<<32|uint64(low)
	for at, word := range n.set {
		for ; word != 0; word &= word - 1 {
			seq := first + uint64(at<<6+bits.TrailingZeros64(word))
			dst = binary.AppendUvarint(dst, seq-before)
			before = seq
		}
	}
	return dst
}

// compared is append for numbers that are few or far apart.
func (n *numbers) compared(dst []byte, pieces [][]uint32) []byte {
	all := slices.Clone(n.others)
	for _, p := range pieces {
		for _, seq := range p {
			all = append(all, n.high<<32|uint64(seq))
		}
	}
	slices.Sort(all)
	before := uint64(0)
	for _, seq := range slices.Compact(all) {
		dst = binary.AppendUvarint(dst, seq-before)
		before = seq
	}
	return dst
}
