package pymalloc

import (
	"fmt"

	"hdb/internal/addr"
	"hdb/python"
	"hdb/python/layout"
)

// A Domain is one of the three that CPython asks for memory: raw, mem and obj.
type Domain struct {
	Name   string
	Layers []Layer // the functions that are called, the outermost first
}

// A Layer is a set of functions that allocate: of the allocator itself, or of hooks that call the
// next layer.
type Layer struct {
	Malloc, Calloc, Realloc, Free addr.Run
	API                           byte // of the debug hooks: 'r', 'm' or 'o'; else 0
}

// Debug reports whether blocks have the bytes of the debug hooks around them.
func (d Domain) Debug() bool {
	for _, l := range d.Layers {
		if l.API != 0 {
			return true
		}
	}
	return false
}

// Innermost are the functions of the allocator itself.
func (d Domain) Innermost() Layer { return d.Layers[len(d.Layers)-1] }

// maxLayers bounds hooks of hooks.
const maxLayers = 16

// Domains reads what the tables of an interpreter lead to. executable tells what is code. The
// context of the debug hooks is a letter and the table of what they call, tracemalloc's context is
// the table itself; other hooks are taken for the innermost layer.
func Domains(mem python.Memory, tables python.Allocators, executable func(addr.Run) bool) ([]Domain, error) {
	var all []Domain
	for _, t := range []struct {
		name string
		at   addr.Run
	}{{"raw", tables.Raw}, {"mem", tables.Mem}, {"obj", tables.Obj}} {
		d := Domain{Name: t.name}
		for at := t.at; len(d.Layers) < maxLayers; {
			l, context, err := layer(mem, at, executable)
			if err != nil {
				if len(d.Layers) == 0 {
					return nil, fmt.Errorf("table of allocators of %s: %w", t.name, err)
				}
				break
			}
			if context != 0 {
				if b, err := read(mem, context, 8); err == nil && (b[0] == 'r' || b[0] == 'm' || b[0] == 'o') {
					if _, _, err := layer(mem, context+layout.DebugAllocator, executable); err == nil {
						l.API = b[0]
						context += layout.DebugAllocator
					}
				}
			}
			d.Layers = append(d.Layers, l)
			if context == 0 {
				break
			}
			at = context
		}
		all = append(all, d)
	}
	return all, nil
}

func layer(mem python.Memory, at addr.Run, executable func(addr.Run) bool) (l Layer, context addr.Run, err error) {
	b, err := read(mem, at, layout.AllocatorSize)
	if err != nil {
		return l, 0, err
	}
	l = Layer{Malloc: pointerIn(b, layout.AllocatorMalloc), Calloc: pointerIn(b, layout.AllocatorCalloc),
		Realloc: pointerIn(b, layout.AllocatorRealloc), Free: pointerIn(b, layout.AllocatorFree)}
	for _, f := range []addr.Run{l.Malloc, l.Calloc, l.Realloc, l.Free} {
		if !executable(f) {
			return l, 0, fmt.Errorf("%v: %v is not a function", at, f)
		}
	}
	return l, pointerIn(b, layout.AllocatorContext), nil
}
