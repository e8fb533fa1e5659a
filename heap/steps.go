package heap

import (
	"iter"
	"slices"
	"sort"

	"hdb/capture"
)

// A Step is an event with the heap after it.
type Step struct {
	capture.Event
	Live, Blocks uint64 // bytes and number of live blocks
}

// follow makes s the step that e leads to.
func (s *Step) follow(e *capture.Event) {
	s.Event = *e
	if e.Ended.Recorded {
		s.Live -= e.Ended.Size
		s.Blocks--
	}
	if e.Allocates() {
		s.Live += e.Size
		s.Blocks++
	}
}

// runOf is the index of the run that #seq is in or before.
func (x *Index) runOf(seq uint64) int {
	return sort.Search(len(x.runs), func(i int) bool { return x.runs[i].Last >= seq })
}

// before is the heap before the first event of run i.
func (x *Index) before(i int) (s Step) {
	if i > 0 && !x.runs[i].Fresh {
		s.Live, s.Blocks = x.runs[i-1].Live, x.runs[i-1].Blocks
	}
	return s
}

// Steps yields the events from #from on, ascending. A step is only valid until
// the next.
func (x *Index) Steps(from uint64) iter.Seq[*Step] {
	return func(yield func(*Step) bool) {
		i := x.runOf(from)
		if i == len(x.runs) {
			return
		}
		s := x.before(i)
		for e := range x.src.Events(x.runs[i].First) {
			for e.Seq > x.runs[i].Last {
				if i++; i == len(x.runs) {
					return // recorded since
				}
				if x.runs[i].Fresh {
					s = Step{}
				}
			}
			if s.follow(&e); e.Seq >= from && !yield(&s) {
				return
			}
		}
	}
}

// StepsBack yields the events from #from on, descending. A step is only valid
// until the next.
func (x *Index) StepsBack(from uint64) iter.Seq[*Step] {
	return func(yield func(*Step) bool) {
		var steps []Step
		for i := min(x.runOf(from), len(x.runs)-1); i >= 0; i-- {
			steps = x.stepsOf(steps[:0], i)
			for j := range slices.Backward(steps) {
				if s := &steps[j]; s.Seq <= from && !yield(s) {
					return
				}
			}
		}
	}
}

// About yields the events about blocks and mappings that held the address, from #from
// on, descending, each with the number of events read so far. Runs that say that they
// have none are not read.
func (x *Index) About(addr, from uint64) iter.Seq2[*capture.Event, int] {
	return func(yield func(*capture.Event, int) bool) {
		var about []capture.Event
		read := 0
		for i := min(x.runOf(from), len(x.runs)-1); i >= 0; i-- {
			r := x.runs[i]
			if !r.MayTouch(addr) {
				continue
			}
			read += r.Events
			about = about[:0]
			for e := range x.src.Events(r.First) {
				if e.Seq > min(from, r.Last) {
					break
				}
				if touches(&e, addr) {
					about = append(about, e)
				}
			}
			for j := range slices.Backward(about) {
				if !yield(&about[j], read) {
					return
				}
			}
		}
	}
}

// stepsOf appends the steps of run i.
func (x *Index) stepsOf(steps []Step, i int) []Step {
	s := x.before(i)
	for e := range x.src.Events(x.runs[i].First) {
		if e.Seq > x.runs[i].Last {
			break
		}
		s.follow(&e)
		steps = append(steps, s)
	}
	return steps
}
