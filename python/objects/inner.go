package objects

import "hdb/internal/addr"

const (
	dictBefore   = 24     // from 3.11 on: the pointer to an object's dict lies so far before it; in 3.12 it may be to its values, less one
	valuesBefore = 32     // in 3.11: so does the pointer to its values
	maxBefore    = 32     // bytes before an object, at most
	maxValues    = 30 + 2 // bytes before values: an order of 30 (SHARED_KEYS_MAX_SIZE) and two sizes
)

// Inner reports whether CPython holds the block that begins at start by a pointer behind that, which lies at word: to an object, before which
// are the collector's head and pointers to attributes and weak references; to that head; or to the values of an object's
// attributes, before which is their order. An object may be one that a list of free ones has, and that nothing refers to.
func (h *Heap) Inner(word, pointer, start addr.Run) bool {
	return h.objectBehind(pointer, start) || h.objectBehind(pointer+headSize, start) || h.valuesBehind(word, pointer, start)
}

// objectBehind reports whether an object is there for which the block was made.
func (h *Heap) objectBehind(at, start addr.Run) bool {
	if at <= start || at%8 != 0 || at-start > maxBefore {
		return false
	}
	b := h.mem.view(at, headSize)
	if b == nil || wordIn(b, 0) > maxRefs {
		return false
	}
	t := h.typeAt(pointerIn(b, objectType))
	return t != nil && start+addr.Run(t.head) == at
}

// valuesBehind reports whether a word is an object's pointer to its values, or a dict's. The byte before them says how far behind the
// block's start they begin.
func (h *Heap) valuesBehind(word, pointer, start addr.Run) bool {
	values := pointer
	switch {
	case word == 0 || pointer-start > maxValues:
		return false
	case h.l.minor == 11 && h.hasManagedDict(word+valuesBefore):
	case h.l.minor == 12 && pointer&1 != 0 && h.hasManagedDict(word+dictBefore):
		values++
	case h.l.minor == 11 || h.l.minor == 12:
		if t := h.typeOf(word - dictValues); t == nil || t.kind != dictKind {
			return false
		}
	default: // they begin with their size, or are elsewhere
		return false
	}
	b := h.mem.view(values-1, 1)
	return b != nil && start+addr.Run(b[0]) == values
}

func (h *Heap) hasManagedDict(at addr.Run) bool {
	t := h.typeOf(at)
	return t != nil && t.flags&managedDict != 0
}
