package symbols

import (
	"cmp"
	"debug/gosym"
	"fmt"
	"slices"
	"sync"

	"hdb/internal/addr"
	"hdb/symbols/dwarf"
	"hdb/symbols/elf"
)

// goTable is the function and line table that Go programs need at run time and
// keep when stripped (.gopclntab). It knows no inlined frames.
type goTable struct {
	once  sync.Once
	table *gosym.Table // nil without
}

// pclntab is the Go table, read when neither DWARF nor a symbol table is there.
func (o *Object) pclntab() *gosym.Table {
	o.goTable.once.Do(func() { o.goTable.table = readPclntab(o.elf) })
	return o.goTable.table
}

func readPclntab(f *elf.File) *gosym.Table {
	if t, err := f.Symtab(); err != nil || t.Len() > 1 {
		return nil
	}
	data, err := f.Section(".gopclntab")
	if err != nil || data == nil {
		if data, err = f.Section(".data.rel.ro.gopclntab"); err != nil || data == nil {
			return nil
		}
	}
	text := f.SectionIndex(".text")
	if text < 0 {
		return nil
	}
	table, err := newGoTable(data, uint64(f.Sections[text].Addr))
	if err != nil {
		return nil
	}
	return table
}

// pclntab is the Go table of a program without DWARF. It has lines, which the symbols
// that the dynamic linker needs have not.
func (m *MachO) pclntab() *gosym.Table {
	m.goTable.once.Do(func() {
		data, text := m.file.Section("__gopclntab"), m.file.Section("__text")
		if m.dw != nil || data == nil || text == nil {
			return
		}
		if b, err := m.file.Contents(data); err == nil {
			m.goTable.table, _ = newGoTable(b, text.Addr) // damaged is none
		}
	})
	return m.goTable.table
}

// newGoTable parses a table. debug/gosym indexes foreign bytes without checks in
// places; its panics are the file's fault.
func newGoTable(data []byte, text uint64) (t *gosym.Table, err error) {
	defer recoverMalformed(&err)
	return gosym.NewTable(nil, gosym.NewLineTable(data, text))
}

// recoverMalformed turns a bounds error of debug/gosym into an error.
func recoverMalformed(err *error) {
	if r := recover(); r != nil {
		*err = fmt.Errorf(".gopclntab is malformed: %v", r)
	}
}

// goFunction is the function at a of the Go table.
func (o *Object) goFunction(a addr.File) (fn Function, ok bool) { return goFunction(o.pclntab(), a) }

func goFunction(t *gosym.Table, a addr.File) (fn Function, ok bool) {
	if t == nil {
		return Function{}, false
	}
	var err error
	defer func() { ok = ok && err == nil }()
	defer recoverMalformed(&err)
	f := t.PCToFunc(uint64(a))
	if f == nil {
		return Function{}, false
	}
	return fromGo(t, f), true
}

func fromGo(t *gosym.Table, f *gosym.Func) Function {
	file, line, _ := t.PCToLine(f.Entry)
	return Function{
		Name: f.Name, Low: addr.File(f.Entry), High: addr.File(f.End), Breakpoint: addr.File(f.Entry),
		File: file, Line: line, DeclFile: file, DeclLine: line, Source: FromPclntab, Language: dwarf.LangGo,
	}
}

// lookupGo is Lookup by the Go table.
func (o *Object) lookupGo(a addr.File) []Frame { return lookupGo(o.pclntab(), a) }

func lookupGo(t *gosym.Table, a addr.File) []Frame {
	fn, ok := goFunction(t, a)
	if !ok {
		return nil
	}
	frame := Frame{Function: fn.Name, Entry: fn.Low, Source: FromPclntab, Language: dwarf.LangGo}
	var err error
	func() {
		defer recoverMalformed(&err)
		frame.File, frame.Line, _ = t.PCToLine(uint64(a))
	}()
	return []Frame{frame}
}

// goNamed lists the functions of the Go table that match, by address.
func (o *Object) goNamed(match func(name string) bool) []Function { return goNamed(o.pclntab(), match) }

func goNamed(t *gosym.Table, match func(name string) bool) (list []Function) {
	if t == nil {
		return nil
	}
	var err error
	defer recoverMalformed(&err)
	for i := range t.Funcs {
		if f := &t.Funcs[i]; match(f.Name) {
			list = append(list, fromGo(t, f))
		}
	}
	slices.SortFunc(list, func(a, b Function) int { return cmp.Compare(a.Low, b.Low) })
	return list
}
