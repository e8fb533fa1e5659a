package inspect

import (
	"errors"
	"fmt"
	"math/big"
	"strconv"

	"hdb/internal/addr"
	"hdb/python/layout"
)

// A Value is an object, or what was computed of one.
type Value struct {
	At   addr.Run
	text string // as repr() writes it, if it is no object
	part *part
}

// A part is a piece of a sequence.
type part struct {
	of       Value
	from, to uint64
}

// Literal is a value that is no object, as repr() writes it.
func Literal(text string) Value { return Value{text: text} }

// Literal is the text of a value that is no object, "" of others.
func (v Value) Literal() string { return v.text }

func (v Value) known() bool { return v.At != 0 || v.text != "" || v.part != nil }

// Length is len() of an object that C keeps the length of.
func (r *Reader) Length(v Value) (uint64, error) {
	if v.part != nil {
		return v.part.to - v.part.from, nil
	}
	if v.At == 0 {
		return 0, errors.New("len: it has none")
	}
	c, err := r.ClassOf(v.At)
	if err != nil {
		return 0, err
	}
	at := 0
	switch {
	case c.Flags&(layout.IsText|layout.IsDict) != 0, c.Flags&(layout.IsTuple|layout.IsList|layout.IsBytes) != 0:
		at = r.layout.Object.Count // str's and dict's are at the same place
	}
	if at == 0 {
		switch c.BuiltinBase() {
		case "bytearray", "collections.deque":
			at = r.layout.Object.Count
		case "set", "frozenset":
			at = r.layout.Set.Used
		case "range":
			n, err := r.rangeOf(v.At)
			if err == nil && n[3].IsUint64() {
				return n[3].Uint64(), nil
			}
			return 0, errors.Join(err, errors.New("len: the range is too long"))
		case "numpy.ndarray":
			a, err := r.ndarray(v.At)
			if err == nil && len(a.shape) > 0 {
				return uint64(a.shape[0]), nil
			}
			return 0, errors.New("len: an array without dimensions has none")
		default:
			return 0, fmt.Errorf("len: a %s computes it in __len__, which hdb does not run", c.Short())
		}
	}
	return r.Word(v.At + addr.Run(at))
}

// Element is an element of a sequence: negative numbers count from its end.
func (r *Reader) Element(v Value, index int64) (Value, error) {
	if v.part != nil {
		if index < 0 {
			index += int64(v.part.to - v.part.from)
		}
		if index < 0 || uint64(index) >= v.part.to-v.part.from {
			return Value{}, fmt.Errorf("index %d is out of range", index)
		}
		return r.Element(v.part.of, int64(v.part.from)+index)
	}
	n, err := r.Length(v)
	if err != nil {
		return Value{}, err
	}
	if index < 0 {
		index += int64(n)
	}
	if index < 0 || uint64(index) >= n {
		return Value{}, fmt.Errorf("index out of range: there are %d", n)
	}
	c, err := r.ClassOf(v.At)
	if err != nil {
		return Value{}, err
	}
	items, err := r.itemsAt(v.At, c)
	switch {
	case err != nil:
		return Value{}, err
	case items != 0:
		at, err := r.Pointer(items + addr.Run(8*index))
		return Value{At: at}, err
	case c.Flags&layout.IsText != 0:
		chars, _, err := r.characters(v.At, uint64(index), 1)
		return Value{text: quote(chars)}, err
	case c.Flags&layout.IsBytes != 0:
		b, err := r.Read(v.At+addr.Run(r.layout.Bytes.Data)+addr.Run(index), 1)
		if err != nil {
			return Value{}, err
		}
		return Value{text: strconv.Itoa(int(b[0]))}, nil
	}
	switch c.BuiltinBase() {
	case "bytearray":
		start, err := r.Field(v.At, r.layout.ByteArray.Start)
		if err != nil {
			return Value{}, err
		}
		b, err := r.Read(start+addr.Run(index), 1)
		if err != nil {
			return Value{}, err
		}
		return Value{text: strconv.Itoa(int(b[0]))}, nil
	case "collections.deque":
		all, _, err := r.dequeElements(v.At, uint64(index), 1)
		if err != nil || len(all) == 0 {
			return Value{}, err
		}
		return Value{At: all[0]}, nil
	case "range":
		r, err := r.rangeOf(v.At)
		if err != nil {
			return Value{}, err
		}
		at := new(big.Int).Mul(r[2], big.NewInt(index))
		return Value{text: at.Add(at, r[0]).String()}, nil
	case "numpy.ndarray":
		a, err := r.ndarray(v.At)
		if err != nil {
			return Value{}, err
		}
		return a.element(index)
	}
	return Value{}, fmt.Errorf("[%d]: a %s computes it in __getitem__, which hdb does not run", index, c.Short())
}

