package recordings

import (
	"context"
	"fmt"
	"iter"
	"path/filepath"
	"slices"

	"hdb/breakpoints"
	"hdb/capture"
	"hdb/heap"
	"hdb/internal/addr"
	"hdb/internal/cond"
	"hdb/internal/modkind"
	"hdb/names"
	"hdb/query"
	"hdb/recording"
	"hdb/report"
	"hdb/session/target"
)

// Queries asks what is recorded.
type Queries struct {
	target   *target.Target
	recorded *Recorded
	on       Neighbours
}

// Neighbours are what questions ask of other parts of the session.
type Neighbours struct {
	Likenesses *query.Likenesses                              // the events of captures that conditions name
	Function   func(name string) (breakpoints.Function, bool) // an allocator function
	Types      func() *query.BlockTypes                       // of the blocks of the heap
	// Open opens another capture, with the settings of this session, and returns what closes it.
	Open func(path string) (q *Queries, done func(), err error)
}

// NewQueries asks a recording.
func NewQueries(t *target.Target, r *Recorded, on Neighbours) *Queries { return &Queries{t, r, on} }

// RecordingOf is what questions are asked of: a source and its index, at the session's
// moment. Without an index only stacks and single events are.
func (q *Queries) RecordingOf(src capture.Source, x *heap.Index) *query.Recording {
	r := &query.Recording{
		Source: src, Index: x, Names: q.target.Names, Attribution: q.target.Attribution, Likenesses: q.on.Likenesses,
		Reading: q.target.Reading, Moment: q.recorded.moment(x), Function: q.on.Function, Types: q.on.Types(),
	}
	if x != nil {
		r.CountMappings()
	}
	if r.Moment == heap.End && q.recorded.Followed() {
		r.Now = q.recorded.Account.Rec.Live()
	}
	return r
}

// Function is an allocator function by its name.
func (q *Queries) Function(name string) (breakpoints.Function, bool) { return q.on.Function(name) }

// sums is what is recorded.
func (q *Queries) sums() (*query.Recording, error) {
	src, x, err := q.recorded.sums()
	if err != nil {
		return nil, err
	}
	return q.RecordingOf(src, x), nil
}

// events is what is recorded, an error if there are no events.
func (q *Queries) events() (*query.Recording, error) {
	src, x, err := q.recorded.events()
	if err != nil {
		return nil, err
	}
	return q.RecordingOf(src, x), nil
}

// blocks is what is recorded, an error if there are only blocks of a Go runtime.
func (q *Queries) blocks() (*query.Recording, error) {
	src, x, err := q.recorded.countedSums()
	if err != nil {
		return nil, err
	}
	return q.RecordingOf(src, x), nil
}

// BlockEvents is blocks, an error if there are no events.
func (q *Queries) BlockEvents() (*query.Recording, error) {
	src, x, err := q.recorded.CountedEvents()
	if err != nil {
		return nil, err
	}
	return q.RecordingOf(src, x), nil
}

// EventStack is the recorded stack of the event of that number.
func (q *Queries) EventStack(seq uint64) (*recording.Event, names.Stack, error) {
	e, ok := q.recorded.Event(seq)
	if !ok {
		return nil, names.Stack{}, q.recorded.NoEvent(seq)
	}
	if e.Stack == 0 {
		return e, names.Stack{}, target.ErrNoStack
	}
	return e, q.StackOf(e), nil
}

