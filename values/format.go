package values

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"hdb/internal/addr"
	"hdb/symbols/dwarf"
)

// Options say how values become text; the defaults are gdb's.
type Options struct {
	Elements int  // of arrays, strings and containers; 0: no limit except hdb's own
	Letter   byte // x d u o t a c f s z as in print/x; 0: by the type
	Raw      bool // containers of libraries as the structs that they are
	Pretty   bool // each member on a line of its own
	Width    int  // columns of a line: longer values are written as with Pretty; 0: no limit
	Array    bool // each element of an array on a line of its own
	Depth    int  // structs in structs that are shown; 0: 20, as gdb does; negative: none
	Repeats  int  // longer runs of equal elements are written once with their length; 0: 10

	Object bool // objects of C++ by the class that their virtual table tells

	NoUnions  bool // unions in structs are not shown
	NoStatics bool // nor are static members
	NoSymbols bool // nor the symbols that data pointers point to
}

// Limits that no option lifts.
const (
	MaxText     = 1 << 20  // bytes of the text of one value
	maxDepth    = 20       // structs in structs, as gdb's print max-depth
	MaxElements = 1 << 16  // of one array, string or container
	UsualDepth  = maxDepth // Options.Depth where it is 0
	AllDepth    = 200      // Options.Depth for all structs in structs
	MinRepeats  = 11       // the shortest run of equal elements that is written once with its length
)

// A formatter writes the text of one value.
type formatter struct {
	prog  *Program
	f     *Frame
	o     Options
	b     bytes.Buffer
	depth int
	class string // before the outermost object; "" nothing
	// virtual are the virtual base classes of the outermost object that have been written.
	virtual map[addr.Run]bool
}

func (p *Program) formatter(f *Frame, o Options) *formatter {
	if o.Elements <= 0 || o.Elements > MaxElements {
		o.Elements = MaxElements
	}
	switch {
	case o.Depth == 0:
		o.Depth = maxDepth
	case o.Depth > AllDepth:
		o.Depth = AllDepth
	}
	if o.Repeats <= 0 {
		o.Repeats = MinRepeats - 1
	}
	return &formatter{prog: p, f: f, o: o}
}

// Format is a value as `info locals` shows it.
func (p *Program) Format(f *Frame, v Value, o Options) string {
	return p.format(f, v, o, false)
}

// FormatTop is a value as `print` shows it: pointers and references with their type.
func (p *Program) FormatTop(f *Frame, v Value, o Options) string {
	return p.format(f, v, o, true)
}

func (p *Program) format(f *Frame, v Value, o Options, typed bool) string {
	text := p.formatter(f, o)
	if o.Object && typed {
		v, text.class = p.dynamic(v)
	}
	text.top(v, typed)
	if o.Width > 0 && !o.Pretty && utf8.RuneCount(text.b.Bytes()) > o.Width {
		o.Pretty = true
		class := text.class
		text = p.formatter(f, o)
		text.class = class
		text.top(v, typed)
	}
	return text.b.String()
}

func (p *formatter) write(s string) { p.b.WriteString(s) }

func (p *formatter) full() bool { return p.b.Len() > MaxText }

// errorText is the text in place of a value that cannot be read.
func errorText(err error) string {
	var me *MemoryError
	switch {
	case errors.Is(err, errLost):
		return "<optimized out>"
	case errors.As(err, &me):
		return fmt.Sprintf("<error: Cannot access memory at address %#x>", uint64(me.At))
	}
	return "<error: " + err.Error() + ">"
}

// top writes a value that is not part of another one.
func (p *formatter) top(v Value, typed bool) {
	if v.err != nil {
		p.write(errorText(v.err))
		return
	}
	t := v.Type.Strip()
	if _, err := p.prog.Bytes(v); v.lost != nil && t.Kind != Struct && t.Kind != Array && err != nil {
		p.write(errorText(err))
		return
	}
	switch t.Kind {
	case Reference, RvalueReference:
		if typed && !v.Type.Rust() && (p.o.Raw || !p.prog.displayed(t.Elem().Strip())) {
			p.write("(" + v.Type.Unqualified().String() + ") ")
		}
		p.reference(v)
		return
	case Pointer:
		rust, elem := v.Type.Rust(), t.Elem()
		if typed && p.o.Letter == 0 && (!rust && !(t == v.Type.Unqualified() && namesText(elem)) || rust && elem.Strip().Kind != Function) {
			p.write("(" + v.Type.String() + ") ")
		}
	}
	if p.class != "" && t.Kind == Struct && (p.o.Raw || !p.prog.displayed(t)) {
		p.write("(" + p.class + ") ")
	}
	p.value(v)
}

