package python

import (
	"fmt"
	"slices"

	"hdb/internal/addr"
	"hdb/python/inspect"
)

// Kinds of a variable, of co_localspluskinds.
const (
	kindHidden = 0x10
	kindCell   = 0x40 // functions share it
	kindFree   = 0x80
)

// optimized is the flag of code whose variables have places of their own: functions, but
// not modules and classes, which have a dict (CO_OPTIMIZED).
const optimized = 1

// Locals are the variables of a frame, its arguments first.
func (in *Interpreter) Locals(f Frame) ([]inspect.Variable, error) {
	if !in.mem.IsBounded() {
		in = in.bounded()
	}
	l := in.layout
	b, err := in.mem.Read(f.Code.At, l.Code.Size)
	if err != nil {
		return nil, fmt.Errorf("code object: %w", err)
	}
	if dict, own, err := in.dictOfLocals(f, b); own {
		if err != nil || dict == 0 {
			return nil, err
		}
		return in.mem.Variables(dict, maxLocals)
	}
	fast := f.At + addr.Run(l.Frame.Fast)
	if l.Code.Kinds != 0 {
		kinds, err := in.mem.Bytes(pointerIn(b, l.Code.Kinds))
		if err != nil {
			return nil, err
		}
		return in.variables(nil, fast, pointerIn(b, l.Code.Names), kinds, 0)
	}
	var all []inspect.Variable
	for i, names := range []int{l.Code.Names, l.Code.Cells, l.Code.Free} {
		kind := byte(0)
		if i > 0 {
			kind = kindCell
		}
		before := len(all)
		if all, err = in.variables(all, fast, pointerIn(b, names), nil, kind); err != nil {
			return all, err
		}
		fast += addr.Run(8 * (len(all) - before))
	}
	return all, nil
}

// dictOfLocals is where a module or a class has its variables, whose code object is b; own
// is false of functions, which have places for them.
func (in *Interpreter) dictOfLocals(f Frame, b []byte) (dict addr.Run, own bool, err error) {
	if intIn(b, in.layout.Code.Flags)&optimized != 0 {
		return 0, false, nil
	}
	dict, err = in.mem.Field(f.At, in.layout.Frame.Locals)
	return dict, true, err
}

// maxLocals bounds the variables of a function.
const maxLocals = 1 << 16

// variables reads one for each name of a tuple, of the kinds given or all of one. A cell represents
// what is in it, once it was made: an argument is in its place itself before.
func (in *Interpreter) variables(all []inspect.Variable, fast, names addr.Run, kinds []byte, kind byte) ([]inspect.Variable, error) {
	n, err := in.mem.Count(names)
	if err != nil {
		return all, err
	}
	if n > maxLocals {
		return all, fmt.Errorf("%d variables", n)
	}
	tuple, err := in.mem.Read(names+addr.Run(in.layout.Tuple.Items), 8*int(n))
	if err != nil {
		return all, err
	}
	values, err := in.mem.Read(fast, 8*int(n))
	if err != nil {
		return all, err
	}
	for i := range int(n) {
		if i < len(kinds) {
			kind = kinds[i]
		}
		if kind&kindHidden != 0 {
			continue
		}
		name, err := in.mem.Text(pointerIn(tuple, 8*i))
		if err != nil {
			return all, err
		}
		v := inspect.Variable{Name: name, At: pointerIn(values, 8*i)}
		if v.At != 0 && kind&(kindCell|kindFree) != 0 {
			if c, err := in.mem.ClassOf(v.At); err == nil && c.Name == "cell" {
				if v.At, err = in.mem.Field(v.At, in.layout.Cell); err != nil {
					return all, err
				}
			}
		}
		all = append(all, v)
	}
	return all, nil
}

// Names finds names as the function of a frame does: its own variables and those that it shares,
// those of its module, then the built-in ones.
func (in *Interpreter) Names(f Frame) func(r *inspect.Reader, name string) (addr.Run, error) {
	return func(r *inspect.Reader, name string) (addr.Run, error) { return in.with(r).name(f, name) }
}

func (in *Interpreter) name(f Frame, name string) (addr.Run, error) {
	b, err := in.mem.Read(f.Code.At, in.layout.Code.Size)
	if err != nil {
		return 0, fmt.Errorf("code object: %w", err)
	}
	dict, own, err := in.dictOfLocals(f, b)
	if err != nil {
		return 0, err
	}
	var vars []inspect.Variable
	if !own {
		vars, err = in.Locals(f)
	} else if dict != 0 {
		var found addr.Run
		if found, err = in.mem.Lookup(dict, name); found != 0 {
			return found, err
		}
	}
	if err != nil {
		return 0, err
	}
	declared := false
	for _, v := range slices.Backward(vars) { // a cell of an argument is behind it
		if v.Name == name {
			if v.At != 0 {
				return v.At, nil
			}
			declared = true
		}
	}
	if declared {
		return 0, fmt.Errorf("%s has no value here", name)
	}
	for _, at := range []int{in.layout.Frame.Globals, in.layout.Frame.Builtins} {
		dict, err := in.mem.Field(f.At, at)
		if err != nil {
			return 0, err
		}
		if dict == 0 {
			continue
		}
		if found, err := in.mem.Lookup(dict, name); err != nil || found != 0 {
			return found, err
		}
	}
	return 0, &NoNameError{name, f.Code.Qualname}
}

// A NoNameError is of a name that means nothing in a function.
type NoNameError struct{ Name, Function string }

func (e *NoNameError) Error() string {
	return fmt.Sprintf("no name %s in %s, its module or the built-in ones", e.Name, e.Function)
}
