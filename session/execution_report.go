package session

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"hdb/breakpoints"
	"hdb/inferior"
	"hdb/internal/addr"
	"hdb/names"
	"hdb/query"
	"hdb/recording"
	"hdb/session/cpython"
	"hdb/session/heaps"
	"hdb/session/view"
)

// A Report says why and where the inferior stopped.
type Report struct {
	Reason    inferior.StopReason
	Thread    view.ThreadInfo
	Hits      []*breakpoints.Stop // the numbered stops that matched
	Uncounted bool                // they were met in the past of a process, which does not count
	Event     *recording.Event    // the allocation stopped at
	Go        *GoAllocation       // what is known of the event if a Go program allocates
	Stray     *query.StrayFree    // what is known of it if it is a recorded free of no live block
	Wrong     *query.WrongFree    // the call that it is about, which gives back what is no block
	Met       *Met                // the condition on state that has become true
	Left      *LeftBlocks         // what the call has left at whose end the inferior stopped
	Signal    *inferior.Signal
	Exit      inferior.ExitStatus
	Watched   []WatchHit // of the watchpoints among Hits, in their order
	Finished  *Finished
	Thrown    string // the type of the exception that is thrown, caught or thrown again
	Occurred  string // the system call or the libraries that a stop is about
	Expired   string // the watchpoint whose variable is no more
	Exec      string // the program now running, after an exec
	Child     int    // the process forked
	Elapsed   time.Duration
	Frames    []names.Frame      // from the innermost to the user's, see showFrames
	Python    *names.Frame       // the function of Python that the thread is in
	Blamed    *cpython.Damage    // the damaged block for which CPython's debug hooks ended the program
	Aborted   *heaps.MallocAbort // why the C library's malloc has ended the program
	InPython  bool               // the stop is about that one, and Frames has none
	Stop      string             // the report of a recorded stop, as it was shown
	Leaving   bool               // the program is about to exit: at a function of leavingFunctions or goExit, or at the system call
	Drawn     bool               // the recording tells where this is: the moment of its peak
	Verb      string             // "start", "step" ...: what ended here without a numbered stop
}

// Finished is what `finish` ran to the end of. Values.Returned tells the value.
type Finished struct {
	Function string
	Left     bool   // by an exception or a longjmp: it has not returned
	RAX      uint64 // the value, if it is an integer or a pointer
	Object   string // the value, if it is an object of Python that was asked for
	Unknown  bool   // the value of another function, which has returned to its caller for it

	Frame names.Frame // the one that has returned
}

// Headline is the report's first line, without a newline: the numbered stops,
// the event, the thread and the time.
func (r *Report) Headline() string { return r.HeadlineOf((*recording.Event).Call) }

// HeadlineOf is Headline with the event's call as call words it.
func (r *Report) HeadlineOf(call func(*recording.Event) string) string {
	if r.Stop != "" {
		return r.Stop
	}
	var parts []string
	for _, h := range r.Hits {
		part := fmt.Sprintf("%s %d", h.Word(), h.ID)
		if !r.Uncounted {
			part += fmt.Sprintf(", hit %d", h.Hits)
		}
		parts = append(parts, part)
	}
	if cause := r.cause(call); cause != "" {
		parts = append(parts, cause)
	}
	line := strings.Join(parts, ": ")
	if r.Thread.Num != 0 {
		line += fmt.Sprintf("   thread %d %q", r.Thread.Num, r.Thread.Name)
	}
	if r.Event != nil || r.Wrong != nil {
		line += fmt.Sprintf("   %.3f s", r.Elapsed.Seconds())
	}
	return strings.TrimSpace(line)
}

// cause is the part of the headline between the numbered stops and the thread.
func (r *Report) cause(call func(*recording.Event) string) string {
	if st := r.caught(); st != nil {
		return strings.TrimSpace(st.Caught + " " + r.Thrown)
	}
	switch {
	case r.Expired != "":
		return r.Expired
	case r.Left != nil:
		return r.Left.String()
	case r.Met != nil && r.Met.Late:
		return fmt.Sprintf("#%d %s", r.Met.Event.Seq, call(r.Met.Event))
	case r.Wrong != nil:
		return fmt.Sprintf("%s: %s", r.Wrong.Kind, r.Wrong.CallText(call))
	case r.Event != nil:
		return fmt.Sprintf("#%d %s", r.Event.Seq, call(r.Event))
	case r.Occurred != "":
		return r.Occurred
	case len(r.Watched) > 0:
		var all []string
		for i := range r.Watched {
			all = append(all, r.Watched[i].String())
		}
		return strings.Join(all, ", ")
	case r.Signal != nil:
		return r.Signal.Explanation
	case r.Finished != nil && r.Finished.Left:
		return r.Finished.Function + " was left by an exception or longjmp"
	case r.Finished != nil:
		return r.Finished.Function + " returned"
	}
	switch r.Reason {
	case inferior.Exited, inferior.Gone:
		return r.Exit.String()
	case inferior.Interrupted:
		return "interrupted"
	case inferior.Execed:
		return "executing new program: " + r.Exec
	case inferior.Forked:
		return fmt.Sprintf("forked process %d", r.Child)
	}
	if len(r.Hits) > 0 {
		return "" // `next` that ends on a breakpoint: the hit is why
	}
	return r.Verb
}

