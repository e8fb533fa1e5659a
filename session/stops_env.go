package session

import (
	"slices"

	"hdb/breakpoints"
	"hdb/inferior"
	"hdb/internal/addr"
	"hdb/internal/cond"
	"hdb/names"
	"hdb/query"
	"hdb/session/variables"
	"hdb/session/view"
	"hdb/unwind"
)

// codeEnv is what the condition of a stop sees at a place in the code.
type codeEnv struct {
	s *Stops
	t *inferior.Thread
	query.Predicates
	variables.OfFrame
}

func newCodeEnv(s *Stops, st *breakpoints.Stop, t *inferior.Thread) *codeEnv {
	v := &codeEnv{s: s, t: t}
	v.OfFrame = variables.OfFrame{Values: s.values, Thread: t, Field: v.Number, StackOf: v.entered(st)}
	v.Attribution = s.target.Attribution
	v.Find = func() []names.Frame {
		st, err := s.sel.Walker.Stack(t, view.DefaultDepth, addr.Code{})
		if err != nil {
			return nil // the thread is gone: it is in no function
		}
		return st.Frames
	}
	return v
}

// entered is the stack at a place, with the frame that the stop was set for.
func (v *codeEnv) entered(st *breakpoints.Stop) func(whole bool) ([]names.Frame, int) {
	return func(whole bool) ([]names.Frame, int) {
		if frames, at, ok := v.home(st, whole); ok {
			return frames, at
		}
		if whole {
			stack := v.Stack()
			return stack, enteredFrame(stack, []*breakpoints.Stop{st})
		}
		raw, err := v.s.sel.Walker.Raw(v.t, 1, addr.Code{})
		if err != nil || len(raw.Frames) == 0 {
			return nil, 0
		}
		frames := v.s.target.Names.AppendFrames(nil, raw.Frames[0])
		return frames, enteredFrame(frames, []*breakpoints.Stop{st})
	}
}

// home is the stack with the frame that a watchpoint was set in, if that is still there. The
// memory may have been written by another function or thread.
func (v *codeEnv) home(st *breakpoints.Stop, whole bool) (frames []names.Frame, at int, ok bool) {
	v.Thread = v.t
	home := v.s.binds[st.ID].home
	if home.thread == nil {
		return nil, 0, false
	}
	raw, err := v.s.sel.Walker.Raw(home.thread, view.DefaultDepth, addr.Code{})
	if err != nil {
		return nil, 0, false // the thread is gone
	}
	last := slices.IndexFunc(raw.Frames, func(f unwind.Frame) bool { return f.CFA == home.cfa })
	if last < 0 {
		return nil, 0, false
	}
	for i, f := range raw.Frames {
		if i <= last || whole {
			frames = v.s.target.Names.AppendFrames(frames, f)
		}
	}
	at = slices.IndexFunc(frames, func(f names.Frame) bool { return f.CFA == home.cfa && f.Function == home.function })
	if at < 0 {
		return nil, 0, false // of another call
	}
	v.Thread = home.thread
	return frames, at, true
}

// Like is false: stops at places in the code cannot ask it.
func (v *codeEnv) Like(string) bool { return false }

// Number is the value of a field.
func (v *codeEnv) Number(f cond.Field) (n uint64, ok bool) {
	switch f {
	case cond.Thread:
		return uint64(v.t.Num), true
	case cond.Goroutine:
		g, ok := v.s.target.Goroutine(v.t)
		return g.ID, ok
	}
	v.s.target.Exclusive(func() { // and with all events from before taken from the probe
		bytes, blocks := v.s.account.Rec.Heap()
		switch f {
		case cond.Nth:
			n, ok = v.s.account.Rec.Seq(), true
		case cond.Live:
			n, ok = bytes, true
		case cond.Blocks:
			n, ok = blocks, true
		}
	})
	return n, ok
}

// Kind is false: no allocator was called.
func (v *codeEnv) Kind(string) bool { return false }

// Type is false: no block was made.
func (v *codeEnv) Type(string) bool { return false }

// ThreadName is the thread's name.
func (v *codeEnv) ThreadName() string { return v.t.Name() }
