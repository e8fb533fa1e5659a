package python

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"hdb/internal/addr"
)

// Limits bounds the text of a value.
type Limits struct {
	Elements int // of one sequence, dict or text
	Depth    int // of containers in containers
}

// DefaultLimits are for a line of a terminal.
var DefaultLimits = Limits{Elements: 20, Depth: 3}

// maxTotal bounds the characters of one value's text, maxItems what is read of one object.
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
	p := &printer{in: in, l: l}
	p.value(at)
	return p.out.String()
}

// Offsets that all versions share, of PyTypeObject and others.
const (
	typeName     = 24
	typeBasic    = 32
	typeFlags    = 168
	typeMembers  = 240
	typeDictAt   = 288
	typeMRO      = 344
	floatValue   = 16
	tupleItems   = 24
	listItems    = 24
	dictUsed     = 16
	dictKeys     = 32
	dictValues   = 40
	setUsed      = 24
	setMask      = 32
	setTable     = 40
	cellRef      = 16
	intDigits    = 24
	digitBits    = 30
	byteArrayAt  = 40
	moduleName   = 48
	functionName = 32

	isInt   = 1 << 24
	isList  = 1 << 25
	isTuple = 1 << 26
	isBytes = 1 << 27
	isText  = 1 << 28
	isDict  = 1 << 29
	isType  = 1 << 31
)

// A class is what is known of an object's type.
type class struct {
	at    addr.Run
	name  string
	flags uint64
}

// short is the class's name without the module.
func (c class) short() string { return c.name[strings.LastIndexByte(c.name, '.')+1:] }

func (in *Interpreter) class(object addr.Run) (c class, err error) {
	if c.at, err = in.mem.pointer(object + objectType); err != nil {
		return c, err
	}
	return in.classAt(c.at)
}

func (in *Interpreter) classAt(at addr.Run) (c class, err error) {
	b, err := in.mem.read(at, typeFlags+8)
	if err != nil {
		return c, err
	}
	c.at, c.flags = at, binary.LittleEndian.Uint64(b[typeFlags:])
	c.name, err = in.cString(pointerIn(b, typeName))
	return c, err
}

