package session

import (
	"errors"
	"slices"

	"hdb/breakpoints"
	"hdb/capture"
	"hdb/inferior"
	"hdb/internal/addr"
	"hdb/internal/cond"
	"hdb/probe"
	"hdb/recording"
	"hdb/unwind"
)

// ProbeMode says whether allocator calls are followed inside the process.
type ProbeMode string

// The modes.
const (
	ProbeAuto ProbeMode = "auto" // where it can be done, else by plain breakpoints
	ProbeOn   ProbeMode = "on"   // or not at all
	ProbeOff  ProbeMode = "off"  // by plain breakpoints
)

// A Plane says what follows allocator calls.
type Plane struct {
	Probe  bool
	Reason string // why it is not the probe, if it might have been
}

// Plane tells what follows allocator calls now, or will.
func (s *Session) Plane() Plane {
	if s.Settings.Probe == ProbeOff {
		return Plane{Reason: "the probe is off"}
	}
	return Plane{Probe: s.fellBack == "", Reason: s.fellBack}
}

// eventsArmed tells whether allocator calls are followed, by either plane.
func (s *Session) eventsArmed() bool {
	return s.tracer.Armed() || s.probe != nil && s.probe.Armed()
}

// ApplyProbe makes changed settings of the probe hold for the running process.
func (s *Session) ApplyProbe() error {
	s.fellBack = ""
	return s.armTracer()
}

// armProbe has the probe follow what is wanted. The error says why it cannot.
func (s *Session) armProbe() error {
	t := s.proc.StoppedThread()
	if t == nil {
		return ErrNotRunning
	}
	if s.probe == nil {
		p, err := probe.Inject(s.proc, t, probe.Config{
			CFI: s.moduleCFI, Identity: s.moduleIdentity, Cache: s.cfg.Cache, Unwinder: s.unwinderEntries, Sink: probeSink{s.rec, s},
			Now: s.now(), MaxDepth: s.Settings.MaxDepth,
			Message: func(m string) { s.notify("%s", m) },
		})
		if err != nil {
			return err
		}
		s.probe = p
		s.rec.ForgetProbe()
		for _, t := range s.proc.Threads() {
			s.rec.AddThread(thread{t})
		}
	}
	s.countEvents()
	modules := s.proc.Modules()
	sites, err := s.allocatorSites(modules)
	if err != nil {
		s.notify("some modules cannot be searched for allocators: %s", oneLine(err))
	}
	s.probe.SetDepth(s.Settings.MaxDepth)
	var want probe.Request
	s.exclusive(func() { want = s.probeRequest() })
	err = s.probe.Arm(t, modules, sites, want)
	s.rec.ForgetFunctions()
	if err != nil {
		return err
	}
	s.sites = s.probe.Sites()
	s.rebase()
	s.noteCrowded()
	return nil
}

// allocatorSites finds the allocator functions of modules. Those that cannot be
// watched in either plane are said and left out.
func (s *Session) allocatorSites(modules []inferior.Module) ([]*breakpoints.Site, error) {
	finder := breakpoints.Finder{Symbols: allocatorSymbols{s}, Memory: s.proc}
	sites, err := finder.Find(nil, modules, s.tracer.Functions())
	sites = slices.DeleteFunc(sites, func(site *breakpoints.Site) bool {
		if site.Err != nil && !s.said[site.Err.Error()] {
			s.said[site.Err.Error()] = true
			s.notify("some allocator functions are not watched: %s", oneLine(site.Err))
		}
		return site.Err != nil
	})
	return sites, err
}

// probeRequest is what the probe has to do for the stops and the recording.
func (s *Session) probeRequest() probe.Request {
	r := probe.Request{Live: s.rec.Live().Blocks(), Record: s.needsRing(), Seq: s.rec.Seq(), Entered: s.entered()}
	for _, st := range s.stops.All() {
		if st.Enabled && onEvents(st) {
			r.Stops = append(r.Stops, st)
		}
	}
	if !r.Record {
		r.Blocks = s.watchedBlocks()
	}
	if n := s.next; n != nil {
		r.Next = &probe.Next{Frees: n.want(capture.Free), Cond: n.cond}
	}
	return r
}

// entered are the threads that stand at the entry of a function whose call was reported.
func (s *Session) entered() map[*inferior.Thread]addr.Run {
	at := map[*inferior.Thread]addr.Run{}
	for _, h := range s.hits {
		if h.event == nil || h.now.IsReturn() {
			continue
		}
		if regs, err := h.thread.Regs(); err == nil && regs.PC() == h.now.Addr() {
			at[h.thread] = h.now.Addr()
		}
	}
	return at
}

