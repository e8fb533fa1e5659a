package session

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"hdb/breakpoints"
	"hdb/capture"
	"hdb/heap"
	"hdb/internal/cond"
	"hdb/query"
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
	m := query.ParseMoment(moment)
	if _, marked := query.Marked(s.saved, m); !marked {
		if n, ok := m.Stop(); ok {
			return s.gotoStop(n, seq), nil
		}
	}
	if seq == heap.End {
		r, err := s.gotoEvent(s.saved.Last())
		s.at, s.moved = 0, false
		return r, err
	}
	r, err := s.gotoEvent(seq)
	if err == nil {
		r.Drawn = m.Drawn()
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
	s.Selection.selection = selection{seq: seq, stackID: e.Stack, at: seq}
	return s.there(&Report{Event: e, Elapsed: e.Time}, e.TID), nil
}

// there completes the report of the moment that the capture was brought to.
func (s *Session) there(r *Report, tid int32) *Report {
	for _, t := range s.saved.Threads() {
		if t.TID == tid {
			r.Thread = ThreadInfo{Num: t.Num, TID: int(t.TID), Name: t.Name, Selected: true}
		}
	}
	if st, err := s.Selection.savedStack(); err == nil && len(st.Frames) > 0 {
		s.Selection.frame = s.Selection.UserFrame(st.Frames)
		r.Frames = st.Frames[:s.Selection.frame+1]
	}
	return r
}

// gotoStop brings the capture to a recorded stop, which was after event #at. The
// stack that was shown there is selected.
func (s *Session) gotoStop(n int, at uint64) *Report {
	st := s.saved.Stops()[n-1]
	s.at, s.moved = at, true
	s.Selection.selection = selection{seq: st.Event, stackID: st.Stack, at: at}
	return s.there(&Report{Stop: fmt.Sprintf("stop %d: %s", n, st.Text), Elapsed: st.Time}, st.TID)
}

// travel moves the capture to the next event that is wanted, in the direction.
func (s *Session) travel(ctx context.Context, d query.Direction, wanted func(*recording.Event, cond.Env) bool) (*Report, error) {
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
	seq, found, err := s.recordingOf(s.source(), x).Find(ctx, d, wanted)
	end := "the recording ends here"
	if d == query.Back {
		end = "the recording begins here"
	}
	switch {
	case err != nil:
		return nil, err
	case seq == 0:
		return nil, fmt.Errorf("%s: nothing was recorded beyond; goto leads elsewhere", end)
	case !found:
		s.notify("%s", end)
	}
	return s.gotoEvent(seq)
}

// Replay moves the capture to the n-th event in the direction that an allocation
// stop wants, or to its end.
func (s *Session) Replay(ctx context.Context, d query.Direction, n int) (*Report, error) {
	var hits []*breakpoints.Stop // of the event that is looked at
	r, err := s.travel(ctx, d, func(e *recording.Event, env cond.Env) bool {
		fn, ok := s.Allocators.function(e.Function)
		if !ok {
			fn = breakpoints.Function{Name: e.Function, Symbol: e.Function, Kind: e.Kind}
		}
		call := recording.Recalled(fn, e.Event)
		hits = nil
		for _, st := range s.demand.stops.All() {
			if st.Wants(call) && st.Check(env) {
				hits = append(hits, st)
			}
		}
		for _, st := range hits {
			if st.Temporary {
				s.demand.stops.Delete(st.ID)
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
func (s *Session) ReplayTo(ctx context.Context, d query.Direction, frees bool, n int, c *cond.Cond) (*Report, error) {
	left := max(n, 1)
	return s.travel(ctx, d, func(e *recording.Event, env cond.Env) bool {
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
	_, isStop := query.StopNumber(name)
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
