package session

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"hdb/breakpoints"
	"hdb/inferior"
	"hdb/internal/addr"
	"hdb/internal/cond"
	"hdb/internal/when"
	"hdb/probe"
	"hdb/session/allocators"
	"hdb/session/codeflow"
	"hdb/session/pystops"
	"hdb/session/target"
	"hdb/session/variables"
	"hdb/session/view"
)

// Stops are the numbered stops: breakpoints, watchpoints, and those at allocations.
type Stops struct {
	target     *target.Target
	account    *target.Account
	demand     *demands
	binds      map[int]*binding // by the ID of the stop
	sel        *view.Selection
	loc        *view.Locations
	values     *variables.Values
	conditions *Conditions
	allocators *allocators.Allocators
	likes      *likenesses
	planes     *Planes
	screens    *probe.Screens // nil: none were made
	arrivals   arrivals       // of signals, whatever stops there

	// Traces gives what is done at a stop that traces, and for the exits of its functions
	// when libraries have come.
	traced     func(*breakpoints.Stop, *inferior.Thread)
	traceExits func(*breakpoints.Stop) error
	entered    func(*breakpoints.Stop, *inferior.Thread) // at the function of a leaked()

	python *pystops.Stops
}

// binding is what a numbered stop has planted in the process.
type binding struct {
	traps []*inferior.Trap
	// screened is what the screens of traps were made for.
	screened map[*inferior.Trap]screening
	hard     []*inferior.Watch // of a stop that is Hardware, in place of traps
	watch    *inferior.Watch
	short    string             // why a debug register was missing when the last of hard, or watch, was set
	traced   tracing            // of a stop that traces
	size     int                // bytes watched
	typed    *watchedValue      // what they are; nil: bytes
	access   inferior.WatchKind // that is watched for
	home     frameID            // where a watchpoint was set, whose condition uses the variables there
	local    bool               // the watched variable is a local one of that frame
	// returns is where that frame returns to, if it is.
	returns uint64
}

// keep has a numbered stop planted as b says, and counted.
func (s *Stops) keep(id int, b *binding) {
	s.binds[id], s.demand.counts[id] = b, &counts{}
}

// drop forgets a stop that is no more.
func (s *Stops) drop(id int) {
	delete(s.binds, id)
	delete(s.demand.counts, id)
}

// traps are those that a stop has in memory.
func (s *Stops) traps(id int) []*inferior.Trap {
	if b := s.binds[id]; b != nil {
		return b.traps
	}
	return nil
}

// leakedCalls are those of functions of leaked() that are followed.
func (s *Stops) leakedCalls() (all []*when.Calls) {
	for _, st := range s.demand.stops.All() {
		if b := s.binds[st.ID]; st.Enabled && b != nil && b.traced.calls != nil {
			all = append(all, b.traced.calls)
		}
	}
	return all
}

// Break sets a numbered stop: break's and tbreak's text, "alloc if size >= 1MiB",
// "file.c:12 if thread == 2". A place that no module has yet makes it pending.
func (s *Stops) Break(text string, temporary bool) (*breakpoints.Stop, error) {
	return s.set(text, func(st *breakpoints.Stop) { st.Temporary = temporary })
}

// HardwareBreak is Break at a place in the code by a debug register: memory stays as it is.
func (s *Stops) HardwareBreak(text string, temporary bool) (*breakpoints.Stop, error) {
	return s.set(text, func(st *breakpoints.Stop) { st.Temporary, st.Hardware = temporary, true })
}

