package objects

import (
	"hdb/internal/addr"
	"hdb/python/layout"
)

const (
	maxBefore = 32     // bytes before an object, at most
	maxValues = 30 + 2 // bytes before values: an order of 30 (SHARED_KEYS_MAX_SIZE) and two sizes
)

// Inner reports whether CPython holds the block that begins at start by a pointer behind that, which is at word: to an
// object, before which are the collector's head and pointers to attributes and weak references; to that head; or to the
// values of an object's attributes, before which is their order. An object may be one that a list of free ones has, and
// that nothing refers to.
func (h *Heap) Inner(word, pointer, start addr.Run) bool {
	return h.objectBehind(pointer, start) || h.objectBehind(pointer+addr.Run(h.l.GC.Head), start) || h.valuesBehind(word, pointer, start)
}

// objectBehind reports whether an object is there for which the block was made.
func (h *Heap) objectBehind(at, start addr.Run) bool {
	if at <= start || at%8 != 0 || at-start > maxBefore {
		return false
	}
	b := h.mem.view(at, h.l.Object.Size)
	if b == nil || wordIn(b, 0) > maxRefs {
		return false
	}
	t := h.typeAt(pointerIn(b, h.l.Object.Type))
	return t != nil && start+addr.Run(t.head) == at
}

// valuesBehind reports whether a word is an object's pointer to its values, or a dict's. The byte before them says how far behind the
// block's start they begin.
func (h *Heap) valuesBehind(word, pointer, start addr.Run) bool {
	values, m := pointer, &h.l.Managed
	switch {
	case word == 0 || pointer-start > maxValues || !m.OrderBefore: // they begin with their size, or are elsewhere
		return false
	case m.Values != 0 && h.hasManagedDict(word+addr.Run(m.Values)):
	case m.Tagged && pointer&1 != 0 && h.hasManagedDict(word+addr.Run(m.Dict)):
		values++
	default:
		if t := h.typeOf(word - addr.Run(h.l.Dict.Values)); t == nil || t.kind != dictKind {
			return false
		}
	}
	b := h.mem.view(values-1, 1)
	return b != nil && start+addr.Run(b[0]) == values
}

func (h *Heap) hasManagedDict(at addr.Run) bool {
	t := h.typeOf(at)
	return t != nil && t.Flags&layout.ManagedDict != 0
}
