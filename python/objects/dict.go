package objects

import (
	"hdb/internal/addr"
	"hdb/python/layout"
)

// keysAt reads the PyDictKeysObject at an address; ok is false if none is there.
func (h *Heap) keysAt(at addr.Run) (k layout.Table, ok bool) {
	if at == 0 || at%8 != 0 {
		return k, false
	}
	b := h.mem.view(at, h.l.Keys.Head)
	if b == nil {
		return k, false
	}
	return h.l.Keys.Decode(at, b)
}

// lookup is the value of a dict for a name, 0 if it has none. It is for dicts of classes and modules, which have
// few: at most a thousand entries are looked at.
func (h *Heap) lookup(dict addr.Run, name string) addr.Run {
	b := h.mem.view(dict, h.l.Dict.Size)
	if dict == 0 || b == nil {
		return 0
	}
	k, ok := h.keysAt(pointerIn(b, h.l.Dict.Keys))
	if !ok || pointerIn(b, h.l.Dict.Values) != 0 {
		return 0
	}
	h.slots += int(min(k.Entries, 1<<10))
	for i := range min(k.Entries, 1<<10) {
		if at := h.mem.pointer(k.KeyAt(i)); at != 0 && h.isText(at, name) {
			return h.mem.pointer(k.KeyAt(i) + 8)
		}
	}
	return 0
}

// isText reports whether an object is the str with that text, which is ASCII.
func (h *Heap) isText(at addr.Run, want string) bool {
	l := &h.l.Text
	b := h.mem.view(at, l.ASCII+len(want))
	if b == nil {
		return false
	}
	s := l.StateOf(b)
	return s.Compact && s.ASCII && wordIn(b, l.Length) == uint64(len(want)) && string(b[l.ASCII:]) == want
}
