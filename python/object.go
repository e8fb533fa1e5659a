package python

import (
	"fmt"
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
	in    *Interpreter
	l     Limits
	out   strings.Builder
	above []addr.Run // containers that the value is in
}

// Repr is the text of an object.
func (in *Interpreter) Repr(at addr.Run, l Limits) string {
	limit := maxRead
	if in.mem.left != nil {
		limit = min(limit, *in.mem.left)
	}
	p := &printer{in: in.bounded(limit), l: l}
	p.value(at)
	if in.mem.left != nil {
		*in.mem.left -= limit - *p.in.mem.left
	}
	return p.out.String()
}

// A class is what is known of an object's type.
type class struct {
	at   addr.Run
	name string
	layout.Class
}

// short is the class's name without the module.
func (c class) short() string { return c.name[strings.LastIndexByte(c.name, '.')+1:] }

func (in *Interpreter) class(object addr.Run) (c class, err error) {
	if c.at, err = in.mem.field(object, in.layout.Object.Type); err != nil {
		return c, err
	}
	return in.classAt(c.at)
}

func (in *Interpreter) classAt(at addr.Run) (c class, err error) {
	b, err := in.mem.read(at, in.layout.Type.DictAt+8)
	if err != nil {
		return c, err
	}
	c.at, c.Class = at, in.layout.Type.Class(b)
	c.name, err = in.cString(pointerIn(b, in.layout.Type.Name))
	return c, err
}

// cString is the text at an address, up to a NUL.
func (in *Interpreter) cString(at addr.Run) (string, error) {
	var out []byte
	for len(out) < maxText {
		if err := in.mem.take(64); err != nil {
			return "", err
		}
		b := make([]byte, 64)
		n, err := in.mem.mem.ReadAt(b, int64(at)+int64(len(out)))
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
	for _, s := range p.in.singletons {
		if s.at == at {
			p.out.WriteString(s.text)
			return
		}
	}
	c, err := p.in.class(at)
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
func (p *printer) object(at addr.Run, c class) error {
	if c.Flags&(layout.IsInt|layout.IsText|layout.IsTuple) != 0 && p.in.isEnum(c) { // of IntEnum and StrEnum
		all, err := p.in.attributes(at, c, p.l.Elements)
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
		items, err := p.in.mem.field(at, p.in.layout.List.Items)
		if err != nil {
			return err
		}
		return p.sequence(at, items, "[", "]")
	case c.Flags&layout.IsDict != 0:
		return p.dict(at, c)
	case c.Flags&layout.IsException != 0:
		return p.exception(at, c)
	}
	if write := p.in.printerOf(c); write != nil {
		return write(p, at, c)
	}
	return p.instance(at, c)
}

// maxHeight bounds the classes above one that are looked at.
const maxHeight = 64

// printerOf is the printer of a class of the interpreter, or of one that is made of it.
func (in *Interpreter) printerOf(c class) func(*printer, addr.Run, class) error {
	for range maxHeight {
		if write := objectPrinters[c.name]; write != nil {
			return write
		}
		base, err := in.mem.field(c.at, in.layout.Type.Base)
		if err != nil || base == 0 {
			return nil
		}
		if c, err = in.classAt(base); err != nil {
			return nil
		}
	}
	return nil
}

func (p *printer) class(at addr.Run) error {
	c, err := p.in.classAt(at)
	if err == nil {
		p.out.WriteString("<class '" + c.name + "'>")
	}
	return err
}

func (p *printer) text(at addr.Run) error {
	chars, length, err := p.in.characters(at, 0, uint64(p.l.Elements)*10)
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
	n, err := p.in.count(at)
	if err != nil {
		return err
	}
	return p.rawBytes(at+addr.Run(p.in.layout.Bytes.Data), n)
}

func (p *printer) rawBytes(at addr.Run, n uint64) error {
	b, err := p.in.mem.read(at, int(min(n, uint64(p.l.Elements)*10)))
	if err != nil {
		return err
	}
	p.out.WriteString(quoteBytes(b))
	if uint64(len(b)) < n {
		p.out.WriteString("...")
	}
	return nil
}

// deep tells whether a container is not opened any more, and says so.
func (p *printer) deep(open, end string) bool {
	if len(p.above) <= p.l.Depth {
		return false
	}
	p.out.WriteString(open + "..." + end)
	return true
}

// tuple writes a tuple, or a named one: collections.namedtuple keeps the names in _fields.
func (p *printer) tuple(at addr.Run, c class) error {
	if c.name == "tuple" {
		return p.sequence(at, at+addr.Run(p.in.layout.Tuple.Items), "(", ")")
	}
	p.out.WriteString(c.short())
	fields, err := p.in.classAttribute(c.at, "_fields")
	if err != nil || fields == 0 || c.Flags&layout.IsHeapType == 0 {
		return p.sequence(at, at+addr.Run(p.in.layout.Tuple.Items), "(", ")")
	}
	n, err := p.in.count(at)
	if err != nil {
		return err
	}
	if p.deep("(", ")") {
		return nil
	}
	shown := int(min(n, uint64(p.l.Elements)))
	values, err := p.in.mem.read(at+addr.Run(p.in.layout.Tuple.Items), 8*shown)
	if err != nil {
		return err
	}
	keys, err := p.in.mem.read(fields+addr.Run(p.in.layout.Tuple.Items), 8*shown)
	if err != nil {
		return err
	}
	p.out.WriteByte('(')
	for i := range shown {
		if i > 0 {
			p.out.WriteString(", ")
		}
		if name, err := p.in.Text(pointerIn(keys, 8*i)); err == nil {
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
	n, err := p.in.count(at)
	if err != nil {
		return err
	}
	return p.elements(items, 0, n, open, end)
}

// elements writes n objects from a place on. before is how many stand before them.
func (p *printer) elements(items addr.Run, before, n uint64, open, end string) error {
	if n > 0 && p.deep(open, end) {
		return nil
	}
	b, err := p.in.mem.read(items+addr.Run(8*before), 8*int(min(n, uint64(p.l.Elements))))
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
