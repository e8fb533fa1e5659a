package dwarf

// info is the Data that offsets of DW_FORM_ref_addr count in: .debug_info's.
func (d *Data) info() *Data {
	if d.owner != nil {
		return d.owner
	}
	return d
}

// TypeUnit is the type unit of that signature: of .debug_types, of .debug_info
// (DWARF 5) or of the Package that d is a part of; nil when there is none.
func (d *Data) TypeUnit(signature uint64) *Unit {
	d = d.info()
	d.sigsOnce.Do(func() {
		sigs := map[uint64]*Unit{}
		for _, part := range []*Data{d, d.types} {
			units, _ := part.Units()
			for _, u := range units {
				if u.Type == UnitTypes || u.Type == UnitSplitTypes {
					sigs[u.id] = u
				}
			}
		}
		d.sigs = sigs
	})
	if u := d.sigs[signature]; u != nil {
		return u
	}
	if d.foreign != nil {
		return d.foreign(signature)
	}
	return nil
}

// typeDIE is the type that a type unit is about; invalid for nil.
func (u *Unit) typeDIE() DIE {
	if u == nil {
		return DIE{}
	}
	return u.DIE(u.Off + u.typeOff)
}

// IsSkeleton reports whether the entries of the unit, besides its root, are in a
// file of their own (DWARF 5 section 3.1.2, and GNU's extension to DWARF 4).
func (u *Unit) IsSkeleton() bool {
	if u.Type != UnitSkeleton && (u.Version >= 5 || u.Type != UnitCompile || u.skel != nil) {
		return false
	}
	root, err := u.Load()
	return err == nil && root.HasDwoID && root.Dwo != ""
}

// Skeleton is the skeleton that Link gave to a split unit, nil for other units.
func (u *Unit) Skeleton() *Unit { return u.skel }

// LineUnit is the unit whose line table has the lines of u, and with whose part of
// .debug_addr its indexes count: the skeleton of a split unit, else u.
func (u *Unit) LineUnit() *Unit {
	if u.skel != nil {
		return u.skel
	}
	return u
}

// link makes skeleton the skeleton of a split unit. It comes before u is shared.
func (u *Unit) link(skeleton *Unit) {
	if _, err := skeleton.Load(); err == nil && skeleton != u {
		u.skel = skeleton
	}
}

// LinkSplit gives the split units of d, which is a .dwo file just opened, their
// skeletons by id; those of unknown ids and all but the first of one id are left
// out. It must come before any other use of d.
func (d *Data) LinkSplit(skeletons map[uint64]*Unit) map[uint64]*Unit {
	linked := map[uint64]*Unit{}
	units, _ := d.Units() // those before a damage are good
	for _, u := range units {
		if u.Type != UnitSplitCompile && (u.Version >= 5 || u.Type != UnitCompile) {
			continue
		}
		root, err := u.Load()
		if err != nil || !root.HasDwoID || linked[root.DwoID] != nil {
			continue
		}
		if s := skeletons[root.DwoID]; s != nil {
			u.link(s)
			linked[root.DwoID] = u
		}
	}
	return linked
}
