package file

import (
	"encoding/binary"
	"math/bits"
	"slices"
)

// numbers are numbers of events. They are in pieces, as there may be many and to grow is to copy.
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

// take adds the numbers of seqs up to the first that is 0 or more than most, and returns how
// many they are.
func (n *numbers) take(seqs []uint64, most uint64) (taken int) {
	for taken < len(seqs) && seqs[taken]-1 < most {
		n.add(seqs[taken]) // which makes room
		taken++
		taken += n.fill(seqs[taken:], most)
	}
	return taken
}

// fill is take as long as there is room and nothing unusual. It calls nothing.
func (n *numbers) fill(seqs []uint64, most uint64) int {
	room, high := n.last[len(n.last):cap(n.last)], n.high
	k := 0
	for k < len(room) && k < len(seqs) {
		seq := seqs[k]
		if seq-1 >= most || seq>>32 != high {
			break
		}
		room[k] = uint32(seq)
		k++
	}
	n.last = n.last[:len(n.last)+k]
	n.count += k
	return k
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
		low, high = bounds(p, low, high)
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
		n.set.addAll(p, low)
	}
	return n.set.appendTo(slices.Grow(dst, n.count), n.high<<32|uint64(low))
}

// bounds are the least and the greatest of low, high and what is between them in seqs.
func bounds(seqs []uint32, low, high uint32) (uint32, uint32) {
	for _, seq := range seqs {
		low, high = min(low, seq), max(high, seq)
	}
	return low, high
}

// addAll adds the events seqs, counted from #first on.
func (s eventSet) addAll(seqs []uint32, first uint32) {
	for _, seq := range seqs {
		i := seq - first
		s[i>>6] |= 1 << (i & 63)
	}
}

// appendTo appends the numbers of the events, the first of which is #0's, each minus the one
// before.
func (s eventSet) appendTo(dst []byte, first uint64) []byte {
	const most = 64 + binary.MaxVarintLen64 // of a word: those after its first are near it
	before := uint64(0)
	for at, word := range s {
		if word == 0 {
			continue
		}
		if cap(dst)-len(dst) < most {
			dst = slices.Grow(dst, len(dst)/4+most)
		}
		n, room := len(dst), dst[:cap(dst)]
		bit := bits.TrailingZeros64(word)
		seq := first + uint64(at<<6)
		n = putNumber(room, n, seq+uint64(bit)-before)
		for word &= word - 1; word != 0; word &= word - 1 {
			next := bits.TrailingZeros64(word)
			room[n] = byte(next - bit)
			n, bit = n+1, next
		}
		before = seq + uint64(bit)
		dst = room[:n]
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
