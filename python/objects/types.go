package objects

import (
	"strings"

	"hdb/internal/addr"
)

// A Type is a class of objects.
type Type struct {
	At   addr.Run
	Name string // with the module, but for the built-in ones
	// Unknown tells that its objects have a __sizeof__ that hdb does not know: their sizes are
	// those of their structs.
	Unknown bool

	kind        kind
	flags       uint64
	basic, item int64
	dictAt      int64    // where an object has its dict, negative from its end; 0 without
	weakAt      int64    // where it has the list of its weak references, which are not references of it
	from        int64    // in its struct, behind what the type that it is made of has
	head        int64    // bytes before an object
	keys        addr.Run // of the attributes that its objects share
	nkeys       int
	isGC        addr.Run // the function that tells which of its objects the collector knows
}

// A kind is what an object's struct is like: that of the nearest known type that its type is made of.
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

// kinds are those of types by tp_name. A name without a module is that of a type which C code declares.
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
	b := h.mem.view(at, typeRead)
	if b == nil {
		return nil
	}
	t := &Type{At: at, flags: wordIn(b, typeFlags), basic: int64(wordIn(b, typeBasic)), item: int64(wordIn(b, typeItem)),
		dictAt: int64(wordIn(b, typeDictAt)), weakAt: int64(wordIn(b, typeWeakAt)), isGC: pointerIn(b, typeIsGC)}
	if t.flags&isReady == 0 || t.basic < headSize || t.basic > maxBasic || t.item < 0 || t.item > 1<<12 {
		return nil
	}
	if meta := pointerIn(b, objectType); meta != h.meta {
		if m := h.typeBelow(meta, depth+1); m == nil || m.flags&isType == 0 {
			return nil
		}
	}
	if t.flags&isHeapType != 0 {
		t.keys = h.mem.pointer(at + addr.Run(h.l.cachedKeys))
		if keys, ok := h.keysAt(t.keys); ok {
			t.nkeys = int(min(keys.entries, maxLocals))
		} else {
			t.keys = 0
		}
	}
	t.head = t.before(h.l.minor)
	h.classify(t)
	t.Name = h.typeName(b, t)
	return t
}

// before is how many bytes are before each object of a type: what the collector needs and, from
// 3.11 on, pointers to its attributes and weak references.
func (t *Type) before(minor int) (n int64) {
	if t.flags&hasGC != 0 {
		n = headSize
	}
	switch {
	case minor == 11 && t.flags&managedDict != 0, minor >= 12 && t.flags&(managedDict|managedWeak) != 0:
		n += 16
	}
	return n
}

// classify finds the kind of a type, and whether it has a __sizeof__ of its own.
func (h *Heap) classify(t *Type) {
	at := t.At
	for range maxHeight {
		b := h.mem.view(at, typeRead)
		if b == nil {
			return
		}
		name := h.mem.text(pointerIn(b, typeName), maxName)
		if k, ok := kinds[name]; ok && (strings.Contains(name, ".") || wordIn(b, typeFlags)&isHeapType == 0) {
			t.kind, t.from = k, headSize
			if name != "object" {
				t.from = int64(min(wordIn(b, typeBasic), maxBasic)) // of a base, which has not been checked
			}
			return
		}
		if !t.Unknown {
			t.Unknown = h.hasSizeof(b)
		}
		if at = pointerIn(b, typeBase); at == 0 {
			break
		}
	}
	t.from = headSize
}

const (
	methodSize = 32 // bytes of a PyMethodDef
	maxMethods = 1 << 10
)

// hasSizeof tells whether a type, whose struct is b, declares __sizeof__ itself.
func (h *Heap) hasSizeof(b []byte) bool {
	def := pointerIn(b, typeMethods)
	for range maxMethods {
		h.slots++
		m := h.mem.view(def, methodSize)
		if def == 0 || m == nil || pointerIn(m, 0) == 0 {
			break
		}
		if h.mem.text(pointerIn(m, 0), 16) == "__sizeof__" {
			return true
		}
		def += methodSize
	}
	if wordIn(b, typeFlags)&isHeapType == 0 {
		return false
	}
	return h.lookup(pointerIn(b, typeDict), "__sizeof__") != 0
}

// typeName is the name of a type, whose struct is b.
func (h *Heap) typeName(b []byte, t *Type) string {
	name := h.mem.text(pointerIn(b, typeName), maxName)
	if t.flags&isHeapType == 0 {
		return name
	}
	if s, err := h.in.Text(h.mem.pointer(t.At + addr.Run(h.l.qualname))); err == nil {
		name = s
	}
	if at := h.lookup(pointerIn(b, typeDict), "__module__"); at != 0 {
		if s, err := h.in.Text(at); err == nil && s != "builtins" {
			return s + "." + name
		}
	}
	return name
}

// hasHead tells whether the collector's head is before an object; a class of C code has none.
func (h *Heap) hasHead(at addr.Run, t *Type) bool {
	if t.flags&hasGC == 0 {
		return false
	}
	return t.kind != typeKind || h.mem.word(at+typeFlags)&isHeapType != 0
}
