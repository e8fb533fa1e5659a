package values

import (
	"fmt"
	"slices"
	"strings"

	"hdb/symbols/dwarf"
	"hdb/values/calls"
)

// Encodings of base types that are compiler extensions.
const (
	encComplexInteger = 0x80 // of GNU C
	encDecimalFloat   = 0x0f
)

// classify returns the classes of a value's eightbytes, nil for a value that is returned
// in memory. For C++, passedByReference comes first.
func classify(t *Type) (calls.Words, error) {
	return calls.Classify(&classifier{t: t})
}

// A classifier puts the classes of a value's scalars. Its methods report false if the
// value is passed in memory.
type classifier struct {
	calls.Words
	t     *Type
	steps int
	err   error
}

// Size is the size of the value in bytes.
func (c *classifier) Size() int64 { return c.t.Size() }

// Place classifies the value.
func (c *classifier) Place(w calls.Words) (bool, error) {
	c.Words = w
	ok := c.add(c.t, 0, 0)
	return ok, c.err
}

// add classifies the part of the value that is of type t.
func (c *classifier) add(t *Type, off int64, depth int) bool {
	s := t.Strip()
	if c.steps++; c.steps > maxFields || depth > maxTypeDepth {
		return false
	}
	if s.Kind != Struct && s.Kind != Array && off%s.Alignment() != 0 {
		return false // packed
	}
	switch s.Kind {
	case Base:
		return c.base(s, off)
	case Pointer, Reference, RvalueReference, Enum, Unspecified:
		return c.Put(off, calls.Integer)
	case MemberPointer:
		return c.Put(off, calls.Integer) && (s.Size() <= 8 || c.Put(off+8, calls.Integer))
	case Array:
		return c.array(s, off, depth)
	case Struct:
		return c.members(s, off, depth)
	}
	c.err = errReturned
	return false
}

// base classifies a scalar. A complex number is classified as a struct of two.
func (c *classifier) base(t *Type, off int64) bool {
	size := t.Size()
	integers := slices.Repeat([]calls.Class{calls.Integer}, int((size+7)/8))
	switch t.Enc {
	case encFloat:
		switch {
		case size <= 8:
			return c.Put(off, calls.SSE)
		case isQuad(t):
			return c.Put(off, calls.SSE, calls.SSEUp)
		}
		return c.Put(off, calls.X87, calls.X87Up)
	case encDecimalFloat:
		if size <= 8 {
			return c.Put(off, calls.SSE)
		}
		return c.Put(off, calls.SSE, calls.SSEUp)
	case encComplex:
		if size > 16 {
			return false
		}
		return c.Put(off, slices.Repeat([]calls.Class{calls.SSE}, int((size+7)/8))...)
	}
	return c.Put(off, integers...)
}

// isQuad reports whether a floating-point type of 16 bytes is IEEE 754's binary128 rather
// than the x87's extended precision.
func isQuad(t *Type) bool {
	return strings.Contains(t.Name, "128") || strings.Contains(t.Name, "quad") || strings.Contains(t.Name, "kind=16")
}

func (c *classifier) array(t *Type, off int64, depth int) bool {
	size := t.Size()
	if t.vector {
		if size < 8 {
			c.err = fmt.Errorf("compilers differ in how they return a vector of %d bytes", size)
			return false
		}
		return c.Put(off, calls.SSE) && c.Put(off+8, slices.Repeat([]calls.Class{calls.SSEUp}, int(size/8-1))...)
	}
	elem := t.Row()
	n := elem.Size()
	if n <= 0 {
		return true
	}
	for at := int64(0); at+n <= size; at += n {
		if !c.add(elem, off+at, depth+1) {
			return false
		}
	}
	return true
}

func (c *classifier) members(t *Type, off int64, depth int) bool {
	for _, f := range t.Fields() {
		switch {
		case f.Static:
		case f.offExpr != nil || f.Virtual:
			return false
		case f.BitSize > 0:
			first := 8*(off+f.Offset) + f.BitOff
			for bit := first / 64 * 64; bit < first+f.BitSize; bit += 64 {
				if !c.Put(bit/8, calls.Integer) {
					return false
				}
			}
		case !c.add(f.Type, off+f.Offset, depth+1):
			return false
		}
	}
	return true
}

// passedByReference reports whether C++ returns an object through a hidden pointer,
// whatever its size: copying it takes a call (Itanium C++ ABI, section 3.1.1).
func passedByReference(t *Type, steps *int) bool {
	s := t.Strip()
	for ; s.Kind == Array && *steps < maxFields; *steps++ {
		s = s.Elem().Strip()
	}
	if *steps++; *steps > maxFields || s.Kind != Struct || !isCPlusPlus(s.lang) || !s.die.Valid() {
		return false
	}
	if v, ok := s.die.Attr(dwarf.AtCallingConv); ok && (v.Uint() == ccPassByReference || v.Uint() == ccPassByValue) {
		return v.Uint() == ccPassByReference
	}
	if s.die.Has(dwarf.AtContainingType) || copiedByCall(s) {
		return true
	}
	for _, f := range s.Fields() {
		if f.Virtual || strings.HasPrefix(f.Name, "_vptr") || !f.Static && passedByReference(f.Type, steps) {
			return true
		}
	}
	return false
}

func isCPlusPlus(l dwarf.Language) bool {
	return l.String() == "c++" || l.String() == "objective-c++"
}

// copiedByCall reports whether the class itself has a user-provided destructor, copy
// constructor or move constructor, or only deleted ones.
func copiedByCall(t *Type) bool {
	deleted, usable := false, false
	for d := range children(t.die) {
		if d.Tag() != dwarf.TagSubprogram {
			continue
		}
		destroys := strings.HasPrefix(nameOf(d), "~")
		if !destroys && !copies(t, d) {
			continue
		}
		if v, ok := d.Attr(dwarf.AtVirtuality); ok && v.Uint() != 0 {
			return true
		}
		if d.Has(dwarf.AtDeleted) {
			deleted = deleted || !destroys
			continue
		}
		const inClass = 1 // DW_DEFAULTED_in_class
		if v, _ := d.Attr(dwarf.AtDefaulted); !d.Has(dwarf.AtArtificial) && v.Uint() != inClass {
			return true
		}
		usable = usable || !destroys
	}
	return deleted && !usable
}

// copies reports whether a member function is a copy or move constructor.
func copies(t *Type, fn dwarf.DIE) bool {
	if nameOf(fn) != cutTemplate(nameOf(t.die)) {
		return false
	}
	taken := 0
	same := false
	eachChild(fn, func(d dwarf.DIE) {
		if d.Tag() != dwarf.TagFormalParameter || d.Has(dwarf.AtArtificial) {
			return
		}
		taken++
		if p := t.mod.typeOf(d).Strip(); p.Kind == Reference || p.Kind == RvalueReference {
			same = p.Elem().Strip() == t.Strip()
		}
	})
	return taken == 1 && same
}
