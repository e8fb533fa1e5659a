package values

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"hdb/values/calls"
)

// errNoObject is the error of a member function that is named without an object.
var errNoObject = errors.New("the function is called on an object: write OBJECT.FUNCTION(...)")

// memberCallee is a member function to be called. plain: it is the one that was named, although
// it is virtual.
func (e *functions) memberCallee(m *member, plain bool) (callee, error) {
	c := callee{typ: m.typ, ret: m.returns()}
	if err := e.callable(); err != nil {
		return c, err
	}
	if m.selfType() != nil {
		if m.owner.Type == nil {
			return c, errNoObject
		}
		if m.owner.err != nil {
			return c, m.owner.err
		}
		c.self = []Value{m.owner}
	}
	if e.typesOnly {
		return c, nil
	}
	var ok bool
	var err error
	if !plain {
		if c.at, ok, err = m.virtual(); ok {
			return c, err
		}
	}
	c.at, err = m.code()
	return c, err
}

// function is the member function that a name means without a call.
func (e *functions) function(v Value, name string) (out Value, ok bool, err error) {
	list := e.prog.methodsNamed(e.prog.unref(v), name, 0)
	switch {
	case len(list) == 0:
		return Value{}, false, nil
	case len(list) > 1:
		return Value{}, true, fmt.Errorf("%s is overloaded: write its arguments, as in %s(...)", name, name)
	}
	at, err := list[0].code()
	return MemoryValue(list[0].typ, at), true, err
}

// callMember calls a member function of an object of the program. A name with a class, as Base::f,
// is the function of that class, also if it is virtual.
func (e *functions) callMember(v Value, name string, args []Value) (Value, error) {
	plain := false
	if i := strings.LastIndex(cutTemplate(name), "::"); i >= 0 {
		class, rest := name[:i], name[i+2:]
		if b, ok := e.prog.base(v, class, 0); ok {
			v, name, plain = b, rest, true
		} else if t := v.Type.Strip(); t.Name == class || strings.HasSuffix(t.Name, "::"+class) {
			name, plain = rest, true
		}
	}
	list := e.prog.methodsNamed(v, name, 0)
	if len(list) == 0 {
		if f, err := e.prog.memberNamed(v, name); err == nil { // a pointer to a function
			if err := e.callable(); err != nil {
				return Value{}, err
			}
			return e.callValue(f, args, nil)
		}
		if p, ok := v.smartPointer(); ok && v.Type.Rust() { // Rust's . looks through smart pointers
			if target, err := e.lib.object(p, true); err == nil {
				return e.callMember(target, name, args)
			}
		}
		if v.Type.Rust() {
			return e.callTrait(v, name, args)
		}
		if v.Type.Strip().Kind != Struct {
			return Value{}, fmt.Errorf("a value of type %s has no member functions", v.Type)
		}
		return Value{}, fmt.Errorf("%s has no member function %q: see ptype", v.Type.Unqualified(), name)
	}
	m, err := e.chooseMember(name, list, args)
	if err != nil {
		return Value{}, err
	}
	c, err := e.memberCallee(m, plain)
	if err != nil {
		return Value{}, err
	}
	return e.invoke(c, args)
}

// callTrait calls a method of Rust that an object has by a trait, or len of an array. Debug
// information has such a method as a function whose first parameter refers to the object.
func (e *functions) callTrait(v Value, name string, args []Value) (Value, error) {
	class := v.Type.Strip()
	if class.Kind == Array && name == "len" && len(args) == 0 {
		return Number(e.rustType("usize"), uint64(class.Count())), nil
	}
	if err := e.callable(); err != nil {
		return Value{}, err
	}
	var found []callee
	for _, m := range e.prog.modules(e.f) {
		for _, fn := range m.Obj.FindFunctions(name) {
			scopes := m.Obj.DWARF.Scopes(fn.Low)
			if fn.Inlined || len(scopes) == 0 || !scopes[0].Physical.Valid() {
				continue
			}
			f := e.entityValue(m, entity{scopes[0].Physical, fn.Low})
			t := f.Type.Strip()
			params, _ := parameters(t)
			if t.Kind != Function || !t.Rust() || len(params) == 0 {
				continue
			}
			if self := params[0].Strip(); self.Kind == Pointer && sameTypes(self.Elem().Strip(), class) {
				found = append(found, callee{at: f.addr, typ: t, ret: t.Elem(), self: []Value{v}})
			}
		}
	}
	switch len(found) {
	case 0:
		return Value{}, fmt.Errorf("%s has no method %q with code: methods of traits are found if they take self by reference", v.Type, name)
	case 1:
		return e.invoke(found[0], args)
	}
	return Value{}, fmt.Errorf("%s has %d methods %q, from several traits: hdb cannot choose among them", v.Type, len(found), name)
}

