package glibc

import (
	"cmp"
	"slices"

	"hdb/internal/addr"
)

// A library is one copy of the C library in the process, with arenas of its own. There are several after dlmopen(3),
// with the auditors of LD_AUDIT, and if a static executable uses dlopen(3). All are of the release of the program's own.
type library struct {
	program bool // it is known to be the one that the program itself calls
	parts   []section
	params  parameters
	arenas  []Arena // until all libraries are found
	caches  [2]int  // its tcaches in Heap.tcaches, [first, end)
}

// findLibraries finds the libraries whose malloc was used, with their arenas.
func (h *Heap) findLibraries() {
	all := h.mem.sections()
	program := programFirst(all, h.src.Program)
	for i, parts := range all {
		before := h.mem.layout
		l := library{parts: parts, program: program && i == 0}
		if main := h.mem.mainArena(parts); main != 0 {
			l.arenas = h.mem.arenas(main)
			l.params = h.mem.parameters(parts, &l.arenas[0])
		}
		known := len(h.libs) > 0
		other := known && !l.unused() && h.mem.layout.stateLayout != before.stateLayout
		h.foreign = h.foreign || other
		if l.unused() || other {
			h.mem.layout = before
			continue
		}
		h.libs = append(h.libs, l)
	}
	// Only the program's own library may use brk. Where that has failed and nothing else tells, it is the one that was mapped first.
	slices.SortStableFunc(h.libs, func(a, b library) int {
		x, y := &a.arenas[0], &b.arenas[0]
		switch {
		case a.program:
			return -1
		case b.program:
			return 1
		case x.Contiguous() && !y.Contiguous():
			return -1
		case y.Contiguous() && !x.Contiguous():
			return 1
		}
		return cmp.Or(cmp.Compare(h.mem.order(x.Addr), h.mem.order(y.Addr)), cmp.Compare(y.Addr, x.Addr))
	})
	for i := range h.libs {
		l := &h.libs[i]
		for _, a := range l.arenas {
			a.Index, a.Library = len(h.arenas), i
			h.arenas = append(h.arenas, a)
		}
		l.arenas = nil
		if i == 0 {
			h.params = l.params
			continue
		}
		h.params.counted = h.params.counted && l.params.counted
		h.params.mmaps += l.params.mmaps
		h.params.mmapped += l.params.mmapped
	}
}

// programFirst moves the data of the program's own library to the front, if it is known which that is. The data of a module
// is behind its code.
func programFirst(libraries [][]section, own addr.Run) (known bool) {
	i := slices.IndexFunc(libraries, func(parts []section) bool { return parts[len(parts)-1].End > own })
	if own == 0 || i < 0 {
		return false
	}
	program := libraries[i]
	copy(libraries[1:i+1], libraries[:i])
	libraries[0] = program
	return true
}

// unused reports whether the library has no arena, or only that which the C library of 2.43 makes when the program
// starts, and that has served nothing.
func (l *library) unused() bool {
	if len(l.arenas) == 0 {
		return true
	}
	a := &l.arenas[0]
	return len(l.arenas) == 1 && a.Top == 0 && a.MaxSystem == 0 && a.SystemMem == 0 && l.params.counted && l.params.mmaps == 0
}

// tcaches are those of the library.
func (l *library) tcaches(h *Heap) []ThreadCache { return h.tcaches[l.caches[0]:l.caches[1]] }

// order is the place of the module with main_arena among those that may have malloc.
func (m *memory) order(main addr.Run) int {
	if i, ok := m.Mapping(main); ok {
		if n := slices.Index(m.libcs, m.Mappings[i].Path); n >= 0 {
			return n
		}
	}
	return len(m.libcs)
}
