package cpython

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"hdb/inferior"
	"hdb/internal/addr"
	"hdb/names"
	"hdb/python"
	"hdb/python/eval"
	"hdb/python/inspect"
	"hdb/session/target"
	"hdb/session/view"
	"hdb/symbols"
)

// Python describes the functions of Python that threads are in.
type Python struct {
	target *target.Target
	sel    *view.Selection
}

// NewPython reads what threads of a target do in Python, the selected one first.
func NewPython(t *target.Target, sel *view.Selection) *Python { return &Python{t, sel} }

// A Frame is a function of Python with what reads it.
type Frame struct {
	python.Frame
	in   *python.Interpreter
	path string // of the file that the interpreter is in

	Interpreter int64 // 0 is the main one
}

// A Stack is what a thread does in Python, innermost first.
type Stack struct {
	Thread    view.ThreadInfo
	Frames    []Frame
	Truncated string // why there may be more
	Several   bool   // the frames are those of several interpreters' files

	parts []*pythonPart
}

// A pythonPart is what a thread does in the interpreter of one file.
type pythonPart struct {
	File
	leaving bool
	groups  [][]int // of Frames: those that one native frame represents
}

// A File is the interpreter of one file that is loaded.
type File struct {
	In      *python.Interpreter
	Where   string // as in frames
	Bias    addr.Bias
	Symbols python.Symbols
}

// Interpreters are the interpreters of the process: a program may have loaded several
// libpythons. refused is why there are more than those. What they have read is not kept:
// the program changes it while it runs.
func (p *Python) Interpreters() (all []File, refused error, err error) {
	if err := p.target.Readable(); err != nil {
		return nil, nil, err
	}
	return Files(p.target, p.target.Image)
}

// Files is runtimes of memory that can be read: of the process, or of a copy.
func Files(c *target.Target, mem python.Memory) (all []File, refused error, err error) {
	for _, m := range c.Names.Images() {
		symbols := func(name string) (addr.Run, bool) {
			sym, ok := m.Object.Symtab.Exported(name)
			return sym.Addr.Run(m.Bias), ok
		}
		if !HasPython(m.Object) {
			continue
		}
		in, err := python.Open(mem, symbols)
		if err != nil {
			refused = errors.Join(refused, fmt.Errorf("%s: %w", filepath.Base(m.Path), err))
			continue
		}
		all = append(all, File{in, m.Path, m.Bias, symbols})
	}
	switch {
	case len(all) > 0:
		return all, refused, nil
	case refused != nil:
		return nil, nil, refused
	}
	return nil, nil, python.ErrNoPython
}

// A Runtime is an interpreter that a process has loaded.
type Runtime struct{ Version, Path string }

// Runtimes are the interpreters of the process whose frames can be read.
func (p *Python) Runtimes() (list []Runtime, err error) {
	all, _, err := p.Interpreters()
	for _, r := range all {
		list = append(list, Runtime{r.In.Version(), r.Where})
	}
	return list, err
}

// Stack is the selected thread's.
func (p *Python) Stack() (Stack, error) {
	all, refused, err := p.Interpreters()
	if err != nil {
		return Stack{}, err
	}
	if p.sel.Cur.Thread == nil {
		return Stack{}, target.ErrNoStack
	}
	s := Stack{Thread: p.sel.ThreadInfo(p.sel.Cur.Thread)}
	var failed error
	for _, r := range all {
		if err := p.add(&s, r); err != nil && failed == nil {
			failed = err
		}
	}
	if failed != nil && len(s.parts) == 0 {
		return s, failed
	}
	if refused != nil {
		s.Truncated = refused.Error()
	}
	if s.Several = len(s.parts) > 1; s.Several {
		p.order(&s)
	}
	return s, nil
}

// add adds what the thread does in one interpreter.
func (p *Python) add(s *Stack, r File) error {
	states, err := new(Stacks).states(p.target, r.In, p.sel.Cur.Thread)
	if err != nil {
		return err
	}
	part := &pythonPart{File: r}
	before := len(s.Frames)
	for i, state := range states {
		st, err := r.In.Stack(state)
		if err != nil {
			if i == 0 && len(st.Frames) == 0 {
				return fmt.Errorf("thread %d: %w", s.Thread.Num, err)
			}
			s.Truncated = err.Error()
		}
		if i == 0 {
			part.leaving = st.Leaving
		}
		var group []int
		for _, f := range st.Frames {
			group = append(group, len(s.Frames))
			if s.Frames = append(s.Frames, Frame{f, r.In, r.Where, state.Interpreter}); f.Entry {
				part.groups, group = append(part.groups, group), nil
			}
		}
	}
	if len(s.Frames) > before || part.leaving || len(s.parts) == 0 {
		s.parts = append(s.parts, part)
	}
	return nil
}

// order has the frames of several interpreters are in the order of the native frames that they
// belong to. Those of which no native frame is known come last.
func (p *Python) order(s *Stack) {
	left := map[string][][]int{}
	for _, part := range s.parts {
		left[part.Where] = part.groups
		if part.leaving {
			left[part.Where] = slices.Insert(slices.Clone(part.groups), 0, nil)
		}
	}
	var order []int
	if st, err := p.sel.Stack(0); err == nil {
		for _, f := range st.Frames {
			if g := left[f.Path]; IsEval(f) && len(g) > 0 {
				order, left[f.Path] = append(order, g[0]...), g[1:]
			}
		}
	}
	for _, part := range s.parts {
		order = append(order, slices.Concat(left[part.Where]...)...)
	}
	frames, now := make([]Frame, len(order)), make([]int, len(order))
	for to, from := range order {
		frames[to], now[from] = s.Frames[from], to
	}
	s.Frames = frames
	for _, part := range s.parts {
		for _, g := range part.groups {
			for i := range g {
				g[i] = now[g[i]]
			}
		}
	}
}