// maxWatched is how many blocks the probe looks out for while it does not send
// all events.
const maxWatched = 16

// watchedBlocks are the live blocks of the recording, whose ends have to be seen; none if
// there are too many: see noteUnfollowed.
func (s *Session) watchedBlocks() []uint64 { return s.rec.Live().RecordedBlocks(maxWatched) }

// watchesAll tells whether the probe sees the ends of all blocks whose ends it can look
// out for.
func (s *Session) watchesAll() bool {
	return s.probe.Recording() || slices.Equal(s.probe.Watches(), s.watchedBlocks())
}

// rearmProbe has the probe look out for the blocks that stops have put into the
// log since it was armed, and no more for events whose numbers have passed.
func (s *Session) rearmProbe() {
	if s.probe == nil || !s.probe.Armed() {
		return
	}
	if s.watchesAll() && !s.probe.Numbers() {
		return
	}
	if err := s.armTracer(); err != nil {
		s.notify("%v", err)
	}
}

// needsRing tells whether every event has to reach hdb: to be recorded, or
// because a stop depends on what happened before.
func (s *Session) needsRing() bool {
	if s.rec.On() || s.next != nil && asksHeap(s.next.cond) {
		return true
	}
	return slices.ContainsFunc(s.stops.All(), func(st *breakpoints.Stop) bool {
		return st.Enabled && (asksHeap(st.Cond) || st.Kind == breakpoints.StopFree || onEvents(st) && st.Nth != 0)
	})
}

// countEvents takes over the number of events that passed the probe without
// being sent to hdb.
func (s *Session) countEvents() {
	if s.probe == nil || !s.probe.Armed() || s.probe.Recording() {
		return
	}
	s.exclusive(func() { s.rec.CountTo(s.probeBase + s.probe.Events()) })
}

// rebase notes which number the probe's count corresponds to.
func (s *Session) rebase() {
	s.exclusive(func() { s.probeBase = s.rec.Seq() - s.probe.Events() })
}

// disarmProbe takes the probe's jumps out of the allocators.
func (s *Session) disarmProbe() {
	if s.probe == nil || !s.probe.Armed() {
		return
	}
	s.countEvents()
	if err := s.probe.Disarm(); err != nil {
		s.notify("probe: %v", err)
	}
}

// dropProbe forgets the probe of an image that is gone, or of a process that
// is left to itself: the engine takes out what changed its code.
func (s *Session) dropProbe(goesOn bool) {
	if s.probe == nil {
		return
	}
	s.countEvents()
	s.probe.Gone(goesOn)
	s.losses.EndProbe(s.probe.Stats())
	s.probe = nil
}

// closeProbe takes the probe out of a process that goes on without hdb.
func (s *Session) closeProbe() {
	if s.probe == nil {
		return
	}
	s.countEvents()
	if err := s.probe.Close(); err != nil {
		s.notify("probe: %v", err)
	}
	s.losses.EndProbe(s.probe.Stats())
	s.probe = nil
}

// followProbe gives a followed child a probe of its own: its memory has no trace
// of the parent's but code that passes everything on.
func (s *Session) followProbe() {
	if s.probe == nil {
		return
	}
	s.dropProbe(true)
	if err := s.armTracer(); err != nil {
		s.notify("%v", err)
	}
}

// loaded has the probe follow a change of the modules.
func (s *Session) loaded(added, removed []inferior.Module) {
	if s.bare != nil {
		s.bare.sites = nil
	}
	t := s.proc.StoppedThread()
	if s.probe == nil || !s.probe.Armed() || t == nil {
		return
	}
	sites, err := s.allocatorSites(added)
	if err == nil {
		err = s.probe.Loaded(t, added, removed, sites)
		s.rec.ForgetFunctions()
		s.sites = s.probe.Sites()
	}
	if err != nil {
		s.fallBack(err)
		if err := s.stopAll(s.armTracer); err != nil {
			s.notify("%v", err)
		}
	}
}

// fallBack notes, and says, why plain breakpoints are used from now on.
func (s *Session) fallBack(err error) {
	s.fellBack = err.Error()
	s.notify("probe: %v: plain breakpoints follow the allocators instead, which cost tens of microseconds a call", err)
}

// moduleCFI is the unwinding table of a module, nil without one.
func (s *Session) moduleCFI(m inferior.Module) *unwind.Table {
	t, _, _ := s.names.Modules.ModuleAt(m.Low)
	return t
}

