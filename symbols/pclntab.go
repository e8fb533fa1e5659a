package symbols

import (
	"cmp"
	"debug/gosym"
	"encoding/binary"
	"fmt"
	"slices"
	"sync"

	"hdb/internal/addr"
	"hdb/symbols/dwarf"
	"hdb/symbols/elf"
)

// goTable is the function and line table that Go programs need at run time and
// keep when stripped (.gopclntab).
type goTable struct {
	once   sync.Once
	table  *gosym.Table // nil without
	copies goCopies
}

// pclntab is the Go table, read when there is no DWARF: it has lines and inlined
// functions, which a symbol table (go build -ldflags=-w) has not.
func (o *Object) pclntab() *gosym.Table {
	if dw, _ := o.dwarf(); dw != nil {
		return nil
	}
	o.goTable.once.Do(func() { o.goTable.table, o.goTable.copies = readPclntab(o.elf) })
	return o.goTable.table
}

func readPclntab(f *elf.File) (*gosym.Table, goCopies) {
	i := f.SectionIndex(".gopclntab")
	if i < 0 {
		i = f.SectionIndex(".data.rel.ro.gopclntab")
	}
	text := f.SectionIndex(".text")
	if i < 0 || text < 0 {
		return nil, goCopies{}
	}
	data, err := f.Contents(i)
	if err != nil {
		return nil, goCopies{}
	}
	// Another linker puts code of its own before Go's.
	start := uint64(f.Sections[text].Addr)
	module, ok := findGoModule(f, uint64(f.Sections[i].Addr), data)
	if ok {
		start = module.text
	} else if noted := headerText(data); noted != 0 {
		start = noted
	}
	table, err := newGoTable(data, start)
	if err != nil || len(table.Funcs) == 0 {
		return nil, goCopies{}
	}
	if !ok {
		return table, goCopies{}
	}
	return table, newGoCopies(f, data, module)
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

// headerText is where the code begins by the header of Go 1.18 to 1.25, 0 without.
// In a position-independent file the loader would have to add to it.
func headerText(data []byte) uint64 {
	if len(data) < 32 || binary.LittleEndian.Uint32(data) != goMagic118 && binary.LittleEndian.Uint32(data) != goMagic120 {
		return 0
	}
	return binary.LittleEndian.Uint64(data[24:])
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
func (o *Object) lookupGo(a addr.File) []Frame {
	return lookupGo(o.pclntab(), &o.goTable.copies, a)
}

func lookupGo(t *gosym.Table, copies *goCopies, a addr.File) []Frame {
	fn, ok := goFunction(t, a)
	if !ok {
		return nil
	}
	at := func(f Frame, pc uint64) Frame {
		f.Source, f.Language = FromPclntab, dwarf.LangGo
		var err error
		func() {
			defer recoverMalformed(&err)
			f.File, f.Line, _ = t.PCToLine(pc)
		}()
		return f
	}
	var frames []Frame
	pc := uint64(a)
	for _, c := range copies.at(uint64(fn.Low), pc) {
		frames = append(frames, at(Frame{Function: c.name, Entry: addr.File(c.entry), Inlined: true}, pc))
		pc = c.call
	}
	return append(frames, at(Frame{Function: fn.Name, Entry: fn.Low}, pc))
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
