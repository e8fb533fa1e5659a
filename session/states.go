package session

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"hdb/breakpoints"
	"hdb/capture"
	"hdb/inferior"
	"hdb/internal/addr"
	"hdb/internal/cond"
	"hdb/internal/when"
	"hdb/query"
	"hdb/recording"
	"hdb/session/stopped"
	"hdb/session/target"
)

// states are the stops on state, break when: what they remember of the events, and those whose
// condition has become true. Events are passed to it where they are taken: those of the ring on its
// goroutine, others on the owner's, with the Recording locked.
type states struct {
	target   *target.Target
	account  *target.Account
	demand   *demands
	recorded func() (*query.Recording, error)
	arm      func() error

	of map[*breakpoints.Stop]*stateOf // the owner's, changed while no event is taken

	mu  sync.Mutex
	met []stopped.Met // of which the owner was not told yet
	// lapsed tells that a condition holds no more of which the process was to stop at the event itself.
	lapsed  bool
	rearmed time.Time
}

// stateOf is what one of them remembers.
type stateOf struct {
	*when.State
	cond  *when.Cond
	exact bool // the process is asked to stop at the event itself
}

// begin forgets what was remembered of another run or image.
func (s *states) begin() {
	clear(s.of)
	s.take()
}

// forget has the stop follow events anew, as its condition is another.
func (s *states) forget(st *breakpoints.Stop) { s.target.Exclusive(func() { delete(s.of, st) }) }

// current is what the enabled stops remember. New ones are given what lives. The Recording may be
// locked.
func (s *states) current() (stops []*breakpoints.Stop, all []*stateOf) {
	for _, st := range s.demand.stops.All() {
		if onState(st) && st.Enabled && s.of[st] != nil {
			stops, all = append(stops, st), append(all, s.of[st])
		}
	}
	return stops, all
}

// prepare makes the states of stops that are new, or enabled again, and forgets those of others.
func (s *states) prepare() {
	fresh := map[*breakpoints.Stop]*stateOf{}
	for _, st := range s.demand.stops.All() {
		switch {
		case !onState(st) || !st.Enabled:
		case s.of[st] != nil && s.of[st].cond == st.When:
			fresh[st] = s.of[st]
		default:
			x := &stateOf{State: when.NewState(st.When), cond: st.When}
			s.seed(x)
			bytes, blocks := s.account.Rec.Heap()
			if x.Begin(bytes, blocks, s.target.Now()); x.Met() && s.account.Rec.Seq() > 0 {
				s.target.Notify("%s %d: %s is already true: it stops once it has become false and true again", st.Word(), st.ID, st.Location)
			}
			fresh[st] = x
		}
	}
	s.target.Exclusive(func() { s.of = fresh })
}

// seed tells a new state of the recorded blocks that live.
func (s *states) seed(x *stateOf) {
	groups, aged := x.Groups()
	if len(groups) == 0 {
		return
	}
	r, err := s.recorded()
	if err != nil {
		return // nothing is recorded: they are counted from here on
	}
	for g, c := range groups {
		live, err := r.Live(context.Background(), c, query.Present, 0)
		if err != nil {
			continue
		}
		events := live.Largest
		if aged && g == len(groups)-1 {
			slices.SortFunc(events, func(a, b *recording.Event) int { return int(int64(a.Seq) - int64(b.Seq)) })
		}
		for _, e := range events {
			x.Seed(g, e.Addr, e.Size, e.Seq, e.Time)
		}
	}
}

// exact are stops at the allocations that can make conditions true which do not hold now: the
// process stops there before it continues.
func (s *states) exact() (all []*breakpoints.Stop) {
	_, states := s.current()
	for _, x := range states {
		c := x.cond.Exact()
		if x.exact = c != nil && !x.Met(); x.exact {
			all = append(all, breakpoints.NewStop(breakpoints.Spec{Kind: breakpoints.StopAlloc, Location: "alloc", Cond: c}))
		}
	}
	return all
}

// changed reports whether exact would have others now.
func (s *states) changed() bool {
	_, states := s.current()
	return slices.ContainsFunc(states, func(x *stateOf) bool { return x.exact != (!x.Met() && x.cond.Exact() != nil) })
}

