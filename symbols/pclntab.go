package symbols

import (
	"bytes"
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
	load   func() (*gosym.Table, goCopies)
	once   sync.Once
	table  *gosym.Table // nil without
	copies goCopies

	filesOnce sync.Once
	files     map[uint32][]uint64 // see functionsByFile
}

// read is the table, nil without.
func (g *goTable) read() *gosym.Table {
	g.once.Do(func() { g.table, g.copies = g.load() })
	return g.table
}

// loadGo reads the Go table of a program without DWARF: it has lines and inlined
// functions, which a symbol table (go build -ldflags=-w) has not.
//
// The table is looked for first: to read DWARF takes a hundred times as long.
func (o *Object) loadGo() (*gosym.Table, goCopies) {
	if _, _, ok := pclntab(o.File.elf); !ok {
		return nil, goCopies{}
	}
	if dw, _ := o.DWARF.read(); dw != nil {
		return nil, goCopies{}
	}
	return readPclntab(o.File.elf)
}

// pclntab is the table and its address. The C linker, which links position-independent programs
// with cgo, puts the one of Go up to 1.25 among other data, where its header tells it.
func pclntab(f *elf.File) (data []byte, at addr.File, ok bool) {
	for _, name := range []string{".gopclntab", ".data.rel.ro.gopclntab"} {
		if i := f.SectionIndex(name); i >= 0 {
			data, err := f.Contents(i)
			return data, f.Sections[i].Addr, err == nil
		}
	}
	i := f.SectionIndex(".data.rel.ro")
	if i < 0 || !f.IsGo() {
		return nil, 0, false
	}
	data, err := f.Contents(i)
	if err != nil {
		return nil, 0, false
	}
	for _, magic := range []uint32{goMagic120, goMagic118} {
		header := append(binary.LittleEndian.AppendUint32(nil, magic), 0, 0, 1, 8) // instructions of any length, pointers of 8 bytes
		for from := 0; ; {
			n := bytes.Index(data[from:], header)
			if n < 0 {
				break
			}
			from += n
			if from%8 == 0 && isPclntab(data[from:]) {
				return data[from:], f.Sections[i].Addr + addr.File(from), true
			}
			from++
		}
	}
	return nil, 0, false
}

// isPclntab tells a header whose parts are behind it, in their order.
func isPclntab(data []byte) bool {
	if len(data) < pclnHeader {
		return false
	}
	last := uint64(pclnHeader)
	for at := 32; at < pclnHeader; at += 8 {
		off := binary.LittleEndian.Uint64(data[at:])
		if off < last || off >= uint64(len(data)) {
			return false
		}
		last = off
	}
	return true
}

func readPclntab(f *elf.File) (*gosym.Table, goCopies) {
	data, at, ok := pclntab(f)
	text := f.SectionIndex(".text")
	if !ok || text < 0 {
		return nil, goCopies{}
	}
	// Another linker puts code of its own before Go's.
	start := uint64(f.Sections[text].Addr)
	module, ok := findGoModule(f, uint64(at), data)
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

// loadGo reads the Go table of a program without DWARF. It has lines, which the symbols
// that the dynamic linker needs have not.
func (m *MachO) loadGo() (*gosym.Table, goCopies) {
	data, text := m.file.Section("__gopclntab"), m.file.Section("__text")
	if m.dw != nil || data == nil || text == nil {
		return nil, goCopies{}
	}
	b, err := m.file.Contents(data)
	if err != nil {
		return nil, goCopies{}
	}
	t, _ := newGoTable(b, text.Addr) // damaged is none
	return t, goCopies{}
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

// function is the function at a.
func (g *goTable) function(a addr.File) (fn Function, ok bool) {
	t := g.read()
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

// lookup is Object.Lookup by the table.
func (g *goTable) lookup(a addr.File) []Frame {
	fn, ok := g.function(a)
	if !ok {
		return nil
	}
	at := func(f Frame, pc uint64) Frame {
		f.Source, f.Language = FromPclntab, dwarf.LangGo
		var err error
		func() {
			defer recoverMalformed(&err)
			f.File, f.Line, _ = g.table.PCToLine(pc)
		}()
		return f
	}
	var frames []Frame
	pc := uint64(a)
	for _, c := range g.copies.at(uint64(fn.Low), pc) {
		frames = append(frames, at(Frame{Function: c.name, Entry: addr.File(c.entry), Inlined: true}, pc))
		pc = c.call
	}
	return append(frames, at(Frame{Function: fn.Name, Entry: fn.Low}, pc))
}

// GoFunctions are the functions of a Go program of those names, by the table that it needs at
// run time: none if it has DWARF, which names them, too.
func (o *Object) GoFunctions(names []string) []Function {
	if !o.File.Header().Go {
		return nil
	}
	wanted := make(map[string]bool, len(names))
	for _, name := range names {
		wanted[name] = true
	}
	return o.golang.named(func(have string) bool { return wanted[have] })
}

// named lists the functions that match, by address.
func (g *goTable) named(match func(name string) bool) (list []Function) {
	t := g.read()
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
