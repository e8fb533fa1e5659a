package values

import (
	"bytes"
	"fmt"
)

// isNullType reports whether the type is nullptr's.
func isNullType(t *Type) bool { return t.Strip().Kind == Unspecified }

// null is nullptr of C++.
func (l language) null() Value {
	return Number(&Type{Kind: Unspecified, Name: "decltype(nullptr)", size: 8, prog: l.prog}, 0)
}

// boolean is what a smart pointer or an optional of C++'s library is as a condition. It
// reports false for another value.
func (o operators) boolean(v Value) (Value, bool) {
	p := v.printer()
	if p == nil || v.Type.Rust() {
		return Value{}, false
	}
	if p.Method != nil {
		if has, err, ok := p.Method(&o.prog.Reader, o.prog.Load(v), "has_value"); ok && lastName(cutTemplate(v.Type.Strip().Name)) == "optional" {
			return has, err == nil
		}
	}
	return o.smart(v)
}

// smart is the pointer in a unique_ptr or shared_ptr.
func (o operators) smart(v Value) (Value, bool) {
	switch lastName(cutTemplate(v.Type.Strip().Name)) {
	case "unique_ptr", "shared_ptr":
		return v.smartPointer()
	}
	return Value{}, false
}

// compareSmart compares the pointers in smart pointers with each other, pointers and null.
// It reports false for other values.
func (o operators) compareSmart(op string, a, b Value) (Value, bool, error) {
	if _, ok := ordering[op]; !ok {
		return Value{}, false, nil
	}
	a, b = o.prog.unref(a), o.prog.unref(b)
	x, first := o.smart(a)
	y, second := o.smart(b)
	if !first && !second {
		return Value{}, false, nil
	}
	if !first {
		x = a
	}
	if !second {
		y = b
	}
	v, err := o.binary(op, x, y)
	return v, true, err
}

// memberPointers compares pointers to members.
func (o operators) memberPointers(op string, a, b Value) (Value, error) {
	if a.Type.Strip().Kind != MemberPointer {
		a, b = b, a
	}
	null := isNullType(b.Type)
	if b.Type.isInteger() {
		n, err := o.prog.Uint(b)
		if null = n == 0; err != nil {
			return Value{}, err
		}
	}
	if op != "==" && op != "!=" || !null && !sameTypes(a.Type.Strip(), b.Type.Strip()) {
		return Value{}, typeErrorf("%s between values of types %s and %s", op, a.Type, b.Type)
	}
	x, err := o.prog.Bytes(a)
	if err != nil {
		return Value{}, err
	}
	y := nullMember(a.Type)
	if !null {
		if y, err = o.prog.Bytes(b); err != nil {
			return Value{}, err
		}
	}
	same := bytes.Equal(x, y)
	if len(x) == 16 && len(y) == 16 && decodeUint(x) == 0 && decodeUint(y) == 0 {
		same = true // null, whatever is added
	}
	return o.truth(same == (op == "==")), nil
}

// nullMember is a null pointer to member.
func nullMember(t *Type) []byte {
	if t.Strip().Elem().Strip().Kind == Function {
		return make([]byte, 16)
	}
	return encodeUint(^uint64(0), 8)
}

// toMemberPointer converts to a pointer to member: another one, or null.
func (o operators) toMemberPointer(v Value, t *Type) (Value, error) {
	from := v.Type.Strip()
	if from.Kind == MemberPointer && from.Size() == t.Size() {
		b, err := o.prog.Bytes(v)
		return Value{Type: t, data: b}, err
	}
	if isNullType(from) || from.isInteger() {
		if n, err := o.prog.Uint(v); err != nil || n == 0 {
			return Value{Type: t, data: nullMember(t)}, err
		}
	}
	return Value{}, typeErrorf("a value of type %s cannot be cast to %s", v.Type, t)
}

// elements is the bytes of an array as written, {1, 2} or a text, for an array of the
// program. A text may be shorter. It reports false for other values.
func (o operators) elements(from, to Value) ([]byte, bool, error) {
	f, t := from.Type.Strip(), to.Type.Strip()
	if f.Kind != Array || t.Kind != Array || from.place != nowhere || from.err != nil {
		return nil, false, nil
	}
	n, room := f.Count(), t.Count()
	row := t.Row()
	text := textual(f.Row()) && f.Row().Size() == row.Size()
	if text && n == room+1 { // as in C, the null character may not fit
		n--
	}
	if n > room || !text && n != room {
		return nil, true, fmt.Errorf("%d elements do not fit into a value of type %s", n, to.Type)
	}
	var out []byte
	for i := range n {
		c, err := o.cast(from.Part(f.Row(), i*f.Row().Size()), row)
		if err != nil {
			return nil, true, err
		}
		b, err := o.prog.Bytes(c)
		if err != nil {
			return nil, true, err
		}
		out = append(out, b...)
	}
	return append(out, make([]byte, (room-n)*row.Size())...), true, nil
}
