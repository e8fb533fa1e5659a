package session

import (
	"fmt"
	"slices"

	"hdb/breakpoints"
	"hdb/capture"
	"hdb/inferior"
	"hdb/internal/addr"
	"hdb/names"
	"hdb/unwind"
)

// selection is what the user looks at: a thread, its stack and a frame of it. In
// a capture, the event.
type selection struct {
	thread *inferior.Thread
	seq    uint64          // in a capture: the event,
	saved  capture.StackID // its stack,
	at     uint64          // and the event whose modules resolve it
	stack  names.Stack
	max    int // frames walked for stack; 0: only as many as the last report shows
	frame  int
	code   addr.Code // what is known of the thread's PC, see rawStack
}

// defaultDepth bounds stacks that nobody asked to see whole.
const defaultDepth = 2048

// Stack is the selected thread's stack, or the selected event's in a capture.
// At most limit physical frames are walked, 0 is the default bound.
func (s *Session) Stack(limit int) (names.Stack, error) {
	if limit <= 0 {
		limit = defaultDepth
	}
	if s.Mode() == Saved {
		return s.savedStack()
	}
	if err := s.live(); err != nil {
		return names.Stack{}, err
	}
	if s.sel.thread == nil {
		return names.Stack{}, ErrNoStack
	}
	if s.sel.max >= limit {
		return s.sel.stack, nil
	}
	st, err := s.threadStack(s.sel.thread, limit, s.sel.code)
	if err != nil {
		return names.Stack{}, err
	}
	s.sel.stack, s.sel.max = st, limit
	return st, nil
}

// rawStack walks a stopped thread without asking for names. now is what the
// tracer knows of the PC: a return address stands behind a call, a PC at the entry
// of a function, where the return address is on top of the stack, whatever the
// module's CFI says or lacks. The zero Code knows nothing. The frames are valid
// until the next walk.
func (s *Session) rawStack(t *inferior.Thread, limit int, now addr.Code) (unwind.Stack, error) {
	regs, err := t.Regs()
	if err != nil {
		return unwind.Stack{}, fmt.Errorf("thread %d: %w", t.Num, err)
	}
	here := regs.Unwind()
	if now == (addr.Code{}) || now.Addr() != regs.PC() {
		return s.walkShown(here, limit), nil
	}
	if now.IsReturn() {
		raw := s.walk.Walk(s.proc, here, limit)
		if len(raw.Frames) > 0 {
			raw.Frames[0].PC = now
		}
		return raw, nil
	}
	ret, err := s.readPointer(regs.SP())
	if err != nil {
		return unwind.Stack{}, fmt.Errorf("thread %d: return address: %w", t.Num, err)
	}
	caller := here
	caller.Set(unwind.RIP, uint64(ret))
	caller.Set(unwind.RSP, uint64(regs.SP())+8)
	raw := s.walk.Walk(s.proc, caller, limit)
	if len(raw.Frames) > 0 {
		raw.Frames[0].PC, raw.Frames[0].How = addr.Return(ret), unwind.CFI // as sure as CFI
	}
	entry := unwind.Frame{PC: now, CFA: regs.SP() + 8, Regs: here, How: unwind.Entry}
	raw.Frames = append([]unwind.Frame{entry}, raw.Frames...)
	return raw, nil
}

// maxProbeFrames is how many frames of the probe's own one stack can have.
const maxProbeFrames = 16

// walkShown walks a stack and leaves out the frames of the probe's own code, in which a
// thread may stand: it is no part of the program. A stack of nothing else stays.
func (s *Session) walkShown(here unwind.Regs, limit int) unwind.Stack {
	raw := s.walk.Walk(s.proc, here, limit)
	own := func(f unwind.Frame) bool { return s.probe != nil && s.probe.Covers(f.PC.Lookup()) }
	if !slices.ContainsFunc(raw.Frames, own) {
		return raw
	}
	raw = s.walk.Walk(s.proc, here, limit+maxProbeFrames)
	shown := slices.DeleteFunc(slices.Clone(raw.Frames), own)
	if len(shown) > 0 {
		raw.Frames = shown[:min(limit, len(shown))]
	}
	return raw
}

// InProbe tells that the selected thread stands in the probe's own code, whose frames
// are not in its stack.
func (s *Session) InProbe() (at addr.Run, ok bool) {
	if s.probe == nil || s.sel.thread == nil {
		return 0, false
	}
	regs, err := s.sel.thread.Regs()
	if err != nil {
		return 0, false
	}
	return regs.PC(), s.probe.Covers(regs.PC())
}

// threadStack is rawStack with names and inlined calls.
func (s *Session) threadStack(t *inferior.Thread, limit int, now addr.Code) (names.Stack, error) {
	raw, err := s.rawStack(t, limit, now)
	if err != nil {
		return names.Stack{}, err
	}
	return s.names.Stack(raw), nil
}

