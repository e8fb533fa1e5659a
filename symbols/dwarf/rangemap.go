package dwarf

import (
	"cmp"
	"math"
	"slices"
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
func NewRangeMap(spans []Span) *RangeMap { return new(RangeMapper).Map(spans) }

// A RangeMapper makes range maps one after the other, each as long as it must be, with
// the same memory for what is in between.
type RangeMapper struct {
	keys   []uint64
	sorted []Span
	open   []Span
	starts []uint64
	ids    []int32
	pos    uint64 // where the piece begins that is next
}

// Map is NewRangeMap.
func (r *RangeMapper) Map(spans []Span) *RangeMap {
	spans = r.sort(spans)
	r.open, r.starts, r.ids, r.pos = r.open[:0], r.starts[:0], r.ids[:0], 0
	for i := range spans {
		s := &spans[i]
		r.closeUntil(s.Low)
		around := int32(-1)
		if len(r.open) > 0 {
			around = r.open[len(r.open)-1].ID
		}
		r.add(s.Low, around)
		r.open = append(r.open, *s)
	}
	r.closeUntil(^uint64(0))
	r.starts, r.ids = append(r.starts, r.pos), append(r.ids, -1)
	return &RangeMap{starts: slices.Clone(r.starts), ids: slices.Clone(r.ids)}
}

func (r *RangeMapper) closeUntil(limit uint64) {
	for len(r.open) > 0 && r.open[len(r.open)-1].High <= limit {
		top := r.open[len(r.open)-1]
		r.open = r.open[:len(r.open)-1]
		r.add(top.High, top.ID)
	}
}

// add ends the piece that began at pos.
func (r *RangeMapper) add(end uint64, id int32) {
	if r.pos >= end {
		return
	}
	if n := len(r.ids); n == 0 || r.ids[n-1] != id {
		r.starts, r.ids = append(r.starts, r.pos), append(r.ids, id)
	}
	r.pos = end
}

// compareSpans is the order of spans around one another.
func compareSpans(a, b Span) int {
	switch { // cmp.Or would compare all
	case a.Low != b.Low:
		return cmp.Compare(a.Low, b.Low)
	case a.High != b.High:
		return cmp.Compare(b.High, a.High)
	case a.Depth != b.Depth:
		return cmp.Compare(a.Depth, b.Depth)
	}
	return cmp.Compare(a.ID, b.ID)
}

// sort orders spans. Numbers are sorted several times faster than spans: those of usual
// code are addresses that are not far from one another, with the index below.
func (r *RangeMapper) sort(spans []Span) []Span {
	if len(spans) == 0 {
		return spans
	}
	low, high := spans[0].Low, spans[0].Low
	for i := range spans {
		low, high = min(low, spans[i].Low), max(high, spans[i].Low)
	}
	if high-low > math.MaxUint32 || uint64(len(spans)) > math.MaxUint32 {
		slices.SortFunc(spans, compareSpans)
		return spans
	}
	r.keys, r.sorted = slices.Grow(r.keys[:0], len(spans)), slices.Grow(r.sorted[:0], len(spans))
	for i := range spans {
		r.keys = append(r.keys, (spans[i].Low-low)<<32|uint64(i))
	}
	slices.Sort(r.keys)
	first := 0 // of those at the same address
	for i, k := range r.keys {
		if i > 0 && k>>32 != r.keys[i-1]>>32 {
			sortFew(r.sorted[first:])
			first = i
		}
		r.sorted = append(r.sorted, spans[uint32(k)])
	}
	sortFew(r.sorted[first:])
	return r.sorted
}

func sortFew(spans []Span) {
	if len(spans) > 1 {
		slices.SortFunc(spans, compareSpans)
	}
}

// At is the innermost span's ID at a, -1 without.
func (m *RangeMap) At(a uint64) int32 {
	id, _, _ := m.Piece(a)
	return id
}

// Piece is At with the piece of code, [low, high), that has the same answer.
func (m *RangeMap) Piece(a uint64) (id int32, low, high uint64) {
	i, j := 0, len(m.starts) // the first that starts after a
	for i < j {
		if h := int(uint(i+j) >> 1); m.starts[h] > a {
			j = h
		} else {
			i = h + 1
		}
	}
	high = ^uint64(0)
	if i < len(m.starts) {
		high = m.starts[i]
	}
	if i == 0 {
		return -1, 0, high
	}
	return m.ids[i-1], m.starts[i-1], high
}