// set is Break; how says what stop it is.
func (s *Stops) set(text string, how func(*breakpoints.Stop)) (*breakpoints.Stop, error) {
	if event, ok := strings.CutPrefix(strings.TrimSpace(text), "at "); ok {
		st, err := s.likeSpec(strings.TrimSpace(event))
		if err != nil {
			return nil, err
		}
		how(st)
		return s.add(st)
	}
	spec, err := breakpoints.ParseSpec(text, s.allocators.Extra()...)
	if err != nil {
		return nil, err
	}
	st := breakpoints.NewStop(spec)
	how(st)
	if spec.OfPython() && !s.target.Settings.PythonAllocators && s.target.Mode() != target.Saved {
		s.target.Settings.PythonAllocators = true
		s.target.Notify("CPython's own allocators are followed from now on (set python-allocators off)")
	}
	if s.target.Mode() == target.Saved {
		if !onEvents(st) {
			return nil, fmt.Errorf("%w: break alloc and break free stop at recorded events", target.ErrSaved)
		}
		s.conditions.warnStop(st)
		return s.add(st)
	}
	if st.Location == "" {
		f, err := s.sel.LiveFrame()
		if err != nil {
			return nil, errors.New("break: no location: give a function, file:line, *address or alloc")
		}
		st.Kind, st.Addr = breakpoints.StopAddress, f.Code.Addr()
		st.Location = fmt.Sprintf("*%v", st.Addr)
	}
	if st.Kind == breakpoints.StopAddress && strings.Contains(st.Location, "$") { // the register's value of now
		if st.Addr, err = s.loc.Mem.Address(st.Location[1:]); err != nil {
			return nil, err
		}
		st.Location = fmt.Sprintf("*%v", st.Addr)
	}
	if st.Kind == breakpoints.StopLine && st.File == "" { // of the file of now, whatever is selected later
		file, line, err := s.loc.LineNumber(st.Location)
		if err != nil {
			return nil, err
		}
		st.Location = fmt.Sprintf("%s:%d", file, line)
	}
	s.conditions.warnStop(st)
	return s.add(st)
}

// onCode tells stops at places in the code from those on events and memory.
func onCode(st *breakpoints.Stop) bool {
	switch st.Kind {
	case breakpoints.StopAlloc, breakpoints.StopFree, breakpoints.StopWatch, breakpoints.StopPython, breakpoints.StopState:
		return false
	}
	return !st.Occurs()
}

// onState tells stops at what becomes true of the heap.
func onState(st *breakpoints.Stop) bool { return st.Kind == breakpoints.StopState }

// onEvents tells stops that the tracer serves.
func onEvents(st *breakpoints.Stop) bool {
	return st.Kind == breakpoints.StopAlloc || st.Kind == breakpoints.StopFree
}

// add numbers the stop and binds it, or says why it can never be bound.
func (s *Stops) add(st *breakpoints.Stop) (*breakpoints.Stop, error) {
	if st.Hardware && !onCode(st) {
		return nil, errors.New("a place in the code must follow: allocator events cannot use debug registers")
	}
	if err := checkLeaked(s.target, st); err != nil {
		return nil, err
	}
	if onCode(st) {
		if err := s.resolve(st); err != nil {
			return nil, err
		}
	}
	if err := s.conditions.check(st, nil); err != nil {
		return nil, err
	}
	s.demand.stops.Add(st)
	s.keep(st.ID, &binding{traced: newTracing(st)})
	if err := s.bindNow(st); err != nil {
		err = errors.Join(err, s.unbind(st))
		s.demand.stops.Delete(st.ID)
		s.drop(st.ID)
		return nil, err
	}
	s.demand.count(s.demand.counts[st.ID])
	return st, nil
}

// resolve finds the stop's places in what is loaded.
func (s *Stops) resolve(st *breakpoints.Stop) error {
	places, err := s.loc.Places(st.Where())
	if err != nil {
		return err
	}
	st.Places = places
	st.Pending = len(places) == 0
	return nil
}

// bind plants those traps of the stop that are not there yet.
func (s *Stops) bind(st *breakpoints.Stop) error {
	if s.target.Proc == nil || !st.Enabled {
		return nil
	}
	switch {
	case onEvents(st), st.Occurs(), onState(st):
		return s.planes.arm()
	case st.Kind == breakpoints.StopWatch:
		return s.bindWatch(st)
	case st.Kind == breakpoints.StopPython:
		return s.python.Bind(st)
	}
	if st.Hardware {
		return s.bindHardware(st)
	}
	b := s.binds[st.ID]
	var errs []error
	for _, p := range st.Places {
		if slices.ContainsFunc(b.traps, func(tr *inferior.Trap) bool { return tr.Addr() == p.Addr }) {
			continue
		}
		if st.Kind == breakpoints.StopAddress {
			if err := codeflow.Inside(s.target, p.Addr); err != nil {
				errs = append(errs, fmt.Errorf("breakpoint %d: %w", st.ID, err))
				continue
			}
		}
		tr, err := s.planes.plant(p.Addr, func(t *inferior.Thread) inferior.Action { return s.atStop(st, t) })
		if err != nil {
			errs = append(errs, fmt.Errorf("%s %d at %v: %w", st.Word(), st.ID, p.Addr, err))
			continue
		}
		b.traps = append(b.traps, tr)
	}
	s.planes.traceClones()
	s.planes.data.noteCrowded()
	return errors.Join(errs...)
}

