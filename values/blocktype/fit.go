package blocktype

import (
	"strings"

	"hdb/heap/glibc"
	"hdb/values"
)

// How well a type fits a block: lower is better.
const (
	fitsExactly = 16 * iota
	fitsArray
	fitsFlexible
	fitsText     // n characters, which is what memory without a type is declared as, too
	fitsPerhaps  // an array of structs by its size alone
	fitsOldStyle // more than a struct that ends with an array of one element
)

// fit is the type of a block by a candidate, nil if it does not fit, and how well it does.
func (s *Site) fit(c candidate, b Block) (*Type, int) {
	size := c.typ.Size()
	if size <= 0 || b.Size == 0 {
		return nil, 0
	}
	t := &Type{Elem: c.typ, Name: c.typ.String(), Count: 1}
	n, rest := b.Size/uint64(size), b.Size%uint64(size)
	exact := n == 1 && rest == 0
	rank := int(c.rank)
	switch s.shape {
	case oneShape:
		if exact {
			return t, fitsExactly + rank
		}
		return nil, 0
	case arrayShape:
		if rest != 0 {
			return nil, 0
		}
		t.Array, t.Count = n > 1 || c.typ.Scalar(), n
		return t, fitsArray + rank
	case cookieShape:
		return s.newArray(t, c, b)
	}
	scalar := c.typ.Scalar()
	switch {
	case exact && size == 1:
		t.Array = true
		return t, fitsText + rank
	case exact:
		return t, fitsExactly + rank
	case rest == 0 && (scalar || counted(b, n, uint64(size))):
		t.Array, t.Count = true, n
		if size == 1 {
			return t, fitsText + rank
		}
		return t, fitsArray + rank
	case n == 0:
		return nil, 0
	case flexible(c.typ) != nil:
		t.Tail = b.Size - uint64(size)
		return t, fitsFlexible + rank
	case rest == 0:
		t.Array, t.Count, t.How = true, n, Guess
		return t, fitsPerhaps + rank
	}
	return nil, 0
}

// Pointed is the type of a block that a pointer to typ leads to, whose size is as in Refined; nil if typ
// is larger. A type that is linked to others of itself, and holds nothing else, makes no array.
func Pointed(typ *values.Type, size uint64, exact bool) *Type {
	n := uint64(max(typ.Size(), 0))
	if n == 0 || n > size {
		return nil
	}
	t := &Type{Elem: typ, Name: typ.String(), Count: 1, How: Pointer}
	if !Link(typ) && (exact && n != size || !exact && glibc.Usable(n) != size) {
		if fits, _ := (&Site{}).fit(candidate{typ: typ}, Block{Size: size}); fits != nil {
			t.Array, t.Count, t.Tail = fits.Array, fits.Count, fits.Tail
		}
	}
	return t
}

// Link tells types that blocks of other types begin with: classes with no members but pointers to their own, as
// std::__detail::_Hash_node_base, and those of std:: that are named as bases are. A larger block that a pointer to one
// leads to is hardly an array of them.
func Link(typ *values.Type) bool {
	s := typ.Strip()
	if s.Kind != values.Struct {
		return false
	}
	if strings.HasPrefix(s.Name, "std::") && strings.HasSuffix(cutTemplate(s.Name), "_base") {
		return true
	}
	for _, f := range s.Fields() {
		if f.Static {
			continue
		}
		if to := Pointee(f.Type); to == nil || f.Type.Strip().Kind != values.Pointer || to.Strip().String() != s.String() {
			return false
		}
	}
	return true
}

// counted tells that the program said that there are n elements, in one of the two orders in which
// programs give calloc its arguments.
func counted(b Block, n, size uint64) bool { return b.Count == n || b.Count == size && b.Count > 1 }

// newArray is the type of an array that operator new[] returned. Where elements have destructors, their
// number is before them (Itanium C++ ABI, section 2.7).
func (s *Site) newArray(t *Type, c candidate, b Block) (*Type, int) {
	size := uint64(c.typ.Size())
	cookie := max(8, uint64(c.typ.Alignment()))
	t.Array = true
	if c.typ.Destroyed() {
		if b.Size < cookie || (b.Size-cookie)%size != 0 {
			return nil, 0
		}
		t.Start, t.Count = cookie, (b.Size-cookie)/size
		return t, fitsArray + int(c.rank)
	}
	switch {
	case b.Size%size == 0:
		t.Count = b.Size / size
	case b.Size > cookie && (b.Size-cookie)%size == 0 && c.typ.Strip().Kind == values.Struct:
		t.Start, t.Count = cookie, (b.Size-cookie)/size
	default:
		return nil, 0
	}
	return t, fitsArray + int(c.rank)
}
