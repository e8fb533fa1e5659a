package dwarf

import "fmt"

// AttrSpec is one attribute of an abbreviation.
type AttrSpec struct {
	At       At
	Form     Form
	implicit int64 // DW_FORM_implicit_const
}

// Abbrev is the shape of an entry: tag and attributes (section 7.5.3).
type Abbrev struct {
	Tag      Tag
	Children bool
	Attrs    []AttrSpec

	sibling bool // has DW_AT_sibling
	skip    []skipStep
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
		if only != 0 && code != only {
			attrs.free = attrs.free[:0]
			continue
		}
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
	for _, s := range ab.Attrs {
		if s.At == AtSibling {
			ab.sibling = true
		}
		if n := fixedSize(s.Form, f); n >= 0 {
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
