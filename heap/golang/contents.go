package golang

import (
	"fmt"
	"sort"
	"strings"

	"hdb/goruntime"
)

// Content is what a block holds: values of a type, one behind the other.
type Content struct {
	Type  *Type
	Array bool // any number of them: of a slice, a channel or a map; else one
}

func (c Content) String() string {
	name := c.Type.Name
	if name == "" {
		name = "?"
	}
	switch c.Type.Kind {
	case mapTables:
		name += " tables"
	case mapTable:
		name += " table"
	}
	if c.Array {
		return "[]" + name
	}
	return name
}

// Kinds of what the runtime makes for maps and channels, which have no descriptors that lead there.
const (
	mapHeader Kind = 64 + iota // hmap, since 1.24 maps.Map
	mapTables                  // a directory: pointers to tables
	mapTable
	chanHeader
)

// Offsets in these (Go's src/runtime/map.go, chan.go, src/internal/runtime/maps).
const (
	hmapBuckets    = 16
	hmapOldBuckets = 24
	mapDir         = 16 // pointer to tables, or to the one group if mapDirLen is 0
	mapDirLen      = 24
	tableGroups    = 16
	chanBuf        = 16
	groupsSince    = 24 // minor version
	madeSize       = 48 // of all of these, at most
)

// made is a type of what the runtime makes of a map or channel, with the name of that.
func (ts *Types) made(kind Kind, of *Type) *Type {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	key := madeType{kind, of.At}
	if t := ts.madeTypes[key]; t != nil {
		return t
	}
	t := &Type{At: of.At, Name: of.Name, Size: 8, Kind: kind, PtrBytes: 8, Elem: of.Elem, Group: of.Group}
	if ts.madeTypes == nil {
		ts.madeTypes = map[madeType]*Type{}
	}
	ts.madeTypes[key] = t
	return t
}

// Made tells types that no program has: of what the runtime makes of a map or channel.
func (t *Type) Made() bool { return t.Kind >= mapHeader }

type madeType struct {
	kind Kind
	of   uint64
}

// maxNested bounds members of members.
const maxNested = 32

// place is what is at an offset of a value: the innermost member that begins there or has it, its name with .
// and [ ] before, and where in it the offset is.
func (ts *Types) place(t *Type, off uint64) (text string, in *Type, rest uint64) {
	var b strings.Builder
	for range maxNested {
		switch t.Kind {
		case Struct:
			i := sort.Search(len(t.Fields), func(i int) bool { return t.Fields[i].Offset > off }) - 1
			for ; i > 0; i-- { // past fields of no bytes
				if f := ts.At(t.Fields[i].Type); f == nil || f.Size > 0 {
					break
				}
			}
			if i < 0 {
				return b.String(), t, off
			}
			f := &t.Fields[i]
			part := ts.At(f.Type)
			if part == nil || off-f.Offset >= max(part.Size, 1) {
				return b.String(), t, off
			}
			b.WriteString("." + f.Name)
			t, off = part, off-f.Offset
		case Array:
			elem := ts.At(t.Elem)
			if elem == nil || elem.Size == 0 || off >= t.Size {
				return b.String(), t, off
			}
			fmt.Fprintf(&b, "[%d]", off/elem.Size)
			t, off = elem, off%elem.Size
		default:
			return b.String(), t, off
		}
	}
	return b.String(), t, off
}

// Member names what is at an offset of a block: ".next", "[3].name". It is "" if nothing has a name there.
func (ts *Types) Member(c Content, off uint64) string {
	t := c.Type
	switch t.Kind {
	case mapHeader, mapTables, mapTable, chanHeader:
		return madeMember(t, off, ts.h.src.Layout.Minor)
	}
	if t.Size == 0 {
		return ""
	}
	text := ""
	if c.Array {
		text = fmt.Sprintf("[%d]", off/t.Size)
	} else if off >= t.Size {
		return ""
	}
	rest, _, _ := ts.place(t, off%t.Size)
	return text + rest
}

func madeMember(t *Type, off uint64, minor int) string {
	switch {
	case t.Kind == mapTables:
		return fmt.Sprintf("[%d]", off/8)
	case t.Kind == mapTable && off == tableGroups:
		return ".groups"
	case t.Kind == chanHeader && off == chanBuf:
		return ".buf"
	case t.Kind == mapHeader && minor < groupsSince && off == hmapBuckets:
		return ".buckets"
	case t.Kind == mapHeader && minor < groupsSince && off == hmapOldBuckets:
		return ".oldbuckets"
	case t.Kind == mapHeader && minor >= groupsSince && off == mapDir:
		return ".dir"
	}
	return ""
}

