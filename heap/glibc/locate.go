package glibc

import (
	"cmp"
	"encoding/binary"
	"slices"
	"strings"

	"hdb/heap/resident"
	"hdb/internal/addr"
)

// Offsets of fields of struct malloc_state that no release moved.
const (
	stateMutex    = 0
	stateFlags    = 4
	stateFastbins = 0x10

	bins = 127 // of malloc_state.bins, which glibc numbers from 1, the unsorted one

	noncontiguous = 2 // of flags: the main arena does not only grow by brk
)

const (
	maxArenas   = 1 << 16
	maxHeaps    = 1 << 20
	heapMax     = 64 << 20  // HEAP_MAX_SIZE, without huge pages of glibc.malloc.hugetlb
	mostData    = 256 << 20 // of the module's data that is searched
	nearestHead = 0x100     // malloc_state is not further behind the start of its heap
)

// A section is a piece of the module's data, with what it holds.
type section struct {
	addr.Range
	data []byte
}

func (s section) word(i int) uint64 { return binary.LittleEndian.Uint64(s.data[8*i:]) }

// sections are what can be read of the data of each library: writable sections, with the anonymous memory behind (.bss),
// and read-only ones in which the linker put addresses (RELRO). They are behind the library's code.
func (m *memory) sections() (libraries [][]section) {
	left := uint64(mostData)
	var ranges []addr.Range
	end := func() {
		if parts := m.read(ranges, &left); len(parts) > 0 {
			libraries = append(libraries, parts)
		}
		ranges = nil
	}
	all, path := m.Mappings, ""
	for i, x := range all {
		if !slices.Contains(m.libcs, x.Path) {
			continue
		}
		if x.Executable || x.Path != path {
			end()
			path = x.Path
		}
		if !x.Readable || x.Executable || x.Shared {
			continue
		}
		r := x.Range
		if x.Writable && i+1 < len(all) && all[i+1].Start == r.End && all[i+1].Writable && anonymous(all[i+1]) {
			r.End = all[i+1].End
		}
		ranges = append(ranges, r)
	}
	end()
	return libraries
}

// read reads ranges of data, and no more than is left to read.
func (m *memory) read(ranges []addr.Range, left *uint64) (parts []section) {
	for _, r := range ranges {
		for p := range m.Present(r) {
			n := min(p.Len()&^7, *left)
			*left -= n
			s := section{p.Start.To(p.Start + addr.Run(n)), make([]byte, n)}
			clear(s.data[m.ReadSome(s.data, p.Start):])
			parts = append(parts, s)
		}
	}
	return parts
}

// anonymous describes a private mapping of no file. The kernel names some, glibc others (PR_SET_VMA_ANON_NAME).
func anonymous(x resident.Mapping) bool {
	return !x.Shared && (x.Path == "" || strings.HasPrefix(x.Path, "[anon") || strings.HasPrefix(x.Path, "/anon_hugepage"))
}

// anonymous are the mappings that malloc may have got by mmap.
func (m *memory) anonymous() (all []addr.Range) {
	for _, x := range m.Mappings {
		if x.Readable && x.Writable && !x.Executable && anonymous(x) {
			all = append(all, x.Range)
		}
	}
	return all
}

// mappable is where mmapped chunks may be: anonymous memory without a gap. A chunk may have several mappings, as the program may
// have advised the kernel about parts of it, or protected them (madvise(2), mprotect(2)).
func (m *memory) mappable() (all []addr.Range) {
	for _, x := range m.Mappings {
		switch last := len(all) - 1; {
		case x.Executable || !anonymous(x):
		case last >= 0 && all[last].End == x.Start:
			all[last].End = x.End
		case x.Readable && x.Writable:
			all = append(all, x.Range)
		}
	}
	return all
}

// mainArena finds the variable main_arena, and sets the layout: a malloc_state most of whose bins are empty, and so
// point to themselves, and whose list of arenas comes back to it. 0 if there is none.
func (m *memory) mainArena(parts []section) addr.Run {
	var best addr.Run
	var with layout
	most := 0
	for i := range layouts {
		if i > 0 && layouts[i].stateLayout == layouts[i-1].stateLayout {
			continue
		}
		m.layout = layouts[i]
		if at, empty := m.mainArenaBy(parts); empty > most {
			best, with, most = at, m.layout, empty
		}
	}
	m.layout = with
	return best
}

