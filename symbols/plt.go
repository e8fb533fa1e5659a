package symbols

import (
	"sync"

	"hdb/internal/addr"
)

// pltStubs names the stubs of the procedure linkage table, on first use.
type pltStubs struct {
	once sync.Once
	at   map[addr.File]string
}

func (o *Object) stubAt(a addr.File) (Sym, bool) { return Sym{}, false }
