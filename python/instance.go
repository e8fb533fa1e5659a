package python

import (
	"fmt"
	"strings"

	"hdb/internal/addr"
)

// instance writes an object of a class by its attributes: those of its dict, and those that
// __slots__ declares.
func (p *printer) instance(at addr.Run, c class) error {
	name := c.short()
	if len(p.above) > p.l.Depth+1 {
		fmt.Fprintf(&p.out, "<%s ...>", name)
		return nil
	}
	all, err := p.in.attributes(at, c, p.l.Elements+1)
	if err != nil {
		return err
	}
	slots, err := p.in.slots(at, c, p.l.Elements+1)
	if err != nil {
		return err
	}
	all = append(all, slots...)
	switch done, err := p.described(at, c, all); {
	case done || err != nil:
		return err
	case len(all) == 0:
		fmt.Fprintf(&p.out, "<%s at %v>", c.name, at)
		return nil
	case p.deep("<"+name+" ", ">"):
		return nil
	}
	p.out.WriteString("<" + name)
	for i, x := range all {
		if i == p.l.Elements {
			p.out.WriteString(" ...")
			break
		}
		p.out.WriteString(" " + x.Name + "=")
		p.value(x.At)
	}
	p.out.WriteByte('>')
	return nil
}

// described writes the instances that Python's library has a form for: members of an Enum,
// and those of a dataclass.
func (p *printer) described(at addr.Run, c class, all []Variable) (done bool, err error) {
	if p.in.isEnum(c) {
		return true, p.member(c, all)
	}
	fields, err := p.in.classAttribute(c.at, "__dataclass_fields__")
	if err != nil || fields == 0 {
		return false, nil
	}
	items, _, err := p.in.items(fields, p.l.Elements+1)
	if err != nil {
		return false, nil
	}
	if p.deep(c.short()+"(", ")") {
		return true, nil
	}
	p.out.WriteString(c.short() + "(")
	n := 0
	for _, f := range p.in.named(items) {
		for _, x := range all {
			if x.Name != f.Name {
				continue
			}
			if n++; n > 1 {
				p.out.WriteString(", ")
			}
			if n > p.l.Elements {
				p.out.WriteString("...")
				break
			}
			p.out.WriteString(x.Name + "=")
			p.value(x.At)
		}
	}
	p.out.WriteByte(')')
	return true, nil
}

// isEnum tells classes whose own class is that of Enum.
func (in *Interpreter) isEnum(c class) bool {
	if c.flags&isHeapType == 0 {
		return false
	}
	meta, err := in.class(c.at)
	if err != nil || meta.flags&isHeapType == 0 {
		return false
	}
	for _, at := range in.mro(meta.at) {
		if b, err := in.classAt(at); err == nil && (b.name == "EnumMeta" || b.name == "EnumType") {
			return true
		}
	}
	return false
}

// member writes that of an Enum: its name is None if it is a sum of flags that has none.
func (p *printer) member(c class, all []Variable) error {
	p.out.WriteString("<" + c.short())
	var name, value addr.Run
	for _, x := range all {
		switch x.Name {
		case "_name_":
			name = x.At
		case "_value_":
			value = x.At
		}
	}
	if of, err := p.in.class(name); name != 0 && err == nil && of.flags&isText != 0 {
		if text, err := p.in.Text(name); err == nil {
			p.out.WriteString("." + text)
		}
	}
	if value != 0 {
		p.out.WriteString(": ")
		p.value(value)
	}
	p.out.WriteByte('>')
	return nil
}

// Flags of types.
const (
	inlineValues = 1 << 2 // attributes are behind the object, from 3.13 on
	managedDict  = 1 << 4 // or before it, from 3.11 on
	isHeapType   = 1 << 9 // made by a class statement
)

// attributes are at most limit of those of an object's __dict__, whether it was made yet or
// not.
func (in *Interpreter) attributes(at addr.Run, c class, limit int) ([]Variable, error) {
	dict, shared, err := in.dictOf(at, c)
	if err != nil {
		return nil, err
	}
	var items []item
	switch {
	case dict != 0:
		items, _, err = in.items(dict, limit)
	case shared != 0:
		var keys addr.Run
		if keys, err = in.mem.pointer(c.at + addr.Run(in.layout.cachedKeys)); err == nil && keys != 0 {
			var t table
			if t, err = in.table(keys, in.sharedValues(shared)); err == nil {
				err = in.each(t, func(x item) bool {
					items = append(items, x)
					return len(items) < limit
				})
			}
		}
	}
	if err != nil {
		return nil, err
	}
	return in.named(items), nil
}

