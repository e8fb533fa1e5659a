package session

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"

	"hdb/breakpoints"
	"hdb/capture"
	"hdb/heap"
	"hdb/internal/cond"
	"hdb/recording"
)

// moment is the number of the event after which questions about the heap are
// answered: the one that a capture was brought to, otherwise all there is.
func (s *Session) moment() uint64 {
	if s.saved != nil && s.moved {
		return s.at
	}
	return heap.End
}

// MomentOf finds the event that a moment of the recording is named by: #N, N% of
// the events, a time since the start, peak, start, end, stop N, or a mark's name.
// end is heap.End.
func (s *Session) MomentOf(text string) (uint64, error) {
	src, x, err := s.recordedSums()
	if err != nil {
		return 0, fmt.Errorf("%s: %w", text, err)
	}
	n, isStop := stopNumber(text)
	if src.Info().Aggregate && !isStop && text != "start" && text != "peak" && text != "end" {
		return 0, fmt.Errorf("%s: %w", text, errSums)
	}
	for _, m := range src.Marks() {
		if m.Name == text {
			return m.Seq, nil
		}
	}
	if isStop {
		return s.stopMoment(n)
	}
	switch {
	case text == "end":
		return heap.End, nil
	case text == "start":
		return x.Nth(0), nil
	case text == "peak":
		seq, _ := x.Peak()
		if seq == 0 {
			return 0, errors.New("peak: no allocation was recorded")
		}
		return seq, nil
	case strings.HasPrefix(text, "#"):
		seq, err := strconv.ParseUint(text[1:], 10, 64)
		if err != nil {
			return 0, fmt.Errorf("%q: an event's number must follow #", text)
		}
		return seq, nil
	case strings.HasSuffix(text, "%"):
		share, err := strconv.ParseFloat(strings.TrimSuffix(text, "%"), 64)
		if err != nil || !(share >= 0 && share <= 100) {
			return 0, fmt.Errorf("%q: a share from 0%% to 100%% expected", text)
		}
		return x.Nth(uint64(share / 100 * float64(src.Len()))), nil
	}
	if when, err := time.ParseDuration(text); err == nil {
		seq := x.At(when)
		if seq == 0 {
			return 0, fmt.Errorf("%s: the first event is later, at %v", text, x.Runs()[0].Start)
		}
		return seq, nil
	}
	return 0, fmt.Errorf("%q: no moment: #N, N%%, a time like 1.5s, peak, start, end, stop N or the name of a mark expected", text)
}

// Goto brings a capture to a moment, see MomentOf: its event is selected, for bt,
// frame and list, and what is asked about the heap is answered as it was after it.
func (s *Session) Goto(moment string) (*Report, error) {
	if s.Mode() != Saved {
		return nil, fmt.Errorf("goto %s: only a capture has a past: use next-alloc, or save and open", moment)
	}
	seq, err := s.MomentOf(moment)
	if err != nil {
		return nil, fmt.Errorf("goto: %w", err)
	}
	if n, ok := stopNumber(moment); ok && !slices.ContainsFunc(s.saved.Marks(), func(m capture.MarkRecord) bool { return m.Name == moment }) {
		return s.gotoStop(n, seq), nil
	}
	if seq == heap.End {
		r, err := s.gotoEvent(s.saved.Last())
		s.at, s.moved = 0, false
		return r, err
	}
	r, err := s.gotoEvent(seq)
	if err == nil {
		r.Drawn = moment == "peak" || strings.HasSuffix(moment, "%")
	}
	return r, err
}

// gotoEvent brings the capture to the event.
func (s *Session) gotoEvent(seq uint64) (*Report, error) {
	e, ok := s.EventAt(seq)
	if !ok {
		return nil, s.noEvent(seq)
	}
	s.at, s.moved = seq, true
	s.sel = selection{seq: seq, saved: e.Stack, at: seq}
	return s.there(&Report{Event: e, Elapsed: e.Time}, e.TID), nil
}

// there completes the report of the moment that the capture was brought to.
func (s *Session) there(r *Report, tid int32) *Report {
	for _, t := range s.saved.Threads() {
		if t.TID == tid {
			r.Thread = ThreadInfo{Num: t.Num, TID: int(t.TID), Name: t.Name, Selected: true}
		}
	}
	if st, err := s.savedStack(); err == nil && len(st.Frames) > 0 {
		s.sel.frame = s.UserFrame(st.Frames)
		r.Frames = st.Frames[:s.sel.frame+1]
	}
	return r
}

// stopNumber reads the name of a recorded stop: stop 3, or stop3.
func stopNumber(text string) (n int, ok bool) {
	digits, ok := strings.CutPrefix(text, "stop")
	if !ok {
		return 0, false
	}
	n, err := strconv.Atoi(strings.TrimSpace(digits))
	return n, err == nil && n >= 0
}

// stopMoment is the last event before the recorded stop, 0 if there was none, or the
// one it stopped at.
func (s *Session) stopMoment(n int) (uint64, error) {
	stops := s.StopRecords()
	if n < 1 || n > len(stops) {
		return 0, fmt.Errorf("stop %d: there are %d: see info stops", n, len(stops))
	}
	return max(stops[n-1].Event, stops[n-1].Seq), nil
}

