package names

import (
	"slices"

	"hdb/python/cython"
)

// hideGenerated leaves out of the parts that are shown, nil all, what Cython has made in addition
// to the functions of its source: its own functions, and those that only lead to a function which
// is there, too. The innermost frame of a stack stays.
func hideGenerated(parts []Part, shown []bool) []bool {
	if !slices.ContainsFunc(parts, func(p Part) bool { return p.Generated != "" }) {
		return shown
	}
	if shown == nil {
		shown = slices.Repeat([]bool{true}, len(parts))
	}
	var inner cython.Symbol // the last function of the source, while nothing else has called it
	name := ""
	for i, p := range parts {
		s, ok := cython.Parse(p.Generated)
		switch {
		case !ok:
			if !p.Inlined {
				name = ""
			}
			continue
		case s.Kind == cython.Machinery:
			shown[i] = shown[i] && i == 0
			continue
		case name == p.Name && leads(s.Kind, inner.Kind):
			shown[i] = false
		}
		inner, name = s, p.Name
	}
	return shown
}

// leads reports whether a function of C of one kind only calls one of another for the same function
// of the source.
func leads(outer, inner cython.Kind) bool {
	return outer == cython.Wrapper && inner > outer || outer == cython.Body && inner == cython.CFunction
}
