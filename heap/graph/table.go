package graph

import (
	"fmt"
	"math/bits"
	"sort"
	"unsafe"
)

// A table finds the block that an address is in. It is a tree of pages of 1 MiB with one entry
// each; a page with many blocks has ranks below it: for each KiB, which granules of 16 bytes a
// block starts in, and how many blocks start before it. A page with few is searched. So 10 million
// blocks in 4 GiB cost 64 MiB, and a block of a TiB next to nothing.
type table struct {
	blocks Blocks
	lo     uint64 // the first block's start
	span   uint64 // the last address of any block, or start of an empty one, is below lo + span
	base   uint64 // lo, rounded down to a leaf
	dir    []*leaf
	ranks  []rank
}

const (
	pageBits = 20
	leafBits = 14 // pages of a leaf: 16 GiB
	kibPage  = 1 << (pageBits - 10)
	dense    = 128 // starts in a page, from which on it has ranks

	maxAddress = 1 << 57 // LA57; what is above is no memory of a process
	maxSpan    = 1 << 56
)

// A leaf has an entry for each page: 0 if no block touches it. With ranked set the rest is the
// number of its KiB in ranks, divided by kibPage; else it is one more than the number of blocks
// that start before the page.
type leaf [1 << leafBits]uint32

const ranked = 1 << 31

// A rank is a KiB of memory in which blocks start.
type rank struct {
	starts uint64 // granules with a start
	before uint32 // blocks that start before this KiB
	odd    bool   // a start that is no multiple of 16, or several in a granule: it is searched
}

// maxBlocks is bounded by the mark of an entry and by the mark of a pointer.
const maxBlocks = 1<<31 - 2

// checkBlocks wants blocks that ascend and do not overlap.
func checkBlocks(blocks *Blocks) error {
	n := blocks.Len()
	if n > maxBlocks {
		return fmt.Errorf("graph: too many blocks (%d, at most %d)", n, maxBlocks)
	}
	end := uint64(0) // of the block before; an empty one takes its start
	for i := range n {
		b := blocks.At(i)
		if b.Addr >= maxAddress || b.Size > maxAddress-b.Addr {
			return fmt.Errorf("graph: block %d is no memory of a process: %#x, %d bytes", i, b.Addr, b.Size)
		}
		if b.Addr < end {
			return fmt.Errorf("graph: block %d begins at %#x, before the end of the one before it (%#x, %d bytes)", i, b.Addr, blocks.At(i-1).Addr, blocks.At(i-1).Size)
		}
		end = b.Addr + max(b.Size, 1)
	}
	if n > 0 && blocks.addr[n-1]-blocks.addr[0] > maxSpan {
		return fmt.Errorf("graph: blocks from %#x to %#x span too much", blocks.addr[0], blocks.addr[n-1])
	}
	return nil
}

// newTable wants blocks that [checkBlocks] found right.
func newTable(blocks *Blocks) *table {
	t := &table{blocks: *blocks}
	addr := blocks.addr
	if len(addr) == 0 {
		return t
	}
	last := blocks.At(len(addr) - 1).last()
	t.lo = addr[0]
	t.span = last - t.lo + 2 // new T[0] points one past the end
	t.base = t.lo &^ (1<<(pageBits+leafBits) - 1)
	t.dir = make([]*leaf, (last-t.base)>>(pageBits+leafBits)+1)
	t.ranks = make([]rank, 0, t.densePages()*kibPage)
	for i := 0; i < len(addr); {
		page := addr[i] >> pageBits
		end := startsEnd(addr, i, page)
		if end-i >= dense {
			*t.at(page) = ranked | uint32(len(t.ranks)/kibPage)
			t.ranks = appendRanks(t.ranks, addr, i, end)
		} else {
			*t.at(page) = uint32(i) + 1
		}
		t.cover(page+1, blocks.At(end-1).last()>>pageBits, uint32(end)+1)
		i = end
	}
	return t
}

// bytes is what the table takes.
func (t *table) bytes() int64 {
	n := int64(len(t.dir))*int64(unsafe.Sizeof(t.dir[0])) + int64(len(t.ranks))*int64(unsafe.Sizeof(rank{}))
	for i, l := range t.dir {
		if l != nil && (i == 0 || l != t.dir[i-1]) {
			n += int64(unsafe.Sizeof(*l))
		}
	}
	return n
}

// startsEnd is behind the last block that starts in a page, of which i is the first.
func startsEnd(addr []uint64, i int, page uint64) int {
	// Few pages have more than some ten thousand blocks, and most have one or a thousand.
	step, hi := 1, i+1
	for hi < len(addr) && addr[hi]>>pageBits == page {
		hi, step = hi+step, step*2
	}
	lo := max(i, hi-step)
	hi = min(hi, len(addr))
	return lo + sort.Search(hi-lo, func(k int) bool { return addr[lo+k]>>pageBits != page })
}