// gotoStop brings the capture to a recorded stop, which was after event #at. The
// stack that was shown there is selected.
func (s *Session) gotoStop(n int, at uint64) *Report {
	st := s.saved.Stops()[n-1]
	s.at, s.moved = at, true
	s.sel = selection{seq: st.Event, saved: st.Stack, at: at}
	return s.there(&Report{Stop: fmt.Sprintf("stop %d: %s", n, st.Text), Elapsed: st.Time}, st.TID)
}

// A Direction is where a capture is moved to.
type Direction bool

// The directions.
const (
	Forward Direction = false
	Back    Direction = true
)

func (d Direction) end() string {
	if d == Back {
		return "the recording begins here"
	}
	return "the recording ends here"
}

// steps are the recorded events from the moment on, without the one there. A
// step is only valid until the next.
func (s *Session) steps(x *heap.Index, d Direction) iter.Seq[*heap.Step] {
	switch {
	case d == Back && s.moment() == heap.End:
		return x.StepsBack(heap.End)
	case d == Back && s.at == 0:
		return func(func(*heap.Step) bool) {}
	case d == Back:
		return x.StepsBack(s.at - 1)
	case s.moment() == heap.End:
		return func(func(*heap.Step) bool) {}
	}
	return x.Steps(s.at + 1)
}

// travel moves the capture to the next event that is wanted, in the direction.
func (s *Session) travel(ctx context.Context, d Direction, wanted func(*Event, *recordedEnv) bool) (*Report, error) {
	if s.Mode() != Saved {
		return nil, errors.New("only a capture has a past: save and open it")
	}
	if err := s.NoEvents(); err != nil {
		return nil, err
	}
	x, err := s.Index()
	if err != nil {
		return nil, err
	}
	env := newRecordedEnv(s, s.saved)
	last := uint64(0)
	for step := range s.steps(x, d) {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		e := withName(s.saved, step.Event)
		last = e.Seq
		if wanted(e, env.at(e, step)) {
			return s.gotoEvent(e.Seq)
		}
	}
	if last == 0 {
		return nil, fmt.Errorf("%s: nothing was recorded beyond; goto leads elsewhere", d.end())
	}
	s.notify("%s", d.end())
	return s.gotoEvent(last)
}

// Replay moves the capture to the n-th event in the direction that an allocation
// stop wants, or to its end.
func (s *Session) Replay(ctx context.Context, d Direction, n int) (*Report, error) {
	var hits []*breakpoints.Stop // of the event that is looked at
	r, err := s.travel(ctx, d, func(e *Event, env *recordedEnv) bool {
		fn, ok := s.function(e.Function)
		if !ok {
			fn = breakpoints.Function{Name: e.Function, Symbol: e.Function, Kind: e.Kind}
		}
		call := recording.Recalled(fn, e.Event)
		hits = nil
		for _, st := range s.stops.All() {
			if st.Wants(call) && st.Check(env) {
				hits = append(hits, st)
			}
		}
		for _, st := range hits {
			if st.Temporary {
				s.stops.Delete(st.ID)
			}
		}
		if len(hits) > 0 {
			n--
		}
		return n == 0
	})
	if err == nil {
		r.Hits = hits
	}
	return r, err
}

// ReplayTo moves the capture to the n-th event in the direction that makes a block
// or mapping, or that gives one back, and matches the condition, which may be nil.
func (s *Session) ReplayTo(ctx context.Context, d Direction, frees bool, n int, c *cond.Cond) (*Report, error) {
	left := max(n, 1)
	return s.travel(ctx, d, func(e *Event, env *recordedEnv) bool {
		freed := e.Kind == capture.Free || e.Kind == capture.Unmap
		if freed == frees && e.Kind != capture.Mark && (c == nil || c.Eval(env)) {
			left--
		}
		return left == 0
	})
}

// Mark names the moment: of a recording under way, so that goto, diff and reports
// find it.
func (s *Session) Mark(name string) (seq uint64, err error) {
	_, isStop := stopNumber(name)
	switch {
	case s.saved != nil:
		return 0, errors.New("mark: a capture that was opened is not changed")
	case s.rec.On() && s.proc == nil:
		return 0, errors.New("mark: no process is recorded yet: use run, start or attach")
	case !s.rec.On():
		return 0, errors.New("mark: nothing is being recorded: use record start")
	case name == "" || strings.HasPrefix(name, "#") || strings.HasSuffix(name, "%") || slices.Contains([]string{"peak", "start", "end"}, name), isStop:
		return 0, fmt.Errorf("mark %q: not a name", name)
	}
	if _, err := time.ParseDuration(name); err == nil {
		return 0, fmt.Errorf("mark %q: that is a time", name)
	}
	for _, m := range s.Marks() {
		if m.Name == name {
			return 0, fmt.Errorf("mark %q: that is the moment after #%d already", name, m.Seq)
		}
	}
	s.exclusive(func() { seq = s.rec.AddMark(name, s.now()) })
	return seq, nil
}

// Marks are the named moments of the recording.
func (s *Session) Marks() []capture.MarkRecord {
	if src := s.source(); src != nil {
		return src.Marks()
	}
	return nil
}
