package session

import (
	"fmt"
	"slices"

	"hdb/breakpoints"
	"hdb/capture"
	"hdb/inferior"
	"hdb/internal/addr"
	"hdb/names"
	"hdb/query"
	"hdb/session/target"
	"hdb/symbols"
	"hdb/unwind"
	"hdb/values"
)

// selection is what the user looks at: a thread, its stack and a frame of it. In
// a capture, the event.
type selection struct {
	thread  *inferior.Thread
	seq     uint64          // in a capture: the event,
	stackID capture.StackID // its stack,
	at      uint64          // and the event whose modules resolve it
	stack   names.Stack
	max     int // frames walked for stack; 0: only as many as the last report shows
	frame   int
	code    addr.Code // what is known of the thread's PC, see walker.raw

	routine *Goroutine // of a Go program, which the stack is of; nil: it is the thread's

	python   int  // the selected function of Python, by its number among these
	inPython bool // that is what was selected; frame stands for it
}

// Selection is the thread, the stack and the frame that commands are about, and the event
// whose moment is in view when that is in the past.
type Selection struct {
	target     *target.Target
	source     func() capture.Source // of the process that is recorded
	walker     *target.Walker
	demand     *demand
	goroutines *Goroutines
	selection
	present selection // of the process, while the view is in the past
	ahead   ahead
}

// ahead is the inlined calls that begin at the PC where a thread has stopped, as long as
// it has not entered them for the user: a step or a stop shows the line of the call first.
type ahead struct {
	thread *inferior.Thread
	pc     addr.Run
	calls  int
}

// setAhead says how many there are where the thread stands.
func (s *Selection) setAhead(t *inferior.Thread, calls int) {
	s.ahead = ahead{}
	if regs, err := t.Regs(); err == nil && calls > 0 {
		s.ahead = ahead{t, regs.PC(), calls}
	}
	if s.thread == t {
		s.walkAgain()
	}
}

// notEntered is the number of inlined calls that the thread has not entered at its PC.
func (s *Selection) notEntered(t *inferior.Thread, pc addr.Run) int {
	if s.ahead.thread != t || s.ahead.pc != pc {
		return 0
	}
	return s.ahead.calls
}

// behindCall tells that the selected thread's PC is known to be where a call returned to.
func (s *Selection) behindCall(t *inferior.Thread, pc addr.Run) bool {
	return s.thread == t && s.code.IsReturn() && s.code.Addr() == pc
}

// entered is the stack of a thread from its innermost call that has been entered on.
func (s *Selection) entered(t *inferior.Thread, frames []names.Frame) []names.Frame {
	if len(frames) == 0 || s.ahead.calls == 0 || frames[0].Code != addr.PC(s.ahead.pc) {
		return frames
	}
	regs, err := t.Regs()
	if err != nil {
		return frames
	}
	n := s.notEntered(t, regs.PC())
	if n == 0 || n >= len(frames) || frames[n].CFA != frames[0].CFA {
		return frames
	}
	shown := slices.Clone(frames[n:])
	for i := range shown {
		shown[i].Num = i
		if shown[i].CFA == frames[0].CFA && shown[i].Code == frames[0].Code {
			shown[i].Ahead = n
		}
	}
	return shown
}

// clear selects nothing.
func (s *Selection) clear() {
	s.target.Past, s.selection, s.present, s.ahead = false, selection{}, selection{}, ahead{}
}

// leavePresent has the view of a process leave where that stands.
func (s *Selection) leavePresent() {
	if s.target.Saved == nil && !s.target.Past {
		s.target.Past, s.present = true, s.selection
	}
}

// toPresent selects again what was selected before the view left for the past. Debug files
// may have come since.
func (s *Selection) toPresent() {
	if s.target.Past {
		s.target.Past, s.selection, s.present = false, s.present, selection{}
		s.walkAgain()
	}
}

// walkAgain forgets the stack, so that it is walked anew.
func (s *Selection) walkAgain() { s.stack, s.max = names.Stack{}, 0 }

// leave forgets the stack of a thread that runs on.
func (s *Selection) leave() {
	s.selection = selection{thread: s.thread, seq: s.seq, stackID: s.stackID, at: s.at}
}

// selectRecorded selects an event of the capture, its stack, and the event whose modules
// resolve that.
func (s *Selection) selectRecorded(seq uint64, stack capture.StackID, at uint64) {
	s.selection = selection{seq: seq, stackID: stack, at: at}
}