// itemsAt is where the elements of a list or a tuple are, 0 for other objects.
func (r *Reader) itemsAt(at addr.Run, c Class) (addr.Run, error) {
	switch {
	case c.Flags&layout.IsTuple != 0:
		return at + addr.Run(r.layout.Tuple.Items), nil
	case c.Flags&layout.IsList != 0:
		return r.Field(at, r.layout.List.Items)
	}
	return 0, nil
}

// Elements are at most limit objects of a list or a tuple, none of other objects.
func (r *Reader) Elements(at addr.Run, limit int) (all []addr.Run, err error) {
	c, err := r.ClassOf(at)
	if err != nil {
		return nil, err
	}
	items, err := r.itemsAt(at, c)
	if err != nil || items == 0 {
		return nil, err
	}
	n, err := r.Count(at)
	if err != nil {
		return nil, err
	}
	b, err := r.Read(items, 8*int(min(n, uint64(limit))))
	for i := 0; i < len(b); i += 8 {
		all = append(all, pointerIn(b, i))
	}
	return all, err
}

// Item is v[key].
func (r *Reader) Item(v Value, key Key) (Value, error) {
	if v.At != 0 {
		c, err := r.ClassOf(v.At)
		if err != nil {
			return Value{}, err
		}
		if c.Flags&layout.IsDict != 0 {
			return r.OfDict(v.At, key)
		}
	}
	if key.Kind != KeyInt || !key.Number.IsInt64() {
		return Value{}, errors.New("a number is expected between the brackets: only a dict has other keys")
	}
	if v.text != "" {
		return Value{}, errors.New("it has no elements")
	}
	return r.Element(v, key.Number.Int64())
}

// OfDict is the value that a dict has for a key.
func (r *Reader) OfDict(at addr.Run, key Key) (Value, error) {
	t, _, err := r.tableOf(at)
	if err != nil {
		return Value{}, err
	}
	hash, hashed := key.hash()
	found, err := t.find(func(x item) bool {
		return (!hashed || !t.Hashed || x.hash == hash) && r.equal(x.key, key)
	})
	switch {
	case err != nil:
		return Value{}, err
	case found == 0:
		return Value{}, &NoKeyError{key.Source}
	}
	return Value{At: found}, nil
}

// A NoKeyError is of a dict that has no such key.
type NoKeyError struct{ key string }

func (e *NoKeyError) Error() string { return fmt.Sprintf("no key %s in the dict", e.key) }

// equal reports whether an object is the Key.
func (r *Reader) equal(at addr.Run, k Key) bool {
	switch k.Kind {
	case KeyText:
		if r.HasText(at, k.Text) {
			c, err := r.ClassOf(at)
			return err == nil && c.Flags&layout.IsText != 0
		}
		return false
	case KeyName:
		return r.Singleton(at) == k.Text
	}
	c, err := r.ClassOf(at)
	if err != nil {
		return false
	}
	switch {
	case k.Kind == KeyInt && c.Flags&layout.IsInt != 0:
		n, err := r.Number(at)
		return err == nil && n.Cmp(k.Number) == 0
	case k.Kind == KeyBytes && c.Flags&layout.IsBytes != 0:
		n, err := r.Count(at)
		if err != nil || n != uint64(len(k.Text)) {
			return false
		}
		b, err := r.Read(at+addr.Run(r.layout.Bytes.Data), len(k.Text))
		return err == nil && string(b) == k.Text
	case k.Kind == KeyTuple && c.Flags&layout.IsTuple != 0:
		n, err := r.Count(at)
		if err != nil || n != uint64(len(k.Parts)) {
			return false
		}
		b, err := r.Read(at+addr.Run(r.layout.Tuple.Items), 8*len(k.Parts))
		if err != nil {
			return false
		}
		for i, part := range k.Parts {
			if !r.equal(pointerIn(b, 8*i), part) {
				return false
			}
		}
		return true
	}
	return false
}

