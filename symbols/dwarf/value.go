package dwarf

import "encoding/binary"

// A Value is an attribute's value: a number, offset or block by its form.
type Value struct {
	Form Form
	unit *Unit
	n    uint64 // number, offset or index
	data []byte // block or inline string, in the section
}

// Attrs iterates over the attributes of an entry.
//
//	it := d.Attrs()
//	for it.Next() { it.At, it.Value }
type Attrs struct {
	At    At
	Value Value

	specs []AttrSpec
	buf   Buf
	unit  *Unit
}

// Attrs starts the iteration over d's attributes.
func (d DIE) Attrs() Attrs {
	if d.ab == nil {
		return Attrs{}
	}
	return Attrs{specs: d.ab.Attrs, unit: d.Unit, buf: NewBuf(d.Unit.Data.Info[:d.Unit.End], d.data)}
}

// Next reads the next attribute; false at the end or when it does not parse.
func (a *Attrs) Next() bool {
	if len(a.specs) == 0 {
		return false
	}
	s := &a.specs[0]
	a.specs = a.specs[1:]
	a.At = s.At
	a.Value = readValue(&a.buf, s.Form, s.implicit, a.unit, a.unit.f)
	return !a.buf.Bad()
}

// First is the first of those attributes that d has.
func (d DIE) First(list ...At) (Value, bool) {
	for _, at := range list {
		if v, ok := d.Attr(at); ok {
			return v, true
		}
	}
	return Value{}, false
}

// Attr is one attribute of d.
func (d DIE) Attr(at At) (Value, bool) {
	if d.ab == nil {
		return Value{}, false
	}
	i := 0
	for i < len(d.ab.Attrs) && d.ab.Attrs[i].At != at {
		i++
	}
	if i == len(d.ab.Attrs) {
		return Value{}, false
	}
	if s := &d.ab.Attrs[i]; s.place >= 0 && s.size >= 0 && s.size <= 8 {
		return d.placed(i)
	}
	it := d.Attrs()
	for it.Next() {
		if it.At == at {
			return it.Value, true
		}
	}
	return Value{}, false
}

// placed is attribute i, one that has a place and is a number; false when it is behind the unit.
func (d DIE) placed(i int) (Value, bool) {
	s := &d.ab.Attrs[i]
	v := Value{Form: s.Form, unit: d.Unit}
	info := d.Unit.Data.Info[:d.Unit.End]
	at := d.data + uint64(s.place)
	if at > uint64(len(info)) || uint64(len(info))-at < uint64(s.size) {
		return Value{}, false
	}
	switch s.size {
	case 0:
		v.n = uint64(s.implicit)
		if s.Form == FormFlagPresent {
			v.n = 1
		}
	case 1:
		v.n = uint64(info[at])
	case 2:
		v.n = uint64(binary.LittleEndian.Uint16(info[at:]))
	case 4:
		v.n = uint64(binary.LittleEndian.Uint32(info[at:]))
	case 8:
		v.n = binary.LittleEndian.Uint64(info[at:])
	default:
		b := NewBuf(info, at)
		v.n = b.Uint(int(s.size))
	}
	return v, true
}

// Has reports whether d's shape has the attribute.
func (d DIE) Has(at At) bool {
	if d.ab != nil {
		for i := range d.ab.Attrs {
			if d.ab.Attrs[i].At == at {
				return true
			}
		}
	}
	return false
}

func readValue(b *Buf, form Form, implicit int64, u *Unit, f format) Value {
	v := Value{Form: form, unit: u}
	switch form {
	case FormFlagPresent:
		v.n = 1
	case FormImplicitConst:
		v.n = uint64(implicit)
	case FormSdata:
		v.n = uint64(b.Sleb())
	case FormUdata, FormRefUdata, FormStrx, FormAddrx, FormLoclistx, FormRnglistx, FormGNUAddrIndex, FormGNUStrIndex:
		v.n = b.Uleb()
	case FormString:
		v.data = b.CString()
	case FormBlock, FormExprloc:
		v.data = b.Bytes(b.Uleb())
	case FormBlock1:
		v.data = b.Bytes(uint64(b.U8()))
	case FormBlock2:
		v.data = b.Bytes(uint64(b.U16()))
	case FormBlock4:
		v.data = b.Bytes(uint64(b.U32()))
	case FormData16:
		v.data = b.Bytes(16)
	case FormIndirect:
		inner := Form(b.Uleb())
		if inner == FormIndirect || inner == FormImplicitConst {
			b.fail()
			return v
		}
		return readValue(b, inner, 0, u, f)
	default:
		n := fixedSize(form, f)
		if n < 0 {
			b.fail()
			return v
		}
		v.n = b.Uint(n)
	}
	return v
}

// Uint is a constant, offset, index or flag as a number.
func (v Value) Uint() uint64 {
	switch len(v.data) {
	case 1, 2, 4, 8: // a constant in a block, as old producers wrote it
		b := NewBuf(v.data, 0)
		return b.Uint(len(v.data))
	}
	return v.n
}

