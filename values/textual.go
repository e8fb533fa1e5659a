package values

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"regexp"
)

// text is the characters of a value that is a text: characters in memory up to the first
// NUL, or a string of a library. ok is false for another value. A null pointer has no
// characters, and is nil.
func (e *evaluator) text(v Value) (b []byte, ok bool, err error) {
	v = e.prog.unref(v)
	if v.err != nil {
		return nil, true, v.err
	}
	t := v.Type.Strip()
	switch t.Kind {
	case Struct:
		d, ok := e.prog.Describe(v)
		if !ok || d.Text == nil {
			return nil, false, nil
		}
		if d.Err != nil {
			return nil, true, d.Err
		}
		if d.Text.Len > maxRead {
			return nil, true, fmt.Errorf("a text of %d characters is not compared", d.Text.Len)
		}
		b, err := e.w.described(d.Text)
		return append([]byte{}, b...), true, err
	case Array:
		if !textual(t.Row()) {
			return nil, false, nil
		}
		b, err := e.prog.Bytes(v)
		width := characters(t.Row())
		b, _ = upToNUL(b, width)
		return utf8Of(append([]byte{}, b...), width), true, err
	case Pointer:
		if !textual(t.Elem()) {
			return nil, false, nil
		}
		a, err := e.ops.address(v)
		if err != nil || a == 0 {
			return nil, true, err
		}
		b, err := e.prog.textAt(a, characters(t.Elem()))
		return b, true, err
	}
	return nil, false, nil
}

// compareTexts compares the operands as texts if one of them is a literal or a string of a
// library and the other one is a text, too. It reports false for others: pointers are
// compared by their addresses.
func (e *evaluator) compareTexts(n *node, a, b Value) (out Value, ok bool, err error) {
	holds, is := ordering[n.op]
	if !is || n.a.op != nodeString && n.b.op != nodeString && !e.isString(a) && !e.isString(b) {
		return Value{}, false, nil
	}
	x, okX, err := e.text(a)
	if !okX || err != nil {
		return Value{}, okX && err != nil, err
	}
	y, okY, err := e.text(b)
	if !okY || err != nil {
		return Value{}, okY && err != nil, err
	}
	if x == nil || y == nil { // a null pointer is no text
		return e.truth(n.op == "!=" && (x != nil || y != nil)), true, nil
	}
	return e.truth(holds(cmp.Compare(string(x), string(y)))), true, nil
}

// isString reports whether a value is a string of a library.
func (e *evaluator) isString(v Value) bool {
	v = e.prog.unref(v)
	if v.Type.Strip().Kind != Struct {
		return false
	}
	d, ok := e.prog.Describe(v)
	return ok && d.Text != nil
}

// A convenienceFunction computes a function of the debugger: $_streq(a, b).
type convenienceFunction struct {
	least, most int // arguments
	compute     func(e *evaluator, args []Value) (Value, error)
}

// convenienceFunctionNamed is the function of the debugger with a name of gdb's. It calls nothing
// in the program.
func convenienceFunctionNamed(name string) (f convenienceFunction, ok bool) {
	switch name {
	case "_streq":
		return convenienceFunction{2, 2, (*evaluator).streq}, true
	case "_strlen":
		return convenienceFunction{1, 1, (*evaluator).strlen}, true
	case "_memeq":
		return convenienceFunction{3, 3, (*evaluator).memeq}, true
	case "_regex":
		return convenienceFunction{2, 2, (*evaluator).regex}, true
	case "_creal":
		return convenienceFunction{1, 1, func(e *evaluator, args []Value) (Value, error) { return e.complexPart(args[0], false) }}, true
	case "_cimag":
		return convenienceFunction{1, 1, func(e *evaluator, args []Value) (Value, error) { return e.complexPart(args[0], true) }}, true
	case "_isvoid":
		return convenienceFunction{1, 1, (*evaluator).isVoid}, true
	case "_as_string":
		return convenienceFunction{1, 1, (*evaluator).asString}, true
	case "_caller_is":
		return convenienceFunction{1, 2, callerFunction(false, equalName)}, true
	case "_caller_matches":
		return convenienceFunction{1, 2, callerFunction(false, matchingName)}, true
	case "_any_caller_is":
		return convenienceFunction{1, 2, callerFunction(true, equalName)}, true
	case "_any_caller_matches":
		return convenienceFunction{1, 2, callerFunction(true, matchingName)}, true
	}
	return convenienceFunction{}, false
}

// convenienceCall calls a function of the debugger.
func (e *evaluator) convenienceCall(f convenienceFunction, name string, list *node) (Value, error) {
	var args []Value
	for ; list != nil; list = list.b {
		v, err := e.evalAny(list.a)
		if err != nil {
			return Value{}, err
		}
		args = append(args, v)
	}
	if n := len(args); n < f.least || n > f.most {
		return Value{}, fmt.Errorf("$%s takes %d arguments, there are %d", name, f.least, n)
	}
	out, err := f.compute(e, args)
	if err != nil {
		return Value{}, fmt.Errorf("$%s: %w", name, err)
	}
	return out, nil
}

