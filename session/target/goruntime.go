package target

import (
	"slices"

	"hdb/capture"
	"hdb/goruntime"
	"hdb/inferior"
	"hdb/internal/addr"
	"hdb/names"
	"hdb/probe"
	"hdb/query"
	"hdb/symbols"
	"hdb/values/blocktype"
)

// GoModule is a file with code of Go.
type GoModule struct {
	inferior.Module
	Object *symbols.Object
}

// goTypeQuestion asks whether a block of one value, or of several, is of a type.
type goTypeQuestion struct {
	descriptor addr.Run
	many       bool
	pattern    string
}

// maxGoTypes bounds what is kept of types.
const maxGoTypes = 1 << 16

// Look finds the runtime in the process's modules, if they have changed. The owner of the process
// calls it.
func (g *goRuntime) Look(p *inferior.Process, in *names.Modules) {
	if g.seen == in.Version() && g.in == p {
		return
	}
	var modules []GoModule
	var exits []addr.Run
	version := ""
	for _, m := range p.Modules() {
		obj, _ := in.ObjectAt(m.Low)
		if obj == nil || !obj.File.Header().Go {
			continue
		}
		modules = append(modules, GoModule{m, obj})
		if version == "" {
			version, _ = obj.GoVersion() // none is unknown, see Known
		}
		for _, sym := range in.Defined(obj, m.Bias, []string{goruntime.GoExit, goruntime.GoExitABI0}) {
			exits = append(exits, sym.Addr+1) // it begins with a nop, behind which they return to
		}
	}
	layout, err := goruntime.Of(version)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.seen, g.in = in.Version(), p
	g.Layout, g.Known, g.exits = layout, err == nil, exits
	if !slices.Equal(modules, g.Modules) {
		g.Modules = modules
		g.types, g.answers = map[addr.Run]capture.GoType{}, map[goTypeQuestion]bool{}
	}
}

// GoHome is the module with the Go runtime of the image: a program that is linked with Go's libraries has
// none itself. Of several, each of which has goroutines and a heap of its own, it is the first; nil: there is none.
func (c *Target) GoHome() *GoModule {
	c.Go.Look(c.Image, c.Names.Modules)
	i := slices.IndexFunc(c.Go.Modules, func(m GoModule) bool {
		return m.Object.Defines(goruntime.Heap) || len(m.Object.GoFunctions([]string{"runtime.mallocgc"})) == 1
	})
	if i < 0 {
		return nil
	}
	return &c.Go.Modules[i]
}

// at is the module of Go at an address, else the first; nil: there is none.
func (g *goRuntime) at(a addr.Run) *GoModule {
	i := slices.IndexFunc(g.Modules, func(m GoModule) bool { return m.Low <= a && a < m.High })
	switch {
	case i >= 0:
		return &g.Modules[i]
	case len(g.Modules) > 0:
		return &g.Modules[0]
	}
	return nil
}

// GoProgram is a file with a Go runtime, mapped with that bias, as its variables are looked for.
func (c *Target) GoProgram(obj *symbols.Object, bias addr.Bias) goruntime.Program {
	return goruntime.Program{
		Code: c.Image,
		Function: func(name string) (low, high uint64, ok bool) {
			list := c.Names.Modules.Defined(obj, bias, []string{name})
			if len(list) == 0 {
				return 0, 0, false
			}
			return uint64(list[0].Addr), uint64(list[0].Addr) + list[0].Size, true
		},
		Symbol: func(name string) (at uint64, ok bool) {
			sym, ok := obj.Symtab.Symbol(name)
			if !ok || !sym.Defined {
				return 0, false
			}
			return uint64(sym.Addr.Run(bias)), true
		},
	}
}

// IsExit tells the return address in which stacks of goroutines end.
func (g *goRuntime) IsExit(c addr.Code) bool { return slices.Contains(g.exits, c.Addr()) }

// described is the type with a descriptor in a module.
func (g *goRuntime) described(m *GoModule, descriptor addr.Run) (capture.GoType, bool) {
	if m == nil || descriptor == 0 {
		return capture.GoType{}, false
	}
	t, known := g.types[descriptor]
	if !known {
		t, _ = names.GoTypes(m.Object, m.Bias)(descriptor)
		if len(g.types) >= maxGoTypes {
			clear(g.types)
		}
		g.types[descriptor] = t
	}
	return t, t.Name != ""
}

// ofBlock is the type that the runtime was given for a block by code at an address.
func (g *goRuntime) ofBlock(code addr.Run, aux capture.GoAux) (capture.GoType, addr.Run, bool) {
	m := g.at(code)
	if m == nil {
		return capture.GoType{}, 0, false
	}
	descriptor := addr.Run(aux.Type(uint64(m.Low)))
	t, ok := g.described(m, descriptor)
	return t, descriptor, ok
}

// Of is the type of a block that code at an address has allocated, nil if it is not known.
func (g *goRuntime) Of(code addr.Run, aux capture.GoAux, size uint64) *blocktype.Type {
	g.mu.Lock()
	defer g.mu.Unlock()
	t, _, ok := g.ofBlock(code, aux)
	if !ok {
		return nil
	}
	return query.GoType(t.Name, t.Size, size)
}

// Matches reports whether a block that code at an address has allocated is of a type that a pattern
// names.
func (g *goRuntime) Matches(code addr.Run, aux capture.GoAux, size uint64, pattern string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	t, descriptor, ok := g.ofBlock(code, aux)
	return ok && g.matches(descriptor, t, size != t.Size, pattern)
}

// matches is query.MatchType, asked once.
func (g *goRuntime) matches(descriptor addr.Run, t capture.GoType, many bool, pattern string) bool {
	q := goTypeQuestion{descriptor, many, pattern}
	yes, known := g.answers[q]
	if !known {
		size := t.Size
		if many {
			size++
		}
		yes = query.MatchType(pattern, query.GoType(t.Name, t.Size, size))
		if len(g.answers) >= maxGoTypes {
			clear(g.answers)
		}
		g.answers[q] = yes
	}
	return yes
}

// Verdict is what a pattern says of a type, for the probe.
func (g *goRuntime) Verdict(m inferior.Module, descriptor addr.Run, pattern string) probe.GoTypeVerdict {
	g.mu.Lock()
	defer g.mu.Unlock()
	// What is too far away to be kept in an event is no type that is known.
	aux := capture.NewGoAux(0, uint64(descriptor), uint64(m.Low))
	t, _, ok := g.ofBlock(m.Low, aux)
	if !ok {
		return probe.GoTypeVerdict{}
	}
	return probe.GoTypeVerdict{Size: t.Size, One: g.matches(descriptor, t, false, pattern), Many: g.matches(descriptor, t, true, pattern)}
}
