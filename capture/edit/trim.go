package edit

import (
	"errors"
	"fmt"
	"io"
	"math"

	"hdb/capture"
	"hdb/capture/file"
)

// Repair writes what can be read of a capture as a complete one. Events keep their
// numbers and times. Where some are missing the new capture has a Loss, and what
// their blocks did later is counted as of blocks from before the recording.
//
// Where the end is missing the new capture's Info says so, see OpenEnd. It is an
// error if nothing of what was recorded can be read.
func Repair(w io.Writer, f *file.File) (Copied, error) { return copyAll(w, f, f) }

// errNothing is of a damaged capture that has no event, and no sums, left.
var errNothing = errors.New("no event can be read")

// copyAll copies all events of f. What is not events is src's.
func copyAll(w io.Writer, f *file.File, src capture.Source) (Copied, error) {
	if f.Info().Aggregate {
		if f.Damage() != nil && !f.HasSummaries() {
			return Copied{}, errNothing
		}
		return Copied{Open: f.EndMissing()}, file.WriteSource(w, src, nil)
	}
	return copyPart(w, f, src, 0, math.MaxUint64)
}

// Trim writes the events from #from to #to, which may be math.MaxUint64, as a
// capture of their own. They keep their numbers and times. What was allocated
// before is unknown in it, as if the recording had begun at the first event: the
// ends of such blocks are kept and end nothing.
func Trim(w io.Writer, f *file.File, from, to uint64) (Copied, error) {
	if from > to {
		return Copied{}, fmt.Errorf("#%d to #%d: the end is before the beginning", from, to)
	}
	return copyPart(w, f, explained{f, capture.Reason{Kind: capture.Trimmed}}, from, to)
}

// explained is a capture that has not all events, for another reason.
type explained struct {
	*file.File
	why capture.Reason
}

// Info has the reason.
func (x explained) Info() capture.Info {
	info := x.File.Info()
	info.AddPartial(x.why)
	return info
}

// copyPart copies the events of f from #from to #to. What is not events is src's.
func copyPart(w io.Writer, f *file.File, src capture.Source, from, to uint64) (Copied, error) {
	k, err := newCopier(w, f, src, from > 0 || f.Damage() != nil)
	if err != nil {
		return Copied{}, err
	}
	modules := mappedUpTo(src.Modules(), to)
	k.tables(modules)
	losses := src.Losses()
	for len(losses) > 0 && losses[0].After+1 < from {
		losses = losses[1:]
	}
	passed := func(seq uint64) { // adds the losses before event seq
		for len(losses) > 0 && losses[0].After < seq {
			k.c.AddLoss(losses[0])
			losses = losses[1:]
		}
	}
	execs := src.Execs()
	for len(execs) > 0 && from > 0 && execs[0] <= from { // no block from before is held
		execs = execs[1:]
	}
	walk := f.Walk(from)
	last := uint64(0)
	e := walk.Peek()
	for ; e != nil && e.Seq <= to; e = walk.Peek() {
		passed(e.Seq)
		k.lose(last, walk.Lost)
		if len(execs) > 0 && execs[0] <= e.Seq {
			execs = k.c.ReplacedUpTo(execs, e.Seq)
			k.live.Clear()
		}
		last = e.Seq
		if err := k.add(e); err != nil {
			return Copied{}, err
		}
		walk.Step()
	}
	if last == 0 && (from > 0 || to < math.MaxUint64) {
		return Copied{}, errors.New("no event is left")
	}
	if last == 0 && f.Damage() != nil {
		return Copied{}, errNothing
	}
	if to == math.MaxUint64 {
		k.c.ReplacedUpTo(execs, to)
		k.result.Open = f.EndMissing()
		passed(to)
		k.loseEnd(last, f, walk)
	}
	if err := k.moments(from, to); err != nil {
		return Copied{}, err
	}
	return *k.result, k.close()
}

// lose notes that n events after #last were lost.
func (k *copier) lose(last, n uint64) {
	k.loss(capture.Loss{After: last, Count: n, Reason: capture.Reason{Kind: capture.DamagedPart}})
}

// loseEnd notes what f lost behind the last event that walk came to.
func (k *copier) loseEnd(last uint64, f *file.File, walk *file.Walk) {
	reason := capture.Reason{Kind: capture.DamagedPart}
	if f.EndMissing() {
		reason.Kind = capture.DamagedEnd
	}
	k.loss(capture.Loss{After: last, Count: walk.LostAtEnd(), Reason: reason})
}

func (k *copier) loss(l capture.Loss) {
	if l.Count > 0 {
		k.c.AddLoss(l)
		k.result.Lost += l.Count
	}
}

// mappedUpTo are the modules that were mapped up to event #to, as that moment knew
// them: none had ended that ended later.
func mappedUpTo(modules []capture.Module, to uint64) []capture.Module {
	var out []capture.Module
	for _, m := range modules {
		if m.From > to {
			continue
		}
		if m.To > to {
			m.To = 0
		}
		out = append(out, m)
	}
	return out
}
