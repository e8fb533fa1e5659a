package stepping

import (
	"errors"
	"fmt"
	"slices"

	"hdb/inferior"
	"hdb/internal/addr"
	"hdb/names"
	"hdb/python/cython"
	"hdb/python/inspect"
	"hdb/session/cpython"
	"hdb/session/stopped"
	"hdb/session/target"
	"hdb/session/variables"
	"hdb/session/view"
)

// CythonSteps steps by lines and functions of the sources of Cython.
type CythonSteps struct {
	target *target.Target
	sel    *view.Selection
	values *variables.Values
	cython *cpython.Cython
	steps  *Steps
}

// NewCython steps the threads of a target by sources of Cython.
func NewCython(c *target.Target, sel *view.Selection, v *variables.Values, cython *cpython.Cython, steps *Steps) *CythonSteps {
	return &CythonSteps{c, sel, v, cython, steps}
}

// errNotInCython is the error of steps that would begin outside of Cython.
var errNotInCython = errors.New("no Cython function is inside the interpreter's frames: step, or cy break FUNCTION and continue")

// Step runs to another line of a source of Cython, n times, entering its functions however
// they are called. Where a function returns to Python, the step ends in the interpreter.
func (y *CythonSteps) Step(n int) (*stopped.Report, error) { return y.stepLines(n, true) }

// Next is Step without entering functions.
func (y *CythonSteps) Next(n int) (*stopped.Report, error) { return y.stepLines(n, false) }

func (y *CythonSteps) stepLines(n int, into bool) (*stopped.Report, error) {
	if err := y.target.Live(); err != nil {
		return nil, err
	}
	st, err := y.sel.Stack(0)
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(untilPython(st.Whole()), func(f names.Frame) bool { return cpython.IsCythonFrame(&f) }) {
		return nil, errNotInCython
	}
	return y.steps.lines(n, into, true)
}

// untilPython are the frames up to the innermost of the interpreter's loop.
func untilPython(frames []names.Frame) []names.Frame {
	if i := slices.IndexFunc(frames, cpython.IsEval); i >= 0 {
		return frames[:i]
	}
	return frames
}

// isSource tells a place in a function of a source of Cython.
func (st *stepper) isSource(p *codePlace) bool {
	if !p.known || len(p.chain) == 0 {
		return false
	}
	inner := p.chain[len(p.chain)-1]
	f := names.Frame{Frame: inner}
	return cpython.IsCythonFrame(&f) && !st.s.target.Names.Cython.Added(&inner)
}

// stops reports whether a step ends in a frame that a call has returned to.
func (st *stepper) stops(f *names.Frame) bool {
	if !st.source {
		return f.Line != 0 && !st.s.target.Names.Cython.Added(&f.Frame)
	}
	return cpython.IsEval(*f) || cpython.IsCythonFrame(f) && !st.s.target.Names.Cython.Added(&f.Frame)
}

// entries are where functions of the sources of Cython begin, for a step that enters them.
func (st *stepper) entries() []RunTarget {
	if !st.source || !st.into {
		return nil
	}
	if st.begins == nil {
		st.begins = st.s.target.Names.Cython.Entries()
	}
	all := make([]RunTarget, len(st.begins))
	for i, at := range st.begins {
		all[i] = RunTarget{At: at, When: st.same}
	}
	return all
}

// inGenerator has a step that has come to where the body of a generator begins continue to the
// statement that it continues with. False elsewhere.
func (st *stepper) inGenerator(regs inferior.Registers) bool {
	here := st.place(regs.PC())
	if !st.source || !here.known || here.Start && here.Stmt {
		return false
	}
	st.from = here.line(len(here.chain))
	st.from.cfa = st.s.innermostCFA(regs)
	return true
}