// mainArenaBy finds main_arena by the layout that is set, and how many of its bins are empty.
func (m *memory) mainArenaBy(parts []section) (best addr.Run, most int) {
	b := m.search()
	for _, s := range parts {
		if !m.writable(s.Start) {
			continue
		}
		n := len(s.data)/8 - int(m.layout.size/8)
		for i := 0; i <= n && !b.reached(); i++ {
			at := s.Start + addr.Run(8*i)
			next := addr.Run(s.word(i + int(m.layout.next/8)))
			if next != at && (next == 0 || next%16 != 0 || next%(1<<20) > nearestHead) {
				continue
			}
			if empty := m.layout.emptyBins(s, i, at); empty > most && m.comesBack(at, next, b) {
				best, most = at, empty
			}
		}
	}
	return best, most
}

// emptyBins counts the bins that point to themselves; it is 0 if one is nothing a bin can be.
func (l *stateLayout) emptyBins(s section, i int, at addr.Run) int {
	empty := 0
	for k := range bins {
		first := i + int(l.bins/8) + 2*k
		fd, bk := addr.Run(s.word(first)), addr.Run(s.word(first+1))
		if fd == 0 || bk == 0 {
			return 0
		}
		if self := at + l.top + addr.Run(16*k); fd == self && bk == self {
			empty++
		}
	}
	return empty
}

// comesBack reports whether the list of arenas leads back to the first.
func (m *memory) comesBack(first, next addr.Run, b bound) bool {
	for range maxArenas {
		if next == first {
			return true
		}
		if b.reached() || next%8 != 0 || !m.writable(next) {
			return false
		}
		next = m.Pointer(next + m.layout.next)
	}
	return false
}

// parameters are what is known of the variable mp_, a struct malloc_par.
type parameters struct {
	at            addr.Run // of its field sbrk_base; 0 if it was not found
	start         addr.Run // of the variable
	sbrkBase      addr.Run
	mmapped       uint64 // mmapped_mem: bytes of mmapped chunks
	mmaps         uint64 // n_mmaps: how many there are
	counted       bool   // mmaps is known
	mmapThreshold uint64
	hugePage      uint64 // thp_pagesize: units in which the top is freed, 0: pages
	tcacheCount   uint16 // tcache_count: how many chunks a list of a tcache may have
}

// parameters finds mp_: the word that mmapped_mem precedes is sbrk_base, from which system_mem
// bytes reach to the end of the top chunk; else by what the tunables of tcaches say.
func (m *memory) parameters(parts []section, a *Arena) parameters {
	end := addr.Run(0)
	if a.Top != 0 {
		end = a.Top + addr.Run(m.Word(a.Top+8)&^7)
	}
	var found parameters
	for _, s := range parts {
		if len(s.data) < 0x90 || !m.writable(s.Start) {
			continue
		}
		for i := 12 + m.layout.thpMode; i+4 < len(s.data)/8; i++ {
			v := addr.Run(s.word(i))
			grown := end != 0 && v != 0 && v+addr.Run(a.SystemMem) == end && m.writable(v)
			shaped := m.layout.shaped(s, i)
			if !grown && (!shaped || v != 0 && !m.writable(v)) {
				continue
			}
			p := m.layout.parametersAt(s, i)
			if grown && shaped {
				return p
			}
			if found.at == 0 || grown && found.sbrkBase+addr.Run(a.SystemMem) != end {
				found = p
			}
		}
	}
	return found
}

// shaped reports whether the tunables of tcaches are behind word i, with the values that they have by default.
func (l *layout) shaped(s section, i int) bool {
	for k := range layouts {
		if x := &layouts[k]; x.stateLayout == l.stateLayout && x.tunables == [3]uint64{s.word(i + 1), s.word(i + 2), s.word(i + 3)} {
			return true
		}
	}
	return false
}

// parametersAt reads the fields in front of sbrk_base. Their places differ: 2.35 has two words
// and an int more, 2.43 one word more than that (thp_mode). Which it is, the default of n_mmaps_max or arena_test tells.
func (l *stateLayout) parametersAt(s section, i int) parameters {
	p := parameters{at: s.Start + addr.Run(8*i), sbrkBase: addr.Run(s.word(i)), mmapped: s.word(i - 2), tcacheCount: uint16(s.word(i + 3))}
	ints := func(back int) [2]uint32 { // n_mmaps, n_mmaps_max
		b := s.data[8*i-back:]
		return [2]uint32{binary.LittleEndian.Uint32(b), binary.LittleEndian.Uint32(b[4:])}
	}
	first := 0 // words from the struct's start to sbrk_base
	newer, older := ints(36), ints(32)
	switch {
	case newer[1] == 1<<16 || s.word(i-12-l.thpMode+3) == 8:
		first, p.mmaps, p.counted = 12+l.thpMode, uint64(newer[0]), true
	case older[1] == 1<<16 || s.word(i-9+3) == 8:
		first, p.mmaps, p.counted = 9, uint64(older[0]), true
	default:
		p.start = p.at - 16
		return p
	}
	p.start = p.at - addr.Run(8*first)
	p.mmapThreshold = s.word(i - first + 2) // behind trim_threshold and top_pad
	if huge := s.word(i - first + 5 + l.thpMode); p.counted && first >= 12 && huge&(huge-1) == 0 && huge >= pageSize {
		p.hugePage = huge // behind arena_test, arena_max and thp_mode
	}
	return p
}

