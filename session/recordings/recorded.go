package recordings

import (
	"errors"
	"fmt"
	"path/filepath"

	"hdb/capture"
	"hdb/heap"
	"hdb/query"
	"hdb/recording"
	"hdb/report"
	"hdb/session/target"
)

// Recorded is the recording that can be asked, of this run, of the last one or of a capture, and
// what makes answers drawn from it less certain.
type Recorded struct {
	target     *target.Target
	Account    *target.Account
	recorder   recorder
	unreadable error // why the recording of this run cannot be asked
	indexed    indexed
	moved      bool   // what is recalled was brought to
	at         uint64 // the moment after this event, rather than to its end
}

// recorder is what takes the events of the process.
type recorder interface {
	// FileSource is what a recording within bounds has kept.
	FileSource(*recording.File) (capture.Source, error)
	// NoteLosses adds the calls that are in no event to the recording.
	NoteLosses()
	// Progress is Recorded.Status except the live blocks that are recorded, which have to be counted.
	Progress() RecordStatus
	// Bounded reports whether the recording is kept within bounds, and in which.
	Bounded() (recording.Bounds, bool)
}

// NewRecorded asks the recording of a target, or the capture that it has open.
func NewRecorded(t *target.Target, a *target.Account, r recorder) *Recorded {
	return &Recorded{target: t, Account: a, recorder: r}
}

// indexed is the index of the recording that was asked last.
type indexed struct {
	of    capture.Source
	index *heap.Index
}

// Source is the events that can be asked about: of this run, of the last one, or
// of the capture. They end early when the reading is given up.
func (r *Recorded) Source() capture.Source { return r.target.Reading.Of(r.WholeSource()) }

// WholeSource is Source, to its end.
func (r *Recorded) WholeSource() capture.Source {
	r.unreadable = nil
	if r.target.Saved != nil {
		return r.target.Saved
	}
	if log := r.Account.Rec.Log(); log != nil {
		return log
	}
	if f := r.Account.Rec.File(); f != nil && f.Kept() {
		src, err := r.recorder.FileSource(f)
		if r.unreadable = err; err != nil {
			return nil
		}
		return src
	}
	return nil
}

// SomeSource is Source, or an error that tells what to do when it has no events.
func (r *Recorded) SomeSource() (capture.Source, error) {
	src := r.Source()
	switch {
	case src != nil && src.Len() > 0:
		return src, nil
	case src == nil && r.unreadable != nil:
		return nil, fmt.Errorf("the recording cannot be read: %w", r.unreadable)
	case src != nil && hasGo(src):
		return nil, goError(src)
	case r.NoEvents() != nil:
		return nil, r.NoEvents()
	case r.target.Saved != nil && r.target.Saved.Damage() != nil:
		return nil, r.target.Saved.Damage()
	case r.target.Proc == nil && r.NoAllocatorKnown():
		return nil, ErrUnfollowed
	case r.target.Saved != nil:
		return nil, errors.New("no event was recorded: the capture has none")
	case r.Account.Rec.On() && r.target.Proc == nil:
		return nil, errors.New("no event was recorded yet: use run, start or attach")
	case r.Account.Rec.On() && src != nil:
		return src, nil // which fills when the process continues: Waiting says so
	case r.target.Image == nil:
		return nil, errNothing
	}
	return nil, ErrNothingRecorded
}

// ErrUnfollowed tells that nothing is known of what a program allocates.
var ErrUnfollowed = fmt.Errorf("no event was recorded: %s", report.ReasonText(capture.Reason{Kind: capture.NoAllocator}))

// errNothing tells that there is neither a process, a core file nor a recording.
var errNothing = errors.New("no process and no recording: use run, start or attach, or open a capture")

// ErrNothingRecorded is of a process or a core file.
var ErrNothingRecorded = errors.New("nothing was recorded: use record start, or open a capture")

