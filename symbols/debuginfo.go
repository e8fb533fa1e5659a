package symbols

import "hdb/symbols/dwarf"

// debugInfo is the DWARF of an object with what was derived from it.
type debugInfo struct {
	data  *dwarf.Data
	units []*dwarf.Unit
}

func (o *Object) dwarf() (*debugInfo, error) { return nil, nil }
