package session

import (
	"fmt"
	"slices"

	"hdb/breakpoints"
	"hdb/capture"
	"hdb/inferior"
	"hdb/internal/addr"
	"hdb/internal/cond"
	"hdb/names"
	"hdb/query"
)

// A target is a place to run to that is not a numbered stop: the return of a
// function, the start of a line.
type target struct {
	at   addr.Run
	when func(*inferior.Thread) bool // nil: any thread, always
}

// Continue resumes the inferior until something stops it. n above 1 ignores the
// next n-1 hits of the stop it stands at, as gdb does.
func (s *Session) Continue(n int) (*Report, error) {
	if err := s.live(); err != nil {
		return nil, err
	}
	if n > 1 {
		i := slices.IndexFunc(s.demand.hits, func(h hit) bool { return h.stop != nil })
		if i < 0 {
			return nil, fmt.Errorf("continue %d: no breakpoint to ignore: the inferior did not stop at one", n)
		}
		s.demand.hits[i].stop.Ignore += uint64(n - 1)
	}
	_, stop, err := s.runToTargets(nil)
	if err != nil {
		return nil, err
	}
	return s.report(stop, ""), nil
}

// runTo runs until any thread reaches one of the places.
func (s *Session) runTo(places []breakpoints.Place, verb string) (*Report, error) {
	var ts []target
	for _, p := range places {
		ts = append(ts, target{at: p.Addr})
	}
	_, stop, err := s.runToTargets(ts)
	if err != nil {
		return nil, err
	}
	return s.report(stop, verb), nil
}

// runToTargets resumes all threads with traps at the targets. reached tells that
// a target stopped the inferior and no numbered stop did.
func (s *Session) runToTargets(targets []target) (reached bool, stop inferior.Stop, err error) {
	var planted []*inferior.Trap
	defer func() {
		for _, tr := range planted {
			if e := tr.Remove(); e != nil && err == nil && s.proc != nil {
				if _, gone := s.proc.Exited(); !gone {
					err = e
				}
			}
		}
		if e := s.Planes.reshape(); err == nil {
			err = e
		}
	}()
	hit := false
	for _, tg := range targets {
		tr, err := s.Planes.plant(tg.at, func(t *inferior.Thread) inferior.Action {
			if tg.when != nil && !tg.when(t) {
				return inferior.Resume
			}
			hit = true
			return inferior.StopHere
		})
		if err != nil {
			return false, inferior.Stop{}, fmt.Errorf("stop at %v: %w", tg.at, err)
		}
		planted = append(planted, tr)
	}
	stop, err = s.resume()
	return hit && len(s.demand.hits) == 0 && stop.Reason == inferior.Trapped, stop, err
}

// resume lets all threads run until something asks to stop.
func (s *Session) resume() (inferior.Stop, error) {
	s.Planes.rearm()
	s.Planes.noteUnfollowed()
	s.leave()
	defer s.clock.Stop()
	if s.probe != nil {
		s.probe.Resumed(s.now())
		defer func() {
			if s.probe != nil {
				s.probe.Stopped()
				s.Planes.data.countEvents()
			}
		}()
	}
	for {
		stop, err := s.proc.Continue()
		if err != nil || stop.Reason != inferior.Watched || s.Stops.watched(stop) {
			return stop, err
		}
	}
}

// leave forgets what was true of the last stop.
func (s *Session) leave() {
	s.names.Resumed()
	s.demand.hits = nil
	s.Selection.max, s.Selection.frame, s.Selection.code, s.Selection.stack = 0, 0, addr.Code{}, names.Stack{}
	s.clock.Resume()
}

// report turns the engine's stop into the user's, selects thread and frame, and
// keeps it in the log.
func (s *Session) report(stop inferior.Stop, verb string) *Report {
	return s.reportFinished(stop, verb, nil)
}

// reportFinished is report, of a stop where a function has returned.
func (s *Session) reportFinished(stop inferior.Stop, verb string, fn *Finished) *Report {
	r := &Report{
		Reason: stop.Reason, Signal: stop.Signal, Exit: stop.Exit, Exec: stop.Path,
		Child: stop.Child, Verb: verb, Elapsed: s.now(), Finished: fn,
	}
	if stop.Reason == inferior.Exited || stop.Reason == inferior.Gone {
		if s.demand.wantsEvents() && !s.names.Program.Object.Header().Static {
			s.Planes.noteNoAllocator()
		}
		s.logStop(r)
		s.forget()
		return r
	}
	var first addr.Code
	s.useArrived()
	t := stop.Thread
	s.demand.spanHits()
	for _, h := range s.demand.hits {
		r.Hits = appendStop(r.Hits, h.stop)
		if h.event != nil && r.Event == nil {
			r.Event, t, first = h.event, h.thread, h.now
		}
	}
	if t == nil {
		t = s.Selection.thread
	}
	s.Selection.selectThread(t, first)
	r.Thread = s.Selection.threadInfo(t)
	s.watchHit(stop, r)
	s.showFrames(r)
	s.logStop(r)
	s.dropTemporaries(r)
	return r
}

