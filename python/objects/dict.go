package objects

import "hdb/internal/addr"

// A keys is a PyDictKeysObject: an index, and behind it entries in the order in which they were made.
type keys struct {
	refs     uint64
	at       addr.Run // its entries
	size     int      // of one
	hashed   bool     // an entry begins with the hash of its key
	split    bool     // the values are elsewhere
	entries  uint64   // with those that were deleted
	usable   uint64   // those that can be made yet
	capacity uint64   // entries that there is room for: USABLE_FRACTION(DK_SIZE)
	bytes    int64    // of all
}

// keysAt reads the keys at an address; ok is false if none are there.
func (h *Heap) keysAt(at addr.Run) (k keys, ok bool) {
	if at == 0 || at%8 != 0 {
		return k, false
	}
	b := h.mem.view(at, 40)
	if b == nil {
		return k, false
	}
	k.refs, k.size, k.hashed = wordIn(b, 0), 24, true
	var header, index uint64
	if h.l.minor >= 11 {
		if b[8] > 40 || b[9] > 44 || b[10] > 2 {
			return k, false
		}
		k.capacity = 1 << b[8] << 1 / 3
		k.split = b[10] == 2
		if k.hashed = b[10] == 0; !k.hashed {
			k.size = 16
		}
		k.usable, k.entries, header, index = wordIn(b, 16), wordIn(b, 24), 32, 1<<b[9]
	} else {
		size := wordIn(b, 8)
		if size > maxItems || size&(size-1) != 0 {
			return k, false
		}
		width := uint64(8)
		for _, w := range []uint64{1, 2, 4} {
			if size <= 1<<(8*w)-1 {
				width = w
				break
			}
		}
		k.capacity = size << 1 / 3
		k.usable, k.entries, header, index = wordIn(b, 24), wordIn(b, 32), 40, size*width
	}
	if k.entries > maxItems || k.usable > maxItems || k.entries > k.capacity {
		return k, false
	}
	k.at = at + addr.Run(header+index)
	k.bytes = int64(header + index + k.capacity*uint64(k.size))
	return k, true
}

// shared is how many values an object has room for whose attributes have these keys.
func (k keys) shared() uint64 { return k.entries + k.usable }

// valuesAt is where the values of a PyDictValues are.
func (h *Heap) valuesAt(at addr.Run) addr.Run {
	if h.l.minor >= 13 {
		return at + 8 // behind its capacity, size and flags
	}
	return at
}

// key is the key of an entry.
func (h *Heap) key(k keys, i uint64) addr.Run {
	at := k.at + addr.Run(i*uint64(k.size))
	if k.hashed {
		at += 8
	}
	return h.mem.pointer(at)
}

// lookup is the value of a dict for a name, 0 if it has none. It is for dicts of classes and modules, which have
// few: at most a thousand entries are looked at.
func (h *Heap) lookup(dict addr.Run, name string) addr.Run {
	b := h.mem.view(dict, dictSize)
	if dict == 0 || b == nil {
		return 0
	}
	k, ok := h.keysAt(pointerIn(b, dictKeys))
	if !ok || pointerIn(b, dictValues) != 0 {
		return 0
	}
	h.slots += int(min(k.entries, 1<<10))
	for i := range min(k.entries, 1<<10) {
		if at := h.key(k, i); at != 0 && h.isText(at, name) {
			off := addr.Run(8)
			if k.hashed {
				off = 16
			}
			return h.mem.pointer(k.at + addr.Run(i*uint64(k.size)) + off)
		}
	}
	return 0
}

const (
	textLength  = 16
	textState   = 32
	textCompact = 1 << 5
	textASCII   = 1 << 6
	textReady   = 1 << 7 // up to 3.11
)

// isText tells whether an object is the str with that text, which is ASCII.
func (h *Heap) isText(at addr.Run, want string) bool {
	b := h.mem.view(at, h.l.ascii+len(want))
	return b != nil && b[textState]&(textCompact|textASCII) == textCompact|textASCII &&
		wordIn(b, textLength) == uint64(len(want)) && string(b[h.l.ascii:]) == want
}
