package stepping

import (
	"errors"
	"fmt"

	"hdb/breakpoints"
	"hdb/inferior"
	"hdb/internal/addr"
	"hdb/session/stopped"
	"hdb/session/view"
	"hdb/unwind"
)

// ErrInProbe is the error for moving a thread that is in the probe's code: the probe has to finish
// what it does first.
var ErrInProbe = errors.New("the thread is at an allocation, in the probe's code: leave it first with stepi")

// movable is the selected thread, if its registers can be changed to have it continue elsewhere.
func (s *Steps) movable() (*inferior.Thread, error) {
	t, err := s.thread()
	if err != nil {
		return nil, err
	}
	if _, in := s.sel.InProbe(); in {
		return nil, ErrInProbe
	}
	return t, nil
}

// JumpPlace is the one place that a location means, and whether it is in the function in which the
// thread is.
func (s *Steps) JumpPlace(location string) (p breakpoints.Place, inside bool, err error) {
	t, err := s.movable()
	if err != nil {
		return p, false, err
	}
	places, err := s.loc.Places(location)
	switch {
	case err != nil:
		return p, false, err
	case len(places) == 0:
		return p, false, fmt.Errorf("%s is not in the loaded modules", location)
	case len(places) > 1:
		return p, false, fmt.Errorf("%s is %d places: say which by *ADDRESS", location, len(places))
	}
	regs, err := t.Regs()
	if err != nil {
		return p, false, err
	}
	from, to := placeAt(s.target.Names, regs.PC()).function(), placeAt(s.target.Names, places[0].Addr).function()
	return places[0], from != 0 && from == to, nil
}

// Jump lets the program continue at an address. The stack stays as it is.
func (s *Steps) Jump(at addr.Run) (*stopped.Report, error) {
	t, err := s.movable()
	if err != nil {
		return nil, err
	}
	regs, err := t.Regs()
	if err != nil {
		return nil, err
	}
	regs.Rip = uint64(at)
	if err := t.SetRegs(regs); err != nil {
		return nil, err
	}
	return s.exec.Continue(0)
}

// Signal lets the program continue with a signal for the selected thread, "0" for none, instead of
// the one that it stopped for.
func (s *Steps) Signal(name string) (*stopped.Report, error) {
	t, err := s.thread()
	if err != nil {
		return nil, err
	}
	n := 0
	if name != "0" {
		if n, err = inferior.SignalNumber(name); err != nil {
			return nil, err
		}
	}
	t.SetPendingSignal(n)
	return s.exec.Continue(0)
}

// Restored are the registers that a function restores for its caller, in addition to the stack
// pointer and the PC (System V ABI, figure 3.4).
var Restored = []unwind.Reg{unwind.RBX, unwind.RBP, unwind.R12, unwind.R13, unwind.R14, unwind.R15}

// Return leaves the function of the selected frame at once, with those inner: nothing of them runs
// any more. expr is the value that it returns, "" for whatever is in the registers. The thread is
// behind the call then.
func (s *Steps) Return(expr string) (*stopped.Report, error) {
	t, err := s.movable()
	if err != nil {
		return nil, err
	}
	f, err := s.sel.LiveFrame()
	switch {
	case err != nil:
		return nil, err
	case f.Inlined:
		return nil, fmt.Errorf("%s was inlined: there is no return from it", f.Function)
	}
	result, err := s.values.ReturnValue(expr)
	if err != nil {
		return nil, err
	}
	raw, err := s.sel.Walker.Raw(t, view.DefaultDepth, s.sel.Cur.Code)
	if err != nil {
		return nil, err
	}
	at := 0
	for at < len(raw.Frames) && raw.Frames[at].CFA != f.CFA {
		at++
	}
	if at+1 >= len(raw.Frames) {
		return nil, fmt.Errorf("frame %d is the outermost%s", f.Num, because(raw.Truncated))
	}
	if caller := raw.Frames[at+1]; caller.Signal || caller.How.Guess() {
		return nil, fmt.Errorf("%s was called by a signal, or its caller is a guess: no return from it", f.Function)
	}
	regs, err := t.Regs()
	if err != nil {
		return nil, err
	}
	caller := raw.Frames[at+1].Regs
	for _, reg := range Restored {
		if v, ok := caller.Get(reg); ok {
			*regs.At(reg) = v
		}
	}
	regs.Rsp, regs.Rip = uint64(f.CFA), uint64(raw.Frames[at+1].PC.Addr())
	if err := result.Put(t, &regs); err != nil {
		return nil, err
	}
	s.sel.WalkAgain()
	s.sel.Cur.Code = addr.Code{}
	s.exec.ForgetHits() // the thread is no longer where they were met
	return s.exec.ReportHere("return"), nil
}
