// Package gotext makes text of values of Go programs.
package gotext

import (
	"cmp"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"hdb/inferior/delve"
	"hdb/values"
)

// maxIndent bounds the indentation of nested values.
const maxIndent = 20

// Format is a value of a Go program as text, in the notation of Go's own debugger: types are before
// values, lengths before elements.
func Format(v delve.Value, o values.Options) string {
	if o.Elements <= 0 || o.Elements > values.MaxElements {
		o.Elements = values.MaxElements
	}
	if o.Depth == 0 {
		o.Depth = values.UsualDepth
	}
	p := &formatter{o: o}
	p.value(v, true, 0)
	return p.b.String()
}

type formatter struct {
	o values.Options
	b strings.Builder
}

func (p *formatter) write(s ...string) {
	for _, x := range s {
		p.b.WriteString(x)
	}
}

// value writes a value. typed is false if the type is known from the context, as it is for
// the elements of a slice.
func (p *formatter) value(v delve.Value, typed bool, depth int) {
	switch {
	case p.b.Len() > values.MaxText:
		p.write("...")
		return
	case v.Err != "":
		p.write(errorText(v.Err))
		return
	case v.Kind == reflect.Struct && v.Text != "" && !p.o.Raw: // the time that a time.Time is
		p.write(v.Type, "(", strconv.Quote(v.Text), ")")
		return
	}
	switch v.Kind {
	case reflect.Pointer, reflect.UnsafePointer:
		p.pointer(v, depth)
	case reflect.Slice, reflect.Array, reflect.Struct, reflect.Map:
		if typed {
			p.write(v.Type, " ")
		}
		p.composite(v, typed, depth)
	case reflect.Chan:
		p.channel(v)
	case reflect.Interface:
		p.interfaceValue(v, typed, depth)
	case reflect.Func:
		p.write(cmp.Or(v.Text, "nil"))
	case reflect.String:
		p.write(strconv.Quote(v.Text))
		if more := v.Len - int64(len(v.Text)); more > 0 {
			p.write(fmt.Sprintf("...+%d more", more))
		}
	default:
		p.number(v)
	}
}

// composite writes a value that consists of others, after its type.
func (p *formatter) composite(v delve.Value, typed bool, depth int) {
	switch v.Kind {
	case reflect.Slice, reflect.Array:
		if typed && v.Kind == reflect.Slice {
			capacity := strconv.FormatInt(v.Cap, 10)
			if v.Cap < 0 {
				capacity = "<optimized out>"
			}
			p.write(fmt.Sprintf("len: %d, cap: %s, ", v.Len, capacity))
		}
		if v.Kind == reflect.Slice && v.Base == 0 && v.Len == 0 {
			p.write("nil")
			return
		}
		p.list("[", "]", len(v.Children), v.Len, depth, func(i int) int { return p.elements(v.Children, i, depth+1) })
	case reflect.Struct:
		p.list("{", "}", len(v.Children), v.Len, depth, func(i int) int {
			p.write(v.Children[i].Name, ": ")
			p.value(v.Children[i], true, depth+1)
			return 1
		})
	case reflect.Map:
		if v.Base == 0 && v.Len == 0 && len(v.Children) == 0 {
			p.write("nil")
			return
		}
		p.list("[", "]", len(v.Children)/2, v.Len, depth, func(i int) int {
			p.value(v.Children[2*i], false, depth+1)
			p.write(": ")
			p.value(v.Children[2*i+1], false, depth+1)
			return 1
		})
	}
}

// errorText is the text in place of a value that cannot be read. If delve finds no
// location, the compiler has described none.
func errorText(text string) string {
	if strings.HasPrefix(text, "could not find loclist entry") || strings.Contains(text, "empty OP stack") {
		return "<optimized out>"
	}
	if strings.HasPrefix(text, "optimized out") {
		return "<" + text + ">"
	}
	return "<error: " + text + ">"
}

// elements writes element i of a slice or array and the number of equal elements that
// follow it. It returns the number of elements that it has covered.
func (p *formatter) elements(list []delve.Value, i, depth int) int {
	same := 1
	for e := list[i]; i+same < len(list) && len(e.Children) == 0; same++ {
		if next := list[i+same]; next.Err != e.Err || next.Bits != e.Bits || next.Text != e.Text || next.Base != e.Base || next.Len != e.Len || len(next.Children) > 0 {
			break
		}
	}
	p.value(list[i], false, depth)
	if same < values.MinRepeats {
		return 1
	}
	p.write(fmt.Sprintf(" <repeats %d times>", same))
	return same
}