// report turns the engine's stop into the user's, selects thread and frame, and
// keeps it in the log.
func (x *Execution) report(stop inferior.Stop, verb string) *Report {
	return x.reportAhead(stop, verb, nil, 0)
}

// reportAhead is report, of a stop where a function has returned, if any, and where inlined
// calls begin that the user has not entered.
func (x *Execution) reportAhead(stop inferior.Stop, verb string, fn *Finished, ahead int) *Report {
	r := &Report{
		Reason: stop.Reason, Signal: stop.Signal, Exit: stop.Exit, Exec: stop.Path,
		Child: stop.Child, Verb: verb, Elapsed: x.target.Now(), Finished: fn,
	}
	if stop.Reason == inferior.Exited || stop.Reason == inferior.Gone {
		x.end(r)
		return r
	}
	var first addr.Code
	x.useArrived()
	t := stop.Thread
	x.planes.states.hit()
	x.demand.spanHits()
	for _, h := range x.demand.hits {
		if h.met != nil && r.Met == nil {
			r.Met = h.met
			x.planes.states.complete(r.Met)
			if x.target.Proc.Attached() { // of blocks from before main it is said when the stop is set
				r.Met.Doubt = x.stops.Doubt(r.Met.Stop)
			}
			if r.Met.Late && h.thread != nil {
				t = h.thread
			}
		}
		if h.left != nil && r.Left == nil {
			r.Left, t = h.left, h.thread
			x.planes.states.place(r.Left)
		}
		r.Hits = appendStop(r.Hits, h.stop)
		if h.occurred != "" {
			r.Occurred, t, first = h.occurred, h.thread, h.now
		}
		if h.wrong != nil {
			r.Wrong, t, first = h.wrong, h.thread, h.now
		}
		if h.event != nil && r.Event == nil {
			r.Event, t, first = h.event, h.thread, h.now
		}
	}
	if t == nil {
		t = x.sel.Cur.Thread
	}
	x.sel.Look(t, first)
	if t != nil {
		x.sel.SetAhead(t, ahead)
	}
	r.Thread = x.sel.ThreadInfo(t)
	x.placed = verb != "attach" && !atAnyPlace[stop.Reason]
	x.watchHits(stop, r)
	r.Expired = x.stops.expire()
	x.tellThrown(r, t)
	x.showFrames(r)
	if r.Event != nil && t != nil {
		r.Go = x.goAllocation(r.Event, t)
	}
	r.Python = x.python.Innermost(t)
	r.blame(x.python, t)
	if r.Signal != nil && r.Signal.Name == "SIGABRT" {
		r.Aborted = x.mallocs.Aborted(t)
	}
	if r.InPython = x.inPython && r.Python != nil || slices.ContainsFunc(r.Hits, inPython); r.InPython && r.Python != nil {
		r.Frames, x.sel.Cur.InPython = nil, true
	}
	x.recorder.logStop(r)
	x.dropTemporaries(r)
	return r
}

// blame finds the damaged block that made the program abort.
func (r *Report) blame(p *cpython.Python, t *inferior.Thread) {
	if r.Python != nil && r.Signal != nil && r.Signal.Name == "SIGABRT" {
		r.Blamed = cpython.Heaps{Python: p}.Blamed(t)
	}
}

// end follows the end of the process, which the report is about.
func (x *Execution) end(r *Report) {
	x.planes.noteUncounted()
	if x.demand.wantsEvents() && !x.target.Names.Program.Static() {
		x.planes.noteNoAllocator()
	}
	x.hintLeakSanitizer(r.Exit)
	x.recorder.logStop(r)
	x.target.Exit = &r.Exit
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
func (x *Execution) showFrames(r *Report) {
	if x.sel.Cur.Thread == nil {
		return
	}
	placed := r.Event == nil && r.Wrong == nil && !atAnyPlace[r.Reason] && r.caught() == nil && r.Occurred == "" && (r.Left == nil || !r.Left.Left)
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
	if (atAnyPlace[r.Reason] || r.Occurred != "") && r.Event == nil {
		x.sel.Cur.Num = 0 // that is where the thread stands; finish and up go on from there
	}
	r.Frames = frames[:n+1]
}

// enteredFrame is the index of the frame that a stop at a function or a line was set for.
// At its place code may begin that was inlined there: that is further in, and not
// what the user asked for.
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

// reportHere reports a process that is stopped without having run.
func (x *Execution) reportHere(verb string) *Report {
	return x.report(inferior.Stop{Reason: inferior.Stepped, Thread: x.sel.Cur.Thread}, verb)
}

// dropTemporaries deletes the tbreak that was hit.
func (x *Execution) dropTemporaries(r *Report) {
	for _, h := range r.Hits {
		if h.Temporary {
			if err := x.stops.Delete(h.ID); err != nil {
				x.target.Notify("temporary breakpoint %d: %v", h.ID, err)
			}
		}
	}
}
