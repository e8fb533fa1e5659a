package python

import (
	"fmt"

	"hdb/internal/addr"
)

// An item is a key of a dict with its value.
type item struct{ key, value addr.Run }

// keys are the entries of a PyDictKeysObject. split is where the values are if they are not
// in the entries; 0: they are.
func (in *Interpreter) keys(at, split addr.Run) (all []item, err error) {
	const head = 40
	b, err := in.mem.read(at, head)
	if err != nil {
		return nil, err
	}
	var n, indices, entry, header uint64
	unicode := false
	if in.layout.minor >= 11 {
		if b[9] > 40 {
			return nil, fmt.Errorf("%v: no dict is there", at)
		}
		n, indices, header, unicode = uint64(pointerIn(b, 24)), 1<<b[9], 32, b[10] != 0
	} else {
		size := uint64(pointerIn(b, 8))
		width := uint64(8)
		for _, w := range []uint64{1, 2, 4} {
			if size <= 1<<(8*w)-1 {
				width = w
				break
			}
		}
		n, indices, header = uint64(pointerIn(b, 32)), size*width, head
	}
	if entry = 24; unicode {
		entry = 16
	}
	if n > maxItems || indices > maxItems*8 {
		return nil, fmt.Errorf("a dict of %d entries", n)
	}
	entries, err := in.mem.read(at+addr.Run(header+indices), int(n*entry))
	if err != nil {
		return nil, err
	}
	var values []byte
	if split != 0 {
		if values, err = in.mem.read(split, int(n)*8); err != nil {
			return nil, err
		}
	}
	for i := range int(n) {
		e := entries[i*int(entry):]
		if !unicode {
			e = e[8:] // the hash
		}
		x := item{pointerIn(e, 0), pointerIn(e, 8)}
		if split != 0 {
			x.value = pointerIn(values, i*8)
		}
		if x.key != 0 && x.value != 0 {
			all = append(all, x)
		}
	}
	return all, nil
}

// items are those of a dict, in their order but for one whose keys are shared.
func (in *Interpreter) items(dict addr.Run) ([]item, error) {
	b, err := in.mem.read(dict, dictValues+8)
	if err != nil {
		return nil, err
	}
	return in.keys(pointerIn(b, dictKeys), in.sharedValues(pointerIn(b, dictValues)))
}

// sharedValues is where the values are of a PyDictValues.
func (in *Interpreter) sharedValues(at addr.Run) addr.Run {
	if at != 0 && in.layout.minor >= 13 {
		return at + 8 // behind its capacity, size and flags
	}
	return at
}

func (p *printer) dict(at addr.Run) error {
	all, err := p.in.items(at)
	if err != nil {
		return err
	}
	if len(all) > 0 && p.deep("{", "}") {
		return nil
	}
	p.out.WriteByte('{')
	for i, x := range all[:min(len(all), p.l.Elements)] {
		if i > 0 {
			p.out.WriteString(", ")
		}
		p.value(x.key)
		p.out.WriteString(": ")
		p.value(x.value)
	}
	if len(all) > p.l.Elements {
		fmt.Fprintf(&p.out, ", ... (%d in all)", len(all))
	}
	p.out.WriteByte('}')
	return nil
}

func (p *printer) set(at addr.Run, c class) error {
	b, err := p.in.mem.read(at, setTable+8)
	if err != nil {
		return err
	}
	used, mask := uint64(pointerIn(b, setUsed)), uint64(pointerIn(b, setMask))
	if used > maxItems || mask > 8*maxItems {
		return fmt.Errorf("a set of %d", used)
	}
	open, end := "{", "}"
	if c.name != "set" || used == 0 {
		open, end = c.name+"({", "})"
	}
	if used == 0 {
		p.out.WriteString(c.name + "()")
		return nil
	}
	if p.deep(open, end) {
		return nil
	}
	table, err := p.in.mem.read(pointerIn(b, setTable), int(mask+1)*16)
	if err != nil {
		return err
	}
	p.out.WriteString(open)
	n := 0
	for i := 0; i < len(table); i += 16 {
		key, hash := pointerIn(table, i), int64(pointerIn(table, i+8))
		if key == 0 || hash == -1 { // never used, or not any more
			continue
		}
		if n > 0 {
			p.out.WriteString(", ")
		}
		if n == p.l.Elements {
			fmt.Fprintf(&p.out, "... (%d in all)", used)
			break
		}
		p.value(key)
		n++
	}
	p.out.WriteString(end)
	return nil
}

