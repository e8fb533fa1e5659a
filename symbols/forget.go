package symbols

// Forget drops the line tables, functions and names that were derived from DWARF, for
// those who read a large file once, from its beginning to its end: what is asked for
// again is derived again. No other method may run at the same time.
func (o *Object) Forget() {
	if dw := o.dw; dw != nil {
		dw.parts = make([]unitParts, len(dw.units))
		dw.lines = map[lineKey]*lineSlot{}
		clear(dw.lineBytes)
		dw.others.Clear()
	}
}
