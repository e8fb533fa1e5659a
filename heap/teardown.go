package heap

import "hdb/capture"

// teardownFrees is how many times as many bytes a program frees as it allocates while it frees its memory at its end.
const teardownFrees = 9

// A traffic is how much was allocated and freed up to a moment.
type traffic struct {
	seq              uint64
	allocated, freed uint64 // bytes
	allocs, frees    uint64
}

// weight grows as long as the program works, and falls while it frees its memory.
func (f *traffic) weight() int64 { return teardownFrees*int64(f.allocated) - int64(f.freed) }

// Teardown is an event shortly before the program frees its memory at its end, as by destructors or when an interpreter ends: after
// it at least half of the blocks, and of their bytes, are freed, and little is allocated. 0: there is no such part at the end of the recording.
func (x *Index) Teardown() uint64 {
	var now, best traffic
	at := 0 // the run that best is the end of
	for i, r := range x.runs {
		now.run(r)
		if now.weight() >= best.weight() {
			best, at = now, i
		}
		if x.read.GivenUp() {
			return 0
		}
	}
	end := now
	if at < len(x.runs) { // within the runs at both sides the weight may be higher
		now = traffic{}
		for _, r := range x.runs[:at] {
			now.run(r)
		}
		from, to := x.runs[at].First, x.runs[min(at+1, len(x.runs)-1)].Last
		for e := range x.src.Events(from) {
			if e.Seq > to || x.read.GivenUp() {
				break
			}
			if now.event(&e); now.weight() >= best.weight() {
				best = now
			}
		}
	}
	if most(best.allocated, best.freed, end.freed) && most(best.allocs, best.frees, end.frees) { // a large block alone is no sign
		return x.lowest(best.seq)
	}
	return 0
}

// maxLowest is how many events are looked at for the least that was live.
const maxLowest = 1 << 20

// lowest is the last event up to #to after which least was live, of those in the last twentieth of the events, or the last million:
// what is allocated for a moment does not count.
func (x *Index) lowest(to uint64) (seq uint64) {
	from := to - min(to/20, maxLowest)
	live := x.Totals(from).Live
	least := live
	seq = from
	for e := range x.src.Events(from + 1) {
		if e.Seq > to || x.read.GivenUp() {
			break
		}
		if e.Ended.Recorded {
			live -= min(live, e.Ended.Size)
		}
		if e.Allocates() {
			live += e.Size
		}
		if live <= least {
			seq, least = e.Seq, live
		}
	}
	return seq
}

// most reports whether at least half of the live amount at a moment is freed by the end.
func most(allocated, freed, atEnd uint64) bool {
	live, then := allocated-min(freed, allocated), atEnd-min(freed, atEnd)
	return then > 0 && then >= live/2
}

// run adds a whole run.
func (f *traffic) run(r *capture.Summary) {
	f.seq = r.Last
	for i := range r.Flows {
		f.allocated += r.Flows[i].Bytes
		f.freed += r.Flows[i].Freed
		f.allocs += r.Flows[i].Allocs
		f.frees += r.Flows[i].Frees
	}
}

func (f *traffic) event(e *capture.Event) {
	f.seq = e.Seq
	if e.Ended.Recorded {
		f.freed += e.Ended.Size
		f.frees++
	}
	if e.Allocates() {
		f.allocated += e.Size
		f.allocs++
	}
}
