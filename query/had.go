package query

import (
	"maps"
	"slices"

	"hdb/capture"
	"hdb/internal/addr"
)

// Had returns the memory of all blocks up to an event, freed or live, and the part of it that pools have cut up. It
// begins anew at an exec.
func Had(src capture.Source, to uint64) (all, pools []addr.Range) {
	var had memoryHad
	execs := src.Execs()
	chunk := slices.Index(src.Functions(), capture.PoolChunk)
	had.forget()
	for e := range src.Events(0) {
		if e.Seq > to {
			break
		}
		for len(execs) > 0 && execs[0] <= e.Seq {
			execs = execs[1:]
			had.forget()
			pools = nil
		}
		if e.Kind == capture.Free && int(e.Func) == chunk {
			pools = append(pools, addr.Run(e.Addr).To(addr.Run(e.Addr+e.Ended.Size)))
		}
		if e.Allocates() {
			had.add(e.Addr, e.Size)
		}
	}
	return had.ranges(), pools
}

// memoryHad is memory by words of 8 bytes. Blocks of a page or more are kept by their addresses: there are few of these, of many words.
type memoryHad struct {
	pages map[uint64]*[hadPage / 8 / 64]uint64 // by number: a bit for each word
	large map[uint64]uint64                    // by address: the largest size
}

const hadPage = 4096

func (m *memoryHad) forget() {
	m.pages, m.large = map[uint64]*[hadPage / 8 / 64]uint64{}, map[uint64]uint64{}
}

func (m *memoryHad) add(at, size uint64) {
	if size >= hadPage {
		m.large[at] = max(m.large[at], size)
		return
	}
	for word := at / 8; word < (at+size+7)/8; word++ {
		n := word / (hadPage / 8)
		page := m.pages[n]
		if page == nil {
			page = new([hadPage / 8 / 64]uint64)
			m.pages[n] = page
		}
		page[word/64%uint64(len(page))] |= 1 << (word % 64)
	}
}

// ranges are in no order, and may overlap.
func (m *memoryHad) ranges() (all []addr.Range) {
	for at, size := range m.large {
		all = append(all, addr.Run(at).To(addr.Run(at+size)))
	}
	for _, n := range slices.Sorted(maps.Keys(m.pages)) {
		page := m.pages[n]
		for i := 0; i < hadPage/8; i++ {
			from := i
			for i < hadPage/8 && page[i/64]>>(i%64)&1 != 0 {
				i++
			}
			if from < i {
				all = append(all, addr.Run(n*hadPage+uint64(from)*8).To(addr.Run(n*hadPage+uint64(i)*8)))
			}
		}
	}
	return all
}
