package values

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"hdb/internal/addr"
	"hdb/symbols/dwarf"
)

// address is the number of a pointer or integer, or the place of an array or function.
func (e *evaluator) address(v Value) (addr.Run, error) {
	switch v.Type.strip().Kind {
	case Array, Function:
		if a, ok := v.Addr(); ok {
			return a, nil
		}
		return 0, errors.New("the value does not lie in memory")
	case Struct:
		return 0, fmt.Errorf("a value of type %s is no address", v.Type)
	}
	n, err := e.w.uint(v)
	return addr.Run(n), err
}

// Address is what an expression says as an address, for commands that want one.
func (w *World) Address(f *Frame, src string) (addr.Run, error) {
	v, err := w.Eval(f, src)
	if err != nil {
		return 0, err
	}
	v = w.unref(v)
	if v.Type.strip().Kind == Struct {
		if a, ok := v.Addr(); ok {
			return a, nil
		}
	}
	return (&evaluator{w: w, f: f}).address(v)
}

// unref follows a reference.
func (w *World) unref(v Value) Value {
	t := v.Type.strip()
	if t.Kind != Reference && t.Kind != RvalueReference {
		return v
	}
	a, err := w.uint(v)
	if err != nil {
		return lostValue(t.Elem(), err)
	}
	return memoryValue(t.Elem(), addr.Run(a))
}

// deref is what a pointer points to.
func (w *World) deref(v Value) (Value, error) {
	v = w.unref(v)
	t := v.Type.strip()
	if v.synthetic() && t.Kind == Pointer {
		if !v.pointer.Valid() { // gcc 12 names offset 0 in split DWARF
			return lostValue(t.Elem(), errLost), nil
		}
		steps := 0
		target := w.valueIn(v.pointerIn, v.pointerFr, v.pointer, &steps, 1)
		if target.err != nil {
			return target, nil
		}
		if v.pointerOff == 0 {
			target.Type = t.Elem()
			return target, nil
		}
		return target.part(t.Elem(), v.pointerOff), nil
	}
	switch t.Kind {
	case Pointer:
		a, err := w.uint(v)
		if err != nil {
			return Value{}, err
		}
		if t.Elem().strip().Kind == Void {
			return Value{}, errors.New("a void pointer cannot be followed: cast it first")
		}
		return memoryValue(t.Elem(), addr.Run(a)), nil
	case Array:
		return v.part(t.row(), 0), nil
	case Function:
		return v, nil
	case Struct: // * of a smart pointer, as gdb's xmethods have it
		if p, ok := w.smart(v); ok && p.Type.strip().Kind == Pointer {
			return w.deref(p)
		}
	case Base:
		if v.Type.isInteger() { // gdb takes an integer for a pointer to long
			a, err := w.uint(v)
			return memoryValue(baseType(w, "long", 8, encSigned), addr.Run(a)), err
		}
	}
	return Value{}, fmt.Errorf("a value of type %s cannot be followed", v.Type)
}

func (e *evaluator) member(v Value, name string, arrow bool) (Value, error) {
	v = e.w.unref(v)
	if t := v.Type.strip(); t.Kind == Pointer { // gdb takes . for -> too
		var err error
		if v, err = e.w.deref(v); err != nil {
			return Value{}, err
		}
		v = e.w.unref(v)
	} else if arrow && t.Kind == Struct {
		if p, ok := e.w.smart(v); ok {
			return e.member(p, name, true)
		}
	}
	return e.w.memberNamed(v, name)
}

// memberNamed finds a member, in bases and anonymous unions too.
func (w *World) memberNamed(v Value, name string) (Value, error) {
	t := v.Type.strip()
	if t.Kind != Struct {
		return Value{}, fmt.Errorf("a value of type %s has no members", v.Type)
	}
	if i := strings.LastIndex(name, "::"); i >= 0 { // of a base class
		if b, ok := w.base(v, name[:i], 0); ok {
			return w.memberNamed(b, name[i+2:])
		}
	}
	if t.isRust() {
		t.read()
		if t.parts != nil {
			x, err := w.variantOf(v, t)
			if err != nil {
				return Value{}, err
			}
			if x.hasPayload {
				return w.memberNamed(w.member(v, &x.member), name)
			}
		}
		if _, err := strconv.Atoi(name); err == nil {
			name = "__" + name
		}
	}
	if m, ok := w.search(v, name, 0); ok {
		return m, nil
	}
	return Value{}, fmt.Errorf("%s has no member %q: see ptype", t, name)
}