// Waiting says that the recording of a process has no event yet, "" if it has, or if there is
// none.
func (r *Recorded) Waiting() string {
	if r.target.Saved != nil || r.target.Proc == nil || !r.Account.Rec.On() {
		return ""
	}
	switch src := r.WholeSource(); {
	case src == nil || src.Len() > 0 || src.Info().Totals.Events > 0:
		return ""
	case src.Info().Partial.Has(capture.NoAllocator):
		return ErrUnfollowed.Error()
	case r.Account.Rec.Filter() != nil:
		return fmt.Sprintf("no event with %s was recorded yet: continue, or change the record filter", r.Account.Rec.Filter())
	}
	return "no event was recorded yet: continue, and stop later"
}

// Summed is SomeSource, but also returns a recording that has sums instead of events.
func (r *Recorded) Summed() (capture.Source, error) {
	if r.NoEvents() != nil {
		return r.Source(), nil
	}
	return r.SomeSource()
}

// NoEvents is why there are no events to go through, though there are sums, or nil.
func (r *Recorded) NoEvents() error {
	if src := r.Source(); src != nil && src.Info().Aggregate && src.Info().Totals.Events > 0 {
		return query.ErrSums
	}
	return nil
}

// Index is what answers questions about the heap of what is recorded: of this
// run, of the last one, or of the capture.
func (r *Recorded) Index() (*heap.Index, error) {
	if _, err := r.Summed(); err != nil {
		return nil, err
	}
	if of := r.WholeSource(); r.indexed.of != of {
		x, err := heap.ReadIndex(r.target.Reading, of)
		if err != nil {
			return nil, err
		}
		r.indexed.of, r.indexed.index = of, x
	} else if err := r.indexed.index.Update(); err != nil {
		return nil, err
	}
	return r.indexed.index.For(r.target.Reading), nil
}

// sums is what is recorded, with its index.
func (r *Recorded) sums() (capture.Source, *heap.Index, error) {
	src, err := r.Summed()
	if err != nil {
		return nil, nil, err
	}
	x, err := r.Index()
	return src, x, err
}

// events is sums, or an error that tells what to do when there are
// no events.
func (r *Recorded) events() (capture.Source, *heap.Index, error) {
	src, err := r.SomeSource()
	if err != nil {
		return nil, nil, err
	}
	x, err := r.Index()
	return src, x, err
}

// hasGo reports whether a Go runtime allocated what the recording does not count.
func hasGo(src capture.Source) bool { return src.Info().Partial.Has(capture.GoHeap) }

// ErrGo is why nothing is said of the blocks of a Go program.
var ErrGo = errors.New("the program allocates only through the Go runtime, which is not recorded: at a stop, leaks, live and top per type read its heap")

// goError is the error of a recording.
func goError(src capture.Source) error {
	return fmt.Errorf("%s is a Go program: %w", filepath.Base(src.Info().Program), ErrGo)
}

// countedSums is sums for questions about blocks, an error if there are only
// those of a Go runtime.
func (r *Recorded) countedSums() (capture.Source, *heap.Index, error) {
	src, x, err := r.sums()
	if err != nil || !hasGo(src) {
		return src, x, err
	}
	for _, f := range x.Totals(heap.End).Flows {
		if f.Allocs > 0 {
			return src, x, nil // of C code
		}
	}
	return nil, nil, goError(src)
}

// CountedEvents is countedSums where there are events.
func (r *Recorded) CountedEvents() (capture.Source, *heap.Index, error) {
	if _, _, err := r.events(); err != nil {
		return nil, nil, err
	}
	return r.countedSums()
}

// Seek sets the moment that questions are answered for: after an event.
func (r *Recorded) Seek(at uint64) { r.at, r.moved = at, true }

// Over reports whether answers are for the end of the recording, and the program has ended.
func (r *Recorded) Over() bool {
	return r.target.Mode() != target.Live && !r.brought() && !r.savedAtStop()
}

