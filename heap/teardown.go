package heap

import "hdb/capture"

// teardownFrees is how many times as many bytes a program frees as it allocates while it frees its memory at its end.
const teardownFrees = 9

// A flood is how much was allocated and freed up to a moment.
type flood struct {
	seq              uint64
	allocated, freed uint64
}

// weight grows as long as the program works, and falls while it frees its memory.
func (f *flood) weight() int64 { return teardownFrees*int64(f.allocated) - int64(f.freed) }

// Teardown is the last event before the program frees its memory at its end, as by destructors or when an interpreter ends: after
// it at least half of what was live is freed, and little is allocated. 0: there is no such part at the end of the recording.
func (x *Index) Teardown() uint64 {
	var now, best flood
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
		now = flood{}
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
	live := best.allocated - min(best.freed, best.allocated)
	if freed := end.freed - min(best.freed, end.freed); freed == 0 || freed < live/2 {
		return 0
	}
	return best.seq
}

// run adds a whole run.
func (f *flood) run(r *capture.Summary) {
	f.seq = r.Last
	for i := range r.Flows {
		f.allocated += r.Flows[i].Bytes
		f.freed += r.Flows[i].Freed
	}
}

func (f *flood) event(e *capture.Event) {
	f.seq = e.Seq
	if e.Ended.Recorded {
		f.freed += e.Ended.Size
	}
	if e.Allocates() {
		f.allocated += e.Size
	}
}