// bindNow plants a stop's traps in a stopped process, and follows what its condition asks for.
func (s *Stops) bindNow(st *breakpoints.Stop) error {
	if err := s.bind(st); err != nil || onEvents(st) || !asksHeap(st.Cond) && st.Kind != breakpoints.StopLeaked {
		return err
	}
	return s.planes.arm()
}

// atStop is the handler of a planted stop.
func (s *Stops) atStop(st *breakpoints.Stop, t *inferior.Thread) inferior.Action {
	if st.Kind == breakpoints.StopLeaked {
		s.entered(st, t)
		return inferior.Resume
	}
	if !s.stops(st, t) {
		return inferior.Resume
	}
	switch {
	case st.Print != nil:
		s.target.Exclusive(func() {}) // what events before have to print comes first
		printStop(&newCodeEnv(s, st, t).OfFrame, st)
		return inferior.Resume
	case st.Trace:
		s.traced(st, t)
		return inferior.Resume
	}
	s.demand.hits = append(s.demand.hits, hit{stop: st, thread: t})
	return inferior.StopHere
}

// stops reports whether a stop at a place or watchpoint stops a thread that is there. A condition
// whose variables cannot be read stops it: the user may have waited for that very arrival.
func (s *Stops) stops(st *breakpoints.Stop, t *inferior.Thread) bool {
	if !s.about(st, t) {
		return false
	}
	env := newCodeEnv(s, st, t)
	switch met := st.Meets(env); {
	case met != cond.Unknown:
		return met == cond.True && st.Hit()
	case st.GoesOn():
		noteFailed(s.target, st, fmt.Sprintf("condition %s: ", st.Cond), env.Err)
		return false
	case !st.Hit():
		return false
	}
	s.target.Notify("%s %d: condition %s: %v: stopped for that", st.Word(), st.ID, st.Cond, env.Err)
	return true
}

// unbind removes the stop's traps.
func (s *Stops) unbind(st *breakpoints.Stop) error {
	b := s.binds[st.ID]
	if b == nil {
		return nil
	}
	var errs []error
	if s.target.Proc != nil {
		for _, tr := range b.traps {
			errs = append(errs, tr.Remove())
		}
		for _, w := range b.hard {
			errs = append(errs, w.Remove())
		}
		if b.watch != nil {
			errs = append(errs, b.watch.Remove())
		}
		errs = append(errs, b.traced.remove(), s.python.Unbind(st))
	}
	b.traps, b.hard, b.watch, b.screened = nil, nil, nil, nil
	b.traced.forget()
	return errors.Join(append(errs, s.planes.reshape())...)
}

// bindAll plants all stops in a new process or program image.
func (s *Stops) bindAll() {
	for _, st := range s.demand.stops.All() {
		s.rebind(st)
	}
}

// rebindAll resolves all stops again after the program changed, also after Ctrl-C.
func (s *Stops) rebindAll() {
	defer s.target.Within(s.target.Within(nil))
	for _, st := range s.demand.stops.All() {
		if !onCode(st) {
			continue
		}
		if places, err := s.loc.Places(st.Where()); err == nil {
			st.Places, st.Pending = places, len(places) == 0
		}
	}
}

