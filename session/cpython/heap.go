package cpython

import (
	"errors"
	"fmt"

	"hdb/capture"
	"hdb/internal/addr"
	"hdb/python"
	"hdb/python/pymalloc"
)

// A Heap is one of the heaps that CPython's allocator of small blocks has in the
// process.
type Heap struct {
	*pymalloc.Heap
	Runtime Runtime

	lists func() ([]pymalloc.FreeList, error)
}

// FreeLists are those of the first interpreter that uses the heap.
func (h Heap) FreeLists() ([]pymalloc.FreeList, error) { return h.lists() }

// Heaps reads the heaps of CPython's allocators.
type Heaps struct{ *Python }

// All are the heaps of all interpreters of the process: of each file that has one, its main
// interpreter's first. An error that comes with heaps is about other files.
func (p Heaps) All() (all []Heap, err error) {
	files, refused, err := p.Interpreters()
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		heaps, err := p.of(f)
		if err != nil {
			refused = errors.Join(refused, err)
		}
		all = append(all, heaps...)
	}
	if len(all) == 0 {
		return nil, refused
	}
	return all, refused
}

// Holds reports whether an address is in an arena.
func (p Heaps) Holds(at uint64) bool {
	all, _ := p.All() // there may be no Python, or nothing that can be read
	for _, h := range all {
		if _, ok := h.ArenaOf(addr.Run(at)); ok {
			return true
		}
	}
	return false
}

func (p Heaps) of(f File) (all []Heap, err error) {
	r, err := f.In.Runtime()
	if err != nil {
		return nil, err
	}
	heaps, err := pymalloc.Open(r, p.memory(), f.Symbols)
	if err != nil {
		return nil, fmt.Errorf("CPython %s: %w", r.Version, err)
	}
	for _, h := range heaps {
		all = append(all, Heap{h, Runtime{f.In.Version(), f.Where}, func() ([]pymalloc.FreeList, error) {
			for _, in := range r.Interpreters {
				if len(h.Interpreters) == 0 && in.ID == 0 || len(h.Interpreters) > 0 && in.ID == h.Interpreters[0] {
					return pymalloc.FreeLists(r, p.memory(), f.Symbols, in.At)
				}
			}
			return nil, nil
		}})
	}
	return all, nil
}

// interruptible is memory that cannot be read any more once the user has given up.
type interruptible struct {
	python.Memory
	reading *capture.Reading
}

func (m interruptible) ReadAt(b []byte, at int64) (int, error) {
	if m.reading.GivenUp() {
		return 0, m.reading.Cut()
	}
	return m.Memory.ReadAt(b, at)
}
