package scope

import (
	"sort"
	"strings"

	"hdb/symbols/dwarf"
)

// Desc is what the entries of a function say about it: its own, the abstract one
// that it is a copy of, and the declaration in its class.
type Desc struct {
	Name     string // DW_AT_name
	Linkage  string // DW_AT_linkage_name
	Named    dwarf.DIE
	DeclUnit *dwarf.Unit // whose line table DeclFile indexes
	DeclFile uint32
	DeclLine uint32
	Noreturn bool
	External bool // other units can call it
}

// maxHops bounds chains of DW_AT_abstract_origin and DW_AT_specification; real
// ones have three links, hostile ones are circles.
const maxHops = 16

// Describe follows the chain of entries that d is in.
func Describe(d dwarf.DIE) Desc {
	var r Desc
	for hop := 0; d.Valid() && hop < maxHops; hop++ {
		d = r.merge(d)
	}
	return r
}

// merge adds what d says that is not yet known and returns the next of the chain.
func (r *Desc) merge(d dwarf.DIE) (next dwarf.DIE) {
	file, line, filed := uint32(0), uint32(0), false
	it := d.Attrs()
	for it.Next() {
		switch it.At {
		case dwarf.AtName:
			if r.Name == "" {
				r.Name, r.Named = string(it.Value.Str()), d
			}
		case dwarf.AtLinkageName, dwarf.AtMIPSLinkageName:
			if r.Linkage == "" {
				r.Linkage = string(it.Value.Str())
			}
		case dwarf.AtDeclFile:
			file = uint32(it.Value.Uint())
			filed = file != 0 || d.Unit.Version >= 5 // before, 0 is no file (DWARF 4 section 2.14)
		case dwarf.AtDeclLine:
			line = uint32(it.Value.Uint())
		case dwarf.AtAbstractOrigin, dwarf.AtSpecification:
			next = it.Value.Ref()
		case dwarf.AtNoreturn:
			r.Noreturn = it.Value.Flag()
		case dwarf.AtExternal:
			r.External = r.External || it.Value.Flag()
		}
	}
	// A definition may repeat only the line: the file is then the declaration's.
	if r.DeclLine == 0 && line != 0 {
		r.DeclLine = line
	}
	if r.DeclUnit == nil && filed {
		r.DeclUnit, r.DeclFile = d.Unit, file
	}
	return next
}

// Origin is the abstract function that an inlined copy is of.
func Origin(d dwarf.DIE) (data *dwarf.Data, off uint64, ok bool) {
	v, ok := d.Attr(dwarf.AtAbstractOrigin)
	if !ok {
		return nil, 0, false
	}
	return v.RefOffset()
}

// enclosure is a namespace, class, module or function: the entries [off, end).
type enclosure struct {
	off, end uint64
	parent   int32
}

// Enclosures are the namespaces and types of a unit by position.
type Enclosures struct {
	unit  *dwarf.Unit
	spans []enclosure
}

// level is an entry that is open while its descendants are walked.
type level struct {
	off   uint64
	depth int
	span  int32 // in spans, -1 for a function that has no local types yet
}

// FindEnclosures reads the namespaces and types that have children, and the
// functions that have local types.
func FindEnclosures(u *dwarf.Unit) *Enclosures {
	e := &Enclosures{unit: u}
	var open []level
	w := u.Walk()
	for w.Next() {
		for len(open) > 0 && open[len(open)-1].depth >= w.Depth {
			if top := open[len(open)-1]; top.span >= 0 {
				e.spans[top.span].end = w.DIE.Off
			}
			open = open[:len(open)-1]
		}
		if !w.DIE.Children() {
			continue
		}
		switch w.DIE.Tag() {
		case dwarf.TagSubprogram:
			open = append(open, level{w.DIE.Off, w.Depth, -1})
		case dwarf.TagNamespace, dwarf.TagClassType, dwarf.TagStructureType, dwarf.TagUnionType,
			dwarf.TagInterfaceType, dwarf.TagModule, dwarf.TagEnumerationType:
			open = append(open, level{w.DIE.Off, w.Depth, -1})
			e.addOpen(open)
		}
	}
	return e
}

// addOpen makes spans of the open entries that have none yet.
func (e *Enclosures) addOpen(open []level) {
	parent := int32(-1)
	for i := range open {
		if open[i].span < 0 {
			open[i].span = int32(len(e.spans))
			e.spans = append(e.spans, enclosure{off: open[i].off, end: e.unit.End, parent: parent})
		}
		parent = open[i].span
	}
}

// around is the index of the innermost enclosure of the entry at off, -1 none.
func (e *Enclosures) around(off uint64) int32 {
	i := int32(sort.Search(len(e.spans), func(i int) bool { return e.spans[i].off >= off })) - 1
	for i >= 0 && off >= e.spans[i].end {
		i = e.spans[i].parent
	}
	return i
}

// Qualify puts the names of the namespaces and types around the entry d before
// its name, joined by "::".
func (e *Enclosures) Qualify(d dwarf.DIE, name string) string {
	parts := []string{name}
	for i := e.around(d.Off); i >= 0 && len(parts) < 64; i = e.spans[i].parent {
		n := e.nameOf(e.spans[i].off)
		if n == "" && name == "operator()" {
			n = "{lambda}" // gcc's closures have no name in abstract functions
		}
		if n != "" {
			parts = append(parts, n)
		}
	}
	for i, j := 0, len(parts)-1; i < j; i, j = i+1, j-1 {
		parts[i], parts[j] = parts[j], parts[i]
	}
	return strings.Join(parts, "::")
}

func (e *Enclosures) nameOf(off uint64) string {
	d := e.unit.DIE(off)
	if name := Describe(d).Name; name != "" {
		return name
	}
	if d.Has(dwarf.AtName) {
		return "?" // in a dwz file that is not there
	}
	if v, ok := d.Attr(dwarf.AtSignature); ok { // a stub for the type in a type unit
		if name := Describe(v.Ref()).Name; name != "" {
			return name
		}
	}
	if v, ok := d.Attr(dwarf.AtExtension); ok {
		if name := Describe(v.Ref()).Name; name != "" {
			return name
		}
	}
	if d.Tag() == dwarf.TagNamespace {
		return "(anonymous namespace)"
	}
	return ""
}
