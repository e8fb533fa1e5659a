package recordings

import (
	"fmt"

	"hdb/capture"
	"hdb/report"
)

// ofPart are the reasons that say only which part of the run is recorded: of that part the
// recording is true. An attach is none of them: the user was not told what the process had
// allocated before.
var ofPart = []capture.ReasonKind{capture.StartedLate, capture.EndedEarly, capture.Trimmed}

// Partial says why not all events of the run were recorded: what is added up is true
// of those it has.
func (r *Recorded) Partial() capture.Reasons {
	src := r.Source()
	if src == nil {
		return nil
	}
	why := src.Info().Partial
	lacks := len(why.Without(capture.FreedUnseen)) > 0
	if recorded, seen := r.Counts(); !lacks && seen > recorded {
		kind := capture.AtStops
		if r.target.Saved != nil { // at stops, or by an older hdb
			kind = capture.SomeEvents
		}
		why = why.With(capture.Reason{Kind: kind, Text: fmt.Sprintf("%d of %d", recorded, seen)})
	}
	return why
}

// NoAllocatorKnown reports whether nothing is recorded because no allocator function of the program was known.
func (r *Recorded) NoAllocatorKnown() bool {
	src := r.Source()
	return src != nil && src.Info().Totals.Events == 0 && src.Info().Partial.Has(capture.NoAllocator)
}

// Caveats are why the numbers that are drawn from the recording may not be those of
// the run.
func (r *Recorded) Caveats() report.Caveats {
	if r.target.Saved == nil {
		r.recorder.NoteLosses()
	}
	src := r.Source()
	if src == nil {
		return report.Caveats{}
	}
	c := report.CaveatsOf(src)
	c.Partial = r.Partial()
	if err := r.target.Names.UnknownGoTypes(); err != nil {
		c.NoTypes = err.Error()
	}
	if !c.Partial.Has(capture.FreedUnseen) {
		c.Doubt = r.Doubt()
	}
	return c
}

// Gaps are the caveats for an answer about the recording, a line each: without what
// says only which part of the run is recorded.
func (r *Recorded) Gaps() []string {
	c := r.gapsOfAnswers()
	return c.Lines()
}

// GapsOfMemory are Gaps for an answer about the memory of the process, which has blocks from before an attach, too, and those of an allocator without a name, or about
// one block.
func (r *Recorded) GapsOfMemory() []string {
	c := r.gapsOfAnswers()
	c.Partial = c.Partial.Without(capture.BeganLate, capture.NoAllocator)
	return c.Lines()
}

func (r *Recorded) gapsOfAnswers() report.Caveats {
	c := r.Caveats()
	c.Doubt = r.Doubt()
	c.Partial = c.Partial.Without(ofPart...)
	if c.Doubt != report.NoDoubt {
		c.Partial = c.Partial.Without(capture.FreedUnseen)
	}
	return c
}

// Unbroken reports whether no call between the first event and now is missing, so that freed memory holds no
// unrecorded block. whole: there were none before the first event either.
func (r *Recorded) Unbroken() (unbroken, whole bool) {
	c := r.Caveats()
	if c.Lost > 0 || c.Damage != nil || c.Doubt != report.NoDoubt {
		return false, false
	}
	why := c.Partial.Without(capture.GoHeap, capture.PythonHeap) // of which there are no calls
	return len(why.Without(capture.BeganLate, capture.StartedLate, capture.DroppedOlder)) == 0, len(why) == 0
}

// Doubt says why recorded blocks that seem to be live may not be.
func (r *Recorded) Doubt() report.Doubt { return r.Account.LiveDoubt(r.target.Saved) }
