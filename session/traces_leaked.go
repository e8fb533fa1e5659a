package session

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"hdb/breakpoints"
	"hdb/inferior"
	"hdb/internal/addr"
	"hdb/internal/when"
	"hdb/names"
	"hdb/query"
	"hdb/session/stopped"
	"hdb/session/target"
)

// entered begins to follow a call of leaked()'s function, unless the thread is in one that has not ended.
func (s *Traces) entered(st *breakpoints.Stop, t *inferior.Thread) {
	var frame names.Frame
	err := newCodeEnv(s.stops, st, t).Read(func() error {
		frame = s.sel.Cur.Stack.Frames[s.sel.Cur.Num]
		return nil
	})
	tr := &s.stops.binds[st.ID].traced
	switch {
	case err != nil:
		noteFailed(s.target, st, "call: ", err)
		return
	case frame.Inlined:
		noteFailed(s.target, st, "", fmt.Errorf("inlined calls of %s do not return, and are not checked", frame.Function))
		return
	}
	s.forgetEnded(tr, t, frame.CFA)
	if tr.open(t) > 0 {
		return
	}
	c := tracedCall{stop: st.ID, thread: t, frame: frame}
	if regs, err := t.Regs(); err == nil && regs.SP()+8 == frame.CFA { // at its entry
		c.first = regs.Arg(0)
	}
	if err := s.follow(st, c); err != nil {
		noteFailed(s.target, st, "return: ", err)
	} else if tr.open(t) > 0 {
		s.target.Exclusive(func() { tr.calls.Begin(t.TID) }) // behind the events of before
	}
}

// forgetEnded forgets calls of threads that have ended, and those of a thread that it is not inside of
// any more, by its new frame or by their return addresses: they were left in a way that was not seen.
func (s *Traces) forgetEnded(tr *tracing, t *inferior.Thread, cfa addr.Run) {
	for ret, r := range tr.returns {
		r.open = slices.DeleteFunc(r.open, func(c tracedCall) bool {
			gone := s.target.Proc.Thread(c.thread.TID) != c.thread
			if !gone && c.thread == t {
				now, err := s.target.ReadPointer(c.frame.CFA - 8)
				gone = c.frame.CFA == cfa || err != nil || now != ret
			}
			if gone {
				s.target.Exclusive(func() { tr.calls.End(c.thread.TID) })
			}
			return gone
		})
	}
}

// returnedLeaking looks at what a call has left that has returned. What it returns is the caller's.
func (s *Traces) returnedLeaking(st *breakpoints.Stop, c tracedCall, regs inferior.Registers) inferior.Action {
	r := s.returnFormOf(c.frame, c.first, regs)
	return s.look(st, c, false, func(kept []when.Kept) func(when.Kept) bool { return s.returnedBlocks(r, kept, regs) })
}

// leftLeaking looks at what a call has left that an exception or a longjmp leaves. The exception is the
// handler's, and so is what it points to.
func (s *Traces) leftLeaking(st *breakpoints.Stop, t *inferior.Thread, to landing) inferior.Action {
	leavesCall, ok := s.leaving(t, to)
	regs, err := t.Regs()
	if !ok || err != nil {
		return inferior.Resume
	}
	except := func(when.Kept) bool { return false }
	if regs.SP()+8 == to.sp { // at the entry of __cxa_begin_catch
		thrown := regs.Arg(0)
		words, _ := s.target.Words(addr.Run(thrown), exceptionBytes)
		except = func(k when.Kept) bool {
			in := func(a uint64) bool { return a-k.Addr < k.Size }
			return in(thrown) || slices.ContainsFunc(words, in)
		}
	}
	same := func([]when.Kept) func(when.Kept) bool { return except }
	action := inferior.Resume
	for _, c := range s.stops.binds[st.ID].traced.leave(t, to, leavesCall) {
		action = max(action, s.look(st, c, true, same))
	}
	return action
}

// exceptionBytes is how much of an exception is read for what it points to.
const exceptionBytes = 256

// look stops the thread if the blocks that a call has left make the condition true. except tells which
// of them are others'.
func (s *Traces) look(st *breakpoints.Stop, c tracedCall, left bool, except func([]when.Kept) func(when.Kept) bool) inferior.Action {
	calls := s.stops.binds[st.ID].traced.calls
	var kept []when.Kept
	s.target.Exclusive(func() { kept = calls.End(c.thread.TID) }) // behind the events of the call
	kept = slices.DeleteFunc(kept, except(kept))
	if !st.Enabled || !calls.Holds(kept) || !st.Hit() {
		return inferior.Resume
	}
	l := &stopped.LeftBlocks{Function: c.frame.Function, Left: left, Blocks: len(kept), Kept: kept}
	for _, k := range kept {
		l.Bytes += k.Size
	}
	s.demand.hits = append(s.demand.hits, hit{stop: st, thread: c.thread, left: l})
	return inferior.StopHere
}

// placedBlocks bounds the blocks of a call whose makers are looked for at a stop.
const placedBlocks = 10000

// place finds where the blocks were made, of those that are recorded.
func (s *states) place(l *stopped.LeftBlocks) {
	r, err := s.recorded()
	if err != nil {
		l.Unknown = len(l.Kept)
		return
	}
	type site struct {
		function, file string
		line           int
	}
	at := map[site]int{}
	for i, k := range l.Kept {
		if i == placedBlocks {
			l.Unknown += len(l.Kept) - i
			break
		}
		e, ok := query.EventAt(r.Source, k.Seq)
		if !ok || e.Addr != k.Addr {
			l.Unknown++
			continue
		}
		frames := r.Stack(e).Frames
		if len(frames) == 0 {
			l.Unknown++
			continue
		}
		f := frames[r.Attribution.Owner(frames)]
		key := site{f.Function, f.File, f.Line}
		if _, ok := at[key]; !ok {
			at[key] = len(l.Sites)
			l.Sites = append(l.Sites, stopped.LeftSite{Frame: f, First: e})
		}
		row := &l.Sites[at[key]]
		row.Blocks++
		row.Bytes += k.Size
	}
	slices.SortStableFunc(l.Sites, func(a, b stopped.LeftSite) int { return cmp.Compare(b.Bytes, a.Bytes) })
}

// checkLeaked is the error of a leaked() that cannot be followed.
func checkLeaked(c *target.Target, st *breakpoints.Stop) error {
	if st.Kind == breakpoints.StopLeaked && c.Proc != nil && c.Proc.IsGo() {
		return errors.New("leaked(): Go's collector frees blocks at times of its own, so a block that is live after the call is not a leak")
	}
	return nil
}