// list writes the parts that were read, and the number of those that were not; ... for all that are
// deeper than the options ask for. part writes part i and returns the number of parts that it has covered.
func (p *formatter) list(open, end string, n int, all int64, depth int, part func(int) int) {
	p.write(open)
	if all > 0 && (n == 0 || depth >= p.o.Depth) {
		p.write("...", end)
		return
	}
	for i := 0; i < n; {
		if i > 0 {
			p.write(", ")
		}
		if p.b.Len() > values.MaxText {
			p.write("...")
			break
		}
		p.newline(depth + 1)
		i += part(i)
	}
	if all > int64(n) {
		p.write(fmt.Sprintf(", ...+%d more", all-int64(n)))
	}
	if n > 0 {
		p.newline(depth)
	}
	p.write(end)
}

// newline begins a new line for a part if the options ask for it.
func (p *formatter) newline(depth int) {
	if p.o.Pretty {
		p.write("\n", strings.Repeat("  ", min(depth, maxIndent)))
	}
}

func (p *formatter) pointer(v delve.Value, depth int) {
	switch {
	case v.Kind == reflect.UnsafePointer:
		p.write(fmt.Sprintf("unsafe.Pointer(%#x)", v.Bits))
	case v.Bits == 0:
		p.write(v.Type, " nil")
	case len(v.Children) > 0 && !v.Children[0].Unread && p.o.Letter == 0:
		p.write("*")
		p.value(v.Children[0], true, depth)
	default:
		p.write(fmt.Sprintf("(%s)(%#x)", v.Type, v.Bits))
	}
}

// channel writes the length and the capacity of a channel.
func (p *formatter) channel(v delve.Value) {
	p.write(v.Type, " ")
	var waiting, room string
	for _, f := range v.Children {
		switch f.Name {
		case "qcount":
			waiting = f.Text
		case "dataqsiz":
			room = f.Text
		}
	}
	if room == "" {
		p.write("nil")
		return
	}
	p.write(waiting, "/", room)
}

// interfaceValue writes what an interface holds.
func (p *formatter) interfaceValue(v delve.Value, typed bool, depth int) {
	if len(v.Children) == 0 || v.Children[0].Kind == reflect.Invalid {
		if typed {
			p.write(v.Type, " ")
		}
		p.write("nil")
		return
	}
	p.write(v.Type, "(", v.Children[0].Type, ") ")
	if v.Children[0].Unread {
		p.write("...")
		return
	}
	p.value(v.Children[0], false, depth)
}

// number writes a scalar in the format that the options ask for.
func (p *formatter) number(v delve.Value) {
	sizes := map[reflect.Kind]int{reflect.Int8: 1, reflect.Uint8: 1, reflect.Int16: 2, reflect.Uint16: 2, reflect.Int32: 4, reflect.Uint32: 4, reflect.Float32: 4,
		reflect.Int: 8, reflect.Uint: 8, reflect.Int64: 8, reflect.Uint64: 8, reflect.Uintptr: 8, reflect.Float64: 8}
	size := sizes[v.Kind]
	if p.o.Letter == 0 || p.o.Letter == 's' || p.o.Letter == 'f' || size == 0 {
		p.write(cmp.Or(v.Text, fmt.Sprintf("<%s without a value>", v.Kind)))
		return
	}
	drop := 64 - 8*size // the bits that the type does not have
	n := v.Bits << drop >> drop
	switch p.o.Letter {
	case 'x', 'a':
		p.write(fmt.Sprintf("%#x", n))
	case 'z':
		p.write(fmt.Sprintf("0x%0*x", 2*size, n))
	case 'o':
		p.write(fmt.Sprintf("%#o", n))
	case 't':
		p.write(strconv.FormatUint(n, 2))
	case 'u':
		p.write(strconv.FormatUint(n, 10))
	case 'c':
		p.write(fmt.Sprintf("%d %s", n, strconv.QuoteRune(rune(n))))
	default:
		p.write(strconv.FormatInt(int64(v.Bits<<drop)>>drop, 10))
	}
}
