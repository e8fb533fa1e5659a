package report

import "time"

// A Curve is a number of bytes over time, ascending.
type Curve []Level

// A Level is a number of bytes from a time on, until the next level.
type Level struct {
	At    time.Duration
	Bytes uint64
}

// Highest is the highest level.
func (c Curve) Highest() (most uint64) {
	for _, l := range c {
		most = max(most, l.Bytes)
	}
	return most
}

// highs are the highest levels in equal parts of the span.
func (c Curve) highs(span Span, parts int) []uint64 {
	out := make([]uint64, parts)
	part := func(at time.Duration) int { return min(parts-1, int(span.Share(at)*float64(parts))) }
	for i, l := range c {
		end := parts - 1
		if i+1 < len(c) {
			end = part(c[i+1].At)
		}
		for k := part(l.At); k <= end; k++ {
			out[k] = max(out[k], l.Bytes)
		}
	}
	return out
}

// A Span is a part of the time since the start.
type Span struct{ From, To time.Duration }

// Share is where in the span a time is, 0 to 1.
func (s Span) Share(at time.Duration) float64 {
	if s.To <= s.From || at <= s.From {
		return 0
	}
	return min(1, float64(at-s.From)/float64(s.To-s.From))
}

// Span is the time that a drawing over time has to show.
func (p *Profile) Span() Span {
	to := p.duration()
	return Span{min(max(0, p.Begin), to), to}
}

// duration is the time of the last moment, sample or mark.
func (p *Profile) duration() time.Duration {
	d := p.Moment.Time
	for _, m := range p.Timeline {
		d = max(d, m.Time)
	}
	for _, s := range p.RSS {
		d = max(d, s.Time)
	}
	for _, m := range p.Marks {
		d = max(d, m.Time)
	}
	return max(d, 0)
}

// HeapCurve is the live bytes over time. It begins at 0: the heap of a program that was started
// begins empty, and the heap of one attached to is not known.
func (p *Profile) HeapCurve() Curve {
	c := Curve{{At: p.Span().From}}
	for _, m := range p.Timeline {
		c = append(c, Level{m.Time, m.Live})
	}
	return c
}

// RSSCurve is the resident memory over time, nil without samples in the span.
func (p *Profile) RSSCurve() (c Curve) {
	from := p.Span().From
	for _, s := range p.RSS {
		if s.Time >= from || from == 0 {
			c = append(c, Level{s.Time, s.RSS})
		}
	}
	return c
}

// MappedCurve is what the program has mapped itself.
func (p *Profile) MappedCurve() (c Curve) {
	for _, m := range p.MappedLine {
		c = append(c, Level{m.Time, m.Bytes})
	}
	return c
}

// HeapMoments is the timeline, nil where too little of the heap is known to draw it.
func (p *Profile) HeapMoments() []Moment {
	if p.Sums {
		return nil
	}
	return p.Timeline
}

// LiveAt is roughly how much was live after an event: at the last point of the timeline up to it.
// Sums do not tell.
func (p *Profile) LiveAt(seq uint64) (live uint64, known bool) {
	if p.Sums {
		return 0, false
	}
	for _, m := range p.Timeline {
		if m.Seq > seq {
			break
		}
		live = m.Live
	}
	return live, true
}
