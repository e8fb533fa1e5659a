package query

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"hdb/capture"
	"hdb/heap"
)

// A Moment is where questions to a recording are answered. Its zero value is Present.
type Moment struct {
	kind  momentKind
	text  string
	seq   uint64
	share float64 // 0 to 1
	when  time.Duration
	stop  int
	err   error // why the text is nothing but a mark's name
}

type momentKind uint8

const (
	present momentKind = iota
	start
	peak
	end
	numbered
	part
	elapsed
	stopped
	named
)

// Present is the moment of the recording itself.
var Present Moment

// After is the moment after an event.
func After(seq uint64) Moment { return Moment{kind: numbered, text: fmt.Sprintf("#%d", seq), seq: seq} }

// ParseMoment reads a moment: #N, N% of the events, a time since the start, peak, start, end, stop
// N, or the name of a mark, which may be any of these; "" and now are Present. The recording
// decides whether it is a moment.
func ParseMoment(text string) Moment {
	m := Moment{text: text, kind: named}
	if text == "" || text == "now" {
		return Present
	}
	if n, ok := StopNumber(text); ok {
		m.kind, m.stop = stopped, n
		return m
	}
	switch {
	case text == "end":
		m.kind = end
	case text == "start":
		m.kind = start
	case text == "peak":
		m.kind = peak
	case strings.HasPrefix(text, "#"):
		seq, err := strconv.ParseUint(text[1:], 10, 64)
		if err != nil {
			m.err = fmt.Errorf("%q: an event's number must follow #", text)
			break
		}
		m.kind, m.seq = numbered, seq
	case strings.HasSuffix(text, "%"):
		share, err := strconv.ParseFloat(strings.TrimSuffix(text, "%"), 64)
		if err != nil || !(share >= 0 && share <= 100) {
			m.err = fmt.Errorf("%q: a share from 0%% to 100%% expected", text)
			break
		}
		if m.kind, m.share = part, share/100; share == 0 {
			m.kind = start
		}
	default:
		when, err := time.ParseDuration(text)
		if err != nil {
			m.err = fmt.Errorf("%q: not a moment: #N, N%%, a time like 1.5s, peak, start, end, stop N or the name of a mark expected", text)
			break
		}
		m.kind, m.when = elapsed, when
	}
	return m
}

// String is the moment as it was written, "now" of Present.
func (m Moment) String() string {
	if m.kind == present {
		return "now"
	}
	return m.text
}

// IsPresent tells Present.
func (m Moment) IsPresent() bool { return m.kind == present }

// IsStart tells the start: before the first event, when the recording began.
func (m Moment) IsStart() bool { return m.kind == start }

// StopNumber reads the name of a recorded stop: stop 3, or stop3.
func StopNumber(text string) (n int, ok bool) {
	digits, ok := strings.CutPrefix(text, "stop")
	if !ok {
		return 0, false
	}
	n, err := strconv.Atoi(strings.TrimSpace(digits))
	return n, err == nil && n >= 0
}

// marked is the mark that the moment is the name of.
func marked(src capture.Source, m Moment) (mark capture.MarkRecord, ok bool) {
	for _, mark := range src.Marks() {
		if m.kind != present && mark.Name == m.text {
			return mark, true
		}
	}
	return mark, false
}

// A Point is where a moment is in a recording.
type Point struct {
	Seq  uint64 // the last event up to it; 0 of start, heap.End of end
	Stop int    // the number of the recorded stop that it is, 0 if it is none
	// Drawn tells that it is found by what the recording has, as the peak is: another
	// recording of the run has it elsewhere.
	Drawn bool
}

// Point finds a moment.
func (r *Recording) Point(m Moment) (Point, error) {
	if m.kind == present {
		return Point{Seq: r.Moment}, nil
	}
	if mark, ok := marked(r.Source, m); ok && !r.Source.Info().Aggregate {
		return Point{Seq: mark.Seq}, nil
	}
	seq, err := r.find(m)
	return Point{Seq: seq, Stop: m.stop, Drawn: m.kind == peak || m.kind == part}, err
}