// cString is the text at an address, up to a NUL.
func (in *Interpreter) cString(at addr.Run) (string, error) {
	var out []byte
	for len(out) < maxText {
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
	return "", fmt.Errorf("%v: no text is there", at)
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
	switch {
	case c.flags&isType != 0:
		err = p.class(at)
	case c.flags&isInt != 0:
		err = p.integer(at)
	case c.flags&isText != 0:
		err = p.text(at)
	case c.flags&isBytes != 0:
		err = p.bytes(at)
	case c.name == "float":
		err = p.float(at)
	case c.flags&isTuple != 0:
		if c.name != "tuple" {
			p.out.WriteString(c.short())
		}
		err = p.sequence(at, at+tupleItems, "(", ")")
	case c.flags&isList != 0:
		var items addr.Run
		if items, err = p.in.mem.pointer(at + listItems); err == nil {
			err = p.sequence(at, items, "[", "]")
		}
	case c.flags&isDict != 0:
		err = p.dict(at)
	case c.name == "set" || c.name == "frozenset":
		err = p.set(at, c)
	case c.name == "numpy.ndarray":
		err = p.array(at)
	case c.name == "cell":
		if p.deep("<cell ", ">") {
			return
		}
		var of addr.Run
		if of, err = p.in.mem.pointer(at + cellRef); err == nil {
			p.value(of)
		}
	case c.name == "module" || c.name == "function" && p.in.layout.minor >= 10:
		err = p.named(at, c)
	default:
		err = p.instance(at, c)
	}
	if err != nil {
		p.fail(err)
	}
}

func (p *printer) class(at addr.Run) error {
	c, err := p.in.classAt(at)
	if err == nil {
		p.out.WriteString("<class '" + c.name + "'>")
	}
	return err
}

func (p *printer) named(at addr.Run, c class) error {
	offset := moduleName
	if c.name == "function" {
		offset = functionName
	}
	name, err := p.in.mem.pointer(at + addr.Run(offset))
	if err != nil {
		return err
	}
	text, err := p.in.Text(name)
	if err != nil {
		return err
	}
	if c.name == "module" {
		text = quote(text, maxText)
	}
	p.out.WriteString("<" + c.name + " " + text + ">")
	return nil
}

// integer reads PyLongObject: its sign and its digits of 30 bits.
func (p *printer) integer(at addr.Run) error {
	n, err := p.in.mem.word(at + varSize)
	if err != nil {
		return err
	}
	digits, negative := int64(n), false
	if p.in.layout.minor >= 12 { // lv_tag
		digits, negative = int64(n>>3), n&3 == 2
	} else if negative = digits < 0; negative {
		digits = -digits
	}
	if digits < 0 || digits > maxText {
		return fmt.Errorf("an int of %d digits of 30 bits", digits)
	}
	b, err := p.in.mem.read(at+intDigits, int(digits)*4)
	if err != nil {
		return err
	}
	v := new(big.Int)
	for i := len(b) - 4; i >= 0; i -= 4 {
		v.Lsh(v, digitBits)
		v.Or(v, big.NewInt(int64(binary.LittleEndian.Uint32(b[i:]))))
	}
	if negative {
		v.Neg(v)
	}
	p.out.WriteString(v.String())
	return nil
}

func (p *printer) float(at addr.Run) error {
	n, err := p.in.mem.word(at + floatValue)
	if err != nil {
		return err
	}
	f := math.Float64frombits(n)
	text := strconv.FormatFloat(f, 'g', -1, 64)
	if exponent := math.Abs(f); f == math.Trunc(f) && exponent < 1e16 {
		text = strconv.FormatFloat(f, 'f', 1, 64)
	}
	p.out.WriteString(strings.TrimPrefix(strings.ToLower(text), "+"))
	return nil
}

func (p *printer) text(at addr.Run) error {
	s, err := p.in.Text(at)
	if err != nil {
		return err
	}
	p.out.WriteString(quote(s, p.l.Elements*10))
	return nil
}

func (p *printer) bytes(at addr.Run) error {
	b, err := p.in.bytes(at)
	if err != nil {
		return err
	}
	var text strings.Builder
	for i, c := range b {
		if i == p.l.Elements*10 {
			break
		}
		switch {
		case c == '\\' || c == '\'':
			text.WriteString("\\" + string(rune(c)))
		case c >= ' ' && c < 0x7f:
			text.WriteByte(c)
		default:
			fmt.Fprintf(&text, "\\x%02x", c)
		}
	}
	p.out.WriteString("b'" + text.String() + "'")
	if len(b) > p.l.Elements*10 {
		p.out.WriteString("...")
	}
	return nil
}

// quote writes a text in Python's way, with at most limit characters of it.
func quote(s string, limit int) string {
	cut := ""
	if r := []rune(s); len(r) > limit {
		s, cut = string(r[:limit]), "..."
	}
	q := strconv.Quote(s)
	if !strings.Contains(s, "'") || strings.Contains(s, `"`) {
		q = strings.ReplaceAll(q[1:len(q)-1], `\"`, `"`)
		q = "'" + strings.ReplaceAll(q, "'", `\'`) + "'"
	}
	return q + cut
}

// deep tells whether a container is not opened any more, and says so.
func (p *printer) deep(open, end string) bool {
	if len(p.above) <= p.l.Depth {
		return false
	}
	p.out.WriteString(open + "..." + end)
	return true
}

func (p *printer) sequence(at, items addr.Run, open, end string) error {
	n, err := p.in.mem.word(at + varSize)
	if err != nil {
		return err
	}
	if n > maxItems {
		return fmt.Errorf("a sequence of %d", n)
	}
	if n > 0 && p.deep(open, end) {
		return nil
	}
	b, err := p.in.mem.read(items, 8*int(min(n, uint64(p.l.Elements))))
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
	if int(n) > len(b)/8 {
		fmt.Fprintf(&p.out, ", ... (%d in all)", n)
	}
	if open == "(" && n == 1 {
		p.out.WriteByte(',')
	}
	p.out.WriteString(end)
	return nil
}

// array tells the shape of numpy's array: PyArrayObject of ndarraytypes.h.
func (p *printer) array(at addr.Run) error {
	b, err := p.in.mem.read(at, 40)
	if err != nil {
		return err
	}
	nd := intIn(b, 24)
	if nd < 0 || nd > 64 {
		return fmt.Errorf("an array of %d dimensions", nd)
	}
	shape, err := p.in.mem.read(pointerIn(b, 32), 8*nd)
	if err != nil {
		return err
	}
	var text []string
	for i := 0; i < len(shape); i += 8 {
		text = append(text, strconv.FormatInt(int64(pointerIn(shape, i)), 10))
	}
	p.out.WriteString("<numpy.ndarray of shape (" + strings.Join(text, ", ") + ")>")
	return nil
}
