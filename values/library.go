package values

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"hdb/internal/addr"
)

// maxSearched bounds the elements among which a key is searched for.
const maxSearched = 1 << 20

// errCalls is the error of a call of a member function that printers do not know.
var errCalls = errors.New("member functions of the program cannot be called")

// A library computes members, elements and member functions of values. For values of
// libraries, printers say what they are, and nothing is called.
type library struct{ operators }

// member computes . and ->.
func (l library) member(v Value, name string, arrow bool) (Value, error) {
	v = l.prog.unref(v)
	if t := v.Type.Strip(); t.Kind == Pointer { // gdb takes . for -> too
		var err error
		if v, err = l.prog.Deref(v); err != nil {
			return Value{}, err
		}
		v = l.prog.unref(v)
	} else if arrow && t.Kind == Struct {
		if err := v.unfollowed(); err != nil {
			return Value{}, err
		}
		if p, ok := v.smartPointer(); ok {
			return l.member(p, name, true)
		}
	}
	m, err := l.prog.memberNamed(v, name)
	if err != nil && v.Type.Rust() { // Rust's . looks through smart pointers
		if p, ok := v.smartPointer(); ok {
			return l.member(p, name, true)
		}
	}
	return m, err
}

// index computes [].
func (l library) index(a, i Value) (Value, error) {
	a, i = l.prog.unref(a), l.prog.unref(i)
	if p := a.printer(); p != nil && p.Keyed {
		return l.keyed(a, i)
	}
	n, err := l.prog.Uint(i)
	if err != nil {
		return Value{}, err
	}
	if !i.Type.isInteger() {
		return Value{}, mismatch([]Value{i}, "an index of type %s", i.Type)
	}
	if a.err != nil {
		return Value{}, a.err
	}
	t := a.Type.Strip()
	if t.Rust() && t.Kind == Pointer && strings.HasPrefix(t.Name, "&") { // [] of Rust looks through references
		target, err := l.prog.Deref(a)
		if err != nil {
			return Value{}, err
		}
		return l.index(target, i)
	}
	switch t.Kind {
	case Array:
		if (a.place != inMemory || t.Rust()) && (int64(n) < 0 || t.Count() >= 0 && int64(n) >= t.Count()) {
			return Value{}, fmt.Errorf("no element %d: there are %d", int64(n), t.Count())
		}
		elem := t.Row()
		if at, ok := a.Addr(); ok {
			return MemoryValue(elem, at+addr.Run(int64(n)*elem.Size())), nil
		}
		return a.Part(elem, int64(n)*elem.Size()), nil
	case Pointer:
		p, err := l.add(a, int64(n))
		if err != nil {
			return Value{}, err
		}
		return l.prog.Deref(p)
	case Struct:
		if v, ok := a.element(int64(n)); ok {
			return v, nil
		}
		if d, ok := l.prog.Describe(a); ok && d.Elements != nil && a.Type.Rust() { // as a VecDeque
			if int64(n) < 0 || int64(n) >= d.Elements.Count {
				return Value{}, fmt.Errorf("no element %d: there are %d", int64(n), d.Elements.Count)
			}
			return d.Elements.At(int64(n)), nil
		}
	}
	return Value{}, mismatch([]Value{a}, "a value of type %s has no elements", a.Type)
}

// object is the object whose member function is called. arrow says that it is behind a
// pointer.
func (l library) object(v Value, arrow bool) (Value, error) {
	v = l.prog.unref(v)
	t := v.Type.Strip()
	if t.Kind == Pointer || arrow && t.Kind == Struct {
		target, err := l.prog.Deref(v)
		if err != nil {
			return Value{}, err
		}
		return l.prog.unref(target), nil
	}
	return v, nil
}

// method is the result of a member function.
func (l library) method(v Value, name string, args []Value) (Value, error) {
	p := v.printer()
	if p == nil {
		return Value{}, errCalls
	}
	if err := l.prog.Unreadable(v); err != nil {
		return Value{}, err
	}
	v = l.prog.Load(v)
	if p.Method != nil && len(args) == 0 {
		if out, err, ok := p.Method(&l.prog.Reader, v, name); ok {
			return out, err
		}
	}
	switch {
	case len(args) == 1 && p.Keyed && (name == "at" || name == "get"):
		return l.keyed(v, args[0])
	case len(args) == 1 && !p.Keyed && (name == "at" || name == "get" && v.Type.Rust()):
		return l.elementAt(v, args[0])
	case len(args) == 1 && (name == "contains" || name == "contains_key"):
		_, err := l.keyed(v, args[0])
		if err != nil && !errors.Is(err, errNoKey) {
			return Value{}, err
		}
		return l.truth(err == nil), nil
	case len(args) == 0:
		if out, err, ok := l.property(p, v, name); ok {
			return out, err
		}
	}
	if v.Type.Rust() { // the method of what a smart pointer points to
		if ptr, ok := v.smartPointer(); ok {
			target, err := l.object(ptr, true)
			if err != nil {
				return Value{}, err
			}
			return l.method(target, name, args)
		}
	}
	return Value{}, fmt.Errorf("%w, and hdb does not know %s() of %s", errCalls, name, v.Type)
}

