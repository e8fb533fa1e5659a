package query

import (
	"cmp"
	"slices"

	"hdb/capture"
	"hdb/heap"
	"hdb/report"
)

// mappedLine is how much the program has mapped, over time, up to event #to: of each part of the time
// what was most, and the last. nil: never anything.
func (r *Recording) mappedLine(to uint64) (line []report.MappedMoment) {
	counts := r.countsMapping()
	var now uint64
	m := &heap.Mappings{Changed: func(p heap.Mapping, gone bool) {
		switch {
		case !p.Mode.Accessible() || !counts(&p):
		case gone:
			now -= p.High - p.Low
		default:
			now += p.High - p.Low
		}
	}}
	r.Index.FollowMappings(m, to, func(e *capture.Event) {
		if n := len(line); n == 0 && now > 0 || n > 0 && line[n-1].Bytes != now {
			line = append(line, report.MappedMoment{Seq: e.Seq, Time: e.Time, Bytes: now})
		}
	})
	line = thinned(line)
	seqs := make([]uint64, len(line))
	for i, p := range line {
		seqs[i] = p.Seq
	}
	for i, when := range r.Index.Times(seqs) {
		line[i].Time = when
	}
	return line
}

// thinned has of each part of a long line what was most, and the last.
func thinned(line []report.MappedMoment) []report.MappedMoment {
	const parts = profileMoments / 2
	if len(line) <= profileMoments {
		return line
	}
	var out []report.MappedMoment
	for part := range slices.Chunk(line, (len(line)+parts-1)/parts) {
		most, last := slices.MaxFunc(part, func(a, b report.MappedMoment) int { return cmp.Compare(a.Bytes, b.Bytes) }), part[len(part)-1]
		if out = append(out, most); last != most {
			out = append(out, last)
		}
	}
	return out
}

// A Maker is the function and line whose calls made most of a range of addresses accessible, of those that are
// recorded.
type Maker struct {
	Site  heap.Site
	First uint64 // the number of the first of these calls
	Bytes uint64 // of the range
}

// Makers are those of ranges, [low, high) each, at the moment; nil where none is recorded.
func (r *Recording) Makers(ranges [][2]uint64) []*Maker {
	var pieces []heap.Mapping
	r.Index.Mappings(r.Moment).Each(func(p heap.Mapping) bool {
		pieces = append(pieces, p)
		return true
	})
	frames, sites := r.newStackSites(), map[capture.StackID]heap.Site{}
	out := make([]*Maker, len(ranges))
	for i, of := range ranges {
		makers := map[heap.Site]*Maker{}
		at, _ := slices.BinarySearchFunc(pieces, of[0], func(p heap.Mapping, low uint64) int { return cmp.Compare(p.High, low+1) })
		for _, p := range pieces[at:] {
			if p.Low >= of[1] || r.Reading.GivenUp() {
				break
			}
			site, ok := sites[p.Stack]
			if !ok {
				site = frames.siteOf(p.Stack, r.Index.Named(p.Stack))
				sites[p.Stack] = site
			}
			m := makers[site]
			if m == nil {
				m = &Maker{Site: site, First: p.Seq}
				makers[site] = m
			}
			m.First = min(m.First, p.Seq)
			if m.Bytes += min(p.High, of[1]) - max(p.Low, of[0]); out[i] == nil || m.Bytes > out[i].Bytes {
				out[i] = m
			}
		}
	}
	return out
}