// moduleIdentity tells a module's files from all others, "" if that is not known.
func (s *Session) moduleIdentity(m inferior.Module) string {
	obj, _ := s.names.Modules.ObjectAt(m.Low)
	if obj == nil {
		return ""
	}
	return obj.Identity()
}

// unwinderEntries are the places where a module defines functions of the C++
// runtime's unwinder.
func (s *Session) unwinderEntries(m inferior.Module, names ...string) []breakpoints.Symbol {
	found, err := allocatorSymbols{s}.Defined(m, names)
	if err != nil {
		return nil // said when its allocators were looked for
	}
	return found
}

// probeSink takes the probe's events: the recording those from the ring.
type probeSink struct {
	*recording.Recording
	s *Session
}

// Alloc takes a call that a stop may want.
func (k probeSink) Alloc(t *inferior.Thread, call breakpoints.Call) inferior.Action {
	s := k.s
	if !s.probe.Recording() {
		s.rec.CountTo(s.probeBase + s.probe.Events() - 1)
	}
	action := sink{s}.Alloc(t, call)
	if !s.probe.Recording() {
		s.rec.Live().Forget(call.Event.Addr)
	}
	if action == inferior.Resume && (s.probe.Passed(s.rec.Seq()) || s.movedAway(call.Event.Addr)) {
		s.rearmSoon()
	}
	return action
}

// movedAway tells whether the block that was just made is a recorded one in a new place,
// where the probe does not look out for it yet: its end may come before it does.
func (s *Session) movedAway(block uint64) bool {
	if !s.rec.Live().Recorded(block) || s.watchesAll() {
		return false
	}
	s.gaps.MovedAway()
	return true
}

// rearmSoon has the probe look no more for numbers that have passed, each call would
// come here from now on, and look out for blocks that moved, though nothing stops.
func (s *Session) rearmSoon() {
	armed := s.probe
	s.proc.Wake(func() {
		if s.probe != armed || !armed.Armed() || !armed.Passed(s.rec.Seq()) && s.watchesAll() {
			return // done already, or the probe is another
		}
		err := s.stopAll(func() error {
			defer s.ownWork()()
			s.rearmProbe()
			s.noteUnfollowed()
			return nil
		})
		if err != nil && !errors.Is(err, inferior.ErrEnded) {
			s.notify("%v", err)
		}
	})
}

// May reports whether some stop can hold for a call with this stack.
func (k probeSink) May(t *inferior.Thread, call breakpoints.Call) bool {
	s := k.s
	at := newOrigin(s, t, call)
	for _, st := range s.stops.All() {
		if st.Enabled && onEvents(st) && (st.Cond == nil || possible(st.Cond.Root(), at, true)) {
			return true
		}
	}
	n := s.next
	return n != nil && (n.cond == nil || possible(n.cond.Root(), at, true))
}

// possible tells whether a condition can have the value when only the stack is
// known.
func possible(n cond.Node, v recording.Frames, value bool) bool {
	all := func(terms []cond.Node) bool {
		return !slices.ContainsFunc(terms, func(t cond.Node) bool { return !possible(t, v, value) })
	}
	one := func(terms []cond.Node) bool {
		return slices.ContainsFunc(terms, func(t cond.Node) bool { return possible(t, v, value) })
	}
	switch n := n.(type) {
	case *cond.And:
		if value {
			return all(n.Terms)
		}
		return one(n.Terms)
	case *cond.Or:
		if value {
			return one(n.Terms)
		}
		return all(n.Terms)
	case *cond.Not:
		return possible(n.X, v, !value)
	case *cond.Call:
		switch n.Predicate {
		case cond.Func:
			return v.Func(n.Arg) == value
		case cond.Module:
			return v.Module(n.Arg) == value
		case cond.Caller:
			return v.Caller(n.Arg) == value
		case cond.Like:
			return v.Like(n.Arg) == value
		}
	}
	return true // a number, or a name that says nothing about the stack
}

// threadStarted and threadExited follow the inferior's threads.
func (s *Session) threadStarted(t *inferior.Thread) {
	s.exclusive(func() { s.rec.AddThread(thread{t}) }) // behind the events of one that had its ID before
	if s.probe != nil {
		s.probe.ThreadsChanged()
	}
}

func (s *Session) threadExited(t *inferior.Thread) {
	s.tracer.ThreadExited(int32(t.TID))
	if s.probe == nil || !s.probe.Armed() {
		return
	}
	s.exclusive(func() { s.rec.RenameThread(thread{t}) })
	s.probe.ThreadExited(int32(t.TID))
	s.probe.ThreadsChanged()
}
