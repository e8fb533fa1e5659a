package session

import (
	"fmt"
	"slices"

	"hdb/breakpoints"
	"hdb/capture"
	"hdb/inferior"
	"hdb/internal/addr"
	"hdb/internal/cond"
	"hdb/session/codeflow"
	"hdb/session/cpython"
	"hdb/session/heaps"
	"hdb/session/stepping"
	"hdb/session/stopped"
	"hdb/session/target"
	"hdb/session/view"
)

// Execution lets the inferior run until something stops it, and reports where that is.
type Execution struct {
	target   *target.Target
	account  *target.Account
	demand   *demands
	sel      *view.Selection
	loc      *view.Locations
	planes   *Planes
	stops    *Stops
	recorder *Recorder
	python   *cpython.Python
	mallocs  *heaps.Mallocs

	ended func() // forgets a process that has ended

	alone *inferior.Thread // calls a function while the others are stopped; nil: none does
	steps bool             // what runs is step, next, stepi or nexti

	inPython bool // what has ended is a step in Python
}

// Continue resumes the inferior until something stops it. n above 1 ignores the next n-1 hits of
// the stop it is at, as gdb does.
func (x *Execution) Continue(n int) (*stopped.Report, error) {
	if err := x.target.Live(); err != nil {
		return nil, err
	}
	if n > 1 {
		i := slices.IndexFunc(x.demand.hits, func(h hit) bool { return h.stop != nil })
		if i < 0 {
			return nil, fmt.Errorf("continue %d: no breakpoint to ignore: the inferior did not stop at one", n)
		}
		x.demand.hits[i].stop.Ignore += uint64(n - 1)
	}
	_, stop, err := x.RunToTargets(nil)
	if err != nil {
		return nil, err
	}
	return x.Report(stop, ""), nil
}

// runTo runs until any thread reaches one of the places.
func (x *Execution) runTo(places []breakpoints.Place, verb string) (*stopped.Report, error) {
	var ts []stepping.RunTarget
	for _, p := range places {
		ts = append(ts, stepping.RunTarget{At: p.Addr})
	}
	_, stop, err := x.RunToTargets(ts)
	if err != nil {
		return nil, err
	}
	return x.Report(stop, verb), nil
}

// RunToTargets resumes all threads with traps at the targets. reached tells that
// a target stopped the inferior and no numbered stop did.
func (x *Execution) RunToTargets(targets []stepping.RunTarget) (reached bool, stop inferior.Stop, err error) {
	var planted []*inferior.Trap
	defer func() {
		for _, tr := range planted {
			if e := tr.Remove(); e != nil && err == nil && x.target.Proc != nil {
				if _, gone := x.target.Proc.Exited(); !gone {
					err = e
				}
			}
		}
		if e := x.planes.reshape(); err == nil {
			err = e
		}
	}()
	hit := false
	for _, tg := range targets {
		tr, err := x.planes.plant(tg.At, func(t *inferior.Thread) inferior.Action {
			if tg.When != nil && !tg.When(t) {
				return inferior.Resume
			}
			hit = true
			return inferior.StopHere
		})
		if err != nil {
			return false, inferior.Stop{}, fmt.Errorf("stop at %v: %w", tg.At, err)
		}
		planted = append(planted, tr)
	}
	stop, err = x.resume()
	return hit && len(x.demand.hits) == 0 && stop.Reason == inferior.Trapped, stop, err
}

// resume lets all threads, or the one that scheduler-locking has run, continue until something asks
// to stop.
func (x *Execution) resume() (inferior.Stop, error) {
	if err := x.Lockable(); err != nil {
		return inferior.Stop{}, err
	}
	x.planes.rearm()
	x.planes.noteUnfollowed()
	x.Leave()
	defer x.target.Clock.Stop()
	if x.target.Probe != nil {
		x.target.Probe.Resumed(x.target.Now())
		defer func() {
			if x.target.Probe != nil {
				x.target.Probe.Stopped()
				x.planes.data.countEvents()
			}
		}()
	}
	if x.alone == nil {
		x.stops.screen()
	}
	for {
		stop, err := x.proceed()
		if err != nil || stop.Reason != inferior.Watched || x.stops.watched(stop) {
			return stop, err
		}
	}
}

