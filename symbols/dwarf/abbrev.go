package dwarf

import (
	"fmt"
	"math"
)

// AttrSpec is one attribute of an abbreviation.
type AttrSpec struct {
	At       At
	Form     Form
	place    int16 // where its value lies, from the first attribute's; -1 after one of variable length
	size     int8  // of the value, -1 when it depends on the data
	implicit int64 // DW_FORM_implicit_const
}

// Abbrev is the shape of an entry: tag and attributes (section 7.5.3).
type Abbrev struct {
	Tag      Tag
	Children bool
	Attrs    []AttrSpec

	sibling bool // has DW_AT_sibling
	content content
	code    codeAttrs
	skip    []skipStep
}

// content is what an entry has to do with the tree of functions.
type content uint8

const (
	passed   content = iota // none itself, maybe those below it
	scopes                  // has or may have code of its own
	types                   // functions below it only in languages that have methods
	noScopes                // nothing below it either
)

func contentOf(t Tag) content {
	switch t {
	case TagSubprogram, TagInlinedSubroutine, TagLexicalBlock:
		return scopes
	case TagStructureType, TagUnionType:
		return types
	case TagEnumerationType, TagArrayType, TagSubroutineType, TagCallSite, TagGNUCallSite:
		return noScopes
	}
	return passed
}

// codeAttrs are the indexes in Attrs of what an entry says of its code and of the call
// that was inlined there, which trees of functions are read from; -1 without.
type codeAttrs struct {
	low, high, ranges              int8
	callFile, callLine, callColumn int8
	plain                          bool // all of them have a place, and are numbers
}

// skipStep passes fixed bytes and then one form of variable length (0: none).
// Most entries are one step, which is what makes walking past them cheap.
type skipStep struct {
	fixed uint32
	form  Form
}

// Abbrevs are the abbreviations of a unit by code.
type Abbrevs struct {
	dense    []Abbrev // codes 1..n, as producers number them
	sparse   map[uint64]*Abbrev
	LocLists bool // a variable or parameter has a location list: the unit was optimized
	CrossRef bool // an inlined subroutine may refer to another unit
	Nested   bool // a function has a static link: GNU C's nested functions
}

func (a *Abbrevs) get(code uint64) *Abbrev {
	if code-1 < uint64(len(a.dense)) {
		return &a.dense[code-1]
	}
	return a.sparse[code]
}

// format is what the sizes of forms depend on.
type format struct {
	addrSize int
	offSize  int
	version  int
}

// arena cuts small slices out of large ones: a table has hundreds.
type arena[T any] struct{ free []T }

// add appends v to the slice that began at the last cut.
func (a *arena[T]) add(open []T, v T) []T {
	if len(open) == cap(open) {
		if cap(a.free)-len(a.free) <= len(open)+1 {
			a.free = make([]T, 0, max(256, 2*len(open)+2))
		}
		moved := append(a.free[len(a.free):], open...)
		open = moved
	}
	return append(open, v)
}

// cut ends a slice.
func (a *arena[T]) cut(s []T) []T {
	if cap(s) == cap(a.free)-len(a.free) {
		a.free = a.free[:len(a.free)+len(s)]
	}
	return s[:len(s):len(s)]
}

// readAbbrevs parses the table at off up to its end, or up to the declaration of
// the code only unless that is 0. Each declaration takes at
// least three bytes, so memory is bounded by the section. size is what was read.
func readAbbrevs(data []byte, off uint64, f format, only uint64) (t *Abbrevs, size uint64, err error) {
	b := NewBuf(data, off)
	t = &Abbrevs{}
	var attrs arena[AttrSpec]
	var skips arena[skipStep]
	for {
		code := b.Uleb()
		if code == 0 || b.Bad() {
			break
		}
		if only != 0 && code != only {
			passAbbrev(&b)
			continue
		}
		ab := Abbrev{Tag: Tag(b.Uleb()), Children: b.U8() != 0}
		for {
			spec := AttrSpec{At: At(b.Uleb()), Form: Form(b.Uleb())}
			if spec.Form == FormImplicitConst {
				spec.implicit = b.Sleb()
			}
			if b.Bad() || spec.At == 0 && spec.Form == 0 {
				break
			}
			ab.Attrs = attrs.add(ab.Attrs, spec)
		}
		ab.Attrs = attrs.cut(ab.Attrs)
		ab.compile(f, &skips)
		t.note(&ab)
		if code == uint64(len(t.dense))+1 {
			t.dense = append(t.dense, ab)
			if only != 0 {
				return t, b.Off() - off, nil
			}
			continue
		}
		if t.sparse == nil {
			t.sparse = map[uint64]*Abbrev{}
		}
		t.sparse[code] = &ab
		if only != 0 {
			return t, b.Off() - off, nil
		}
	}
	if b.Bad() {
		return nil, b.Off() - min(off, b.Off()), fmt.Errorf("abbreviations at %#x run past the end of .debug_abbrev (%d bytes)", off, len(data))
	}
	return t, b.Off() - off, nil
}

