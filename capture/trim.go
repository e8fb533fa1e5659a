package capture

import (
	"errors"
	"fmt"
	"io"
	"math"
)

// Repair writes what can be read of a capture as a complete one. Events keep their
// numbers and times. Where some are missing the new capture has a Loss, and what
// their blocks did later is counted as of blocks from before the recording.
//
// Where the end is missing the new capture's Info says so, see OpenEnd. It is an
// error if nothing of what was recorded can be read.
func Repair(w io.Writer, f *File) (Copied, error) { return f.whole(w, f) }

// errNothing is of a damaged capture that has no event, and no sums, left.
var errNothing = errors.New("no event can be read")

// whole copies all events. What is not events is src's.
func (f *File) whole(w io.Writer, src Source) (Copied, error) {
	if f.info.Aggregate {
		if len(f.sums) == 0 && f.Damage() != nil {
			return Copied{}, errNothing
		}
		return Copied{Open: f.open}, WriteSource(w, src, nil)
	}
	return f.part(w, src, 0, math.MaxUint64)
}

// Trim writes the events from #from to #to, which may be math.MaxUint64, as a
// capture of their own. They keep their numbers and times. What was allocated
// before is unknown in it, as if the recording had begun at the first event: the
// ends of such blocks are kept and end nothing.
func Trim(w io.Writer, f *File, from, to uint64) (Copied, error) {
	if from > to {
		return Copied{}, fmt.Errorf("#%d to #%d: the end is before the beginning", from, to)
	}
	return f.part(w, explained{f, Reason{Kind: Trimmed}}, from, to)
}

// explained is a capture that has not all events, for another reason.
type explained struct {
	*File
	why Reason
}

// Info has the reason.
func (x explained) Info() Info {
	info := x.File.Info()
	info.AddPartial(x.why)
	return info
}

// part copies the events from #from to #to. What is not events is src's.
func (f *File) part(w io.Writer, src Source, from, to uint64) (Copied, error) {
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
	walk := f.walk(from)
	last := uint64(0)
	e := walk.peek()
	for ; e != nil && e.Seq <= to; e = walk.peek() {
		passed(e.Seq)
		k.lose(last, walk.lost)
		for len(execs) > 0 && execs[0] <= e.Seq {
			k.replaced(execs[0])
			execs = execs[1:]
		}
		last = e.Seq
		if err := k.add(e); err != nil {
			return Copied{}, err
		}
		walk.step()
	}
	if last == 0 && (from > 0 || to < math.MaxUint64) {
		return Copied{}, errors.New("no event is left")
	}
	if last == 0 && f.Damage() != nil {
		return Copied{}, errNothing
	}
	if to == math.MaxUint64 {
		for _, first := range execs { // after the last event
			k.replaced(first)
		}
		k.result.Open = f.open
		passed(to)
		k.loseEnd(last, f, walk)
	}
	if err := k.moments(from, to); err != nil {
		return Copied{}, err
	}
	return *k.result, k.close(modules)
}

// lose notes that n events after #last were lost.
func (k *copier) lose(last, n uint64) {
	k.loss(Loss{After: last, Count: n, Reason: Reason{Kind: DamagedPart}})
}

// loseEnd notes what f lost behind the last event that walk came to.
func (k *copier) loseEnd(last uint64, f *File, walk *eventWalk) {
	reason := Reason{Kind: DamagedPart}
	if f.open {
		reason.Kind = DamagedEnd
	}
	k.loss(Loss{After: last, Count: f.lostAtEnd(walk), Reason: reason})
}

func (k *copier) loss(l Loss) {
	if l.Count > 0 {
		k.c.AddLoss(l)
		k.result.Lost += l.Count
	}
}

// lostAtEnd is how many events are known to be missing beyond those that the walk
// has come to the end of.
func (f *File) lostAtEnd(w *eventWalk) uint64 {
	n := w.lost // of chunks at the end
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.damage != nil && f.damage.Missing > w.all+n {
		n = f.damage.Missing - w.all
	}
	return n
}

// mappedUpTo are the modules that were mapped up to event #to, as that moment knew
// them: none had ended that ended later.
func mappedUpTo(modules []Module, to uint64) []Module {
	var out []Module
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
