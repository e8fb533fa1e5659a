package goruntime

import "encoding/binary"

// Offsets in a descriptor of a type, in bytes, the same in all versions, and what is in them (Go's
// src/internal/abi/type.go). The size of a value comes first.
const (
	TypePtrBytes = 8  // pointers are in this number of bytes from the start of a value
	TypeFlags    = 20 // uint8
	TypeKind     = 23 // uint8
	TypeGCData   = 32
	TypeStr      = 40 // int32: how far the name is from the first descriptor of the module
	TypeSize     = 48 // of what all types have; what follows depends on the kind

	typeExtraStar = 1 << 1 // in the flags: the name begins with a * that is not the type's
)

// MaxTypeName bounds the names of types and members, in bytes.
const MaxTypeName = 4096

// TypeName is the name of the type with a descriptor, of a module whose first descriptor is at an address. read
// fills a buffer with memory, and reports whether it could. At most limit bytes are read of the name; it is "" if it
// is longer, or there is none. It is foreign.
func TypeName(read func(b []byte, at uint64) bool, descriptor []byte, first, limit uint64) string {
	name := NameAt(read, first+uint64(int64(int32(binary.LittleEndian.Uint32(descriptor[TypeStr:])))), limit)
	if descriptor[TypeFlags]&typeExtraStar != 0 && name != "" {
		name = name[1:]
	}
	return name
}

// NameAt reads a name as descriptors store it (internal/abi.Name): flags in a byte, the length as a varint, the
// text.
func NameAt(read func(b []byte, at uint64) bool, at, limit uint64) string {
	var head [1 + 3]byte
	if !read(head[:], at) {
		return ""
	}
	n, width := binary.Uvarint(head[1:])
	if width <= 0 || n == 0 || n > min(limit, MaxTypeName) {
		return ""
	}
	text := make([]byte, n)
	if !read(text, at+1+uint64(width)) {
		return ""
	}
	return string(text)
}
