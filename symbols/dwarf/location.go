package dwarf

// Entries below types and values that package values reads; const.go has those
// that functions and lines need.
const (
	TagImportedDecl    Tag = 0x08 // DW_TAG_imported_declaration
	TagMember          Tag = 0x0d
	TagVariant         Tag = 0x19
	TagInheritance     Tag = 0x1c
	TagSubrangeType    Tag = 0x21
	TagEnumerator      Tag = 0x28
	TagTemplateType    Tag = 0x2f
	TagVariantPart     Tag = 0x33
	TagImportedModule  Tag = 0x3a
	TagRestrictType    Tag = 0x37
	TagAtomicType      Tag = 0x47
	TagCallSiteParam   Tag = 0x49
	TagGNUTemplatePack Tag = 0x4107 // DW_TAG_GNU_template_parameter_pack
	TagGNUCallSiteParm Tag = 0x410a
)

// Attributes of types and values.
const (
	AtBitSize        At = 0x0d
	AtBitOffset      At = 0x0c
	AtDiscr          At = 0x15
	AtDiscrValue     At = 0x16
	AtImport         At = 0x18
	AtContainingType At = 0x1d
	AtConstValue     At = 0x1c
	AtPrototyped     At = 0x27
	AtUpperBound     At = 0x2f
	AtAccessibility  At = 0x32
	AtCallingConv    At = 0x36 // DW_AT_calling_convention
	AtDataMemberLoc  At = 0x38
	AtCount          At = 0x37
	AtEncoding       At = 0x3e
	AtFrameBase      At = 0x40
	AtVirtuality     At = 0x4c
	AtVtableElem     At = 0x4d // DW_AT_vtable_elem_location
	AtSignature      At = 0x69
	AtDataBitOffset  At = 0x6b
	AtEnumClass      At = 0x6d
	AtCallValue      At = 0x7e
	AtCallOrigin     At = 0x7f
	AtCallReturnPC   At = 0x7d
	AtCallParameter  At = 0x80
	AtCallPC         At = 0x81
	AtCallTailCall   At = 0x82
	AtCallTarget     At = 0x83
	AtDeleted        At = 0x8a
	AtDefaulted      At = 0x8b
	AtGNUCallTarget  At = 0x2113
	AtGNUCallSiteVal At = 0x2111
	AtGNUTailCall    At = 0x2115
	AtGNUVector      At = 0x2107
)

// AddrSize is the size of an address of the unit, in bytes.
func (u *Unit) AddrSize() int { return u.f.addrSize }

// OffSize is 8 in 64-bit DWARF, else 4.
func (u *Unit) OffSize() int { return u.f.offSize }

// AddrX reads entry i of the unit's part of .debug_addr (DW_OP_addrx).
func (u *Unit) AddrX(i uint64) (uint64, bool) {
	if _, err := u.Load(); err != nil {
		return 0, false
	}
	return u.addrx(i)
}

// IsBlock reports whether the form is of class block or exprloc.
func (v Value) IsBlock() bool {
	switch v.Form {
	case FormBlock, FormBlock1, FormBlock2, FormBlock4, FormExprloc, FormData16:
		return true
	}
	return false
}

// IsLocList reports whether the form of a location names a list.
func (v Value) IsLocList() bool {
	switch v.Form {
	case FormSecOffset, FormLoclistx:
		return true
	case FormData4, FormData8: // before DWARF 4
		return v.unit.Version < 4
	}
	return false
}

// IsRef reports whether the form is of class reference.
func (v Value) IsRef() bool {
	switch v.Form {
	case FormRef1, FormRef2, FormRef4, FormRef8, FormRefUdata, FormRefAddr, FormRefSig8, FormGNURefAlt, FormRefSup4, FormRefSup8:
		return true
	}
	return false
}

// IsString reports whether the form is of class string.
func (v Value) IsString() bool {
	switch v.Form {
	case FormString, FormStrp, FormLineStrp, FormStrx, FormStrx1, FormStrx2, FormStrx3, FormStrx4, FormGNUStrIndex, FormGNUStrpAlt, FormStrpSup:
		return true
	}
	return false
}

// Int is a constant with its sign: forms of a fixed size are extended from it.
func (v Value) Int() int64 {
	switch v.Form {
	case FormData1:
		return int64(int8(v.n))
	case FormData2:
		return int64(int16(v.n))
	case FormData4:
		return int64(int32(v.n))
	}
	return int64(v.Uint())
}

// A LocSections holds the two sections of location lists, nil when absent.
type LocSections struct {
	Loc      []byte // .debug_loc, DWARF 2 to 4
	LocLists []byte // .debug_loclists, DWARF 5
}

// maxLocEntries bounds one location list. Compilers write tens of entries, of two
// bytes or more each; a hostile list can be as long as its section.
const maxLocEntries = 1 << 16

// Location is the expression of v, the value of a location attribute, that holds at the file
// address pc: its own, or the expression of the list entry that covers pc (DWARF 5 section 2.6.2,
// DWARF 4 section 2.6.2). ok is false where no entry does.
func (u *Unit) Location(v Value, s LocSections, pc uint64) (expr []byte, ok bool) {
	return u.location(v, s, place{pc: pc})
}

// EntryLocation is Location at the entry of a function, where a list entry of an empty
// range that begins there holds, too: clang and gcc describe by it what a parameter is
// before the first instruction, which takes its place.
func (u *Unit) EntryLocation(v Value, s LocSections, pc uint64) (expr []byte, ok bool) {
	return u.location(v, s, place{pc: pc, entry: true})
}

