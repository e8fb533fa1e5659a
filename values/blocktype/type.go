package blocktype

import (
	"fmt"
	"slices"
	"strings"

	"hdb/values"
)

// A Block is what is asked about.
type Block struct {
	Size  uint64 // bytes that were asked for
	Count uint64 // of elements, as the program told calloc; 0: it told none
}

// A Type is what a block holds: Count values of Elem, one behind the other, from byte Start on.
type Type struct {
	Elem  *values.Type // nil: debug information does not describe it
	Name  string       // of Elem
	Array bool         // false: Count is 1
	Count uint64
	Start uint64 // bytes before: C++ keeps the number of elements of some arrays there
	Tail  uint64 // bytes behind, of a flexible array member
	How   How

	// Layout names the members where Elem is nil; nil: nothing does.
	Layout Layout
}

// A Layout names what is at an offset of a block, as Field does.
type Layout interface{ Field(off uint64) string }

// String is the type as in a declaration: "struct node", "struct node [10]". The bytes of a
// flexible array member are counted: "struct text + 11 bytes".
func (t *Type) String() string {
	switch {
	case t.Array && t.Elem != nil && t.Elem.Rust():
		return fmt.Sprintf("[%s; %d]", t.Name, t.Count)
	case t.Array:
		return fmt.Sprintf("%s [%d]", t.Name, t.Count)
	case t.Tail == 1:
		return t.Name + " + 1 byte"
	case t.Tail > 0:
		return fmt.Sprintf("%s + %d bytes", t.Name, t.Tail)
	}
	return t.Name
}

// Kind is the type without numbers, which blocks of several sizes share: "struct node [ ]" of all
// arrays.
func (t *Type) Kind() string {
	switch {
	case t.Array && t.Elem != nil && t.Elem.Rust():
		return "[" + t.Name + "]"
	case t.Array:
		return t.Name + " []"
	case t.Tail > 0:
		return t.Name + " + bytes"
	}
	return t.Name
}

// Field names what is at an offset of the block, with . and [ ] before, as in an expression, and tells
// its type: ".next", "[3].name[0]". The text is "" for a value that has no members. typ is nil where
// nothing begins at the offset, and if debug information does not describe the type.
func (t *Type) Field(off uint64) (text string, typ *values.Type) {
	if t.Elem == nil && t.Layout != nil {
		return t.Layout.Field(off), nil
	}
	if t.Elem == nil || off < t.Start {
		return "", nil
	}
	size := uint64(max(t.Elem.Size(), 0))
	if size == 0 {
		return "", nil
	}
	i, in := (off-t.Start)/size, (off-t.Start)%size
	switch {
	case t.Array && i >= t.Count:
		return "", nil
	case t.Array:
		text = fmt.Sprintf("[%d]", i)
	case i > 0:
		return t.inTail(off)
	}
	rest, typ := Member(t.Elem, int64(in))
	if typ == nil && t.Tail > 0 {
		return t.inTail(off)
	}
	return text + rest, typ
}

// inTail names an element of a flexible array member.
func (t *Type) inTail(off uint64) (string, *values.Type) {
	f := flexible(t.Elem)
	if t.Tail == 0 || f == nil || off < uint64(f.Offset) {
		return "", nil
	}
	elem := f.Type.Strip().Elem()
	size := uint64(max(elem.Size(), 0))
	if size == 0 {
		return "", nil
	}
	i, in := (off-uint64(f.Offset))/size, (off-uint64(f.Offset))%size
	rest, typ := Member(elem, int64(in))
	if typ == nil {
		return "", nil
	}
	return fmt.Sprintf(".%s[%d]%s", f.Name, i, rest), typ
}

// maxNested bounds members of members.
const maxNested = 16

// Member names what is at an offset of a value of type t, with . and [ ] before, and tells its type; nil if
// nothing that has no members begins there.
func Member(t *values.Type, off int64) (text string, typ *values.Type) {
	text, typ, _ = member(t, off)
	return text, typ
}

// Weak reports whether what is at an offset of the block is part of a weak pointer, which keeps no object alive.
func (t *Type) Weak(off uint64) bool {
	if t.Elem == nil || off < t.Start || t.Elem.Size() <= 0 {
		return false
	}
	_, _, weak := member(t.Elem, int64((off-t.Start)%uint64(t.Elem.Size())))
	return weak
}

// WeakMember reports whether what is at an offset of a value of type t is part of a weak pointer.
func WeakMember(t *values.Type, off int64) bool {
	_, _, weak := member(t, off)
	return weak
}

// weakPointers begin the names of those of libstdc++, libc++ and Rust.
var weakPointers = []string{"std::weak_ptr<", "std::__weak_ptr<", "std::__weak_count<", "std::__1::weak_ptr<", "alloc::rc::Weak<", "alloc::sync::Weak<"}

