package symbols

import (
	"encoding/binary"
	"sync"

	"hdb/internal/addr"
)

// goWrappers tells functions that the compiler of Go makes: those of method values and go
// and defer statements, and methods of embedded types. .gopclntab marks them, whether there is
// DWARF or not.
type goWrappers struct {
	once    sync.Once
	copies  goCopies
	wrapper byte // the mark, 0 unknown
}

// The mark is the last of internal/abi's FuncIDs: 21 in Go 1.18, 23 in 1.27.
const (
	firstGoWrapper = 21
	lastGoWrapper  = 30
)

// GoWrapper reports whether the function that begins at an address is one of Go that the compiler
// has made. Go's own tracebacks leave them out.
func (o *Object) GoWrapper(entry addr.File) bool {
	if !o.File.Header().Go {
		return false
	}
	w := &o.wrappers
	w.once.Do(func() { w.load(o) })
	if w.wrapper == 0 {
		return false
	}
	fn, ok := w.copies.function(uint64(entry))
	return ok && fn[w.copies.flag-1] == w.wrapper
}

// load finds the mark: the highest number that any function has. Each program has such functions.
func (w *goWrappers) load(o *Object) {
	m, ok := o.goModule()
	data, _, found := pclntab(o.File.elf)
	if !ok || !found || len(data) < pclnHeader {
		return
	}
	w.copies = newGoCopies(o.File.elf, data, m)
	if w.copies.image == nil {
		return
	}
	highest := byte(0)
	for i := range int(w.copies.count) {
		at := uint64(binary.LittleEndian.Uint32(w.copies.funcs[8*i+4:]))
		if at+w.copies.header <= uint64(len(w.copies.funcs)) {
			highest = max(highest, w.copies.funcs[at+uint64(w.copies.flag)-1])
		}
	}
	if firstGoWrapper <= highest && highest <= lastGoWrapper {
		w.wrapper = highest
	}
}
