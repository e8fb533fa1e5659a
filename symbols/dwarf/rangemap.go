package dwarf

import (
	"cmp"
	"slices"
	"sort"
)

// Span is a range that belongs to something, at a depth of nesting.
type Span struct {
	Range
	ID    int32 // what it belongs to, not negative
	Depth int32
}

// A RangeMap answers which span is innermost at an address.
type RangeMap struct {
	starts []uint64
	ids    []int32 // of [starts[i], starts[i+1]); -1 none
}

// NewRangeMap flattens spans. Of spans that overlap, the one that starts later
// wins, then the shorter one, then the deeper one. It reorders spans.
func NewRangeMap(spans []Span) *RangeMap {
	slices.SortFunc(spans, func(a, b Span) int {
		switch { // cmp.Or would compare all
		case a.Low != b.Low:
			return cmp.Compare(a.Low, b.Low)
		case a.High != b.High:
			return cmp.Compare(b.High, a.High)
		case a.Depth != b.Depth:
			return cmp.Compare(a.Depth, b.Depth)
		}
		return cmp.Compare(a.ID, b.ID)
	})
	m := &RangeMap{}
	var open []Span
	var pos uint64
	closeUntil := func(limit uint64) {
		for len(open) > 0 && open[len(open)-1].High <= limit {
			top := open[len(open)-1]
			open = open[:len(open)-1]
			m.add(&pos, top.High, top.ID)
		}
	}
	for _, s := range spans {
		closeUntil(s.Low)
		if len(open) > 0 {
			m.add(&pos, s.Low, open[len(open)-1].ID)
		} else {
			m.add(&pos, s.Low, -1)
		}
		open = append(open, s)
	}
	closeUntil(^uint64(0))
	m.starts = append(m.starts, pos)
	m.ids = append(m.ids, -1)
	return m
}

// add ends the piece that began at pos.
func (m *RangeMap) add(pos *uint64, end uint64, id int32) {
	if *pos >= end {
		return
	}
	if n := len(m.ids); n == 0 || m.ids[n-1] != id {
		m.starts = append(m.starts, *pos)
		m.ids = append(m.ids, id)
	}
	*pos = end
}

// At is the innermost span's ID at a, -1 without.
func (m *RangeMap) At(a uint64) int32 {
	i := sort.Search(len(m.starts), func(i int) bool { return m.starts[i] > a })
	if i == 0 {
		return -1
	}
	return m.ids[i-1]
}