// BlockOf is the address of the block or mapping that an event made. It is an error if another block has
// its place now.
func BlockOf(q *Queries, seq uint64) (uint64, error) {
	e, ok := q.recorded.Event(seq)
	switch {
	case !ok:
		return 0, q.recorded.NoEvent(seq)
	case e.AllocationFailed():
		return 0, fmt.Errorf("#%d: this call of %s failed: it made no block", seq, e.Function)
	case e.Kind.Releases():
		return 0, fmt.Errorf("#%d: this call of %s made no block, it ended the one at %#x: use this address", seq, e.Function, e.Addr)
	case !e.Kind.Obtains() || e.Addr == 0:
		return 0, fmt.Errorf("#%d: this event made no block", seq)
	}
	if w, err := q.Whence(e.Addr); err == nil && w.Event != nil && w.Event.Seq != seq {
		return 0, fmt.Errorf("#%d: its block at %#x has ended: #%d made the block that is there now; `history %#x` lists both", seq, e.Addr, w.Event.Seq, e.Addr)
	}
	return e.Addr, nil
}

// StackOf is the stack of a recorded event, without frames if it has none.
func (q *Queries) StackOf(e *recording.Event) names.Stack {
	return q.RecordingOf(q.recorded.Source(), nil).Stack(e)
}

// Events are the recorded events behind since that match the condition, oldest first.
func (q *Queries) Events(c *cond.Cond, since query.Moment) (iter.Seq[*recording.Event], error) {
	r, err := q.events()
	if err != nil {
		return nil, err
	}
	from, err := r.After(since)
	if err != nil {
		return nil, err
	}
	return r.Events(c, from), nil
}

// Live are the recorded blocks that were allocated behind since, match the condition and are
// live at the moment, with the events of the largest; limit 0 is of all.
func (q *Queries) Live(ctx context.Context, c *cond.Cond, since query.Moment, limit int) (*query.LiveBlocks, error) {
	r, err := q.BlockEvents()
	if err != nil {
		return nil, err
	}
	return r.Live(ctx, c, since, limit)
}

// Top is the recorded allocations up to the moment, summed by what the rows represent.
func (q *Queries) Top(by heap.Measure, per query.Per) ([]heap.Row, error) {
	r, err := q.blocks()
	if err != nil {
		return nil, err
	}
	return r.Top(by, per)
}

// TopTypes is what is live at the moment, summed by the types of the blocks.
func (q *Queries) TopTypes(ctx context.Context, by heap.Measure) ([]heap.Row, error) {
	r, err := q.BlockEvents()
	if err != nil {
		return nil, err
	}
	return r.TopTypes(ctx, by)
}

// OwnerOf is the function that the block of a recorded event belongs to, "" if it is not known.
func (q *Queries) OwnerOf(e *recording.Event) string {
	frames := q.StackOf(e).Frames
	if len(frames) == 0 {
		return ""
	}
	return frames[q.target.Attribution.Owner(frames)].Name()
}

// ranPython tells that a recording is of CPython.
func ranPython(src capture.Source) bool {
	return slices.ContainsFunc(src.Modules(), func(m capture.Module) bool { return modkind.IsPython(m.Path) })
}

// PythonEnded tells that the recording is of an interpreter that has freed what its objects had.
func (q *Queries) PythonEnded() bool {
	if !q.recorded.Over() {
		return false
	}
	r, err := q.blocks()
	if err != nil || !ranPython(r.Source) {
		return false
	}
	_, peak := r.Index.Peak()
	return report.MostFreed(r.LiveBytes(), peak)
}

// TopUsual is the measure that Top has by default, as report.Profile.Usual says.
func (q *Queries) TopUsual() (heap.Measure, error) {
	if !q.recorded.Over() {
		return heap.ByLive, nil
	}
	r, err := q.blocks()
	if err != nil {
		return heap.ByLive, err
	}
	if _, peak := r.Index.Peak(); r.LiveBytes() < peak {
		return heap.ByPeak, nil
	}
	return heap.ByLive, nil
}

// TopStacks are the stacks with the largest numbers, at most limit of them, and
// how many there are of which the measure says something.
func (q *Queries) TopStacks(by heap.Measure, limit int) (rows []query.StackRow, total int, err error) {
	r, err := q.blocks()
	if err != nil {
		return nil, 0, err
	}
	rows, total = r.TopStacks(by, limit)
	return rows, total, nil
}