// properties are the functions that the description of a value answers.
var properties = []string{"size", "length", "len", "empty", "is_empty", "data", "c_str", "as_str", "as_ptr", "front", "first", "back", "last"}

// property is what the description of a value tells: how many elements there are, the
// first and the last one, where they lie. It reports false for another function.
func (l library) property(p *Printer, v Value, name string) (out Value, err error, ok bool) {
	if name == "get" || name == "as_ref" || name == "as_ptr" {
		if p.Pointer == nil {
			return Value{}, nil, false
		}
		out, ok = p.Pointer(&l.prog.Reader, v)
		return out, nil, ok
	}
	if p.Display == nil || !slices.Contains(properties, name) {
		return Value{}, nil, false
	}
	d, ok := l.prog.Describe(v)
	if !ok {
		return Value{}, fmt.Errorf("the bytes are not a valid %s", v.Type), true
	}
	if d.Err != nil {
		return Value{}, d.Err, true
	}
	n, counted := d.count()
	switch name {
	case "size", "length", "len":
		return l.prog.size(n), nil, counted
	case "empty", "is_empty":
		return l.truth(n == 0), nil, counted
	case "data", "c_str", "as_str", "as_ptr":
		out, ok = d.storage()
		return out, nil, ok
	case "front", "first":
		out, err = l.end(&d, 0)
		return out, err, counted || d.Items != nil // a forward_list has a first element, but no count
	case "back", "last":
		out, err = l.end(&d, n-1)
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
func (l library) end(d *Display, i int64) (Value, error) {
	n, counted := d.count()
	switch {
	case n == 0 && counted:
		return Value{}, errors.New("there are no elements")
	case d.Elements != nil:
		return d.Elements.At(i), nil
	case d.Text != nil:
		return l.character(d.Text, i)
	case d.Items == nil:
		return Value{}, errCalls
	}
	if i > maxSearched {
		return Value{}, fmt.Errorf("the last of %d elements: too many to walk there", n)
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
func (l library) character(t *Text, i int64) (Value, error) {
	elem := t.Elem
	if elem == nil {
		elem = baseType(l.prog, "u8", 1, encUnsigned)
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
func (l library) elementAt(v, i Value) (Value, error) {
	n, err := l.prog.Uint(i)
	if err != nil {
		return Value{}, err
	}
	if d, ok := l.prog.Describe(v); ok {
		if count, ok := d.count(); ok && n >= uint64(count) {
			return Value{}, fmt.Errorf("no element %d: there are %d", int64(n), count)
		}
	}
	return l.index(v, i)
}

var errNoKey = errors.New("no element has this key")

// keyed is the element of a map or set with a key.
func (l library) keyed(v, key Value) (Value, error) {
	d, ok := l.prog.Describe(v)
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
	want, err := l.keyOf(key)
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
		have, err := l.keyOf(k)
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

// A key is what reports whether two keys are equal.
type key struct {
	text bool
	data []byte
}

// keyOf is the key in a value: a text, a number or a pointer.
func (l library) keyOf(v Value) (key, error) {
	v = l.prog.unref(v)
	t := v.Type.Strip()
	if d, ok := l.prog.Describe(v); ok && d.Text != nil {
		data, err := l.prog.textOf(d.Text)
		return key{true, data}, err
	}
	switch {
	case t.Kind == Array && textual(t.Row()):
		b, err := l.prog.Bytes(v)
		b, _ = upToNUL(b, max(t.Row().Size(), 1))
		return key{true, b}, err
	case t.isFloat():
		f, err := l.prog.float(v)
		return key{false, encodeUint(floatBits(f, 8), 8)}, err
	case t.isInteger() || t.Kind == Pointer:
		n, err := l.prog.Uint(v)
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
	l := library{operators{language{prog: v.Type.prog}}}
	n, counted := d.count()
	switch {
	case !last:
		return l.end(&d, 0)
	case !counted:
		return Value{}, errCalls
	}
	return l.end(&d, n-1)
}
