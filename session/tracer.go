package session

import (
	"fmt"
	"slices"
	"strings"

	"hdb/breakpoints"
	"hdb/inferior"
	"hdb/internal/addr"
	"hdb/internal/cond"
)

// newTracer makes the tracer of the process; it plants nothing yet.
func (s *Session) newTracer() {
	if s.tracer != nil {
		s.tracer.Disarm()
	}
	s.dropTracer()
	s.bare = nil
	s.tracer = breakpoints.NewTracer(s.proc, allocatorSymbols{s}, plainSink{sink{s}})
	for _, fn := range s.userFns {
		if err := s.tracer.Add(fn); err != nil {
			s.notify("alloc add: %v", err)
		}
	}
}

// dropTracer forgets the tracer but not what it lost.
func (s *Session) dropTracer() {
	s.losses.EndTracer(s.tracerStats())
	s.tracer = nil
}

// armTracer arms all allocator functions when someone wants events, and none
// otherwise. It is all or nothing, so that the numbers of events do not depend
// on which stops are set.
func (s *Session) armTracer() error {
	if s.proc == nil {
		return nil
	}
	err := s.armPlane()
	s.traceClones()
	s.followBare()
	return err
}

func (s *Session) armPlane() error {
	if !s.wantsEvents() {
		s.tracer.Disarm()
		s.disarmProbe()
		return nil
	}
	s.noteGo(s.proc.Modules())
	if s.Settings.Probe != ProbeOff && s.fellBack == "" {
		s.fetchAhead(nil)
		err := s.armProbe()
		if err == nil {
			s.tracer.Disarm()
			return nil
		}
		if s.Settings.Probe == ProbeOn {
			return fmt.Errorf("probe: %w", err)
		}
		s.fallBack(err)
	}
	s.disarmProbe()
	err := s.tracer.Arm(func(breakpoints.Function) bool { return true })
	if err != nil && s.recordStatus().Sites > 0 {
		s.notify("some allocator functions are not watched: %s", oneLine(err)) // the others are
		return nil
	}
	return err
}

// oneLine is the text of an error, joined ones one after the other: a notice is
// one line.
func oneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }

// wantsEvents tells whether anything depends on allocation events.
func (s *Session) wantsEvents() bool {
	if s.rec.On() || s.next != nil {
		return true
	}
	return slices.ContainsFunc(s.stops.All(), func(st *breakpoints.Stop) bool {
		if !st.Enabled {
			return false
		}
		return onEvents(st) || asksHeap(st.Cond)
	})
}

// asksHeap tells whether a condition depends on what happened to the heap before.
func asksHeap(c *cond.Cond) bool {
	return c != nil && (c.Uses(cond.Live) || c.Uses(cond.Blocks) || c.Uses(cond.Nth))
}

// allocatorSymbols tells the tracer where a module defines its functions.
type allocatorSymbols struct{ s *Session }

// Defined are the functions with those names that the module defines.
func (a allocatorSymbols) Defined(m inferior.Module, wanted []string) ([]breakpoints.Symbol, error) {
	mod := a.s.names.Modules.At(m.Low)
	if mod == nil {
		return nil, nil // gone again
	}
	obj, err := a.s.names.Modules.Object(mod)
	if obj == nil {
		return nil, err
	}
	out := a.s.definedUser(m, obj, wanted)
	if len(a.s.users) > 0 {
		wanted = slices.DeleteFunc(slices.Clone(wanted), func(name string) bool { return a.s.users[name] != nil })
	}
	for _, sym := range a.s.names.Modules.Defined(obj, m.Bias, wanted) {
		out = append(out, breakpoints.Symbol(sym))
	}
	return out, nil
}

// Extent is the code of the function of a module at an address.
func (a allocatorSymbols) Extent(_ inferior.Module, at addr.Run) (low, high addr.Run, ok bool) {
	table, bias, _ := a.s.names.Modules.ModuleAt(at)
	if table == nil {
		return 0, 0, false
	}
	code, ok := table.FunctionAt(at.File(bias))
	return code.Low.Run(bias), code.High.Run(bias), ok
}
