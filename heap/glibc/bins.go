package glibc

import (
	"cmp"
	"math"
	"slices"

	"hdb/internal/addr"
)

// A BinKind is what kind of list free chunks are kept in.
type BinKind uint8

const (
	BinFast     BinKind = iota // LIFO of one size, not merged
	BinUnsorted                // those that were freed last
	BinSmall                   // of one size
	BinLarge                   // of a range of sizes
	BinTCache                  // of one size, of one thread
)

var binNames = [...]string{"fast", "unsorted", "small", "large", "tcache"}

func (k BinKind) String() string {
	if int(k) < len(binNames) {
		return binNames[k]
	}
	return "unknown"
}

// A Bin is a list of free chunks that is not empty.
type Bin struct {
	Kind  BinKind
	Index int // glibc's: 1 is the unsorted bin; fastbins and those of tcaches count from 0
	// Least and Most are the sizes of chunks, headers included, that it is for; 0 of the unsorted one.
	Least, Most uint64
	Count       uint64
	Bytes       uint64 // of the chunks, headers included
	Arena       int    // whose it is; -1 of a tcache
	TID         int    // whose tcache it is
}

// largeBins are the ranges of sizes in which large bins are equally wide (malloc.c,
// largebin_index_64): from a size on, bin base + size>>shift.
var largeBins = [...]struct {
	from  uint64
	shift uint
	base  int
}{{1024, 6, 48}, {3136, 9, 91}, {10752, 12, 110}, {45056, 15, 119}, {163840, 18, 124}}

// binOf is the bin that a chunk of a size belongs to.
func binOf(size uint64) int {
	if size < largeBins[0].from {
		return int(size / granule)
	}
	k := len(largeBins) - 1
	for size < largeBins[k].from {
		k--
	}
	return int(min(uint64(largeBins[k].base)+size>>largeBins[k].shift, bins-1))
}

// binSizes are the sizes that a bin is for, most 0 if there is no limit.
func binSizes(bin int) (least, most uint64) {
	if bin < 64 {
		return uint64(bin) * granule, uint64(bin) * granule
	}
	if bin == bins-1 {
		return 2 << 18, 0
	}
	for k, row := range largeBins {
		low, high := row.from, uint64(math.MaxInt64)
		if k+1 < len(largeBins) {
			high = largeBins[k+1].from
		}
		if bin < row.base {
			continue
		}
		low = max(low, uint64(bin-row.base)<<row.shift)
		if high = min(high, uint64(bin-row.base+1)<<row.shift); low >= high {
			continue
		}
		if least == 0 {
			least = low
		}
		most = high - granule
	}
	return least, most
}

// listBins follows the bins of an arena through the free chunks that the walk has found. Those
// that no bin has, although all bins are whole, are damage, too.
func (h *Heap) listBins(a *Arena) {
	slices.SortFunc(a.frees, func(x, y freeChunk) int { return cmp.Compare(x.at, y.at) })
	whole := true
	for k := 1; k <= bins; k++ {
		b := Bin{Kind: BinSmall, Index: k, Arena: a.Index}
		b.Least, b.Most = binSizes(k)
		switch {
		case k == 1:
			b.Kind, b.Least, b.Most = BinUnsorted, 0, 0
		case k >= 64:
			b.Kind = BinLarge
		}
		whole = h.listBin(a, &b) && whole
		if b.Count > 0 {
			a.bins = append(a.bins, b)
		}
	}
	for i := range a.frees {
		if f := &a.frees[i]; f.doubted || !f.listed && whole {
			h.judge(a, f, whole)
		}
	}
}

// judge tells what is wrong with a chunk that is free by the flag of the next one, but not by the next one's
// prev_size, or in no bin although they are whole.
func (h *Heap) judge(a *Arena, f *freeChunk, whole bool) {
	next := f.at + addr.Run(f.size)
	d := Damage{Arena: a.Index, Chunk: next, Field: "prev_size", Expected: hex(f.size) + ", the size of the free chunk before it", Found: hex(h.mem.word(next)), Passing: a.Locked}
	p, i, ok := h.locate(f.at)
	if !ok || p.header(i) != f.at {
		return
	}
	switch {
	case f.listed:
		p.states[i] = Free
	case whole:
		if a.Locked {
			return // about to be put into one
		}
		p.states[i] = Used
		d.Field, d.Found = "size", hex(h.mem.word(next+8))
		d.Expected = "PREV_INUSE set: no bin has the chunk before it, " + f.at.String()
	default:
		d.Expected += ", or PREV_INUSE set"
	}
	h.tell(d)
}

