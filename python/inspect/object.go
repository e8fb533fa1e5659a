package inspect

import (
	"fmt"
	"iter"
	"slices"
	"strings"

	"hdb/internal/addr"
	"hdb/python/layout"
)

// Limits bounds the text of a value.
type Limits struct {
	Elements int // of one sequence, dict or text
	Depth    int // of containers in containers
}

// DefaultLimits are for a line of a terminal.
var DefaultLimits = Limits{Elements: 20, Depth: 3}

// maxTotal bounds the characters of one value's text, maxItems an offset in an object.
const (
	maxTotal = 1 << 16
	maxItems = 1 << 20
)

// A printer writes the text of one value, as repr() would: but nothing runs, so that a
// class's own __repr__ is not asked.
type printer struct {
	r     *Reader
	l     Limits
	out   strings.Builder
	above []addr.Run // containers that the value is in
}

// Repr is the text of an object.
func (r *Reader) Repr(at addr.Run, l Limits) string {
	limit := maxRead
	if r.left != nil {
		limit = min(limit, *r.left)
	}
	p := &printer{r: r.Bounded(limit), l: l}
	p.value(at)
	if r.left != nil {
		*r.left -= limit - *p.r.left
	}
	return p.out.String()
}

// A Class is what is known of an object's type.
type Class struct {
	At   addr.Run
	Name string
	layout.Class

	r *Reader
}

// Short is the class's name without the module.
func (c Class) Short() string { return c.Name[strings.LastIndexByte(c.Name, '.')+1:] }

func (r *Reader) ClassOf(object addr.Run) (c Class, err error) {
	if c.At, err = r.Field(object, r.layout.Object.Type); err != nil {
		return c, err
	}
	return r.ClassAt(c.At)
}

func (r *Reader) ClassAt(at addr.Run) (c Class, err error) {
	b, err := r.Read(at, r.layout.Type.DictAt+8)
	if err != nil {
		return c, err
	}
	c = Class{At: at, Class: r.layout.Type.Class(b), r: r}
	c.Name, err = r.cString(pointerIn(b, r.layout.Type.Name))
	return c, err
}

// cString is the text at an address, up to a NUL.
func (r *Reader) cString(at addr.Run) (string, error) {
	var out []byte
	for len(out) < maxText {
		if err := r.take(64); err != nil {
			return "", err
		}
		b := make([]byte, 64)
		n, err := r.ReadAt(b, int64(at)+int64(len(out)))
		if n == 0 {
			return "", fmt.Errorf("read %v: %w", at, err)
		}
		if i := slices.Index(b[:n], 0); i >= 0 {
			return string(append(out, b[:i]...)), nil
		}
		out = append(out, b[:n]...)
	}
	return "", fmt.Errorf("%v: not a str", at)
}

func (p *printer) fail(err error) { p.out.WriteString("<" + err.Error() + ">") }

func (p *printer) value(at addr.Run) {
	if p.out.Len() > maxTotal {
		p.out.WriteString("...")
		return
	}
	if at == 0 {
		p.out.WriteString("<no value>")
		return
	}
	if name := p.r.Singleton(at); name != "" {
		p.out.WriteString(name)
		return
	}
	c, err := p.r.ClassOf(at)
	if err != nil {
		p.fail(err)
		return
	}
	if slices.Contains(p.above, at) {
		p.out.WriteString("...")
		return
	}
	p.above = append(p.above, at)
	defer func() { p.above = p.above[:len(p.above)-1] }()
	if err := p.object(at, c); err != nil {
		p.fail(err)
	}
}

// object writes what is neither a singleton nor in itself.
func (p *printer) object(at addr.Run, c Class) error {
	if c.Flags&(layout.IsInt|layout.IsText|layout.IsTuple) != 0 && c.isEnum() { // of IntEnum and StrEnum
		all, err := c.attributes(at, p.l.Elements)
		if err != nil {
			return err
		}
		return p.member(c, all)
	}
	switch {
	case c.Flags&layout.IsType != 0:
		return p.class(at)
	case c.Flags&layout.IsInt != 0:
		return p.integer(at)
	case c.Flags&layout.IsText != 0:
		return p.text(at)
	case c.Flags&layout.IsBytes != 0:
		return p.bytes(at)
	case c.Flags&layout.IsTuple != 0:
		return p.tuple(at, c)
	case c.Flags&layout.IsList != 0:
		items, err := p.r.Field(at, p.r.layout.List.Items)
		if err != nil {
			return err
		}
		return p.sequence(at, items, "[", "]")
	case c.Flags&layout.IsDict != 0:
		return p.dict(at, c)
	case c.Flags&layout.IsException != 0:
		return p.exception(at, c)
	}
	if base := c.BuiltinBase(); base != "" {
		return objectPrinters[base](p, at, c)
	}
	return p.instance(at, c)
}

