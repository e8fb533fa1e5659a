package python

import (
	"fmt"
	"strings"

	"hdb/internal/addr"
	"hdb/python/layout"
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
	if c.Flags&layout.IsHeapType == 0 {
		return false
	}
	meta, err := in.class(c.at)
	if err != nil || meta.Flags&layout.IsHeapType == 0 {
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
	if of, err := p.in.class(name); name != 0 && err == nil && of.Flags&layout.IsText != 0 {
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

// attributes are at most limit of those of an object's __dict__, whether it was made yet or
// not.
func (in *Interpreter) attributes(at addr.Run, c class, limit int) ([]Variable, error) {
	t, err := in.attributeTable(at, c)
	if err != nil {
		return nil, err
	}
	var items []item
	err = in.each(t, func(x item) bool {
		items = append(items, x)
		return len(items) < limit
	})
	if err != nil {
		return nil, err
	}
	return in.named(items), nil
}

// attributeTable has the attributes of an object: those of its dict or, without one, those
// whose names the class has. It is empty if the object has none.
func (in *Interpreter) attributeTable(at addr.Run, c class) (t table, err error) {
	dict, values, err := in.layout.Attributes(at, c.Class, in.mem.word)
	if err != nil {
		return t, err
	}
	if dict != 0 {
		t, _, err = in.tableOf(dict)
		return t, err
	}
	if values == 0 {
		return t, nil
	}
	keys, err := in.mem.field(c.at, in.layout.HeapType.CachedKeys)
	if err != nil || keys == 0 {
		return t, err
	}
	return in.table(keys, values)
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
	mro, err := in.mem.field(at, in.layout.Type.MRO)
	if err != nil || mro == 0 {
		return nil
	}
	n, err := in.count(mro)
	if err != nil || n > maxBases {
		return nil
	}
	bases, err := in.mem.read(mro+addr.Run(in.layout.Tuple.Items), 8*int(n))
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
	if c.Flags&layout.IsHeapType == 0 {
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
	member, err := in.mem.field(at, in.layout.Type.Members)
	for n := 0; err == nil && member != 0 && n < maxSlots; n, member = n+1, member+layout.MemberSize {
		b, err := in.mem.read(member, layout.MemberSize)
		if err != nil || pointerIn(b, layout.MemberName) == 0 {
			return nil
		}
		name, err := in.cString(pointerIn(b, layout.MemberName))
		if err != nil {
			return nil
		}
		if !yield(name, intIn(b, layout.MemberKind), pointerIn(b, layout.MemberOffset)) {
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
		dict, err := in.mem.field(base, in.layout.Type.Dict)
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
	if c.Flags&layout.IsType != 0 {
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
	t, err := in.attributeTable(at, c)
	if err == nil {
		v.At, err = in.find(t, func(x item) bool { return in.isText(x.key, name) })
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
	if name == "args" && c.Flags&layout.IsException != 0 {
		v.At, err = in.mem.field(at, in.layout.Exception.Args)
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
		index, err := in.mem.word(found + addr.Run(in.layout.Getter))
		if err != nil || c.Flags&layout.IsTuple == 0 {
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