// Leaks are the stacks of blocks that are live, see query.Recording.Leaks.
func (q *Queries) Leaks(limit int, strict bool, s *report.Suppressions) (rows []query.StackRow, total int, kept query.Kept, err error) {
	r, err := q.blocks()
	if err != nil {
		return nil, 0, kept, err
	}
	rows, total, kept = r.Leaks(limit, strict, s)
	return rows, total, kept, nil
}

// StacksSince are the stacks of the blocks that were allocated behind a moment and are live, at
// most limit of them.
func (q *Queries) StacksSince(since query.Moment, limit int, strict bool, s *report.Suppressions) (*query.Growth, error) {
	r, err := q.BlockEvents()
	if err != nil {
		return nil, err
	}
	return r.StacksSince(since, limit, strict, s)
}

// Whence finds the recorded block around an address.
func (q *Queries) Whence(addr uint64) (*query.Whence, error) {
	r, err := q.BlockEvents()
	if err != nil {
		return nil, err
	}
	return r.Whence(addr), nil
}

// StrayFree is nil if the event freed a block, or is none of a recording's.
func (q *Queries) StrayFree(e *recording.Event) *query.StrayFree {
	if e.SizeKnown() {
		return nil
	}
	r, err := q.events()
	if err != nil {
		return nil
	}
	return r.StrayFree(e)
}

// WrongFrees are the recorded calls up to the moment that returned what was no block, and those of which that is not known.
func (q *Queries) WrongFrees() ([]*query.WrongFree, query.Unjudged, error) {
	r, err := q.BlockEvents()
	if err != nil {
		return nil, query.Unjudged{}, err
	}
	wrong, unknown := r.WrongFrees()
	return wrong, unknown, nil
}

// History are the recorded events up to the moment about blocks that held an address, see
// query.Recording.
func (q *Queries) History(addr uint64, limit int) (events []*recording.Event, total int, more bool, err error) {
	r, err := q.events()
	if err != nil {
		return nil, 0, false, err
	}
	events, total, more = r.History(addr, limit)
	return events, total, more, nil
}

// MomentOf finds a moment in the recording.
func (q *Queries) MomentOf(m query.Moment) (query.Point, error) {
	r, err := q.sums()
	if err != nil {
		return query.Point{}, fmt.Errorf("%s: %w", m, err)
	}
	return r.Point(m)
}

// FromMoment is MomentOf for a moment from which on events are asked for.
func (q *Queries) FromMoment(m query.Moment) (query.Point, error) {
	r, err := q.sums()
	if err != nil {
		return query.Point{}, fmt.Errorf("%s: %w", m, err)
	}
	return r.FromPoint(m)
}

// Diff compares two moments of the recording.
func (q *Queries) Diff(from, to query.Moment, per query.Per) (*query.Diff, error) {
	r, err := q.blocks()
	if err != nil {
		return nil, err
	}
	if q.recorded.NoAllocatorKnown() {
		return nil, ErrUnfollowed
	}
	d, err := r.Diff(from, to, per)
	if err == nil {
		d.Gaps = q.recorded.Gaps()
	}
	return d, err
}

// DiffCapture compares the end of another capture with the present moment.
func (q *Queries) DiffCapture(path string, per query.Per) (*query.Diff, error) {
	other, done, err := q.on.Open(path)
	if err != nil {
		return nil, err
	}
	defer done()
	a, err := other.blocks()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	b, err := q.blocks()
	if err != nil {
		return nil, err
	}
	if q.recorded.NoAllocatorKnown() {
		return nil, ErrUnfollowed
	}
	d, err := b.DiffOf(a, path, per, q.recorded.Over() && other.recorded.Over())
	if err != nil {
		return nil, err
	}
	if q.target.Saved != nil && !q.recorded.moved {
		to := q.target.Saved.Path()
		if d.To = filepath.Base(to); d.To == d.From { // captures of two folders
			d.From, d.To = path, to
		}
	}
	d.Gaps = q.recorded.Gaps()
	for _, line := range other.recorded.Gaps() {
		d.Gaps = append(d.Gaps, d.From+": "+line)
	}
	return d, nil
}

