package goruntime

import (
	"encoding/binary"
	"io"
	"slices"
)

// MaxAddress is above all addresses that a Go program has on amd64.
const MaxAddress = 1 << 47

// A Memory reads what a runtime has in memory, which is foreign.
type Memory struct {
	io.ReaderAt
	Given func() error // says that nothing is wanted any more: no more is read then; nil never
}

func (m Memory) over() bool { return m.Given != nil && m.Given() != nil }

// Read fills b, and reports whether it could.
func (m Memory) Read(b []byte, at uint64) bool {
	if at == 0 || at >= MaxAddress || uint64(len(b)) > MaxAddress-at || m.over() {
		return false
	}
	n, _ := m.ReadAt(b, int64(at))
	return n == len(b)
}

// Word is one of 8 bytes, 0 if it cannot be read.
func (m Memory) Word(at uint64) uint64 {
	var b [8]byte
	if !m.Read(b[:], at) {
		return 0
	}
	return word(b[:], 0)
}

const (
	windowBytes = 64 << 10 // structures that lie so near to each other are read at once,
	gapBytes    = 4 << 10  // with no more than this between them
	sliceBytes  = 1 << 20  // of an array are read at once
)

// Bytes are those of an array, nil if they cannot be read. Room is made as they come.
func (m Memory) Bytes(at, n uint64) []byte {
	b := make([]byte, 0, min(n, sliceBytes))
	for uint64(len(b)) < n {
		k := int(min(n-uint64(len(b)), sliceBytes))
		b = slices.Grow(b, k)
		if !m.Read(b[len(b):][:k], at+uint64(len(b))) {
			return nil
		}
		b = b[:len(b)+k]
	}
	return b
}

// Words are those of an array, at most limit; fewer if they cannot be read.
func (m Memory) Words(at, n, limit uint64) []uint64 {
	n = min(n, limit)
	var all []uint64
	for n > 0 {
		b := make([]byte, 8*min(n, sliceBytes/8))
		if !m.Read(b, at) {
			return all
		}
		all = slices.Grow(all, len(b)/8)
		for i := 0; i < len(b); i += 8 {
			all = append(all, word(b, i))
		}
		at, n = at+uint64(len(b)), n-uint64(len(b)/8)
	}
	return all
}

// Each reads as many bytes as size says at each of some addresses, which ascend, and calls do with
// them; b is nil if they cannot be read. What is near is read at once. It ends early when nothing is wanted any more.
func (m Memory) Each(at []uint64, size func(i int) int, do func(i int, b []byte)) {
	var room []byte
	for i := 0; i < len(at) && !m.over(); {
		if at[i] >= MaxAddress { // and all that follow; their ends may wrap
			do(i, nil)
			i++
			continue
		}
		end, high := i+1, at[i]+uint64(size(i))
		for end < len(at) && at[end] < MaxAddress && at[end] <= high+gapBytes && at[end]-at[i] <= windowBytes {
			high = max(high, at[end]+uint64(size(end)))
			end++
		}
		n := int(high - at[i])
		room = slices.Grow(room[:0], n)
		b := room[:n]
		whole := m.Read(b, at[i])
		for k := i; k < end; k++ {
			one := b[at[k]-at[i]:][:size(k)]
			if !whole && !m.Read(one, at[k]) {
				one = nil
			}
			do(k, one)
		}
		i = end
	}
}

func word(b []byte, at int) uint64 { return binary.LittleEndian.Uint64(b[at:]) }
