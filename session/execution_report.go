package session

import (
	"slices"

	"hdb/breakpoints"
	"hdb/inferior"
	"hdb/internal/addr"
	"hdb/names"
	"hdb/query"
	"hdb/recording"
	"hdb/session/cpython"
	"hdb/session/stopped"
	"hdb/session/view"
)

// Report turns the engine's stop into the user's, selects thread and frame, and
// keeps it in the log.
func (x *Execution) Report(stop inferior.Stop, verb string) *stopped.Report {
	return x.ReportAhead(stop, verb, nil, 0)
}

// ReportAhead is report, of a stop where a function has returned, if any, and where inlined
// calls begin that the user has not entered.
func (x *Execution) ReportAhead(stop inferior.Stop, verb string, fn *stopped.Finished, ahead int) *stopped.Report {
	r := &stopped.Report{Reason: stop.Reason, Verb: verb, Elapsed: x.target.Now()}
	if stop.Reason == inferior.Exited || stop.Reason == inferior.Gone {
		r.AddEngine(stop)
		x.addLastMet(r)
		x.end(r)
		x.dropTemporaries(r)
		return r
	}
	x.useArrived()
	x.planes.states.hit()
	x.demand.spanHits()
	a := x.arrivals(r, stop.Thread)
	t := a.thread
	if t == nil {
		t = x.sel.Cur.Thread
	}
	x.sel.Look(t, a.first)
	if t != nil {
		x.sel.SetAhead(t, ahead)
	}
	r.Thread = x.sel.ThreadInfo(t)
	x.addCauses(r, a, stop, t)
	if fn != nil {
		r.Add(fn)
	}
	r.AddEngine(stop)
	x.showFrames(r)
	if alloc := stopped.CauseOf[*stopped.Allocation](r); alloc != nil && t != nil {
		alloc.Go = x.goAllocation(alloc.Event, t)
	}
	r.Python = x.python.Innermost(t)
	if s := stopped.CauseOf[*stopped.Signaled](r); s != nil && s.Name == "SIGABRT" {
		blame(s, r, x.python, t)
		s.Aborted = x.mallocs.Aborted(t)
	}
	if r.InPython = x.inPython && r.Python != nil || slices.ContainsFunc(r.Hits, inPython); r.InPython && r.Python != nil {
		r.Frames, x.sel.Cur.InPython = nil, true
	}
	x.recorder.logStop(r)
	x.dropTemporaries(r)
	return r
}

// addLastMet adds a condition on state that became true shortly before the process ended, too late to
// stop it.
func (x *Execution) addLastMet(r *stopped.Report) {
	x.planes.states.hit()
	for _, h := range x.demand.hits {
		if h.met == nil {
			continue
		}
		x.planes.states.complete(h.met)
		h.met.Ended = true
		r.Hits = appendStop(r.Hits, h.stop)
		r.Add(h.met)
		return
	}
}

// arrived is what the hits of a stop tell, and the thread that it is of.
type arrived struct {
	thread *inferior.Thread
	first  addr.Code // of the frame to show; zero: the innermost

	met      *stopped.Met
	left     *stopped.LeftBlocks
	wrong    *query.WrongFree
	event    *recording.Event
	occurred string
}

// arrivals takes the hits of a stop. t is the thread that the engine tells.
func (x *Execution) arrivals(r *stopped.Report, t *inferior.Thread) arrived {
	a := arrived{thread: t}
	for _, h := range x.demand.hits {
		if h.met != nil && a.met == nil {
			a.met = h.met
			x.planes.states.complete(a.met)
			if x.target.Proc.Attached() { // of blocks from before main it is said when the stop is set
				a.met.Doubt = x.stops.Doubt(a.met.Stop)
			}
			if a.met.Late && h.thread != nil {
				a.thread = h.thread
			}
		}
		if h.left != nil && a.left == nil {
			a.left, a.thread = h.left, h.thread
			x.planes.states.place(a.left)
		}
		r.Hits = appendStop(r.Hits, h.stop)
		if h.occurred != "" {
			a.occurred, a.thread, a.first = h.occurred, h.thread, h.now
		}
		if h.wrong != nil {
			a.wrong, a.thread, a.first = h.wrong, h.thread, h.now
		}
		if h.event != nil && a.event == nil {
			a.event, a.thread, a.first = h.event, h.thread, h.now
		}
	}
	return a
}

