package dwarf

// A DIE is a debugging information entry. Its zero value is no entry.
type DIE struct {
	Unit *Unit
	Off  uint64 // in .debug_info
	ab   *Abbrev
	data uint64 // where its attributes begin
}

// Valid reports whether d is an entry.
func (d DIE) Valid() bool { return d.ab != nil }

// Tag is what d describes.
func (d DIE) Tag() Tag {
	if d.ab == nil {
		return 0
	}
	return d.ab.Tag
}

// Children reports whether entries below d follow it.
func (d DIE) Children() bool { return d.ab != nil && d.ab.Children }

// at reads the entry at off; false for a null entry or a malformed one.
func (u *Unit) at(off uint64) (DIE, bool) {
	if off < u.First || off >= u.End {
		return DIE{}, false
	}
	b := NewBuf(u.Data.Info[:u.End], off)
	ab := u.abbrevs.get(b.Uleb())
	if ab == nil || b.Bad() {
		return DIE{}, false
	}
	return DIE{Unit: u, Off: off, ab: ab, data: b.Off()}, true
}

// DIE reads the entry at off of .debug_info; invalid when there is none.
func (u *Unit) DIE(off uint64) DIE {
	if u.Abbrevs() == nil {
		return DIE{}
	}
	d, _ := u.at(off)
	return d
}

// Root is the unit's first entry.
func (u *Unit) Root() DIE {
	u.Load()
	return u.rootDIE
}

// DIE finds the entry at off of .debug_info.
func (d *Data) DIE(off uint64) DIE {
	if u := d.UnitAt(off); u != nil {
		return u.DIE(off)
	}
	return DIE{}
}

// end is the offset after the attributes; 0 when they cannot be passed.
func (d DIE) end() uint64 {
	if len(d.ab.skip) == 1 && d.ab.skip[0].form == 0 {
		if off := d.data + uint64(d.ab.skip[0].fixed); off <= d.Unit.End {
			return off
		}
		return 0
	}
	b := NewBuf(d.Unit.Data.Info[:d.Unit.End], d.data)
	for _, s := range d.ab.skip {
		b.Skip(uint64(s.fixed))
		if s.form != 0 {
			skipForm(&b, s.form, d.Unit.f)
		}
	}
	if b.Bad() {
		return 0
	}
	return b.Off()
}

// sibling is the target of DW_AT_sibling, 0 without.
func (d DIE) sibling() uint64 {
	if !d.ab.sibling {
		return 0
	}
	v, ok := d.Attr(AtSibling)
	if !ok {
		return 0
	}
	off, ok := v.unitRef()
	if !ok || off <= d.Off || off > d.Unit.End {
		return 0
	}
	return off
}

// A Walk visits the entries of a unit in file order.
//
//	w := u.Walk()
//	for w.Next() { w.DIE, w.Depth }
type Walk struct {
	DIE   DIE
	Depth int // 0 for the root

	unit *Unit
	next uint64
	deep int  // depth of the entry at next
	skip bool // pass over the children of DIE
}

// maxDepth ends walks of absurdly nested entries. Compilers stay below a hundred.
const maxDepth = 1024

// Walk starts at the root of the unit.
func (u *Unit) Walk() Walk { return Walk{unit: u, next: u.First} }

// Walk starts at the first child of d and ends after its last descendant.
func (d DIE) Walk() Walk {
	w := Walk{unit: d.Unit}
	if !d.Valid() || !d.Children() {
		return w
	}
	w.next, w.deep = d.end(), 1
	return w
}