// LineCosts are the recorded allocations by line of a source file, as debug information
// names it.
func (q *Queries) LineCosts(file string) (map[int]query.LineCost, error) {
	r, err := q.BlockEvents()
	if err != nil {
		return nil, err
	}
	return r.LineCosts(file), nil
}

// Profile is what is recorded up to the moment, for reports.
func (q *Queries) Profile(parts query.ProfileParts) (*report.Profile, error) {
	r, err := q.blocks()
	if err != nil {
		return nil, err
	}
	return q.profile(r, parts)
}

func (q *Queries) profile(r *query.Recording, parts query.ProfileParts) (*report.Profile, error) {
	p, err := r.Profile(parts)
	if p != nil {
		p.Caveats = q.recorded.Caveats() // now that all was read
		p.Over = q.recorded.Over() && parts.To == query.Present
	}
	return p, err
}

// WholeProfile is Profile, also of a capture of a program that allocated nothing, or of
// which nothing is counted.
func (q *Queries) WholeProfile() (*report.Profile, error) {
	src := capture.Source(nil)
	switch {
	case q.target.Saved != nil:
		src = q.target.Saved
	case q.recorded.NoAllocatorKnown():
		src = q.recorded.Source()
	}
	if src == nil || src.Len() > 0 {
		r, err := q.sums()
		if err != nil {
			return nil, err
		}
		return q.profile(r, query.ProfileParts{Collected: true})
	}
	x, err := heap.NewIndex(src)
	if err != nil {
		return nil, err
	}
	r := q.RecordingOf(src, x)
	r.Moment = heap.End
	return q.profile(r, query.ProfileParts{})
}

// Baselines returns the live bytes by the stacks of p, a profile of the recording, at a moment, and those before the program frees
// its memory at its end (nil if it does not).
func (q *Queries) Baselines(p *report.Profile, since query.Moment) (at, until *report.Baseline, err error) {
	if p.Events == 0 {
		at, err = q.RecordingOf(q.recorded.Source(), nil).Before(p, since)
		return at, nil, err
	}
	r, err := q.sums()
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", since, err)
	}
	if at, err = r.Before(p, since); err != nil || !p.Over {
		return at, nil, err
	}
	if last := r.Working(); last != query.Present {
		if until, err = r.Before(p, last); err == nil && until.Seq <= at.Seq {
			until = nil
		}
	}
	return at, until, err
}

// Recording is all that is recorded up to the moment, event by event, for the
// formats that keep it. It is read while it is written, and the session must not
// be used meanwhile.
func (q *Queries) Recording() (*report.Recording, error) {
	r, err := q.sums()
	if err != nil {
		return nil, err
	}
	out := r.Export()
	out.Caveats = q.recorded.Caveats()
	return out, nil
}

// LocateCode notes in a profile where the code of its modules is in their files: of modules that
// frames are in, and whose files are here.
func (q *Queries) LocateCode(p *report.Profile) {
	used := make([]bool, len(p.Modules))
	for i := range p.Frames {
		if m := p.Frames[i].Module; m >= 0 {
			used[m] = true
		}
	}
	for i := range p.Modules {
		if !used[i] {
			continue
		}
		m := &p.Modules[i]
		segments, ok := q.target.Names.CodeSegments(i, addr.Run(m.Low), addr.Run(m.High), addr.Bias(m.Bias))
		if !ok {
			continue
		}
		m.Code = nil
		for _, seg := range segments {
			m.Code = append(m.Code, report.Segment{Low: uint64(seg.Low), High: uint64(seg.High), Offset: seg.Offset})
		}
	}
}
