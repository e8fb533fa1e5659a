package session

import (
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"hdb/breakpoints"
	"hdb/capture"
	"hdb/inferior"
	"hdb/internal/addr"
	"hdb/internal/modkind"
	"hdb/internal/units"
	"hdb/probe"
	"hdb/query"
	"hdb/recording"
	"hdb/session/target"
	"hdb/unwind"
)

// wrongFrees looks at calls that return what is not a block before they run. The probe offers those
// that seem so, or plain breakpoints do; what is said is what the recording knows.
type wrongFrees struct {
	target  *target.Target
	account *target.Account
	walker  *target.Walker
	demand  *demands
	planes  *Planes

	blocks func() (*query.Recording, error)              // what is recorded
	free   func(at uint64) bool                          // tells that malloc has an address back
	before func(at uint64, byProbe bool) query.WrongKind // what malloc has of an address that no followed call has returned
	taken  *recording.Event                              // that a stop was asked about last
	plain  plainBlocks
	doubt  time.Duration // up to when threads may be handed blocks that are not seen
	mixed  bool          // plain breakpoints have taken over from a probe: calls that threads were in are in no event

	// Calls that turned out as right: what is looked for without effect too often is looked for no more.
	cleared     [probe.OtherFamily + 1]int
	spent       time.Duration
	unsuspected [probe.OtherFamily + 1]bool
}

// Bounds of what is looked for without effect, in a run: calls of one kind, and time for all.
const (
	maxCleared     = 1000
	maxClearedTime = 2 * time.Second
)

// begin follows the begin of a run, or of another image.
func (w *wrongFrees) begin() {
	w.taken, w.plain, w.mixed, w.doubt = nil, plainBlocks{}, false, 0
	w.cleared, w.spent, w.unsuspected = [len(w.cleared)]int{}, 0, [len(w.unsuspected)]bool{}
}

// armed follows that calls are followed from now on, at these functions. A thread that is in one of them
// gets a block that is not seen, and that may have been freed meanwhile: what is freed in the next
// second is not taken for the first of two.
func (w *wrongFrees) armed(sites []*breakpoints.Site) {
	inside := func(t *inferior.Thread) bool {
		raw, err := w.walker.Raw(t, insideDepth, addr.Code{})
		return err != nil || slices.ContainsFunc(raw.Frames, func(f unwind.Frame) bool {
			at := f.PC.Lookup()
			return slices.ContainsFunc(sites, func(s *breakpoints.Site) bool { return s.Addr <= at && at < s.Addr+addr.Run(max(s.Size, 1)) })
		})
	}
	if w.wanted() && slices.ContainsFunc(w.target.Proc.Threads(), inside) {
		w.doubt = w.target.Now() + insideTime
	}
}

// Bounds of calls that threads are in: frames below the allocator's function, and how long they take.
const (
	insideDepth = 24
	insideTime  = time.Second
)

// wanted reports whether wrong frees are looked for. Where the allocators of Python are followed they are
// not: the hooks of PYTHONMALLOC=debug free large blocks at another address than the one that the program
// has.
func (w *wrongFrees) wanted() bool {
	return w.target.Settings.WrongFrees != target.WrongFreesOff && !w.target.Settings.PythonAllocators
}

// Wrong takes a call that seems to return what is not a block.
func (k probeSink) Wrong(t *inferior.Thread, call breakpoints.Call, why probe.Suspicion) inferior.Action {
	return k.p.wrong.look(t, call, why)
}

// look finds out whether the call is wrong, and what is to be done.
func (w *wrongFrees) look(t *inferior.Thread, call breakpoints.Call, why probe.Suspicion) inferior.Action {
	if !w.wanted() || w.mixed {
		return inferior.Resume
	}
	defer w.planes.target.OwnWork()()
	began := time.Now()
	e := recording.EventOf(call)
	e.TID = int32(t.TID)
	if w.taken != nil && !w.taken.Abandoned && w.taken.Kind == e.Kind && w.taken.Addr == e.Addr && w.taken.TID == e.TID {
		e = w.taken
	}
	found := w.judge(t, call, e, why)
	switch {
	case found == nil:
		w.countCleared(why, time.Since(began))
		return inferior.Resume
	case w.target.Settings.WrongFrees == target.WrongFreesReport:
		w.target.Notify("%s: thread %d: %s: %s", found.Kind, t.Num, found.CallText((*recording.Event).Call), found.Why((*recording.Event).Call, units.Sizes{Raw: true}))
		return inferior.Resume
	}
	h := hit{thread: t, wrong: found, now: call.Now}
	if e.Seq != 0 {
		h.event = e
	}
	w.demand.hits = append(w.demand.hits, h)
	return inferior.StopHere
}

