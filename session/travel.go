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
	"hdb/session/heaps"
	"hdb/session/recordings"
	"hdb/session/stopped"
	"hdb/session/target"
	"hdb/session/view"
)

// Travel brings the view to moments of a capture, or of the recording of the process, which is
// stopped meanwhile; and it names those of a recording under way.
type Travel struct {
	target   *target.Target
	sel      *view.Selection
	demand   *demands // whose stops a replay looks for
	recorded *recordings.Recorded
	queries  *recordings.Queries
	types    *heaps.BlockTypes
}

// Goto brings the view to a moment, see MomentOf: its event is selected, for bt,
// frame and list, and what is asked about the heap is answered as it was after it. The start
// has no event: it goes to the first one.
func (t *Travel) Goto(moment query.Moment) (*stopped.Report, error) {
	if err := t.hasPast(); err != nil {
		return nil, fmt.Errorf("goto %s: %w", moment, err)
	}
	p, err := t.queries.MomentOf(moment)
	if err != nil {
		return nil, fmt.Errorf("goto: %w", err)
	}
	if p.Stop != 0 {
		return t.gotoStop(p.Stop, p.Seq), nil
	}
	switch {
	case p.Seq == heap.End:
		return t.gotoEnd()
	case moment.IsStart():
		x, err := t.recorded.Index()
		if err != nil {
			return nil, err
		}
		p.Seq = x.Nth(0)
	}
	r, err := t.gotoEvent(p.Seq)
	if err == nil {
		r.Drawn = p.Drawn
	}
	return r, err
}

// gotoEnd brings the view to the end: of a process that runs to where it is.
func (t *Travel) gotoEnd() (*stopped.Report, error) {
	if t.target.Proc != nil {
		return t.Present()
	}
	x, err := t.recorded.Index()
	if err != nil {
		return nil, err
	}
	r, err := t.gotoEvent(x.Last())
	t.recorded.ToEnd()
	return r, err
}

// HasPast tells that there are moments to go to: of a capture, or recorded of the process that
// runs or ran last.
func (t *Travel) HasPast() bool { return t.hasPast() == nil }

// hasPast is why there are no moments to go to, nil if there are: of a capture, of the
// recording of the process that is stopped, or of the last one's.
func (t *Travel) hasPast() error {
	switch {
	case t.target.Mode() == target.Saved:
		return nil
	case t.target.Alongside:
		return target.ErrNotStopped
	case t.target.Mode() == target.Core:
		return errors.New("a core file has no recording to move in")
	case t.target.Mode() != target.Live && t.recorded.WholeSource() == nil:
		return target.ErrNotRunning
	}
	_, err := t.recorded.SomeSource()
	return err
}

// Present brings the view of a process back to where it is, of one that has ended to where nothing
// is selected; the view of a capture to its end.
func (t *Travel) Present() (*stopped.Report, error) {
	switch {
	case t.target.Saved != nil:
		return t.gotoEnd()
	case t.target.Proc == nil && !t.target.Past:
		return nil, target.ErrNotRunning
	}
	t.sel.ToPresent()
	r := &stopped.Report{Causes: []stopped.Cause{&stopped.Past{Text: "now"}}, Elapsed: t.target.Now()}
	if t.sel.Cur.Thread != nil {
		r.Thread = t.sel.ThreadInfo(t.sel.Cur.Thread)
	}
	if st, err := t.sel.Stack(0); err == nil && len(st.Frames) > 0 {
		r.Frames = st.Frames[:min(t.sel.Cur.Num, len(st.Frames)-1)+1]
	}
	return r, nil
}

// gotoEvent brings the view to the event.
func (t *Travel) gotoEvent(seq uint64) (*stopped.Report, error) {
	e, ok := t.recorded.Event(seq)
	if !ok {
		return nil, t.recorded.NoEvent(seq)
	}
	t.sel.LeavePresent()
	t.recorded.Seek(seq)
	t.sel.SelectRecorded(seq, e.Stack, seq)
	return t.complete(&stopped.Report{Causes: []stopped.Cause{&stopped.Allocation{Event: e, Stray: t.queries.StrayFree(e)}}, Elapsed: e.Time}, e.TID), nil
}

// complete completes the report of the moment that the view was brought to.
func (t *Travel) complete(r *stopped.Report, tid int32) *stopped.Report {
	for _, t := range t.recorded.Threads() {
		if t.TID == tid {
			r.Thread = view.ThreadInfo{Num: t.Num, TID: int(t.TID), Name: t.Name, Selected: true}
		}
	}
	if st, err := t.sel.SavedStack(); err == nil && len(st.Frames) > 0 {
		t.sel.Cur.Num = t.sel.UserFrame(st.Frames)
		r.Frames = st.Frames[:t.sel.Cur.Num+1]
		if a := stopped.CauseOf[*stopped.Allocation](r); a != nil {
			a.Go = t.goAllocation(a.Event, st.Frames)
		}
	}
	return r
}

