package golang

import (
	"encoding/binary"
	"sync"

	"hdb/goruntime"
)

// A Kind is the kind of a type (internal/abi.Kind).
type Kind uint8

// Kinds that have parts, and bytes.
const (
	Uint8         Kind = 8
	Array         Kind = 17
	Chan          Kind = 18
	Func          Kind = 19
	Interface     Kind = 20
	Map           Kind = 21
	Ptr           Kind = 22
	Slice         Kind = 23
	String        Kind = 24
	Struct        Kind = 25
	UnsafePointer Kind = 26
)

// typeRead is how much of a descriptor is read: what all types have, and what the kind adds.
const typeRead = goruntime.TypeSize + 4*8

// Flags in a descriptor, and in its kind (Go's src/internal/abi/type.go).
const (
	flagOnDemand = 1 << 4 // since 1.24: the mask is one pointer further, and made when it is first wanted
	flagDirect   = 1 << 5 // since 1.26: an interface has the value itself,
	kindDirect   = 1 << 5 // before
	directSince  = 26     // minor version
	kindProgram  = 1 << 6 // until 1.23: the mask is made by a program
	kindMask     = 1<<5 - 1
)

// Bounds of what descriptors say.
const (
	maxTypes    = 1 << 20
	maxFields   = 1 << 12
	maxDepth    = 32
	maxMaskBits = 1 << 27 // words of a type, 1 GiB
	maxMasks    = 1 << 28 // bytes of all masks
	maxNames    = 1 << 28 // bytes of all names, of types and members
	maxMembers  = 1 << 24 // of all structs
	maxWork     = 1 << 24 // steps to find the masks of all types that have none
)

// A Type is what the descriptor of a type says.
type Type struct {
	At       uint64
	Name     string // "" not known; foreign
	Size     uint64
	Kind     Kind
	PtrBytes uint64 // pointers are in this number of bytes from the start

	Elem   uint64 // descriptor of the element of Array, Chan, Ptr, Slice, the value of Map
	Group  uint64 // of Map: the bucket, or the group of slots since 1.24
	Len    uint64 // of Array
	Fields []Field

	Methods bool // of Interface: it has some
	Direct  bool // an interface has the value itself, which is a pointer

	mask []byte // a bit for each word of PtrBytes; nil: all of them are pointers
}

// A Field is one of a struct.
type Field struct {
	Name   string
	Type   uint64
	Offset uint64
}

// Pointer reports whether the word at an offset of a block of values of the type is a pointer.
func (t *Type) Pointer(off uint64) bool {
	if t == nil { // the block is being made
		return false
	}
	if t.Size == 0 {
		return true
	}
	if off %= t.Size; off >= t.PtrBytes {
		return false
	}
	n := off / 8
	return t.mask == nil || n/8 < uint64(len(t.mask)) && t.mask[n/8]>>(n%8)&1 != 0
}

// Types reads descriptors of types. It may be asked from several goroutines.
type Types struct {
	h         *Heap
	mu        sync.Mutex
	known     map[uint64]*Type
	parts     map[uint64]*Type // without masks
	masks     uint64           // bytes
	names     uint64           // bytes
	members   int
	work      int // steps
	madeTypes map[madeType]*Type
	uint8     *Type
}

// At is the type with its descriptor at an address, nil if there is none.
func (ts *Types) At(at uint64) *Type {
	if at == 0 {
		return nil
	}
	ts.mu.Lock()
	defer ts.mu.Unlock()
	return ts.at(at)
}

// AtOffset is the type whose descriptor lies so far behind the first one of the program.
func (ts *Types) AtOffset(off uint64) *Type {
	if len(ts.h.modules) == 0 || off >= goruntime.MaxAddress {
		return nil
	}
	return ts.At(ts.h.modules[0].types + off)
}

func (ts *Types) at(at uint64) *Type {
	t, ok := ts.known[at]
	if ok || len(ts.known) >= maxTypes {
		return t
	}
	ts.known[at] = nil // while it is read
	if t = ts.read(at); t != nil {
		ts.known[at] = t
		ts.findMask(t)
	}
	return t
}

// read reads a descriptor, except the mask.
func (ts *Types) read(at uint64) *Type {
	b := make([]byte, typeRead)
	if at%8 != 0 || !ts.h.mem.Read(b, at) && !ts.h.mem.Read(b[:goruntime.TypeSize], at) {
		return nil
	}
	word := func(at int) uint64 { return binary.LittleEndian.Uint64(b[at:]) }
	t := &Type{At: at, Size: word(0), PtrBytes: word(goruntime.TypePtrBytes), Kind: Kind(b[goruntime.TypeKind] & kindMask)}
	if t.Size > goruntime.MaxAddress || t.PtrBytes > t.Size || t.PtrBytes%8 != 0 {
		return nil
	}
	if t.Kind == 0 { // only a mask: of a program that was run, Go 1.22 and 1.23
		if t.PtrBytes == 0 {
			return nil
		}
		return t
	}
	if t.Kind > UnsafePointer {
		return nil
	}
	t.Direct = b[goruntime.TypeKind]&kindDirect != 0
	if ts.h.src.Layout.Minor >= directSince {
		t.Direct = b[goruntime.TypeFlags]&flagDirect != 0
	}
	t.Name = ts.name(at, b)
	switch t.Kind {
	case Array:
		t.Elem, t.Len = word(goruntime.TypeSize), word(goruntime.TypeSize+16)
	case Chan, Ptr, Slice:
		t.Elem = word(goruntime.TypeSize)
	case Map:
		t.Elem, t.Group = word(goruntime.TypeSize+8), word(goruntime.TypeSize+16) // behind the key
	case Interface:
		t.Methods = word(goruntime.TypeSize+16) != 0 // how many, behind the name of the package and their list
	case Struct:
		t.Fields = ts.fields(word(goruntime.TypeSize+8), word(goruntime.TypeSize+16), t.Size)
	}
	return t
}