func (w *World) base(v Value, name string, depth int) (Value, bool) {
	fields := v.Type.strip().Fields()
	for i := range fields {
		f := &fields[i]
		if !f.Base || depth > maxDepth {
			continue
		}
		b := w.member(v, f)
		if f.Name == name || strings.HasSuffix(f.Name, "::"+name) {
			return b, true
		}
		if b, ok := w.base(b, name, depth+1); ok {
			return b, true
		}
	}
	return Value{}, false
}

func (w *World) search(v Value, name string, depth int) (Value, bool) {
	if depth > maxDepth || v.Type == nil { // a value that was not found has no members
		return Value{}, false
	}
	t := v.Type.strip()
	fields := t.Fields()
	for i := range fields {
		f := &fields[i]
		if f.Name == name && !f.Base {
			if f.Static {
				return w.staticMember(t, f)
			}
			return w.member(v, f), true
		}
	}
	for i := range fields {
		f := &fields[i]
		if f.Base || f.Name == "" && f.Type.strip().Kind == Struct {
			if m, ok := w.search(w.member(v, f), name, depth+1); ok {
				return m, true
			}
		}
	}
	return Value{}, false
}

// staticMember finds the definition of a static member.
func (w *World) staticMember(t *Type, f *Field) (Value, bool) {
	if c, ok := f.die.Attr(dwarf.AtConstValue); ok {
		return constant(f.Type, c), true
	}
	for _, d := range f.Type.mod.names().Variables(f.Name) {
		if n := named(d); n.Off == f.die.Off && n.Unit == f.die.Unit {
			return w.valueOf(f.Type.mod, nil, d), true
		}
	}
	if t.Name == "" {
		return Value{}, false
	}
	for _, m := range w.modules(nil) {
		if list := w.variablesNamed(m, m.placed(f.Name), t.Name+"::"+f.Name, []string{""}); len(list) > 0 {
			return w.outer(m, list[0]), true
		}
	}
	return Value{}, false
}

func (e *evaluator) index(a, i Value) (Value, error) {
	a, i = e.w.unref(a), e.w.unref(i)
	n, err := e.w.uint(i)
	if err != nil {
		return Value{}, err
	}
	if !i.Type.isInteger() {
		return Value{}, fmt.Errorf("an index of type %s", i.Type)
	}
	t := a.Type.strip()
	switch t.Kind {
	case Array:
		if a.place != inMemory && (int64(n) < 0 || t.Count() >= 0 && int64(n) >= t.Count()) {
			return Value{}, fmt.Errorf("no such element: the array has %d", t.Count())
		}
		elem := t.row()
		if at, ok := a.Addr(); ok {
			return memoryValue(elem, at+addr.Run(int64(n)*elem.Size())), nil
		}
		return a.part(elem, int64(n)*elem.Size()), nil
	case Pointer:
		p, err := e.add(a, int64(n))
		if err != nil {
			return Value{}, err
		}
		return e.w.deref(p)
	case Struct:
		if v, ok := e.w.element(a, int64(n)); ok {
			return v, nil
		}
	}
	return Value{}, fmt.Errorf("a value of type %s has no elements", a.Type)
}

// repeat is gdb's a@n: n values of a's type from a on.
func (e *evaluator) repeat(a, n Value) (Value, error) {
	count, err := e.w.uint(n)
	if err != nil {
		return Value{}, err
	}
	if int64(count) < 1 || count > 1<<32 {
		return Value{}, fmt.Errorf("@ needs a number from 1 on, not %d", int64(count))
	}
	at, ok := a.Addr()
	if !ok {
		return Value{}, errors.New("only a value in memory can be the first of several")
	}
	return memoryValue(a.Type.arrayOf(int64(count)), at), nil
}
