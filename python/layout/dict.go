package layout

import "hdb/internal/addr"

// maxItems bounds the elements of one object.
const maxItems = 1 << 40

// Keys is of PyDictKeysObject: a head, an index, and behind it entries in the order in which they were made.
type Keys struct {
	Head                  int // bytes of it
	Size                  int // the length of the index, up to 3.10
	Log2, Log2Index, Kind int // from 3.11 on: of the index, of its bytes; general, of texts, or split
	Usable, Entries       int
}

// A Table is the entries of a PyDictKeysObject.
type Table struct {
	Refs     uint64
	At       addr.Run // its entries
	Entry    int      // bytes of one
	Hashed   bool     // an entry begins with the hash of its key: not where all keys are texts, from 3.11 on
	Split    bool     // the values are elsewhere, from 3.11 on
	Entries  uint64   // with those that were deleted
	Usable   uint64   // those that can be made yet
	Capacity uint64   // entries that there is room for: USABLE_FRACTION(DK_SIZE)
	Bytes    int64    // of all
}

// Decode reads the head of keys, which are at an address; ok is false if it makes no sense.
func (k *Keys) Decode(at addr.Run, b []byte) (t Table, ok bool) {
	t = Table{Refs: word(b, 0), Entry: 24, Hashed: true, Usable: word(b, k.Usable), Entries: word(b, k.Entries)}
	var index uint64
	if k.Kind != 0 {
		if b[k.Log2] > 40 || b[k.Log2Index] > 44 || b[k.Kind] > 2 {
			return t, false
		}
		t.Capacity, index = 1<<b[k.Log2]<<1/3, 1<<b[k.Log2Index]
		t.Split = b[k.Kind] == 2
		if t.Hashed = b[k.Kind] == 0; !t.Hashed {
			t.Entry = 16
		}
	} else {
		size := word(b, k.Size)
		if size > maxItems || size&(size-1) != 0 {
			return t, false
		}
		width := uint64(8)
		for _, w := range []uint64{1, 2, 4} {
			if size <= 1<<(8*w)-1 {
				width = w
				break
			}
		}
		t.Capacity, index = size<<1/3, size*width
	}
	if t.Entries > maxItems || t.Usable > maxItems || t.Entries > t.Capacity {
		return t, false
	}
	before := uint64(k.Head) + index
	t.At = at + addr.Run(before)
	t.Bytes = int64(before + t.Capacity*uint64(t.Entry))
	return t, true
}

// Shared is how many values an object has room for whose attributes have these keys.
func (t *Table) Shared() uint64 { return t.Entries + t.Usable }

// KeyAt is where an entry has its key; the value is behind that, unless it is elsewhere.
func (t *Table) KeyAt(i uint64) addr.Run { return t.At + addr.Run(i*uint64(t.Entry)+uint64(t.key())) }

func (t *Table) key() int {
	if t.Hashed {
		return 8
	}
	return 0
}

// Item is the nth of the entries in b.
func (t *Table) Item(b []byte, n int) (key, value addr.Run) {
	at := n*t.Entry + t.key()
	return pointer(b, at), pointer(b, at+8)
}

// Hash is the hash of the nth key in b, 0 if entries have none.
func (t *Table) Hash(b []byte, n int) int64 {
	if !t.Hashed {
		return 0
	}
	return int64(word(b, n*t.Entry))
}

// Managed says where objects have their attributes whose types have ManagedDict: before them a pointer to a dict
// or to values, or values behind them.
type Managed struct {
	Flags       uint64 // of types whose objects have two words more before them
	Dict        int    // bytes before an object, from 3.11 on: the pointer to its dict
	Values      int    // of 3.11: the pointer to its values
	Tagged      bool   // of 3.12: an odd pointer at Dict is that to the values, less one
	InlineHead  int    // of 3.13: bytes of PyDictValues before its values, which are behind the object
	InlineValid int    // in that head
	OrderBefore bool   // of 3.11 and 3.12: the byte before values says how many bytes before them are their order's
}

// words are the bytes before an object whose type has one of Managed.Flags.
const words = 16

// Before is how many bytes are before each object of a type with these flags: what the collector needs and, from 3.11
// on, pointers to its attributes and weak references.
func (l *Layout) Before(flags uint64) (n int64) {
	if flags&HasGC != 0 {
		n = int64(l.GC.Head)
	}
	if flags&l.Managed.Flags != 0 {
		n += words
	}
	return n
}

// Values is where the values are of a PyDictValues, 0 of none.
func (l *Layout) Values(at addr.Run) addr.Run {
	if at == 0 {
		return 0
	}
	return at + addr.Run(l.Managed.InlineHead)
}

// A Class is what the struct of a type says of its objects.
type Class struct {
	Flags       uint64
	Basic, Item int64 // bytes of an object, and of one element
	DictAt      int64 // where an object has its dict, negative from its end; 0 without
}

// Class reads the struct of a type.
func (t *Type) Class(b []byte) Class {
	return Class{word(b, t.Flags), int64(word(b, t.Basic)), int64(word(b, t.Item)), int64(word(b, t.DictAt))}
}

// Attributes is where an object has its attributes: its dict, and a PyDictValues, whose names are the class's cached
// keys. Either may be 0. read reads a word of memory.
func (l *Layout) Attributes(at addr.Run, c Class, read func(addr.Run) (uint64, error)) (dict, values addr.Run, err error) {
	m := &l.Managed
	if m.Dict == 0 || c.Flags&ManagedDict == 0 {
		off, err := l.dictOffset(at, c, read)
		if err != nil || off == 0 {
			return 0, 0, err
		}
		n, err := read(at + addr.Run(off))
		return addr.Run(n), 0, err
	}
	n, err := read(at - addr.Run(m.Dict))
	if err != nil {
		return 0, 0, err
	}
	dict = addr.Run(n)
	switch {
	case m.Values != 0:
		n, err = read(at - addr.Run(m.Values))
		values = addr.Run(n)
	case m.Tagged:
		if n&1 != 0 {
			dict, values = 0, dict+1
		}
	case c.Flags&InlineValues != 0:
		head := at + addr.Run(c.Basic)
		if n, err = read(head); n>>(8*m.InlineValid)&0xff != 0 {
			values = head
		}
	}
	return dict, values, err
}

// dictOffset is where an object has its dict, 0 without. tp_dictoffset is negative if it counts from the end of the
// object: as for a subclass of int, whose objects have different sizes.
func (l *Layout) dictOffset(at addr.Run, c Class, read func(addr.Run) (uint64, error)) (int64, error) {
	off := c.DictAt
	if off == 0 || off > c.Basic || off < -c.Basic {
		return 0, nil
	}
	if off > 0 {
		return off, nil
	}
	n, err := read(at + addr.Run(l.Object.Count))
	elements := int64(n)
	if elements < 0 {
		elements = -elements
	}
	if err != nil || elements < 0 || elements > maxItems {
		return 0, err
	}
	return off + (c.Basic+elements*c.Item+7)&^7, nil
}
