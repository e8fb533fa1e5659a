package python

import (
	"fmt"

	"hdb/internal/addr"
)

// A Variable is a name with the object that it refers to.
type Variable struct {
	Name string
	At   addr.Run // 0: it has no value yet, or any more
}

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
func (in *Interpreter) Locals(f Frame) ([]Variable, error) {
	if in.mem.left == nil {
		in = in.bounded(maxSearch)
	}
	l := in.layout
	b, err := in.mem.read(f.Code.At, l.Code.Size)
	if err != nil {
		return nil, fmt.Errorf("code object: %w", err)
	}
	if dict, own, err := in.dictOfLocals(f, b); own {
		if err != nil || dict == 0 {
			return nil, err
		}
		items, _, err := in.items(dict, maxLocals)
		return in.named(items), err
	}
	fast := f.At + addr.Run(l.Frame.Fast)
	if l.Code.Kinds != 0 {
		kinds, err := in.bytes(pointerIn(b, l.Code.Kinds))
		if err != nil {
			return nil, err
		}
		return in.variables(nil, fast, pointerIn(b, l.Code.Names), kinds, 0)
	}
	var all []Variable
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
	dict, err = in.mem.field(f.At, in.layout.Frame.Locals)
	return dict, true, err
}

// maxLocals bounds the variables of a function.
const maxLocals = 1 << 16

// variables reads one for each name of a tuple, of the kinds given or all of one. A cell
// stands for what is in it, once it was made: an argument is in its place itself before.
func (in *Interpreter) variables(all []Variable, fast, names addr.Run, kinds []byte, kind byte) ([]Variable, error) {
	n, err := in.count(names)
	if err != nil {
		return all, err
	}
	if n > maxLocals {
		return all, fmt.Errorf("%d variables", n)
	}
	tuple, err := in.mem.read(names+addr.Run(in.layout.Tuple.Items), 8*int(n))
	if err != nil {
		return all, err
	}
	values, err := in.mem.read(fast, 8*int(n))
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
		name, err := in.Text(pointerIn(tuple, 8*i))
		if err != nil {
			return all, err
		}
		v := Variable{name, pointerIn(values, 8*i)}
		if v.At != 0 && kind&(kindCell|kindFree) != 0 {
			if c, err := in.class(v.At); err == nil && c.name == "cell" {
				if v.At, err = in.mem.field(v.At, in.layout.Cell); err != nil {
					return all, err
				}
			}
		}
		all = append(all, v)
	}
	return all, nil
}
