package session

import (
	"iter"
	"math"
	"slices"

	"hdb/capture"
	"hdb/heap"
)

// A replay follows recorded events to learn what is live. The blocks of a program
// that executed another one end with it, although no call says so.
type replay struct {
	*heap.Live
	execs []uint64 // numbers of the first events after each exec to come
}

func newReplay(src capture.Source) *replay {
	return &replay{heap.NewLive(), execs(src.Modules())}
}

// before brings the heap to the moment before event seq. It returns the heap that
// an exec ended on the way, nil if there was none.
func (r *replay) before(seq uint64) *heap.Live {
	if len(r.execs) == 0 || seq < r.execs[0] {
		return nil
	}
	for len(r.execs) > 0 && r.execs[0] <= seq {
		r.execs = r.execs[1:]
	}
	ended := r.Live
	r.Live = heap.NewLive()
	return ended
}

// execs finds where the whole image was replaced: the numbers of the first events
// of new images, ascending. At such a number modules end and none from before it
// stays; dlclose leaves the program itself mapped, and so does a change to a held
// process.
func execs(modules []capture.Module) []uint64 {
	var ends []uint64
	for _, m := range modules {
		stays := func(o capture.Module) bool { return o.From < m.To && (o.To == 0 || o.To > m.To) }
		if m.To != 0 && !slices.Contains(ends, m.To) && !slices.ContainsFunc(modules, stays) {
			ends = append(ends, m.To)
		}
	}
	slices.Sort(ends)
	return ends
}

// replayed is the heap that the recorded events leave.
func replayed(src capture.Source) *heap.Live {
	state := newReplay(src)
	for e := range src.Events(0) {
		state.before(e.Seq)
		state.Apply(e)
	}
	state.before(math.MaxUint64) // an exec after the last event
	return state.Live
}

// endings is a recording whose events from the first on tell of the blocks that
// execs ended, as frees with the number of the event that comes next.
type endings struct{ capture.Source }

// Events yields the recorded events and those frees.
func (s endings) Events(from uint64) iter.Seq[capture.Event] {
	if len(execs(s.Modules())) == 0 {
		return s.Source.Events(from)
	}
	return func(yield func(capture.Event) bool) {
		state := newReplay(s.Source)
		frees := func(seq uint64) bool {
			ended := state.before(seq)
			if ended == nil {
				return true
			}
			for block := range ended.All() {
				if !yield(capture.Event{Seq: seq, Kind: capture.Free, Addr: block}) {
					return false
				}
			}
			return true
		}
		for e := range s.Source.Events(from) {
			if !frees(e.Seq) {
				return
			}
			state.Apply(e)
			if !yield(e) {
				return
			}
		}
		frees(math.MaxUint64) // an exec after the last event
	}
}
