package values

import (
	"errors"
	"fmt"
	"strings"

	"hdb/internal/addr"
	"hdb/symbols/dwarf"
)

// A pointer to a data member is its offset in the class, -1 if it is null. A pointer to a
// member function has two words: the address of the function, or 1 + 8n for a virtual one
// with place n in the virtual table, 0 if it is null; and what is added to the address of
// the object (Itanium C++ ABI, section 2.3).

// memberPointerTo makes the type of a pointer to a member of a class.
func memberPointerTo(t, class *Type) *Type {
	return &Type{Kind: MemberPointer, Tag: dwarf.TagPtrToMemberType, size: -1, prog: t.prog, mod: t.mod, elem: t, elemOK: true, object: class, lang: class.lang}
}

// memberAddress is &Class::member of a member that is not static. It reports false for a
// name of something else.
func (e *functions) memberAddress(name string) (v Value, ok bool, err error) {
	i := strings.LastIndex(cutTemplate(name), "::")
	if i <= 0 {
		return Value{}, false, nil
	}
	class := e.typeNamed(0, strings.TrimPrefix(name[:i], "::"))
	if class == nil || class.classType() == nil {
		return Value{}, false, nil
	}
	class, name = class.classType(), name[i+2:]
	for _, f := range class.Fields() {
		switch {
		case f.Name != name || f.Base:
		case f.Static:
			return Value{}, false, nil
		case f.BitSize > 0:
			return Value{}, true, typeErrorf("a bit field has no address")
		default:
			return Number(memberPointerTo(f.Type, class), uint64(f.Offset)), true, nil
		}
	}
	list := e.prog.methodsNamed(Value{Type: class}, name, 0)
	switch {
	case len(list) == 0:
		return Value{}, true, fmt.Errorf("%s has no member %q: see ptype", class, name)
	case list[0].selfType() == nil: // static: a function as others
		return Value{}, false, nil
	case len(list) > 1:
		return Value{}, true, fmt.Errorf("%s is overloaded: it is called on an object, as in OBJECT.%s(...)", name, name)
	}
	m := &list[0]
	word := uint64(0)
	if slot, virtual := m.slot(); virtual {
		word = uint64(8*slot) + 1
	} else {
		at, err := m.code()
		if err != nil {
			return Value{}, true, err
		}
		word = uint64(at)
	}
	return Value{Type: memberPointerTo(m.typ, class), data: append(encodeUint(word, 8), make([]byte, 8)...)}, true, nil
}

// errNullMember is the error of .* and ->* with a null pointer.
var errNullMember = errors.New("the pointer to a member is null")

// throughMember is the object and the pointer of .* and ->*: the object as one of the
// class that the pointer is about.
func (e *functions) throughMember(object, pointer Value, arrow bool) (Value, Value, error) {
	pointer = e.prog.unref(pointer)
	t := pointer.Type.Strip()
	if t.Kind != MemberPointer || t.object == nil {
		return Value{}, Value{}, typeErrorf("a value of type %s is not a pointer to a member", pointer.Type)
	}
	object, err := e.lib.object(object, arrow)
	if err != nil {
		return Value{}, Value{}, err
	}
	class := t.object.Strip()
	have := object.Type.Strip()
	if sameTypes(have, class) {
		return object, pointer, nil
	}
	if b, ok := e.prog.baseNamed(object, class.Name, 0); ok && have.Kind == Struct {
		return b, pointer, b.err
	}
	return Value{}, Value{}, typeErrorf("a pointer to a member of %s in a value of type %s", class, object.Type)
}

// memberOf computes .* and ->* of what throughMember has found.
func (e *functions) memberOf(object, pointer Value) (Value, error) {
	t := pointer.Type.Strip()
	if t.Elem().Strip().Kind == Function {
		c, err := e.boundFunction(object, pointer)
		return MemoryValue(t.Elem(), c.at), err
	}
	n, err := e.prog.Uint(pointer)
	if err != nil {
		return e.ofType(t.Elem(), err)
	}
	if int64(n) == -1 {
		return e.ofType(t.Elem(), errNullMember)
	}
	if int64(n) < 0 || int64(n)+t.Elem().Size() > object.Type.Size() {
		return Value{}, fmt.Errorf("offset %d is none of a member of %s", int64(n), object.Type)
	}
	return object.Part(t.Elem(), int64(n)), nil
}

// ofType is a placeholder if only the type is asked, else the error.
func (e *functions) ofType(t *Type, err error) (Value, error) {
	if e.typesOnly {
		return e.standIn(t), nil
	}
	return Value{}, err
}

// boundFunction is the member function that a pointer means for an object.
func (e *functions) boundFunction(object, pointer Value) (callee, error) {
	fn := pointer.Type.Strip().Elem().Strip()
	c := callee{typ: fn, ret: fn.Elem(), self: []Value{object}}
	if e.typesOnly {
		return c, nil
	}
	b, err := e.prog.Bytes(pointer)
	if err != nil {
		return c, err
	}
	if len(b) < 16 {
		return c, errLost
	}
	word, adjustment := decodeUint(b[:8]), decodeUint(b[8:16])
	at, inMemory := object.Addr()
	switch {
	case word == 0:
		return c, errNullMember
	case !inMemory:
		return c, errors.New("the object is not in memory")
	}
	at += addr.Run(adjustment)
	c.self[0] = MemoryValue(object.Type, at)
	if word&1 == 0 {
		c.at = addr.Run(word)
		return c, nil
	}
	table, err := e.prog.ReadUint(at, 8)
	if err == nil {
		word, err = e.prog.ReadUint(addr.Run(table+word-1), 8)
	}
	if c.at = addr.Run(word); err == nil && !e.prog.isFunction(c.at) {
		err = fmt.Errorf("no virtual table at %#x: the object at %v is not valid", table, at)
	}
	return c, err
}
