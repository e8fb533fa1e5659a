package session

import (
	"hdb/capture"
	"hdb/heap"
	"hdb/report"
)

// Recording is all that is recorded up to the moment, event by event, for the
// formats that keep it. It is read while it is written, and the session must not
// be used meanwhile.
func (s *Session) Recording() (*report.Recording, error) {
	src, x, err := s.recordedSums()
	if err != nil {
		return nil, err
	}
	to := s.moment()
	r := &report.Recording{
		Caveats: s.Caveats(), Info: src.Info(), Functions: src.Functions(), Modules: src.Modules(), Threads: src.Threads(),
		Execs: src.Execs(), To: to, Stacks: src.Stacks(), Damage: src.Damage, Cut: s.reading.Cut,
	}
	p := &report.Profile{}
	for _, m := range r.Modules {
		p.Modules = append(p.Modules, report.Module{Path: m.Path, Low: uint64(m.Low), High: uint64(m.High)})
	}
	for _, m := range src.Marks() {
		if m.Seq <= to {
			r.Marks = append(r.Marks, report.Mark{Seq: m.Seq, Time: m.Time, Name: m.Name})
		}
	}
	for _, m := range src.Samples() {
		if m.Seq <= to {
			r.RSS = append(r.RSS, report.Sample{Time: m.Time, RSS: m.RSS})
		}
	}
	frames := newProfileFrames(s, src, p)
	r.Stack = func(id capture.StackID) report.Stack {
		if s.reading.GivenUp() {
			return report.Stack{}
		}
		return frames.stack(id, x.Named(id))
	}
	r.Frame = func(i int) report.Frame { return p.Frames[i] }
	r.Events = func(yield func(report.Event) bool) {
		state := heap.NewReplay(src)
		for e := range x.Source().Events(0) {
			if e.Seq > to || !yield(followed(state, e)) {
				return
			}
		}
	}
	return r, nil
}

// followed is the event with the one that made the block which it ended.
func followed(state *heap.Replay, e capture.Event) report.Event {
	out := report.Event{Event: e}
	state.Before(e.Seq)
	if ended, ok := state.Apply(&e); ok {
		out.EndedSeq = ended.Seq
	}
	return out
}