// listBin follows one bin forwards, and tells whether it is whole.
func (h *Heap) listBin(a *Arena, b *Bin) bool {
	head := a.Addr + stateTop + addr.Run(16*(b.Index-1)) // as if it were a chunk
	first := addr.Run(a.state[stateBins/8+2*(b.Index-1)])
	last := addr.Run(a.state[stateBins/8+2*(b.Index-1)+1])
	bad := func(chunk addr.Run, field, expected string, found addr.Run) bool {
		if chunk == head {
			field = "malloc_state.bins[" + b.name() + "]." + field
			chunk = a.Addr
		}
		h.tell(Damage{Arena: a.Index, Chunk: chunk, Field: field, Expected: expected, Found: found.String(), Passing: a.Locked})
		return false
	}
	before := head
	for p := first; p != head; {
		i, ok := slices.BinarySearchFunc(a.frees, p, func(f freeChunk, p addr.Run) int { return cmp.Compare(f.at, p) })
		if !ok {
			return bad(before, "fd", "a free chunk of the arena, or the "+b.name()+" bin's head "+head.String(), p)
		}
		f := &a.frees[i]
		if f.listed {
			return bad(before, "fd", "a chunk that is in no bin yet", p)
		}
		if f.bk != before {
			return bad(p, "bk", before.String()+", whose fd leads here", f.bk)
		}
		if b.Index > 1 && binOf(f.size) != b.Index {
			bad(p, "size", b.sizes(), addr.Run(f.size))
		}
		f.listed = true
		b.Count++
		b.Bytes += f.size
		before, p = p, f.fd
	}
	if last != before {
		return bad(head, "bk", before.String()+", the last chunk", last)
	}
	return true
}

func (b *Bin) name() string {
	if b.Kind == BinUnsorted {
		return b.Kind.String()
	}
	return b.Kind.String() + " " + itoa(b.Index)
}

// sizes says what sizes belong into the bin.
func (b *Bin) sizes() string {
	if b.Least == b.Most {
		return hex(b.Least) + ", the size of its bin"
	}
	if b.Most == 0 {
		return "at least " + hex(b.Least) + ", the sizes of its bin"
	}
	return hex(b.Least) + " to " + hex(b.Most) + ", the sizes of its bin"
}

// links knows how the single links of fastbins and tcaches are kept: from 2.32 on xored with where
// they stand (safe-linking).
type links struct{ plain, mangled int }

func demangle(word uint64, at addr.Run) addr.Run { return addr.Run(word ^ uint64(at)>>12) }

// saw takes the link of a chunk at the end of a list or in one into account.
func (l *links) saw(h *Heap, word uint64, at addr.Run) {
	target := demangle(word, at)
	switch {
	case word == 0: // the end of a plain list
		l.plain++
	case target == 0:
		l.mangled++
	case target%granule == 0 && h.is(target):
		l.mangled++
	case word%granule == 0 && h.is(addr.Run(word)):
		l.plain++
	}
}

func (l *links) next(word uint64, at addr.Run) addr.Run {
	if l.plain > l.mangled {
		return addr.Run(word)
	}
	return demangle(word, at)
}

// found is what stands in a link, and where it leads.
func (l *links) found(h *Heap, at, target addr.Run, inChunk bool) string {
	if word := h.mem.word(at); inChunk && l.plain <= l.mangled {
		return hex(word) + ", which leads to " + target.String()
	}
	return target.String()
}

// is tells whether a is a chunk's header or its user's memory.
func (h *Heap) is(a addr.Run) bool {
	p, i, ok := h.locate(a)
	return ok && (p.header(i) == a || p.header(i)+header == a)
}

// listFast follows the fastbins of an arena.
func (h *Heap) listFast(a *Arena) {
	l := &h.links
	for k := range fastbins {
		b := Bin{Kind: BinFast, Index: k, Least: uint64(k+2) * 16, Most: uint64(k+2) * 16, Arena: a.Index}
		from, field := a.Addr, "malloc_state.fastbinsY["+itoa(k)+"]"
		for p := addr.Run(a.state[stateFastbins/8+k]); p != 0; {
			if why := h.cache(p, FastBin, b.Least); why != "" {
				h.tell(Damage{Arena: a.Index, Chunk: from, Field: field, Expected: why, Found: l.found(h, from+header, p, from != a.Addr), Passing: a.Locked})
				break
			}
			b.Count++
			b.Bytes += b.Least
			from, field = p, "fd"
			p = l.next(h.mem.word(p+header), p+header)
		}
		if b.Count > 0 {
			a.bins = append(a.bins, b)
		}
	}
}

// cache marks the chunk with its header at p as kept in a list of chunks of one size. If it cannot
// be, the result says what would be right.
func (h *Heap) cache(p addr.Run, s State, size uint64) string {
	x, i, ok := h.locate(p)
	switch {
	case p%granule != 0 || !ok || x.header(i) != p:
		return "a freed chunk of size " + hex(size) + " or the end of the list"
	case x.states[i] == s:
		return "a chunk that is in no list yet"
	case x.states[i] != Used || x.arena < 0:
		return "a freed chunk of size " + hex(size) + ", not one that is " + x.states[i].String()
	case x.size(i) != size:
		return "a freed chunk of size " + hex(size) + ", not " + hex(x.size(i))
	}
	x.states[i] = s
	return ""
}