// densePages counts the pages that have ranks.
func (t *table) densePages() (n int) {
	for i := 0; i < len(t.blocks.addr); {
		end := startsEnd(t.blocks.addr, i, t.blocks.addr[i]>>pageBits)
		if end-i >= dense {
			n++
		}
		i = end
	}
	return n
}

// appendRanks appends the ranks of a page, in which blocks i to end start.
func appendRanks(ranks []rank, addr []uint64, i, end int) []rank {
	page := len(ranks)
	ranks = ranks[:page+kibPage]
	next := 0 // the KiB to be begun
	for ; i < end; i++ {
		a := addr[i]
		kib := int(a >> 10 & (kibPage - 1))
		for ; next <= kib; next++ {
			ranks[page+next].before = uint32(i)
		}
		r := &ranks[page+kib]
		bit := uint64(1) << (a >> 4 & 63)
		r.odd = r.odd || a&15 != 0 || r.starts&bit != 0
		r.starts |= bit
	}
	for ; next < kibPage; next++ {
		ranks[page+next].before = uint32(end)
	}
	return ranks
}

// at is the entry of a page.
func (t *table) at(page uint64) *uint32 {
	n := page - t.base>>pageBits
	l := &t.dir[n>>leafBits]
	if *l == nil {
		*l = new(leaf)
	}
	return &(*l)[n&(1<<leafBits-1)]
}

// cover gives pages from first to last, that one block reaches into, their entry. Leaves
// between are one and the same.
func (t *table) cover(first, last uint64, entry uint32) {
	var whole *leaf
	for p := first; p <= last; p++ {
		n := p - t.base>>pageBits
		if n&(1<<leafBits-1) != 0 || last-p < 1<<leafBits {
			*t.at(p) = entry // a page further on overwrites it if a block starts there
			continue
		}
		if whole == nil {
			whole = new(leaf)
			for i := range whole {
				whole[i] = entry
			}
		}
		t.dir[n>>leafBits] = whole
		p += 1<<leafBits - 1
	}
}

// rankOf is the rank that a lookup of an address is about to use, to be fetched before, or nil.
func (t *table) rankOf(address uint64) unsafe.Pointer {
	d := (address - t.base) >> (pageBits + leafBits)
	if d >= uint64(len(t.dir)) || t.dir[d] == nil {
		return nil
	}
	l := t.dir[d]
	entry := l[address>>pageBits&(1<<leafBits-1)]
	if entry&ranked == 0 {
		return nil
	}
	return unsafe.Pointer(&t.ranks[uint64(entry&^ranked)*kibPage+address>>10&(kibPage-1)])
}

// find is the block that an address from lo to lo+span points to: the start of one, or inside it.
func (t *table) find(address uint64) (block uint32, start, ok bool) {
	d := (address - t.base) >> (pageBits + leafBits)
	if d >= uint64(len(t.dir)) {
		return 0, false, false // one past the very last block
	}
	l := t.dir[d]
	if l == nil {
		return 0, false, false
	}
	entry := l[address>>pageBits&(1<<leafBits-1)]
	if entry == 0 {
		return 0, false, false
	}
	if entry&ranked == 0 {
		first := int(entry) - 1
		return t.search(address, first, min(first+dense, len(t.blocks.addr)))
	}
	r := &t.ranks[uint64(entry&^ranked)*kibPage+address>>10&(kibPage-1)]
	if r.odd {
		return t.search(address, int(r.before), min(int(r.before)+1<<10, len(t.blocks.addr)))
	}
	below := r.starts << (63 - address>>4&63)
	n := int(r.before) + bits.OnesCount64(below) - 1
	if n < 0 {
		return 0, false, false
	}
	if int64(below) < 0 && address&15 == 0 {
		return uint32(n), true, true
	}
	return uint32(n), false, address <= t.blocks.At(n).last()
}

// search is find among blocks of which those before first start before the address's page, or KiB, and those from end on behind it.
func (t *table) search(address uint64, first, end int) (block uint32, start, ok bool) {
	lo, hi := first, end // the first that starts behind the address
	for lo < hi {
		mid := int(uint(lo+hi) >> 1)
		if t.blocks.addr[mid] <= address {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if lo == 0 {
		return 0, false, false
	}
	b := t.blocks.At(lo - 1)
	return uint32(lo - 1), b.Addr == address, address <= b.last()
}