// Seq is the Seq of a moment's Point.
func (r *Recording) Seq(m Moment) (uint64, error) {
	p, err := r.Point(m)
	return p.Seq, err
}

// find is the last event up to a moment that is no mark.
func (r *Recording) find(m Moment) (uint64, error) {
	if r.Source.Info().Aggregate && m.kind != stopped && m.kind != start && m.kind != peak && m.kind != end {
		return 0, fmt.Errorf("%s: %w", m.text, ErrSums)
	}
	switch m.kind {
	case stopped:
		return r.stopSeq(m.stop)
	case start:
		return 0, nil
	case peak:
		seq, _ := r.Index.Peak()
		if seq == 0 {
			return 0, errors.New("peak: no allocation was recorded")
		}
		return seq, nil
	case end:
		return heap.End, nil
	case numbered:
		if runs := r.Index.Runs(); len(runs) == 0 || m.seq > runs[len(runs)-1].Last {
			return 0, fmt.Errorf("%s: not among the %d recorded events: see allocs", m.text, r.Source.Len())
		}
		return m.seq, nil
	case part:
		return r.Index.Nth(uint64(m.share * float64(r.Source.Len()))), nil
	case elapsed:
		seq := r.Index.At(m.when)
		if seq == 0 {
			return 0, fmt.Errorf("%s: the first event is later, at %v", m.text, r.Index.Runs()[0].Start)
		}
		return seq, nil
	}
	return 0, m.err
}

// FromPoint is Point of a moment from which on events are asked for: a time after the last
// one is an error.
func (r *Recording) FromPoint(m Moment) (Point, error) {
	if runs := r.Index.Runs(); m.kind == elapsed && len(runs) > 0 && m.when > runs[len(runs)-1].End {
		if _, ok := marked(r.Source, m); !ok {
			return Point{}, fmt.Errorf("%s: the last event is earlier, at %v", m.text, runs[len(runs)-1].End)
		}
	}
	return r.Point(m)
}

// stopSeq is the last event before the recorded stop, 0 if there was none, or the
// one it stopped at.
func (r *Recording) stopSeq(n int) (uint64, error) {
	stops := r.Source.Stops()
	if n < 1 || n > len(stops) {
		return 0, fmt.Errorf("stop %d: there are %d: see info stops", n, len(stops))
	}
	return max(stops[n-1].Event, stops[n-1].Seq), nil
}

// timeAt is when a moment was, whose last event and totals are given: of a mark, a stop or a time
// its own, of the start when the recording began, of the present and the end the last that is known
// before another event, else the time of the last event. So a rate counts the time in which nothing
// was allocated, too, however the moments are named.
func (r *Recording) timeAt(m Moment, seq uint64, totals *heap.Totals) time.Duration {
	if mark, ok := marked(r.Source, m); ok {
		return max(mark.Time, totals.Time)
	}
	switch stops := r.Source.Stops(); {
	case m.kind == start:
		return begin(r.Source.Info().Partial, r.Index)
	case m.kind == elapsed:
		return max(m.when, totals.Time)
	case m.kind == stopped && m.stop >= 1 && m.stop <= len(stops):
		return max(stops[m.stop-1].Time, totals.Time)
	case m.kind == present, m.kind == end:
		return r.lastSeen(seq, totals.Time)
	}
	return totals.Time
}

// lastSeen is the last time at which event #seq, which was then, is known to be the last one.
func (r *Recording) lastSeen(seq uint64, then time.Duration) time.Duration {
	last := uint64(0)
	if runs := r.Index.Runs(); len(runs) > 0 {
		last = runs[len(runs)-1].Last
	}
	ended := seq >= last
	see := func(after uint64, at time.Duration) {
		if after == seq || ended && after >= last {
			then = max(then, at)
		}
	}
	for _, m := range r.Source.Marks() {
		see(m.Seq, m.Time)
	}
	for _, st := range r.Source.Stops() {
		see(max(st.Seq, st.Event), st.Time)
	}
	if ended {
		for _, s := range r.Source.Samples() {
			see(s.Seq, s.Time)
		}
	}
	return then
}
