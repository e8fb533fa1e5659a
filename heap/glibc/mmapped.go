package glibc

import (
	"cmp"
	"encoding/binary"
	"math"
	"slices"

	"hdb/internal/addr"
)

// mmappedFinder looks for chunks that are mappings of their own. The kernel merges mappings, so one
// that it describes may have several, and memory of the program's own.
type mmappedFinder struct {
	h     *Heap
	bound bound
	moved bool         // mremap may have moved aligned chunks: memalign's rule does not find their leads
	taken []addr.Range // that cannot be such chunks, ascending: heaps, and chunks found
	found []*piece
	bytes uint64 // of the mappings of found
}

// mmapped finds the mmapped chunks. Most begin where a mapping does or behind another one. If these are not as many as mp_
// counts, or have other bytes, each page is looked at. The count alone ends no search: a thread inside malloc or free
// has mapped a chunk that is not counted yet, or counts one no more that is still mapped.
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
	free := without(h.mem.mappable(), f.taken)
	f.starts(free)
	if f.whole() || f.dropLookalike() {
		return f.found
	}
	f.moved, f.found, f.bytes = true, nil, 0
	f.starts(free)
	f.taken = f.taken[:0]
	for _, p := range f.found {
		f.taken = append(f.taken, (p.Start - addr.Run(p.lead)).To(p.End))
	}
	slices.SortFunc(f.taken, func(a, b addr.Range) int { return cmp.Compare(a.Start, b.Start) })
	for _, r := range without(free, f.taken) {
		f.pages(r)
	}
	if f.bound.reached() {
		h.damage = append(h.damage, unsearched(-1, h.params.start))
	}
	f.dropLookalike()
	return f.found
}

// dropLookalike drops the program's own mapping that looks like a chunk: the one without which the rest is what mp_ says. It
// reports whether there is one, and no other like it.
func (f *mmappedFinder) dropLookalike() bool {
	p := &f.h.params
	if !p.counted || uint64(len(f.found)) != p.mmaps+1 || f.bytes <= p.mmapped {
		return false
	}
	excess := func(x *piece) bool { return x.Len()+x.lead == f.bytes-p.mmapped }
	i := slices.IndexFunc(f.found, excess)
	if i < 0 || slices.ContainsFunc(f.found[i+1:], excess) {
		return false
	}
	f.found, f.bytes = slices.Delete(f.found, i, i+1), p.mmapped
	return true
}

// whole reports whether what was found is what mp_ says.
func (f *mmappedFinder) whole() bool {
	p := &f.h.params
	return p.counted && uint64(len(f.found)) == p.mmaps && f.bytes == p.mmapped
}

// starts looks where ranges begin, and behind what is found there.
func (f *mmappedFinder) starts(ranges []addr.Range) {
	for _, r := range ranges {
		for at := r.Start; at < r.End && !f.bound.reached(); {
			n := f.at(r, at)
			if n == 0 {
				break
			}
			at += addr.Run(n)
		}
	}
}

// pages looks at each page of a range.
func (f *mmappedFinder) pages(r addr.Range) {
	buf := f.h.buf
	for part := range f.h.mem.Present(r) {
		for at := part.Start; at < part.End && !f.whole() && !f.bound.reached(); {
			n := min(uint64(len(buf)), uint64(part.End-at))
			f.h.mem.Steps += n / inOrderStep
			b := buf[:f.h.mem.ReadSome(buf[:n], at)&^(pageSize-1)]
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

// at takes the chunk whose mapping begins at a page, and returns how many bytes the mapping has; 0 if none does.
func (f *mmappedFinder) at(r addr.Range, at addr.Run) uint64 {
	lead, ok := f.lead(r, at)
	if !ok {
		return 0
	}
	start := at + addr.Run(lead)
	tail := f.h.mem.layout.mmappedTail
	p := &piece{Range: start.To(start + addr.Run(f.h.mem.Word(start+8)&^flagBits+tail)), lead: lead, tail: tail, arena: -1}
	p.add(start, Mmapped)
	f.found = append(f.found, p)
	f.bytes += p.Len() + lead
	return p.Len() + lead
}

// lead is how far into its mapping, which begins at a page, a chunk begins. If that is not 0, the header at the start is from
// before memalign aligned the chunk: since then, mremap may have made the mapping larger or smaller, and moved it.
func (f *mmappedFinder) lead(r addr.Range, at addr.Run) (lead uint64, ok bool) {
	if at%pageSize != 0 || !f.header(at, 0, math.MaxInt64) {
		return 0, false
	}
	room := uint64(r.End - at)
	first := f.h.mem.Word(at+8) &^ flagBits
	begins := func(lead uint64) bool {
		return lead+leastChunk <= min(first, room) && f.header(at, lead, room)
	}
	for align := uint64(32); align/2 < room && align <= 1<<40; align *= 2 { // memalign's rule; older releases leave no lead of 16 bytes
		if lead := -(uint64(at) + header) & (align - 1); begins(lead) {
			return lead, true
		}
	}
	ok = f.header(at, 0, room)
	end := first + f.h.mem.layout.mmappedTail
	if !f.moved || ok && (end == room || f.header(at+addr.Run(end), 0, math.MaxInt64)) {
		return 0, ok
	}
	for lead := uint64(2*pageSize - header); lead < min(first, room) && !f.bound.reached(); lead += pageSize {
		if begins(lead) {
			return lead, true
		}
	}
	return 0, ok
}

// header reports whether the header of a mmapped chunk may be in a mapping at a page, lead bytes into it.
func (f *mmappedFinder) header(at addr.Run, lead, room uint64) bool {
	h := at + addr.Run(lead)
	return f.h.mem.layout.mmappedHeader(lead, f.h.mem.Word(h), f.h.mem.Word(h+8), room)
}

// mmappedHeader reports whether the two words of a header may be those of a mmapped chunk, lead
// bytes into its mapping, which has room bytes at most.
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
func without(ranges, others []addr.Range) []addr.Range {
	others = slices.Clone(others)
	slices.SortFunc(others, func(a, b addr.Range) int { return cmp.Compare(a.Start, b.Start) })
	var left []addr.Range
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
				left = append(left, r.Start.To(others[i].Start))
			}
			r.Start = min(r.End, others[i].End)
		}
		if r.Start < r.End {
			left = append(left, r)
		}
	}
	return left
}