// textArgument is the characters of an argument.
func (e *evaluator) textArgument(v Value) ([]byte, error) {
	b, ok, err := e.text(v)
	switch {
	case err != nil:
		return nil, err
	case !ok:
		return nil, fmt.Errorf("a value of type %s is not a text", v.Type)
	case b == nil:
		return nil, errors.New("a null pointer is not a text")
	}
	return b, nil
}

func (e *evaluator) streq(args []Value) (Value, error) {
	a, b, err := both(e.textArgument, args[0], args[1])
	return e.truth(bytes.Equal(a, b)), err
}

func (e *evaluator) strlen(args []Value) (Value, error) {
	b, err := e.textArgument(args[0])
	return Number(e.prog.cType("int"), uint64(len(b))), err
}

func (e *evaluator) memeq(args []Value) (Value, error) {
	n, err := e.prog.Uint(e.prog.unref(args[2]))
	switch {
	case err != nil:
		return Value{}, err
	case int64(n) < 0:
		return Value{}, errors.New("the length is negative")
	case n > maxRead:
		return Value{}, fmt.Errorf("%d bytes: more than %d are not compared", n, maxRead)
	}
	read := func(v Value) ([]byte, error) {
		v = e.prog.unref(v)
		if a, ok := v.Addr(); !ok && v.Type.Strip().Kind == Array { // a text as typed
			b, err := e.prog.Bytes(v)
			if err == nil && uint64(len(b)) < n {
				err = fmt.Errorf("the text has %d bytes", len(b))
			}
			return b[:min(n, uint64(len(b)))], err
		} else if ok && v.Type.Strip().Kind == Array {
			return e.prog.ReadMemory(a, int(n))
		}
		a, err := e.ops.address(v)
		if err != nil {
			return nil, err
		}
		return e.prog.ReadMemory(a, int(n))
	}
	a, b, err := both(read, args[0], args[1])
	return e.truth(bytes.Equal(a, b)), err
}

func (e *evaluator) isVoid(args []Value) (Value, error) {
	return Number(e.prog.cType("int"), truth(args[0].IsVoid())), nil
}

// regex reports whether a text begins with a match of a regular expression, as gdb's does.
func (e *evaluator) regex(args []Value) (Value, error) {
	text, pattern, err := both(e.textArgument, args[0], args[1])
	if err != nil {
		return Value{}, err
	}
	re, err := regexp.Compile("^(?:" + string(pattern) + ")")
	if err != nil {
		return Value{}, err
	}
	return e.truth(re.Match(text)), nil
}

// asString is the name of an enumerator, or a number as a text.
func (e *evaluator) asString(args []Value) (Value, error) {
	v := e.prog.unref(args[0])
	if err := e.prog.Unreadable(v); err != nil {
		return Value{}, err
	}
	text := e.prog.Format(e.f, v, Options{})
	return Value{Type: e.prog.Char().ArrayOf(int64(len(text) + 1)), data: append([]byte(text), 0)}, nil
}

func equalName(have, want string) (bool, error) { return have == want, nil }

func matchingName(have, want string) (bool, error) {
	re, err := regexp.Compile("^(?:" + want + ")")
	return err == nil && re.MatchString(have), err
}

// callerFunction is a function that compares the name of the function of a frame a number of frames
// further out, 1 by default, or of any frame up to that one.
func callerFunction(any bool, match func(have, want string) (bool, error)) func(*evaluator, []Value) (Value, error) {
	return func(e *evaluator, args []Value) (Value, error) {
		want, err := e.textArgument(args[0])
		if err != nil {
			return Value{}, err
		}
		n := uint64(1)
		if len(args) == 2 {
			if n, err = e.prog.Uint(e.prog.unref(args[1])); err != nil {
				return Value{}, err
			}
		}
		if int64(n) < 0 {
			return Value{}, errors.New("the number of frames is negative")
		}
		if e.f == nil {
			return Value{}, ErrNoFrame
		}
		for i, name := range e.f.functions(n) {
			if any || uint64(i) == n {
				is, err := match(name, string(want))
				if is || err != nil {
					return e.truth(is), err
				}
			}
		}
		return e.truth(false), nil
	}
}

// complexPart is the real or the imaginary part of a complex number.
func (e *evaluator) complexPart(v Value, imaginary bool) (Value, error) {
	v = e.prog.unref(v)
	if !isComplex(v.Type) {
		return Value{}, typeErrorf("a value of type %s is not a complex number", v.Type)
	}
	re, im, err := e.ops.parts(v)
	if imaginary {
		return im, err
	}
	return re, err
}
