package memory

import (
	"cmp"
	"encoding/binary"
	"maps"
	"slices"
	"sort"

	"hdb/heap/regions"
	"hdb/internal/addr"
)

// An owned is memory that an allocator has which is not walked, ascending.
type owned []regions.Range

// An owner is an allocator whose blocks are not known without a recording.
type owner struct {
	name     string // "": there is none
	mappings owned  // the mappings that it has in addition to what it got by brk, as far as they are recognized; they do not touch
	own      owned  // of these, what has no blocks
	// cut is whether some of the memory that may be the allocator's was not looked at: there is too much of it, or it could not be read.
	cut bool
}

// owner is the image's, whose memory is looked for once.
func (m *Image) owner() *owner {
	if m.Walkable() == nil {
		return &owner{}
	}
	if m.owned == nil {
		m.owned = m.recognized()
	}
	return m.owned
}

func (m *Image) recognized() *owner {
	r := recognizer{Image: m, left: ownedRead, single: ownedSingle}
	var has, own owned
	name := m.src.Other
	switch name {
	case "":
		name = "unknown allocator"
	case "musl":
		has = r.muslGroups()
	case "mimalloc":
		has, own = r.mimallocSegments()
	}
	return &owner{name, has.merged(), own.merged(), r.cut}
}

// merged is o in order, with ranges that overlap or touch made one.
func (o owned) merged() owned {
	slices.SortFunc(o, func(a, b regions.Range) int { return cmp.Compare(a.Start, b.Start) })
	out := o[:0]
	for _, r := range o {
		if n := len(out); n > 0 && r.Start <= out[n-1].End {
			out[n-1].End = max(out[n-1].End, r.End)
		} else {
			out = append(out, r)
		}
	}
	return out
}

// A recognizer looks for the memory of an allocator.
type recognizer struct {
	*Image
	left   int  // bytes that may still be read to find structs
	single int  // groups or segments that may still be looked at by themselves
	cut    bool // something was not looked at
}

// claimOwned has memory that was recognized be the allocator's.
func (m *Image) claimOwned(src *regions.Source) {
	o := m.owner()
	for _, r := range o.mappings {
		src.Owned = append(src.Owned, regions.Range{Start: r.Start, End: r.End, Label: "memory of " + o.name})
	}
}

// words reads n words at an address; none if the process does not have the page that they are in.
func (m *Image) words(at addr.Run, n int) (w []uint64, err error) {
	if pages := m.src.Space.Pages; pages != nil {
		has := false
		if err := pages(at, at+addr.Run(8*n), func(regions.PageRun) { has = true }); !has {
			return nil, err
		}
	}
	b := make([]byte, 8*n)
	if _, err := m.src.Memory.ReadAt(b, int64(at)); err != nil {
		return nil, err
	}
	for i := range n {
		w = append(w, binary.LittleEndian.Uint64(b[8*i:]))
	}
	return w, nil
}