// namesText reports whether what a pointer to the type points to is taken for text, so that
// print leaves the pointer's type out. gdb does not do so for typedefs or signed char.
func namesText(elem *Type) bool {
	switch elem.Unqualified().Name {
	case "char", "wchar_t", "char16_t", "char32_t":
		return true
	}
	return false
}

func (p *formatter) reference(v Value) {
	if v.synthetic() {
		p.write("<synthetic pointer>")
		if target := v.pointedTo(v.Type.Strip().Elem()); p.depth == 0 && target.err == nil {
			p.write(": ")
			p.value(target)
		}
		return
	}
	a, err := p.prog.Uint(v)
	if err != nil {
		p.write(errorText(err))
		return
	}
	target := MemoryValue(v.Type.Strip().Elem(), addr.Run(a))
	if s := target.Type.Strip(); !p.o.Raw && p.prog.displayed(s) { // gdb's printers look through references
		p.value(target)
		return
	}
	p.write(fmt.Sprintf("@%#x", a))
	if p.depth == 0 {
		p.write(": ")
		p.value(target)
	}
}

// value writes a value of any kind.
func (p *formatter) value(v Value) {
	if p.full() {
		p.write("...")
		return
	}
	if v.err != nil {
		p.write(errorText(v.err))
		return
	}
	if v.synthetic() {
		p.write("<synthetic pointer>")
		return
	}
	t := v.Type.Strip()
	switch t.Kind {
	case Struct:
		p.structure(v, t)
		return
	case Array:
		p.array(v, t)
		return
	case Function:
		a, _ := v.Addr()
		p.write("{" + v.Type.String() + "} " + p.codeAddr(uint64(a)))
		return
	case Reference, RvalueReference:
		p.depth++
		p.reference(v)
		p.depth--
		return
	case Void:
		if v.Type.unknown {
			p.write(v.Type.Name)
			return
		}
		p.write("void")
		return
	}
	if v.Type.Size() > maxRead {
		p.write(fmt.Sprintf("<error: value of %d bytes>", v.Type.Size()))
		return
	}
	p.scalar(v, t)
}

// codeAddr is an address with its symbol.
func (p *formatter) codeAddr(a uint64) string {
	if s := p.symbol(a); s != "" {
		return fmt.Sprintf("%#x %s", a, s)
	}
	return fmt.Sprintf("%#x", a)
}

func (p *formatter) symbol(a uint64) string {
	if p.prog.Symbol == nil || a == 0 {
		return ""
	}
	name, off, ok := p.prog.Symbol(addr.Run(a))
	switch {
	case !ok:
		return ""
	case off == 0:
		return "<" + name + ">"
	}
	return fmt.Sprintf("<%s+%d>", name, off)
}

func (p *formatter) structure(v Value, t *Type) {
	if p.depth >= p.o.Depth || p.o.NoUnions && p.depth > 0 && t.Tag == dwarf.TagUnionType {
		p.write("{...}")
		return
	}
	p.depth++
	defer func() { p.depth-- }()
	v = p.prog.Load(v)
	if !p.o.Raw && p.library(v, t) {
		return
	}
	if t.Rust() {
		p.rustStruct(v, t)
		return
	}
	if t.decl {
		p.incomplete(v, t)
		return
	}
	if n := t.Size(); v.place == inMemory && v.data == nil && n > 0 && n <= maxRead {
		if _, err := p.prog.ReadMemory(v.addr, int(n)); err != nil {
			p.write(errorText(err))
			return
		}
	}
	p.members(v, t, true)
}

