package heap

import (
	"time"

	"hdb/capture"
)

// A Running sums up a recording while it is made. Unlike an Index it keeps nothing of the runs that
// are over, so that its memory grows with the stacks and not with the events, and it can only
// describe the present. It is not safe for concurrent use; the recording may grow meanwhile.
type Running struct {
	src   capture.Source
	next  uint64         // the first event of the last run, which may have grown
	base  []capture.Flow // by stack ID, of the runs before it
	last  *capture.Summary
	count uint64 // events of the runs before it

	peak  Point
	line  Line
	drawn uint64 // the last event that is in the line,
	live  uint64 // and what was live after it
}

// drawnEvents is how many events an Update reads one by one for the line, some 20 ms.
const drawnEvents = 1 << 18

// NewRunning is a recording before its first event.
func NewRunning(src capture.Source) *Running { return &Running{src: src} }

// Update takes in what was recorded since.
func (r *Running) Update() error {
	first, left := true, uint64(drawnEvents)
	for s, err := range r.src.Summaries(r.next) {
		if err != nil {
			return err
		}
		if r.last != nil && !first {
			r.settle()
		}
		first = false
		r.last, r.next = s, s.First
		if s.Peak > r.peak.Live {
			r.peak = Point{Seq: s.PeakSeq, Time: s.PeakTime, Live: s.Peak}
		}
		left -= r.draw(s, left)
	}
	return nil
}

// draw adds the new events of a run to the line, and returns how many it has read for that. A run that is no longer than
// a span of the line, or has more new events than limit, is drawn by its peak and its end.
func (r *Running) draw(s *capture.Summary, limit uint64) (read uint64) {
	if s.Fresh && r.drawn < s.First {
		r.live = 0
	}
	count := s.Last - max(r.drawn, s.First-1)
	switch {
	case count == 0:
	case s.End-s.Start > r.line.span && count <= limit:
		read = count
		for e := range r.src.Events(s.Last - count + 1) {
			if e.Seq > s.Last {
				break
			}
			if e.Ended.Recorded {
				r.live -= e.Ended.Size
			}
			if e.Allocates() {
				r.live += e.Size
			}
			r.line.Add(e.Time, r.live)
		}
	default:
		if s.PeakSeq > r.drawn {
			r.line.Add(s.PeakTime, s.Peak)
		}
		r.line.Add(s.End, s.Live)
	}
	r.drawn, r.live = s.Last, s.Live
	return read
}

// settle adds the last run to those that are over: another one has begun.
func (r *Running) settle() {
	if r.last.Fresh {
		replaced(r.base)
	}
	r.base = addFlows(r.base, r.last.Flows)
	r.count += uint64(r.last.Events)
}

// addFlows adds flows to those by stack ID.
func addFlows(all, more []capture.Flow) []capture.Flow {
	for i := range more {
		id := more[i].Stack
		for int(id) >= len(all) {
			all = append(all, capture.Flow{Stack: capture.StackID(len(all))})
		}
		all[id].Add(&more[i])
	}
	return all
}

// replaced ends all blocks.
func replaced(flows []capture.Flow) {
	for i := range flows {
		f := &flows[i]
		f.Frees, f.Freed = f.Allocs, f.Bytes
	}
}

// Totals are those of now. Their Flows may be fewer than there are stacks.
func (r *Running) Totals() *Totals {
	t := &Totals{Flows: append([]capture.Flow(nil), r.base...)}
	if r.last == nil {
		return t
	}
	if r.last.Fresh {
		replaced(t.Flows)
	}
	t.Flows = addFlows(t.Flows, r.last.Flows)
	t.Seq, t.Time, t.Events = r.last.Last, r.last.End, r.count+uint64(r.last.Events)
	t.Live, t.Blocks = r.last.Live, r.last.Blocks
	if ends := r.src.Execs(); len(ends) > 0 && ends[len(ends)-1] > t.Seq {
		t.replaced() // an exec after the last event
	}
	return t
}

// Peak is the moment at which most bytes were live for the first time.
func (r *Running) Peak() Point { return r.peak }

// Line is the live bytes over time.
func (r *Running) Line() *Line { return &r.line }

// A Line is a quantity over time in a bounded number of spans, and keeps the highest value of each
// span. The spans grow with the time.
type Line struct {
	span  time.Duration // 0: nothing was added
	spans []uint64
	now   uint64 // the last value, that holds on
}

// lineSpans is the most spans that there are; at least half of them are in use when
// the line is longer than they were at first.
const (
	lineSpans = 512
	firstSpan = time.Millisecond
)

// Add notes a value. Times ascend, except those of the last spans.
func (l *Line) Add(at time.Duration, value uint64) {
	l.reach(at)
	i := int(max(at, 0) / l.span)
	l.spans[i] = max(l.spans[i], value)
	if i == len(l.spans)-1 {
		l.now = value
	}
}

// reach makes the line so long.
func (l *Line) reach(at time.Duration) {
	if l.span == 0 {
		l.span = firstSpan
	}
	for at/l.span >= lineSpans {
		for i := range (len(l.spans) + 1) / 2 {
			l.spans[i] = l.spans[2*i]
			if 2*i+1 < len(l.spans) {
				l.spans[i] = max(l.spans[i], l.spans[2*i+1])
			}
		}
		l.spans = l.spans[:(len(l.spans)+1)/2]
		l.span *= 2
	}
	for int(max(at, 0)/l.span) >= len(l.spans) {
		l.spans = append(l.spans, l.now)
	}
}

// Columns are the highest values of n equal parts of the time up to now.
func (l *Line) Columns(now time.Duration, n int) []uint64 {
	if n <= 0 {
		return nil
	}
	l.reach(now)
	out := make([]uint64, n)
	for i := range out {
		from, to := i*len(l.spans)/n, (i+1)*len(l.spans)/n
		for _, v := range l.spans[from:max(to, from+1)] {
			out[i] = max(out[i], v)
		}
	}
	return out
}
