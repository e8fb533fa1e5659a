package allocators

import (
	"slices"

	"hdb/annotations"
	"hdb/breakpoints"
	"hdb/inferior"
	"hdb/internal/addr"
	"hdb/session/target"
)

// Symbols tells the tracer where a module defines its functions.
type Symbols struct {
	target     *target.Target
	Allocators *Allocators
}

// Symbols finds these functions in modules.
func (al *Allocators) Symbols() Symbols { return Symbols{al.target, al} }

// Defined are the functions with those names that the module defines.
func (a Symbols) Defined(m inferior.Module, wanted []string) ([]breakpoints.Symbol, error) {
	mod := a.target.Names.Modules.At(m.Low)
	if mod == nil {
		return nil, nil // gone again
	}
	obj, err := a.target.Names.Modules.Object(mod)
	if obj == nil {
		return nil, err
	}
	out := a.Allocators.defined(m, obj, wanted)
	if len(a.Allocators.users) > 0 {
		wanted = slices.DeleteFunc(slices.Clone(wanted), func(name string) bool { return a.Allocators.users[name] != nil })
	}
	for _, sym := range a.target.Names.Modules.Defined(obj, m.Bias, wanted) {
		out = append(out, breakpoints.Symbol(sym))
	}
	for _, fn := range AnnotationFunctions(a.target, m) {
		named := func(s breakpoints.Symbol) bool { return s.Addr == fn.Addr }
		if slices.Contains(wanted, fn.Name) && !slices.ContainsFunc(out, named) {
			out = append(out, breakpoints.Symbol{Name: fn.Name, Addr: fn.Addr, Size: fn.Size})
		}
	}
	return out, nil
}

// AnnotationFunctions are the functions of hdb.h that a module has.
func AnnotationFunctions(c *target.Target, m inferior.Module) []annotations.Function {
	if c.Proc == nil || m.VDSO {
		return nil
	}
	return annotations.Find(c.Proc, m.Low, m.High, m.Bias)
}

// Extent is the code of the function of a module at an address.
func (a Symbols) Extent(_ inferior.Module, at addr.Run) (low, high addr.Run, ok bool) {
	table, bias, _ := a.target.Names.Modules.ModuleAt(at)
	if table == nil {
		return 0, 0, false
	}
	code, ok := table.FunctionAt(at.File(bias))
	return code.Low.Run(bias), code.High.Run(bias), ok
}

// All finds the allocator functions of modules, with those that cannot be watched.
func (a Symbols) All(modules []inferior.Module, functions []breakpoints.Function) ([]*breakpoints.Site, error) {
	finder := breakpoints.Finder{Symbols: a, Memory: a.target.Proc}
	return finder.Find(nil, modules, functions)
}

// SiteOf is the site whose code an address is in, nil if none is.
func SiteOf(sites []*breakpoints.Site, pc addr.Run) *breakpoints.Site {
	i := slices.IndexFunc(sites, func(site *breakpoints.Site) bool { return pc-site.Addr < addr.Run(site.Size) })
	if i < 0 {
		return nil
	}
	return sites[i]
}

// Sites finds the allocator functions of modules. Those that cannot be
// watched in either plane are said and left out.
func (a Symbols) Sites(modules []inferior.Module, functions []breakpoints.Function) ([]*breakpoints.Site, error) {
	sites, err := a.All(modules, functions)
	sites = slices.DeleteFunc(sites, func(site *breakpoints.Site) bool {
		if site.Err != nil && !a.target.Said[site.Err.Error()] {
			a.target.Said[site.Err.Error()] = true
			a.target.Notify("some allocator functions are not watched: %s", target.OneLine(site.Err))
		}
		return site.Err != nil
	})
	return sites, err
}
