package values

import (
	"fmt"
	"slices"
	"strings"

	"hdb/symbols/dwarf"
)

// A class says in which kind of register an eightbyte of a value is passed (System V ABI
// for AMD64, section 3.2.3).
type class uint8

const (
	noClass class = iota
	integerClass
	sseClass
	sseUpClass
	x87Class
	x87UpClass
	memoryClass
)

// Encodings of base types that are compiler extensions.
const (
	encComplexInteger = 0x80 // of GNU C
	encDecimalFloat   = 0x0f
)

// maxClassified is the size of the largest value that is returned in registers, a vector.
const maxClassified = 64

// classify returns the classes of a value's eightbytes, nil for a value that is returned
// in memory. For C++, passedByReference comes first.
func classify(t *Type) ([]class, error) {
	size := t.Size()
	if size > maxClassified {
		return nil, nil
	}
	c := &classifier{words: make([]class, (size+7)/8)}
	if !c.add(t, 0, 0) {
		if c.err != nil {
			return nil, c.err
		}
		return nil, nil
	}
	return c.merged(), nil
}

// A classifier merges the classes of a value's scalars. Its methods return false if the
// value is returned in memory.
type classifier struct {
	words []class
	steps int
	err   error
}

// put merges a scalar's class into the eightbyte at an offset.
func (c *classifier) put(off int64, with class) bool {
	i := off / 8
	if off < 0 || i >= int64(len(c.words)) {
		return false // of a hostile file: the member is not inside of its struct
	}
	w := &c.words[i]
	switch {
	case *w == with || with == noClass:
	case *w == noClass:
		*w = with
	case *w == memoryClass || with == memoryClass:
		*w = memoryClass
	case *w == integerClass || with == integerClass:
		*w = integerClass
	case *w == x87Class || *w == x87UpClass || with == x87Class || with == x87UpClass:
		*w = memoryClass
	default:
		*w = sseClass
	}
	return true
}

func (c *classifier) putAll(off int64, classes ...class) bool {
	for i, cl := range classes {
		if !c.put(off+8*int64(i), cl) {
			return false
		}
	}
	return true
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
		return c.put(off, integerClass)
	case MemberPointer:
		return c.put(off, integerClass) && (s.Size() <= 8 || c.put(off+8, integerClass))
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
	integers := slices.Repeat([]class{integerClass}, int((size+7)/8))
	switch t.Enc {
	case encFloat:
		switch {
		case size <= 8:
			return c.put(off, sseClass)
		case t.isQuad():
			return c.putAll(off, sseClass, sseUpClass)
		}
		return c.putAll(off, x87Class, x87UpClass)
	case encDecimalFloat:
		if size <= 8 {
			return c.put(off, sseClass)
		}
		return c.putAll(off, sseClass, sseUpClass)
	case encComplex:
		if size > 16 {
			return false
		}
		return c.putAll(off, slices.Repeat([]class{sseClass}, int((size+7)/8))...)
	}
	return c.putAll(off, integers...)
}

// isQuad reports whether a floating-point type of 16 bytes is IEEE 754's binary128 rather
// than the x87's extended precision.
func (t *Type) isQuad() bool {
	return strings.Contains(t.Name, "128") || strings.Contains(t.Name, "quad") || strings.Contains(t.Name, "kind=16")
}

func (c *classifier) array(t *Type, off int64, depth int) bool {
	size := t.Size()
	if t.vector {
		if size < 8 {
			c.err = fmt.Errorf("compilers differ in how they return a vector of %d bytes", size)
			return false
		}
		return c.put(off, sseClass) && c.putAll(off+8, slices.Repeat([]class{sseUpClass}, int(size/8-1))...)
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
				if !c.put(bit/8, integerClass) {
					return false
				}
			}
		case !c.add(f.Type, off+f.Offset, depth+1):
			return false
		}
	}
	return true
}

// merged applies the rules about the whole value. It returns nil for a value in memory.
func (c *classifier) merged() []class {
	for i, cl := range c.words {
		switch {
		case cl == memoryClass:
			return nil
		case cl == x87UpClass && (i == 0 || c.words[i-1] != x87Class):
			return nil
		case cl == x87Class && (i+1 == len(c.words) || c.words[i+1] != x87UpClass):
			return nil
		case cl == sseUpClass && (i == 0 || c.words[i-1] != sseClass && c.words[i-1] != sseUpClass):
			c.words[i] = sseClass
		}
		if i >= 2 && (c.words[0] != sseClass || slices.ContainsFunc(c.words[1:], func(cl class) bool { return cl != sseUpClass })) {
			return nil
		}
	}
	return c.words
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
