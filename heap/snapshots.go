package heap

import "iter"

// Snapshots yields the totals after each of the events, which must ascend, and
// goes through the recording once for all of them. They are the same Totals each
// time, which change with the next step. Where events were not kept they are as of
// the last moment before that is known.
func (x *Index) Snapshots(seqs []uint64) iter.Seq[*Totals] {
	return func(yield func(*Totals) bool) {
		t, stopped := x.Totals(0), false
		// reach yields what is asked for before event #next.
		reach := func(next uint64) (more bool) {
			for !stopped && len(seqs) > 0 && seqs[0] < next {
				stopped = !yield(t)
				seqs = seqs[1:]
			}
			return !stopped && len(seqs) > 0
		}
		for _, r := range x.runs {
			if !reach(r.First) {
				return
			}
			if r.Fresh {
				t.replaced()
			}
			if seqs[0] >= r.Last {
				t.add(r)
				continue
			}
			read := 0
			for e := range x.src.Events(r.First) {
				if e.Seq > r.Last || read == 0 && e.Seq != r.First {
					break
				}
				if !reach(e.Seq) {
					return
				}
				t.event(&e)
				read++
			}
			if read < int(r.Events) { // they were not kept: within the run nothing more is known
				if !reach(r.Last) {
					return
				}
				*t = *x.Totals(r.Last)
			}
		}
		for range seqs {
			if !yield(t) {
				return
			}
		}
	}
}