// maxHeight bounds the classes above one that are looked at.
const maxHeight = 64

// Bases are a class and those that it is made of, by tp_base.
func (c Class) Bases() iter.Seq[Class] {
	return func(yield func(Class) bool) {
		for range maxHeight {
			if !yield(c) {
				return
			}
			base, err := c.r.Field(c.At, c.r.layout.Type.Base)
			if err != nil || base == 0 {
				return
			}
			if c, err = c.r.ClassAt(base); err != nil {
				return
			}
		}
	}
}

// BuiltinBase is the class of the interpreter that a class is made of, "" if none is known.
func (c Class) BuiltinBase() string {
	for b := range c.Bases() {
		if objectPrinters[b.Name] != nil {
			return b.Name
		}
	}
	return ""
}

func (p *printer) class(at addr.Run) error {
	c, err := p.r.ClassAt(at)
	if err == nil {
		p.out.WriteString("<class '" + c.Name + "'>")
	}
	return err
}

func (p *printer) text(at addr.Run) error {
	chars, length, err := p.r.characters(at, 0, uint64(p.l.Elements)*10)
	if err != nil {
		return err
	}
	p.out.WriteString(quote(chars))
	if uint64(len(chars)) < length {
		p.out.WriteString("...")
	}
	return nil
}

func (p *printer) bytes(at addr.Run) error {
	n, err := p.r.Count(at)
	if err != nil {
		return err
	}
	return p.rawBytes(at+addr.Run(p.r.layout.Bytes.Data), n)
}

func (p *printer) rawBytes(at addr.Run, n uint64) error {
	b, err := p.r.Read(at, int(min(n, uint64(p.l.Elements)*10)))
	if err != nil {
		return err
	}
	p.out.WriteString(quoteBytes(b))
	if uint64(len(b)) < n {
		p.out.WriteString("...")
	}
	return nil
}

// deep reports whether a container is not opened any more, and says so.
func (p *printer) deep(open, end string) bool {
	if len(p.above) <= p.l.Depth {
		return false
	}
	p.out.WriteString(open + "..." + end)
	return true
}

// tuple writes a tuple, or a named one: collections.namedtuple keeps the names in _fields.
func (p *printer) tuple(at addr.Run, c Class) error {
	if c.Name == "tuple" {
		return p.sequence(at, at+addr.Run(p.r.layout.Tuple.Items), "(", ")")
	}
	p.out.WriteString(c.Short())
	fields, err := c.attribute("_fields")
	if err != nil || fields == 0 || c.Flags&layout.IsHeapType == 0 {
		return p.sequence(at, at+addr.Run(p.r.layout.Tuple.Items), "(", ")")
	}
	n, err := p.r.Count(at)
	if err != nil {
		return err
	}
	if p.deep("(", ")") {
		return nil
	}
	shown := int(min(n, uint64(p.l.Elements)))
	values, err := p.r.Read(at+addr.Run(p.r.layout.Tuple.Items), 8*shown)
	if err != nil {
		return err
	}
	keys, err := p.r.Read(fields+addr.Run(p.r.layout.Tuple.Items), 8*shown)
	if err != nil {
		return err
	}
	p.out.WriteByte('(')
	for i := range shown {
		if i > 0 {
			p.out.WriteString(", ")
		}
		if name, err := p.r.Text(pointerIn(keys, 8*i)); err == nil {
			p.out.WriteString(name + "=")
		}
		p.value(pointerIn(values, 8*i))
	}
	if uint64(shown) < n {
		fmt.Fprintf(&p.out, ", ... (%d in all)", n)
	}
	p.out.WriteByte(')')
	return nil
}

func (p *printer) sequence(at, items addr.Run, open, end string) error {
	n, err := p.r.Count(at)
	if err != nil {
		return err
	}
	return p.elements(items, 0, n, open, end)
}

// elements writes n objects from a place on. before is how many are before them.
func (p *printer) elements(items addr.Run, before, n uint64, open, end string) error {
	if n > 0 && p.deep(open, end) {
		return nil
	}
	b, err := p.r.Read(items+addr.Run(8*before), 8*int(min(n, uint64(p.l.Elements))))
	if err != nil {
		return err
	}
	p.out.WriteString(open)
	for i := 0; i < len(b); i += 8 {
		if i > 0 {
			p.out.WriteString(", ")
		}
		p.value(pointerIn(b, i))
	}
	if n > uint64(len(b)/8) {
		fmt.Fprintf(&p.out, ", ... (%d in all)", n)
	}
	if open == "(" && n == 1 {
		p.out.WriteByte(',')
	}
	p.out.WriteString(end)
	return nil
}
