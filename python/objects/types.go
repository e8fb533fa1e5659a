package objects

import (
	"strings"

	"hdb/internal/addr"
	"hdb/python/layout"
)

// A Type is a class of objects.
type Type struct {
	At   addr.Run
	Name string // with the module, except the built-in ones
	// Unknown tells that its objects have a __sizeof__ that hdb does not know: their sizes are
	// those of their structs.
	Unknown bool

	layout.Class

	kind   kind
	weakAt int64    // where it has the list of its weak references, which are not references of it
	from   int64    // in its struct, behind what the type that it is made of has
	head   int64    // bytes before an object
	keys   addr.Run // of the attributes that its objects share
	nkeys  int
	isGC   addr.Run // the function that tells which of its objects the collector knows
}

// A kind is what an object's struct is like: the kind of the nearest known type that its type is made of.
type kind uint8

const (
	plain   kind = iota // a struct of references and other words
	leaf                // without references
	varLeaf             // with elements that are no references
	textKind
	intKind
	listKind
	tupleKind
	dictKind
	orderedKind
	setKind
	bytearrayKind
	dequeKind
	typeKind
	codeKind
	frameKind
	generatorKind
	moduleKind
	weakKind
	arrayKind
	decimalKind
	bytesIOKind
	bufferedKind
	elementKind
)

// kinds are the kinds of types by tp_name. A name without a module is a type's which C code declares.
var kinds = map[string]kind{
	"object": plain, "float": leaf, "complex": leaf, "NoneType": leaf, "ellipsis": leaf, "NotImplementedType": leaf,
	"bytes": varLeaf, "str": textKind, "int": intKind, "list": listKind, "tuple": tupleKind, "dict": dictKind,
	"collections.OrderedDict": orderedKind, "set": setKind, "frozenset": setKind, "bytearray": bytearrayKind, "collections.deque": dequeKind,
	"type": typeKind, "code": codeKind, "frame": frameKind, "generator": generatorKind, "coroutine": generatorKind, "async_generator": generatorKind,
	"module": moduleKind, "weakref": weakKind, "weakproxy": weakKind, "weakcallableproxy": weakKind,
	"weakref.ReferenceType": weakKind, "weakref.ProxyType": weakKind, "weakref.CallableProxyType": weakKind,
	"array.array": arrayKind, "decimal.Decimal": decimalKind, "_io.BytesIO": bytesIOKind,
	"_io.BufferedReader": bufferedKind, "_io.BufferedWriter": bufferedKind, "_io.BufferedRandom": bufferedKind,
	"xml.etree.ElementTree.Element": elementKind,
}

const maxHeight = 64 // of the types that one is made of

// typeAt is the type at an address, nil if none is there.
func (h *Heap) typeAt(at addr.Run) *Type { return h.typeBelow(at, 0) }

func (h *Heap) typeBelow(at addr.Run, depth int) *Type {
	if t, ok := h.types[at]; ok {
		return t
	}
	t := h.readType(at, depth)
	if len(h.types) < maxTypes || t != nil && len(h.types) < 2*maxTypes {
		h.types[at] = t
	}
	return t
}

func (h *Heap) readType(at addr.Run, depth int) *Type {
	if at%8 != 0 || at < pageSize || depth > 4 {
		return nil
	}
	b := h.mem.view(at, h.l.Type.Read)
	if b == nil {
		return nil
	}
	t := &Type{At: at, Class: h.l.Type.Class(b), weakAt: int64(wordIn(b, h.l.Type.WeakAt)), isGC: pointerIn(b, h.l.Type.IsGC)}
	if t.Flags&layout.IsReady == 0 || t.Basic < int64(h.l.Object.Size) || t.Basic > maxBasic || t.Item < 0 || t.Item > 1<<12 {
		return nil
	}
	if meta := pointerIn(b, h.l.Object.Type); meta != h.meta {
		if m := h.typeBelow(meta, depth+1); m == nil || m.Flags&layout.IsType == 0 {
			return nil
		}
	}
	if t.Flags&layout.IsHeapType != 0 {
		t.keys = h.mem.field(at, h.l.HeapType.CachedKeys)
		if keys, ok := h.keysAt(t.keys); ok {
			t.nkeys = int(min(keys.Entries, maxLocals))
		} else {
			t.keys = 0
		}
	}
	t.head = h.l.Before(t.Flags)
	h.classify(t)
	t.Name = h.typeName(b, t)
	return t
}

// classify finds the kind of a type, and whether it has a __sizeof__ of its own.
func (h *Heap) classify(t *Type) {
	at := t.At
	for range maxHeight {
		b := h.mem.view(at, h.l.Type.Read)
		if b == nil {
			return
		}
		name := h.mem.text(pointerIn(b, h.l.Type.Name), maxName)
		if k, ok := kinds[name]; ok && (strings.Contains(name, ".") || wordIn(b, h.l.Type.Flags)&layout.IsHeapType == 0) {
			t.kind, t.from = k, int64(h.l.Object.Size)
			if name != "object" {
				t.from = int64(min(wordIn(b, h.l.Type.Basic), maxBasic)) // of a base, which has not been checked
			}
			return
		}
		if !t.Unknown {
			t.Unknown = h.hasSizeof(b)
		}
		if at = pointerIn(b, h.l.Type.Base); at == 0 {
			break
		}
	}
	t.from = int64(h.l.Object.Size)
}

// maxMethods bounds the methods of a type.
const maxMethods = 1 << 10

// hasSizeof reports whether a type, whose struct is b, declares __sizeof__ itself.
func (h *Heap) hasSizeof(b []byte) bool {
	def := pointerIn(b, h.l.Type.Methods)
	for range maxMethods {
		h.slots++
		m := h.mem.view(def, layout.MethodSize)
		if def == 0 || m == nil || pointerIn(m, layout.MethodName) == 0 {
			break
		}
		if h.mem.text(pointerIn(m, layout.MethodName), 16) == "__sizeof__" {
			return true
		}
		def += layout.MethodSize
	}
	if wordIn(b, h.l.Type.Flags)&layout.IsHeapType == 0 {
		return false
	}
	return h.lookup(pointerIn(b, h.l.Type.Dict), "__sizeof__") != 0
}

// typeName is the name of a type, whose struct is b.
func (h *Heap) typeName(b []byte, t *Type) string {
	name := h.mem.text(pointerIn(b, h.l.Type.Name), maxName)
	if t.Flags&layout.IsHeapType == 0 {
		return name
	}
	if s, err := h.in.Objects().Text(h.mem.field(t.At, h.l.HeapType.Qualname)); err == nil {
		name = s
	}
	if at := h.lookup(pointerIn(b, h.l.Type.Dict), "__module__"); at != 0 {
		if s, err := h.in.Objects().Text(at); err == nil && s != "builtins" {
			return s + "." + name
		}
	}
	return name
}

// hasHead reports whether the collector's head is before an object; a class of C code has none.
func (h *Heap) hasHead(at addr.Run, t *Type) bool {
	if t.Flags&layout.HasGC == 0 {
		return false
	}
	return t.kind != typeKind || h.mem.word(at+addr.Run(h.l.Type.Flags))&layout.IsHeapType != 0
}