// rebind resolves and binds a stop after the modules changed, also after Ctrl-C: the stop
// needs all its places.
func (s *Stops) rebind(st *breakpoints.Stop) {
	defer s.target.Within(s.target.Within(nil))
	if onEvents(st) || st.Occurs() || onState(st) {
		return // the planes are armed once for all
	}
	if onCode(st) {
		places, _ := s.loc.Places(st.Where()) // an error is an address that is not known yet
		st.Places = s.mapped(places)
		st.Pending = len(st.Places) == 0
	}
	if err := s.bind(st); err != nil {
		s.target.Notify("%v", err)
	} else {
		s.noteCost(st)
	}
}

// noteCost says what a stop costs that has just come into place.
func (s *Stops) noteCost(st *breakpoints.Stop) {
	if text := s.Cost(st); text != "" {
		s.target.Notify("%s %d: %s", st.Word(), st.ID, text)
	}
}

// mapped leaves out places where there is no memory: of an address as typed, in
// a library that is not loaded yet.
func (s *Stops) mapped(places []breakpoints.Place) []breakpoints.Place {
	return slices.DeleteFunc(places, func(p breakpoints.Place) bool {
		var b [1]byte
		_, err := s.target.Proc.ReadAt(b[:], int64(p.Addr))
		return err != nil
	})
}

func (s *Stops) unbindAll() {
	for _, st := range s.demand.stops.All() {
		if err := s.unbind(st); err != nil {
			s.target.Notify("%s %d: %v", st.Word(), st.ID, err)
		}
	}
}

// bindPending looks for the places of stops in libraries that just came, also after Ctrl-C.
func (s *Stops) bindPending() {
	defer s.target.Within(s.target.Within(nil))
	s.allocators.PlacePending()
	s.python.ModulesChanged()
	for _, st := range s.demand.stops.All() {
		if b := s.binds[st.ID]; b != nil && b.traced.exits != nil {
			if err := s.traceExits(st); err != nil {
				noteFailed(s.target, st, "returns: ", err)
			}
		}
		if !onCode(st) {
			continue
		}
		places, err := s.loc.Places(st.Where())
		if err != nil {
			continue // an address that is still unknown
		}
		var fresh []breakpoints.Place
		for _, p := range s.mapped(places) {
			if !slices.ContainsFunc(st.Places, func(q breakpoints.Place) bool { return q.Addr == p.Addr }) {
				fresh = append(fresh, p)
			}
		}
		if len(fresh) == 0 {
			continue
		}
		was := st.Pending
		st.Places, st.Pending = append(st.Places, fresh...), false
		if err := s.bind(st); err != nil {
			s.target.Notify("%v", err)
		}
		if was {
			s.target.Notify("%s %d is in place: %s", st.Word(), st.ID, view.PlaceText(fresh[0]))
			s.noteCost(st)
		}
	}
}

// dropPlaces forgets places in libraries that are gone.
func (s *Stops) dropPlaces(removed []inferior.Module) {
	for _, st := range s.demand.stops.All() {
		b := s.binds[st.ID]
		if b == nil || !onCode(st) {
			continue
		}
		inside := func(a addr.Run) bool {
			return slices.ContainsFunc(removed, func(m inferior.Module) bool { return a >= m.Low && a < m.High })
		}
		b.traps = slices.DeleteFunc(b.traps, func(t *inferior.Trap) bool {
			if !inside(t.Addr()) {
				return false
			}
			delete(b.screened, t)
			_ = t.Remove() // its memory is unmapped: that it cannot be restored means nothing
			return true
		})
		b.traced.drop(inside)
		b.hard = slices.DeleteFunc(b.hard, func(w *inferior.Watch) bool {
			if !inside(w.Addr) {
				return false
			}
			if err := w.Remove(); err != nil {
				s.target.Notify("%s %d: %v", st.Word(), st.ID, err)
			}
			return true
		})
		st.Places = slices.DeleteFunc(st.Places, func(p breakpoints.Place) bool { return inside(p.Addr) })
		st.Pending = len(st.Places) == 0
	}
}

// All are the numbered stops, by number. While the process runs they are as of one moment:
// hits of stops that print records are counted where the ring is drained.
func (s *Stops) All() []*breakpoints.Stop {
	if !s.target.Alongside {
		return s.demand.stops.All()
	}
	var all []*breakpoints.Stop
	s.target.Exclusive(func() {
		for _, st := range s.demand.stops.All() {
			now := *st
			all = append(all, &now)
		}
	})
	return all
}