// instance writes an object of a class by its attributes: those of its dict, and those that
// __slots__ declares.
func (p *printer) instance(at addr.Run, c class) error {
	name := c.short()
	if len(p.above) > p.l.Depth+1 {
		fmt.Fprintf(&p.out, "<%s ...>", name)
		return nil
	}
	all, err := p.in.attributes(at, c)
	if err != nil {
		return err
	}
	slots, err := p.in.slots(at, c)
	if err != nil {
		return err
	}
	if all = append(all, slots...); len(all) == 0 {
		fmt.Fprintf(&p.out, "<%s at %v>", c.name, at)
		return nil
	}
	if p.deep("<"+name+" ", ">") {
		return nil
	}
	p.out.WriteString("<" + name)
	for i, x := range all {
		if i == p.l.Elements {
			fmt.Fprintf(&p.out, " ... (%d in all)", len(all))
			break
		}
		p.out.WriteString(" " + x.Name + "=")
		p.value(x.At)
	}
	p.out.WriteByte('>')
	return nil
}

// Flags of types: where instances have their attributes.
const (
	inlineValues = 1 << 2 // behind the object, from 3.13 on
	managedDict  = 1 << 4 // before it, from 3.11 on
)

// attributes are those of an object's __dict__, whether it was made yet or not.
func (in *Interpreter) attributes(at addr.Run, c class) ([]Variable, error) {
	var items []item
	dict, shared := addr.Run(0), addr.Run(0)
	var err error
	switch minor := in.layout.minor; {
	case minor >= 11 && c.flags&managedDict != 0:
		if dict, err = in.mem.pointer(at - 24); err != nil {
			return nil, err
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
	default:
		offset, e := in.mem.word(c.at + typeDictAt)
		if e != nil || int64(offset) <= 0 || offset > maxItems {
			return nil, e
		}
		dict, err = in.mem.pointer(at + addr.Run(offset))
	}
	switch {
	case err != nil:
		return nil, err
	case dict != 0:
		items, err = in.items(dict)
	case shared != 0:
		var keys addr.Run
		if keys, err = in.mem.pointer(c.at + addr.Run(in.layout.cachedKeys)); err == nil && keys != 0 {
			items, err = in.keys(keys, in.sharedValues(shared))
		}
	}
	if err != nil {
		return nil, err
	}
	return in.named(items), nil
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

// slots are the members that classes declare by __slots__: PyMemberDef of Py_T_OBJECT_EX.
func (in *Interpreter) slots(at addr.Run, c class) (all []Variable, err error) {
	const objectEx, size = 16, 40
	mro, err := in.mem.pointer(c.at + typeMRO)
	if err != nil || mro == 0 {
		return nil, err
	}
	n, err := in.mem.word(mro + varSize)
	if err != nil || n > maxBases {
		return nil, err
	}
	bases, err := in.mem.read(mro+tupleItems, 8*int(n))
	if err != nil {
		return nil, err
	}
	for i := len(bases) - 8; i >= 0; i -= 8 {
		member, err := in.mem.pointer(pointerIn(bases, i) + typeMembers)
		for n := 0; err == nil && member != 0 && n < maxSlots; n, member = n+1, member+size {
			b, e := in.mem.read(member, size)
			if e != nil || pointerIn(b, 0) == 0 {
				break
			}
			if intIn(b, 8) != objectEx {
				continue
			}
			name, e := in.cString(pointerIn(b, 0))
			value, e2 := in.mem.pointer(at + pointerIn(b, 16))
			if e == nil && e2 == nil && value != 0 {
				all = append(all, Variable{name, value})
			}
		}
	}
	return all, nil
}
