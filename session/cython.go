package session

import (
	"hdb/names"
	"hdb/python/cython"
	"hdb/symbols/dwarf"
)

// Cython moves by functions and lines of the sources of Cython, and reads their variables.
type Cython struct {
	*common
	sel *Selection
}

// Forget has what Cython has written be looked for again, and functions be named anew.
func (y *Cython) Forget() {
	y.names.Cython.Forget()
	y.sel.walkAgain()
}

// CythonVariables are the variables of C of a frame by their names in the source, without those
// that Cython has added. Those of another frame are returned as they are.
func CythonVariables(f names.Frame, vars []NamedValue) []NamedValue {
	if f.Language != dwarf.LangCython {
		return vars
	}
	var own []NamedValue
	for _, v := range vars {
		if name, ok := cython.VariableOf(v.Name); ok || v.Name == "" {
			v.Name = name
			own = append(own, v)
		}
	}
	return own
}
