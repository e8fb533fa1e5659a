package symbols

import (
	"encoding/binary"
	"sync"

	"hdb/goruntime"
	"hdb/internal/addr"
	"hdb/symbols/elf"
)

// goTypes finds the names of types by their descriptors, which a Go program needs at run time
// (internal/abi.Type), stripped or not.
type goTypes struct {
	once   sync.Once
	module goModule
	known  bool
}

// GoType is the type with a descriptor at an address of the file: its name, and the bytes of a
// value. ok is false if there is none. The name is foreign.
func (o *Object) GoType(at addr.File) (name string, size uint64, ok bool) {
	o.types.once.Do(func() {
		elf.Guard(func() { o.types.module, o.types.known = o.goModule() })
	})
	m := o.types.module
	if !o.types.known || uint64(at) < m.types || uint64(at) >= m.etypes {
		return "", 0, false
	}
	var b [goruntime.TypeSize]byte
	if !o.File.ReadAddr(b[:], at) {
		return "", 0, false
	}
	read := func(b []byte, at uint64) bool { return o.File.ReadAddr(b, addr.File(at)) }
	name = goruntime.TypeName(read, b[:], m.types, goruntime.MaxTypeName)
	return name, binary.LittleEndian.Uint64(b[:]), name != ""
}

// goModule is the program's moduledata.
func (o *Object) goModule() (goModule, bool) {
	f := o.File.elf
	data, at, ok := pclntab(f)
	if !ok {
		return goModule{}, false
	}
	return findGoModule(f, uint64(at), data)
}
