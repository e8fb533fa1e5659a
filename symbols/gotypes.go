package symbols

import (
	"encoding/binary"
	"sync"

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

// Offsets in a descriptor, in bytes, and what is in them (Go's src/internal/abi/type.go).
const (
	goTypeFlags = 20
	goTypeName  = 40 // int32: how far the name is from the first descriptor
	goTypeSize  = 48

	goExtraStar = 1 << 1 // the name begins with a * that is not the type's

	maxGoName = 4096
)

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
	var b [goTypeSize]byte
	if !o.File.ReadAddr(b[:], at) {
		return "", 0, false
	}
	name, ok = o.goName(m.types + uint64(int64(int32(binary.LittleEndian.Uint32(b[goTypeName:])))))
	if b[goTypeFlags]&goExtraStar != 0 && name != "" {
		name = name[1:]
	}
	return name, binary.LittleEndian.Uint64(b[:]), ok
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

// goName is the name at an address: flags in a byte, the length as a varint, the text.
func (o *Object) goName(at uint64) (string, bool) {
	var head [1 + 3]byte
	if !o.File.ReadAddr(head[:], addr.File(at)) {
		return "", false
	}
	n, width := binary.Uvarint(head[1:])
	if width <= 0 || n == 0 || n > maxGoName {
		return "", false
	}
	text := make([]byte, n)
	if !o.File.ReadAddr(text, addr.File(at)+1+addr.File(width)) {
		return "", false
	}
	return string(text), true
}
