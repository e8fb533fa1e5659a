package objects

import (
	"hdb/internal/addr"
	"hdb/python/layout"
)

// An edge is where in an object a reference is.
type edge struct {
	kind  edgeKind
	index uint32 // of an element, entry, variable; of a field, its offset
}

type edgeKind uint8

const (
	field    edgeKind = iota // of its struct
	element                  // of a list, tuple or deque
	entryKey                 // of a dict
	entryValue
	member    // of a set
	attribute // of an object without a dict
	ownDict   // the dict of its attributes
	variable  // of a frame
	temporary // of a frame, computed and not used yet
	leftOver  // a temporary value of a frame, or what is left of one
	sharedKey // of the attributes that objects of a class share
	stateOf   // the state of a module
	child     // of an Element
)

// A visitor is called for the references of an object.
type visitor func(to addr.Run, e edge)

// traverse describes the references that an object has.
func (h *Heap) traverse(at addr.Run, t *Type, visit visitor) error {
	if err := h.looked(1); err != nil {
		return err
	}
	switch t.kind {
	case leaf, varLeaf, textKind, intKind, bytearrayKind, arrayKind, decimalKind:
		if t.Flags&layout.IsHeapType == 0 || t.Basic == t.from && t.DictAt == 0 && t.head == 0 {
			return nil
		}
	case listKind:
		if err := h.elements(h.mem.field(at, h.l.List.Items), h.count(at), visit); err != nil {
			return err
		}
	case tupleKind:
		if err := h.elements(at+addr.Run(h.l.Tuple.Items), h.count(at), visit); err != nil {
			return err
		}
	case dictKind:
		if err := h.entries(at, visit); err != nil {
			return err
		}
	case orderedKind:
		if err := h.entries(at, visit); err != nil {
			return err
		}
	case setKind:
		if err := h.members(at, visit); err != nil {
			return err
		}
	case dequeKind:
		if err := h.dequeElements(at, visit); err != nil {
			return err
		}
	case typeKind:
		h.ofClass(at, visit)
	case codeKind:
		return h.ofCode(at, visit)
	case frameKind:
		return h.ofFrame(at, visit)
	case generatorKind:
		return h.ofGenerator(at, t, visit)
	case moduleKind:
		h.ofModule(at, visit)
	case elementKind:
		if err := h.children(at, visit); err != nil {
			return err
		}
	}
	h.attributes(at, t, visit)
	return h.fields(at, t, visit)
}

// elements describes n references in a row.
func (h *Heap) elements(from addr.Run, n uint64, visit visitor) error {
	if from == 0 {
		return nil
	}
	if n > maxItems {
		return nil // nonsense, as the size tells
	}
	for i := uint64(0); i < n; {
		some := min(n-i, blockSize/8)
		if room := (blockSize - uint64(from)%blockSize) / 8; room > 0 {
			some = min(some, room)
		}
		if err := h.looked(int(some)); err != nil {
			return err
		}
		b := h.mem.view(from, int(8*some))
		if b == nil {
			return nil
		}
		for j := range int(some) {
			if to := pointerIn(b, 8*j); to != 0 {
				visit(to, edge{element, uint32(i) + uint32(j)})
			}
		}
		i, from = i+some, from+addr.Run(8*some)
	}
	return nil
}

// entries describes the keys and values of a dict.
func (h *Heap) entries(at addr.Run, visit visitor) error {
	b := h.mem.view(at, h.l.Dict.Size)
	if b == nil {
		return nil
	}
	k, ok := h.keysAt(pointerIn(b, h.l.Dict.Keys))
	if !ok {
		return nil
	}
	values := h.l.Values(pointerIn(b, h.l.Dict.Values))
	return h.eachEntry(k, values, func(i uint64, key, value addr.Run) {
		if key == 0 || value == 0 {
			return
		}
		visit(key, edge{entryKey, uint32(i)})
		visit(value, edge{entryValue, uint32(i)})
	})
}

// eachEntry calls yield with the entries of keys, whose values are elsewhere if values is not 0.
func (h *Heap) eachEntry(k layout.Table, values addr.Run, yield func(i uint64, key, value addr.Run)) error {
	for i := uint64(0); i < k.Entries; {
		from := k.At + addr.Run(i*uint64(k.Entry))
		some := min(k.Entries-i, 1<<10)
		if room := (blockSize - uint64(from)%blockSize) / uint64(k.Entry); room > 0 {
			some = min(some, room)
		} else {
			some = 1
		}
		if err := h.looked(int(some)); err != nil {
			return err
		}
		b := h.mem.view(from, int(some)*k.Entry)
		var v []byte
		if values != 0 {
			v = h.mem.view(values+addr.Run(8*i), int(8*some))
		}
		if b == nil || values != 0 && v == nil {
			return nil
		}
		for j := range int(some) {
			key, value := k.Item(b, j)
			if v != nil {
				value = pointerIn(v, 8*j)
			}
			yield(i+uint64(j), key, value)
		}
		i += some
	}
	return nil
}