// Named are the calls as frames of a stack, with their numbers in it.
func (s Stack) Named() (all []names.Frame) {
	for i, c := range s.Frames {
		f := names.Frame{Num: i, Nth: i, Frame: called(c.Frame)}
		if s.Several {
			f.Module, f.Path = filepath.Base(c.path), c.path
		}
		all = append(all, f)
	}
	return all
}

// Innermost is the function of Python that a thread is in or under, at a stop; nil if there is
// none.
func (p *Python) Innermost(t *inferior.Thread) *names.Frame {
	all, _, err := p.Interpreters()
	if err != nil || t == nil {
		return nil
	}
	if len(all) > 1 {
		if s, err := p.Stack(); err == nil && len(s.Frames) > 0 {
			return &s.Named()[0]
		}
		return nil
	}
	state, err := p.state(all[0].In, t)
	if err != nil {
		return nil
	}
	f, ok := all[0].In.Innermost(state)
	if !ok {
		return nil
	}
	return &names.Frame{Frame: called(f)}
}

// state is what the interpreter that a thread is in keeps of it.
func (p *Python) state(in *python.Interpreter, t *inferior.Thread) (python.State, error) {
	return State(p.target, in, t)
}

// State is what the interpreter that a stopped thread is in keeps of it.
func State(c *target.Target, in *python.Interpreter, t *inferior.Thread) (python.State, error) {
	return new(Stacks).State(c, in, t)
}

// states are those of a thread in all interpreters, the one that it is in first.
func (k *Stacks) states(c *target.Target, in *python.Interpreter, t *inferior.Thread) ([]python.State, error) {
	regs, err := t.Regs()
	if err != nil {
		return nil, err
	}
	// pthread_self() is what the thread control block says of itself, at fs:0 in glibc and musl.
	self, err := c.ReadPointer(addr.Run(regs.FsBase))
	if err != nil {
		return nil, fmt.Errorf("thread %d: %w", t.Num, err)
	}
	threads, err := k.known(c)
	if err != nil {
		return nil, fmt.Errorf("thread %d: %w", t.Num, err)
	}
	all, err := in.StatesOf(uint64(self), threads)
	if err != nil {
		return nil, fmt.Errorf("thread %d: %w", t.Num, err)
	}
	return all, nil
}

// A Variable is a variable of a function of Python, with the text of its value.
type Variable struct{ Name, Value string }

// maxLocalsText bounds the characters of the variables of one function.
const maxLocalsText = 1 << 20

// Locals are the variables of the selected function, or of another by its number in py bt.
// more is how many are left out for the bound of what is printed.
func (p *Python) Locals(num int, l inspect.Limits) (f python.Frame, all []Variable, more int, err error) {
	s, selected, err := p.stackHere()
	switch {
	case err != nil:
		return f, nil, 0, err
	case num < 0:
		num = selected
	case num >= len(s.Frames):
		return f, nil, 0, fmt.Errorf("no frame %d: py bt shows %d", num, len(s.Frames))
	}
	at := s.Frames[num]
	vars, err := at.in.Locals(at.Frame)
	if err != nil {
		return f, nil, 0, fmt.Errorf("variables of %s: %w", at.Code.Qualname, err)
	}
	size, objects := 0, at.in.Objects().Bounded(inspect.MaxSearch)
	for _, v := range vars {
		switch {
		case v.At == 0: // it has no value
		case size > maxLocalsText:
			more++
		default:
			x := Variable{v.Name, objects.Repr(v.At, l)}
			size += len(x.Name) + len(x.Value)
			all = append(all, x)
		}
	}
	return at.Frame, all, more, nil
}

// Eval is the text of an expression in the selected function.
func (p *Python) Eval(expr string, l inspect.Limits) (string, error) {
	s, n, err := p.stackHere()
	if err != nil {
		return "", err
	}
	v, err := s.eval(n, expr)
	if err != nil {
		return "", err
	}
	return s.Frames[n].in.Objects().Show(v, l), nil
}

// eval is what an expression means in a function of the stack. An error about its names says which
// function of the stack knows them: a service that waits is in one of the library.
func (s *Stack) eval(n int, expr string) (inspect.Value, error) {
	v, err := s.Frames[n].eval(expr)
	if none := (*python.NoNameError)(nil); errors.As(err, &none) {
		for i, f := range s.Frames[:min(len(s.Frames), 100)] {
			if _, e := f.eval(expr); e == nil {
				return v, fmt.Errorf("%w; it is known in %s: `py frame %d` first", err, f.Code.Qualname, i)
			}
		}
	}
	return v, err
}

func (f Frame) eval(expr string) (inspect.Value, error) {
	return eval.Expression(f.in.Objects(), f.in.Names(f.Frame), expr)
}

// HasPython tells the file of a CPython interpreter.
func HasPython(obj *symbols.Object) bool {
	if obj == nil {
		return false
	}
	_, ok := obj.Symtab.Exported("_PyRuntime")
	return ok
}
