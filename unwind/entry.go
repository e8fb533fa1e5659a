package unwind

import (
	"fmt"
	"strings"

	"hdb/internal/addr"
)

// A section is .eh_frame or .debug_frame. They differ in the mark of a CIE, in the pointer
// from an FDE to its CIE, and in the encoding of addresses.
type section struct {
	name  string
	data  []byte
	addr  uint64
	isEh  bool
	bases bases
}

// An entry is the common header of a CIE and an FDE, and its body.
type entry struct {
	off   int // of the length field in the section
	next  int // offset of the entry behind it
	isCIE bool
	cie   int    // of an FDE: the offset of its CIE
	body  reader // behind the CIE id or pointer, up to next
}

// A cie is a Common Information Entry (DWARF 5, section 6.4.1; for .eh_frame the
// Linux Standard Base 5.0 Core, section 10.6.1).
type cie struct {
	codeAlign uint64
	dataAlign int64
	ra        uint64 // column of the return address
	encoding  uint8  // of the addresses in its FDEs
	augmented bool   // its FDEs have augmentation data
	signal    bool
	initial   []byte // instructions
	initialAt uint64 // their file address
}

// An fde is a Frame Description Entry: code addresses and the program for them.
type fde struct {
	cie       *cie
	low, high uint64
	program   []byte
	programAt uint64
}

// entryAt parses the entry at an offset of the section; done is true at the end. A
// zero length, which terminates .eh_frame for libgcc, is an empty CIE here: linkers
// place entries behind it, and the search table points to them.
func (s *section) entryAt(off int) (e entry, done bool, err error) {
	if off < 0 || off >= len(s.data) {
		return e, true, nil
	}
	r := readerOf(s.data, s.addr)
	r.Pos = off
	wide := false
	length := uint64(r.U32())
	if length == 0xffffffff {
		wide, length = true, r.U64()
	}
	if r.Err == nil && length == 0 {
		return entry{off: off, next: r.Pos, isCIE: true}, false, nil
	}
	body := r.Take(length)
	if r.Err != nil {
		return e, true, fmt.Errorf("%s: entry at %#x of %d bytes: %w", s.name, off, length, r.Err)
	}
	e = entry{off: off, next: r.Pos}
	e.body = readerOf(body, s.addr+uint64(r.Pos-len(body)))
	s.identify(&e, wide, r.Pos-len(body))
	if e.body.Err != nil {
		return e, false, fmt.Errorf("%s: entry at %#x: %w", s.name, off, e.body.Err)
	}
	return e, false, nil
}

// identify reads the CIE id or CIE pointer. It has four bytes in .eh_frame even
// behind a 64-bit length (Linux Standard Base), and there counts back from itself.
func (s *section) identify(e *entry, wide bool, field int) {
	if s.isEh {
		back := e.body.U32()
		e.isCIE = back == 0
		e.cie = field - int(int32(back))
		return
	}
	id, mark := uint64(0), uint64(0xffffffff)
	if wide {
		id, mark = e.body.U64(), ^uint64(0)
	} else {
		id = uint64(e.body.U32())
	}
	e.isCIE = id == mark
	if !e.isCIE {
		if id > uint64(len(s.data)) {
			e.body.Fail(fmt.Errorf("CIE pointer %#x lies outside", id))
			return
		}
		e.cie = int(id)
	}
}

// cieAt parses the CIE at an offset of the section.
func (s *section) cieAt(off int) (*cie, error) {
	e, done, err := s.entryAt(off)
	if err != nil {
		return nil, err
	}
	if done || !e.isCIE {
		return nil, fmt.Errorf("%s: no CIE at %#x", s.name, off)
	}
	c := &cie{encoding: peAbsptr}
	if err := s.parseCIE(&e.body, c); err != nil {
		return nil, fmt.Errorf("%s: CIE at %#x: %w", s.name, off, err)
	}
	return c, nil
}

func (s *section) parseCIE(r *reader, c *cie) error {
	version := r.U8()
	if r.Err == nil && version != 1 && version != 3 && version != 4 {
		return fmt.Errorf("unknown version %d", version)
	}
	augmentation := r.Cstring()
	if augmentation == "eh" { // gcc 2: a pointer to exception data follows
		r.U64()
		augmentation = ""
	}
	if version == 4 {
		if size, segment := r.U8(), r.U8(); r.Err == nil && (size != 8 || segment != 0) {
			return fmt.Errorf("addresses of %d bytes with selectors of %d, not 8 and 0", size, segment)
		}
	}
	c.codeAlign, c.dataAlign = r.Uleb(), r.Sleb()
	if version == 1 {
		c.ra = uint64(r.U8())
	} else {
		c.ra = r.Uleb()
	}
	if letters, ok := strings.CutPrefix(augmentation, "z"); ok {
		data := r.Take(r.Uleb())
		a := readerOf(data, r.addr()-uint64(len(data)))
		c.augmented = true
		if err := c.augment(&a, letters); err != nil {
			return err
		}
	} else if augmentation != "" {
		return fmt.Errorf("unknown augmentation %q", augmentation)
	}
	if r.Err == nil && c.ra >= numRegs {
		return fmt.Errorf("return address column %d is no general register", c.ra)
	}
	c.initialAt = r.addr()
	c.initial = r.Take(uint64(r.Rest()))
	return r.Err
}

// augment reads the augmentation data. It stops at an unknown letter. The length of the
// data still gives the end of it, as in libgcc.
func (c *cie) augment(a *reader, letters string) error {
	for _, letter := range []byte(letters) {
		switch letter {
		case 'R':
			c.encoding = a.U8()
		case 'P':
			a.skipPointer(a.U8())
		case 'L':
			a.U8()
		case 'S':
			c.signal = true
		case 'B': // arm64: pointers are signed with key B
		default:
			return a.Err
		}
	}
	return a.Err
}

// fdeOf parses the body of an FDE whose CIE is known.
func (s *section) fdeOf(e *entry, c *cie) (fde, error) {
	r := e.body
	low := r.pointer(c.encoding, s.bases)
	size := r.format(c.encoding)
	if c.augmented {
		r.Take(r.Uleb())
	}
	f := fde{cie: c, low: low, high: low + size, programAt: r.addr()}
	f.program = r.Take(uint64(r.Rest()))
	if r.Err == nil && f.high < f.low {
		r.Err = fmt.Errorf("%d bytes at %v wrap around", size, addr.File(low))
	}
	if r.Err != nil {
		return fde{}, fmt.Errorf("%s: FDE at %#x: %w", s.name, e.off, r.Err)
	}
	return f, nil
}
