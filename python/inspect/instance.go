package inspect

import (
	"fmt"
	"strings"

	"hdb/internal/addr"
	"hdb/python/layout"
)

// instance writes an object of a class by its attributes: those of its dict, and those that
// __slots__ declares.
func (p *printer) instance(at addr.Run, c Class) error {
	name := c.Short()
	if len(p.above) > p.l.Depth+1 {
		fmt.Fprintf(&p.out, "<%s ...>", name)
		return nil
	}
	all, err := c.attributes(at, p.l.Elements+1)
	if err != nil {
		return err
	}
	slots, err := c.slots(at, p.l.Elements+1)
	if err != nil {
		return err
	}
	all = append(all, slots...)
	switch done, err := p.described(at, c, all); {
	case done || err != nil:
		return err
	case len(all) == 0:
		fmt.Fprintf(&p.out, "<%s at %v>", c.Name, at)
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
func (p *printer) described(at addr.Run, c Class, all []Variable) (done bool, err error) {
	if c.isEnum() {
		return true, p.member(c, all)
	}
	fields, err := c.attribute("__dataclass_fields__")
	if err != nil || fields == 0 {
		return false, nil
	}
	items, _, err := p.r.items(fields, p.l.Elements+1)
	if err != nil {
		return false, nil
	}
	if p.deep(c.Short()+"(", ")") {
		return true, nil
	}
	p.out.WriteString(c.Short() + "(")
	n := 0
	for _, f := range p.r.named(items) {
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

// isEnum tells classes whose own class is Enum's.
func (c Class) isEnum() bool {
	if c.Flags&layout.IsHeapType == 0 {
		return false
	}
	meta, err := c.r.ClassOf(c.At)
	if err != nil || meta.Flags&layout.IsHeapType == 0 {
		return false
	}
	for _, at := range meta.mro() {
		if b, err := c.r.ClassAt(at); err == nil && (b.Name == "EnumMeta" || b.Name == "EnumType") {
			return true
		}
	}
	return false
}

// member writes the member of an Enum: its name is None if it is a sum of flags that has none.
func (p *printer) member(c Class, all []Variable) error {
	p.out.WriteString("<" + c.Short())
	var name, value addr.Run
	for _, x := range all {
		switch x.Name {
		case "_name_":
			name = x.At
		case "_value_":
			value = x.At
		}
	}
	if of, err := p.r.ClassOf(name); name != 0 && err == nil && of.Flags&layout.IsText != 0 {
		if text, err := p.r.Text(name); err == nil {
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
func (c Class) attributes(at addr.Run, limit int) ([]Variable, error) {
	t, err := c.table(at)
	if err != nil {
		return nil, err
	}
	var items []item
	err = t.each(func(x item) bool {
		items = append(items, x)
		return len(items) < limit
	})
	if err != nil {
		return nil, err
	}
	return c.r.named(items), nil
}

// table has the attributes of an object: those of its dict or, without one, those
// whose names the class has. It is empty if the object has none.
func (c Class) table(at addr.Run) (t table, err error) {
	t.r = c.r
	dict, values, err := c.r.layout.Attributes(at, c.Class, c.r.Word)
	if err != nil {
		return t, err
	}
	if dict != 0 {
		t, _, err = c.r.tableOf(dict)
		return t, err
	}
	if values == 0 {
		return t, nil
	}
	keys, err := c.r.Field(c.At, c.r.layout.HeapType.CachedKeys)
	if err != nil || keys == 0 {
		return t, err
	}
	return c.r.table(keys, values)
}

// named are items whose keys are texts.
func (r *Reader) named(items []item) (all []Variable) {
	for _, x := range items {
		name, err := r.Text(x.key)
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
func (c Class) mro() (all []addr.Run) {
	mro, err := c.r.Field(c.At, c.r.layout.Type.MRO)
	if err != nil || mro == 0 {
		return nil
	}
	n, err := c.r.Count(mro)
	if err != nil || n > maxBases {
		return nil
	}
	bases, err := c.r.Read(mro+addr.Run(c.r.layout.Tuple.Items), 8*int(n))
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
func (c Class) slots(at addr.Run, limit int) (all []Variable, err error) {
	if c.Flags&layout.IsHeapType == 0 {
		return nil, nil
	}
	bases := c.mro()
	for i := len(bases) - 1; i >= 0; i-- {
		err := c.r.typeMembers(bases[i], func(name string, kind int, offset addr.Run) bool {
			if kind != memberObjectEx {
				return true
			}
			if value, err := c.r.Pointer(at + offset); err == nil && value != 0 {
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

// Fields are at most limit of those of a PyStructSequence, whose names its class has.
func (c Class) Fields(at addr.Run, limit int) (all []Variable, err error) {
	err = c.r.typeMembers(c.At, func(name string, _ int, offset addr.Run) bool {
		value, err := c.r.Pointer(at + offset)
		if err == nil && value != 0 {
			all = append(all, Variable{name, value})
		}
		return len(all) < limit
	})
	return all, err
}

// typeMembers calls yield with what tp_members of a type has, until it returns false:
// PyMemberDef.
func (r *Reader) typeMembers(at addr.Run, yield func(name string, kind int, offset addr.Run) bool) error {
	member, err := r.Field(at, r.layout.Type.Members)
	for n := 0; err == nil && member != 0 && n < maxSlots; n, member = n+1, member+layout.MemberSize {
		b, err := r.Read(member, layout.MemberSize)
		if err != nil || pointerIn(b, layout.MemberName) == 0 {
			return nil
		}
		name, err := r.cString(pointerIn(b, layout.MemberName))
		if err != nil {
			return nil
		}
		if !yield(name, intIn(b, layout.MemberKind), pointerIn(b, layout.MemberOffset)) {
			return nil
		}
	}
	return err
}

// attribute is what a class or one of its bases has of that name, 0 if none has. What
// the classes of the interpreter itself have is not found from 3.12 on, which keeps that
// elsewhere.
func (c Class) attribute(name string) (addr.Run, error) {
	for _, base := range c.mro() {
		dict, err := c.r.Field(base, c.r.layout.Type.Dict)
		if err != nil {
			return 0, err
		}
		if dict == 0 {
			continue
		}
		if value, err := c.r.Lookup(dict, name); err != nil || value != 0 {
			return value, err
		}
	}
	return 0, nil
}

// Attribute is what an object has of that name: its own, or its class's. Nothing runs, so
// that what a descriptor would compute is refused by name.
func (r *Reader) Attribute(at addr.Run, name string) (Value, error) {
	c, err := r.ClassOf(at)
	if err != nil {
		return Value{}, err
	}
	if name == "__class__" {
		return Value{At: c.At}, nil
	}
	if c.Flags&layout.IsType != 0 {
		if v, err := r.ofClass(at, name); err != nil || v.known() {
			return v, err
		}
	}
	if c.BuiltinBase() == "numpy.ndarray" {
		a, err := r.ndarray(at)
		if err != nil {
			return Value{}, err
		}
		if v, ok := a.attribute(name); ok {
			return v, nil
		}
	}
	tried := []string{name}
	if strings.HasPrefix(name, "__") && !strings.HasSuffix(name, "__") { // private to a class, whose name the compiler puts before it
		for _, base := range c.mro() {
			if b, err := r.ClassAt(base); err == nil {
				tried = append(tried, "_"+strings.TrimLeft(b.Short(), "_")+name)
			}
		}
	}
	for _, name := range tried {
		if v, err := c.own(at, name); err != nil || v.known() {
			return v, err
		}
	}
	return Value{}, fmt.Errorf("%s: no attribute %s that can be read", c.Name, name)
}

// own is the attribute with just that name.
func (c Class) own(at addr.Run, name string) (v Value, err error) {
	t, err := c.table(at)
	if err == nil {
		v.At, err = t.find(func(x item) bool { return c.r.HasText(x.key, name) })
	}
	if err != nil || v.At != 0 {
		return v, err
	}
	for _, base := range c.mro() {
		err := c.r.typeMembers(base, func(member string, kind int, offset addr.Run) bool {
			if member != name || kind != memberObjectEx && kind != memberObject {
				return true
			}
			v.At, _ = c.r.Pointer(at + offset)
			return false
		})
		if err != nil || v.At != 0 {
			return v, err
		}
	}
	if name == "args" && c.Flags&layout.IsException != 0 {
		v.At, err = c.r.Field(at, c.r.layout.Exception.Args)
		return v, err
	}
	found, err := c.attribute(name)
	if err != nil || found == 0 {
		return v, err
	}
	of, err := c.r.ClassOf(found)
	if err != nil {
		return v, err
	}
	switch of.Short() {
	case "_tuplegetter": // of named tuples
		index, err := c.r.Word(found + addr.Run(c.r.layout.Getter))
		if err != nil || c.Flags&layout.IsTuple == 0 {
			return v, err
		}
		return c.r.Element(Value{At: at}, int64(index))
	case "property", "cached_property", "getset_descriptor", "DynamicClassAttribute":
		return v, fmt.Errorf("%s.%s is a %s: reading it would run code", c.Short(), name, of.Short())
	}
	return Value{At: found}, nil
}

// ofClass is an attribute of a class itself; of an Enum, a member.
func (r *Reader) ofClass(at addr.Run, name string) (v Value, err error) {
	c, bad := r.ClassAt(at)
	if bad != nil {
		c = Class{At: at, r: r}
	}
	if c.isEnum() {
		members, err := c.attribute("_member_map_")
		if err != nil {
			return v, err
		}
		if members != 0 {
			if v.At, err = r.Lookup(members, name); err != nil || v.At != 0 {
				return v, err
			}
		}
	}
	if name == "__name__" {
		return Value{text: quote([]rune(c.Short()))}, bad
	}
	v.At, err = c.attribute(name)
	return v, err
}

// A Variable is a name with the object that it refers to.
type Variable struct {
	Name string
	At   addr.Run // 0: it has no value yet, or any more
}