// UserFrame is the index of the frame that a block belongs to, which is shown for its
// allocation: see query.Attribution.
func (s *Session) UserFrame(frames []names.Frame) int { return s.attribution.Owner(frames) }

// WithTailCalls adds the functions that left a stack by a tail call, see
// names.Resolver.WithTailCalls. called is the allocator function that the innermost frame
// called, as events name it, "" for none.
func (s *Session) WithTailCalls(frames []names.Frame, called string) []names.Frame {
	var linked []string
	if called != "" {
		linked = breakpoints.LinkedAs(called)
	}
	return s.names.WithTailCalls(frames, linked)
}

// Called is the allocator function that the selected stack's innermost frame called, as
// events name it: "" where the stack is not that of an event.
func (s *Session) Called() string {
	if s.Mode() == Saved {
		if e, ok := s.EventAt(s.sel.seq); ok {
			return e.Function
		}
		return ""
	}
	for _, h := range s.hits {
		if h.event != nil && h.thread == s.sel.thread {
			return h.event.Function
		}
	}
	return ""
}

// SelectedFrame is the frame that list, info and up start from.
func (s *Session) SelectedFrame() (names.Frame, error) {
	if known := s.sel.stack.Frames; s.sel.frame < len(known) {
		return known[s.sel.frame], nil
	}
	st, err := s.Stack(0)
	if err != nil {
		return names.Frame{}, err
	}
	if len(st.Frames) == 0 {
		return names.Frame{}, ErrNoStack
	}
	return st.Frames[min(s.sel.frame, len(st.Frames)-1)], nil
}

// SelectFrame makes frame n the selected one.
func (s *Session) SelectFrame(n int) (names.Frame, error) {
	st, err := s.Stack(0)
	if err != nil {
		return names.Frame{}, err
	}
	if n < 0 || n >= len(st.Frames) {
		return names.Frame{}, fmt.Errorf("no frame %d: the stack has frames 0 to %d", n, len(st.Frames)-1)
	}
	s.sel.frame = n
	return st.Frames[n], nil
}

// Up selects the frame n calls further out (further in when negative), stopping
// at the ends as gdb does. It is an error when it cannot move at all.
func (s *Session) Up(n int) (names.Frame, error) {
	st, err := s.Stack(0)
	if err != nil {
		return names.Frame{}, err
	}
	if len(st.Frames) == 0 {
		return names.Frame{}, ErrNoStack
	}
	to := min(max(s.sel.frame+n, 0), len(st.Frames)-1)
	if to == s.sel.frame && n > 0 {
		return names.Frame{}, fmt.Errorf("frame %d is the outermost", to)
	}
	if to == s.sel.frame && n < 0 {
		return names.Frame{}, fmt.Errorf("frame 0 is the innermost")
	}
	return s.SelectFrame(to)
}

// ThreadInfo is a row of `info threads`.
type ThreadInfo struct {
	Num      int
	TID      int
	Name     string
	Selected bool
	Frame    names.Frame
	Err      error // why the frame is missing
}

// Threads are the inferior's threads, stopped, each with its innermost frame.
func (s *Session) Threads() ([]ThreadInfo, error) {
	if s.Mode() == Saved {
		return s.savedThreads(), nil
	}
	if err := s.live(); err != nil {
		return nil, err
	}
	var rows []ThreadInfo
	for _, t := range s.proc.Threads() {
		row := s.threadInfo(t)
		st, err := s.threadStack(t, 1, addr.Code{})
		if len(st.Frames) > 0 {
			row.Frame = st.Frames[0]
		}
		row.Err = err
		rows = append(rows, row)
	}
	return rows, nil
}

func (s *Session) threadInfo(t *inferior.Thread) ThreadInfo {
	if t == nil {
		return ThreadInfo{}
	}
	return ThreadInfo{Num: t.Num, TID: t.TID, Name: t.Name(), Selected: t == s.sel.thread}
}

// Thread is the selected thread.
func (s *Session) Thread() (ThreadInfo, error) {
	if err := s.live(); err != nil {
		return ThreadInfo{}, err
	}
	return s.threadInfo(s.sel.thread), nil
}

// SelectThread makes the thread of that number the selected one.
func (s *Session) SelectThread(num int) (ThreadInfo, error) {
	if err := s.live(); err != nil {
		return ThreadInfo{}, err
	}
	for _, t := range s.proc.Threads() {
		if t.Num == num {
			s.selectThread(t, addr.Code{})
			return s.threadInfo(t), nil
		}
	}
	return ThreadInfo{}, fmt.Errorf("no thread %d: see info threads", num)
}

func (s *Session) selectThread(t *inferior.Thread, first addr.Code) {
	s.sel = selection{thread: t, code: first}
}