// countCleared counts a call that was right, or of which nothing is known.
func (w *wrongFrees) countCleared(why probe.Suspicion, d time.Duration) {
	w.spent += d
	if w.cleared[why]++; w.cleared[why] != maxCleared && w.spent < maxClearedTime || why == probe.FreedBlock && w.cleared[why] < maxCleared || w.unsuspected[why] {
		return
	}
	w.unsuspected[why] = true
	if w.target.Probe != nil {
		armed := w.target.Probe
		w.target.Proc.Wake(func() {
			if w.target.Probe == armed && armed.Armed() {
				if err := w.planes.target.StopAll(w.planes.arm); err != nil {
					w.target.Notify("%v", err)
				}
			}
		})
	}
}

// judge is what is wrong with the call, nil if nothing is, or if it cannot be said.
func (w *wrongFrees) judge(t *inferior.Thread, call breakpoints.Call, e *recording.Event, why probe.Suspicion) *query.WrongFree {
	o := newOrigin(w.planes, t, call)
	stack := o.Predicates.Stack()
	if query.FreesInside(stack) {
		return nil
	}
	lives := e.Known()
	if e.Kind == capture.Realloc {
		lives = w.account.Rec.Live().Has(e.Old)
	}
	past := query.Past{Gap: w.account.Rec.Gap(), Doubt: w.doubt, Lives: lives, Stack: stack}
	found := w.recorded(e, past, why)
	if found == nil {
		found = w.plain.wrong(e, past)
	}
	switch {
	case found != nil || lives:
	case why == probe.FreedBlock:
		found = w.again(e)
	default:
		found = w.elsewhere(t, call, e, why)
	}
	if found != nil {
		found.CallFrames = slices.Clone(stack[:w.target.Attribution.Owner(stack)+min(1, len(stack))])
	}
	return found
}

// recorded is what the recording says.
func (w *wrongFrees) recorded(e *recording.Event, past query.Past, why probe.Suspicion) *query.WrongFree {
	r, err := w.blocks()
	if err != nil {
		return nil
	}
	found := r.WrongFree(e, past)
	if found != nil && found.Unsure && why != probe.FreedBlock {
		return nil
	}
	return found
}

// again is a second free of a block that was made before anything was followed, if malloc has it back: that
// only its first free is recorded tells nothing else.
func (w *wrongFrees) again(e *recording.Event) *query.WrongFree {
	r, err := w.blocks()
	if err != nil {
		return nil
	}
	found := r.FreedAgain(e)
	if found == nil || !w.stillFree(found.Addr) {
		return nil
	}
	return found
}

// stillFree asks the heap itself, with all threads stopped.
func (w *wrongFrees) stillFree(at uint64) (free bool) {
	err := w.target.StopAll(func() error {
		free = w.free(at)
		return nil
	})
	return err == nil && free
}

// elsewhere is what is wrong with an address that is in no block which the recording knows:
// where no allocator has any. Only functions of the C library and of the C++ runtime are judged so,
// as other allocators may have blocks anywhere.
func (w *wrongFrees) elsewhere(t *inferior.Thread, call breakpoints.Call, e *recording.Event, why probe.Suspicion) *query.WrongFree {
	of := w.moduleAt(call.Entry)
	if !modkind.IsCLibrary(of) && !modkind.IsCxxRuntime(of) {
		return nil
	}
	found := &query.WrongFree{Call: e, Addr: query.GivenBack(e)}
	at := addr.Run(found.Addr)
	if regs, err := t.Regs(); err == nil && w.onStack(t, regs, at) {
		found.Kind, found.Where = query.OnStack, fmt.Sprintf("thread %d", t.Num)
		return found
	}
	if in := w.moduleAt(at); in != "" && !w.blocksInData(in) {
		found.Kind, found.Where = query.InModule, in
		return found
	}
	if found.Addr%16 != 0 {
		found.Kind = query.Misaligned
		return found
	}
	if why == probe.UnknownBlock && !w.unsuspected[why] && modkind.IsCLibrary(of) {
		found.Kind = w.freeBefore(found.Addr)
	}
	if found.Kind == 0 {
		return nil
	}
	return found
}

// freeBefore is what malloc has of an address that no followed call has returned, with all threads stopped.
func (w *wrongFrees) freeBefore(at uint64) (kind query.WrongKind) {
	err := w.target.StopAll(func() error {
		kind = w.before(at, w.target.Probe != nil && w.target.Probe.Armed())
		return nil
	})
	if err != nil {
		return 0
	}
	return kind
}

