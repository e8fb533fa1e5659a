package values

import (
	"fmt"
	"slices"
	"strings"
)

// Integer is the value of an expression as an integer or address. A name that the program
// has not got in the frame may be one of the Words.
func (w *World) Integer(f *Frame, src string) (uint64, error) {
	e, v, err := w.argument(f, src)
	if err != nil {
		return 0, err
	}
	if v.Type.isFloat() {
		x, err := w.float(v)
		return uint64(int64(x)), err
	}
	a, err := e.ops.address(v)
	return uint64(a), err
}

// Float is the value of an expression as a floating-point number, as Integer is.
func (w *World) Float(f *Frame, src string) (float64, error) {
	_, v, err := w.argument(f, src)
	if err != nil {
		return 0, err
	}
	if !v.Type.isFloat() && !v.Type.isInteger() {
		return 0, fmt.Errorf("%s: a value of type %s is not a number", src, v.Type)
	}
	return w.float(v)
}

// Text is the characters that an expression points to or is an array of, up to the first
// NUL, or a string of a library; nil for a null pointer.
func (w *World) Text(f *Frame, src string) ([]byte, error) {
	e, v, err := w.argument(f, src)
	if err != nil {
		return nil, err
	}
	switch v.Type.Strip().Kind {
	case Struct:
		if d, ok := w.Describe(v); ok && d.Text != nil {
			return w.described(d.Text)
		}
		if w.displayed(v.Type.Strip()) {
			text := w.Format(f, v, Options{Elements: MaxElements})
			return []byte(strings.TrimSuffix(strings.TrimPrefix(text, `"`), `"`)), nil
		}
		return nil, fmt.Errorf("%s: a value of type %s is not a string", src, v.Type)
	case Array:
		b, err := w.Bytes(v)
		width := characters(v.Type.Strip().Row())
		b, _ = upToNUL(b, width)
		return utf8Of(append([]byte{}, b...), width), err
	}
	a, err := e.ops.address(v)
	if err != nil || a == 0 {
		return nil, err
	}
	width := int64(1)
	if t := v.Type.Strip(); t.Kind == Pointer {
		width = characters(t.Elem())
	}
	return w.textAt(a, width)
}

// Summary reports whether a value is in the arguments of a frame where those that have members or
// elements do not: a scalar, or a string of a library.
func (w *World) Summary(v Value) bool {
	if v.Type.Scalar() {
		return true
	}
	d, ok := w.Describe(w.unref(v))
	return ok && d.Text != nil && d.Items == nil && d.Err == nil
}

// characters is the bytes of a character of a text whose elements are of the type.
func characters(t *Type) int64 {
	if n := t.Size(); textual(t) && (n == 2 || n == 4) {
		return n
	}
	return 1
}

// described is the characters of a text of a library, of which a long one is cut.
func (w *World) described(t *Text) ([]byte, error) {
	width := int64(1)
	if t.Elem != nil {
		width = max(t.Elem.Size(), 1)
	}
	cut, part := t.Len > uint64(maxArgument/width), *t
	if cut {
		part.Len = uint64(maxArgument / width)
		part.Data = part.Data[:min(len(part.Data), int(maxArgument))]
	}
	b, err := w.textOf(&part)
	if b = utf8Of(b, width); cut {
		b = append(slices.Clip(b), "..."...)
	}
	return b, err
}

// argument computes an expression that must have a value.
func (w *World) argument(f *Frame, src string) (*evaluator, Value, error) {
	e := w.evaluator(f)
	e.bare, e.mayCall = true, true
	v, err := e.compute(src)
	if err != nil {
		return nil, Value{}, err
	}
	v = w.unref(v)
	if v.err != nil {
		return nil, Value{}, fmt.Errorf("%s: %w", src, v.err)
	}
	if v.IsVoid() {
		return nil, Value{}, fmt.Errorf("%s: the value is void", src)
	}
	return e, v, nil
}
