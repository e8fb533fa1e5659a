package cpython

import (
	"fmt"
	"slices"

	"hdb/names"
	"hdb/python"
)

// stackHere is the stack of Python of the selected thread, and the number of the selected function in it.
func (p *Python) stackHere() (s Stack, selected int, err error) {
	if s, err = p.Stack(); err != nil {
		return s, 0, err
	}
	if len(s.Frames) == 0 {
		return s, 0, fmt.Errorf("thread %d: %w", s.Thread.Num, python.ErrNoFrames)
	}
	return s, min(p.sel.Cur.Python, len(s.Frames)-1), nil
}

// callsHere are the functions of Python of the selected thread or event, and the number of the
// selected one.
func (p *Python) callsHere() (all []names.Frame, selected int, err error) {
	if p.target.Recalled() {
		c, err := p.recordedCalls()
		if err != nil {
			return nil, 0, err
		}
		if selected = c.Selected; selected < 0 {
			whole, err := p.sel.RecordedWhole()
			if err != nil {
				return nil, 0, err
			}
			selected = p.recordedSelection(whole.Frames)
		}
		return c.Frames, selected, nil
	}
	s, n, err := p.stackHere()
	return s.Named(), n, err
}

// Frame is the selected function of Python.
func (p *Python) Frame() (names.Frame, error) {
	all, n, err := p.callsHere()
	if err != nil {
		return names.Frame{}, err
	}
	return all[n], nil
}

// Here is Frame if that is what list is about: it was selected, or the selected native
// frame has no source.
func (p *Python) Here() (names.Frame, bool) {
	if !p.target.Mode().Readable() && !p.target.Recalled() {
		return names.Frame{}, false
	}
	if f, err := p.sel.Frame(); !p.sel.Cur.InPython && err == nil && f.File != "" && f.Line > 0 {
		if _, err := p.target.Names.Source(f.File); err == nil {
			return names.Frame{}, false
		}
	}
	f, err := p.Frame()
	return f, err == nil
}

// Selected tells that a function of Python is what was selected last.
func (p *Python) Selected() bool { return p.sel.Cur.InPython }

// Select makes the nth function of Python the selected one, and with it the native frame that
// represents it.
func (p *Python) Select(n int) (names.Frame, error) {
	all, _, err := p.callsHere()
	if err != nil {
		return names.Frame{}, err
	}
	if n < 0 || n >= len(all) {
		return names.Frame{}, fmt.Errorf("no frame %d: py bt shows 0 to %d", n, len(all)-1)
	}
	if p.target.Recalled() {
		p.selectRecordedCall(n)
		return all[n], nil
	}
	p.sel.Cur.Python, p.sel.Cur.InPython = n, true
	if st, err := p.sel.Stack(0); err == nil {
		merged, _ := p.Merged(st.Frames, MergeHiding)
		if i := slices.IndexFunc(merged, func(f names.Frame) bool { return f.Python() && f.Nth == n }); i >= 0 {
			p.selectNative(st.Frames, merged[i])
		}
	}
	return all[n], nil
}

// Move selects the function n calls further out, inner if it is negative.
func (p *Python) Move(n int) (names.Frame, error) {
	all, at, err := p.callsHere()
	if err != nil {
		return names.Frame{}, err
	}
	to := min(max(at+n, 0), len(all)-1)
	switch {
	case to == at && n > 0:
		return names.Frame{}, fmt.Errorf("frame %d is the outermost Python frame", at)
	case to == at && n < 0:
		return names.Frame{}, fmt.Errorf("frame 0 is the innermost Python frame")
	}
	return p.Select(to)
}

// SelectFrame selects frame n of the stack. In a stack in which calls of Python represent native
// frames, it may be such a call; of a native one the selected function of Python is the one that
// called it.
func (p *Python) SelectFrame(n int, how Merge) (names.Frame, error) {
	f, err := p.sel.SelectFrame(n)
	if err != nil || how == MergeNone {
		return f, err
	}
	merged := p.mergeFrames(how)
	for _, m := range merged {
		if m.Num == n {
			return p.take(m), nil
		}
	}
	return p.take(f), nil
}

// Up selects the frame n calls further out in a stack in which calls of Python are shown, an inner
// one if it is negative.
func (p *Python) Up(n int, how Merge) (names.Frame, error) {
	merged := p.mergeFrames(how)
	if how == MergeNone || !p.merges(merged) {
		return p.sel.Up(n)
	}
	at := slices.IndexFunc(merged, func(f names.Frame) bool {
		return f.Python() == p.sel.Cur.InPython && (p.sel.Cur.InPython && f.Nth == p.sel.Cur.Python || !p.sel.Cur.InPython && f.Num == p.sel.Cur.Num)
	})
	to := at + n
	if at < 0 { // a native frame that is left out
		at = slices.IndexFunc(merged, func(f names.Frame) bool { return f.Num > p.sel.Cur.Num })
		if at < 0 {
			at = len(merged)
		}
		if to = at + n; n > 0 {
			to--
		}
		at = -1
	}
	to = min(max(to, 0), len(merged)-1)
	switch {
	case to == at && n > 0:
		return names.Frame{}, fmt.Errorf("that is the outermost frame")
	case to == at && n < 0:
		return names.Frame{}, fmt.Errorf("frame 0 is the innermost")
	}
	return p.take(merged[to]), nil
}

// merges tells that a merged stack is not the native one.
func (p *Python) merges(merged []names.Frame) bool {
	if slices.ContainsFunc(merged, func(f names.Frame) bool { return f.Python() }) {
		return true
	}
	st, err := p.sel.Stack(0)
	return err == nil && len(merged) > 0 && len(merged) < len(st.Frames)
}

// mergeFrames is the selected stack with calls of Python in it.
func (p *Python) mergeFrames(how Merge) []names.Frame {
	if !p.target.Mode().Readable() || p.target.Recalled() {
		return nil
	}
	st, err := p.sel.Stack(0)
	if err != nil {
		return nil
	}
	merged, _ := p.Merged(st.Frames, how)
	return merged
}

// take selects a frame of a merged stack.
func (p *Python) take(f names.Frame) names.Frame {
	st, err := p.sel.Stack(0)
	if err != nil {
		return f
	}
	if p.sel.Cur.InPython = f.Python(); p.sel.Cur.InPython {
		p.sel.Cur.Python = f.Nth
		p.selectNative(st.Frames, f)
		return f
	}
	p.sel.Cur.Num, p.sel.Cur.Python = f.Num, 0
	merged, _ := p.Merged(st.Frames, MergeBoth) // which has all native frames
	for i, m := range merged {
		if !m.Python() && m.Num == f.Num {
			if j := slices.IndexFunc(merged[i:], func(f names.Frame) bool { return f.Python() }); j >= 0 {
				p.sel.Cur.Python = merged[i+j].Nth
			}
		}
	}
	return f
}

// selectNative selects the native frame that a call of Python is in.
func (p *Python) selectNative(stack []names.Frame, f names.Frame) {
	if i := slices.IndexFunc(stack, func(s names.Frame) bool { return IsEval(s) && s.CFA == f.CFA }); i >= 0 {
		p.sel.Cur.Num = stack[i].Num
	}
}