func appendStop(list []*breakpoints.Stop, st *breakpoints.Stop) []*breakpoints.Stop {
	if st == nil || slices.Contains(list, st) {
		return list
	}
	return append(list, st)
}

// showFrames selects a frame and puts the frames to show in the report. At an
// allocation that is the user's frame, and the innermost one at all other stops; the
// frames are shown up to the user's. Frames further out are named when someone asks:
// the names of main's callers cost a look into the C library's debug info.
func (s *Session) showFrames(r *Report) {
	if s.Selection.thread == nil {
		return
	}
	placed := r.Event == nil && !atAnyPlace[r.Reason]
	limit := defaultDepth
	if placed {
		limit = 1
	}
	raw, err := s.walker.raw(s.Selection.thread, limit, s.Selection.code)
	if err != nil || len(raw.Frames) == 0 {
		return
	}
	var frames []names.Frame
	n, from, final := 0, 0, false
	var roles []query.Role
	for _, f := range raw.Frames {
		known := len(frames)
		frames = s.names.AppendFrames(frames, f)
		if placed {
			n = enteredFrame(frames, r.Hits)
			from = n
			break
		}
		roles = s.attribution.Roles(roles, frames[known:])
		if n, final = query.OwnerSoFar(roles); final {
			break
		}
	}
	s.Selection.stack, s.Selection.frame = names.Stack{Frames: frames}, n
	if atAnyPlace[r.Reason] && r.Event == nil {
		s.Selection.frame = 0 // that is where the thread stands; finish and up go on from there
	}
	r.Frames = frames[from : n+1]
}

// enteredFrame is the index of the frame that a stop at a function was set for. At
// its place code may begin that was inlined there: that is further in, and not
// what the user asked for.
func enteredFrame(frames []names.Frame, hits []*breakpoints.Stop) int {
	for _, st := range hits {
		for _, p := range st.Places {
			if !onFunctions(st) || p.Addr != frames[0].Code.Addr() {
				continue
			}
			if i := slices.IndexFunc(frames, func(f names.Frame) bool { return f.Function == p.Function }); i >= 0 {
				return i
			}
		}
	}
	return 0
}

// onFunctions tells stops at functions.
func onFunctions(st *breakpoints.Stop) bool {
	return st.Kind == breakpoints.StopFunction || st.Kind == breakpoints.StopRegexp
}

// atAnyPlace are the stops that the user did not place: mostly they come
// inside a library.
var atAnyPlace = map[inferior.StopReason]bool{inferior.Signaled: true, inferior.Interrupted: true, inferior.Forked: true}

// reportHere reports a process that is stopped without having run.
func (s *Session) reportHere(verb string) *Report {
	return s.report(inferior.Stop{Reason: inferior.Stepped, Thread: s.Selection.thread}, verb)
}

func (s *Session) watchHit(stop inferior.Stop, r *Report) {
	if stop.Watch == nil {
		return
	}
	r.Watch = &WatchHit{Addr: stop.Watch.Addr, Size: stop.Watch.Size, Old: stop.Old, New: stop.New}
}

// dropTemporaries deletes the tbreak that was hit.
func (s *Session) dropTemporaries(r *Report) {
	for _, h := range r.Hits {
		if h.Temporary {
			if err := s.Stops.Delete(h.ID); err != nil {
				s.notify("temporary breakpoint %d: %v", h.ID, err)
			}
		}
	}
}

// NextAlloc continues to the n-th allocation event from here that matches the
// condition; a nil condition matches all.
func (s *Session) NextAlloc(n int, c *cond.Cond) (*Report, error) {
	return s.nextEvent(n, c, func(k capture.Kind) bool {
		return k == capture.Alloc || k == capture.Realloc || k == capture.Map
	})
}

// NextFree continues to the n-th block given back from here.
func (s *Session) NextFree(n int, c *cond.Cond) (*Report, error) {
	return s.nextEvent(n, c, func(k capture.Kind) bool { return k == capture.Free || k == capture.Unmap })
}

func (s *Session) nextEvent(n int, c *cond.Cond, want func(capture.Kind) bool) (*Report, error) {
	if err := s.live(); err != nil {
		return nil, err
	}
	if c != nil && !s.said[c.String()] { // an empty line repeats the command
		s.said[c.String()] = true
		s.Stops.WarnCondition(c)
	}
	s.demand.next = &nextEvent{left: max(n, 1), cond: c, want: want}
	if err := s.Planes.arm(); err != nil {
		s.demand.next = nil
		return nil, err
	}
	_, stop, err := s.runToTargets(nil)
	s.demand.next = nil
	if err != nil {
		return nil, err
	}
	if s.proc != nil {
		if _, gone := s.proc.Exited(); !gone {
			if err := s.Planes.arm(); err != nil {
				return nil, err
			}
		}
	}
	return s.report(stop, "next event"), nil
}