// EnableFor is Enable, and has change say for how long.
func (s *Stops) EnableFor(id int, change func(*breakpoints.Stop)) error {
	st, err := s.At(id)
	if err != nil {
		return err
	}
	if then := *st; change != nil && st.GoesOn() {
		if change(&then); then.Temporary {
			return fmt.Errorf("%s %d does not stop the program, so it cannot be deleted at a hit: enable once %d disables it at one", st.Word(), id, id)
		}
	}
	if st.Enabled && change != nil { // so that what it prints by is made anew
		if err := s.Enable(id, false); err != nil {
			return err
		}
	}
	if change != nil {
		change(st)
	}
	return s.Enable(id, true)
}

// At is the numbered stop, as in All.
func (s *Stops) At(id int) (*breakpoints.Stop, error) {
	st, ok := s.demand.stops.Get(id)
	if !ok {
		return nil, fmt.Errorf("no breakpoint %d: see info breakpoints", id)
	}
	if s.target.Alongside {
		var now breakpoints.Stop
		s.target.Exclusive(func() { now = *st })
		return &now, nil
	}
	return st, nil
}

// Delete removes the numbered stop.
func (s *Stops) Delete(id int) error {
	st, err := s.At(id)
	if err != nil {
		return err
	}
	err = s.unbind(st)
	s.demand.stops.Delete(id)
	s.drop(id)
	if s.target.Proc != nil {
		err = errors.Join(err, s.planes.arm())
	}
	return err
}

// Enable makes the stop act again, or not.
func (s *Stops) Enable(id int, on bool) error {
	st, err := s.At(id)
	if err != nil || st.Enabled == on {
		return err
	}
	st.Enabled = on
	if b := s.demand.counts[id]; on {
		s.conditions.warnStopCounts(st)
		s.demand.count(b)
	} else {
		b.seen.end(s.demand.stopSeq())
		b.unsized.end(s.account.Rec.Live().Unsized())
	}
	switch {
	case onEvents(st), onState(st):
		return s.planes.arm()
	case on:
		return s.bindNow(st)
	}
	return errors.Join(s.unbind(st), s.planes.arm())
}

// Clear deletes the stops at a location, and returns their numbers.
func (s *Stops) Clear(location string) ([]int, error) {
	places, err := s.loc.Places(location)
	if err != nil {
		return nil, err
	}
	var ids []int
	for _, st := range s.demand.stops.All() {
		for _, p := range places {
			if slices.ContainsFunc(st.Places, func(q breakpoints.Place) bool { return q.Addr == p.Addr }) {
				ids = append(ids, st.ID)
				break
			}
		}
	}
	if len(ids) == 0 {
		return nil, fmt.Errorf("no breakpoint at %s", location)
	}
	for _, id := range ids {
		if err := s.Delete(id); err != nil {
			return nil, err
		}
	}
	return ids, nil
}

// BreakRegexp sets a stop on each function whose name matches.
func (s *Stops) BreakRegexp(expr string) ([]*breakpoints.Stop, error) {
	if s.target.Mode() == target.Saved {
		return nil, target.ErrSaved
	}
	found, err := s.target.Names.Places.Matching(expr)
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("rbreak: no function matches %q", expr)
	}
	var out []*breakpoints.Stop
	have := func(st *breakpoints.Stop, p breakpoints.Place) bool {
		return slices.ContainsFunc(st.Places, func(q breakpoints.Place) bool { return q.Addr == p.Addr })
	}
	for _, p := range view.Places(found) {
		if slices.ContainsFunc(out, func(st *breakpoints.Stop) bool { return have(st, p) || st.Spec.Function == p.Function }) {
			continue // a part of a function that has one already
		}
		st, err := s.add(breakpoints.NewStop(breakpoints.Spec{
			Kind: breakpoints.StopFunction, Location: p.Function, Function: p.Function,
		}))
		if err != nil {
			return out, err
		}
		out = append(out, st)
	}
	return out, nil
}
