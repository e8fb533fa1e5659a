package session

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"hdb/capture"
	"hdb/heap"
	"hdb/internal/cond"
	"hdb/names"
	"hdb/query"
	"hdb/recording"
	"hdb/report"
)

// someSource is source, or an error that tells what to do when it has no events.
func (s *Session) someSource() (capture.Source, error) {
	src := s.source()
	switch {
	case src != nil && src.Len() > 0:
		return src, nil
	case src == nil && s.Recorder.unreadable != nil:
		return nil, fmt.Errorf("the recording cannot be read: %w", s.Recorder.unreadable)
	case src != nil && hasGo(src):
		return nil, goError(src)
	case src != nil && src.Info().Aggregate && (s.saved != nil || src.Info().Totals.Events > 0):
		return nil, query.ErrSums
	case s.saved != nil && s.saved.Damage() != nil:
		return nil, s.saved.Damage()
	case s.saved != nil:
		return nil, errors.New("no event was recorded: the capture has none")
	case s.rec.On() && s.proc == nil:
		return nil, errors.New("no event was recorded yet: use run, start or attach")
	case s.rec.On() && s.rec.Filter() != nil:
		return nil, fmt.Errorf("no event was recorded yet that has %s: continue, or change the record filter", s.rec.Filter())
	case s.rec.On():
		return nil, errors.New("no event was recorded yet: continue, and stop later")
	}
	return nil, errors.New("nothing was recorded: use record start, or open a capture")
}

// Index is what answers questions about the heap of what is recorded: of this
// run, of the last one, or of the capture.
func (s *Session) Index() (*heap.Index, error) {
	if _, err := s.summed(); err != nil {
		return nil, err
	}
	if of := s.wholeSource(); s.indexed.of != of {
		x, err := heap.ReadIndex(s.reading, of)
		if err != nil {
			return nil, err
		}
		s.indexed.of, s.indexed.index = of, x
	} else if err := s.indexed.index.Update(); err != nil {
		return nil, err
	}
	return s.indexed.index.For(s.reading), nil
}

// recordedSums is what is recorded, with its index.
func (s *Session) recordedSums() (capture.Source, *heap.Index, error) {
	src, err := s.summed()
	if err != nil {
		return nil, nil, err
	}
	x, err := s.Index()
	return src, x, err
}

// recordedEvents is recordedSums, or an error that tells what to do when there are
// no events.
func (s *Session) recordedEvents() (capture.Source, *heap.Index, error) {
	src, err := s.someSource()
	if err != nil {
		return nil, nil, err
	}
	x, err := s.Index()
	return src, x, err
}

// recordingOf is what questions are asked of: a source and its index, at the session's
// moment. Without an index only stacks and single events are.
func (s *Session) recordingOf(src capture.Source, x *heap.Index) *query.Recording {
	return &query.Recording{
		Source: src, Index: x, Names: s.names, Attribution: s.attribution, Likes: &s.likes.Likenesses,
		Reading: s.reading, Moment: s.moment(), Function: s.Allocators.function,
	}
}

// sums is what is recorded.
func (s *Session) sums() (*query.Recording, error) {
	src, x, err := s.recordedSums()
	if err != nil {
		return nil, err
	}
	return s.recordingOf(src, x), nil
}

// events is what is recorded, an error if there are no events.
func (s *Session) events() (*query.Recording, error) {
	src, x, err := s.recordedEvents()
	if err != nil {
		return nil, err
	}
	return s.recordingOf(src, x), nil
}

// blocks is what is recorded, an error if there are only blocks of a Go runtime.
func (s *Session) blocks() (*query.Recording, error) {
	src, x, err := s.countedSums()
	if err != nil {
		return nil, err
	}
	return s.recordingOf(src, x), nil
}

// blockEvents is blocks, an error if there are no events.
func (s *Session) blockEvents() (*query.Recording, error) {
	src, x, err := s.countedEvents()
	if err != nil {
		return nil, err
	}
	return s.recordingOf(src, x), nil
}

// EventAt is the recorded event of that number.
func (s *Session) EventAt(seq uint64) (*recording.Event, bool) {
	src := s.source()
	if src == nil {
		return nil, false
	}
	return query.EventAt(src, seq)
}

// EventStack is the recorded stack of the event of that number.
func (s *Session) EventStack(seq uint64) (*recording.Event, names.Stack, error) {
	e, ok := s.EventAt(seq)
	if !ok {
		return nil, names.Stack{}, s.noEvent(seq)
	}
	if e.Stack == 0 {
		return e, names.Stack{}, ErrNoStack
	}
	return e, s.StackOf(e), nil
}

// StackOf is the stack of a recorded event, without frames if it has none.
func (s *Session) StackOf(e *recording.Event) names.Stack {
	return s.recordingOf(s.source(), nil).Stack(e)
}

// Recorded are the recorded events that match the condition, oldest first.
func (s *Session) Recorded(c *cond.Cond) (iter.Seq[*recording.Event], error) {
	r, err := s.events()
	if err != nil {
		return nil, err
	}
	return r.Events(c), nil
}

