package heap

import (
	"cmp"
	"slices"
	"time"
)

// A Point is the heap after an event.
type Point struct {
	Seq    uint64
	Time   time.Duration
	Live   uint64 // bytes
	Blocks uint64 // 0 at a peak of which only the summary was read
}

// timelineRuns is how many runs are read event by event to draw them: 32 are some two
// million events, half a second. Of more there are enough points in the summaries.
const timelineRuns = 32

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
	some      bool
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
	if !t.some || span != t.span {
		t.flush()
		t.span, t.high, t.some = span, p, true
	} else if p.Live > t.high.Live {
		t.high = p
	}
	t.end = p
}

func (t *thinner) flush() {
	if !t.some {
		return
	}
	t.out = append(t.out, t.high)
	if t.end.Seq != t.high.Seq {
		t.out = append(t.out, t.end)
	}
}

func (t *thinner) points() []Point {
	t.flush()
	t.some = false
	slices.SortStableFunc(t.out, func(a, b Point) int { return cmp.Compare(a.Time, b.Time) })
	return t.out
}
