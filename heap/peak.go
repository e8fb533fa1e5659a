package heap

import (
	"cmp"
	"slices"

	"hdb/capture"
)

// Peak is the event after which most bytes were live for the first time, and how
// many: in blocks and in mappings that count (see CountMappings). Both are 0 without
// allocations.
func (x *Index) Peak() (seq, bytes uint64) { return x.PeakBefore(End) }

// CountMappings has the peak count the pages for which counts reports true, besides the blocks of
// the heap.
func (x *Index) CountMappings(counts func(*Mapping) bool) {
	x.counts = counts
}

// PeakBefore is Peak of the events up to #to.
//
// Events are read only of runs in which mappings changed and which can have the peak. Of a
// recording without events the heap is known at its own peak and at the ends of intervals only:
// the peak is the highest of these moments.
func (x *Index) PeakBefore(to uint64) (seq, bytes uint64) {
	steps := x.mappedSteps(0, to)
	if len(steps) == 0 {
		return x.BlockPeakBefore(to)
	}
	var most highest
	var unread []mappedRun
	live, mapped := uint64(0), uint64(0)
	for _, r := range x.runs {
		if r.First > to || x.read.GivenUp() {
			break
		}
		if r.Fresh {
			live = 0
		}
		n, _ := slices.BinarySearchFunc(steps, min(r.Last, to), func(s mappedStep, last uint64) int { return cmp.Compare(s.seq, last+1) })
		own := steps[:n]
		steps = steps[n:]
		switch {
		case x.src.Info().Aggregate:
			most.offer(r.PeakSeq, r.Peak+mappedAt(own, mapped, r.PeakSeq))
			most.offer(r.Last, r.Live+mappedAt(own, mapped, r.Last))
		case len(own) == 0 && (r.Last <= to || r.PeakSeq <= to):
			if r.Peak > 0 {
				most.offer(r.PeakSeq, r.Peak+mapped)
			}
		default:
			unread = append(unread, mappedRun{r, own, live, mapped})
		}
		live, mapped = r.Live, mappedAt(own, mapped, r.Last)
	}
	x.readPeaks(unread, to, &most)
	return most.seq, most.bytes
}

// A highest is the first moment with the most bytes of those that were offered.
type highest struct{ seq, bytes uint64 }

func (h *highest) offer(seq, bytes uint64) {
	if bytes > h.bytes || bytes == h.bytes && seq < h.seq {
		h.seq, h.bytes = seq, bytes
	}
}

// A mappedStep is an event after which another number of bytes is mapped.
type mappedStep struct{ seq, bytes uint64 }

// mappedAt is what was mapped after event #seq; before the first step it was mapped.
func mappedAt(steps []mappedStep, mapped, seq uint64) uint64 {
	for _, s := range steps {
		if s.seq > seq {
			break
		}
		mapped = s.bytes
	}
	return mapped
}

// MappedSince tells what is mapped after an event, of what counts and was mapped behind event
// #from. It is asked about events that ascend, up to #to.
func (x *Index) MappedSince(from, to uint64) func(seq uint64) uint64 {
	steps, now := x.mappedSteps(from, to), uint64(0)
	return func(seq uint64) uint64 {
		for len(steps) > 0 && steps[0].seq <= seq {
			now, steps = steps[0].bytes, steps[1:]
		}
		return now
	}
}

// MostMapped is how many bytes of the mappings that count were mapped at once, at most, up to event #to.
func (x *Index) MostMapped(to uint64) (most uint64) {
	for _, s := range x.mappedSteps(0, to) {
		most = max(most, s.bytes)
	}
	return most
}

// mappedSteps are the changes of what is mapped, of what counts and was mapped behind event #from, up to
// event #to.
func (x *Index) mappedSteps(from, to uint64) (steps []mappedStep) {
	if x.counts == nil {
		return nil
	}
	var now uint64
	m := &Mappings{Changed: func(p Mapping, gone bool) {
		switch {
		case p.Seq <= from || !p.Mode.Accessible() || !x.counts(&p):
		case gone:
			now -= p.High - p.Low
		default:
			now += p.High - p.Low
		}
	}}
	last := uint64(0)
	x.FollowMappings(m, to, func(e *capture.Event) {
		if now != last {
			steps, last = append(steps, mappedStep{e.Seq, now}), now
		}
	})
	return steps
}

// A mappedRun is a run in which what is mapped changes, or of which a part counts.
type mappedRun struct {
	*capture.Summary
	steps        []mappedStep
	live, mapped uint64 // before its first event
}

// bound is at least the peak of the run.
func (r *mappedRun) bound() uint64 {
	most := r.mapped
	for _, s := range r.steps {
		most = max(most, s.bytes)
	}
	return max(r.live, r.Peak) + most
}

// readPeaks offers the peaks of the runs up to event #to, except those that cannot be most.
func (x *Index) readPeaks(runs []mappedRun, to uint64, most *highest) {
	slices.SortStableFunc(runs, func(a, b mappedRun) int { return cmp.Compare(b.bound(), a.bound()) })
	for i := range runs {
		r := &runs[i]
		if r.bound() < most.bytes || x.read.GivenUp() {
			return
		}
		live, mapped, steps := r.live, r.mapped, r.steps
		for e := range x.src.Events(r.First) {
			if e.Seq > min(r.Last, to) {
				break
			}
			if e.Ended.Recorded {
				live -= min(live, e.Ended.Size)
			}
			if e.Allocates() {
				live += e.Size
			}
			for len(steps) > 0 && steps[0].seq <= e.Seq {
				mapped, steps = steps[0].bytes, steps[1:]
			}
			most.offer(e.Seq, live+mapped)
		}
	}
}