// dictOf is the dict of an object's attributes, or where their values are without one.
func (in *Interpreter) dictOf(at addr.Run, c class) (dict, shared addr.Run, err error) {
	minor := in.layout.minor
	if minor < 11 || c.flags&managedDict == 0 {
		offset, err := in.dictOffset(at, c)
		if err != nil || offset == 0 {
			return 0, 0, err
		}
		dict, err = in.mem.pointer(at + offset)
		return dict, 0, err
	}
	if dict, err = in.mem.pointer(at - 24); err != nil {
		return 0, 0, err
	}
	switch {
	case minor == 11:
		if dict == 0 {
			shared, err = in.mem.pointer(at - 32)
		}
	case minor == 12:
		if dict&1 != 0 {
			dict, shared = 0, dict+1
		}
	case dict == 0 && c.flags&inlineValues != 0:
		var basic uint64
		if basic, err = in.mem.word(c.at + typeBasic); err == nil {
			shared = at + addr.Run(basic)
		}
	}
	return dict, shared, err
}

// dictOffset is tp_dictoffset. Counted from the end of the object, it is negative: that of a
// subclass of int, say, whose objects have different sizes.
func (in *Interpreter) dictOffset(at addr.Run, c class) (addr.Run, error) {
	n, err := in.mem.word(c.at + typeDictAt)
	offset := int64(n)
	switch {
	case err != nil || offset == 0 || offset > maxItems || offset < -maxItems:
		return 0, err
	case offset > 0:
		return addr.Run(offset), nil
	}
	b, err := in.mem.read(c.at+typeBasic, 16)
	if err != nil {
		return 0, err
	}
	count, err := in.mem.word(at + varSize)
	if err != nil {
		return 0, err
	}
	elements := int64(count)
	if elements < 0 {
		elements = -elements
	}
	if basic, each := int64(pointerIn(b, 0)), int64(pointerIn(b, 8)); elements < maxItems && basic > 0 && basic < maxItems && each >= 0 && each < maxItems {
		return addr.Run((basic+elements*each+7)&^7 + offset), nil
	}
	return 0, nil
}

// named are items whose keys are texts.
func (in *Interpreter) named(items []item) (all []Variable) {
	for _, x := range items {
		name, err := in.Text(x.key)
		if err != nil {
			name = "?"
		}
		all = append(all, Variable{name, x.value})
	}
	return all
}

// maxSlots bounds the members of one type, maxBases the types of one.
const (
	maxSlots = 1 << 10
	maxBases = 1 << 8
)

// mro is the type and its bases, in the order in which attributes are searched for.
func (in *Interpreter) mro(at addr.Run) (all []addr.Run) {
	mro, err := in.mem.pointer(at + typeMRO)
	if err != nil || mro == 0 {
		return nil
	}
	n, err := in.mem.word(mro + varSize)
	if err != nil || n > maxBases {
		return nil
	}
	bases, err := in.mem.read(mro+tupleItems, 8*int(n))
	if err != nil {
		return nil
	}
	for i := 0; i < len(bases); i += 8 {
		all = append(all, pointerIn(bases, i))
	}
	return all
}

// Kinds of a type's members (structmember.h).
const (
	memberObject   = 6
	memberObjectEx = 16
)

// slots are at most limit of the members that classes declare by __slots__, those of base
// classes first.
func (in *Interpreter) slots(at addr.Run, c class, limit int) (all []Variable, err error) {
	if c.flags&isHeapType == 0 {
		return nil, nil
	}
	bases := in.mro(c.at)
	for i := len(bases) - 1; i >= 0; i-- {
		err := in.typeMembers(bases[i], func(name string, kind int, offset addr.Run) bool {
			if kind != memberObjectEx {
				return true
			}
			if value, err := in.mem.pointer(at + offset); err == nil && value != 0 {
				all = append(all, Variable{name, value})
			}
			return len(all) < limit
		})
		if err != nil || len(all) >= limit {
			return all, err
		}
	}
	return all, nil
}

// typeMembers calls yield with what tp_members of a type has, until it returns false:
// PyMemberDef.
func (in *Interpreter) typeMembers(at addr.Run, yield func(name string, kind int, offset addr.Run) bool) error {
	const size = 40
	member, err := in.mem.pointer(at + typeMembers)
	for n := 0; err == nil && member != 0 && n < maxSlots; n, member = n+1, member+size {
		b, err := in.mem.read(member, size)
		if err != nil || pointerIn(b, 0) == 0 {
			return nil
		}
		name, err := in.cString(pointerIn(b, 0))
		if err != nil {
			return nil
		}
		if !yield(name, intIn(b, 8), pointerIn(b, 16)) {
			return nil
		}
	}
	return err
}