// member is Member; weak reports whether it is part of a weak pointer.
func member(t *values.Type, off int64) (text string, typ *values.Type, weak bool) {
	if t == nil {
		return "", nil, false
	}
	var b strings.Builder
	for range maxNested {
		switch s := t.Strip(); s.Kind {
		case values.Struct:
			if in := buffered(s); in != nil {
				t = in
				continue
			}
			f := fieldAt(s, off)
			if f == nil {
				return "", nil, false
			}
			weak = weak || slices.ContainsFunc(weakPointers, func(p string) bool { return strings.HasPrefix(s.Name, p) })
			if !f.Base && f.Name != "" {
				b.WriteString("." + f.Name)
			}
			t, off = f.Type, off-f.Offset
		case values.Array:
			row := s.Row()
			size := row.Size()
			if size <= 0 {
				return "", nil, false
			}
			fmt.Fprintf(&b, "[%d]", off/size)
			t, off = row, off%size
		default:
			if off != 0 {
				return "", nil, false
			}
			return b.String(), t, weak
		}
	}
	return "", nil, false
}

// buffered is the type of the object that a buffer of libstdc++ has room for, nil of other types: nodes of containers and blocks
// of shared pointers keep their objects there.
func buffered(t *values.Type) *values.Type {
	if strings.HasPrefix(t.Name, "__gnu_cxx::__aligned_buffer<") || strings.HasPrefix(t.Name, "__gnu_cxx::__aligned_membuf<") {
		return t.TemplateType("_Tp")
	}
	return nil
}

// Public is a name that Member tells without the members of libraries on the way, whose names the C++ standard reserves: .cache for
// .cache._M_t._M_impl._M_header. It is the whole name if there is nothing else.
func Public(text string) string {
	var b strings.Builder
	for i, part := range strings.SplitAfter(text, ".") {
		name := strings.TrimSuffix(part, ".")
		index := ""
		if k := strings.IndexByte(name, '['); k >= 0 {
			name, index = name[:k], name[k:]
		}
		switch {
		case i > 0 && Reserved(name):
			b.WriteString(index)
		case i > 0 && name != "":
			b.WriteString("." + name + index)
		default:
			b.WriteString(name + index)
		}
	}
	if b.Len() == 0 {
		return text
	}
	return b.String()
}

// Reserved reports whether a member's name is one that C++ reserves for its library.
func Reserved(name string) bool {
	name = strings.TrimPrefix(name, ".")
	return strings.HasPrefix(name, "_M_") || strings.HasPrefix(name, "__")
}

// maxEmpty is how many members are looked at to find that a class has no data.
const maxEmpty = 256

// empty reports whether a class has no data: its one byte overlaps what others have there. left is how many members may be looked at.
func empty(t *values.Type, left *int) bool {
	s := t.Strip()
	if s.Kind != values.Struct || s.Size() > 1 || len(s.Variants()) > 0 {
		return false
	}
	for _, f := range s.Fields() {
		if *left--; *left <= 0 || !f.Static && (f.Type == nil || !empty(f.Type, left)) {
			return false
		}
	}
	return true
}

// fieldAt is the member or base class of a struct that an offset is in, of those of a union the first
// pointer, without one the first. It is nil for padding and for bit fields.
func fieldAt(t *values.Type, off int64) *values.Field {
	var found *values.Field
	fields := t.Fields()
	for i := range fields {
		f := &fields[i]
		if f.Static || f.Virtual || f.Type == nil || f.BitSize > 0 || off < f.Offset || off-f.Offset >= f.Type.Size() || empty(f.Type, new(maxEmpty)) {
			continue
		}
		if found == nil || f.Type.Strip().Kind == values.Pointer && found.Type.Strip().Kind != values.Pointer {
			found = f
		}
	}
	return found
}

// flexible is the flexible array member that a struct ends with, nil without one.
func flexible(t *values.Type) *values.Field {
	s := t.Strip()
	if s.Kind != values.Struct {
		return nil
	}
	fields := s.Fields()
	for i := len(fields) - 1; i >= 0; i-- {
		f := &fields[i]
		if f.Static || f.Type == nil {
			continue
		}
		if a := f.Type.Strip(); a.Kind == values.Array && a.Count() <= 0 {
			return f
		}
		return nil
	}
	return nil
}

// Pointee is the type that a pointer or reference of type t leads to, nil if t is neither, or leads to
// nothing that has a size.
func Pointee(t *values.Type) *values.Type {
	if t == nil {
		return nil
	}
	s := t.Strip()
	if s.Kind != values.Pointer && s.Kind != values.Reference && s.Kind != values.RvalueReference {
		return nil
	}
	to := s.Elem().Unqualified()
	if k := to.Strip().Kind; k == values.Void || k == values.Function || k == values.Unspecified || to.Size() <= 0 {
		return nil
	}
	return to
}

// isVoidPointer tells the type of a pointer that says nothing of what it leads to.
func isVoidPointer(t *values.Type) bool {
	s := t.Strip()
	return s.Kind == values.Pointer && s.Elem().Strip().Kind == values.Void
}
