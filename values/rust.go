package values

import (
	"fmt"
	"strconv"
	"strings"

	"hdb/symbols/dwarf"
)

// rustName is the name of a type in Rust.
func rustName(t *Type, depth int) string {
	if depth > maxTypeDepth {
		return "..."
	}
	switch t.Kind {
	case Pointer:
		if t.Name != "" {
			return t.Name
		}
		return "*mut " + rustName(t.Elem(), depth+1)
	case Array:
		return fmt.Sprintf("[%s; %d]", rustName(t.Row(), depth+1), t.Count())
	case Function:
		var list []string
		params, _ := t.entry().parameters()
		for _, p := range params[:min(len(params), maxParameters)] {
			list = append(list, rustName(p, depth+1))
		}
		text := "fn (" + strings.Join(list, ", ") + ")"
		if t.die.Has(dwarf.AtType) {
			text += " -> " + rustName(t.Elem(), depth+1)
		}
		return text
	case Void:
		return "()"
	}
	if t.Name == "" {
		return "{unnamed}"
	}
	return t.Name
}

// rustText is a struct or enum of Rust as gdb's ptype shows it.
func rustText(t *Type, indent int) string {
	pad := strings.Repeat(" ", 4*(indent+1))
	var b strings.Builder
	t.read()
	if t.parts != nil {
		pad = strings.Repeat(" ", 2*(indent+1)) // gdb's
		b.WriteString("enum " + t.Name + " {\n")
		for _, v := range t.parts.variants {
			if !v.hasPayload {
				continue
			}
			b.WriteString(pad + v.member.Name)
			pt := v.member.Type.Strip()
			b.WriteString(rustFields(pt))
			b.WriteString(",\n")
		}
		return b.String() + strings.Repeat(" ", 4*indent) + "}"
	}
	word := "struct "
	if t.Tag == dwarf.TagUnionType {
		word = "union "
	}
	tuple := isTuple(t)
	if tuple && strings.HasPrefix(t.Name, "(") {
		return t.Name
	}
	b.WriteString(word + t.Name)
	if len(t.Fields()) == 0 {
		return b.String()
	}
	open, end := brackets(tuple)
	b.WriteString(" " + open + "\n")
	for _, f := range t.Fields() {
		b.WriteString(pad + rustField(f, tuple) + ",\n")
	}
	return b.String() + strings.Repeat(" ", 4*indent) + end
}

// brackets are around the members of a struct or tuple.
func brackets(tuple bool) (open, end string) {
	if tuple {
		return "(", ")"
	}
	return "{", "}"
}

// rustField is a member of a struct or tuple in the text of its type.
func rustField(f Field, tuple bool) string {
	if tuple {
		return rustName(f.Type, 0)
	}
	return f.Name + ": " + rustName(f.Type, 0)
}

// rustFields are the members of a variant in the text of its enum.
func rustFields(t *Type) string {
	var parts []string
	tuple := isTuple(t)
	for _, f := range t.Fields() {
		parts = append(parts, rustField(f, tuple))
	}
	if len(parts) == 0 {
		return ""
	}
	open, end := brackets(tuple)
	return open + strings.Join(parts, ", ") + end
}

// isTuple reports whether a struct is a tuple, whose members are __0, __1 and so on.
func isTuple(t *Type) bool {
	fields := t.Fields()
	for i, f := range fields {
		if f.Name != "__"+strconv.Itoa(i) {
			return false
		}
	}
	return len(fields) > 0
}

// rustStruct writes a struct, tuple or enum of Rust.
func (p *formatter) rustStruct(v Value, t *Type) {
	t.read()
	if t.parts != nil {
		p.rustEnum(v, t)
		return
	}
	p.rustMembers(v, t, strings.TrimSpace(t.Name), " ")
}

// rustMembers writes Name {x: 1} or Name (1); gdb writes no space after the name
// of a variant.
func (p *formatter) rustMembers(v Value, t *Type, name, blank string) {
	fields := t.Fields()
	tuple := isTuple(t)
	if strings.HasPrefix(name, "(") {
		name = ""
	}
	p.write(name)
	if len(fields) == 0 {
		if name == "" {
			p.write("()")
		}
		return
	}
	open, end := brackets(tuple)
	if name != "" {
		open = blank + open
	}
	p.write(open)
	for i := range fields {
		f := &fields[i]
		if i > 0 {
			p.write(", ")
		}
		if p.full() {
			p.write("...")
			break
		}
		if !tuple {
			p.write(f.Name + ": ")
		}
		p.value(p.prog.Member(v, f))
	}
	p.write(end)
}

func (p *formatter) rustEnum(v Value, t *Type) {
	x, err := p.prog.variantOf(v, t)
	switch {
	case err != nil:
		p.write(errorText(err))
	case !x.hasPayload:
		p.write(t.Name)
	default:
		p.rustMembers(p.prog.Member(v, &x.member), x.member.Type.Strip(), t.Name+"::"+x.member.Name, "")
	}
}
