package values

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"hdb/internal/addr"
)

// maxSearched bounds the elements among which a key is searched for.
const maxSearched = 1 << 20

// errCalls is the error of a call of a function that printers do not know.
var errCalls = errors.New("functions of the program are not called")

// call reads the arguments of a call.
func (p *parser) call(n *node) (*node, error) {
	p.next()
	call := &node{op: nodeCall, a: n}
	for last := &call.b; !p.accept(")"); last = &(*last).b {
		if call.b != nil {
			if err := p.expect(","); err != nil {
				return nil, err
			}
		}
		a, err := p.assign()
		if err != nil {
			return nil, err
		}
		*last = &node{op: nodeArg, a: a}
	}
	return call, nil
}

// call computes the result of a member function of a library's class from memory, and
// has the program run other functions.
func (e *evaluator) call(n *node) (Value, error) {
	if n.a.op != nodeMember && n.a.op != nodeArrow {
		return e.callFunction(n, nil)
	}
	v, err := e.eval(n.a.a)
	if err != nil {
		return Value{}, err
	}
	if v, err = e.object(v, n.a.op == nodeArrow); err != nil {
		return Value{}, err
	}
	var args []Value
	for a := n.b; a != nil; a = a.b {
		x, err := e.eval(a.a)
		if err != nil {
			return Value{}, err
		}
		args = append(args, e.prog.unref(x))
	}
	return e.method(v, n.a.text, args)
}

// object is the object whose member function is called. arrow says that it is behind a
// pointer.
func (e *evaluator) object(v Value, arrow bool) (Value, error) {
	v = e.prog.unref(v)
	t := v.Type.Strip()
	if t.Kind == Pointer || arrow && t.Kind == Struct {
		target, err := e.prog.Deref(v)
		return e.prog.unref(target), err
	}
	return v, nil
}

// method is the result of a member function.
func (e *evaluator) method(v Value, name string, args []Value) (Value, error) {
	p := v.printer()
	if p == nil {
		return Value{}, errCalls
	}
	if err := e.prog.Unreadable(v); err != nil {
		return Value{}, err
	}
	v = e.prog.Load(v)
	if p.Method != nil && len(args) == 0 {
		if out, err, ok := p.Method(&e.prog.Reader, v, name); ok {
			return out, err
		}
	}
	switch {
	case len(args) == 1 && p.Keyed:
		switch name {
		case "at", "get":
			return e.keyed(v, args[0])
		}
	case len(args) == 1 && (name == "at" || name == "get" && v.Type.Rust()):
		return e.elementAt(v, args[0])
	}
	if len(args) == 1 && (name == "contains" || name == "contains_key") {
		_, err := e.keyed(v, args[0])
		if err != nil && !errors.Is(err, errNoKey) {
			return Value{}, err
		}
		return e.truth(err == nil), nil
	}
	if len(args) == 0 {
		if out, err, ok := e.property(p, v, name); ok {
			return out, err
		}
	}
	if v.Type.Rust() { // the method of what a smart pointer points to
		if ptr, ok := v.smartPointer(); ok {
			target, err := e.object(ptr, true)
			if err != nil {
				return Value{}, err
			}
			return e.method(target, name, args)
		}
	}
	return Value{}, fmt.Errorf("%w, and hdb does not know %s() of %s", errCalls, name, v.Type)
}

// size is a number of elements.
func (e *evaluator) size(n int64) Value {
	return Number(e.prog.cType("unsigned long"), uint64(n))
}

// properties are the functions that the description of a value answers.
var properties = []string{"size", "length", "len", "empty", "is_empty", "data", "c_str", "as_str", "as_ptr", "front", "first", "back", "last"}

// property is what the description of a value tells: how many elements there are, the
// first and the last one, where they lie. It reports false for another function.
func (e *evaluator) property(p *Printer, v Value, name string) (out Value, err error, ok bool) {
	if name == "get" || name == "as_ref" || name == "as_ptr" {
		if p.Pointer == nil {
			return Value{}, nil, false
		}
		out, ok = p.Pointer(&e.prog.Reader, v)
		return out, nil, ok
	}
	if p.Display == nil || !slices.Contains(properties, name) {
		return Value{}, nil, false
	}
	d, ok := e.prog.Describe(v)
	if !ok {
		return Value{}, fmt.Errorf("the bytes are none of a valid %s", v.Type), true
	}
	if d.Err != nil {
		return Value{}, d.Err, true
	}
	n, counted := d.count()
	switch name {
	case "size", "length", "len":
		return e.size(n), nil, counted
	case "empty", "is_empty":
		return e.truth(n == 0), nil, counted
	case "data", "c_str", "as_str", "as_ptr":
		out, ok = d.storage()
		return out, nil, ok
	case "front", "first":
		out, err = e.end(&d, 0)
		return out, err, counted || d.Items != nil // a forward_list has a first element, but no count
	case "back", "last":
		out, err = e.end(&d, n-1)
		return out, err, counted
	}
	return Value{}, nil, false
}

// count is the number of elements of a container.
func (d *Display) count() (int64, bool) {
	switch {
	case d.Len != nil:
		return *d.Len, true
	case d.Elements != nil:
		return d.Elements.Count, true
	case d.Text != nil:
		return int64(d.Text.Len), true
	}
	return 0, false
}

