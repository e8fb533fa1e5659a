package recording

// Gaps are what is in doubt since the program ran while not every allocator call reached hdb:
// nothing asked for them, or the probe looked out for some only. The zero value is for a run that
// begins.
type Gaps struct {
	calls  bool // there may have been such calls: of the blocks that they made nothing is known
	counts bool // blocks lived then that the live heap counts, which may be freed
	blind  bool // recorded ones were among them
	after  bool // the program ran on after its recording was stopped
}

// Unseen says that there were calls before anything was followed.
func (g *Gaps) Unseen() { g.calls = true }

// MovedAway says that a recorded block is in a place that the probe does not look at.
func (g *Gaps) MovedAway() { g.counts, g.blind = true, true }

// Forget says that the heap is another one, of which all is known.
func (g *Gaps) Forget() { g.calls, g.counts, g.blind = false, false, false }

// RunOn says that the program continues. all tells that every call is followed; if not, the ends of
// ends blocks are, which are all that are recorded, or none.
func (g *Gaps) RunOn(r *Recording, all bool, watched int) {
	g.after = r.Ended()
	if all {
		return
	}
	r.missed()
	_, blocks := r.Heap()
	g.calls = true
	g.counts = g.counts || blocks > uint64(watched)
	g.blind = g.blind || watched == 0 && r.Live().AnyRecorded()
}

// Restarted says that a recording that was stopped continues. It reports whether the program ran
// meanwhile.
func (g *Gaps) Restarted() bool {
	ran := g.after
	g.after = false
	return ran
}

// Blind tells that recorded blocks that seem to live may be freed.
func (g *Gaps) Blind() bool { return g.blind }

// Counted tells that blocks which the live heap counts may be freed.
func (g *Gaps) Counted() bool { return g.counts }

// Calls tells that calls were not followed.
func (g *Gaps) Calls() bool { return g.calls }
