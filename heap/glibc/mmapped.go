package glibc

import (
	"cmp"
	"encoding/binary"
	"slices"

	"hdb/internal/addr"
)

// mmappedFinder looks for chunks that are mappings of their own. The kernel merges mappings, so
// one that it tells of may have several, beside memory of the program's own.
type mmappedFinder struct {
	h     *Heap
	bound bound
	taken []Range // that cannot be such chunks, ascending: heaps, and chunks found
	found []*piece
	bytes uint64 // of the mappings of found
}

// mmapped finds the mmapped chunks. mp_ says how many there are: most are found where a mapping
// begins or behind another one; only if some are missing, each page is looked at.
func (h *Heap) mmapped() []*piece {
	if h.params.counted && h.params.mmaps == 0 {
		return nil
	}
	f := mmappedFinder{h: h, bound: h.mem.search()}
	for _, a := range h.arenas {
		f.taken = append(f.taken, a.Heaps...)
	}
	for _, s := range h.pieces {
		f.taken = append(f.taken, s.Range)
	}
	free := without(h.mem.anonymous(), f.taken)
	for _, r := range free {
		for at := r.Start; at < r.End && !f.done(); {
			n := f.at(r, at)
			if n == 0 {
				break
			}
			at += addr.Run(n)
		}
	}
	if f.all() {
		return f.found
	}
	f.taken = f.taken[:0]
	for _, p := range f.found {
		f.taken = append(f.taken, Range{p.Start - addr.Run(p.lead), p.End})
	}
	slices.SortFunc(f.taken, func(a, b Range) int { return cmp.Compare(a.Start, b.Start) })
	for _, r := range without(free, f.taken) {
		f.pages(r)
	}
	if f.bound.reached() {
		h.giveUp(-1, h.params.start)
	}
	return f.found
}

// all tells whether as many were found as mp_ says.
func (f *mmappedFinder) all() bool {
	p := f.h.params
	return p.counted && uint64(len(f.found)) >= p.mmaps
}

func (f *mmappedFinder) done() bool { return f.all() || f.bound.reached() }

// pages looks at each page of a range.
func (f *mmappedFinder) pages(r Range) {
	buf := f.h.buf
	for _, part := range f.h.mem.present(r) {
		for at := part.Start; at < part.End && !f.done(); {
			n := min(uint64(len(buf)), uint64(part.End-at))
			f.h.mem.steps += n / inOrderStep
			got, _ := f.h.src.Memory.ReadAt(buf[:n], int64(at))
			b := buf[:max(0, min(got, int(n)))&^(pageSize-1)]
			step := addr.Run(len(b)) // behind it is a page that cannot be read
			for o := 0; o < len(b); o += pageSize {
				if binary.LittleEndian.Uint64(b[o+8:])&flagBits != isMmapped {
					continue
				}
				if size := f.at(r, at+addr.Run(o)); size > 0 {
					step = addr.Run(o) + addr.Run(size)
					break
				}
			}
			at += max(step, pageSize)
		}
	}
}

// at takes the chunk whose mapping begins at a page, and returns how many bytes the mapping has. An
// aligned chunk begins further in, and says how far; the header at the start is then left from before.
func (f *mmappedFinder) at(r Range, at addr.Run) uint64 {
	mem := f.h.mem
	if at%pageSize != 0 {
		return 0
	}
	room := uint64(r.End - at)
	first := mem.word(at + 8)
	if !mem.layout.mmappedHeader(0, mem.word(at), first, room) {
		return 0
	}
	lead, word := uint64(0), first
	for align := uint64(32); align < room && align <= 1<<40; align *= 2 { // memalign's rule
		user := (uint64(at) + header + align - 1) &^ (align - 1)
		if user-header-uint64(at) < leastChunk {
			user += align
		}
		l := user - header - uint64(at)
		if l+leastChunk > first&^flagBits || l == lead {
			continue
		}
		if here := mem.word(at + addr.Run(l) + 8); mem.layout.mmappedHeader(l, mem.word(at+addr.Run(l)), here, room) && (here&^flagBits)+l <= first&^flagBits {
			lead, word = l, here
			break
		}
	}
	start := at + addr.Run(lead)
	tail := mem.layout.mmappedTail
	p := &piece{Range: Range{start, start + addr.Run(word&^flagBits+tail)}, lead: lead, tail: tail, arena: -1}
	p.add(start, Mmapped)
	f.found = append(f.found, p)
	f.bytes += p.Len() + lead
	return p.Len() + lead
}

// mmappedHeader tells whether the two words of a header may be those of a mmapped chunk, lead bytes
// into its mapping, which has room bytes at most.
func (l *layout) mmappedHeader(lead, prev, word, room uint64) bool {
	size := word &^ flagBits
	if l.mmappedTail > 0 {
		prev &^= 1 // huge pages
	}
	if word&15 != isMmapped || prev != lead || size < leastChunk || size > room {
		return false
	}
	size += l.mmappedTail
	return (size+lead)%pageSize == 0 && size <= room && lead <= room-size
}

// without are the parts of ranges that others do not cover.
func without(ranges, others []Range) []Range {
	others = slices.Clone(others)
	slices.SortFunc(others, func(a, b Range) int { return cmp.Compare(a.Start, b.Start) })
	var left []Range
	i := 0
	for _, r := range ranges {
		for i > 0 && others[i-1].End > r.Start {
			i--
		}
		for ; i < len(others) && others[i].Start < r.End; i++ {
			if others[i].End <= r.Start {
				continue
			}
			if others[i].Start > r.Start {
				left = append(left, Range{r.Start, others[i].Start})
			}
			r.Start = min(r.End, others[i].End)
		}
		if r.Start < r.End {
			left = append(left, r)
		}
	}
	return left
}
