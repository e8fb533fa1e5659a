package glibc

import (
	"cmp"
	"fmt"
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
	d := Damage{Arena: a.Index, Chunk: next, Field: "prev_size", Kind: PrevSize, Value: h.mem.Word(next), Args: [3]uint64{f.size}, Passing: a.Locked}
	p, i, ok := h.locate(f.at)
	if !ok || p.header(i) != f.at {
		return
	}
	switch {
	case f.listed:
		*p.states.At(i) = Free
	case whole:
		if a.Locked {
			return // about to be put into one
		}
		*p.states.At(i) = Used
		d.Field, d.Kind, d.Value, d.Args[0] = "size", PrevInUse, h.mem.Word(next+8), uint64(f.at)
	default:
		d.Kind = PrevSizeOrFlag
	}
	h.report(d)
}

// listBin follows one bin forwards, and reports whether it is whole.
func (h *Heap) listBin(a *Arena, b *Bin) bool {
	l := &h.mem.layout
	head := a.Addr + l.top + addr.Run(16*(b.Index-1)) // as if it were a chunk
	first := addr.Run(a.state[int(l.bins/8)+2*(b.Index-1)])
	last := addr.Run(a.state[int(l.bins/8)+2*(b.Index-1)+1])
	bad := func(chunk addr.Run, field string, found addr.Run, kind DamageKind, args ...uint64) bool {
		if chunk == head {
			field = "malloc_state.bins[" + binName(b.Index) + "]." + field
			chunk = a.Addr
		}
		d := Damage{Arena: a.Index, Chunk: chunk, Field: field, Kind: kind, Value: uint64(found), Passing: a.Locked}
		copy(d.Args[:], args)
		h.report(d)
		return false
	}
	before := head
	for p := first; p != head; {
		i, ok := slices.BinarySearchFunc(a.frees, p, func(f freeChunk, p addr.Run) int { return cmp.Compare(f.at, p) })
		if !ok {
			return bad(before, "fd", p, BinLink, uint64(b.Index), uint64(head))
		}
		f := &a.frees[i]
		if f.listed {
			return bad(before, "fd", p, BinLoop)
		}
		if f.bk != before {
			return bad(p, "bk", f.bk, BinBack, uint64(before))
		}
		if b.Index > 1 && binOf(f.size) != b.Index {
			bad(p, "size", addr.Run(f.size), BinSize, uint64(b.Index))
		}
		f.listed = true
		b.Count++
		b.Bytes += f.size
		before, p = p, f.fd
	}
	if last != before {
		return bad(head, "bk", last, BinLast, uint64(before))
	}
	return true
}

// binName is the name of a bin of glibc's number.
func binName(bin int) string {
	switch {
	case bin == 1:
		return BinUnsorted.String()
	case bin < 64:
		return fmt.Sprintf("%v %d", BinSmall, bin)
	}
	return fmt.Sprintf("%v %d", BinLarge, bin)
}

// links knows how the single links of fastbins and tcaches are kept: from 2.32 on xored with their
// own address (safe-linking).
type links struct{ plain, mangled int }

func demangle(word uint64, at addr.Run) addr.Run { return addr.Run(word ^ uint64(at)>>12) }

// observe takes the link of a chunk at the end of a list or in one into account.
func (l *links) observe(h *Heap, word uint64, at addr.Run) {
	target := demangle(word, at)
	switch {
	case word == 0: // the end of a plain list
		l.plain++
	case target == 0:
		l.mangled++
	case target%granule == 0 && h.isChunk(target):
		l.mangled++
	case word%granule == 0 && h.isChunk(addr.Run(word)):
		l.plain++
	}
}

func (l *links) next(word uint64, at addr.Run) addr.Run {
	if l.plain > l.mangled {
		return addr.Run(word)
	}
	return demangle(word, at)
}

// found is what is in a link, and where it leads if that is not the same.
func (l *links) found(h *Heap, at, target addr.Run, inChunk bool) (word uint64, leads addr.Run) {
	if inChunk && l.plain <= l.mangled {
		return h.mem.Word(at), target
	}
	return uint64(target), 0
}

// isChunk reports whether a is a chunk's header or its user's memory.
func (h *Heap) isChunk(a addr.Run) bool {
	p, i, ok := h.locate(a)
	return ok && (p.header(i) == a || p.header(i)+header == a)
}

// listFast follows the fastbins of an arena.
func (h *Heap) listFast(a *Arena) {
	l := &h.links
	for k := range h.mem.layout.fastbins {
		b := Bin{Kind: BinFast, Index: k, Least: uint64(k+2) * 16, Most: uint64(k+2) * 16, Arena: a.Index}
		from, field := a.Addr, fmt.Sprintf("malloc_state.fastbinsY[%d]", k)
		for p := addr.Run(a.state[stateFastbins/8+k]); p != 0; {
			if d := h.cache(p, FastBin, &b); d != nil {
				d.Arena, d.Chunk, d.Field, d.Passing = a.Index, from, field, a.Locked
				d.Value, d.Leads = l.found(h, from+header, p, from != a.Addr)
				h.report(*d)
				break
			}
			from, field = p, "fd"
			p = l.next(h.mem.Word(p+header), p+header)
		}
		if b.Count > 0 {
			a.bins = append(a.bins, b)
		}
	}
}

// cache marks the chunk with its header at p as kept in a list of chunks, and counts it. If it cannot
// be, the result is the kind of damage of the link to it.
func (h *Heap) cache(p addr.Run, s State, b *Bin) *Damage {
	x, i, ok := h.locate(p)
	size := b.Least
	switch {
	case p%granule != 0 || !ok || x.header(i) != p:
		return &Damage{Kind: ListLink, Args: [3]uint64{size}}
	case *x.states.At(i) == s:
		return &Damage{Kind: ListLoop}
	case *x.states.At(i) != Used && (*x.states.At(i) != Mmapped || s != TCache || !h.mem.layout.slots):
		return &Damage{Kind: ListState, Args: [3]uint64{size, uint64(*x.states.At(i))}}
	}
	if got := x.bytes(i); got < b.Least || got > b.Most {
		return &Damage{Kind: ListSize, Args: [3]uint64{size, got}}
	} else {
		b.Bytes += got
	}
	b.Count++
	*x.states.At(i) = s
	return nil
}
