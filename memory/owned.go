package memory

import (
	"cmp"
	"encoding/binary"
	"slices"

	"hdb/heap/regions"
	"hdb/internal/addr"
)

// An owned is memory that an allocator has which is not walked, ascending.
type owned []regions.Range

func (o owned) Len() int                          { return len(o) }
func (o owned) Block(i int) (start, end addr.Run) { return o[i].Start, o[i].End }

// owner is the name of the allocator whose blocks are not known without a recording, "" if they are, and the mappings that it has
// beside what it got by brk, as far as they are recognized.
func (m *Image) owner() (name string, has owned) {
	if m.Walkable() == nil {
		return "", nil
	}
	switch name = m.src.Other; name {
	case "":
		name = "unknown allocator"
	case "musl":
		has = m.muslGroups()
	case "mimalloc":
		has = m.mimallocSegments()
	}
	slices.SortFunc(has, func(a, b regions.Range) int { return cmp.Compare(a.Start, b.Start) })
	return name, has
}

// words reads n words at an address, if the process has the page that they lie in.
func (m *Image) words(at addr.Run, n int) (w []uint64, ok bool) {
	if pages := m.src.Space.Pages; pages != nil {
		if err := pages(at, at+addr.Run(8*n), func(regions.PageRun) { ok = true }); err != nil || !ok {
			return nil, false
		}
	}
	b := make([]byte, 8*n)
	if _, err := m.src.Memory.ReadAt(b, int64(at)); err != nil {
		return nil, false
	}
	for i := range n {
		w = append(w, binary.LittleEndian.Uint64(b[8*i:]))
	}
	return w, true
}

// anonymous are the mappings of no file that the program reads and writes, but for stacks.
func (m *Image) anonymous() (all []regions.Mapping) {
	for _, x := range m.src.Space.Mappings {
		if permits(x.Perm, 0, 'r') && permits(x.Perm, 1, 'w') && permits(x.Perm, 3, 'p') && (x.Path == "" || x.Path == "[heap]") {
			all = append(all, x)
		}
	}
	return all
}

// mimalloc 2 has segments, each aligned to 32 MiB and with a header: used, cookie, segment_slices, segment_info_slices
// (mimalloc-types.h, mi_segment_t).
const (
	mimallocAlign  = 32 << 20
	mimallocHeader = 208
	mimallocSlice  = 64 << 10
)

// mimallocSegments are the segments of mimalloc 2. The cookie of each is the same word, xored with where it lies.
func (m *Image) mimallocSegments() (all owned) {
	byKey := map[uint64]owned{}
	for _, x := range m.anonymous() {
		for at := (x.Start + mimallocAlign - 1) &^ (mimallocAlign - 1); at < x.End; at += mimallocAlign {
			w, ok := m.words(at+mimallocHeader, 4)
			if !ok {
				continue
			}
			used, key, slices, info := w[0], w[1]^uint64(at), w[2], w[3]
			if key == 0 || info == 0 || info >= slices || used > slices || slices > uint64(x.End-at)/mimallocSlice {
				continue
			}
			byKey[key] = append(byKey[key], regions.Range{Start: at, End: at + addr.Run(slices*mimallocSlice)})
		}
	}
	for _, segments := range byKey {
		if len(segments) > len(all) {
			all = segments
		}
	}
	return all
}

// musl's mallocng has pages of structs meta (src/malloc/mallocng/meta.h): a page begins with a secret word, a link and how many there are.
const (
	muslMetaSize  = 40
	muslMetaFirst = 24
	muslMetas     = (muslPage - muslMetaFirst) / muslMetaSize
	muslPage      = 4096
)

// mapped reports whether pages from an address on lie in one anonymous mapping.
func (m *Image) mapped(from addr.Run, pages uint64) bool {
	return slices.ContainsFunc(m.anonymous(), func(x regions.Mapping) bool {
		return x.Start <= from && from < x.End && pages <= uint64(x.End-from)/muslPage
	})
}

// muslGroups are the mappings of groups of mallocng's slots: a meta leads to its group, whose first word leads back.
func (m *Image) muslGroups() (all owned) {
	for _, x := range m.anonymous() {
		if x.Path != "[heap]" && x.End-x.Start > 1<<20 {
			continue // areas of metas are small
		}
		for at := x.Start; at < x.End; at += muslPage {
			w, ok := m.words(at, muslPage/8)
			if !ok || w[0] == 0 || uint32(w[2]) != muslMetas {
				continue
			}
			for i := range muslMetas {
				meta := w[(muslMetaFirst+muslMetaSize*i)/8:]
				mem, pages := addr.Run(meta[2]), meta[4]>>12
				if pages == 0 || mem == 0 || mem%muslPage != 0 || !m.mapped(mem, pages) {
					continue
				}
				if back, ok := m.words(mem, 1); ok && back[0] == uint64(at)+uint64(muslMetaFirst+muslMetaSize*i) {
					all = append(all, regions.Range{Start: mem, End: mem + addr.Run(pages*muslPage)})
				}
			}
		}
	}
	return all
}
