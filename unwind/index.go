package unwind

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"
)

// An index finds FDEs by code address.
type index struct {
	section *section
	search  []byte // .eh_frame_hdr's table, if it is valid; pairs of int32 relative to hdr
	hdr     uint64
	fdes    []span // otherwise; sorted by low
	cies    map[int]*cie
	err     error // the first entry that could not be read
}

// A span is the code of one FDE.
type span struct {
	low, high uint64
	off       int    // of the entry in the section
	reach     uint64 // highest high of this and all earlier spans
}

// newIndex makes the index of a section. It uses the search table of hdr if that is valid,
// and reads all entries otherwise.
func newIndex(s *section, hdr []byte, hdrAddr uint64) *index {
	x := &index{section: s, cies: map[int]*cie{}}
	if len(s.data) == 0 {
		return x
	}
	if x.search = searchTable(hdr, hdrAddr, s); x.search != nil {
		x.hdr = hdrAddr
		return x
	}
	x.scan()
	return x
}

// searchTable is the binary search table of .eh_frame_hdr (Linux Standard Base 5.0
// Core, section 10.6.2): pairs of code address and FDE address. It is nil
// unless it has the encoding that linkers use, points to this section, is sorted, and has
// only FDEs in the section.
func searchTable(hdr []byte, at uint64, s *section) []byte {
	r := readerOf(hdr, at)
	version, ptrEnc, countEnc, tableEnc := r.U8(), r.U8(), r.U8(), r.U8()
	if r.Err != nil || version != 1 || countEnc == peOmit || tableEnc != peDatarel|peSdata4 {
		return nil
	}
	start := r.pointer(ptrEnc, bases{data: at})
	count := r.pointer(countEnc, bases{data: at})
	if r.Err != nil || start != s.addr || count == 0 || count > uint64(r.Rest()/8) {
		return nil
	}
	table := r.Take(8 * count)
	for i, last := 0, int32(0); i < len(table); i += 8 {
		low := int32(binary.LittleEndian.Uint32(table[i:]))
		off := at + uint64(int32(binary.LittleEndian.Uint32(table[i+4:]))) - s.addr
		if i > 0 && low < last || off >= uint64(len(s.data)) {
			return nil
		}
		last = low
	}
	return table
}

// scan reads all FDEs of the section. It skips those that cannot be read, and keeps the
// first error. An FDE at address 0 is for code that the linker has removed.
func (x *index) scan() {
	for off := 0; ; {
		e, done, err := x.section.entryAt(off)
		if done {
			x.note(err)
			break
		}
		off = e.next
		if err != nil {
			x.note(err)
			continue
		}
		if e.isCIE {
			continue
		}
		f, err := x.fde(&e)
		x.note(err)
		if err == nil && f.low != 0 && f.low < f.high {
			x.fdes = append(x.fdes, span{low: f.low, high: f.high, off: e.off})
		}
	}
	slices.SortStableFunc(x.fdes, func(a, b span) int { return cmp.Compare(a.low, b.low) })
	reach := uint64(0)
	for i := range x.fdes {
		reach = max(reach, x.fdes[i].high)
		x.fdes[i].reach = reach
	}
}

func (x *index) note(err error) {
	if x.err == nil {
		x.err = err
	}
}

// fde parses an FDE and, the first time, its CIE.
func (x *index) fde(e *entry) (fde, error) {
	c, ok := x.cies[e.cie]
	if !ok {
		var err error
		if c, err = x.section.cieAt(e.cie); err != nil {
			x.note(err)
			c = nil
		}
		x.cies[e.cie] = c
	}
	if c == nil {
		return fde{}, fmt.Errorf("%s: FDE at %#x: its CIE at %#x cannot be read", x.section.name, e.off, e.cie)
	}
	return x.section.fdeOf(e, c)
}

// find is the FDE that covers the file address a.
func (x *index) find(a uint64) (fde, bool) {
	if x.search != nil {
		return x.findHdr(a)
	}
	i, _ := slices.BinarySearchFunc(x.fdes, a, func(s span, a uint64) int {
		if s.low <= a {
			return -1
		}
		return 1
	})
	for i--; i >= 0 && a < x.fdes[i].reach; i-- {
		if a < x.fdes[i].high {
			return x.at(x.fdes[i].off, a)
		}
	}
	return fde{}, false
}

func (x *index) findHdr(a uint64) (fde, bool) {
	rel := int64(a - x.hdr)
	lo, hi := 0, len(x.search)/8
	for lo < hi {
		mid := int(uint(lo+hi) / 2)
		if int64(int32(binary.LittleEndian.Uint32(x.search[8*mid:]))) <= rel {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if lo == 0 {
		return fde{}, false
	}
	at := x.hdr + uint64(int32(binary.LittleEndian.Uint32(x.search[8*lo-4:])))
	return x.at(int(at-x.section.addr), a)
}

// at is the FDE at an offset of the section, if it covers a.
func (x *index) at(off int, a uint64) (fde, bool) {
	e, done, err := x.section.entryAt(off)
	if done || err != nil || e.isCIE {
		x.note(err)
		return fde{}, false
	}
	f, err := x.fde(&e)
	x.note(err)
	return f, err == nil && f.low <= a && a < f.high
}