// words is Image.words of a group or segment: nil if they were not read.
func (m *recognizer) words(at addr.Run, n int) []uint64 {
	if m.single == 0 {
		m.cut = true
		return nil
	}
	m.single--
	w, err := m.Image.words(at, n)
	m.cut = m.cut || err != nil
	return w
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

// mimallocSegments are the segments of mimalloc 2. The cookie of each is the same word, xored with where it lies. The
// part of a segment that is not committed has no access, and is a mapping of its own.
// What describes a segment are its first slices.
func (m *recognizer) mimallocSegments() (all, own owned) {
	byKey := map[uint64]owned{}
	infos := map[addr.Run]addr.Run{}
	end := addr.Run(0) // of the mappings without a gap
	for _, x := range m.anonymous() {
		if x.Path != "" {
			continue // the heap of brk
		}
		if x.Start >= end {
			end = m.mappedTo(x.Start)
		}
		for at := (x.Start + mimallocAlign - 1) &^ (mimallocAlign - 1); at < x.End; at += mimallocAlign {
			w := m.words(at+mimallocHeader, 4)
			if w == nil {
				continue
			}
			used, key, slices, info := w[0], w[1]^uint64(at), w[2], w[3]
			if key == 0 || info == 0 || info >= slices || used > slices || slices > uint64(end-at)/mimallocSlice {
				continue
			}
			infos[at] = at + addr.Run(info*mimallocSlice)
			byKey[key] = append(byKey[key], regions.Range{Start: at, End: at + addr.Run(slices*mimallocSlice)})
		}
	}
	for _, key := range slices.Sorted(maps.Keys(byKey)) { // of as many segments, the same ones each time
		if segments := byKey[key]; len(segments) > len(all) {
			all = segments
		}
	}
	for _, s := range all {
		own = append(own, regions.Range{Start: s.Start, End: infos[s.Start]})
	}
	return all, own
}

// mappedTo is the end of the mappings without a gap, of no file, from an address on that is mapped.
func (m *Image) mappedTo(a addr.Run) addr.Run {
	list := m.src.Space.Mappings // ascending
	for i := sort.Search(len(list), func(i int) bool { return list[i].End > a }); i < len(list) && list[i].Start <= a && list[i].Path == ""; i++ {
		a = list[i].End
	}
	return a
}

// musl's mallocng has pages of structs meta (src/malloc/mallocng/meta.h): a page begins with a secret word, a link and how many there are.
const (
	muslMetaSize  = 40
	muslMetaFirst = 24
	muslMetas     = (muslPage - muslMetaFirst) / muslMetaSize
	muslPage      = 4096
)

// Bounds of what is read to recognize an allocator's memory. What lies beyond is not recognized.
const (
	ownedRead   = 256 << 20 // bytes of pages that may have structs
	ownedBatch  = 1 << 20   // bytes at once
	ownedSingle = 1 << 16   // groups or segments looked at by themselves
)

// resident calls do for the pages of a mapping that the process has, some at a time, as long as bytes are left to read. Where it
// is not known which these are, they are all.
func (m *recognizer) resident(x regions.Mapping, do func(at addr.Run, pages []byte)) {
	b := make([]byte, min(int(x.End-x.Start), ownedBatch))
	read := func(r regions.PageRun) {
		for at, end := max(r.Start, x.Start), min(r.End, x.End); at < end; {
			n := min(int(end-at), len(b), m.left)
			if n < muslPage {
				m.cut = true
				return
			}
			got, err := m.src.Memory.ReadAt(b[:n], int64(at))
			do(at, b[:got])
			if err != nil {
				n = got&^(muslPage-1) + muslPage // the page that cannot be read is left out
				m.cut = true
			}
			m.left -= n
			at += addr.Run(n)
		}
	}
	if pages := m.src.Space.Pages; pages == nil {
		read(regions.PageRun{Start: x.Start, End: x.End})
	} else if err := pages(x.Start, x.End, read); err != nil {
		m.cut = true
	}
}

// muslGroups are the mappings of groups of mallocng's slots: a meta leads to its group, whose first word leads back.
func (m *recognizer) muslGroups() (all owned) {
	mappings := m.anonymous() // ascending
	// mapped reports whether pages from an address on are in one mapping.
	mapped := func(from addr.Run, pages uint64) bool {
		i := sort.Search(len(mappings), func(i int) bool { return mappings[i].End > from })
		return i < len(mappings) && mappings[i].Start <= from && pages <= uint64(mappings[i].End-from)/muslPage
	}
	for _, x := range mappings {
		if x.Path != "[heap]" && x.End-x.Start > 1<<20 {
			continue // areas of metas are small
		}
		m.resident(x, func(at addr.Run, pages []byte) {
			for ; len(pages) >= muslPage; at, pages = at+muslPage, pages[muslPage:] {
				word := func(i int) uint64 { return binary.LittleEndian.Uint64(pages[i:]) }
				if word(0) == 0 || uint32(word(16)) != muslMetas {
					continue
				}
				for i := muslMetaFirst; i+muslMetaSize <= muslPage; i += muslMetaSize {
					mem, n := addr.Run(word(i+16)), word(i+32)>>12
					if n == 0 || mem == 0 || mem%muslPage != 0 || !mapped(mem, n) {
						continue
					}
					if back := m.words(mem, 1); back != nil && back[0] == uint64(at)+uint64(i) {
						all = append(all, regions.Range{Start: mem, End: mem + addr.Run(n*muslPage)})
					}
				}
			}
		})
	}
	return all
}