// proceed lets all threads run, or the one that calls a function or is locked.
func (x *Execution) proceed() (inferior.Stop, error) {
	x.target.Going.Store(true)
	defer x.target.Going.Store(false)
	if x.alone != nil {
		return x.target.Proc.RunAlone(x.alone)
	}
	if t := x.locked(); t != nil {
		return x.runLocked(t)
	}
	return x.target.Proc.Continue()
}

// Leave forgets what was true of the last stop.
func (x *Execution) Leave() {
	x.target.Names.Resumed()
	x.demand.hits = nil
	x.sel.Leave()
	x.target.Clock.Resume()
}

// NextAlloc continues to the n-th allocation event from here that matches the
// condition; a nil condition matches all.
func (x *Execution) NextAlloc(n int, c *cond.Cond) (*stopped.Report, error) {
	return x.nextEvent(n, c, false, func(k capture.Kind) bool {
		return k == capture.Alloc || k == capture.Realloc || k == capture.Map
	})
}

// NextFree continues to the n-th free from here.
func (x *Execution) NextFree(n int, c *cond.Cond) (*stopped.Report, error) {
	return x.nextEvent(n, c, true, func(k capture.Kind) bool { return k == capture.Free || k == capture.Unmap })
}

func (x *Execution) nextEvent(n int, c *cond.Cond, frees bool, want func(capture.Kind) bool) (*stopped.Report, error) {
	if err := x.target.Live(); err != nil {
		return nil, err
	}
	if c != nil && !x.target.Said[c.String()] { // an empty line repeats the command
		x.target.Said[c.String()] = true
		x.stops.conditions.warn(c, frees)
	}
	x.demand.next = &nextEvent{left: max(n, 1), cond: c, want: want}
	if err := x.planes.arm(); err != nil {
		x.demand.next = nil
		return nil, err
	}
	_, stop, err := x.RunToTargets(nil)
	x.demand.next = nil
	if err != nil {
		return nil, err
	}
	if x.target.Proc != nil {
		if _, gone := x.target.Proc.Exited(); !gone {
			if err := x.planes.arm(); err != nil {
				return nil, err
			}
		}
	}
	return x.Report(stop, "next event"), nil
}

// useArrived has modules opened again for which debug info came, at a stop.
func (x *Execution) useArrived() {
	done := x.target.OwnWork()
	if x.target.Names.UseArrived() {
		x.stops.bindPending()
		done()
	}
}

// NoteUnfollowed notes that the calls of a stepped instruction are not followed.
func (x *Execution) NoteUnfollowed() { x.planes.noteUnfollowed() }

// Watched reports whether a stop is at a watchpoint that stops the program.
func (x *Execution) Watched(stop inferior.Stop) bool { return x.stops.watched(stop) }

// ForgetHits forgets the stops that were met: the thread is no longer there.
func (x *Execution) ForgetHits() { x.demand.hits = nil }

// Inside is the error of an address in the middle of an instruction, nil: it is none.
func (x *Execution) Inside(a addr.Run) error { return codeflow.Inside(x.target, a) }

// Resume lets all threads, or the one that scheduler-locking has run, continue until something asks to stop.
func (x *Execution) Resume() (inferior.Stop, error) { return x.resume() }

// Hit reports whether numbered stops were met.
func (x *Execution) Hit() bool { return len(x.demand.hits) > 0 }

// ReportInPython is Report of a stop in the function of Python that the thread is in.
func (x *Execution) ReportInPython(stop inferior.Stop, verb string) *stopped.Report {
	x.inPython = true
	defer func() { x.inPython = false }()
	return x.Report(stop, verb)
}
