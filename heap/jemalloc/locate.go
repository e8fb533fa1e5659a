package jemalloc

import (
	"encoding/binary"

	"hdb/internal/addr"
)

const (
	maxAddress = 1 << 47 // of user space
	enough     = 64      // slots of a leaf that tell its layout
	mostBad    = 16      // words of a root that may lead nowhere
)

// A geometry is the shape of the map of extents (rtree.h). It follows from the width of virtual addresses of
// the machine that jemalloc was built on.
type geometry struct {
	levels []uint // bits of the page's number that each level has, the root first
	slot   uint64 // bytes of a leaf for a page
}

var geometries = [...]geometry{
	{levels: []uint{18, 18}, slot: 8},      // LG_VADDR 48
	{levels: []uint{15, 15, 15}, slot: 16}, // LG_VADDR 57: five levels of page tables, or built for another machine
}

// span is how many addresses an entry of a level has.
func (g *geometry) span(level int) addr.Run {
	n := addr.Run(pageSize)
	for _, bits := range g.levels[level+1:] {
		n <<= bits
	}
	return n
}

// bytes is the size of a node of a level.
func (g *geometry) bytes(level int) uint64 {
	if level == len(g.levels)-1 {
		return g.slot << g.levels[level]
	}
	return 8 << g.levels[level]
}

// index is the index of the entry of a level that has an address.
func (g *geometry) index(level int, a addr.Run) addr.Run {
	return a / g.span(level) & (1<<g.levels[level] - 1)
}

// A root is the map of extents.
type root struct {
	at addr.Run
	*geometry
	layout *layout
	leaves []leaf // ascending
}

// A leaf has the slots of some addresses, which begin at base.
type leaf struct{ at, base addr.Run }

// root finds the map in the writable data of the modules.
func (m *memory) root() (*root, error) {
	buf := make([]byte, 64*pageSize)
	var unknown error
	based, none := map[addr.Run]bool{}, map[addr.Run]bool{} // by unit
	for _, data := range m.sections() {
		var found *root
		m.pieces(data, buf, func(at addr.Run, b []byte) bool {
			for i := 0; i+8 <= len(b) && found == nil; i += 8 {
				v := addr.Run(binary.LittleEndian.Uint64(b[i:]))
				if v%64 != 0 || v == 0 || v >= maxAddress {
					continue
				}
				if m.Spent() { // asked here alone: of most words there is nothing more to read
					return false
				}
				in, known := based[v/baseUnit]
				if !known {
					_, in = m.baseAround(v, searchTries, none)
					based[v/baseUnit] = in
				}
				if !in {
					continue
				}
				for k := range geometries {
					r := &root{geometry: &geometries[k]}
					s := m.descend(r.geometry, v, 1)
					r.at = at + addr.Run(i) - 8*r.index(0, s.page)
					if !s.found || r.at < data.Start || r.at+addr.Run(r.bytes(0)) > data.End || !m.leaves(r) {
						continue
					}
					if r.layout != nil {
						found = r
						break
					}
					unknown = &LayoutError{r.at, "the struct of an extent"}
				}
			}
			return found == nil
		})
		if found != nil {
			return found, nil
		}
	}
	if unknown != nil {
		return nil, unknown
	}
	return nil, ErrNotFound
}

// sections are the writable data of modules, each with the anonymous memory behind it (.bss), that are
// large enough for a root.
func (m *memory) sections() []addr.Range {
	var all []addr.Range
	maps := m.Mappings
	for i := 0; i < len(maps); i++ {
		if x := &maps[i]; !x.Private() || x.Path == "" || x.Path[0] != '/' {
			continue
		}
		r := maps[i].Range
		for ; i+1 < len(maps) && maps[i+1].Start == r.End && maps[i+1].Private(); i++ {
			if next := &maps[i+1]; next.Path != "" && next.Path[0] == '/' && next.Path != maps[i].Path {
				break
			}
			r.End = maps[i+1].End
		}
		if r.Len() >= geometries[1].bytes(0) {
			all = append(all, r)
		}
	}
	return all
}

// A sample is what the first slots of a node tell.
type sample struct {
	found bool     // most lead to structs that have their pages
	page  addr.Run // of one of them
	votes          // by layout
}

// votes count, for each layout, active extents and those of them that agree with their slots.
type votes struct{ active, agree [len(layouts)]int }

// layout is the one by which most extents agree, nil if that are not most of the active ones.
func (v *votes) layout() *layout {
	best := 0
	for k, n := range v.agree {
		if n > v.agree[best] {
			best = k
		}
	}
	if n := v.agree[best]; n == 0 || 2*n <= v.active[best] {
		return nil
	}
	return &layouts[best]
}