// chooseMember is the member function that a call means.
func (e *functions) chooseMember(name string, list []member, args []Value) (*member, error) {
	if len(list) == 1 {
		return &list[0], nil
	}
	var options []option
	for i := range list {
		params, open := parameters(list[i].typ)
		o := option{params: params, open: open, name: list[i].name()}
		if self := list[i].selfType(); self != nil {
			o.params = params[1:]
			o.object = e.selfRank(list[i].owner, self)
		}
		options = append(options, o)
	}
	i, err := e.choose(name, options, args)
	if err != nil {
		return nil, err
	}
	return &list[i], nil
}

// selfRank ranks the object as the one that a member function is called on.
func (e *functions) selfRank(v Value, self *Type) calls.Rank {
	if v.Type == nil || self.Strip().Kind != Pointer || self.Rust() {
		return calls.Exact
	}
	switch have, want := v.Type.isConst(), self.Strip().Elem().isConst(); {
	case have && !want:
		return calls.Impossible
	case want && !have:
		return calls.Qualified
	}
	return calls.Exact
}

// namedMember is a member function that a name means without an object: one of this in the
// frame of a member function, or a static one with its class. It reports false for
// another name.
func (e *functions) namedMember(name string, args []Value) (callee, bool, error) {
	name = strings.TrimPrefix(name, "::")
	if e.f != nil {
		if _, ok := e.local(name); ok {
			return callee{}, false, nil
		}
	}
	var list []member
	plain := false
	this, ok := e.this()
	if i := strings.LastIndex(cutTemplate(name), "::"); i >= 0 {
		t := e.typeNamed(0, name[:i])
		if t == nil || t.Strip().Kind != Struct {
			return callee{}, false, nil
		}
		v := Value{Type: t.Strip()}
		if ok {
			if b, is := e.prog.baseNamed(this, t.Strip().Name, 0); is {
				v = b
			} else if this.Type.Strip() == t.Strip() {
				v = this
			}
		}
		plain = true
		if list = e.prog.methodsNamed(v, name[i+2:], 0); v.place == nowhere && v.data == nil {
			for i := range list {
				list[i].owner = Value{}
			}
		}
	} else if ok {
		list = e.prog.methodsNamed(this, name, 0)
	}
	if len(list) == 0 {
		return callee{}, false, nil
	}
	m, err := e.chooseMember(name, list, args)
	if err != nil {
		return callee{}, true, err
	}
	c, err := e.memberCallee(m, plain)
	return c, true, err
}

// operator calls an operator that the program defines for a class that one of the operands
// is of. It reports false if there is none.
func (e *functions) operator(name string, operands ...Value) (Value, bool, error) {
	class := false
	for _, v := range operands {
		class = class || e.prog.unref(v).Type.classType() != nil
	}
	if !class {
		return Value{}, false, nil
	}
	object := e.prog.unref(operands[0])
	if list := e.prog.methodsNamed(object, name, 0); len(list) > 0 {
		if err := e.callable(); err != nil { // whether or not the operands can be read
			return Value{}, true, err
		}
		m, err := e.chooseMember(name, list, operands[1:])
		if err != nil {
			return Value{}, true, err
		}
		c, err := e.memberCallee(m, false)
		if err != nil {
			return Value{}, true, err
		}
		out, err := e.invoke(c, operands[1:])
		return out, true, err
	}
	var options []option
	var distinct []Value
	functions := e.namesakes(name)
	for _, v := range operands { // functions of the namespace that the class is in (argument-dependent lookup)
		if class := e.prog.unref(v).Type.classType(); class != nil {
			if i := strings.LastIndex(cutTemplate(class.Name), "::"); i > 0 {
				functions = append(functions, e.namesakes("::"+class.Name[:i+2]+name)...)
			}
		}
	}
	for _, f := range functions {
		params, open := parameters(f.Type.Strip())
		o := option{params: params, open: open, name: name + signature(params, open, nil)}
		if !slices.ContainsFunc(options, func(have option) bool { return have.name == o.name }) {
			options, distinct = append(options, o), append(distinct, f)
		}
	}
	if len(options) == 0 {
		return Value{}, false, nil
	}
	if err := e.callable(); err != nil {
		return Value{}, true, err
	}
	i, err := e.choose(name, options, operands)
	if err != nil {
		return Value{}, true, err
	}
	out, err := e.callValue(distinct[i], operands, nil)
	return out, true, err
}
