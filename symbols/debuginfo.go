package symbols

import (
	"cmp"
	"errors"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"hdb/internal/addr"
	"hdb/internal/diskcache"
	"hdb/internal/panics"
	"hdb/symbols/dwarf"
	"hdb/symbols/dwarf/line"
	"hdb/symbols/dwarf/scope"
	"hdb/symbols/elf"
)

// debugInfo is the DWARF of an object with what was derived from it. Each part
// is made on first use.
type debugInfo struct {
	exec []elf.Segment
	// linkage is the mangled name of the symbol that begins at an address, "" without.
	linkage func(addr.File) string
	// exported is the name without underscores that a library exports for the code
	// at an address, "" without.
	exported func(addr.File) string
	data     *dwarf.Data
	units    []*dwarf.Unit // of the file itself, then those of the dwz file
	own      int           // how many are of the file itself
	parts    []unitParts   // by index in units
	index    map[*dwarf.Unit]int
	others   sync.Map // *dwarf.Unit that is not in units -> *unitParts
	split    *splitFiles

	skelOnce sync.Once
	skels    map[uint64]*dwarf.Unit

	bodiesOnce sync.Once
	all        []*dwarf.Unit

	code codeIndex

	namesOnce sync.Once
	names     *scope.Index

	filesOnce sync.Once
	files     *fileIndex

	linesMu   sync.Mutex
	lines     map[lineKey]*lineSlot
	lineBytes map[*dwarf.Data]uint64 // of the programs decoded so far

	builders, readers sync.Pool // of *scope.Builder and *line.Reader
}

// unitParts is what was derived from one unit.
type unitParts struct {
	bodyOnce sync.Once
	body     *dwarf.Unit

	lines atomic.Pointer[line.Table] // nil when it is not known yet, or there is none

	treeOnce sync.Once
	tree     *scope.Tree
	names    []atomic.Pointer[named] // of the tree's nodes

	enclOnce sync.Once
	encl     *scope.Enclosures

	descs sync.Map // offset of a function's entry -> *named

	instOnce  sync.Once
	instances map[uint64][]addr.File // offset of an abstract function -> entry points of its code
}

type lineKey struct {
	data *dwarf.Data
	off  uint64
}

type lineSlot struct {
	once  sync.Once
	table *line.Table
}

// newDebugInfo reads the headers of data, and of the dwz file alt, which may be nil. It
// has no files that DWARF was split into.
func newDebugInfo(data, alt *dwarf.Data, exec []elf.Segment) (*debugInfo, error) {
	d := &debugInfo{
		exec: exec, data: data, index: map[*dwarf.Unit]int{}, lines: map[lineKey]*lineSlot{}, lineBytes: map[*dwarf.Data]uint64{},
		split: &splitFiles{files: map[string]*splitFile{}, below: func(string) []string { return nil }},
	}
	own, err := data.Units()
	others, _ := alt.Units()
	d.own, d.units = len(own), slices.Concat(own, others)
	d.parts = make([]unitParts, len(d.units))
	for i, u := range d.units {
		d.index[u] = i
	}
	return d, err
}

