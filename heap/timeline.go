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

// timelineRuns is how many runs are read event by event to draw them: 32 are some two
// million events, half a second. Of more there are enough points in the summaries.
const timelineRuns = 32

// Timeline is the heap up to event #to, in at most some n points ascending by
// time: of each span of it the point at which most was live, and where it ends.
// The highest peak is among them, and the last is the moment itself.
func (x *Index) Timeline(to uint64, n int) []Point {
	runs := x.runs
	if i := slices.IndexFunc(runs, func(r *capture.Summary) bool { return r.First > to }); i >= 0 {
		runs = runs[:i]
	}
	if len(runs) == 0 {
		return nil
	}
	last := runs[len(runs)-1]
	read := len(runs) <= timelineRuns && !x.src.Info().Aggregate
	t := thinner{last: last.End, spans: max(1, time.Duration(n/2))}
	for i, r := range runs {
		if read || r.Last > to {
			live := Point{}
			if i > 0 && !r.Fresh {
				live.Live, live.Blocks = runs[i-1].Live, runs[i-1].Blocks
			}
			x.walk(r, to, live, t.add)
			continue
		}
		if r.Peak > 0 && r.PeakSeq != r.Last {
			t.add(Point{Seq: r.PeakSeq, Time: r.PeakTime, Live: r.Peak})
		}
		t.add(Point{Seq: r.Last, Time: r.End, Live: r.Live, Blocks: r.Blocks})
	}
	return t.points()
}

// walk yields the heap after each event of a run up to #to; p is the heap before it.
func (x *Index) walk(r *capture.Summary, to uint64, p Point, yield func(Point)) {
	for e := range x.src.Events(r.First) {
		if e.Seq > min(to, r.Last) {
			return
		}
		p.Seq, p.Time = e.Seq, e.Time
		if e.Gone.Recorded {
			p.Live -= min(p.Live, e.Gone.Size)
			p.Blocks -= min(p.Blocks, 1)
		}
		if e.Allocates() {
			p.Live += e.Size
			p.Blocks++
		}
		yield(p)
	}
}

// A thinner keeps of each span of time the highest point and the last.
type thinner struct {
	last      time.Duration
	spans     time.Duration // their number
	span      time.Duration // that high and end are of
	high, end Point
	some      bool
	out       []Point
}

func (t *thinner) add(p Point) {
	span := time.Duration(0)
	if t.last > 0 {
		span = min(p.Time, t.last) / max(1, (t.last+t.spans-1)/t.spans)
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