// selectSaved starts at the last stop of the session, or the last event.
func (s *Selection) selectSaved() {
	stops := s.target.Saved.Stops()
	for i := len(stops) - 1; i >= 0; i-- {
		if stops[i].Stack != 0 {
			s.seq = stops[i].Event
			s.stackID = stops[i].Stack
			s.at = max(stops[i].Event, stops[i].Seq)
			break
		}
	}
	if s.stackID == 0 {
		if e, ok := s.target.Saved.Event(s.target.Saved.Last()); ok {
			s.seq, s.stackID, s.at = e.Seq, e.Stack, e.Seq
		}
	}
	if st, err := s.savedStack(); err == nil {
		s.frame = s.UserFrame(st.Frames)
	}
}

// defaultDepth bounds stacks that nobody asked to see whole.
const defaultDepth = 2048

// Stack is the selected thread's stack, or the selected event's in a capture.
// At most limit physical frames are walked, 0 is the default bound.
func (s *Selection) Stack(limit int) (names.Stack, error) {
	if limit <= 0 {
		limit = defaultDepth
	}
	if s.target.Recalled() {
		return s.savedStack()
	}
	if err := s.target.Readable(); err != nil {
		return names.Stack{}, err
	}
	if s.thread == nil {
		return names.Stack{}, target.ErrNoStack
	}
	if s.max >= limit {
		return s.stack, nil
	}
	st, err := s.walked(limit)
	if err != nil {
		return names.Stack{}, err
	}
	st = s.toMain(st)
	s.stack, s.max = st, limit
	return st, nil
}

// walked is the stack of the selected goroutine or thread.
func (s *Selection) walked(limit int) (names.Stack, error) {
	if s.routine != nil {
		return s.goroutines.Stack(*s.routine, limit)
	}
	st, err := s.walker.Stack(s.thread, limit, s.code)
	if err != nil {
		return names.Stack{}, err
	}
	st.Frames = s.entered(s.thread, st.Frames)
	return st, nil
}

// toMain is the stack as it is shown: up to the program's main function.
func (s *Selection) toMain(st names.Stack) names.Stack {
	if s.target.Settings.PastMain {
		return st
	}
	return st.ToMain()
}

// ShowPastMain has stacks go on to the callers of the program's main function, or not.
func (s *Selection) ShowPastMain(on bool) {
	s.target.Settings.PastMain = on
	s.walkAgain()
}

// InProbe tells that the selected thread stands in the probe's own code, whose frames
// are not in its stack.
func (s *Selection) InProbe() (at addr.Run, ok bool) {
	if s.target.Probe == nil || s.thread == nil {
		return 0, false
	}
	regs, err := s.thread.Regs()
	if err != nil {
		return 0, false
	}
	return regs.PC(), s.target.Probe.Covers(regs.PC())
}

// UserFrame is the index of the frame that a block belongs to, which is shown for its
// allocation: see query.Attribution.
func (s *Selection) UserFrame(frames []names.Frame) int { return s.target.Attribution.Owner(frames) }

// Passed says why no block belongs to the selected frame, but to one further out; NotPassed if no frame further out is better.
func (s *Selection) Passed() query.Passed {
	st, err := s.Stack(0)
	if err != nil || s.frame >= len(st.Frames) || s.target.Attribution.Owner(st.Frames[s.frame:]) == 0 {
		return query.NotPassed
	}
	return s.target.Attribution.Passed(&st.Frames[s.frame])
}

// WithTailCalls adds the functions that left a stack by a tail call, see
// names.Resolver.WithTailCalls. called is the allocator function that the innermost frame
// called, as events name it, "" for none.
func (s *Selection) WithTailCalls(frames []names.Frame, called string) []names.Frame {
	var linked []string
	if called != "" {
		linked = breakpoints.LinkedAs(called)
	}
	return s.target.Names.WithTailCalls(frames, linked)
}

// Called is the allocator function that the selected stack's innermost frame called, as
// events name it: "" where the stack is not that of an event.
func (s *Selection) Called() string {
	if s.target.Recalled() {
		if e := s.event(); e != nil {
			return e.Function
		}
		return ""
	}
	for _, h := range s.demand.hits {
		if h.event != nil && h.thread == s.thread {
			return h.event.Function
		}
	}
	return ""
}

