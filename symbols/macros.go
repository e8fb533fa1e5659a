package symbols

import (
	"fmt"
	"slices"
	"strings"

	"hdb/internal/addr"
	"hdb/symbols/dwarf"
	"hdb/symbols/dwarf/macro"
	"hdb/symbols/elf"
)

// A Macro is a macro of the preprocessor, and where it is defined.
type Macro struct {
	macro.Macro
	Place MacroPlace
}

// A MacroPlace is where a macro is defined.
type MacroPlace struct {
	File string // "" of a built-in one
	Line int    // 0: by the compiler or on its command line
	// Included are the places that include the file, the innermost first.
	Included []MacroPlace
}

// Macros are the macros that hold at a place in the source.
type Macros struct {
	byName map[string]Macro
}

// Named is the macro with a name.
func (m *Macros) Named(name string) (Macro, bool) {
	if m == nil {
		return Macro{}, false
	}
	x, ok := m.byName[name]
	return x, ok
}

// All are the macros in the order of their names.
func (m *Macros) All() []Macro {
	if m == nil {
		return nil
	}
	list := make([]Macro, 0, len(m.byName))
	for _, x := range m.byName {
		list = append(list, x)
	}
	slices.SortFunc(list, func(a, b Macro) int { return strings.Compare(a.Name, b.Name) })
	return list
}

// Macros are the macros that hold at a line of the source of the code at a, nil if the
// debug information of its unit has none. At a file that the unit does not have, they are
// those at its end.
func (d *DWARF) Macros(a addr.File, file string, line int) (m *Macros, err error) {
	fault := elf.Guard(func() {
		dw, unit := d.dwarfAt(a)
		if dw == nil {
			return
		}
		u := dw.body(unit)
		off, info, ok := macroOffset(u)
		if !ok {
			if u = dw.units[unit]; u != dw.body(unit) { // the skeleton of a split unit
				off, info, ok = macroOffset(u)
			}
		}
		if !ok {
			return
		}
		b := &macroBuilder{d: dw, u: u, file: file, line: line, macros: &Macros{byName: map[string]Macro{}}}
		m = b.macros
		err = macro.Read(d.macroSections(u), off, info, b.add)
	})
	if fault != nil {
		return nil, fault
	}
	return m, err
}

// macroOffset is where the macros of a unit are, by an attribute of its root.
func macroOffset(u *dwarf.Unit) (off uint64, info, ok bool) {
	root := u.Root()
	for _, at := range []dwarf.At{dwarf.AtMacros, dwarf.AtGNUMacros, dwarf.AtMacroInfo} {
		if v, has := root.Attr(at); has {
			return v.Uint(), at == dwarf.AtMacroInfo, true
		}
	}
	return 0, false, false
}

// macroSections are the sections that macros are in.
func (d *DWARF) macroSections(u *dwarf.Unit) macro.Sections {
	s := macro.Sections{Str: u.Data.Str, Index: u.IndexedString}
	s.Macro, _, _ = d.file.Section(".debug_macro")
	s.Macinfo, _, _ = d.file.Section(".debug_macinfo")
	if alt := u.Data.Alt(); alt != nil {
		s.AltStr = alt.Str
	}
	return s
}

// A macroBuilder follows the directives of a unit up to a place.
type macroBuilder struct {
	d      *debugInfo
	u      *dwarf.Unit
	file   string
	line   int
	macros *Macros
	open   []MacroPlace // the file that directives are in, and those that include it
}

// maxIncluded bounds files that include one another.
const maxIncluded = 200

// add follows a directive. It returns false where the place is reached.
func (b *macroBuilder) add(e macro.Entry) bool {
	at := func() MacroPlace { return MacroPlace{Line: int(min(e.Line, 1<<31))} }()
	if n := len(b.open); n > 0 && e.Kind != macro.End {
		inner := b.open[n-1]
		at.File, at.Included = inner.File, inner.Included
		if at.File == b.file && at.Line > b.line {
			return false
		}
	}
	switch e.Kind {
	case macro.Start:
		next := MacroPlace{File: b.d.file(b.u, e.File)}
		if len(b.open) > 0 {
			next.Included = append([]MacroPlace{{File: at.File, Line: at.Line}}, at.Included...)
		}
		b.open = append(b.open, next)
		return len(b.open) < maxIncluded
	case macro.End:
		if n := len(b.open); n > 0 {
			ended := b.open[n-1]
			b.open = b.open[:n-1]
			return ended.File != b.file // the place is its last line
		}
	case macro.Define:
		if m, ok := macro.Parse(e.Text); ok {
			b.macros.byName[m.Name] = Macro{m, at}
		}
	case macro.Undef:
		delete(b.macros.byName, strings.TrimSpace(string(e.Text)))
	}
	return true
}

// String is the definition as written in C.
func (m Macro) String() string {
	text := "#define " + m.Name
	if m.Function {
		text += "(" + strings.Join(m.Params, ", ") + ")"
	}
	if m.Body != "" {
		text += " " + m.Body
	}
	return text
}

// String is FILE:LINE.
func (p MacroPlace) String() string {
	if p.File == "" {
		return "the compiler or its command line"
	}
	return fmt.Sprintf("%s:%d", p.File, p.Line)
}