// storage is a pointer to the first element of a container with its elements in a row.
func (d *Display) storage() (Value, bool) {
	switch {
	case d.Text != nil && d.Text.Addr != 0 && d.Text.Elem != nil:
		return Number(d.Text.Elem.PointerTo(), uint64(d.Text.Addr)), true
	case d.Elements != nil && d.Elements.Count > 0:
		first := d.Elements.At(0)
		if a, ok := first.Addr(); ok {
			return Number(first.Type.PointerTo(), uint64(a)), true
		}
	}
	return Value{}, false
}

// end is the first or last element of a container.
func (e *evaluator) end(d *Display, i int64) (Value, error) {
	n, counted := d.count()
	switch {
	case n == 0 && counted:
		return Value{}, errors.New("there are no elements")
	case d.Elements != nil:
		return d.Elements.At(i), nil
	case d.Text != nil:
		return e.character(d.Text, i)
	case d.Items == nil:
		return Value{}, errCalls
	}
	if i > maxSearched {
		return Value{}, fmt.Errorf("the last of %d elements is not searched for", n)
	}
	k := int64(0)
	for it, err := range d.Items {
		if err != nil {
			return Value{}, err
		}
		if k++; k == i+1 {
			if it.Value.Type == nil {
				break
			}
			return it.Value, nil
		}
	}
	return Value{}, errCalls
}

// character is character i of a text.
func (e *evaluator) character(t *Text, i int64) (Value, error) {
	elem := t.Elem
	if elem == nil {
		elem = baseType(e.prog, "u8", 1, encUnsigned)
	}
	size := elem.Size()
	if t.Data == nil {
		return MemoryValue(elem, t.Addr+addr.Run(i*size)), nil
	}
	if size < 1 || (i+1)*size > int64(len(t.Data)) {
		return Value{}, errLost
	}
	return Value{Type: elem, data: t.Data[i*size : (i+1)*size]}, nil
}

// elementAt is element i, which has to be there.
func (e *evaluator) elementAt(v, i Value) (Value, error) {
	n, err := e.prog.Uint(i)
	if err != nil {
		return Value{}, err
	}
	d, ok := e.prog.Describe(v)
	if !ok {
		return e.index(v, i)
	}
	if count, ok := d.count(); ok && n >= uint64(count) {
		return Value{}, fmt.Errorf("no element %d: there are %d", int64(n), count)
	}
	return e.index(v, i)
}

var errNoKey = errors.New("no element has this key")

// keyed is the element of a map or set with a key.
func (e *evaluator) keyed(v, key Value) (Value, error) {
	d, ok := e.prog.Describe(v)
	if !ok {
		return Value{}, fmt.Errorf("a value of type %s has no elements", v.Type)
	}
	if d.Err != nil {
		return Value{}, d.Err
	}
	if d.Items == nil {
		if n, ok := d.count(); !ok || n > 0 {
			return Value{}, errCalls
		}
		return Value{}, errNoKey
	}
	want, err := e.keyOf(key)
	if err != nil {
		return Value{}, err
	}
	n := 0
	for it, err := range d.Items {
		if err != nil {
			return Value{}, err
		}
		if n++; n > maxSearched {
			return Value{}, fmt.Errorf("no element has this key among the first %d", maxSearched)
		}
		k := it.Value
		if it.Key != nil {
			k = *it.Key
		}
		if k.Type == nil {
			return Value{}, errCalls
		}
		have, err := e.keyOf(k)
		if err != nil {
			return Value{}, err
		}
		if have.text != want.text {
			return Value{}, fmt.Errorf("keys are of type %s, not %s", k.Type, key.Type)
		}
		if bytes.Equal(have.data, want.data) {
			return it.Value, nil
		}
	}
	return Value{}, errNoKey
}

// A key is what tells whether two keys are equal.
type key struct {
	text bool
	data []byte
}

// keyOf is the key in a value: a text, a number or a pointer.
func (e *evaluator) keyOf(v Value) (key, error) {
	v = e.prog.unref(v)
	t := v.Type.Strip()
	if d, ok := e.prog.Describe(v); ok && d.Text != nil {
		data, err := e.prog.textOf(d.Text)
		return key{true, data}, err
	}
	switch {
	case t.Kind == Array && t.Row().textual():
		b, err := e.prog.Bytes(v)
		if i := zeroAt(b, int(max(t.Row().Size(), 1))); i >= 0 {
			b = b[:i]
		}
		return key{true, b}, err
	case t.isFloat():
		f, err := e.prog.float(v)
		return key{false, encodeUint(floatBits(f, 8), 8)}, err
	case t.isInteger() || t.Kind == Pointer:
		n, err := e.prog.Uint(v)
		return key{false, encodeUint(n, 8)}, err
	}
	return key{}, fmt.Errorf("keys of type %s are not compared", v.Type)
}

// Describe is the description of a value by its printer. It reports false if there is none.
func (r *Reader) Describe(v Value) (Display, bool) {
	p := v.printer()
	if p == nil || p.Display == nil {
		return Display{}, false
	}
	return p.Display(r, r.Load(v))
}

// Ends is the first or the last element of a container.
func (r *Reader) Ends(v Value, last bool) (Value, error) {
	d, ok := r.Describe(v)
	if !ok {
		return Value{}, errCalls
	}
	if d.Err != nil {
		return Value{}, d.Err
	}
	e := evaluator{lookup: lookup{prog: v.Type.prog}}
	n, counted := d.count()
	switch {
	case !last:
		return e.end(&d, 0)
	case !counted:
		return Value{}, errCalls
	}
	return e.end(&d, n-1)
}
