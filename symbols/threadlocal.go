package symbols

import "hdb/symbols/elf"

// ThreadLocalAt is the thread-local variable whose bytes contain an offset in the module's
// thread-local storage, and how far the offset is from its start.
func (st *Symtab) ThreadLocalAt(offset uint64) (sym Sym, off uint64, ok bool) {
	elf.Guard(func() {
		for _, t := range st.tables() {
			if sym, ok = t.ThreadLocalAt(offset); ok {
				return
			}
		}
	})
	if !ok {
		return Sym{}, 0, false
	}
	return sym, offset - uint64(sym.Addr), true
}
