package heap

import (
	"cmp"
	"slices"
	"time"

	"hdb/capture"
)

// A Point is the heap after an event.
type Point struct {
	Seq    uint64
	Time   time.Duration
	Live   uint64 // bytes
	Blocks uint64 // 0 at a peak of which only the summary was read
}

// A run is drawn by its peak and its end, or its events are read. Up to timelineEvents
// are, which takes half a second, of the runs that last longest; and always those that
// last longer than one of timelineParts of the time, which a reader would see: the heap
// within them is neither what it was before them nor their peak.
const (
	timelineEvents = 2 << 20
	timelineParts  = 100
)

// drawnWhole is the longest time for which a run is drawn by its peak and its end.
func drawnWhole(runs []*capture.Summary) time.Duration {
	runs = slices.SortedFunc(slices.Values(runs), func(a, b *capture.Summary) int { return cmp.Compare(b.End-b.Start, a.End-a.Start) })
	events := 0
	for _, r := range runs {
		if events += r.Events; events > timelineEvents {
			first := slices.MinFunc(runs, func(a, b *capture.Summary) int { return cmp.Compare(a.Start, b.Start) })
			last := slices.MaxFunc(runs, func(a, b *capture.Summary) int { return cmp.Compare(a.End, b.End) })
			return min(r.End-r.Start, (last.End-first.Start)/timelineParts)
		}
	}
	return -1
}

// Timeline is the heap up to event #to, in at most some n points ascending by
// time: of each span of it the point at which most was live, and where it ends.
// The highest peak is among them, and the last is the moment itself.
func (x *Index) Timeline(to uint64, n int) []Point { return x.History(to, n, nil, nil) }

// A thinner keeps of each span of time the highest point and the last.
type thinner struct {
	first     time.Duration
	last      time.Duration
	spans     time.Duration // their number
	span      time.Duration // that high and end are of
	high, end Point
	begun     bool
	out       []Point
}

// newThinner is for at most n points from a time up to another.
func newThinner(first, last time.Duration, n int) thinner {
	return thinner{first: first, last: last, spans: max(1, time.Duration(n/2))}
}

func (t *thinner) add(p Point) {
	span := time.Duration(0)
	if whole := t.last - t.first; whole > 0 {
		span = max(0, min(p.Time, t.last)-t.first) / max(1, (whole+t.spans-1)/t.spans)
	}
	if !t.begun || span != t.span {
		t.flush()
		t.span, t.high, t.begun = span, p, true
	} else if p.Live > t.high.Live {
		t.high = p
	}
	t.end = p
}

func (t *thinner) flush() {
	if !t.begun {
		return
	}
	t.out = append(t.out, t.high)
	if t.end.Seq != t.high.Seq {
		t.out = append(t.out, t.end)
	}
}

func (t *thinner) points() []Point {
	t.flush()
	t.begun = false
	slices.SortStableFunc(t.out, func(a, b Point) int { return cmp.Compare(a.Time, b.Time) })
	return t.out
}

// Times are the times of events, which ascend. Of an event in a run that is drawn by its peak and its
// end (see drawnWhole) it is as good as that: the runs around it have its bounds, and in between
// it goes by the number.
func (x *Index) Times(seqs []uint64) []time.Duration {
	out := make([]time.Duration, len(seqs))
	whole := drawnWhole(x.runs)
	for _, r := range x.runs {
		if x.read.GivenUp() {
			break
		}
		n, _ := slices.BinarySearch(seqs, r.Last+1)
		switch own := out[len(out)-len(seqs):][:n]; {
		case n == 0:
		case x.src.Info().Aggregate || r.End-r.Start <= whole:
			for i, seq := range seqs[:n] {
				own[i] = r.Start
				if length := r.Last - r.First; length > 0 && seq > r.First {
					own[i] += time.Duration(float64(r.End-r.Start) * float64(seq-r.First) / float64(length))
				}
			}
		default:
			x.timesWithin(r, seqs[:n], own)
		}
		seqs = seqs[n:]
	}
	return out
}

// timesWithin fills in the times of events of a run.
func (x *Index) timesWithin(r *capture.Summary, seqs []uint64, out []time.Duration) {
	for e := range x.src.Events(r.First) {
		for len(seqs) > 0 && seqs[0] <= e.Seq {
			out[0] = e.Time
			seqs, out = seqs[1:], out[1:]
		}
		if len(seqs) == 0 {
			return
		}
	}
}
