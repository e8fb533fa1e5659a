package jemalloc

import (
	"context"

	"hdb/heap/resident"
	"hdb/internal/addr"
)

const (
	pageSize   = resident.PageSize
	cachePages = 256 // of random reads: 1 MiB
	pieceSize  = 1 << 20
)

// Steps of what is read: a page counts as many as it has words, once where it is looked for and once where it is read.
const (
	pageSteps   = pageSize / 8
	searchSteps = 1 << 28 // for the root: about a second
	mostSteps   = 1 << 30 // of the rest: the leaves of 4 TiB
)

// memory is the process's memory.
type memory struct {
	resident.Memory
	part [pageSize]byte // of a leaf that is tried
}

func newMemory(ctx context.Context, src Source) *memory {
	m := &memory{Memory: resident.New(ctx, src.Source, cachePages, 2*pageSteps)}
	m.Most = searchSteps
	return m
}

// data reports whether an address is in memory without a file that the program can write.
func (m *memory) data(a addr.Run) bool {
	i, ok := m.Mapping(a)
	if !ok {
		return false
	}
	x := &m.Mappings[i]
	return x.Readable && x.Writable && (x.Path == "" || x.Path[0] == '[')
}

// pieces reads what is resident of a range in order, and yields it by pieces, until yield returns false.
func (m *memory) pieces(r addr.Range, buf []byte, yield func(at addr.Run, b []byte) bool) {
	m.Steps += pageSteps
	for part := range m.Present(r) {
		m.Steps += pageSteps
		for at := part.Start; at < part.End && !m.Spent(); {
			b := buf[:min(uint64(len(buf)), uint64(part.End-at))]
			m.Steps += uint64(len(b)+7) / 8
			if n := m.ReadSome(b, at); n > 0 && !yield(at, b[:n]) {
				return
			}
			at += addr.Run(len(b))
		}
	}
}