// gotoStop brings the view to a recorded stop, which was after event #at. The
// stack that was shown there is selected.
func (t *Travel) gotoStop(n int, at uint64) *stopped.Report {
	st := t.recorded.Stops()[n-1]
	t.sel.LeavePresent()
	t.recorded.Seek(at)
	t.sel.SelectRecorded(st.Event, st.Stack, at)
	return t.complete(&stopped.Report{Causes: []stopped.Cause{&stopped.Past{Text: fmt.Sprintf("stop %d: %s", n, st.Text)}}, Elapsed: st.Time}, st.TID)
}

// travel moves the view to the next event that is wanted, in the direction.
func (t *Travel) travel(ctx context.Context, d query.Direction, wanted func(*recording.Event, cond.Env) bool) (*stopped.Report, error) {
	if err := t.hasPast(); err != nil {
		return nil, err
	}
	if err := t.recorded.NoEvents(); err != nil {
		return nil, err
	}
	x, err := t.recorded.Index()
	if err != nil {
		return nil, err
	}
	rec := t.queries.RecordingOf(t.recorded.Source(), x)
	if e := t.sel.Event(); e != nil && t.target.Proc != nil && !t.target.Past {
		rec.Moment = e.Seq // the process is at it
	}
	seq, found, err := rec.Find(ctx, d, wanted)
	end := "the recording ends here"
	if d == query.Back {
		end = "the recording begins here"
	}
	switch {
	case err != nil:
		return nil, err
	case d == query.Forward && !found && t.target.Past && t.target.Proc != nil:
		t.target.Notify("the recording goes no further: this is the present")
		return t.Present()
	case seq == 0:
		return nil, fmt.Errorf("%s: the recording has no more events in this direction; use goto", end)
	case !found:
		t.target.Notify("%s", end)
	}
	return t.gotoEvent(seq)
}

// Replay moves the view to the n-th event in the direction that an allocation
// stop wants, or to its end. A dprintf is no stop, and has nothing to read there.
func (t *Travel) Replay(ctx context.Context, d query.Direction, n int) (*stopped.Report, error) {
	var hits []*breakpoints.Stop // of the event that is looked at
	r, err := t.travel(ctx, d, func(e *recording.Event, env cond.Env) bool {
		hits = t.meet(e, env)
		if len(hits) > 0 {
			n--
		}
		return n == 0
	})
	if err == nil {
		r.Hits, r.Uncounted = hits, t.target.Saved == nil
	}
	return r, err
}

// meet lists the stops that a recorded event meets. Hits are counted in a capture alone:
// those of a process count what that did, or the next one will do.
func (t *Travel) meet(e *recording.Event, env cond.Env) (hits []*breakpoints.Stop) {
	fn, ok := t.queries.Function(e.Function)
	if !ok {
		fn = breakpoints.Function{Name: e.Function, Symbol: e.Function, Kind: e.Kind}
	}
	call := recording.Recalled(fn, e.Event)
	for _, st := range t.demand.stops.All() {
		if st.Print == nil && st.Wants(call) && st.Meets(env) == cond.True && (t.target.Saved == nil || st.Hit()) {
			hits = append(hits, st)
		}
	}
	for _, st := range hits {
		if st.Temporary && t.target.Saved != nil {
			t.demand.stops.Delete(st.ID)
		}
	}
	return hits
}

// ReplayTo moves the view to the n-th event in the direction that makes a block
// or mapping, or that gives one back, and matches the condition, which may be nil.
func (t *Travel) ReplayTo(ctx context.Context, d query.Direction, frees bool, n int, c *cond.Cond) (*stopped.Report, error) {
	left := max(n, 1)
	return t.travel(ctx, d, func(e *recording.Event, env cond.Env) bool {
		freed := e.Kind == capture.Free || e.Kind == capture.Unmap
		if freed == frees && e.Kind != capture.Mark && e.Kind != capture.Protect && (c == nil || c.Eval(env)) {
			left--
		}
		return left == 0
	})
}

// Mark names the moment of a recording under way, so that goto, diff and reports find it. It returns
// the name that the moment got: with a number if a mark has the name already.
func (t *Travel) Mark(name string) (given string, seq uint64, err error) {
	switch {
	case t.target.Saved != nil:
		return "", 0, errors.New("mark: an opened capture cannot be changed")
	case t.target.Past:
		return "", 0, fmt.Errorf("mark: %w", target.ErrPast)
	case t.recorded.Account.Rec.On() && t.target.Proc == nil:
		return "", 0, errors.New("mark: no process is recorded yet: use run, start or attach")
	case !t.recorded.Account.Rec.On():
		return "", 0, errors.New("mark: nothing is being recorded: use record start")
	case isTime(name):
		return "", 0, fmt.Errorf("mark %q: a time is not a name", name)
	case reservedMoment(name):
		return "", 0, fmt.Errorf("mark %q: not a name", name)
	}
	t.target.Exclusive(func() { given, seq = t.recorded.Account.Rec.AddMark(name, t.target.Now()) })
	return given, seq, nil
}

// reservedMoment tells what no mark can be called, as it is another moment already.
func reservedMoment(name string) bool {
	_, isStop := query.StopNumber(name)
	return name == "" || strings.HasPrefix(name, "#") || strings.HasSuffix(name, "%") ||
		slices.Contains([]string{"peak", "start", "end", "now"}, name) || isStop || isTime(name)
}

func isTime(name string) bool {
	_, err := time.ParseDuration(name)
	return err == nil
}
