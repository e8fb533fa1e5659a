package heap

import (
	"iter"

	"hdb/capture"
)

// A Replay follows recorded events to learn what is live. The blocks of a program
// that executed another one end with it, although no call says so.
type Replay struct {
	*Live
	execs []uint64 // numbers of the first events after each exec to come
}

// NewReplay is the heap before the first event of a recording.
func NewReplay(src capture.Source) *Replay {
	return &Replay{NewLive(), capture.Execs(src.Modules())}
}

// Before brings the heap to the moment before event seq. It returns the heap that
// an exec ended on the way, nil if there was none.
func (r *Replay) Before(seq uint64) *Live {
	if len(r.execs) == 0 || seq < r.execs[0] {
		return nil
	}
	for len(r.execs) > 0 && r.execs[0] <= seq {
		r.execs = r.execs[1:]
	}
	ended := r.Live
	r.Live = NewLive()
	return ended
}

// followed is a recording whose events say which blocks they end.
type followed struct {
	capture.Source
	log *capture.Log
}

// follow finds out which blocks the events of a recording end that does not say
// so: one of an hdb that did not know yet. All of it is read once.
func follow(src capture.Source) followed {
	log := capture.NewLog(src.Info())
	state := NewReplay(src)
	for e := range src.Events(0) {
		if state.Before(e.Seq) != nil {
			log.Replaced()
		}
		gone, _ := state.Follow(&e, true)
		e.Gone = gone.Gone()
		log.AddEvent(&e)
	}
	return followed{src, log}
}

func (f followed) Checkpoint(seq uint64) *capture.Checkpoint  { return f.log.Checkpoint(seq) }
func (f followed) Len() int                                   { return f.log.Len() }
func (f followed) Events(from uint64) iter.Seq[capture.Event] { return f.log.Events(from) }
func (f followed) Event(seq uint64) (capture.Event, bool)     { return f.log.Event(seq) }
func (f followed) Summaries(from uint64) iter.Seq2[*capture.Summary, error] {
	return f.log.Summaries(from)
}
