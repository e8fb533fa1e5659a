package values

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"

	"hdb/symbols/dwarf"
)

// A Change is a part of a variable with two values.
type Change struct {
	Name     string // as an expression names it: "list.head[2]"
	Old, New Value
}

// Changes are the smallest parts of a variable whose bytes differ between its two values, in the order in which they
// lie. What a printer shows as one value and a string are not divided, and a union is as its first member of its size.
// The values must hold their bytes; at most the given number is compared.
func Changes(name string, before, after Value, most int) []Change {
	d := differ{most: most}
	d.parts(Change{name, before, after}, 0)
	return d.found
}

type differ struct {
	most  int
	found []Change
}

func (d *differ) parts(c Change, depth int) {
	if len(d.found) >= d.most || c.Old.err != nil || c.New.err != nil || bytes.Equal(c.Old.data, c.New.data) {
		return
	}
	t := c.Old.Type.Strip()
	switch {
	case depth > maxTypeDepth, c.Old.bits > 0:
	case t.Kind == Array && t.Count() > 0 && !t.vector && !textual(t.Row()):
		d.elements(c, t, depth)
		return
	case t.Kind == Struct && t.Variants() == nil && t.prog.printer(t) == nil && len(t.Fields()) > 0:
		if d.members(c, t, depth) {
			return
		}
	}
	d.found = append(d.found, c)
}

func (d *differ) elements(c Change, t *Type, depth int) {
	row := t.Row()
	size := row.Size()
	if size <= 0 {
		d.found = append(d.found, c)
		return
	}
	held := int64(min(len(c.Old.data), len(c.New.data))) / size // a file may claim any count
	for i := range min(t.Count(), held) {
		if len(d.found) >= d.most {
			return
		}
		before, after := c.Old.Part(row, i*size), c.New.Part(row, i*size)
		if bytes.Equal(before.data, after.data) {
			continue // most are: no name is made for them
		}
		d.parts(Change{fmt.Sprintf("%s[%d]", operand(c.Name), i), before, after}, depth+1)
	}
}

// members divides a struct. Bytes that belong to no member, as padding, are of no interest. Of a
// union it is the first member that is as wide; false: there is none.
func (d *differ) members(c Change, t *Type, depth int) bool {
	r := &t.prog.Reader
	union := t.Tag == dwarf.TagUnionType
	for i := range t.Fields() {
		f := &t.Fields()[i]
		if f.Static || f.offExpr != nil || union && (f.BitSize > 0 || f.Type.Size() != t.Size()) {
			continue
		}
		name := c.Name
		if f.Name != "" && !f.Base {
			name = memberName(c.Name, f.Name)
		}
		part := Change{name, r.Member(c.Old, f), r.Member(c.New, f)}
		if f.BitSize > 0 && sameBits(part.Old, part.New) {
			continue
		}
		d.parts(part, depth+1)
		if union {
			return true
		}
	}
	return !union
}

// memberName names a member of what an expression names.
func memberName(of, name string) string {
	if pointer, ok := strings.CutPrefix(of, "*"); ok && operand(pointer) == pointer {
		return pointer + "->" + name
	}
	return operand(of) + "." + name
}

// operand is an expression as . and [] can follow it.
func operand(expr string) string {
	path := expr
	if end := closing(expr); end > 0 && (end == len(expr) || expr[end] == '[' || expr[end] == '.') {
		path = expr[end:]
	}
	plain := strings.ReplaceAll(strings.ReplaceAll(path, "->", "."), "::", ".")
	if strings.ContainsFunc(plain, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("_$.[]", r)
	}) {
		return "(" + expr + ")"
	}
	return expr
}

// closing is where the parenthesis ends that expr begins with, 0 if there is none.
func closing(expr string) int {
	depth := 0
	for i, c := range expr {
		switch c {
		case '(':
			depth++
		case ')':
			depth--
		}
		if depth == 0 {
			if i == 0 {
				return 0
			}
			return i + 1
		}
	}
	return 0
}

// sameBits reports that bit fields are equal, whatever the bits around them are.
func sameBits(a, b Value) bool {
	for i := a.bitOff; i < a.bitOff+a.bits; i++ {
		at, bit := i/8, uint(i%8)
		if at >= int64(len(a.data)) || at >= int64(len(b.data)) {
			return false
		}
		if (a.data[at]^b.data[at])>>bit&1 != 0 {
			return false
		}
	}
	return true
}
