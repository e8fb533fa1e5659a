package stepping

import (
	"errors"
	"fmt"
	"strings"

	"hdb/inferior"
	"hdb/internal/addr"
	"hdb/names"
	"hdb/session/stopped"
	"hdb/session/view"
)

// Finish runs until the selected frame's function returns to its caller, or an exception
// or a longjmp leaves it. The selected frame may be an inlined one.
func (s *Steps) Finish() (*stopped.Report, error) {
	f, ret, err := s.toFinish()
	switch {
	case err != nil:
		return nil, err
	case s.target.Proc.IsGo():
		return s.finishGo(f)
	case f.Inlined:
		return s.finishInlined(f)
	}
	return s.finishAt(f, ret)
}

// ToFinish is the frame that Finish runs to the end of. An error says why it does not.
func (s *Steps) ToFinish() (names.Frame, error) {
	f, _, err := s.toFinish()
	return f, err
}

// toFinish is ToFinish, with where a physical frame returns to.
func (s *Steps) toFinish() (f names.Frame, ret addr.Run, err error) {
	if _, err := s.thread(); err != nil {
		return f, 0, err
	}
	f, err = s.sel.LiveFrame()
	if err == nil && f.Made {
		return f, 0, fmt.Errorf("finish: frame %d is where the goroutine was started, not its caller", f.Num)
	}
	if err != nil || f.Inlined || s.target.Proc.IsGo() {
		return f, 0, err
	}
	if st, err := s.sel.Stack(0); err == nil && st.Main && f.Num == len(st.Frames)-1 {
		return f, 0, fmt.Errorf("finish: %s is the outermost function of the program: continue runs to the program's end", f.Function)
	}
	ret, err = s.returnOf(f)
	return f, ret, err
}

// returnOf is where the physical frame of f returns to.
func (s *Steps) returnOf(f names.Frame) (addr.Run, error) {
	raw, err := s.sel.Walker.Raw(s.sel.Cur.Thread, view.DefaultDepth, s.sel.Cur.Code)
	if err != nil {
		return 0, err
	}
	for i := 1; i < len(raw.Frames); i++ {
		if raw.Frames[i-1].CFA == f.CFA {
			return raw.Frames[i].PC.Addr(), nil
		}
	}
	return 0, fmt.Errorf("frame %d is the outermost%s", f.Num, because(raw.Truncated))
}

func because(why string) string {
	if why == "" {
		return ""
	}
	return ": " + why
}

func (s *Steps) finishAt(f names.Frame, ret addr.Run) (*stopped.Report, error) {
	t, cfa := s.sel.Cur.Thread, f.CFA
	reached, left, stop, err := s.exec.RunOut(t, cfa, []RunTarget{{At: ret, When: FrameLeft(t, cfa)}})
	switch {
	case err != nil:
		return nil, err
	case left:
		return s.exec.ReportAhead(stop, "finish", &stopped.Finished{Function: f.Function, Left: true}, 0), nil
	case !reached && (stop.Reason != inferior.Trapped || stop.Thread != t):
		return s.exec.Report(stop, "finish"), nil
	}
	regs, err := t.Regs()
	if err != nil {
		return nil, err
	}
	if regs.PC() != ret || !FrameLeft(t, cfa)(t) { // a numbered stop inner
		return s.exec.Report(stop, "finish"), nil
	}
	finished := &stopped.Finished{Function: f.Function, RAX: regs.Result(), Frame: f}
	return s.exec.ReportAhead(stop, "finish", finished, s.behindCall(ret)), nil
}

// FrameLeft is true in the thread when the frame with that CFA has returned: its
// stack pointer is the CFA then, and lower while the frame lives.
func FrameLeft(t *inferior.Thread, cfa addr.Run) func(*inferior.Thread) bool {
	return func(now *inferior.Thread) bool {
		if now != t {
			return false
		}
		regs, err := now.Regs()
		return err != nil || regs.SP() >= cfa
	}
}

// finishInlined steps until the inlined call f is over. Calls inner are finished first.
func (s *Steps) finishInlined(f names.Frame) (*stopped.Report, error) {
	t := s.sel.Cur.Thread
	st, err := s.sel.Stack(0)
	if err != nil {
		return nil, err
	}
	inner := 0 // calls inlined into f
	for inner < f.Num && st.Frames[f.Num-inner-1].CFA == f.CFA && st.Frames[f.Num-inner-1].Code == f.Code {
		inner++
	}
	step := newStepper(s, t, false)
	step.out = true
	var d done
	if first := f.Num - inner; first > 0 {
		d, err = step.returnFrom(st.Frames[first-1].CFA, f.Code.Addr(), inner)
	} else {
		d, err = step.run(inner)
	}
	switch {
	case err != nil:
		return nil, err
	case !d.ended:
		return s.exec.Report(d.stop, "finish"), nil
	}
	if r, err := s.arrived(t, "finish"); r != nil || err != nil {
		return r, err
	}
	return s.ended(t, d, "finish"), nil
}

// Until without a location is Next that does not go back: at the end of a loop's
// body it runs until the loop is left. With one, it runs there or until the
// selected frame returns.
func (s *Steps) Until(location string) (*stopped.Report, error) {
	if location != "" {
		return s.advance(location, "until")
	}
	t, err := s.thread()
	if err != nil {
		return nil, err
	}
	regs, err := t.Regs()
	if err != nil {
		return nil, err
	}
	cfa := s.innermostCFA(regs)
	for {
		d, err := s.stepLine(t, false)
		if err != nil {
			return nil, err
		}
		if !d.ended {
			return s.exec.Report(d.stop, "until"), nil
		}
		now, err := t.Regs()
		if err != nil {
			return nil, err
		}
		if r, err := s.arrived(t, "until"); r != nil || err != nil {
			return r, err
		}
		if now.PC() > regs.PC() || s.innermostCFA(now) != cfa {
			return s.ended(t, d, "until"), nil
		}
		s.sel.SetAhead(t, d.ahead)
	}
}

// Advance runs to the location, or until the selected frame returns.
func (s *Steps) Advance(location string) (*stopped.Report, error) {
	if location == "" {
		return nil, errors.New("advance: no location: give a function, file:line or *address")
	}
	return s.advance(location, "advance")
}

// ContinueTo is Advance, as continue names it.
func (s *Steps) ContinueTo(location string) (*stopped.Report, error) {
	return s.advance(location, "continue")
}

func (s *Steps) advance(location, verb string) (*stopped.Report, error) {
	if _, err := s.thread(); err != nil {
		return nil, err
	}
	f, err := s.sel.LiveFrame()
	if err != nil {
		return nil, err
	}
	places, err := s.loc.Places(location)
	if err != nil {
		return nil, err
	}
	if len(places) == 0 {
		return nil, fmt.Errorf("%s: %s is not in the loaded modules", verb, location)
	}
	t := s.sel.Cur.Thread
	var targets []RunTarget
	for _, p := range places {
		if strings.HasPrefix(strings.TrimSpace(location), "*") {
			if err := s.exec.Inside(p.Addr); err != nil {
				return nil, fmt.Errorf("%s: %w", verb, err)
			}
		}
		targets = append(targets, RunTarget{At: p.Addr})
	}
	if ret, err := s.returnOf(f); err == nil { // the outermost function just never returns
		targets = append(targets, RunTarget{At: ret, When: FrameLeft(t, f.CFA)})
	}
	_, _, stop, err := s.exec.RunOut(t, f.CFA, targets)
	if err != nil {
		return nil, err
	}
	return s.exec.Report(stop, verb), nil
}