// dwarfSections reads the sections that DWARF may be in, compressed ones in parallel, or from the cache, which may be
// nil. A section that does not decompress is an error: the rest alone would give wrong answers.
func dwarfSections(f *elf.File, cache *diskcache.Dir) (dwarf.Sections, error) {
	var s dwarf.Sections
	parts := []struct {
		name string
		to   *[]byte
	}{
		{"info", &s.Info}, {"abbrev", &s.Abbrev}, {"str", &s.Str}, {"line_str", &s.LineStr},
		{"str_offsets", &s.StrOffsets}, {"addr", &s.Addr}, {"ranges", &s.Ranges},
		{"rnglists", &s.RngLists}, {"line", &s.Line}, {"aranges", &s.Aranges}, {"types", &s.Types},
	}
	errs := make([]error, len(parts))
	var wg panics.Group
	for i, p := range parts {
		wg.Go(func() {
			fault := elf.Guard(func() { *p.to, errs[i] = keptSection(cache, f, ".debug_"+p.name, leastKept) })
			errs[i] = errors.Join(errs[i], fault)
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		return dwarf.Sections{}, err
	}
	return s, nil
}

// isCode reports whether a is in memory that can hold code. Linkers leave the entries of functions
// they dropped at address 0, 1 or -1.
func (d *debugInfo) isCode(a uint64) bool {
	for i := range d.exec {
		if d.exec[i].Contains(addr.File(a)) {
			return true
		}
	}
	return false
}

// tree is the functions of unit i.
func (d *debugInfo) tree(i int) *scope.Tree {
	p := &d.parts[i]
	p.treeOnce.Do(func() {
		p.tree = scope.Empty(d.units[i])
		b, ok := d.builders.Get().(*scope.Builder)
		if !ok {
			b = &scope.Builder{}
		}
		p.tree = b.Build(d.body(i), d.isCode)
		d.builders.Put(b)
		p.names = make([]atomic.Pointer[named], len(p.tree.Nodes))
	})
	return p.tree
}

// part is what was derived from u. Split units and type units are not in units.
func (d *debugInfo) part(u *dwarf.Unit) *unitParts {
	if i, ok := d.index[u]; ok {
		return &d.parts[i]
	}
	p, ok := d.others.Load(u)
	if !ok {
		p, _ = d.others.LoadOrStore(u, &unitParts{})
	}
	return p.(*unitParts)
}

func (d *debugInfo) enclosures(u *dwarf.Unit) *scope.Enclosures {
	p := d.part(u)
	p.enclOnce.Do(func() {
		p.encl = &scope.Enclosures{}
		p.encl = scope.FindEnclosures(u)
	})
	return p.encl
}

// lineTable is the decoded line table of a unit, or of its skeleton; nil without.
// Units can share one.
func (d *debugInfo) lineTable(u *dwarf.Unit) *line.Table {
	u = u.LineUnit()
	root, err := u.Load()
	if err != nil || !root.HasLines {
		return nil
	}
	key := lineKey{u.Data, root.StmtList}
	d.linesMu.Lock()
	slot := d.lines[key]
	if slot == nil {
		slot = &lineSlot{}
		d.lines[key] = slot
	}
	d.linesMu.Unlock()
	slot.once.Do(func() { slot.table = d.readLines(u, root.StmtList) })
	return slot.table
}

// unitLines is the line table of unit i.
func (d *debugInfo) unitLines(i int) *line.Table {
	slot := &d.parts[i].lines
	if t := slot.Load(); t != nil {
		return t
	}
	t := d.lineTable(d.units[i])
	slot.Store(t)
	return t
}

// readLines decodes the program at off. A damaged one is used up to the damage: each row represents
// itself. Programs of a hostile file overlap, so that many units decode the same bytes; real ones
// together are not longer than the section.
func (d *debugInfo) readLines(u *dwarf.Unit, off uint64) *line.Table {
	d.linesMu.Lock()
	over := d.lineBytes[u.Data] > uint64(len(u.Data.Line))
	d.linesMu.Unlock()
	if over {
		return nil
	}
	r, ok := d.readers.Get().(*line.Reader)
	if !ok {
		r = &line.Reader{}
	}
	t, _ := r.Read(u, off, d.isCode)
	d.readers.Put(r)
	d.linesMu.Lock()
	d.lineBytes[u.Data] += t.Size
	d.linesMu.Unlock()
	return t
}

// unitFile is the path of a file index in the line table of u, the body of unit i.
func (d *debugInfo) unitFile(i int, u *dwarf.Unit, index uint32) string {
	if u != d.units[i] {
		return d.file(u, index)
	}
	if t := d.unitLines(i); t != nil {
		return t.File(index)
	}
	return ""
}

// file is the path of a file index in the line table of u.
func (d *debugInfo) file(u *dwarf.Unit, index uint32) string {
	if u == nil {
		return ""
	}
	t := d.lineTable(u)
	if t == nil {
		return ""
	}
	return t.File(index)
}

// nameIndex is built by a scan of all entries, in parallel.
func (d *debugInfo) nameIndex() *scope.Index {
	d.namesOnce.Do(func() {
		d.names = &scope.Index{}
		d.names = scope.NewIndex(d.bodies(), runtime.GOMAXPROCS(0), elf.Guard)
	})
	return d.names
}

// named is a function's description with the name that users see.
type named struct {
	scope.Desc
	function string // with parameters
	language Language
}

// nodeName names a node of the tree of unit i.
func (d *debugInfo) nodeName(i int, node int32) *named {
	tree := d.tree(i)
	slot := &d.parts[i].names[node]
	if n := slot.Load(); n != nil {
		return n
	}
	n := d.describe(tree.Unit, tree.Nodes[node].Off)
	slot.Store(n)
	return n
}

// languageOf is the language of a name, or the language of the unit with the code: the partial
// units of dwz have none.
func languageOf(n *named, u *dwarf.Unit) Language {
	if n.language != 0 {
		return n.language
	}
	root, _ := u.Load()
	return root.Language
}

// describe names the function, copy or abstract function at off of unit i.
func (d *debugInfo) describe(u *dwarf.Unit, off uint64) *named {
	p := d.part(u)
	if n, ok := p.descs.Load(off); ok {
		return n.(*named)
	}
	die := u.DIE(off)
	var n *named
	if data, origin, ok := scope.Origin(die); ok && die.Tag() == dwarf.TagInlinedSubroutine {
		// Copies share the description of what they are copies of.
		if ou := data.UnitAt(origin); ou != nil && !(ou == u && origin == off) && ou.DIE(origin).Tag() == dwarf.TagSubprogram {
			n = d.describe(ou, origin)
		}
	}
	if n == nil {
		n = d.newNamed(die)
	}
	actual, _ := p.descs.LoadOrStore(off, n)
	return actual.(*named)
}

func (d *debugInfo) newNamed(die dwarf.DIE) *named {
	n := &named{Desc: scope.Describe(die)}
	u := die.Unit
	if n.Named.Valid() {
		u = n.Named.Unit
	}
	if u == nil {
		return n
	}
	root, _ := u.Load()
	n.language = root.Language
	if own, err := die.Unit.Load(); err == nil && n.language == 0 {
		n.language = own.Language // a partial unit has none
	}
	if n.Linkage == "" && n.language.Scoped() && die.Tag() == dwarf.TagSubprogram {
		// gcc leaves out the linkage names of functions with internal linkage; the symbol table has
		// these names, with parameters.
		if r := die.Ranges(nil, 1); len(r) == 1 {
			n.Linkage = d.linkage(addr.File(r[0].Low))
		}
	}
	n.function = n.Name
	if isMangled(n.Linkage) {
		if f := Demangle(n.Linkage); f != n.Linkage {
			n.function = f
			return n
		}
	}
	if n.Name != "" && n.language.Scoped() && n.Name != "main" {
		n.function = d.enclosures(u).Qualify(n.Named, n.Name)
	}
	if n.function == "" {
		n.function = n.Linkage
	}
	if strings.HasPrefix(n.Name, "_") && n.language.IsC() && die.Tag() == dwarf.TagSubprogram {
		// C libraries define __libc_malloc and export it as malloc, the name users know.
		if r := die.Ranges(nil, 1); len(r) == 1 {
			if alias := d.exported(addr.File(r[0].Low)); alias != "" {
				n.function = alias
				n.Linkage = cmp.Or(n.Linkage, n.Name)
			}
		}
	}
	return n
}

// isMangled tells the linkage names that carry qualification and parameters.
func isMangled(s string) bool { return strings.HasPrefix(s, "_Z") || strings.HasPrefix(s, "_R") }

// forget drops what was derived from the units.
func (d *debugInfo) forget() {
	if d != nil {
		d.parts = make([]unitParts, len(d.units))
		d.lines = map[lineKey]*lineSlot{}
		clear(d.lineBytes)
		d.others.Clear()
	}
}
