package cpython

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"hdb/names"
	"hdb/python"
	"hdb/session/view"
)

// Calls are the functions of Python that the selected thread is in, or that it was in
// at the selected event of a recording, innermost first. A frame's number is its index.
type Calls struct {
	Thread    view.ThreadInfo
	Event     uint64 // of the recording, 0 for a thread as it is now
	Frames    []names.Frame
	Selected  int    // the number of the selected one, -1 if it is a native frame
	Truncated string // why there may be more
	Several   bool   // the frames are those of several interpreters' files

	// Of asyncio, see Awaiters. Recordings do not have awaiters.
	Task      string
	AwaitedBy []Awaiter
	Waiting   int
}

// Calls are those of the selected thread, or of the selected event where the view is of a
// recording.
func (p *Python) Calls() (Calls, error) {
	if p.target.Recalled() {
		return p.recordedCalls()
	}
	s, err := p.Stack()
	if err != nil {
		return Calls{}, err
	}
	c := Calls{Thread: s.Thread, Frames: s.Named(), Selected: -1, Truncated: s.Truncated, Several: s.Several}
	if p.sel.Cur.InPython && len(s.Frames) > 0 {
		c.Selected = min(p.sel.Cur.Python, len(s.Frames)-1)
	}
	c.Task, c.AwaitedBy, c.Waiting = p.awaiters(s)
	return c, nil
}

// recordedCalls are those of the selected event.
func (p *Python) recordedCalls() (Calls, error) {
	st, err := p.sel.RecordedWhole()
	if err != nil {
		return Calls{}, err
	}
	c := Calls{Event: p.sel.Cur.Seq, Thread: p.sel.RecordedThread(), Selected: -1}
	for _, f := range st.Frames {
		if f.Python() {
			c.Frames = append(c.Frames, names.Frame{Num: f.Nth, Nth: f.Nth, Frame: f.Frame})
		}
	}
	if len(c.Frames) == 0 {
		return c, noRecordedCalls(c.Event, st.Frames)
	}
	if c.Truncated = st.Truncated; c.Truncated == "" {
		c.Truncated = UnrecordedCalls(st.Frames)
	}
	if f, err := p.sel.Frame(); p.sel.Cur.InPython || err == nil && f.Python() {
		c.Selected = p.recordedSelection(st.Frames)
	}
	return c, nil
}

// noRecordedCalls is why a recorded stack has no functions of Python.
func noRecordedCalls(event uint64, frames []names.Frame) error {
	if slices.ContainsFunc(frames, IsEval) {
		return fmt.Errorf("event #%d: its stack was recorded without Python functions: bt shows the native frames", event)
	}
	return fmt.Errorf("event #%d: %w", event, python.ErrNoFrames)
}

// UnrecordedCalls says which functions of Python a recorded stack lacks: those that frames of the
// interpreter's loop represent before which there are none. "" if it lacks none that is known of.
func UnrecordedCalls(frames []names.Frame) string {
	recorded := "" // the file of the interpreter whose calls are recorded
	last := -1     // the outermost loop with calls
	called := false
	for i, f := range frames {
		switch {
		case f.Python():
			called = true
		case IsEval(f):
			if called {
				recorded, last, called = f.Path, i, false
			}
		}
	}
	for i, f := range frames {
		switch {
		case !IsEval(f):
		case f.Path != recorded:
			return "those of " + filepath.Base(f.Path) + " are not recorded"
		case i > last && !greenletBetween(frames[last+1:i]):
			return "those further out were not recorded"
		}
	}
	return ""
}

// greenletBetween tells that a greenlet begins in the frames: see greenletEnds.
func greenletBetween(frames []names.Frame) bool {
	return slices.ContainsFunc(frames, func(f names.Frame) bool { return strings.HasPrefix(f.Module, "_greenlet.") })
}

// recordedSelection is the number of the selected function of Python in the whole stack of
// the selected event: of a native frame that is selected, the function that called it.
func (p *Python) recordedSelection(whole []names.Frame) int {
	last := 0
	var at names.Frame
	if f, err := p.sel.Frame(); err == nil {
		at = f
	}
	for _, f := range whole {
		switch {
		case !f.Python():
			continue
		case p.sel.Cur.InPython && f.Nth == p.sel.Cur.Python, !p.sel.Cur.InPython && f.CFA >= at.CFA: // a recorded frame has its number there
			return f.Nth
		}
		last = f.Nth
	}
	return last
}

// selectRecordedCall selects a function of Python of the selected event, and with it the frame of
// the stack that it is, or that represents it where only native ones are shown.
func (p *Python) selectRecordedCall(n int) {
	p.sel.Cur.Python, p.sel.Cur.InPython = n, true
	whole, err := p.sel.RecordedWhole()
	if err != nil {
		return
	}
	i := slices.IndexFunc(whole.Frames, func(f names.Frame) bool { return f.Python() && f.Nth == n })
	st, err := p.sel.Stack(0)
	if i < 0 || err != nil {
		return
	}
	at := whole.Frames[i].CFA
	if i := slices.IndexFunc(st.Frames, func(f names.Frame) bool { return f.CFA == at || f.CFA > at && IsEval(f) }); i >= 0 {
		p.sel.Cur.Num = i
	}
}
