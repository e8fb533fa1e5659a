package dwarf

import "encoding/binary"

// Range is the addresses [Low, High).
type Range struct{ Low, High uint64 }

// Ranges appends the code addresses of d to dst: DW_AT_low_pc with DW_AT_high_pc,
// or the list of DW_AT_ranges (sections 2.17.3, 7.28 and DWARF 4 section 2.17.3).
// Lists end early where they do not parse. At most max ranges are appended.
func (d DIE) Ranges(dst []Range, max int) []Range {
	if d.ab == nil {
		return dst
	}
	var low, high, list Value
	var hasLow, hasHigh, hasList bool
	if c := &d.ab.code; c.plain {
		if c.ranges >= 0 {
			list, hasList = d.placed(int(c.ranges))
		}
		if c.low >= 0 && c.high >= 0 && !hasList {
			low, hasLow = d.placed(int(c.low))
			high, hasHigh = d.placed(int(c.high))
		}
	} else {
		it := d.Attrs()
		for it.Next() {
			switch it.At {
			case AtLowPC:
				low, hasLow = it.Value, true
			case AtHighPC:
				high, hasHigh = it.Value, true
			case AtRanges:
				list, hasList = it.Value, true
			}
		}
	}
	if hasList {
		return d.Unit.RangeList(dst, list, max)
	}
	if !hasLow || !hasHigh || max <= 0 {
		return dst
	}
	from, ok := low.Addr()
	if !ok {
		return dst
	}
	to, ok := high.Addr()
	if !ok {
		to = from + high.Uint()
	}
	if from >= to {
		return dst
	}
	return append(dst, Range{from, to})
}

// HasCode reports whether d may have code addresses: Ranges finds none without it.
func (d DIE) HasCode() bool {
	return d.ab != nil && (!d.ab.code.plain || d.ab.code.ranges >= 0 || d.ab.code.low >= 0)
}

// Call is where the call was that d, an inlined copy, represents: a file of the unit's line table,
// line and column; 0 for what is not said.
func (d DIE) Call() (file, line, column uint64) {
	if d.ab == nil {
		return 0, 0, 0
	}
	if c := &d.ab.code; c.plain {
		number := func(i int8) uint64 {
			if i < 0 {
				return 0
			}
			v, _ := d.placed(int(i))
			return v.n
		}
		return number(c.callFile), number(c.callLine), number(c.callColumn)
	}
	it := d.Attrs()
	for it.Next() {
		switch it.At {
		case AtCallFile:
			file = it.Value.Uint()
		case AtCallLine:
			line = it.Value.Uint()
		case AtCallColumn:
			column = it.Value.Uint()
		}
	}
	return file, line, column
}

// RangeList appends the list that the value of a DW_AT_ranges names.
func (u *Unit) RangeList(dst []Range, v Value, max int) []Range {
	if u.Version < 5 {
		if u.skel != nil { // DW_AT_GNU_ranges_base is for the split unit alone
			return u.skel.ranges4(dst, u.skel.root.rangesBase+v.n, max)
		}
		return u.ranges4(dst, v.n, max)
	}
	off := v.n
	if v.Form == FormRnglistx {
		size := uint64(u.f.offSize)
		at, ok := tableEntry(u.root.rnglists, v.n, size, u.Data.RngLists)
		if !ok {
			return dst
		}
		b := NewBuf(u.Data.RngLists, at)
		off = u.root.rnglists + b.Uint(int(size))
	}
	return u.ranges5(dst, off, max)
}

// RangeBytes is the size of the sections that the unit's range lists are in.
func (u *Unit) RangeBytes() int {
	n := len(u.Data.Ranges) + len(u.Data.RngLists)
	if u.skel != nil {
		n += len(u.skel.Data.Ranges)
	}
	return n
}

// ranges4 reads .debug_ranges: pairs of offsets from a base address.
func (u *Unit) ranges4(dst []Range, off uint64, max int) []Range {
	b := NewBuf(u.Data.Ranges, off)
	size := u.f.addrSize
	base, top := u.root.LowPC, ^uint64(0)
	if size == 4 {
		top = 1<<32 - 1
	}
	for end := len(dst) + max; len(dst) < end; {
		from, to := b.Uint(size), b.Uint(size)
		switch {
		case b.Bad() || from == 0 && to == 0:
			return dst
		case from == top:
			base = to
		default:
			dst = appendRange(dst, base+from, base+to)
		}
	}
	return dst
}

