package view

import (
	"fmt"
	"slices"

	"hdb/breakpoints"
	"hdb/capture"
	"hdb/inferior"
	"hdb/inferior/x86"
	"hdb/internal/addr"
	"hdb/names"
	"hdb/query"
	"hdb/recording"
	"hdb/session/target"
	"hdb/symbols"
	"hdb/unwind"
	"hdb/values"
)

// Selected is what the user looks at: a thread, its stack and a frame of it. In
// a capture, or in the past of a process, the event.
type Selected struct {
	Thread  *inferior.Thread
	Seq     uint64          // in a capture: the event,
	StackID capture.StackID // its stack,
	At      uint64          // and the event whose modules resolve it
	Stack   names.Stack
	Max     int       // frames walked for Stack; 0: only as many as the last report shows
	Num     int       // of the frame
	Code    addr.Code // what is known of the thread's PC, see Walker.Raw

	routine *Goroutine // of a Go program, which the stack is of; nil: it is the thread's

	Python   int  // the selected function of Python, by its number among these
	InPython bool // a function of Python was selected; Num is its frame in C
}

// Selection is the thread, the stack and the frame that commands are about, and the event
// whose moment is in view when that is in the past.
type Selection struct {
	target     *target.Target
	Source     func() capture.Source                   // the events that can be asked about
	Walker     *target.Walker                          // of the stacks of stopped threads
	hit        func(*inferior.Thread) *recording.Event // of the stop that a thread is at, any of nil; nil: it is at none
	goroutines *Goroutines
	Cur        Selected // what is selected
	present    Selected // of the process, while the view is in the past
	ahead      ahead
}

// NewSelection selects nothing yet. hit is the event of the stop that a thread is at, of any thread for nil; nil: it is at none.
func NewSelection(t *target.Target, w *target.Walker, hit func(*inferior.Thread) *recording.Event, goroutines *Goroutines) *Selection {
	return &Selection{target: t, Walker: w, hit: hit, goroutines: goroutines}
}

// ahead is the inlined calls that begin at the PC where a thread has stopped, as long as
// it has not entered them for the user: a step or a stop shows the line of the call first.
type ahead struct {
	thread *inferior.Thread
	pc     addr.Run
	calls  int
}

// SetAhead says how many there are where the thread is.
func (s *Selection) SetAhead(t *inferior.Thread, calls int) {
	s.ahead = ahead{}
	if regs, err := t.Regs(); err == nil && calls > 0 {
		s.ahead = ahead{t, regs.PC(), calls}
	}
	if s.Cur.Thread == t {
		s.WalkAgain()
	}
}

// NotEntered is the number of inlined calls that the thread has not entered at its PC.
func (s *Selection) NotEntered(t *inferior.Thread, pc addr.Run) int {
	if s.ahead.thread != t || s.ahead.pc != pc {
		return 0
	}
	return s.ahead.calls
}

// BehindCall tells that the selected thread's PC is known to be where a call returned to.
func (s *Selection) BehindCall(t *inferior.Thread, pc addr.Run) bool {
	return s.Cur.Thread == t && s.Cur.Code.IsReturn() && s.Cur.Code.Addr() == pc
}

