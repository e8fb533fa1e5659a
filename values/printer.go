package values

import (
	"iter"

	"hdb/internal/addr"
)

// Printers is a table of the printers of libraries: of containers, strings, smart
// pointers.
type Printers interface {
	// Printer is the printer for a type without typedefs and qualifiers, nil if its
	// values are printed as structs.
	Printer(t *Type) *Printer
	// TypeName is the short name of a type, without default template arguments.
	TypeName(name string) string
}

// A Printer describes the values of a type of a library. It is given a value and a reader,
// and does not know how its description becomes text. Each of its functions may be nil. It
// reports false for a value without the members that it expects.
type Printer struct {
	// Display describes the contents of a value.
	Display func(r *Reader, v Value) (Display, bool)
	// Pointer is the pointer in a smart pointer, which * and -> follow.
	Pointer func(r *Reader, v Value) (Value, bool)
	// Element is element i, as operator[] gives it.
	Element func(r *Reader, v Value, i int64) (Value, bool)
	// Method is the result of a member function, read from memory. It reports false for a
	// function that it does not know. Those that a Display answers, as size, are not asked.
	Method func(r *Reader, v Value, name string) (Value, error, bool)
	// Keyed tells that operator[] finds an element by its key.
	Keyed bool
}

// A Display describes the contents of a value. It has a head and at most one of a value, a
// text, elements, items and members. Items may follow a text.
type Display struct {
	Head     string // the name, lengths and counts
	Tail     string // is behind Value or Text
	Err      error  // why the rest cannot be read
	Len      *int64 // how many elements there are, if the value is a container
	Value    *Value // what the value represents, as the element of an iterator
	Text     *Text
	Elements *Elements
	Items    iter.Seq2[Item, error] // an error ends them
	Inline   bool                   // Items are on one line, as elements of an array do
	Members  []Member
}

// A Text is a string of a program.
type Text struct {
	Elem *Type    // the type of its characters; nil: bytes of UTF-8
	Addr addr.Run // where they lie; 0 if only Data is known
	Data []byte   // the characters, when they are known
	Len  uint64   // characters
}

// Elements are a sequence of values of one type. Runs of equal elements are written once
// with their length.
type Elements struct {
	Count int64
	At    func(i int64) Value
}

// An Item is an element of a container, found by iterating over it.
type Item struct {
	Label string // is before the value, when there is no Key
	Key   *Value
	Value Value
	Text  string // in place of the others, for an element without an address
}

// A Member is a fixed part of a value, as the pointer in a smart pointer or the first value
// of a pair.
type Member struct {
	Name    string // "" none
	Value   Value
	Display *Display // in place of Value
}

// printer is the printer for a type without typedefs and qualifiers, nil if it has none.
func (p *Program) printer(t *Type) *Printer {
	if p == nil || p.Printers == nil || t.Kind != Struct {
		return nil
	}
	return p.Printers.Printer(t)
}

// displayed reports whether a printer shows the values of a type.
func (p *Program) displayed(t *Type) bool {
	printer := p.printer(t)
	return printer != nil && printer.Display != nil
}

// printer is the printer for a value, nil if it has none.
func (v Value) printer() *Printer { return v.Type.prog.printer(v.Type.Strip()) }

// smartPointer is the pointer in a smart pointer.
func (v Value) smartPointer() (Value, bool) {
	if p := v.printer(); p != nil && p.Pointer != nil {
		return p.Pointer(&v.Type.prog.Reader, v)
	}
	return Value{}, false
}

// unfollowed is the error of * and -> of an optional without a value.
func (v Value) unfollowed() error {
	p := v.printer()
	if p == nil || p.Pointer == nil || p.Method == nil {
		return nil
	}
	_, err, _ := p.Method(&v.Type.prog.Reader, v, "value")
	return err
}

// element is element i of a container.
func (v Value) element(i int64) (Value, bool) {
	if p := v.printer(); p != nil && p.Element != nil {
		return p.Element(&v.Type.prog.Reader, v, i)
	}
	return Value{}, false
}

