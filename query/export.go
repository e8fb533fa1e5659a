package query

import (
	"hdb/capture"
	"hdb/heap"
	"hdb/report"
)

// Export is the recording up to the moment, event by event, for formats that keep events.
// It is read while it is written; ask nothing else meanwhile.
func (r *Recording) Export() *report.Recording {
	src, x, to := r.Source, r.Index, r.Moment
	out := &report.Recording{
		Info: src.Info(), Functions: src.Functions(), Modules: src.Modules(), Threads: src.Threads(),
		Execs: src.Execs(), To: to, Stacks: src.Stacks(), Damage: src.Damage, Cut: r.Reading.Cut,
	}
	p := &report.Profile{}
	for _, m := range out.Modules {
		p.Modules = append(p.Modules, report.Module{Path: m.Path, Low: uint64(m.Low), High: uint64(m.High)})
	}
	for _, m := range src.Marks() {
		if m.Seq <= to {
			out.Marks = append(out.Marks, report.Mark{Seq: m.Seq, Time: m.Time, Name: m.Name})
		}
	}
	for _, m := range src.Samples() {
		if m.Seq <= to {
			out.RSS = append(out.RSS, report.Sample{Time: m.Time, RSS: m.RSS})
		}
	}
	frames := r.newProfileFrames(p)
	out.Stack = func(id capture.StackID) report.Stack {
		if r.Reading.GivenUp() {
			return report.Stack{}
		}
		return frames.stack(id, x.Named(id))
	}
	out.Frame = func(i int) report.Frame { return p.Frames[i] }
	out.Events = func(yield func(report.Event) bool) {
		state := heap.NewReplay(src)
		for e := range x.Source().Events(0) {
			if e.Seq > to || !yield(followed(state, e)) {
				return
			}
		}
	}
	return out
}

// followed is an event with the number of the event that made the block which it ended.
func followed(state *heap.Replay, e capture.Event) report.Event {
	out := report.Event{Event: e}
	state.Before(e.Seq)
	if ended, ok := state.Apply(&e); ok {
		out.EndedSeq = ended.Seq
	}
	return out
}