// descend samples the node of a level.
func (m *memory) descend(g *geometry, at addr.Run, level int) (s sample) {
	if level == len(g.levels)-1 {
		return m.sample(g, at)
	}
	var first, child addr.Run
	buf := make([]byte, pageSize)
	m.pieces(at.To(at+addr.Run(g.bytes(level))), buf, func(a addr.Run, b []byte) bool {
		for i := 0; i+8 <= len(b) && child == 0; i += 8 {
			child, first = addr.Run(binary.LittleEndian.Uint64(b[i:])), (a+addr.Run(i)-at)/8
		}
		return child == 0
	})
	if child == 0 || child%64 != 0 || !m.data(child) {
		return sample{}
	}
	s = m.descend(g, child, level+1)
	s.found = s.found && g.index(level, s.page) == first
	return s
}

// sample samples a leaf.
func (m *memory) sample(g *geometry, at addr.Run) (s sample) {
	seen, held, most := 0, 0, 0
	span := g.span(len(g.levels) - 2)
	m.pieces(at.To(at+addr.Run(g.bytes(len(g.levels)-1))), m.part[:], func(a addr.Run, b []byte) bool {
		for i := 0; i+int(g.slot) <= len(b); i += int(g.slot) {
			w := g.decode(b[i:])
			if w.empty() {
				continue
			}
			seen++
			if !w.plausible() || !m.data(w.edata()) {
				return false
			}
			n := (a + addr.Run(i) - at) / addr.Run(g.slot)
			for k := range layouts {
				x := m.edata(&layouts[k], w.edata())
				p := x.pages()
				// The slot has the low bits of the page's number, the struct the high ones.
				page := p.Start&^(span-1) + n*pageSize
				if !p.Contains(page) {
					page += span // it begins in the leaf before
				}
				if !x.placed() || !p.Contains(page) {
					continue
				}
				if k == 0 {
					held++
					if s.page == 0 {
						s.page = page
					}
				}
				if x.state != Active {
					continue
				}
				if s.active[k]++; layouts[k].agrees(w, page, &x) {
					s.agree[k]++
					most = max(most, s.agree[k])
				}
			}
			if seen >= 4 && held == 0 {
				return false
			}
		}
		return seen < enough || most == 0
	})
	if seen == 0 || 2*held <= seen {
		return sample{}
	}
	s.found = true
	return s
}

// leaves lists the leaves of a root, and reports whether most pointers on the way lead to structs that agree.
func (m *memory) leaves(r *root) bool {
	w := rootWalk{m: m, r: r, had: map[addr.Run]bool{}}
	w.node(r.at, 0, 0)
	r.layout = w.layout()
	return w.good > w.bad
}

// A rootWalk goes through a map.
type rootWalk struct {
	m         *memory
	r         *root
	had       map[addr.Run]bool
	good, bad int
	votes
}

// node goes through the node of a level, which has the addresses from base on.
func (w *rootWalk) node(at addr.Run, level int, base addr.Run) {
	buf := make([]byte, 4*pageSize)
	w.m.pieces(at.To(at+addr.Run(w.r.bytes(level))), buf, func(a addr.Run, b []byte) bool {
		for i := 0; i+8 <= len(b) && w.bad <= mostBad; i += 8 {
			v := addr.Run(binary.LittleEndian.Uint64(b[i:]))
			if v == 0 {
				continue
			}
			w.child(v, level+1, base+(a+addr.Run(i)-at)/8*w.r.span(level))
		}
		return w.bad <= mostBad
	})
}

// child goes to a node of a level, or a leaf.
func (w *rootWalk) child(at addr.Run, level int, base addr.Run) {
	switch {
	case at%64 != 0 || base >= maxAddress || !w.m.data(at) || w.had[at]:
		w.bad++
		return
	case level < len(w.r.levels)-1:
		w.had[at] = true
		w.node(at, level, base)
		return
	}
	s := w.m.sample(w.r.geometry, at)
	switch {
	case s.found && s.page&^(w.r.span(level-1)-1) == base:
		w.good++
		for k := range layouts {
			w.active[k] += s.active[k]
			w.agree[k] += s.agree[k]
		}
	case !w.m.empty(w.r.geometry, at):
		w.bad++
		return
	}
	w.had[at] = true
	w.r.leaves = append(w.r.leaves, leaf{at, base})
}

// empty reports whether a leaf has no extents, or none any more.
func (m *memory) empty(g *geometry, at addr.Run) bool {
	none := true
	m.pieces(at.To(at+addr.Run(g.bytes(len(g.levels)-1))), m.part[:], func(_ addr.Run, b []byte) bool {
		for i := 0; i+int(g.slot) <= len(b) && none; i += int(g.slot) {
			none = g.decode(b[i:]).empty()
		}
		return none
	})
	return none
}

// edata reads the struct of an extent.
func (m *memory) edata(l *layout, at addr.Run) edata {
	var b [edataSize]byte
	m.Steps++
	if off := uint64(at) % pageSize; off+edataSize <= pageSize {
		return l.decode(at, m.Page(at - addr.Run(off))[off:])
	}
	m.Read(b[:], at)
	return l.decode(at, b[:])
}