// savedAtStop reports whether a capture was saved while its program was stopped: then the stop is what is looked at. The last
// stop of a program that has ended has no thread.
func (r *Recorded) savedAtStop() bool {
	stops := r.Stops()
	return r.target.Mode() == target.Saved && len(stops) > 0 && stops[len(stops)-1].TID != 0
}

// brought tells that the view is at a moment before the end.
func (r *Recorded) brought() bool { return r.target.Recalled() && r.moved }

// ToEnd has questions answered as of the end.
func (r *Recorded) ToEnd() { r.at, r.moved = 0, false }

// moment is the number of the event after which questions about the heap are
// answered: the one that a capture was brought to, otherwise all there is. While the
// process runs it is the last event that the index has: all parts of an answer are of one
// moment.
func (r *Recorded) moment(x *heap.Index) uint64 {
	switch {
	case r.brought():
		return r.at
	case !r.target.Alongside || x == nil:
		return heap.End
	}
	return x.Last()
}

// Followed tells that the live heap that the recording follows is the heap at the end of a log in memory, and does
// not change.
func (r *Recorded) Followed() bool {
	return r.target.Mode() == target.Live && !r.target.Alongside && r.target.Proc != nil && r.Account.Rec.Log() != nil
}

// Now is what lives by the events that were seen, recorded or not.
func (r *Recorded) Now() recording.Live { return r.Account.Rec.Live() }

// CallsMissed reports whether calls of the process were not followed.
func (r *Recorded) CallsMissed() bool { return r.Account.Gaps.Calls() }

// Seq is the number of the last event that was seen.
func (r *Recorded) Seq() uint64 { return r.Account.Rec.Seq() }

// Event is the recorded event of that number.
func (r *Recorded) Event(seq uint64) (*recording.Event, bool) {
	src := r.Source()
	if src == nil {
		return nil, false
	}
	return query.EventAt(src, seq)
}

// NoEvent is the error for the number of an event that is not recorded.
func (r *Recorded) NoEvent(seq uint64) error {
	src, err := r.SomeSource()
	if err != nil {
		return fmt.Errorf("#%d: %w", seq, err)
	}
	return fmt.Errorf("#%d: not among the %d recorded events: see allocs", seq, src.Len())
}

// Info is what the capture says of itself.
func (r *Recorded) Info() (capture.Info, error) {
	src := r.Source()
	if src == nil {
		_, err := r.SomeSource()
		return capture.Info{}, err
	}
	return src.Info(), nil
}

// Threads are the threads that the events speak of.
func (r *Recorded) Threads() []capture.Thread {
	if src := r.Source(); src != nil {
		return src.Threads()
	}
	return nil
}

// Stops are the stops of the session so far, or of the saved one.
func (r *Recorded) Stops() []capture.StopRecord {
	if src := r.Source(); src != nil {
		return src.Stops()
	}
	return nil
}

// Marks are the named moments of the recording.
func (r *Recorded) Marks() []capture.MarkRecord {
	if src := r.Source(); src != nil {
		return src.Marks()
	}
	return nil
}

// Counts are how many events are recorded, of how many: in this run, or in the capture's, where
// only those up to the last event or stop are known of.
func (r *Recorded) Counts() (recorded, seen uint64) {
	if r.target.Saved == nil {
		r.target.Exclusive(func() {
			st := r.Account.Rec.Status()
			recorded, seen = st.Recorded, st.Seen
		})
		return recorded, seen
	}
	recorded = uint64(r.target.Saved.Len())
	seen = max(recorded, r.target.Saved.Info().Totals.Events)
	if r.target.Saved.Info().Aggregate {
		recorded = seen // though not one by one
	}
	for e := range r.target.Saved.Events(seen + 1) { // none if all events were recorded
		seen = e.Seq
	}
	for _, st := range r.target.Saved.Stops() {
		seen = max(seen, st.Seq)
	}
	return recorded, seen
}