// Flag reports whether a flag is set.
func (v Value) Flag() bool { return v.n != 0 }

// Block is the bytes of a block or expression, in the section.
func (v Value) Block() []byte { return v.data }

// IsAddr reports whether the form is of class address.
func (v Value) IsAddr() bool {
	switch v.Form {
	case FormAddr, FormAddrx, FormAddrx1, FormAddrx2, FormAddrx3, FormAddrx4, FormGNUAddrIndex:
		return true
	}
	return false
}

// Addr is an address; false when its index lies outside .debug_addr.
func (v Value) Addr() (uint64, bool) {
	if v.Form == FormAddr {
		return v.n, true
	}
	if v.IsAddr() {
		return v.unit.addrx(v.n)
	}
	return 0, false
}

// addrx reads entry i of the unit's part of .debug_addr.
func (u *Unit) addrx(i uint64) (uint64, bool) {
	u = u.LineUnit()
	size := uint64(u.f.addrSize)
	off, ok := tableEntry(u.root.addrBase, i, size, u.Data.Addr)
	if !ok {
		return 0, false
	}
	b := NewBuf(u.Data.Addr, off)
	return b.Uint(int(size)), true
}

// tableEntry is the offset of entry i of a table at base, when it is in data.
func tableEntry(base, i, size uint64, data []byte) (uint64, bool) {
	n := uint64(len(data))
	if base > n || i > n/size {
		return 0, false
	}
	off := base + i*size
	return off, off+size <= n
}

// Str is a string, in its section; nil when it cannot be found.
func (v Value) Str() []byte {
	u := v.unit
	switch v.Form {
	case FormString:
		return v.data
	case FormStrp:
		return cstringAt(u.Data.Str, v.n)
	case FormLineStrp:
		return cstringAt(u.Data.LineStr, v.n)
	case FormStrx, FormStrx1, FormStrx2, FormStrx3, FormStrx4, FormGNUStrIndex:
		return u.indexed(v.n)
	case FormGNUStrpAlt, FormStrpSup:
		if u.Data.alt != nil {
			return cstringAt(u.Data.alt.Str, v.n)
		}
	}
	return nil
}

// indexed is a string by its number in the unit's table.
func (u *Unit) indexed(n uint64) []byte {
	size := uint64(u.f.offSize)
	off, ok := tableEntry(u.root.strOffsets, n, size, u.Data.StrOffsets)
	if !ok {
		return nil
	}
	b := NewBuf(u.Data.StrOffsets, off)
	return cstringAt(u.Data.Str, b.Uint(int(size)))
}

// IndexedString is a string by its number in the unit's table (section 7.5.5), nil if it
// cannot be found.
func (u *Unit) IndexedString(n uint64) []byte {
	if _, err := u.Load(); err != nil {
		return nil
	}
	return u.indexed(n)
}

// unitRef is the offset that a reference inside the unit names.
func (v Value) unitRef() (uint64, bool) {
	switch v.Form {
	case FormRef1, FormRef2, FormRef4, FormRef8, FormRefUdata:
		off := v.unit.Off + v.n
		return off, off >= v.unit.Off
	}
	return 0, false
}

// Ref is the entry that a reference names, the type for a type unit's; invalid when it is in a file
// that is not there, or nowhere.
func (v Value) Ref() DIE {
	if off, ok := v.unitRef(); ok {
		return v.unit.DIE(off)
	}
	switch v.Form {
	case FormRefAddr:
		return v.unit.Data.info().DIE(v.n)
	case FormRefSig8:
		return v.unit.Data.TypeUnit(v.n).typeDIE()
	case FormGNURefAlt, FormRefSup4, FormRefSup8:
		if v.unit.Data.alt != nil {
			return v.unit.Data.alt.DIE(v.n)
		}
	}
	return DIE{}
}

// RefOffset is where a reference points, without reading the entry: the data
// and offset that identify it.
func (v Value) RefOffset() (*Data, uint64, bool) {
	if off, ok := v.unitRef(); ok {
		return v.unit.Data, off, true
	}
	switch v.Form {
	case FormRefAddr:
		return v.unit.Data.info(), v.n, true
	case FormRefSig8:
		if u := v.unit.Data.TypeUnit(v.n); u != nil {
			return u.Data, u.Off + u.typeOff, true
		}
	case FormGNURefAlt, FormRefSup4, FormRefSup8:
		return v.unit.Data.alt, v.n, v.unit.Data.alt != nil
	}
	return nil, 0, false
}

// ReadForm reads a value outside of entries, such as those in headers of line programs: offSize is
// 8 in 64-bit DWARF, which the unit need not be in. Strings are looked up in u's sections.
func (u *Unit) ReadForm(b *Buf, form Form, offSize int) Value {
	f := u.f
	f.offSize = offSize
	return readValue(b, form, 0, u, f)
}