// members describes those of a set.
func (h *Heap) members(at addr.Run, visit visitor) error {
	b := h.mem.view(at, h.l.Set.Table+8)
	if b == nil {
		return nil
	}
	n, from := wordIn(b, h.l.Set.Mask)+1, pointerIn(b, h.l.Set.Table)
	if n > maxItems {
		return nil
	}
	for i := uint64(0); i < n; {
		some := min(n-i, 1<<10)
		if room := (blockSize - uint64(from)%blockSize) / 16; room > 0 {
			some = min(some, room)
		} else {
			some = 1
		}
		if err := h.looked(int(some)); err != nil {
			return err
		}
		t := h.mem.view(from, int(16*some))
		if t == nil {
			return nil
		}
		for j := range int(some) {
			if key, hash := pointerIn(t, 16*j), int64(wordIn(t, 16*j+8)); key != 0 && hash != -1 { // used, and still
				visit(key, edge{member, uint32(i) + uint32(j)})
			}
		}
		i, from = i+some, from+addr.Run(16*some)
	}
	return nil
}

// dequeElements describes those of a deque: blocks of a link to the left, values, and a link to the right.
func (h *Heap) dequeElements(at addr.Run, visit visitor) error {
	b := h.mem.view(at, h.l.Deque.Index+8)
	if b == nil {
		return nil
	}
	n, block, index := wordIn(b, h.l.Object.Count), pointerIn(b, h.l.Deque.Left), wordIn(b, h.l.Deque.Index)
	if index >= layout.DequeBlock || n > maxItems {
		return nil
	}
	for i := uint64(0); i < n && i < maxDeque; {
		some := min(n-i, layout.DequeBlock-index)
		if err := h.looked(int(some)); err != nil {
			return err
		}
		b := h.mem.view(block, layout.DequeRight+8)
		if b == nil {
			return nil
		}
		for j := range some {
			visit(pointerIn(b, int(8*(1+index+j))), edge{element, uint32(i + j)})
		}
		i, block, index = i+some, pointerIn(b, layout.DequeRight), 0
	}
	return nil
}

// fields describes what in a struct looks like a reference: behind what the type that this one is made of has.
func (h *Heap) fields(at addr.Run, t *Type, visit visitor) error {
	from, to := max(t.from, int64(h.l.Object.Size)), t.Basic
	if t.kind == plain && t.Item == 8 { // elements of 8 bytes may be references: those of a HAMT's node are
		if n := h.count(at); n < maxState {
			to += 8 * int64(n)
		}
	}
	switch t.kind {
	case weakKind:
		visit(h.mem.field(at, h.l.Weakref.Callback), edge{field, uint32(h.l.Weakref.Callback)})
		from = max(from, int64(h.l.Weakref.Size))
	case tupleKind, varLeaf, intKind, textKind, leaf, typeKind:
		if t.Item > 0 {
			return nil // its elements follow, of which traverse tells
		}
	}
	return h.scan(at, from, to, t, visit)
}

// scan describes the objects that words of a struct point to.
func (h *Heap) scan(at addr.Run, from, to int64, t *Type, visit visitor) error {
	from = (from + 7) &^ 7
	for off := from; off+8 <= to; {
		some := min(to-off, blockSize/2) &^ 7
		if err := h.looked(int(some / 8)); err != nil {
			return err
		}
		b := h.mem.view(at+addr.Run(off), int(some))
		if b == nil {
			return nil
		}
		for i := int64(0); i < some; i += 8 {
			p := pointerIn(b, int(i))
			if p < pageSize || p%8 != 0 || off+i == t.weakAt || off+i == t.DictAt {
				continue
			}
			visit(p, edge{field, uint32(off + i)})
		}
		off += some
	}
	return nil
}

// attributes describes an object's dict and of the attributes that it has without one.
func (h *Heap) attributes(at addr.Run, t *Type, visit visitor) {
	dict, values, _ := h.l.Attributes(at, t.Class, h.mem.known)
	if dict != 0 {
		visit(dict, edge{ownDict, 0})
	}
	if values == 0 || t.nkeys == 0 {
		return
	}
	h.slots += t.nkeys
	b := h.mem.view(h.l.Values(values), 8*t.nkeys)
	for i := 0; i < len(b); i += 8 {
		if to := pointerIn(b, i); to != 0 {
			visit(to, edge{attribute, uint32(i / 8)})
		}
	}
}