// addCauses adds what the hits, the watchpoints and the signal tell, in the order of the headline.
func (x *Execution) addCauses(r *stopped.Report, a arrived, stop inferior.Stop, t *inferior.Thread) {
	watched := x.watchHits(stop, r.Hits) // which expire forgets
	if a.event == nil {
		if thrown := x.thrown(r.Hits, t); thrown != nil {
			r.Add(thrown)
		}
	}
	if text := x.stops.expire(); text != "" {
		r.Add(&stopped.Expired{Text: text})
	}
	if a.left != nil {
		r.Add(a.left)
	}
	if a.met != nil {
		r.Add(a.met)
	}
	if a.wrong != nil {
		r.Add(&stopped.WrongCall{WrongFree: a.wrong})
	}
	if a.event != nil {
		r.Add(&stopped.Allocation{Event: a.event})
	}
	if a.occurred != "" {
		r.Add(&stopped.Occurred{Text: a.occurred})
	}
	if len(watched) > 0 {
		r.Add(&stopped.Watched{Hits: watched})
	}
	if stop.Signal != nil {
		r.Add(&stopped.Signaled{Signal: stop.Signal})
	}
}

// blame finds the damaged block that made a program of Python abort.
func blame(s *stopped.Signaled, r *stopped.Report, p *cpython.Python, t *inferior.Thread) {
	if r.Python != nil {
		s.Blamed = cpython.Heaps{Python: p}.Blamed(t)
	}
}

// end follows the end of the process, which the report is about.
func (x *Execution) end(r *stopped.Report) {
	x.planes.noteUncounted()
	if x.demand.wantsEvents() && !x.target.Names.Program.Static() {
		x.planes.noteNoAllocator()
	}
	exit := r.Exit()
	x.hintLeakSanitizer(exit)
	x.recorder.logStop(r)
	x.target.Exit = &exit
	x.ended()
}

// inPython tells stops at places in Python.
func inPython(st *breakpoints.Stop) bool { return st.Kind == breakpoints.StopPython }

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
func (x *Execution) showFrames(r *stopped.Report) {
	if x.sel.Cur.Thread == nil {
		return
	}
	left, occurred := stopped.CauseOf[*stopped.LeftBlocks](r), stopped.CauseOf[*stopped.Occurred](r)
	placed := r.Event() == nil && stopped.CauseOf[*stopped.WrongCall](r) == nil && !atAnyPlace[r.Reason] && stopped.CauseOf[*stopped.Thrown](r) == nil && occurred == nil && (left == nil || !left.Left)
	limit := view.DefaultDepth
	if placed {
		limit = 1
	}
	raw, err := x.sel.Walker.Raw(x.sel.Cur.Thread, limit, x.sel.Cur.Code)
	if err != nil || len(raw.Frames) == 0 {
		return
	}
	var frames []names.Frame
	n := 0
	if placed {
		frames = x.target.Names.AppendFrames(frames, raw.Frames[0])
		if i := enteredFrame(frames, r.Hits); len(r.Hits) > 0 {
			x.sel.SetAhead(x.sel.Cur.Thread, i)
		}
		frames = x.sel.Entered(x.sel.Cur.Thread, frames)
	} else {
		frames, n = x.sel.Walker.ToOwner(raw.Frames)
	}
	x.sel.Cur.Stack, x.sel.Cur.Num = names.Stack{Frames: frames}, n
	if (atAnyPlace[r.Reason] || occurred != nil) && r.Event() == nil {
		x.sel.Cur.Num = 0 // that is where the thread is; finish and up continue from there
	}
	r.Frames = frames[:n+1]
}

// enteredFrame is the index of the frame that a stop at a function or a line was set for. At its
// place code may begin that was inlined there: that is inner, and not what the user asked for.
func enteredFrame(frames []names.Frame, hits []*breakpoints.Stop) int {
	for _, st := range hits {
		for _, p := range st.Places {
			if p.Addr != frames[0].Code.Addr() {
				continue
			}
			i := -1
			switch {
			case onFunctions(st):
				i = slices.IndexFunc(frames, func(f names.Frame) bool { return f.Function == p.Function })
			case st.Kind == breakpoints.StopLine:
				i = slices.IndexFunc(frames, func(f names.Frame) bool { return f.Line == p.Line && f.File == p.File })
			}
			if i >= 0 {
				return i
			}
		}
	}
	return 0
}

// onFunctions tells stops at functions.
func onFunctions(st *breakpoints.Stop) bool {
	return st.Kind == breakpoints.StopFunction || st.Kind == breakpoints.StopRegexp || st.Kind == breakpoints.StopLeaked
}

// atAnyPlace are the stops that the user did not place: mostly they come
// inside a library.
var atAnyPlace = map[inferior.StopReason]bool{inferior.Signaled: true, inferior.Interrupted: true, inferior.Forked: true}

// ReportHere reports a process that is stopped without having run.
func (x *Execution) ReportHere(verb string) *stopped.Report {
	return x.Report(inferior.Stop{Reason: inferior.Stepped, Thread: x.sel.Cur.Thread}, verb)
}

// dropTemporaries deletes the tbreak that was hit.
func (x *Execution) dropTemporaries(r *stopped.Report) {
	for _, h := range r.Hits {
		if h.Temporary {
			if err := x.stops.Delete(h.ID); err != nil {
				x.target.Notify("temporary breakpoint %d: %v", h.ID, err)
			}
		}
	}
}
