package values

import (
	"errors"
)

// A Word is a number of the debugger that expressions can name.
type Word struct {
	N       uint64
	Address bool // its type is void *, else unsigned long
	Int     bool // its type is int
}

// word is the value of a Word.
func (w *World) word(name string) (Value, bool) {
	if w.Words == nil {
		return Value{}, false
	}
	x, ok := w.Words(name)
	switch {
	case !ok:
		return Value{}, false
	case x.Address:
		return Number(w.voidPointer(), x.N), true
	case x.Int:
		return Number(w.cType("int"), x.N), true
	}
	return Number(w.cType("unsigned long"), x.N), true
}

// Holds reports whether an expression has a value other than zero. A name that the
// program has not got in the frame may be one of the Words.
func (w *World) Holds(f *Frame, src string) (bool, error) {
	w.remember(f)
	e := w.evaluator(f)
	e.bare = true
	return e.holds(src)
}

// True reports whether an expression that may assign has a value other than zero.
func (w *World) True(f *Frame, src string) (bool, error) {
	e := w.evaluator(f)
	e.assign, e.mayCall = true, true
	return e.holds(src)
}

// IsLost tells the error of an expression with a value that is not anywhere any more, as far as
// the frames are known.
func IsLost(err error) bool { return errors.Is(err, errLost) }

// holds reports whether an expression has a value other than zero.
func (e *evaluator) holds(src string) (bool, error) {
	v, err := e.compute(src)
	if err != nil {
		return false, err
	}
	if err := e.prog.Unreadable(v); err != nil {
		return false, err
	}
	return e.ops.isTrue(v)
}

// errAssigns is the error of an assignment where none is allowed.
var errAssigns = errors.New("= changes the program: use set var, or == to compare")

// Check is the error of an expression that can have no value in a frame of which maybe only the PC
// is known: it is no expression, it assigns, or the program has not got one of its names there, a
// *NoSymbolError, or it calls a function, or its operators have no meaning for the types that the
// frame's variables have. That a value cannot be read is not an error.
func (w *World) Check(f *Frame, src string) error {
	e := w.evaluator(f)
	e.bare, e.checking = true, true
	n, err := e.parse(src)
	if err != nil {
		return err
	}
	if err := e.numbers(n); err != nil {
		return err
	}
	v, err := e.evalAny(n)
	if err == nil && v.Type != nil && v.err == nil {
		_, err = e.ops.isTrue(v)
	} else if err == nil && v.Type != nil {
		_, err = e.ops.isTrue(LostValue(v.Type, v.err))
	}
	return e.certain(err)
}

// certain is an error of an expression that does not depend on what its variables hold, or
// nil. Without a frame, the variables that it names may be others of other types.
func (e *evaluator) certain(err error) error {
	var none *NoSymbolError
	var types *typeError
	switch {
	case errors.Is(err, errAssigns), errors.Is(err, errNoCalls), errors.Is(err, errCalls), errors.As(err, &none):
		return err
	case errors.As(err, &types) && e.f != nil:
		return err
	}
	return nil
}

// checkAll is the first certain error of several operands, all of which are looked at.
func (e *evaluator) checkAll(list ...*node) (Value, error) {
	for _, n := range list {
		v, err := e.eval(n)
		if err == nil {
			_, err = e.ops.isTrue(v)
		}
		if err = e.certain(err); err != nil {
			return Value{}, err
		}
	}
	return e.truth(true), nil
}

// unknown is what a pointer points to of which the value is not known when an expression is
// checked; else the pointer itself.
func (e *evaluator) unknown(v Value) (Value, bool) {
	v = e.prog.unref(v)
	t := v.Type.Strip()
	if !e.checking || t.Kind != Pointer || v.err == nil || t.Elem().Strip().Kind == Void {
		return v, false
	}
	return LostValue(t.Elem(), v.err), true
}

// numbers is the error of the first number that is none.
func (e *evaluator) numbers(n *node) error {
	if n == nil {
		return nil
	}
	if n.op == nodeNumber {
		_, err := e.number(n.text)
		return err
	}
	return errors.Join(e.numbers(n.a), e.numbers(n.b), e.numbers(n.c))
}