// LocationOver is the expression of the list entry that holds at pc and at the address
// behind it, or the expression that v is.
func (u *Unit) LocationOver(v Value, s LocSections, pc uint64) (expr []byte, ok bool) {
	return u.location(v, s, place{pc: pc, over: true})
}

// place is where a location is asked for.
type place struct {
	pc    uint64
	entry bool // of a function
	over  bool // at pc+1, too
}

func (p place) in(from, to uint64) bool {
	if p.over {
		return from <= p.pc && p.pc+1 < to
	}
	return from <= p.pc && p.pc < to || p.entry && from == p.pc && to == p.pc
}

func (u *Unit) location(v Value, s LocSections, pc place) (expr []byte, ok bool) {
	if v.IsBlock() {
		return v.data, len(v.data) > 0
	}
	if !v.IsLocList() {
		return nil, false
	}
	if _, err := u.Load(); err != nil {
		return nil, false
	}
	base := u.LineUnit().root.LowPC
	if u.skel != nil { // its lists are in its own file
		s = LocSections{Loc: u.Data.Loc, LocLists: u.Data.LocLists}
	}
	switch {
	case u.Version < 5 && u.skel != nil:
		return u.locListGNU(s.Loc, v.n, base, pc)
	case u.Version < 5:
		return u.locList4(s.Loc, v.n, base, pc)
	}
	off := v.n
	if v.Form == FormLoclistx {
		table := uint64(12)
		if u.f.offSize == 8 {
			table = 20
		}
		if b, ok := u.Root().Attr(AtLoclistsBase); ok {
			table = b.Uint()
		}
		at, ok := tableEntry(table, v.n, uint64(u.f.offSize), s.LocLists)
		if !ok {
			return nil, false
		}
		b := NewBuf(s.LocLists, at)
		off = table + b.Uint(u.f.offSize)
	}
	return u.locList5(s.LocLists, off, base, pc)
}

// locList4 reads .debug_loc: pairs of offsets from a base address, each with an
// expression behind a length of two bytes.
func (u *Unit) locList4(section []byte, off, base uint64, pc place) ([]byte, bool) {
	b := NewBuf(section, off)
	size := u.f.addrSize
	top := ^uint64(0)
	if size == 4 {
		top = 1<<32 - 1
	}
	for range maxLocEntries {
		from, to := b.Uint(size), b.Uint(size)
		switch {
		case b.Bad() || from == 0 && to == 0:
			return nil, false
		case from == top:
			base = to
			continue
		}
		expr := b.Bytes(uint64(b.U16()))
		if b.Bad() {
			return nil, false
		}
		if pc.in(base+from, base+to) {
			return expr, true
		}
	}
	return nil, false
}

// Entry kinds of .debug_loclists (section 7.7.3), with GNU's view pairs, which say
// at which of several lines of an address a location begins.
const (
	lleEndOfList       = 0
	lleBaseAddressx    = 1
	lleStartxEndx      = 2
	lleStartxLength    = 3
	lleOffsetPair      = 4
	lleDefaultLocation = 5
	lleBaseAddress     = 6
	lleStartEnd        = 7
	lleStartLength     = 8
	lleGNUViewPair     = 9
)

func (u *Unit) locList5(section []byte, off, base uint64, pc place) ([]byte, bool) {
	b := NewBuf(section, off)
	size := u.f.addrSize
	var fallback []byte
	has := false
	for range maxLocEntries {
		if b.Bad() {
			break
		}
		var from, to uint64
		switch b.U8() {
		case lleEndOfList:
			return fallback, has && !pc.over
		case lleBaseAddressx:
			base, _ = u.addrx(b.Uleb())
			continue
		case lleBaseAddress:
			base = b.Uint(size)
			continue
		case lleGNUViewPair:
			b.Uleb()
			b.Uleb()
			continue
		case lleDefaultLocation:
			fallback, has = b.Bytes(b.Uleb()), true
			continue
		case lleStartxEndx:
			from, _ = u.addrx(b.Uleb())
			to, _ = u.addrx(b.Uleb())
		case lleStartxLength:
			from, _ = u.addrx(b.Uleb())
			to = from + b.Uleb()
		case lleOffsetPair:
			from, to = base+b.Uleb(), base+b.Uleb()
		case lleStartEnd:
			from, to = b.Uint(size), b.Uint(size)
		case lleStartLength:
			from = b.Uint(size)
			to = from + b.Uleb()
		default:
			return nil, false
		}
		expr := b.Bytes(b.Uleb())
		if !b.Bad() && pc.in(from, to) {
			return expr, true
		}
	}
	return fallback, has && !pc.over
}

// locListGNU reads .debug_loc.dwo of DWARF 4: kinds as those of DWARF 5 up to
// lleOffsetPair, but with lengths and offsets of four bytes, and expressions behind
// a length of two (GNU's DebugFission).
func (u *Unit) locListGNU(section []byte, off, base uint64, pc place) ([]byte, bool) {
	b := NewBuf(section, off)
	for range maxLocEntries {
		var from, to uint64
		switch b.U8() {
		case lleBaseAddressx:
			base, _ = u.addrx(b.Uleb())
			continue
		case lleStartxEndx:
			from, _ = u.addrx(b.Uleb())
			to, _ = u.addrx(b.Uleb())
		case lleStartxLength:
			from, _ = u.addrx(b.Uleb())
			to = from + uint64(b.U32())
		case lleOffsetPair:
			from, to = base+uint64(b.U32()), base+uint64(b.U32())
		default: // the end, or damage
			return nil, false
		}
		expr := b.Bytes(uint64(b.U16()))
		if b.Bad() {
			return nil, false
		}
		if pc.in(from, to) {
			return expr, true
		}
	}
	return nil, false
}
