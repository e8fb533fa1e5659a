package session

import (
	"fmt"

	"hdb/inferior"
	"hdb/internal/addr"
	"hdb/python"
)

// Python tells of the functions of Python that threads are in.
type Python struct {
	*common
	sel *Selection
}

// A PythonStack is what a thread does in Python, innermost first.
type PythonStack struct {
	Thread ThreadInfo
	python.Stack
	Truncated string // why there may be more
}

// interpreter is the CPython of the process. What it has read is not kept: the program
// changes it while it runs.
func (p *Python) interpreter() (*python.Interpreter, error) {
	if err := p.readable(); err != nil {
		return nil, err
	}
	for _, m := range p.names.Images() {
		symbols := func(name string) (addr.Run, bool) {
			sym, ok := m.Object.Symtab.Symbol(name)
			if !ok || !sym.Defined {
				return 0, false
			}
			return sym.Addr.Run(m.Bias), true
		}
		if _, ok := symbols("_PyRuntime"); ok {
			return python.Open(p.image, symbols)
		}
	}
	return nil, python.ErrNoPython
}

// Version is that of the interpreter.
func (p *Python) Version() (string, error) {
	in, err := p.interpreter()
	if err != nil {
		return "", err
	}
	return in.Version(), nil
}

// Stack is that of the selected thread.
func (p *Python) Stack() (PythonStack, error) {
	in, err := p.interpreter()
	if err != nil {
		return PythonStack{}, err
	}
	return p.stack(in, p.sel.thread)
}

func (p *Python) stack(in *python.Interpreter, t *inferior.Thread) (PythonStack, error) {
	if t == nil {
		return PythonStack{}, ErrNoStack
	}
	s := PythonStack{Thread: p.sel.threadInfo(t)}
	state, err := p.state(in, t)
	if err != nil {
		return s, err
	}
	if s.Stack, err = in.Stack(state); err != nil {
		if len(s.Frames) == 0 {
			return s, fmt.Errorf("thread %d: %w", t.Num, err)
		}
		s.Truncated = err.Error()
	}
	return s, nil
}

// state is what the interpreter keeps of a thread.
func (p *Python) state(in *python.Interpreter, t *inferior.Thread) (python.State, error) {
	if t == nil {
		return python.State{}, ErrNoStack
	}
	regs, err := t.Regs()
	if err != nil {
		return python.State{}, err
	}
	// pthread_self() is what the thread control block says of itself, at fs:0 in glibc and musl.
	self, err := p.readPointer(addr.Run(regs.FsBase))
	if err != nil {
		return python.State{}, fmt.Errorf("thread %d: %w", t.Num, err)
	}
	state, err := in.StateOf(uint64(self))
	if err != nil {
		return state, fmt.Errorf("thread %d: %w", t.Num, err)
	}
	return state, nil
}

// A PythonVariable is a variable of a function of Python, with the text of its value.
type PythonVariable struct{ Name, Value string }

// maxLocalsText bounds the characters of the variables of one function.
const maxLocalsText = 1 << 20

// Locals are the variables of the selected function, or of another by its number in py bt.
// more is how many are left out for the bound of what is printed.
func (p *Python) Locals(num int, l python.Limits) (f python.Frame, all []PythonVariable, more int, err error) {
	in, s, selected, err := p.stackHere()
	switch {
	case err != nil:
		return f, nil, 0, err
	case num < 0:
		num = selected
	case num >= len(s.Frames):
		return f, nil, 0, fmt.Errorf("no frame %d: py bt shows %d", num, len(s.Frames))
	}
	f = s.Frames[num]
	vars, err := in.Locals(f)
	if err != nil {
		return f, nil, 0, fmt.Errorf("variables of %s: %w", f.Code.Qualname, err)
	}
	size := 0
	for _, v := range vars {
		switch {
		case v.At == 0: // it has no value
		case size > maxLocalsText:
			more++
		default:
			x := PythonVariable{v.Name, in.Repr(v.At, l)}
			size += len(x.Name) + len(x.Value)
			all = append(all, x)
		}
	}
	return f, all, more, nil
}

// Eval is the text of an expression in the selected function.
func (p *Python) Eval(expr string, l python.Limits) (string, error) {
	in, s, n, err := p.stackHere()
	if err != nil {
		return "", err
	}
	v, err := in.Eval(s.Frames[n], expr)
	if err != nil {
		return "", err
	}
	return in.Show(v, l), nil
}