// Slice is v[from:to], whose ends may be missing or negative.
func (r *Reader) Slice(v Value, from, to *big.Int) (Value, error) {
	if v.text != "" {
		return Value{}, errors.New("it has no elements")
	}
	n, err := r.Length(v)
	if err != nil {
		return Value{}, err
	}
	if n > 1<<40 {
		return Value{}, fmt.Errorf("%d elements", n)
	}
	end := func(x *big.Int, missing uint64) uint64 {
		if x == nil {
			return missing
		}
		if x.Sign() < 0 {
			x = new(big.Int).Add(x, new(big.Int).SetUint64(n))
		}
		if x.Sign() < 0 {
			return 0
		}
		if !x.IsUint64() || x.Uint64() > n {
			return n
		}
		return x.Uint64()
	}
	p := part{of: v, from: end(from, 0), to: end(to, n)}
	p.to = max(p.from, p.to)
	if v.part != nil {
		p.of, p.from, p.to = v.part.of, v.part.from+p.from, v.part.from+p.to
	}
	c, err := r.ClassOf(p.of.At)
	if err != nil {
		return Value{}, err
	}
	if base := c.BuiltinBase(); c.Flags&(layout.IsText|layout.IsBytes|layout.IsTuple|layout.IsList) == 0 && base != "bytearray" && base != "collections.deque" {
		return Value{}, fmt.Errorf("no part of a %s can be read", c.Short())
	}
	return Value{part: &p}, nil
}

// Show is the text of a value.
func (r *Reader) Show(v Value, l Limits) string {
	switch {
	case v.text != "":
		return v.text
	case v.part == nil:
		return r.Repr(v.At, l)
	}
	p := &printer{r: r.Bounded(maxRead), l: l}
	if err := p.part(*v.part); err != nil {
		p.fail(err)
	}
	return p.out.String()
}

// part writes a piece of a sequence.
func (p *printer) part(x part) error {
	at, n := x.of.At, x.to-x.from
	c, err := p.r.ClassOf(at)
	if err != nil {
		return err
	}
	items, err := p.r.itemsAt(at, c)
	switch {
	case err != nil:
		return err
	case items != 0 && c.Flags&layout.IsTuple != 0:
		return p.elements(items, x.from, n, "(", ")")
	case items != 0:
		return p.elements(items, x.from, n, "[", "]")
	case c.Flags&layout.IsText != 0:
		chars, _, err := p.r.characters(at, x.from, min(n, uint64(p.l.Elements)*10))
		p.out.WriteString(quote(chars))
		return p.cut(err, uint64(len(chars)) < n)
	case c.Flags&layout.IsBytes != 0:
		return p.rawBytes(at+addr.Run(p.r.layout.Bytes.Data)+addr.Run(x.from), n)
	case c.BuiltinBase() == "bytearray":
		start, err := p.r.Field(at, p.r.layout.ByteArray.Start)
		if err != nil {
			return err
		}
		p.out.WriteString("bytearray(")
		if err := p.rawBytes(start+addr.Run(x.from), n); err != nil {
			return err
		}
		p.out.WriteByte(')')
		return nil
	}
	all, _, err := p.r.dequeElements(at, x.from, min(n, uint64(p.l.Elements)))
	if err != nil {
		return err
	}
	p.out.WriteByte('[')
	for i, v := range all {
		if i > 0 {
			p.out.WriteString(", ")
		}
		p.value(v)
	}
	p.out.WriteByte(']')
	return p.cut(nil, uint64(len(all)) < n)
}

// cut marks what was not written whole.
func (p *printer) cut(err error, cut bool) error {
	if err == nil && cut {
		p.out.WriteString("...")
	}
	return err
}

// PlainTruth is true of an object whose class computes no truth of its own, by nb_bool or a length
// (Include/cpython/object.h).
func (r *Reader) PlainTruth(at addr.Run) (bool, error) {
	class, err := r.ClassOf(at)
	if err != nil {
		return false, err
	}
	t := &r.layout.Type
	for _, slot := range [][2]int{{t.Number, layout.NumberBool}, {t.Sequence, 0}, {t.Mapping, 0}} { // lengths are first in the last two
		table, err := r.Field(class.At, slot[0])
		if err != nil {
			return false, err
		}
		if table == 0 {
			continue
		}
		if code, err := r.Field(table, slot[1]); err != nil || code != 0 {
			return false, errors.Join(err, fmt.Errorf("a %s computes its truth value in its class, which hdb does not run", class.Short()))
		}
	}
	return true, nil
}
