package query

import (
	"context"
	"iter"

	"hdb/heap"
	"hdb/internal/cond"
	"hdb/recording"
)

// A Direction is where a capture is moved to.
type Direction bool

// The directions.
const (
	Forward Direction = false
	Back    Direction = true
)

// steps are the recorded events from the moment on, without the one there. A
// step is only valid until the next.
func (r *Recording) steps(d Direction) iter.Seq[*heap.Step] {
	switch {
	case d == Back && r.Moment == heap.End:
		return r.Index.StepsBack(heap.End)
	case r.Moment == heap.End || d == Back && r.Moment == 0:
		return func(func(*heap.Step) bool) {}
	case d == Back:
		return r.Index.StepsBack(r.Moment - 1)
	}
	return r.Index.Steps(r.Moment + 1)
}

// Find is the next event in the direction that is wanted, by what conditions are asked of.
// Without one it is the last event there, and found is false; 0 if there is none.
func (r *Recording) Find(ctx context.Context, d Direction, wanted func(*recording.Event, cond.Env) bool) (seq uint64, found bool, err error) {
	env := r.newEnvironment()
	for step := range r.steps(d) {
		if ctx.Err() != nil {
			return 0, false, ctx.Err()
		}
		e := withName(r.Source, step.Event)
		seq = e.Seq
		if wanted(e, env.at(e, step)) {
			return seq, true, nil
		}
	}
	return seq, false, nil
}