// moduleAt is the base name of the module that has an address, "" without.
func (w *wrongFrees) moduleAt(at addr.Run) string {
	for _, m := range w.target.Proc.Modules() {
		if m.Low <= at && at < m.High {
			return filepath.Base(m.Name)
		}
	}
	return ""
}

// blocksInData tells that an allocator may have blocks in the data of a module: the one of glibc's dynamic linker in its
// own, musl's in what is left of pages behind anybody's (reclaim_gaps in ldso/dynlink.c).
func (w *wrongFrees) blocksInData(base string) bool {
	return modkind.IsDynamicLinker(base) ||
		slices.ContainsFunc(w.target.Proc.Modules(), func(m inferior.Module) bool { return modkind.IsMusl(m.Name) })
}

// onStack reports whether an address is on the stack that the thread is on: between its stack
// pointer and the block with its thread-local storage, or of the first thread, up to the end of the
// mapping that the kernel has made.
func (w *wrongFrees) onStack(t *inferior.Thread, regs inferior.Registers, at addr.Run) bool {
	sp := regs.SP() - addr.RedZone
	if at < sp {
		return false
	}
	maps, err := w.target.Proc.Maps()
	if err != nil {
		return false
	}
	i := slices.IndexFunc(maps, func(m inferior.Mapping) bool { return m.Low <= regs.SP() && regs.SP() < m.High })
	if i < 0 || at >= maps[i].High {
		return false
	}
	fs := addr.Run(regs.FsBase)
	return maps[i].Path == "[stack]" || fs > regs.SP() && fs < maps[i].High && at < fs
}

// plainBlocks are the blocks that plain breakpoints have seen, by their addresses: what a recording
// would know them.
type plainBlocks map[uint64]plainBlock

// A plainBlock is the last call about a block.
type plainBlock struct {
	family query.Family
	made   *recording.Event
	freed  *recording.Event // nil while it lives
}

// maxPlainBlocks bounds them: plain breakpoints see some 20,000 calls a second.
const maxPlainBlocks = 1 << 20

// suspect tells why a call that plain breakpoints have seen seems to return what is not a block.
func (p plainBlocks) suspect(e *recording.Event) (why probe.Suspicion, suspected bool) {
	given, family := query.GivenBack(e), query.FamilyOf(e.Function)
	if given == 0 || !query.Judged(e.Function) {
		return 0, false
	}
	b, seen := p[given]
	switch {
	case e.Known():
		return probe.OtherFamily, seen && b.freed == nil && b.family.Differs(family)
	case seen && b.freed != nil:
		return probe.FreedBlock, true
	}
	return probe.UnknownBlock, true
}

// note follows a call that plain breakpoints have seen.
func (w *wrongFrees) note(e *recording.Event) {
	if w.plain == nil || len(w.plain) >= maxPlainBlocks {
		w.plain = plainBlocks{}
	}
	if !query.Judged(e.Function) { // a pool's, in the block of another: nothing is said of its address
		delete(w.plain, e.Addr)
		return
	}
	if given := query.GivenBack(e); given != 0 && (e.Known() || e.Kind == capture.Realloc) {
		b := w.plain[given]
		w.plain[given] = plainBlock{b.family, b.made, e}
	}
	if e.Allocates() {
		w.plain[e.Addr] = plainBlock{family: query.FamilyOf(e.Function), made: e}
	}
}

// wrong is what they say.
func (p plainBlocks) wrong(e *recording.Event, past query.Past) *query.WrongFree {
	given := query.GivenBack(e)
	b, seen := p[given]
	if !seen || past.Lives || b.freed == nil || b.freed == e || b.freed.Seq <= past.Gap {
		return nil
	}
	return &query.WrongFree{Kind: query.FreedTwice, Call: e, Addr: given, Made: b.made, Freed: b.freed}
}

// Begin takes a call of a realloc that plain breakpoints have seen before it runs.
func (k plainSink) Begin(t *inferior.Thread, call breakpoints.Call) inferior.Action {
	w := k.p.wrong
	if !w.wanted() || k.p.data.target.Probe != nil && k.p.data.target.Probe.Armed() {
		return inferior.Resume
	}
	k.p.target.Exclusive(func() {})
	e := recording.EventOf(call)
	if w.account.Rec.Live().Has(e.Old) {
		e = e.OfKnown()
	}
	if why, ok := w.plain.suspect(e); ok {
		return w.look(t, call, why)
	}
	return inferior.Resume
}