// Live are the recorded blocks that match the condition and are live at the moment,
// with the events of the largest; limit 0 is of all.
func (s *Session) Live(ctx context.Context, c *cond.Cond, limit int) (*query.LiveBlocks, error) {
	r, err := s.blockEvents()
	if err != nil {
		return nil, err
	}
	return r.Live(ctx, c, limit)
}

// Top is the recorded allocations up to the moment, summed by what the rows stand
// for.
func (s *Session) Top(by heap.Measure, per query.Per) ([]heap.Row, error) {
	r, err := s.blocks()
	if err != nil {
		return nil, err
	}
	return r.Top(by, per)
}

// TopStacks are the stacks with the largest numbers, at most limit of them, and
// how many there are of which the measure says something.
func (s *Session) TopStacks(by heap.Measure, limit int) (rows []query.StackRow, total int, err error) {
	r, err := s.blocks()
	if err != nil {
		return nil, 0, err
	}
	rows, total = r.TopStacks(by, limit)
	return rows, total, nil
}

// Whence finds the recorded block around an address.
func (s *Session) Whence(addr uint64) (*query.Whence, error) {
	r, err := s.blockEvents()
	if err != nil {
		return nil, err
	}
	return r.Whence(addr), nil
}

// History are the recorded events up to the moment about blocks that held an address, see
// query.Recording.
func (s *Session) History(addr uint64, limit int) (events []*recording.Event, total int, more bool, err error) {
	r, err := s.events()
	if err != nil {
		return nil, 0, false, err
	}
	events, total, more = r.History(addr, limit)
	return events, total, more, nil
}

// MomentOf finds the event that a moment of the recording is named by, see
// query.ParseMoment. end is heap.End.
func (s *Session) MomentOf(text string) (uint64, error) {
	r, err := s.sums()
	if err != nil {
		return 0, fmt.Errorf("%s: %w", text, err)
	}
	return r.Seq(query.ParseMoment(text))
}

// Diff compares two moments of the recording.
func (s *Session) Diff(from, to query.Moment, per query.Per) (*query.Diff, error) {
	r, err := s.blocks()
	if err != nil {
		return nil, err
	}
	d, err := r.Diff(from, to, per)
	if err == nil {
		d.Gaps = s.Gaps()
	}
	return d, err
}

// DiffCapture compares the end of another capture with the present moment.
func (s *Session) DiffCapture(path string, per query.Per) (*query.Diff, error) {
	other := New(Config{Version: s.cfg.Version, Cache: s.cfg.Cache})
	other.Settings, other.reading, other.attribution = s.Settings, s.reading, s.attribution
	defer other.Close()
	if _, err := other.OpenWhole(path); err != nil {
		return nil, err
	}
	a, err := other.blocks()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	b, err := s.blocks()
	if err != nil {
		return nil, err
	}
	d, err := b.DiffOf(a, path, per)
	if err != nil {
		return nil, err
	}
	d.Gaps = s.Gaps()
	for _, line := range other.Gaps() {
		d.Gaps = append(d.Gaps, d.From+": "+line)
	}
	return d, nil
}

// LineCosts are the recorded allocations by line of a source file, as debug information
// names it.
func (s *Session) LineCosts(file string) (map[int]query.LineCost, error) {
	r, err := s.blockEvents()
	if err != nil {
		return nil, err
	}
	return r.LineCosts(file), nil
}

// Profile is what is recorded up to the moment, for reports.
func (s *Session) Profile(parts query.ProfileParts) (*report.Profile, error) {
	r, err := s.blocks()
	if err != nil {
		return nil, err
	}
	return s.profile(r, parts)
}

func (s *Session) profile(r *query.Recording, parts query.ProfileParts) (*report.Profile, error) {
	p, err := r.Profile(parts)
	if p != nil {
		p.Caveats = s.Caveats() // now that all was read
	}
	return p, err
}

// WholeProfile is Profile, also of a capture of a program that allocated nothing, or of
// which nothing is counted.
func (s *Session) WholeProfile() (*report.Profile, error) {
	if s.saved == nil || s.saved.Len() > 0 {
		r, err := s.sums()
		if err != nil {
			return nil, err
		}
		return s.profile(r, query.ProfileParts{})
	}
	x, err := heap.NewIndex(s.saved)
	if err != nil {
		return nil, err
	}
	r := s.recordingOf(s.saved, x)
	r.Moment = heap.End
	return s.profile(r, query.ProfileParts{})
}

// Baseline is the heap at an earlier moment by the stacks of p, which is a profile of the
// session.
func (s *Session) Baseline(p *report.Profile, since query.Moment) (*report.Baseline, error) {
	if p.Events == 0 {
		return s.recordingOf(s.source(), nil).Before(p, since)
	}
	r, err := s.sums()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", since, err)
	}
	return r.Before(p, since)
}

// Recording is all that is recorded up to the moment, event by event, for the
// formats that keep it. It is read while it is written, and the session must not
// be used meanwhile.
func (s *Session) Recording() (*report.Recording, error) {
	r, err := s.sums()
	if err != nil {
		return nil, err
	}
	out := r.Export()
	out.Caveats = s.Caveats()
	return out, nil
}

// SavedPath is the capture that is open, absolute, or "".
func (s *Session) SavedPath() string {
	if s.saved == nil {
		return ""
	}
	return s.savedPath
}