// enters reports whether a step by Cython's lines enters the function at pc that one of Cython
// calls: one of its own, or one of C that its source calls by name.
func (st *stepper) enters(pc addr.Run) bool {
	frames := st.s.target.Names.Modules.Frames(addr.PC(pc))
	if len(frames) == 0 {
		return false
	}
	f := frames[len(frames)-1]
	if cython.IsGenerated(names.LinkageOf(&f)) {
		return !st.s.target.Names.Cython.Added(&f)
	}
	if mod := st.s.target.Names.Modules.At(addr.Run(st.from.chain[0].Entry.Run(st.from.bias))); mod != nil {
		obj, _ := st.s.target.Names.Modules.Object(mod)
		d := st.s.target.Names.Cython.Described(obj, names.LinkageOf(&st.from.chain[len(st.from.chain)-1]))
		return d != nil && slices.Contains(d.Enters, f.Function)
	}
	return false
}

// Finish runs until the selected function returns to the function of Cython or Python that has
// called it, through what Cython and the interpreter have between.
func (y *CythonSteps) Finish(l inspect.Limits) (*stopped.Report, error) {
	if err := y.target.Live(); err != nil {
		return nil, err
	}
	f, err := y.cython.Selected()
	if err != nil {
		return nil, err
	}
	stack, err := y.sel.Stack(0)
	if err != nil {
		return nil, err
	}
	frames := stack.Whole()
	i := slices.IndexFunc(frames, func(x names.Frame) bool { return x.Num == f.Num && x.CFA == f.CFA })
	if i < 0 {
		return nil, cpython.ErrNotCython
	}
	shown := cpython.Hidden(slices.Clone(frames))
	last, same := i, true // the frame whose return ends it; it is of the same function
	for last+1 < len(frames) {
		next := frames[last+1]
		visible := slices.ContainsFunc(shown, func(x names.Frame) bool { return x.Num == next.Num && !x.Python() })
		if cpython.IsEval(next) || cpython.IsCythonFrame(&next) && visible {
			break
		}
		same = same && next.Function == f.Function
		last++
	}
	if last+1 == len(frames) {
		return nil, fmt.Errorf("%s was not called by Cython or Python code: use finish", f.Function)
	}
	to := frames[last]
	if to.Inlined {
		return y.steps.finishInlined(to)
	}
	ret, err := y.steps.returnOf(to)
	if err != nil {
		return nil, err
	}
	r, err := y.steps.finishAt(to, ret)
	if err != nil {
		return r, err
	}
	fn := stopped.CauseOf[*stopped.Finished](r)
	if fn == nil {
		return r, nil
	}
	fn.Function, fn.Unknown = f.Function, !same
	if in, err := y.cython.Interpreter(); err == nil && y.returnsObject(to) && fn.RAX != 0 && !fn.Left {
		fn.Object = in.Objects().Repr(addr.Run(fn.RAX), l)
	}
	return r, nil
}

// returnsObject tells a function of C that returns an object of Python.
func (y *CythonSteps) returnsObject(f names.Frame) bool {
	vf := y.values.FrameAt([]names.Frame{f}, 0)
	if vf == nil || vf.Module.Obj == nil {
		return false
	}
	t, err := y.values.World.ReturnType(vf)
	return err == nil && cpython.IsObject(t)
}

// lines is stepLines, with source by the lines of sources of Cython alone.
func (s *Steps) lines(n int, into, source bool) (*stopped.Report, error) {
	verb := "next"
	if into {
		verb = "step"
	}
	t := s.sel.Cur.Thread
	if t == nil {
		return nil, target.ErrNoStack
	}
	defer s.exec.Step()()
	var d done
	for range max(n, 1) {
		var err error
		st := newStepper(s, t, into)
		st.source = source
		if d, err = st.run(0); err != nil {
			return nil, err
		}
		if !d.ended {
			return s.exec.Report(d.stop, verb), nil
		}
		if r, err := s.arrived(t, verb); r != nil || err != nil {
			return r, err
		}
		s.sel.SetAhead(t, d.ahead)
		if regs, err := t.Regs(); err != nil || source && !st.isSource(st.place(regs.PC())) {
			break // a step ends where a function has returned to Python, the last one too
		}
	}
	return s.ended(t, d, verb), nil
}