// classAttribute is what a class or one of its bases has of that name, 0 if none has. What
// the classes of the interpreter itself have is not found from 3.12 on, which keeps that
// elsewhere.
func (in *Interpreter) classAttribute(at addr.Run, name string) (addr.Run, error) {
	for _, base := range in.mro(at) {
		dict, err := in.mem.pointer(base + typeDict)
		if err != nil {
			return 0, err
		}
		if dict == 0 {
			continue
		}
		if value, err := in.lookup(dict, name); err != nil || value != 0 {
			return value, err
		}
	}
	return 0, nil
}

// attribute is what an object has of that name: its own, or its class's. Nothing runs, so
// that what a descriptor would compute is refused by name.
func (in *Interpreter) attribute(at addr.Run, name string) (Value, error) {
	c, err := in.class(at)
	if err != nil {
		return Value{}, err
	}
	if name == "__class__" {
		return Value{At: c.at}, nil
	}
	if c.flags&isType != 0 {
		if v, err := in.ofClass(at, name); err != nil || v.known() {
			return v, err
		}
	}
	if in.builtinBase(c) == "numpy.ndarray" {
		a, err := in.ndarray(at)
		if err != nil {
			return Value{}, err
		}
		if v, ok := a.attribute(name); ok {
			return v, nil
		}
	}
	tried := []string{name}
	if strings.HasPrefix(name, "__") && !strings.HasSuffix(name, "__") { // private to a class, whose name the compiler puts before it
		for _, base := range in.mro(c.at) {
			if b, err := in.classAt(base); err == nil {
				tried = append(tried, "_"+strings.TrimLeft(b.short(), "_")+name)
			}
		}
	}
	for _, name := range tried {
		if v, err := in.instanceAttribute(at, c, name); err != nil || v.known() {
			return v, err
		}
	}
	return Value{}, fmt.Errorf("%s: no attribute %s that can be read", c.name, name)
}

// instanceAttribute is the attribute with just that name.
func (in *Interpreter) instanceAttribute(at addr.Run, c class, name string) (v Value, err error) {
	dict, shared, err := in.dictOf(at, c)
	if err != nil {
		return v, err
	}
	switch {
	case dict != 0:
		v.At, err = in.lookup(dict, name)
	case shared != 0:
		var keys addr.Run
		if keys, err = in.mem.pointer(c.at + addr.Run(in.layout.cachedKeys)); err == nil && keys != 0 {
			var t table
			if t, err = in.table(keys, in.sharedValues(shared)); err == nil {
				v.At, err = in.find(t, func(x item) bool { return in.isText(x.key, name) })
			}
		}
	}
	if err != nil || v.At != 0 {
		return v, err
	}
	for _, base := range in.mro(c.at) {
		err := in.typeMembers(base, func(member string, kind int, offset addr.Run) bool {
			if member != name || kind != memberObjectEx && kind != memberObject {
				return true
			}
			v.At, _ = in.mem.pointer(at + offset)
			return false
		})
		if err != nil || v.At != 0 {
			return v, err
		}
	}
	if exceptionArgs := addr.Run(24); name == "args" && c.flags&isException != 0 {
		v.At, err = in.mem.pointer(at + exceptionArgs)
		return v, err
	}
	found, err := in.classAttribute(c.at, name)
	if err != nil || found == 0 {
		return v, err
	}
	of, err := in.class(found)
	if err != nil {
		return v, err
	}
	switch of.short() {
	case "_tuplegetter": // of named tuples
		index, err := in.mem.word(found + 16)
		if err != nil || c.flags&isTuple == 0 {
			return v, err
		}
		return in.element(Value{At: at}, int64(index))
	case "property", "cached_property", "getset_descriptor", "DynamicClassAttribute":
		return v, fmt.Errorf("%s.%s is a %s: reading it would run code", c.short(), name, of.short())
	}
	return Value{At: found}, nil
}

// ofClass is an attribute of a class itself; of an Enum, a member.
func (in *Interpreter) ofClass(at addr.Run, name string) (v Value, err error) {
	if c, err := in.classAt(at); err == nil && in.isEnum(c) {
		members, err := in.classAttribute(at, "_member_map_")
		if err != nil {
			return v, err
		}
		if members != 0 {
			if v.At, err = in.lookup(members, name); err != nil || v.At != 0 {
				return v, err
			}
		}
	}
	if name == "__name__" {
		c, err := in.classAt(at)
		return Value{text: quote([]rune(c.short()))}, err
	}
	v.At, err = in.classAttribute(at, name)
	return v, err
}
