package scope

import (
	"cmp"
	"slices"
	"strings"
	"sync"

	"hdb/internal/panics"
	"hdb/symbols/dwarf"
)

// Entry is a function of the index: an entry with code, or an abstract one that
// was inlined.
type Entry struct {
	hash     uint32
	Unit     int32 // index of the unit in the list the index was built from
	Off      uint64
	Abstract bool // has no code of its own: look for copies
}

// Index finds functions by the last component of their names.
type Index struct {
	Entries []Entry // by hash, unit, offset
	users   map[int32][]int32
}

// Users lists the units, besides its own, that have inlined copies of functions
// of a unit.
func (x *Index) Users(unit int32) []int32 { return x.users[unit] }

// Named lists the entries whose key may be Key(name): a few others may be among
// them, their names are for the caller to compare.
func (x *Index) Named(key string) []Entry {
	h := hash([]byte(key))
	first, _ := slices.BinarySearchFunc(x.Entries, h, func(e Entry, h uint32) int { return cmp.Compare(e.hash, h) })
	last := first
	for last < len(x.Entries) && x.Entries[last].hash == h {
		last++
	}
	return x.Entries[first:last]
}

// Key is the part of a function's own name, as in DW_AT_name, that the index goes by: template
// arguments are left out.
func Key(name string) string {
	if n := OperatorLen(name); n > 0 {
		if rest := strings.TrimPrefix(name[n:], " "); rest != "" && rest[0] == '<' {
			return name[:n]
		}
		return name
	}
	if i := strings.IndexByte(name, '<'); i > 0 && name[len(name)-1] == '>' {
		return name[:i]
	}
	return name
}

// GoKey is Key for the functions of Go, whose names are whole paths: the part
// after the last dot, type arguments left out.
func GoKey(name string) string {
	name, _, _ = strings.Cut(name, "[")
	return name[strings.LastIndexByte(name, '.')+1:]
}

// OperatorLen is the length of the name of a C++ operator at the front of s: for example of
// operator() or operator<<. It is 0 for names of other kinds, also for conversions and operator
// new, which are written with words.
func OperatorLen(s string) int {
	rest, ok := strings.CutPrefix(s, "operator")
	if !ok || rest == "" {
		return 0
	}
	n := len(s) - len(rest)
	for _, sym := range []string{"()", "[]", "<=>", "<<=", ">>=", "->*", "<<", ">>", "->", "<=", ">="} {
		if strings.HasPrefix(rest, sym) {
			return n + len(sym)
		}
	}
	if rest[0] == '<' || rest[0] == '>' {
		return n + 1
	}
	symbols := len(rest) - len(strings.TrimLeft(rest, "=!+-*/%^&|~,"))
	if symbols == 0 {
		return 0
	}
	return n + symbols
}

// hash is FNV-1a.
func hash(s []byte) uint32 {
	h := uint32(2166136261)
	for _, c := range s {
		h = (h ^ uint32(c)) * 16777619
	}
	return h
}

// NewIndex scans the units with as many goroutines as workers. run surrounds each
// goroutine's work; see elf.Guard.
func NewIndex(units []*dwarf.Unit, workers int, run func(func()) error) *Index {
	ids := make(map[*dwarf.Unit]int32, len(units))
	for i, u := range units {
		ids[u] = int32(i)
	}
	parts := make([]scan, workers)
	var next struct {
		sync.Mutex
		unit int
	}
	take := func() int {
		next.Lock()
		defer next.Unlock()
		next.unit++
		return next.unit - 1
	}
	var wg panics.Group
	for i := range parts {
		wg.Go(func() {
			run(func() {
				for n := take(); n < len(units); n = take() {
					parts[i].unit(units[n], int32(n))
				}
			})
		})
	}
	wg.Wait()
	x := &Index{users: map[int32][]int32{}}
	seen := map[[2]int32]bool{}
	for i := range parts {
		x.Entries = append(x.Entries, parts[i].entries...)
		for c := range parts[i].cross {
			owner := c.data.UnitAt(c.off)
			id, ok := ids[owner]
			if pair := [2]int32{id, c.user}; owner != nil && ok && id != c.user && !seen[pair] {
				seen[pair] = true
				x.users[id] = append(x.users[id], c.user)
			}
		}
	}
	slices.SortFunc(x.Entries, func(a, b Entry) int {
		return cmp.Or(cmp.Compare(a.hash, b.hash), cmp.Compare(a.Unit, b.Unit), cmp.Compare(a.Off, b.Off))
	})
	return x
}

// crossing says that a unit has copies of the function at off.
type crossing struct {
	data *dwarf.Data
	off  uint64
	user int32
}

// scan is one goroutine's share.
type scan struct {
	entries []Entry
	cross   map[crossing]struct{}
}

func (s *scan) unit(u *dwarf.Unit, id int32) {
	table := u.Abbrevs()
	if table == nil {
		return
	}
	cross := table.CrossRef
	root, _ := u.Load()
	// In C nothing inside of functions matters, and that is most of a unit.
	flat := root.Language.IsC() && !cross && !table.Nested
	w := u.Walk()
	for w.Next() {
		switch w.DIE.Tag() {
		case dwarf.TagSubprogram:
			s.function(w.DIE, id)
			if flat {
				w.SkipChildren()
			}
		case dwarf.TagInlinedSubroutine:
			if cross {
				s.copyOf(w.DIE, id)
			}
		case dwarf.TagEnumerationType, dwarf.TagArrayType, dwarf.TagSubroutineType:
			w.SkipChildren()
		}
	}
}

func (s *scan) copyOf(d dwarf.DIE, id int32) {
	v, ok := d.Attr(dwarf.AtAbstractOrigin)
	if !ok {
		return
	}
	switch v.Form {
	case dwarf.FormRefAddr, dwarf.FormGNURefAlt, dwarf.FormRefSup4, dwarf.FormRefSup8:
	default:
		return
	}
	if data, off, ok := v.RefOffset(); ok {
		if s.cross == nil {
			s.cross = map[crossing]struct{}{}
		}
		s.cross[crossing{data, off, id}] = struct{}{}
	}
}

func (s *scan) function(d dwarf.DIE, id int32) {
	// Abstract functions of link-time optimization lack DW_AT_inline: all that are
	// not mere declarations may have copies.
	code := d.Has(dwarf.AtLowPC) || d.Has(dwarf.AtRanges)
	if !code && d.Has(dwarf.AtDeclaration) {
		return
	}
	name := ownName(d)
	if len(name) == 0 {
		return
	}
	key := Key
	if root, _ := d.Unit.Load(); root.Language == dwarf.LangGo {
		key = GoKey
	}
	s.entries = append(s.entries, Entry{hash: hash([]byte(key(string(name)))), Unit: id, Off: d.Off, Abstract: !code})
}

// ownName is the DW_AT_name of d's chain, in its section.
func ownName(d dwarf.DIE) []byte {
	for hop := 0; d.Valid() && hop < maxHops; hop++ {
		var next dwarf.DIE
		it := d.Attrs()
		for it.Next() {
			switch it.At {
			case dwarf.AtName:
				return it.Value.Str()
			case dwarf.AtAbstractOrigin, dwarf.AtSpecification:
				next = it.Value.Ref()
			}
		}
		d = next
	}
	return nil
}
