package golang

import (
	"context"
	"encoding/binary"
	"io"
	"slices"
)

// maxAddress is above all addresses of a Go heap on amd64.
const maxAddress = 1 << 47

// A memory reads words, until its context ends.
type memory struct {
	io.ReaderAt
	ctx context.Context // nil: there is none
}

// over tells that nothing is read any more.
func (m memory) over() bool { return m.ctx != nil && m.ctx.Err() != nil }

// read fills b, and tells whether it could.
func (m memory) read(b []byte, at uint64) bool {
	if at == 0 || at >= maxAddress || uint64(len(b)) > maxAddress-at || m.over() {
		return false
	}
	n, _ := m.ReadAt(b, int64(at))
	return n == len(b)
}

// word is one of 8 bytes, 0 if it cannot be read.
func (m memory) word(at uint64) uint64 {
	var b [8]byte
	if !m.read(b[:], at) {
		return 0
	}
	return binary.LittleEndian.Uint64(b[:])
}

const (
	nearBytes  = 16 << 10 // structures that lie so near to each other are read at once
	sliceBytes = 1 << 20  // of a slice are read at once
)

// words are those of an array, at most limit; fewer if they cannot be read.
func (m memory) words(at, n, limit uint64) []uint64 {
	n = min(n, limit)
	var all []uint64
	for n > 0 {
		b := make([]byte, 8*min(n, sliceBytes/8))
		if !m.read(b, at) {
			return all
		}
		all = slices.Grow(all, len(b)/8)
		for i := 0; i < len(b); i += 8 {
			all = append(all, binary.LittleEndian.Uint64(b[i:]))
		}
		at, n = at+uint64(len(b)), n-uint64(len(b)/8)
	}
	return all
}

// each reads as many bytes as size says at each of some addresses, which ascend, and calls do with
// them; b is nil if they cannot be read. What is near is read at once. It ends early with the context.
func (m memory) each(at []uint64, size func(i int) int, do func(i int, b []byte)) {
	var room []byte
	for i := 0; i < len(at) && !m.over(); {
		if at[i] >= maxAddress { // and all that follow; their ends may wrap
			do(i, nil)
			i++
			continue
		}
		end, high := i+1, at[i]+uint64(size(i))
		for end < len(at) && at[end]-at[i] <= nearBytes && at[end] < maxAddress {
			high = max(high, at[end]+uint64(size(end)))
			end++
		}
		n := int(high - at[i])
		room = slices.Grow(room[:0], n)
		b := room[:n]
		whole := m.read(b, at[i])
		for k := i; k < end; k++ {
			one := b[at[k]-at[i]:][:size(k)]
			if !whole && !m.read(one, at[k]) {
				one = nil
			}
			do(k, one)
		}
		i = end
	}
}
