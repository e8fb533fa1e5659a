package names

import (
	"slices"

	"hdb/internal/addr"
	"hdb/symbols"
)

// A Symbol is where a module defines a function.
type Symbol struct {
	Name  string // linker's name
	Addr  addr.Run
	Size  uint64 // bytes, 0 if unknown
	IFunc bool   // STT_GNU_IFUNC: Addr is the resolver's address, not the function's
}

// A symbolSet is a list of symbols, prepared for looking for all of them.
type symbolSet struct {
	list  []string
	names *symbols.Names
}

// Defined are the functions with those symbols that a file defines which is mapped with
// that bias. The list is prepared once: it is looked for in one module after the other.
func (m *Modules) Defined(obj *symbols.Object, bias addr.Bias, list []string) []Symbol {
	if m.wanted.names == nil || !slices.Equal(m.wanted.list, list) {
		m.wanted = symbolSet{list, symbols.NewNames(list)}
	}
	var out []Symbol
	for _, sym := range obj.Symtab.SymbolsAmong(m.wanted.names) {
		if sym.IsCode() && Executable(obj, sym.Addr) {
			out = append(out, Symbol{Name: sym.Name, Addr: sym.Addr.Run(bias), Size: sym.Size, IFunc: sym.IFunc})
		}
	}
	for _, fn := range obj.GoFunctions(list) {
		there := func(s Symbol) bool { return s.Addr == fn.Low.Run(bias) }
		if !slices.ContainsFunc(out, there) {
			out = append(out, Symbol{Name: fn.Name, Addr: fn.Low.Run(bias), Size: uint64(fn.High - fn.Low)})
		}
	}
	return out
}

// Executable tells code from data: ld.so has a variable of the name calloc, and
// an int3 in it would be a wild pointer.
func Executable(obj *symbols.Object, a addr.File) bool {
	return slices.ContainsFunc(obj.File.Segments(), func(seg symbols.Segment) bool {
		return seg.Exec && seg.Contains(a)
	})
}