// Entered is the stack of a thread from its innermost call that has been entered on.
func (s *Selection) Entered(t *inferior.Thread, frames []names.Frame) []names.Frame {
	if len(frames) == 0 || s.ahead.calls == 0 || frames[0].Code != addr.PC(s.ahead.pc) {
		return frames
	}
	regs, err := t.Regs()
	if err != nil {
		return frames
	}
	n := s.NotEntered(t, regs.PC())
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

// Clear selects nothing.
func (s *Selection) Clear() {
	s.target.Past, s.Cur, s.present, s.ahead = false, Selected{}, Selected{}, ahead{}
}

// LeavePresent makes the view of a process leave the present.
func (s *Selection) LeavePresent() {
	if s.target.Saved == nil && !s.target.Past {
		s.target.Past, s.present = true, s.Cur
	}
}

// ToPresent selects again what was selected before the view left for the past. Debug files
// may have come since.
func (s *Selection) ToPresent() {
	if s.target.Past {
		s.target.Past, s.Cur, s.present = false, s.present, Selected{}
		s.WalkAgain()
	}
}

// WalkAgain forgets the stack, so that it is walked anew.
func (s *Selection) WalkAgain() { s.Cur.Stack, s.Cur.Max = names.Stack{}, 0 }

// Leave forgets the stack of a thread that runs on.
func (s *Selection) Leave() {
	s.Cur = Selected{Thread: s.Cur.Thread, Seq: s.Cur.Seq, StackID: s.Cur.StackID, At: s.Cur.At}
}

// SelectRecorded selects an event of the capture, its stack, and the event whose modules
// resolve that.
func (s *Selection) SelectRecorded(seq uint64, stack capture.StackID, at uint64) {
	s.Cur = Selected{Seq: seq, StackID: stack, At: at}
}

// SelectSaved starts at the last stop of the session, or the last event.
func (s *Selection) SelectSaved() {
	stops := s.target.Saved.Stops()
	for i := len(stops) - 1; i >= 0; i-- {
		if stops[i].Stack != 0 {
			s.Cur.Seq = stops[i].Event
			s.Cur.StackID = stops[i].Stack
			s.Cur.At = max(stops[i].Event, stops[i].Seq)
			break
		}
	}
	if s.Cur.StackID == 0 {
		if e, ok := s.target.Saved.Event(s.target.Saved.Last()); ok {
			s.Cur.Seq, s.Cur.StackID, s.Cur.At = e.Seq, e.Stack, e.Seq
		}
	}
	if st, err := s.SavedStack(); err == nil {
		s.Cur.Num = s.UserFrame(st.Frames)
	}
}

// DefaultDepth bounds stacks that are not asked for in full.
const DefaultDepth = 2048

// Stack is the selected thread's stack, or the selected event's in a capture.
// At most limit physical frames are walked, 0 is the default bound.
func (s *Selection) Stack(limit int) (names.Stack, error) {
	if limit <= 0 {
		limit = DefaultDepth
	}
	if s.target.Recalled() {
		return s.SavedStack()
	}
	if err := s.target.Readable(); err != nil {
		return names.Stack{}, err
	}
	if s.Cur.Thread == nil {
		return names.Stack{}, target.ErrNoStack
	}
	if s.Cur.Max >= limit {
		return s.Cur.Stack, nil
	}
	st, err := s.walked(limit)
	if err != nil {
		return names.Stack{}, err
	}
	st = s.toMain(st)
	s.Cur.Stack, s.Cur.Max = st, limit
	return st, nil
}

// walked is the stack of the selected goroutine or thread.
func (s *Selection) walked(limit int) (names.Stack, error) {
	if s.Cur.routine != nil {
		return s.goroutines.Stack(*s.Cur.routine, limit)
	}
	st, err := s.Walker.Stack(s.Cur.Thread, limit, s.Cur.Code)
	if err != nil {
		return names.Stack{}, err
	}
	st.Frames = s.Entered(s.Cur.Thread, st.Frames)
	return st, nil
}

// toMain is the stack as it is shown: up to the program's main function.
func (s *Selection) toMain(st names.Stack) names.Stack {
	if s.target.Settings.PastMain {
		return st
	}
	return st.ToMain()
}

// ShowPastMain has stacks continue to the callers of the program's main function, or not.
func (s *Selection) ShowPastMain(on bool) {
	s.target.Settings.PastMain = on
	s.WalkAgain()
}

// InProbe tells that the selected thread is in the probe's own code, whose frames are not in its
// stack.
func (s *Selection) InProbe() (at addr.Run, ok bool) {
	if s.target.Probe == nil || s.Cur.Thread == nil {
		return 0, false
	}
	regs, err := s.Cur.Thread.Regs()
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
	if err != nil || s.Cur.Num >= len(st.Frames) || s.target.Attribution.Owner(st.Frames[s.Cur.Num:]) == 0 {
		return query.NotPassed
	}
	return s.target.Attribution.Passed(&st.Frames[s.Cur.Num])
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

// Called is the allocator function that the selected stack's innermost frame called, as events name
// it: "" where the stack is not an event's.
func (s *Selection) Called() string {
	if s.target.Recalled() {
		if e := s.Event(); e != nil {
			return e.Function
		}
		return ""
	}
	if s.Cur.Thread != nil {
		if e := s.hit(s.Cur.Thread); e != nil {
			return e.Function
		}
	}
	return ""
}

// Frame is the selected frame, which list, info and up start from.
func (s *Selection) Frame() (names.Frame, error) {
	if known := s.Cur.Stack.Frames; s.Cur.Num < len(known) {
		return known[s.Cur.Num], nil
	}
	st, err := s.Stack(0)
	if err != nil {
		return names.Frame{}, err
	}
	if len(st.Frames) == 0 {
		return names.Frame{}, target.ErrNoStack
	}
	return st.Frames[min(s.Cur.Num, len(st.Frames)-1)], nil
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
	s.Cur.Num, s.Cur.InPython = n, false
	return st.Frames[n], nil
}

// Up selects the frame n calls further out (inner when negative), stopping at the ends as gdb does.
// It is an error when it cannot move at all.
func (s *Selection) Up(n int) (names.Frame, error) {
	st, err := s.Stack(0)
	if err != nil {
		return names.Frame{}, err
	}
	if len(st.Frames) == 0 {
		return names.Frame{}, target.ErrNoStack
	}
	to := min(max(s.Cur.Num+n, 0), len(st.Frames)-1)
	if to == s.Cur.Num && n > 0 {
		if st.Main {
			return names.Frame{}, fmt.Errorf("frame %d is the outermost: it is the program's main function (`set backtrace past-main on` shows who calls it)", to)
		}
		return names.Frame{}, fmt.Errorf("frame %d is the outermost", to)
	}
	if to == s.Cur.Num && n < 0 {
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
	ids := s.goroutines.ofThreads()
	for _, t := range s.target.Image.Threads() {
		row := s.ThreadInfo(t)
		row.Goroutine = ids[t.Num]
		st, err := s.Walker.Stack(t, 1, addr.Code{})
		if len(st.Frames) > 0 {
			row.Frame = s.Entered(t, st.Frames)[0]
		}
		row.Err = err
		rows = append(rows, row)
	}
	return rows, nil
}

// ThreadInfo is a thread as in lists of threads.
func (s *Selection) ThreadInfo(t *inferior.Thread) ThreadInfo {
	if t == nil {
		return ThreadInfo{}
	}
	return ThreadInfo{Num: t.Num, TID: t.TID, Name: t.Name(), Selected: t == s.Cur.Thread}
}

// ThreadNumbers are hdb's numbers of the threads of the stopped process or core file, by TID.
func (s *Selection) ThreadNumbers() map[int]int {
	numbers := map[int]int{}
	if s.target.Readable() == nil {
		for _, t := range s.target.Image.Threads() {
			numbers[t.TID] = t.Num
		}
	}
	return numbers
}

// Thread is the selected thread.
func (s *Selection) Thread() (ThreadInfo, error) {
	if err := s.target.Readable(); err != nil {
		return ThreadInfo{}, err
	}
	return s.ThreadInfo(s.Cur.Thread), nil
}

// NameThread gives the selected thread a name of the user's; "" is its own again.
func (s *Selection) NameThread(name string) error {
	if err := s.target.Readable(); err != nil {
		return err
	}
	if s.Cur.Thread == nil {
		return target.ErrNoStack
	}
	s.Cur.Thread.SetName(name)
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
			s.Look(t, addr.Code{})
			return s.ThreadInfo(t), nil
		}
	}
	return ThreadInfo{}, fmt.Errorf("no thread %d: see info threads", num)
}

// Look selects a thread, whose PC is known as first; its stack is walked when it is asked for.
func (s *Selection) Look(t *inferior.Thread, first addr.Code) {
	s.Cur = Selected{Thread: t, Code: first}
}

// Registers are the selected thread's. In a frame further out, those that its
// CFI could restore are as that frame will see them.
func (s *Selection) Registers() ([]Register, error) {
	f, err := s.LiveFrame()
	if err != nil {
		return nil, err
	}
	regs, err := s.Cur.Thread.Regs()
	if err != nil {
		return nil, err
	}
	rows := regs.Named()
	if s.Cur.routine != nil {
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
func asRegisters(rows []x86.NamedRegister, frame *unwind.Regs) []Register {
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

// Reselect selects the frame again after inlined calls may have become known.
func (s *Selection) Reselect(old names.Frame) {
	st, err := s.Stack(0)
	if err != nil {
		return
	}
	same := func(f names.Frame) bool { return f.CFA == old.CFA && f.Code == old.Code && f.Inlined == old.Inlined }
	if i := slices.IndexFunc(st.Frames, same); i >= 0 {
		s.Cur.Num = i
	}
}

// SelectDefault selects the first thread of the process, if it has any.
func (s *Selection) SelectDefault() {
	if ts := s.target.Image.Threads(); len(ts) > 0 {
		s.Look(ts[0], addr.Code{})
	}
}

// LiveFrame is the selected frame of a process.
func (s *Selection) LiveFrame() (names.Frame, error) {
	if err := s.target.Readable(); err != nil {
		return names.Frame{}, err
	}
	return s.Frame()
}

// RecordedSource is what the selected event is of.
func (s *Selection) RecordedSource() capture.Source {
	if s.target.Saved != nil {
		return s.target.Saved
	}
	return s.Source()
}

// SavedStack is the stack of the selected event.
func (s *Selection) SavedStack() (names.Stack, error) {
	if s.Cur.StackID == 0 {
		return names.Stack{}, target.ErrNoStack
	}
	if s.Cur.Max == 0 {
		s.Cur.Stack, s.Cur.Max = s.toMain(s.target.Names.RecordedStack(s.RecordedSource(), s.Cur.StackID, s.Cur.At)), DefaultDepth
	}
	return s.Cur.Stack, nil
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
		return names.Frame{}, fmt.Errorf("no frame of a function %q: bt shows all frames", name)
	}
	return s.SelectFrame(i)
}

// RecordedWhole is the stack of the selected event with all frames that were recorded.
func (s *Selection) RecordedWhole() (names.Stack, error) {
	if s.Cur.StackID == 0 {
		return names.Stack{}, target.ErrNoStack
	}
	return s.target.Names.RecordedWhole(s.RecordedSource(), s.Cur.StackID, s.Cur.At), nil
}

// RecordedThread is the thread of the selected event, as far as the recording knows it.
func (s *Selection) RecordedThread() ThreadInfo {
	e := s.Event()
	if e == nil {
		return ThreadInfo{}
	}
	t := ThreadInfo{TID: int(e.TID), Selected: true}
	for _, known := range s.RecordedSource().Threads() {
		if known.TID == e.TID {
			t.Num, t.Name = known.Num, known.Name
		}
	}
	return t
}

// Event is the event that is stopped at, or selected in a capture; nil: none.
func (s *Selection) Event() *recording.Event {
	if s.target.Recalled() {
		e, ok := query.EventAt(s.target.Reading.Of(s.RecordedSource()), s.Cur.Seq)
		if !ok {
			return nil
		}
		return e
	}
	return s.hit(nil)
}