// arenas follows the list from main_arena.
func (m *memory) arenas(main addr.Run) []Arena {
	var all []Arena
	l := &m.layout
	seen := map[addr.Run]bool{}
	for at := main; !seen[at] && len(all) < maxArenas && m.writable(at); at = m.Pointer(at + l.next) {
		seen[at] = true
		w := m.words(at, int(l.size/8))
		a := Arena{Index: len(all), Addr: at, Main: at == main, Locked: uint32(w[0]) != 0, flags: uint32(w[0] >> 32),
			Attached: w[l.attached/8], SystemMem: w[l.system/8], MaxSystem: w[l.maxSystem/8], state: w, words: len(w)}
		if top := addr.Run(w[l.top/8]); top != at+l.top { // else it is initial_top
			a.Top = top
		}
		all = append(all, a)
	}
	return all
}

// heaps are those of an arena other than the main one, from the first to the one of its top
// chunk, and the size that they are aligned to. If a link between them is broken, those behind it and the first one.
func (m *memory) heaps(a *Arena) (all []addr.Range, size addr.Run, bad *Damage) {
	size = m.heapSize(a)
	if size == 0 {
		return nil, 1, &Damage{Arena: a.Index, Chunk: a.Top, Field: "malloc_state.top", Kind: TopPlace, Value: uint64(a.Top), Args: [3]uint64{uint64(a.Addr)}}
	}
	seen := map[addr.Run]bool{}
	for at := a.Top &^ (size - 1); at != 0 && bad == nil; {
		seen[at] = true
		r, prev, damage := m.heap(a, at, size)
		if damage != nil {
			bad = damage
			break
		}
		all = append(all, r)
		if prev%size != 0 || len(all) == maxHeaps || seen[prev] {
			bad = &Damage{Arena: a.Index, Chunk: at, Field: "heap_info.prev", Kind: HeapLink, Value: uint64(prev)}
		}
		at = prev
	}
	if first := a.Addr &^ (size - 1); bad != nil && !seen[first] {
		if r, _, damage := m.heap(a, first, size); damage == nil {
			all = append(all, r)
		}
	}
	slices.Reverse(all)
	return all, size, bad
}

// heap reads the heap_info at the start of a heap: ar_ptr, prev, size.
func (m *memory) heap(a *Arena, at, size addr.Run) (r addr.Range, prev addr.Run, bad *Damage) {
	w := m.words(at, 3)
	used := addr.Run(w[2])
	switch {
	case addr.Run(w[0]) != a.Addr:
		bad = &Damage{Arena: a.Index, Chunk: at, Field: "heap_info.ar_ptr", Kind: HeapArena, Value: w[0], Args: [3]uint64{uint64(a.Addr)}}
	case used > size || used < 0x40:
		bad = &Damage{Arena: a.Index, Chunk: at, Field: "heap_info.size", Kind: HeapSize, Value: w[2], Args: [3]uint64{uint64(size)}}
	}
	return at.To(at + used), addr.Run(w[1]), bad
}

// heapSize is what heaps are aligned to: 64 MiB, or four huge pages of glibc.malloc.hugetlb. A heap may be at a multiple of a
// larger size by chance, so the size must fit all heaps of the arena. If none does, links are damaged: the first that
// fits the top heap is taken.
func (m *memory) heapSize(a *Arena) (found addr.Run) {
	b := m.search()
	for _, size := range []addr.Run{heapMax, 8 << 20, 4 << 30, 32 << 20, 16 << 20, 128 << 20, 256 << 20, 512 << 20, 1 << 30, 2 << 30} {
		if at := a.Top &^ (size - 1); a.Top != 0 && m.writable(at) && m.Pointer(at) == a.Addr {
			if m.chained(a, at, size, b) {
				return size
			}
			found = cmp.Or(found, size)
		}
	}
	return found
}

// chained reports whether the top chunk is in the heap at an address, and links lead from it to the first one, through
// heaps of a size.
func (m *memory) chained(a *Arena, at, size addr.Run, b bound) bool {
	for i := range maxHeaps {
		r, prev, bad := m.heap(a, at, size)
		if bad != nil || at%size != 0 || b.reached() || i == 0 && !r.Contains(a.Top) {
			return false
		}
		if prev == 0 {
			return r.Contains(a.Addr)
		}
		at = prev
	}
	return false
}
