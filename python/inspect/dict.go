package inspect

import (
	"fmt"

	"hdb/internal/addr"
	"hdb/python/layout"
)

// An item is a key of a dict with its value. hash is the key's, 0 where the table has none.
type item struct {
	key, value addr.Run
	hash       int64
}

// A table is the entries of a PyDictKeysObject, in the order in which they were made.
type table struct {
	r *Reader
	layout.Table
	values addr.Run // where the values are if they are not in the entries, or 0
}

// chunk is how many entries are read at once.
const chunk = 256

// table finds the entries of a PyDictKeysObject. split is where the values are if they are
// not in the entries; 0: they are.
func (r *Reader) table(at, split addr.Run) (table, error) {
	b, err := r.Read(at, r.layout.Keys.Head)
	if err != nil {
		return table{}, err
	}
	t, ok := r.layout.Keys.Decode(at, b)
	if !ok {
		return table{}, fmt.Errorf("%v: not a dict", at)
	}
	return table{r, t, r.layout.Values(split)}, nil
}

// tableOf finds the entries of a dict, and how many it says it has.
func (r *Reader) tableOf(dict addr.Run) (t table, used uint64, err error) {
	l := &r.layout.Dict
	b, err := r.Read(dict, l.Values+8)
	if err != nil {
		return t, 0, err
	}
	t, err = r.table(pointerIn(b, l.Keys), pointerIn(b, l.Values))
	return t, uint64(pointerIn(b, l.Used)), err
}

// each calls yield with the items that have a value, until it returns false.
func (t table) each(yield func(item) bool) error {
	for from := uint64(0); from < t.Entries; from += chunk {
		n := int(min(t.Entries-from, chunk))
		entries, err := t.r.Read(t.At+addr.Run(from*uint64(t.Entry)), n*t.Entry)
		if err != nil {
			return err
		}
		var values []byte
		if t.values != 0 {
			if values, err = t.r.Read(t.values+addr.Run(8*from), 8*n); err != nil {
				return err
			}
		}
		for i := range n {
			x := item{hash: t.Hash(entries, i)}
			x.key, x.value = t.Item(entries, i)
			if t.values != 0 {
				x.value = pointerIn(values, i*8)
			}
			if x.key != 0 && x.value != 0 && !yield(x) {
				return nil
			}
		}
	}
	return nil
}

// items are at most limit of those of a dict, in their order but for one whose keys are
// shared, and how many it says it has.
func (r *Reader) items(dict addr.Run, limit int) (all []item, used uint64, err error) {
	t, used, err := r.tableOf(dict)
	if err != nil {
		return nil, 0, err
	}
	err = t.each(func(x item) bool {
		all = append(all, x)
		return len(all) < limit
	})
	return all, max(used, uint64(len(all))), err
}

// Variables are at most limit of the names in a dict, of an object's or a module's attributes say, with
// their objects.
func (r *Reader) Variables(dict addr.Run, limit int) ([]Variable, error) {
	items, _, err := r.items(dict, limit)
	return r.named(items), err
}

// Lookup is the value of a dict for a name.
func (r *Reader) Lookup(dict addr.Run, name string) (value addr.Run, err error) {
	t, _, err := r.tableOf(dict)
	if err != nil {
		return 0, err
	}
	return t.find(func(x item) bool { return r.HasText(x.key, name) })
}

// find is the value of the first item for which same is true, 0 of none.
func (t table) find(same func(item) bool) (value addr.Run, err error) {
	err = t.each(func(x item) bool {
		if t.r.left != nil && *t.r.left < leastRead {
			return false
		}
		if same(x) {
			value = x.value
		}
		return value == 0
	})
	if err == nil && value == 0 && t.r.left != nil && *t.r.left < leastRead {
		err = errTooMuch
	}
	return value, err
}

// HasText reports whether an object is the str of that text. It reads both in one go.
func (r *Reader) HasText(at addr.Run, want string) bool {
	l := &r.layout.Text
	b, err := r.Read(at, l.Compact+len(want))
	if err != nil {
		s, err := r.Text(at) // at the end of what is mapped
		return err == nil && s == want
	}
	if state := l.StateOf(b); state.Compact && state.ASCII {
		return uint64(pointerIn(b, l.Length)) == uint64(len(want)) && string(b[l.ASCII:][:len(want)]) == want
	}
	if len([]rune(want)) == len(want) {
		return false // ASCII that is not stored so: interned names always are
	}
	s, err := r.Text(at)
	return err == nil && s == want
}

func (p *printer) dict(at addr.Run, c Class) error {
	open, end := "{", "}"
	switch c.Name {
	case "collections.defaultdict":
		factory, err := p.r.Field(at, p.r.layout.Dict.Size)
		if err != nil {
			return err
		}
		p.out.WriteString("defaultdict(")
		if factory == 0 {
			p.out.WriteString("None")
		} else {
			p.value(factory)
		}
		open, end = ", {", "})"
	case "Counter":
		open, end = "Counter({", "})"
	}
	all, used, err := p.r.items(at, p.l.Elements+1)
	if err != nil {
		return err
	}
	if len(all) > 0 && p.deep(open, end) {
		return nil
	}
	p.out.WriteString(open)
	for i, x := range all[:min(len(all), p.l.Elements)] {
		if i > 0 {
			p.out.WriteString(", ")
		}
		p.value(x.key)
		p.out.WriteString(": ")
		p.value(x.value)
	}
	if len(all) > p.l.Elements {
		fmt.Fprintf(&p.out, ", ... (%d in all)", used)
	}
	p.out.WriteString(end)
	return nil
}

// Members are at most limit of a set's, and how many it says it has.
func (r *Reader) Members(at addr.Run, limit int) (all []addr.Run, used uint64, err error) {
	b, err := r.Read(at, r.layout.Set.Table+8)
	if err != nil {
		return nil, 0, err
	}
	used, mask := uint64(pointerIn(b, r.layout.Set.Used)), uint64(pointerIn(b, r.layout.Set.Mask))
	if mask > 1<<40 {
		return nil, 0, fmt.Errorf("a set of %d places", mask)
	}
	from := pointerIn(b, r.layout.Set.Table)
	for n := mask + 1; n > 0 && len(all) < limit && uint64(len(all)) < used; {
		some := min(n, chunk)
		t, err := r.Read(from, int(some)*16)
		if err != nil {
			return all, used, err
		}
		for i := 0; i < len(t) && len(all) < limit; i += 16 {
			key, hash := pointerIn(t, i), int64(pointerIn(t, i+8))
			if key != 0 && hash != -1 { // used, and still
				all = append(all, key)
			}
		}
		n, from = n-some, from+addr.Run(some*16)
	}
	return all, used, nil
}

func (p *printer) set(at addr.Run, c Class) error {
	all, used, err := p.r.Members(at, p.l.Elements+1)
	if err != nil {
		return err
	}
	open, end := "{", "}"
	if c.Name != "set" {
		open, end = c.Short()+"({", "})"
	}
	if len(all) == 0 {
		p.out.WriteString(c.Short() + "()")
		return nil
	}
	if p.deep(open, end) {
		return nil
	}
	p.out.WriteString(open)
	for i, key := range all[:min(len(all), p.l.Elements)] {
		if i > 0 {
			p.out.WriteString(", ")
		}
		p.value(key)
	}
	if len(all) > p.l.Elements {
		fmt.Fprintf(&p.out, ", ... (%d in all)", used)
	}
	p.out.WriteString(end)
	return nil
}