// Frame is the selected frame, which list, info and up start from.
func (s *Selection) Frame() (names.Frame, error) {
	if known := s.stack.Frames; s.frame < len(known) {
		return known[s.frame], nil
	}
	st, err := s.Stack(0)
	if err != nil {
		return names.Frame{}, err
	}
	if len(st.Frames) == 0 {
		return names.Frame{}, target.ErrNoStack
	}
	return st.Frames[min(s.frame, len(st.Frames)-1)], nil
}

// SelectFrame makes frame n the selected one.
func (s *Selection) SelectFrame(n int) (names.Frame, error) {
	st, err := s.Stack(0)
	if err != nil {
		return names.Frame{}, err
	}
	if n < 0 || n >= len(st.Frames) {
		return names.Frame{}, fmt.Errorf("no frame %d: the stack has frames 0 to %d", n, len(st.Frames)-1)
	}
	s.frame, s.inPython = n, false
	return st.Frames[n], nil
}

// Up selects the frame n calls further out (further in when negative), stopping
// at the ends as gdb does. It is an error when it cannot move at all.
func (s *Selection) Up(n int) (names.Frame, error) {
	st, err := s.Stack(0)
	if err != nil {
		return names.Frame{}, err
	}
	if len(st.Frames) == 0 {
		return names.Frame{}, target.ErrNoStack
	}
	to := min(max(s.frame+n, 0), len(st.Frames)-1)
	if to == s.frame && n > 0 {
		if st.Main {
			return names.Frame{}, fmt.Errorf("frame %d is the outermost: it is the program's main function (`set backtrace past-main on` shows who calls it)", to)
		}
		return names.Frame{}, fmt.Errorf("frame %d is the outermost", to)
	}
	if to == s.frame && n < 0 {
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

	Goroutine uint64 // the number of the one that it runs, 0 none
}

// Threads are the inferior's threads, stopped, each with its innermost frame.
func (s *Selection) Threads() ([]ThreadInfo, error) {
	if s.target.Mode() == target.Saved {
		return s.savedThreads(), nil
	}
	if err := s.target.Readable(); err != nil {
		return nil, err
	}
	var rows []ThreadInfo
	ids := s.goroutines.OfThreads()
	for _, t := range s.target.Image.Threads() {
		row := s.threadInfo(t)
		row.Goroutine = ids[t.Num]
		st, err := s.walker.Stack(t, 1, addr.Code{})
		if len(st.Frames) > 0 {
			row.Frame = s.entered(t, st.Frames)[0]
		}
		row.Err = err
		rows = append(rows, row)
	}
	return rows, nil
}

func (s *Selection) threadInfo(t *inferior.Thread) ThreadInfo {
	if t == nil {
		return ThreadInfo{}
	}
	return ThreadInfo{Num: t.Num, TID: t.TID, Name: t.Name(), Selected: t == s.thread}
}

// Thread is the selected thread.
func (s *Selection) Thread() (ThreadInfo, error) {
	if err := s.target.Readable(); err != nil {
		return ThreadInfo{}, err
	}
	return s.threadInfo(s.thread), nil
}

// NameThread gives the selected thread a name of the user's; "" is its own again.
func (s *Selection) NameThread(name string) error {
	if err := s.target.Readable(); err != nil {
		return err
	}
	if s.thread == nil {
		return target.ErrNoStack
	}
	s.thread.SetName(name)
	return nil
}

// SelectThread makes the thread of that number the selected one.
func (s *Selection) SelectThread(num int) (ThreadInfo, error) {
	if s.target.Mode() == target.Saved {
		return ThreadInfo{}, fmt.Errorf("thread %d: a capture has the thread of the selected event only: goto #N selects another event", num)
	}
	if err := s.target.Readable(); err != nil {
		return ThreadInfo{}, err
	}
	for _, t := range s.target.Image.Threads() {
		if t.Num == num {
			s.selectThread(t, addr.Code{})
			return s.threadInfo(t), nil
		}
	}
	return ThreadInfo{}, fmt.Errorf("no thread %d: see info threads", num)
}

func (s *Selection) selectThread(t *inferior.Thread, first addr.Code) {
	s.selection = selection{thread: t, code: first}
}

// Registers are the selected thread's. In a frame further out, those that its
// CFI could restore are as that frame will see them.
func (s *Selection) Registers() ([]Register, error) {
	f, err := s.liveFrame()
	if err != nil {
		return nil, err
	}
	regs, err := s.thread.Regs()
	if err != nil {
		return nil, err
	}
	rows := regs.Named()
	if s.routine != nil {
		return onlyFrame(asRegisters(rows, &f.Regs)), nil
	}
	if f.Regs == regs.Unwind() {
		return asRegisters(rows, nil), nil
	}
	return asRegisters(rows, &f.Regs), nil
}

// A Register of a frame.
type Register struct {
	Name  string
	Value uint64
	Known bool // false: the frame's callees did not save it
}

// asRegisters names the values; those of a frame further out come from its
// CFI, which restores general registers only. Segment registers are the same in all frames of
// a thread; the flags are those of the innermost one.
func asRegisters(rows []inferior.NamedRegister, frame *unwind.Regs) []Register {
	out := make([]Register, len(rows))
	for i, r := range rows {
		out[i] = Register{Name: r.Name, Value: r.Value, Known: true}
		if reg, ok := regNumber(r.Name); ok && frame != nil {
			out[i].Value, out[i].Known = frame.Get(reg)
		} else if frame != nil && r.Name == "eflags" {
			out[i].Known = false
		}
	}
	return out
}

// onlyFrame leaves out what no frame has: a goroutine that does not run has no segments.
func onlyFrame(rows []Register) []Register {
	for i := range rows {
		if _, ok := regNumber(rows[i].Name); !ok {
			rows[i].Known = false
		}
	}
	return rows
}

func (s *Selection) register(name string) (uint64, error) {
	alias := map[string]string{"pc": "rip", "sp": "rsp", "fp": "rbp"}
	if a, ok := alias[name]; ok {
		name = a
	}
	regs, err := s.Registers()
	if err != nil {
		return 0, err
	}
	for _, r := range regs {
		if r.Name == name {
			if !r.Known {
				return 0, fmt.Errorf("$%s: %w", name, values.ErrNotSaved)
			}
			return r.Value, nil
		}
	}
	return 0, fmt.Errorf("$%s: no such register: see info registers", name)
}

// regNumber is the DWARF number of the register that gdb calls name.
func regNumber(name string) (unwind.Reg, bool) {
	for r := unwind.RAX; r <= unwind.RIP; r++ {
		if r.String() == name {
			return r, true
		}
	}
	return 0, false
}

// reselect selects the frame again after inlined calls may have become known.
func (s *Selection) reselect(old names.Frame) {
	st, err := s.Stack(0)
	if err != nil {
		return
	}
	same := func(f names.Frame) bool { return f.CFA == old.CFA && f.Code == old.Code && f.Inlined == old.Inlined }
	if i := slices.IndexFunc(st.Frames, same); i >= 0 {
		s.frame = i
	}
}

func (s *Selection) selectDefault() {
	if ts := s.target.Image.Threads(); len(ts) > 0 {
		s.selectThread(ts[0], addr.Code{})
	}
}

// liveFrame is the selected frame of a process.
func (s *Selection) liveFrame() (names.Frame, error) {
	if err := s.target.Readable(); err != nil {
		return names.Frame{}, err
	}
	return s.Frame()
}

// recordedSource is what the selected event is of.
func (s *Selection) recordedSource() capture.Source {
	if s.target.Saved != nil {
		return s.target.Saved
	}
	return s.source()
}

// savedStack is the stack of the selected event.
func (s *Selection) savedStack() (names.Stack, error) {
	if s.stackID == 0 {
		return names.Stack{}, target.ErrNoStack
	}
	if s.max == 0 {
		s.stack, s.max = s.toMain(s.target.Names.RecordedStack(s.recordedSource(), s.stackID, s.at)), defaultDepth
	}
	return s.stack, nil
}

func (s *Selection) savedThreads() []ThreadInfo {
	var rows []ThreadInfo
	for _, t := range s.target.Saved.Threads() {
		rows = append(rows, ThreadInfo{Num: t.Num, TID: int(t.TID), Name: t.Name})
	}
	return rows
}

// SelectFunction makes the innermost frame of a function of that name the selected one.
func (s *Selection) SelectFunction(name string) (names.Frame, error) {
	st, err := s.Stack(0)
	if err != nil {
		return names.Frame{}, err
	}
	i := slices.IndexFunc(st.Frames, func(f names.Frame) bool {
		return query.MatchFunction(name, f.Function, f.Linkage) || symbols.MatchesName(name, f.Function, f.Linkage)
	})
	if i < 0 {
		return names.Frame{}, fmt.Errorf("no frame of a function %q: bt shows those there are", name)
	}
	return s.SelectFrame(i)
}
