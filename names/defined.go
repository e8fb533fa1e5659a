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
	IFunc bool   // STT_GNU_IFUNC: Addr is that of the resolver, not of the function
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
	for _, sym := range obj.SymbolsAmong(m.wanted.names) {
		if sym.IsCode() && Executable(obj, sym.Addr) {
			out = append(out, Symbol{Name: sym.Name, Addr: sym.Addr.Run(bias), Size: sym.Size, IFunc: sym.IFunc})
		}
	}
	return out
}

// Executable tells code from data: ld.so has a variable of the name calloc, and
// an int3 in it would be a wild pointer.
func Executable(obj *symbols.Object, a addr.File) bool {
	return slices.ContainsFunc(obj.Segments(), func(seg symbols.Segment) bool {
		return seg.Exec && seg.Contains(a)
	})
}

// Address is where a function or variable of that name lies.
func (r *Resolver) Address(name string) (addr.Run, bool) {
	for _, m := range r.Images() {
		if sym, ok := m.Object.Symbol(name); ok && sym.Defined {
			return sym.Addr.Run(m.Bias), true
		}
	}
	for _, m := range r.Images() {
		for _, fn := range m.Object.FindFunctions(name) {
			if !fn.Inlined {
				return fn.Low.Run(m.Bias), true
			}
		}
	}
	return 0, false
}

// FunctionAround is the function that an address lies in, by symbols or by unwinding
// information.
func (r *Resolver) FunctionAround(m Image, a addr.Run) (symbols.Function, bool) {
	at := a.File(m.Bias)
	if fn, ok := m.Object.FunctionAt(at); ok {
		return fn, true
	}
	if r.mem != nil { // a stripped file has unwinding information
		if table, bias, _ := r.Modules.ModuleAt(a); table != nil {
			if code, ok := table.FunctionAt(a.File(bias)); ok {
				return symbols.Function{Low: code.Low, High: code.High}, true
			}
		}
	}
	return symbols.Function{}, false
}