// Target is what the pointer at an offset of a block of values of a type leads to, by its own type. word reads a word of
// the block at another offset. ok is false if it says nothing.
func (ts *Types) Target(c Content, off uint64, word func(off uint64) uint64) (to Content, ok bool) {
	t := c.Type
	switch t.Kind {
	case mapHeader, mapTables, mapTable, chanHeader:
		return ts.madeTarget(t, off, word)
	}
	if t.Size == 0 {
		return to, false
	}
	base := off / t.Size * t.Size
	_, in, rest := ts.place(t, off-base)
	return ts.pointed(in, rest, off-rest, word)
}

// pointed is what the word at an offset of a value points to, which is at an offset of its block.
func (ts *Types) pointed(t *Type, off, at uint64, word func(off uint64) uint64) (to Content, ok bool) {
	elem := func(array bool) (Content, bool) {
		e := ts.At(t.Elem)
		return Content{e, array}, e != nil && e.Size > 0
	}
	switch {
	case t.Kind == Interface && off == 8:
		return ts.Dynamic(word(at), t.Methods)
	case off != 0:
	case t.Kind == Ptr:
		return elem(false)
	case t.Kind == Slice:
		return elem(true)
	case t.Kind == String:
		return Content{ts.bytes(), true}, true
	case t.Kind == Map:
		return Content{ts.made(mapHeader, t), false}, true
	case t.Kind == Chan:
		return Content{ts.made(chanHeader, t), false}, true
	}
	return to, false
}

// bytes is the type of what a string has.
func (ts *Types) bytes() *Type {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	if ts.uint8 == nil {
		ts.uint8 = &Type{Name: "uint8", Size: 1, Kind: Uint8, mask: []byte{}}
	}
	return ts.uint8
}

// Dynamic is what the second word of an interface points to: a value of the type that the first tells, or what
// that type points to, if it is a pointer. Of an interface with methods the first word leads to the type.
func (ts *Types) Dynamic(first uint64, methods bool) (to Content, ok bool) {
	if first == 0 {
		return to, false
	}
	typ := first
	if methods {
		const itabType = 8 // in runtime.itab
		typ = ts.h.mem.Word(first + itabType)
	}
	d := ts.At(typ)
	for range maxNested {
		switch {
		case d == nil || d.Size == 0:
			return to, false
		case d.Kind == Ptr || d.Kind == Map || d.Kind == Chan:
			return ts.pointed(d, 0, 0, nil)
		case d.Kind == Func || d.Kind == UnsafePointer:
			return to, false
		case d.Direct && d.Kind == Struct && len(d.Fields) > 0:
			inner := ts.At(d.Fields[0].Type)
			for _, f := range d.Fields[1:] {
				if inner != nil && inner.Size > 0 {
					break
				}
				inner = ts.At(f.Type)
			}
			d = inner
		case d.Direct && d.Kind == Array:
			d = ts.At(d.Elem)
		default:
			return Content{d, false}, true
		}
	}
	return to, false
}

func (ts *Types) madeTarget(t *Type, off uint64, word func(off uint64) uint64) (to Content, ok bool) {
	group := func(array bool) (Content, bool) {
		g := ts.At(t.Group)
		return Content{g, array}, g != nil && g.Size > 0
	}
	switch old := ts.h.src.Layout.Minor < groupsSince; {
	case t.Kind == chanHeader && off == chanBuf:
		e := ts.At(t.Elem)
		return Content{e, true}, e != nil && e.Size > 0
	case t.Kind == mapHeader && old && (off == hmapBuckets || off == hmapOldBuckets):
		return group(true)
	case t.Kind == mapHeader && !old && off == mapDir:
		if word(mapDirLen) == 0 {
			return group(false)
		}
		return Content{ts.made(mapTables, t), false}, true
	case t.Kind == mapTables:
		return Content{ts.made(mapTable, t), false}, true
	case t.Kind == mapTable && off == tableGroups:
		return group(true)
	}
	return to, false
}

// Fits reports whether a block of a slot's size, without a header, can be one of values of the type.
func (c Content) Fits(b Block) bool {
	t := c.Type
	switch {
	case t.Made():
		return b.Size <= 2*madeSize || t.Kind == mapTables || t.Kind == chanHeader
	case t.Size == 0 || t.Size > b.Size:
		return false
	case c.Array:
		return true
	}
	size := t.Size
	if b.Slot() > b.Size {
		size += b.Slot() - b.Size
	}
	return size >= 8 && goruntime.SlotSize(size) == b.Slot() // smaller ones share slots
}