// library writes a value as its printer describes it. It reports false if there is none.
func (p *formatter) library(v Value, t *Type) bool {
	printer := p.prog.printer(t)
	if printer == nil || printer.Display == nil {
		return false
	}
	d, ok := printer.Display(&p.prog.Reader, v)
	if ok {
		p.display(&d, t.Rust())
	}
	return ok
}

// display writes a description. The notation of Rust has brackets around elements, and no
// equals sign.
func (p *formatter) display(d *Display, rust bool) {
	p.write(d.Head)
	open, end := "{", "}"
	switch {
	case rust && d.Elements != nil:
		open, end = " [", "]"
	case rust:
		open = " {"
	case d.Head != "":
		open = " = {"
	}
	switch {
	case d.Err != nil:
		if d.Head != "" {
			p.write(" ")
		}
		p.write(errorText(d.Err))
	case d.Value != nil:
		p.depth-- // it is in place of the value around it
		p.value(*d.Value)
		p.depth++
		p.write(d.Tail)
	case d.Text != nil:
		p.text(d.Text)
		p.write(d.Tail)
		if d.Items != nil {
			p.block(open, d, rust, end)
		}
	case d.Elements != nil && (rust || d.Elements.Count > 0):
		p.write(open)
		p.sequence(d.Elements.Count, d.Elements.At)
		p.write(end)
	case d.Items != nil:
		p.block(open, d, rust, end)
	case d.Members != nil:
		p.write(open)
		for i := range d.Members {
			if i > 0 {
				p.write(", ")
			}
			p.newline(1)
			p.part(&d.Members[i], rust)
		}
		p.newline(0)
		p.write(end)
	}
}

// block writes the elements of a container in brackets.
func (p *formatter) block(open string, d *Display, rust bool, end string) {
	p.write(open)
	lines := p.o.Pretty && !d.Inline
	if n := p.items(d.Items, rust, lines); lines && n > 0 {
		p.newline(0)
	}
	p.write(end)
}

func (p *formatter) part(m *Member, rust bool) {
	if m.Name != "" {
		p.write(m.Name + " = ")
	}
	if m.Display != nil {
		p.display(m.Display, rust)
		return
	}
	p.value(m.Value)
}

// text writes the characters of a string, up to the limit of the options.
func (p *formatter) text(t *Text) {
	width, prefix := 1, ""
	if t.Elem != nil {
		width, prefix = int(t.Elem.Size()), prefixOf(t.Elem)
	}
	show := min(int(min(t.Len, MaxElements)), p.o.Elements, maxRead/width)
	b := t.Data
	if b == nil {
		var err error
		if b, err = p.prog.ReadMemory(t.Addr, show*width); err != nil {
			p.write(errorText(err))
			return
		}
	}
	b = b[:min(show*width, len(b))]
	p.write(prefix + p.quoted(b, width, uint64(show) < t.Len))
}

// items writes the elements of a container, each on a line of its own if lines is true. It
// returns their number.
func (p *formatter) items(list iter.Seq2[Item, error], rust, lines bool) (i int) {
	for it, err := range list {
		last := err != nil && rust // an error after Rust's elements has no comma before it
		more := !last && (i >= p.o.Elements || p.full())
		if i > 0 && !last && (rust || !more) { // as gdb, and as rust-gdb
			p.write(", ")
		}
		if lines && !last {
			p.newline(1)
		}
		if more {
			p.write("...")
			return i
		}
		i++
		switch {
		case err != nil:
			p.write(errorText(err))
			return i
		case it.Text != "":
			p.write(it.Text)
		case it.Key != nil && rust:
			p.value(*it.Key)
			p.write(": ")
			p.value(it.Value)
		case it.Key != nil:
			k := p.prog.formatter(p.f, p.o)
			k.depth = p.depth
			k.value(*it.Key)
			p.write("[" + k.b.String() + "] = ")
			p.value(it.Value)
		default:
			if it.Label != "" {
				p.write(it.Label + " = ")
			}
			p.value(it.Value)
		}
	}
	return i
}

// typeName is the short name of a type.
func (p *Program) typeName(name string) string {
	if p == nil || p.Printers == nil {
		return name
	}
	return p.Printers.TypeName(name)
}
