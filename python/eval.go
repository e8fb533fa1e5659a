package python

import (
	"errors"
	"fmt"
	"math/big"
	"slices"
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

func (v Value) known() bool { return v.At != 0 || v.text != "" || v.part != nil }

// Eval computes an expression in a frame: names, attributes, elements by constants, parts
// of sequences and len(). Nothing runs in the process.
func (in *Interpreter) Eval(f Frame, expr string) (Value, error) {
	return in.eval(evaluator{in: in.bounded(maxSearch), frame: f, rest: expr})
}

func (in *Interpreter) eval(e evaluator) (Value, error) {
	v, err := e.expression()
	if err != nil {
		return Value{}, err
	}
	if e.space(); e.rest != "" {
		return Value{}, fmt.Errorf("%q: only names, .attribute, [constant], [from:to] and len() can be read without running code", e.rest)
	}
	return v, nil
}

// name finds a name as the function does: its own variables and those that it shares, those
// of its module, then the built-in ones.
func (in *Interpreter) name(f Frame, name string) (Value, error) {
	b, err := in.mem.read(f.Code.At, in.layout.Code.Size)
	if err != nil {
		return Value{}, fmt.Errorf("code object: %w", err)
	}
	dict, own, err := in.dictOfLocals(f, b)
	if err != nil {
		return Value{}, err
	}
	var vars []Variable
	if !own {
		vars, err = in.Locals(f)
	} else if dict != 0 {
		var found addr.Run
		if found, err = in.lookup(dict, name); found != 0 {
			return Value{At: found}, err
		}
	}
	if err != nil {
		return Value{}, err
	}
	declared := false
	for _, v := range slices.Backward(vars) { // a cell of an argument stands behind it
		if v.Name == name {
			if v.At != 0 {
				return Value{At: v.At}, nil
			}
			declared = true
		}
	}
	if declared {
		return Value{}, fmt.Errorf("%s has no value here", name)
	}
	for _, at := range []int{in.layout.Frame.Globals, in.layout.Frame.Builtins} {
		dict, err := in.mem.field(f.At, at)
		if err != nil {
			return Value{}, err
		}
		if dict == 0 {
			continue
		}
		if found, err := in.lookup(dict, name); err != nil || found != 0 {
			return Value{At: found}, err
		}
	}
	return Value{}, &NoNameError{name, f.Code.Qualname}
}

// A NoNameError is of a name that means nothing in a function.
type NoNameError struct{ Name, Function string }

func (e *NoNameError) Error() string {
	return fmt.Sprintf("no name %s in %s, its module or the built-in ones", e.Name, e.Function)
}

// length is len() of an object that C keeps the length of.
func (in *Interpreter) length(v Value) (uint64, error) {
	if v.part != nil {
		return v.part.to - v.part.from, nil
	}
	if v.At == 0 {
		return 0, errors.New("len: it has none")
	}
	c, err := in.class(v.At)
	if err != nil {
		return 0, err
	}
	at := 0
	switch {
	case c.Flags&(layout.IsText|layout.IsDict) != 0, c.Flags&(layout.IsTuple|layout.IsList|layout.IsBytes) != 0:
		at = in.layout.Object.Count // that of str and dict is at the same place
	}
	if at == 0 {
		switch in.builtinBase(c) {
		case "bytearray", "collections.deque":
			at = in.layout.Object.Count
		case "set", "frozenset":
			at = in.layout.Set.Used
		case "range":
			n, err := in.rangeOf(v.At)
			if err == nil && n[3].IsUint64() {
				return n[3].Uint64(), nil
			}
			return 0, errors.Join(err, errors.New("len: the range is too long"))
		case "numpy.ndarray":
			a, err := in.ndarray(v.At)
			if err == nil && len(a.shape) > 0 {
				return uint64(a.shape[0]), nil
			}
			return 0, errors.New("len: an array without dimensions has none")
		default:
			return 0, fmt.Errorf("len: a %s computes it in __len__, which hdb does not run", c.short())
		}
	}
	return in.mem.word(v.At + addr.Run(at))
}

// builtinBase is the class of the interpreter that a class is made of, "" if none is known.
func (in *Interpreter) builtinBase(c class) string {
	for range maxHeight {
		if objectPrinters[c.name] != nil {
			return c.name
		}
		base, err := in.mem.field(c.at, in.layout.Type.Base)
		if err != nil || base == 0 {
			return ""
		}
		if c, err = in.classAt(base); err != nil {
			return ""
		}
	}
	return ""
}

// element is an element of a sequence: negative numbers count from its end.
func (in *Interpreter) element(v Value, index int64) (Value, error) {
	if v.part != nil {
		if index < 0 {
			index += int64(v.part.to - v.part.from)
		}
		if index < 0 || uint64(index) >= v.part.to-v.part.from {
			return Value{}, fmt.Errorf("index %d is out of range", index)
		}
		return in.element(v.part.of, int64(v.part.from)+index)
	}
	n, err := in.length(v)
	if err != nil {
		return Value{}, err
	}
	if index < 0 {
		index += int64(n)
	}
	if index < 0 || uint64(index) >= n {
		return Value{}, fmt.Errorf("index out of range: there are %d", n)
	}
	c, err := in.class(v.At)
	if err != nil {
		return Value{}, err
	}
	items, err := in.itemsAt(v.At, c)
	switch {
	case err != nil:
		return Value{}, err
	case items != 0:
		at, err := in.mem.pointer(items + addr.Run(8*index))
		return Value{At: at}, err
	case c.Flags&layout.IsText != 0:
		chars, _, err := in.characters(v.At, uint64(index), 1)
		return Value{text: quote(chars)}, err
	case c.Flags&layout.IsBytes != 0:
		b, err := in.mem.read(v.At+addr.Run(in.layout.Bytes.Data)+addr.Run(index), 1)
		if err != nil {
			return Value{}, err
		}
		return Value{text: strconv.Itoa(int(b[0]))}, nil
	}
	switch in.builtinBase(c) {
	case "bytearray":
		start, err := in.mem.field(v.At, in.layout.ByteArray.Start)
		if err != nil {
			return Value{}, err
		}
		b, err := in.mem.read(start+addr.Run(index), 1)
		if err != nil {
			return Value{}, err
		}
		return Value{text: strconv.Itoa(int(b[0]))}, nil
	case "collections.deque":
		all, _, err := in.dequeElements(v.At, uint64(index), 1)
		if err != nil || len(all) == 0 {
			return Value{}, err
		}
		return Value{At: all[0]}, nil
	case "range":
		r, err := in.rangeOf(v.At)
		if err != nil {
			return Value{}, err
		}
		at := new(big.Int).Mul(r[2], big.NewInt(index))
		return Value{text: at.Add(at, r[0]).String()}, nil
	case "numpy.ndarray":
		a, err := in.ndarray(v.At)
		if err != nil {
			return Value{}, err
		}
		return a.element(index)
	}
	return Value{}, fmt.Errorf("[%d]: a %s computes it in __getitem__, which hdb does not run", index, c.short())
}

// itemsAt is where the elements of a list or a tuple are, 0 for other objects.
func (in *Interpreter) itemsAt(at addr.Run, c class) (addr.Run, error) {
	switch {
	case c.Flags&layout.IsTuple != 0:
		return at + addr.Run(in.layout.Tuple.Items), nil
	case c.Flags&layout.IsList != 0:
		return in.mem.field(at, in.layout.List.Items)
	}
	return 0, nil
}

// item is v[key].
func (in *Interpreter) item(v Value, key constant) (Value, error) {
	if v.At != 0 {
		c, err := in.class(v.At)
		if err != nil {
			return Value{}, err
		}
		if c.Flags&layout.IsDict != 0 {
			return in.ofDict(v.At, key)
		}
	}
	if key.kind != constInt || !key.number.IsInt64() {
		return Value{}, errors.New("a number is expected between the brackets: only a dict has other keys")
	}
	if v.text != "" {
		return Value{}, errors.New("it has no elements")
	}
	return in.element(v, key.number.Int64())
}

func (in *Interpreter) ofDict(at addr.Run, key constant) (Value, error) {
	t, _, err := in.tableOf(at)
	if err != nil {
		return Value{}, err
	}
	hash, hashed := key.hash()
	found, err := in.find(t, func(x item) bool {
		return (!hashed || !t.Hashed || x.hash == hash) && in.equal(x.key, key)
	})
	switch {
	case err != nil:
		return Value{}, err
	case found == 0:
		return Value{}, &noKeyError{key.source}
	}
	return Value{At: found}, nil
}

// A noKeyError is of a dict that has no such key.
type noKeyError struct{ key string }

func (e *noKeyError) Error() string { return fmt.Sprintf("no key %s in the dict", e.key) }

// equal tells whether an object is the constant.
func (in *Interpreter) equal(at addr.Run, k constant) bool {
	switch k.kind {
	case constText:
		if in.isText(at, k.text) {
			c, err := in.class(at)
			return err == nil && c.Flags&layout.IsText != 0
		}
		return false
	case constName:
		return slices.ContainsFunc(in.singletons, func(s singleton) bool { return s.at == at && s.text == k.text })
	}
	c, err := in.class(at)
	if err != nil {
		return false
	}
	switch {
	case k.kind == constInt && c.Flags&layout.IsInt != 0:
		n, err := in.number(at)
		return err == nil && n.Cmp(k.number) == 0
	case k.kind == constBytes && c.Flags&layout.IsBytes != 0:
		n, err := in.count(at)
		if err != nil || n != uint64(len(k.text)) {
			return false
		}
		b, err := in.mem.read(at+addr.Run(in.layout.Bytes.Data), len(k.text))
		return err == nil && string(b) == k.text
	case k.kind == constTuple && c.Flags&layout.IsTuple != 0:
		n, err := in.count(at)
		if err != nil || n != uint64(len(k.parts)) {
			return false
		}
		b, err := in.mem.read(at+addr.Run(in.layout.Tuple.Items), 8*len(k.parts))
		if err != nil {
			return false
		}
		for i, part := range k.parts {
			if !in.equal(pointerIn(b, 8*i), part) {
				return false
			}
		}
		return true
	}
	return false
}

// slice is v[from:to], whose ends may be missing or negative.
func (in *Interpreter) slice(v Value, from, to *big.Int) (Value, error) {
	if v.text != "" {
		return Value{}, errors.New("it has no elements")
	}
	n, err := in.length(v)
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
	c, err := in.class(p.of.At)
	if err != nil {
		return Value{}, err
	}
	if base := in.builtinBase(c); c.Flags&(layout.IsText|layout.IsBytes|layout.IsTuple|layout.IsList) == 0 && base != "bytearray" && base != "collections.deque" {
		return Value{}, fmt.Errorf("no part of a %s can be read", c.short())
	}
	return Value{part: &p}, nil
}

// Show is the text of a value.
func (in *Interpreter) Show(v Value, l Limits) string {
	switch {
	case v.text != "":
		return v.text
	case v.part == nil:
		return in.Repr(v.At, l)
	}
	p := &printer{in: in.bounded(maxRead), l: l}
	if err := p.part(*v.part); err != nil {
		p.fail(err)
	}
	return p.out.String()
}

// part writes a piece of a sequence.
func (p *printer) part(x part) error {
	at, n := x.of.At, x.to-x.from
	c, err := p.in.class(at)
	if err != nil {
		return err
	}
	items, err := p.in.itemsAt(at, c)
	switch {
	case err != nil:
		return err
	case items != 0 && c.Flags&layout.IsTuple != 0:
		return p.elements(items, x.from, n, "(", ")")
	case items != 0:
		return p.elements(items, x.from, n, "[", "]")
	case c.Flags&layout.IsText != 0:
		chars, _, err := p.in.characters(at, x.from, min(n, uint64(p.l.Elements)*10))
		p.out.WriteString(quote(chars))
		return p.cut(err, uint64(len(chars)) < n)
	case c.Flags&layout.IsBytes != 0:
		return p.rawBytes(at+addr.Run(p.in.layout.Bytes.Data)+addr.Run(x.from), n)
	case p.in.builtinBase(c) == "bytearray":
		start, err := p.in.mem.field(at, p.in.layout.ByteArray.Start)
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
	all, _, err := p.in.dequeElements(at, x.from, min(n, uint64(p.l.Elements)))
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