// fields reads those of a struct.
func (ts *Types) fields(at, n, size uint64) []Field {
	const fieldWords = 3 // name, type, offset
	n = min(n, maxFields)
	if ts.members += int(n); ts.members > maxMembers {
		return nil
	}
	words := ts.h.mem.Words(at, fieldWords*n, fieldWords*maxFields)
	var all []Field
	for ; len(words) >= fieldWords; words = words[fieldWords:] {
		off := words[2]
		if ts.h.src.Layout.FieldBit {
			off >>= 1
		}
		if off > size {
			return nil
		}
		all = append(all, Field{ts.text(words[0]), words[1], off})
	}
	return all
}

// name is the name of the type with a descriptor at an address; it counts from the first descriptor of the module.
func (ts *Types) name(at uint64, descriptor []byte) string {
	for i := range ts.h.modules {
		m := &ts.h.modules[i]
		if at < m.types || at >= m.etypes {
			continue
		}
		name := goruntime.TypeName(ts.h.mem.Read, descriptor, m.types, maxNames-ts.names)
		ts.names += uint64(len(name))
		return name
	}
	return "" // it was made by reflection
}

// text is the name of a member at an address.
func (ts *Types) text(at uint64) string {
	name := goruntime.NameAt(ts.h.mem.Read, at, maxNames-ts.names)
	ts.names += uint64(len(name))
	return name
}

// findMask sets the mask of a type.
func (ts *Types) findMask(t *Type) {
	bits := t.PtrBytes / 8
	if bits == 0 {
		t.mask = []byte{}
		return
	}
	if bits > maxMaskBits || (bits+7)/8 > maxMasks-ts.masks {
		return
	}
	ts.masks += (bits + 7) / 8
	var b [8]byte
	if !ts.h.mem.Read(b[:], t.At+goruntime.TypeKind&^7) {
		return
	}
	flags, kind := b[goruntime.TypeFlags-goruntime.TypeKind&^7], b[goruntime.TypeKind&7]
	data := ts.h.mem.Word(t.At + goruntime.TypeGCData)
	made := ts.h.src.Layout.Minor >= 24 && flags&flagOnDemand != 0
	if made {
		data = ts.h.mem.Word(data)
	}
	if data != 0 && (made || ts.h.src.Layout.Minor >= 24 || kind&kindProgram == 0) {
		mask := make([]byte, (bits+7)/8)
		if ts.h.mem.Read(mask, data) {
			t.mask = mask
			return
		}
	}
	mask := make([]byte, (bits+7)/8)
	if ts.fill(mask, 0, t, maxDepth) {
		t.mask = mask
	}
}

// fill sets the bits of the pointers in a value at an offset; false if they are not known.
func (ts *Types) fill(mask []byte, off uint64, t *Type, depth int) bool {
	if ts.work++; ts.work > maxWork || depth == 0 || t == nil {
		return false
	}
	set := func(at uint64) {
		if n := at / 8; n/8 < uint64(len(mask)) {
			mask[n/8] |= 1 << (n % 8)
		}
	}
	switch t.Kind {
	case Chan, Func, Map, Ptr, UnsafePointer, Slice, String:
		set(off)
	case Interface:
		set(off)
		set(off + 8)
	case Array:
		elem := ts.part(t.Elem)
		if elem == nil || elem.PtrBytes > 0 && (elem.Size == 0 || t.Len > t.Size/elem.Size) {
			return elem != nil && elem.PtrBytes == 0
		}
		for i := uint64(0); i < t.Len && elem.PtrBytes > 0; i++ {
			if !ts.fill(mask, off+i*elem.Size, elem, depth-1) {
				return false
			}
		}
	case Struct:
		ts.work += len(t.Fields)
		for _, f := range t.Fields {
			part := ts.part(f.Type)
			if part == nil {
				return false
			}
			if part.PtrBytes > 0 && !ts.fill(mask, off+f.Offset, part, depth-1) {
				return false
			}
		}
		return t.PtrBytes == 0 || len(t.Fields) > 0
	}
	return true
}

// part is a type that another one has, without its mask.
func (ts *Types) part(at uint64) *Type {
	if t := ts.known[at]; t != nil {
		return t
	}
	t, ok := ts.parts[at]
	if !ok && len(ts.parts) < maxTypes {
		if ts.parts == nil {
			ts.parts = map[uint64]*Type{}
		}
		t = ts.read(at)
		ts.parts[at] = t
	}
	return t
}

// TypeOf is the type that a block was made of, where the heap stores it: since Go 1.22 of blocks
// with pointers that are larger than 512 bytes. It is nil if it is not known.
func (h *Heap) TypeOf(block uint64) *Type {
	s := h.at(block)
	if s == nil || s.manual || s.noscan() {
		return nil
	}
	typ := s.large
	if s.header {
		typ = h.mem.Word(s.start + (block-s.start)/s.elem*s.elem)
	}
	if t := h.Types.At(typ); t != nil && t.Kind != 0 {
		return t
	}
	return nil
}