// watches have the states told of the ring's events.
func (s *states) watches() (all []*recording.Watch) {
	stops, states := s.current()
	for i, x := range states {
		see := func(e *capture.Event, fn *breakpoints.Function, env cond.Env) {
			we, at, met := whenEvent(e), env.(when.Env), x.Met()
			became := x.Event(we, at)
			if !became && (!met || x.Met()) {
				return
			}
			s.mu.Lock()
			defer s.mu.Unlock()
			if !became {
				s.lapsed = true
				return
			}
			if !slices.ContainsFunc(s.met, func(m stopped.Met) bool { return m.Stop == stops[i] }) {
				event := &recording.Event{Event: *e, Function: fn.Name}
				s.met = append(s.met, stopped.Met{Stop: stops[i], Event: event, Why: x.Why(we, at), Late: true})
			}
		}
		all = append(all, recording.NewWatch(x.cond.Asked(), see, s.wake))
	}
	for _, c := range s.demand.calls() {
		see := func(e *capture.Event, _ *breakpoints.Function, env cond.Env) { c.Event(int(e.TID), whenEvent(e), env) }
		all = append(all, recording.NewWatch(c.Asked(), see, func() {}))
	}
	return all
}

// wake has the owner stop the process, if a condition has become true.
func (s *states) wake() {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.target.Current.Load()
	if p == nil {
		return
	}
	if len(s.met) > 0 {
		p.Wake(func() {
			if s.hit() {
				_ = p.Interrupt() // it never fails
			}
		})
	}
	if s.lapsed && time.Since(s.rearmed) > rearmEvery {
		s.rearmed, s.lapsed = time.Now(), false
		p.Wake(func() {
			if s.target.Probe != nil && s.target.Probe.Armed() && s.changed() {
				if err := s.target.StopAll(s.arm); err != nil && !errors.Is(err, inferior.ErrEnded) {
					s.target.Notify("%v", err)
				}
			}
		})
	}
}

// rearmEvery is how often the process is asked anew to stop at events themselves, at most, while it
// runs: all threads are stopped for that.
const rearmEvery = time.Second

// take are the conditions that have become true since.
func (s *states) take() []stopped.Met {
	s.mu.Lock()
	defer s.mu.Unlock()
	met := s.met
	s.met = nil
	return met
}

// hit counts them as hits, and reports whether one stops the process.
func (s *states) hit() (stops bool) {
	for _, m := range s.take() {
		if slices.ContainsFunc(s.demand.hits, func(h hit) bool { return h.stop == m.Stop }) {
			continue // the same stop: the process was about to stop
		}
		if !m.Stop.Enabled || !m.Stop.Hit() {
			continue
		}
		h := hit{stop: m.Stop, met: &m}
		if s.target.Proc != nil {
			h.thread = s.target.Proc.Thread(int(m.Event.TID))
		}
		s.demand.hits = append(s.demand.hits, h)
		stops = true
	}
	return stops
}

// taken tells the states of an event that the owner follows, and whether one of them stops there.
func (s *states) taken(t *inferior.Thread, e *recording.Event, env cond.Env, now addr.Code) (stop bool) {
	for _, c := range s.demand.calls() {
		c.Event(int(e.TID), whenEvent(&e.Event), env)
	}
	stops, states := s.current()
	for i, x := range states {
		we, at := whenEvent(&e.Event), env.(when.Env)
		if !x.Event(we, at) || !stops[i].Hit() {
			continue
		}
		s.demand.hits = append(s.demand.hits, hit{stop: stops[i], thread: t, event: e, now: now,
			met: &stopped.Met{Stop: stops[i], Event: e, Why: x.Why(we, at)}})
		stop = true
	}
	return stop
}

// whenEvent is the part of an event that states need.
func whenEvent(e *capture.Event) when.Event {
	w := when.Event{Seq: e.Seq, Time: e.Time, Size: e.Size}
	if e.Allocates() {
		w.Made = e.Addr
	}
	switch {
	case e.Kind == capture.Free:
		w.Old = e.Addr
	case e.Kind == capture.Realloc && !e.Failed:
		w.Old = e.Old
	}
	return w
}

// may reports whether one of them can hold for a call with this stack.
func (s *states) may(at recording.Frames) bool {
	_, states := s.current()
	return slices.ContainsFunc(states, func(x *stateOf) bool {
		return mayByStack(x.cond.Exact(), at)
	})
}

// complete finds what the recording knows the event, and how many came behind it.
func (s *states) complete(m *stopped.Met) {
	if !m.Late {
		return
	}
	m.Behind = s.account.Rec.Seq() - m.Event.Seq
	r, err := s.recorded()
	if err != nil {
		return
	}
	e, ok := query.EventAt(r.Source, m.Event.Seq)
	if !ok {
		return
	}
	m.Event = e
	for _, t := range r.Source.Threads() {
		if t.TID == e.TID {
			m.Thread = t.Num
		}
	}
	st := r.Stack(e)
	if len(st.Frames) > 0 {
		m.Frames = st.Frames[:r.Attribution.Owner(st.Frames)+1]
	}
}
