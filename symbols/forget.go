package symbols

import "hdb/internal/addr"

// Unit tells the addresses whose tables Forget drops apart: it is the number of the
// unit with the code at a, -1 without.
func (o *Object) Unit(a addr.File) int {
	unit := -1
	o.guard(func() {
		if dw, _ := o.dwarf(); dw != nil {
			unit = dw.unitAt(uint64(a))
		}
	})
	return unit
}

// Forget drops the line tables, functions and names that were derived from DWARF, for
// those who read a large file once, from its beginning to its end: what is asked for
// again is derived again. No other method may run at the same time.
func (o *Object) Forget() { o.dw.forget() }

func (d *debugInfo) forget() {
	if d != nil {
		d.parts = make([]unitParts, len(d.units))
		d.lines = map[lineKey]*lineSlot{}
		clear(d.lineBytes)
		d.others.Clear()
	}
}
