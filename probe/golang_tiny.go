package probe

import (
	"math/bits"

	"hdb/goruntime"
)

// tinySlots are the blocks that share slots of goruntime.TinySize bytes: the bytes at which they
// begin. Blocks that are close together are in pages. What the inferior writes decides how many
// there are and where: beyond fewTinyPages, 4.5 MiB, a block costs at most some 40 bytes, wherever it is.
type tinySlots struct {
	pages  map[uint64]*tinyPage // by their number, each with at least one block
	blocks int                  // in all pages
	apart  map[uint64]uint16    // blocks outside of pages, by the number of their slot
	last   uint64               // number of the page that was used last,
	page   *tinyPage            // nil if it is gone
}

const (
	tinyPageSlots = 512 // those of one span of the runtime
	// fewTinyPages may be made whatever is in them, others if all have this number of blocks on average.
	fewTinyPages  = 1 << 12
	tinyPageShare = 32
)

// A tinyPage has a bit for each byte of all its slots.
type tinyPage struct {
	slots  [tinyPageSlots]uint16
	blocks int // bits that are set
}

// add notes a block.
func (t *tinySlots) add(address uint64) {
	slot, begin := address/goruntime.TinySize, uint16(1)<<(address%goruntime.TinySize)
	page := t.find(slot / tinyPageSlots)
	if page == nil {
		if page = t.newPage(slot / tinyPageSlots); page == nil {
			if t.apart == nil {
				t.apart = map[uint64]uint16{}
			}
			t.apart[slot] |= begin
			return
		}
	}
	if begins := &page.slots[slot%tinyPageSlots]; *begins&begin == 0 {
		*begins |= begin
		page.blocks++
		t.blocks++
	}
}

// take forgets the blocks of the slot at an address, and returns a bit for each byte at which one
// began.
func (t *tinySlots) take(address uint64) (begins uint16) {
	slot := address / goruntime.TinySize
	if page := t.find(slot / tinyPageSlots); page != nil {
		at := &page.slots[slot%tinyPageSlots]
		begins, *at = *at, 0
		n := bits.OnesCount16(begins)
		page.blocks -= n
		t.blocks -= n
		if page.blocks == 0 {
			delete(t.pages, slot/tinyPageSlots)
			t.page = nil
		}
	}
	if len(t.apart) > 0 {
		begins |= t.apart[slot] // its page was made later, if it has one
		if delete(t.apart, slot); len(t.apart) == 0 {
			t.apart = nil // a map does not shrink
		}
	}
	return begins
}

// find is the page with a number, nil if there is none.
func (t *tinySlots) find(number uint64) *tinyPage {
	if t.page == nil || t.last != number {
		page := t.pages[number]
		if page == nil {
			return nil
		}
		t.last, t.page = number, page
	}
	return t.page
}

// newPage makes a page, or returns nil if there are too many with few blocks: an inferior that
// writes a block here and there would have hdb use twenty times the memory of its records.
func (t *tinySlots) newPage(number uint64) *tinyPage {
	if len(t.pages) >= fewTinyPages+t.blocks/tinyPageShare {
		return nil
	}
	if t.pages == nil {
		t.pages = map[uint64]*tinyPage{}
	}
	t.last, t.page = number, new(tinyPage)
	t.pages[number] = t.page
	return t.page
}