// members writes {a = 1, b = 2}.
func (p *formatter) members(v Value, t *Type, braces bool) {
	if braces {
		p.write("{")
	}
	fields := t.Fields()
	n, own := 0, 0
	for i := range fields {
		f := &fields[i]
		if p.full() {
			p.write(", ...")
			break
		}
		if f.artificial && f.Name == "" || f.Static && p.o.NoStatics {
			continue
		}
		if f.Base && f.Virtual {
			if a, ok := p.prog.Member(v, f).Addr(); ok {
				if p.virtual[a] {
					continue
				}
				if p.virtual == nil {
					p.virtual = map[addr.Run]bool{}
				}
				p.virtual[a] = true
			}
		}
		if n > 0 {
			p.write(", ")
		}
		p.newline(1)
		if n > own && !f.Base && own == 0 && p.o.Pretty { // as gdb separates them from the bases
			p.write("members of " + t.String() + ":")
			p.newline(1)
		}
		n++
		if !f.Base {
			own++
		}
		switch {
		case f.Base:
			p.write("<" + f.Name + "> = ")
		case f.Static:
			p.write("static " + f.Name + " = ")
			p.static(t, f)
			continue
		case f.Name != "":
			p.write(f.Name + " = ")
		}
		p.value(p.prog.Member(v, f))
	}
	if own == 0 {
		if n > 0 {
			p.write(", ")
		}
		p.write("<No data fields>")
	} else if braces {
		p.newline(0)
	}
	if braces {
		p.write("}")
	}
}

// newline begins a new line for a member if the options ask for it.
func (p *formatter) newline(extra int) {
	if p.o.Pretty {
		p.line(p.depth - 1 + extra)
	}
}

// line begins a new line that is indented by levels.
func (p *formatter) line(levels int) {
	p.b.Truncate(len(bytes.TrimRight(p.b.Bytes(), " ")))
	p.write("\n" + strings.Repeat("  ", levels))
}

// static writes a static member. A static member of a class that is of that class itself is
// not written again inside of it.
func (p *formatter) static(t *Type, f *Field) {
	v, ok := p.prog.staticMember(t, f)
	switch {
	case !ok:
		p.write("<optimized out>")
	case v.Type.Strip() == t.Strip() && p.depth > 1:
		p.write("<same as static member of an already seen type>")
	default:
		p.value(v)
	}
}

func (p *formatter) array(v Value, t *Type) {
	n, elem := t.Count(), t.Row()
	size := elem.Size()
	if n = max(n, 0); size == 0 {
		n = min(n, int64(p.o.Elements))
	}
	if at, ok := v.Addr(); ok && t.Size() == 0 && !t.Rust() && size > 0 { // a flexible array is like a pointer to its elements
		p.pointer(elem.PointerTo(), uint64(at))
		return
	}
	v = p.prog.Load(v)
	if textual(elem) && p.o.Letter == 0 || p.o.Letter == 's' && elem.Size() == 1 {
		p.chars(v, n, elem)
		return
	}
	if p.depth >= p.o.Depth {
		p.write("{...}")
		return
	}
	if n == 0 {
		p.write("{}")
		return
	}
	if v.place == inMemory && v.data == nil { // an error is said once, not for each element
		if _, err := p.prog.ReadMemory(v.addr, int(min(max(size, 1), maxRead))); err != nil {
			p.write(errorText(err))
			return
		}
	}
	open, end := "{", "}"
	if t.Rust() {
		open, end = "[", "]"
	}
	p.depth++
	p.write(open)
	p.sequence(n, func(i int64) Value { return v.Part(elem, i*size) })
	p.write(end)
	p.depth--
}

// sequence writes n elements. Runs of equal elements are written once with their length.
func (p *formatter) sequence(n int64, at func(int64) Value) {
	if p.o.Array && n > 0 {
		p.line(p.depth)
		defer func() { p.line(p.depth - 1) }()
	}
	shown := false
	left := p.o.Elements
	for i := int64(0); i < n; {
		if left <= 0 || p.full() {
			p.write("...")
			return
		}
		if shown {
			p.write(", ")
			if p.o.Array {
				p.line(p.depth)
			}
		}
		shown = true
		e := at(i)
		same := int64(1)
		if b, err := p.prog.Bytes(e); p.o.Repeats < MaxElements && (err == nil && len(b) > 0 || errors.Is(err, errLost)) {
			for i+same < n && same < MaxElements {
				next, other := p.prog.Bytes(at(i + same))
				if (err == nil) != (other == nil) || string(next) != string(b) {
					break
				}
				same++
			}
		}
		p.value(e)
		var me *MemoryError
		if _, err := p.prog.Bytes(e); errors.As(err, &me) && i > 0 {
			p.write("...") // what follows is behind it, and cannot be read either
			return
		}
		left--
		if same > int64(p.o.Repeats) {
			p.write(fmt.Sprintf(" <repeats %d times>", same))
			i += same
			left -= p.o.Repeats - 1
		} else {
			i++
		}
	}
}
