package heap

import (
	"iter"
	"slices"

	"hdb/capture"
	"hdb/capture/file"
)

// A Replay follows recorded events to learn what is live. The blocks of a program
// that executed another one end with it, although no call says so.
type Replay struct {
	*Live
	execs []uint64 // numbers of the first events after each exec to come
}

// NewReplay is the heap before the first event of a recording.
func NewReplay(src capture.Source) *Replay {
	return &Replay{NewLive(), src.Execs()}
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

// A reposted recording has the effects that its events have as far as they can be read:
// one that is damaged may have ends of blocks whose beginnings are lost, and blocks whose
// ends are.
type reposted struct {
	capture.Source
	log   *file.Log
	names []string
}

// repost reads all of a recording once, and decides again what its events do.
func repost(src capture.Source) reposted {
	r := reposted{Source: src, log: file.NewLog(src.Info()), names: slices.Clone(src.Functions())}
	r.names = append(r.names, capture.UnseenFree)
	ledger, execs := NewLedger(), src.Execs()
	for e := range src.Events(0) {
		for len(execs) > 0 && execs[0] <= e.Seq {
			execs = execs[1:]
			r.log.Replaced()
			ledger = NewLedger()
		}
		if end, ok := ledger.Unseen(&e); ok {
			end.Func = uint16(len(r.names) - 1)
			e.Seq = r.log.AddEvent(&end) + 1
		}
		temporary := e.Ended.Temporary // as was decided, also of what is not recorded
		ledger.Post(&e, true)
		e.Ended.Temporary = e.Ended.Recorded && temporary
		r.log.AddEvent(&e)
	}
	return r
}

func (r reposted) Functions() []string                        { return r.names }
func (r reposted) Checkpoint(seq uint64) *capture.Checkpoint  { return r.log.Checkpoint(seq) }
func (r reposted) Len() int                                   { return r.log.Len() }
func (r reposted) Events(from uint64) iter.Seq[capture.Event] { return r.log.Events(from) }
func (r reposted) Event(seq uint64) (capture.Event, bool)     { return r.log.Event(seq) }
func (r reposted) Summaries(from uint64) iter.Seq2[*capture.Summary, error] {
	return r.log.Summaries(from)
}