// passAbbrev moves b past a declaration, of which the code was read.
func passAbbrev(b *Buf) {
	b.Uleb()
	b.U8()
	for !b.bad {
		if rest := b.data[b.off:]; len(rest) >= 2 && rest[0]|rest[1] < 0x80 && rest[1] != byte(FormImplicitConst) {
			b.off += 2
			if rest[0]|rest[1] == 0 {
				return
			}
			continue
		}
		at, form := b.Uleb(), Form(b.Uleb())
		if form == FormImplicitConst {
			b.Sleb()
		}
		if at == 0 && form == 0 {
			return
		}
	}
}

func (a *Abbrevs) note(ab *Abbrev) {
	for _, s := range ab.Attrs {
		switch {
		case s.At == AtLocation && (ab.Tag == TagVariable || ab.Tag == TagFormalParameter):
			switch s.Form {
			case FormSecOffset, FormLoclistx, FormData4, FormData8:
				a.LocLists = true
			}
		case s.At == AtStaticLink && ab.Tag == TagSubprogram:
			a.Nested = true
		case s.At == AtAbstractOrigin && ab.Tag == TagInlinedSubroutine:
			switch s.Form {
			case FormRefAddr, FormGNURefAlt, FormRefSup4, FormRefSup8, FormIndirect:
				a.CrossRef = true
			}
		}
	}
}

func (ab *Abbrev) compile(f format, skips *arena[skipStep]) {
	step := skipStep{}
	place := 0
	for i := range ab.Attrs {
		s := &ab.Attrs[i]
		if s.At == AtSibling {
			ab.sibling = true
		}
		n := fixedSize(s.Form, f)
		s.place, s.size = int16(place), int8(n)
		if place >= 0 {
			if place += n; n < 0 || place > math.MaxInt16 {
				place = -1
			}
		}
		if n >= 0 {
			step.fixed += uint32(n)
			continue
		}
		step.form = s.Form
		ab.skip = skips.add(ab.skip, step)
		step = skipStep{}
	}
	if step.fixed > 0 {
		ab.skip = skips.add(ab.skip, step)
	}
	ab.skip = skips.cut(ab.skip)
	ab.findCode()
	ab.content = contentOf(ab.Tag)
}

// findCode notes which attributes describe code. Of one that is repeated the last counts.
func (ab *Abbrev) findCode() {
	c := codeAttrs{low: -1, high: -1, ranges: -1, callFile: -1, callLine: -1, callColumn: -1}
	plain := len(ab.Attrs) <= math.MaxInt8
	for i, s := range ab.Attrs {
		var slot *int8
		switch s.At {
		case AtLowPC:
			slot = &c.low
		case AtHighPC:
			slot = &c.high
		case AtRanges:
			slot = &c.ranges
		case AtCallFile:
			slot = &c.callFile
		case AtCallLine:
			slot = &c.callLine
		case AtCallColumn:
			slot = &c.callColumn
		default:
			continue
		}
		*slot = int8(i)
		plain = plain && s.place >= 0 && s.size >= 0 && s.size <= 8
	}
	c.plain = plain
	ab.code = c
}

// fixedSize is the size of a form's encoding, -1 when it depends on the data.
func fixedSize(form Form, f format) int {
	switch form {
	case FormFlagPresent, FormImplicitConst:
		return 0
	case FormData1, FormRef1, FormFlag, FormStrx1, FormAddrx1:
		return 1
	case FormData2, FormRef2, FormStrx2, FormAddrx2:
		return 2
	case FormStrx3, FormAddrx3:
		return 3
	case FormData4, FormRef4, FormStrx4, FormAddrx4, FormRefSup4:
		return 4
	case FormData8, FormRef8, FormRefSig8, FormRefSup8:
		return 8
	case FormData16:
		return 16
	case FormAddr:
		return f.addrSize
	case FormSecOffset, FormStrp, FormLineStrp, FormStrpSup, FormGNURefAlt, FormGNUStrpAlt:
		return f.offSize
	case FormRefAddr:
		if f.version <= 2 { // DWARF 2 made it the size of an address
			return f.addrSize
		}
		return f.offSize
	}
	return -1
}

// skipForm moves b past a form of variable length.
func skipForm(b *Buf, form Form, f format) {
	switch form {
	case FormString:
		b.CString()
	case FormBlock, FormExprloc:
		b.Skip(b.Uleb())
	case FormBlock1:
		b.Skip(uint64(b.U8()))
	case FormBlock2:
		b.Skip(uint64(b.U16()))
	case FormBlock4:
		b.Skip(uint64(b.U32()))
	case FormSdata, FormUdata, FormRefUdata, FormStrx, FormAddrx, FormLoclistx, FormRnglistx, FormGNUAddrIndex, FormGNUStrIndex:
		b.Uleb()
	case FormIndirect:
		form = Form(b.Uleb())
		if n := fixedSize(form, f); n >= 0 {
			b.Skip(uint64(n))
		} else if form == FormIndirect { // nesting it is meaningless and would recurse
			b.fail()
		} else {
			skipForm(b, form, f)
		}
	default:
		b.fail() // an unknown form: its length, and all that follows, is unknown
	}
}