// Entry kinds of .debug_rnglists (section 7.25).
const (
	rleEndOfList    = 0
	rleBaseAddressx = 1
	rleStartxEndx   = 2
	rleStartxLength = 3
	rleOffsetPair   = 4
	rleBaseAddress  = 5
	rleStartEnd     = 6
	rleStartLength  = 7
)

func (u *Unit) ranges5(dst []Range, off uint64, max int) []Range {
	b := NewBuf(u.Data.RngLists, off)
	base, size := u.LineUnit().root.LowPC, u.f.addrSize
	for end := len(dst) + max; len(dst) < end && !b.Bad(); {
		switch b.U8() {
		case rleEndOfList:
			return dst
		case rleBaseAddressx:
			base, _ = u.addrx(b.Uleb())
		case rleStartxEndx:
			from, _ := u.addrx(b.Uleb())
			to, _ := u.addrx(b.Uleb())
			dst = appendRange(dst, from, to)
		case rleStartxLength:
			from, _ := u.addrx(b.Uleb())
			dst = appendRange(dst, from, from+b.Uleb())
		case rleOffsetPair:
			from, to := b.Uleb(), b.Uleb()
			dst = appendRange(dst, base+from, base+to)
		case rleBaseAddress:
			base = b.Uint(size)
		case rleStartEnd:
			from, to := b.Uint(size), b.Uint(size)
			dst = appendRange(dst, from, to)
		case rleStartLength:
			from := b.Uint(size)
			dst = appendRange(dst, from, from+b.Uleb())
		default:
			return dst
		}
	}
	return dst
}

func appendRange(dst []Range, from, to uint64) []Range {
	if from >= to {
		return dst
	}
	return append(dst, Range{from, to})
}

// ReadAranges reads .debug_aranges: the ranges of each unit by the offset of its
// header (section 6.1.2). Malformed sets end the list.
func (d *Data) ReadAranges() map[uint64][]Range {
	sets := map[uint64][]Range{}
	d.eachArange(func(unit uint64, pairs []byte) {
		for ; len(pairs) >= 16; pairs = pairs[16:] {
			from, n := binary.LittleEndian.Uint64(pairs), binary.LittleEndian.Uint64(pairs[8:])
			if from == 0 && n == 0 {
				return
			}
			sets[unit] = appendRange(sets[unit], from, from+n)
		}
	})
	return sets
}

// ArangeUnits calls fn with the offset of each unit that .debug_aranges has a set of.
func (d *Data) ArangeUnits(fn func(unit uint64)) {
	d.eachArange(func(unit uint64, _ []byte) { fn(unit) })
}

// ArangeAt is the offset of the unit that .debug_aranges says has code at a; false when
// it names none, or several.
func (d *Data) ArangeAt(a uint64) (unit uint64, ok bool) {
	several := false
	d.eachArange(func(in uint64, pairs []byte) {
		for ; len(pairs) >= 16; pairs = pairs[16:] {
			from, n := binary.LittleEndian.Uint64(pairs), binary.LittleEndian.Uint64(pairs[8:])
			if a-from < n {
				several = several || ok && in != unit
				unit, ok = in, true
			}
			if from == 0 && n == 0 {
				return
			}
		}
	})
	return unit, ok && !several
}

// eachArange calls fn with each set of .debug_aranges: the offset of a unit's header, and
// pairs of an address and a length, of eight bytes each.
func (d *Data) eachArange(fn func(unit uint64, pairs []byte)) {
	for off := uint64(0); off < uint64(len(d.Aranges)); {
		b := NewBuf(d.Aranges, off)
		length, offSize := b.InitialLength()
		if b.Bad() || length > b.Len() {
			return
		}
		end := b.Off() + length
		b.U16()
		unit := b.Uint(offSize)
		size, seg := uint64(b.U8()), b.U8()
		if size == 8 && seg == 0 {
			if pad := (b.Off() - off) % (2 * size); pad != 0 {
				b.Skip(2*size - pad)
			}
			if b.Off() <= end {
				fn(unit, d.Aranges[b.Off():end])
			}
		}
		off = end
	}
}