// Next moves to the next entry; false at the end.
func (w *Walk) Next() bool {
	if w.DIE.ab != nil && !w.advance() {
		return false
	}
	if w.next == 0 || w.unit == nil {
		return false
	}
	table := w.unit.Abbrevs()
	if table == nil {
		return false
	}
	info := w.unit.Data.Info[:w.unit.End]
	for w.next < w.unit.End {
		code, data := uint64(info[w.next]), w.next+1
		if code >= 0x80 {
			b := NewBuf(info, w.next)
			if code = b.Uleb(); b.Bad() {
				return false
			}
			data = b.Off()
		}
		if code == 0 { // end of a list of children
			w.next = data
			w.deep--
			if w.deep <= 0 {
				w.next = 0
				return false
			}
			continue
		}
		ab := table.get(code)
		if ab == nil {
			return false
		}
		w.DIE = DIE{Unit: w.unit, Off: w.next, ab: ab, data: data}
		w.Depth = w.deep
		w.skip = false
		return true
	}
	return false
}

// NextScope is Next that stops at functions, inlined copies and lexical blocks only. Those
// below entries that cannot have any are not looked for; in C types cannot either.
func (w *Walk) NextScope(c bool) bool {
	if w.DIE.ab != nil && !w.advance() || w.next == 0 || w.unit == nil {
		return false
	}
	table := w.unit.Abbrevs()
	if table == nil {
		return false
	}
	info := w.unit.Data.Info[:w.unit.End]
	next := w.next
	for next != 0 && next < uint64(len(info)) && w.deep < maxDepth {
		code, data := uint64(info[next]), next+1
		if code >= 0x80 {
			b := NewBuf(info, next)
			if code = b.Uleb(); b.Bad() {
				break
			}
			data = b.Off()
		}
		if code == 0 { // end of a list of children
			next = data
			if w.deep--; w.deep <= 0 {
				break
			}
			continue
		}
		ab := table.get(code)
		if ab == nil {
			break
		}
		if ab.content == scopes {
			w.DIE, w.Depth, w.skip, w.next = DIE{Unit: w.unit, Off: next, ab: ab, data: data}, w.deep, false, next
			return true
		}
		if ab.Children && (ab.content == noScopes || c && ab.content == types) {
			d := DIE{Unit: w.unit, Off: next, ab: ab, data: data}
			if next = d.sibling(); next == 0 {
				w.passChildren(d)
				next = w.next
			}
			continue
		}
		if ab.Children {
			w.deep++
		}
		if len(ab.skip) == 1 && ab.skip[0].form == 0 {
			next = data + uint64(ab.skip[0].fixed)
			continue
		}
		d := DIE{Unit: w.unit, Off: next, ab: ab, data: data}
		next = d.end()
	}
	w.next = 0
	return false
}

// advance finds where the entry after the current one begins.
func (w *Walk) advance() bool {
	d := w.DIE
	w.DIE.ab = nil
	if w.skip && d.ab.Children {
		if s := d.sibling(); s != 0 {
			w.next = s
			return true
		}
		return w.passChildren(d)
	}
	w.next = d.end()
	if d.ab.Children {
		w.deep++
	}
	return w.next != 0 && w.deep < maxDepth
}

// passChildren walks over the entries below d.
func (w *Walk) passChildren(d DIE) bool {
	inner := Walk{unit: w.unit, next: d.end(), deep: 1}
	for inner.nextShallow() {
	}
	w.next = inner.next
	return w.next != 0
}

// nextShallow is Next without stopping at entries: one step over an entry.
func (w *Walk) nextShallow() bool {
	if w.next == 0 || w.next >= w.unit.End || w.deep >= maxDepth {
		w.next = 0
		return false
	}
	b := NewBuf(w.unit.Data.Info[:w.unit.End], w.next)
	code := b.Uleb()
	if code == 0 {
		w.next = b.Off()
		w.deep--
		return w.deep > 0 && !b.Bad()
	}
	ab := w.unit.abbrevs.get(code)
	if ab == nil {
		w.next = 0
		return false
	}
	d := DIE{Unit: w.unit, Off: w.next, ab: ab, data: b.Off()}
	if ab.Children {
		if s := d.sibling(); s != 0 {
			w.next = s
			return true
		}
		w.deep++
	}
	w.next = d.end()
	return w.next != 0
}

// SkipChildren makes the next Next pass over everything below the current entry.
func (w *Walk) SkipChildren() { w.skip = true }
