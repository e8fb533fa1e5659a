package heap

import (
	"maps"
	"slices"

	"hdb/capture"
)

// members are the blocks of several owners.
type members struct {
	of     map[uint64]uint64              // the owner of each block
	blocks map[uint64]map[uint64]struct{} // of each owner
}

func newMembers() members {
	return members{map[uint64]uint64{}, map[uint64]map[uint64]struct{}{}}
}

// join makes a block an owner's.
func (m *members) join(at, owner uint64) {
	m.forget(at)
	m.of[at] = owner
	set := m.blocks[owner]
	if set == nil {
		set = map[uint64]struct{}{}
		m.blocks[owner] = set
	}
	set[at] = struct{}{}
}

// forget forgets whose a block is.
func (m *members) forget(at uint64) {
	owner, ok := m.of[at]
	if !ok {
		return
	}
	delete(m.of, at)
	if delete(m.blocks[owner], at); len(m.blocks[owner]) == 0 {
		delete(m.blocks, owner)
	}
}

// take forgets the blocks of an owner and returns them in order.
func (m *members) take(owner uint64) []uint64 {
	all := slices.Sorted(maps.Keys(m.blocks[owner]))
	for _, at := range all {
		m.forget(at)
	}
	return all
}

// Heaps keeps which blocks come from which of an allocator's first-class heaps, those of mimalloc: a
// heap can be freed with all of its blocks at once. It sees each event before a Ledger posts it.
type Heaps struct {
	l *Ledger
	members
	defaults map[int32]uint64 // the heaps that threads, ended ones too, have chosen for malloc, by TID; each heap is a live block
	users    map[uint64]int   // how many threads have chosen a heap
}

// NewHeaps is for the heaps that have their blocks in a ledger.
func NewHeaps(l *Ledger) *Heaps {
	return &Heaps{l: l, members: newMembers(), defaults: map[int32]uint64{}, users: map[uint64]int{}}
}

// Post follows an event whose block comes from a heap, 0 if from none that is known.
func (h *Heaps) Post(e *capture.Event, heap uint64) {
	switch {
	case e.Kind == capture.Free:
		h.forget(e.Addr)
		return
	case e.Kind == capture.Realloc && e.Old != 0 && e.Old == e.Addr:
		return // resized in place, and so in its heap, whichever was asked for
	case e.Kind == capture.Realloc && e.Old != 0 && (!e.Failed || e.Size == 0):
		h.forget(e.Old)
	}
	if !e.Allocates() {
		return
	}
	h.supersede(e.Addr)
	if h.forget(e.Addr); heap != 0 && heap != e.Addr {
		h.join(e.Addr, heap)
	}
}

// supersede forgets a heap whose end was not seen: another block begins at its address.
func (h *Heaps) supersede(heap uint64) {
	if _, ok := h.blocks[heap]; ok {
		h.take(heap)
	}
	h.noDefault(heap)
}

// SetDefault has blocks that a thread allocates without naming a heap come from this one. A heap that is
// not a block is the thread's first one or was made unseen: nothing is remembered, as the first one is
// never destroyed and may get most blocks of the program.
func (h *Heaps) SetDefault(thread int32, heap uint64) {
	if of, ok := h.defaults[thread]; ok {
		delete(h.defaults, thread)
		if h.users[of]--; h.users[of] == 0 {
			delete(h.users, of)
		}
	}
	if _, ok := h.l.At(heap); ok {
		h.defaults[thread] = heap
		h.users[heap]++
	}
}

// Default is the heap that a thread has chosen, 0 if none is known.
func (h *Heaps) Default(thread int32) uint64 { return h.defaults[thread] }

// Delete forgets a heap, whose blocks live on. It returns the blocks that have ended: the heap's own
// block, which an allocator gets from another heap of its own.
func (h *Heaps) Delete(heap uint64) []uint64 {
	h.take(heap)
	return h.remove(heap, nil)
}

// Destroy forgets a heap and returns the blocks that have ended: those allocated from it, and the heap's own block.
func (h *Heaps) Destroy(heap uint64) []uint64 { return h.remove(heap, h.take(heap)) }

func (h *Heaps) remove(heap uint64, ended []uint64) []uint64 {
	h.noDefault(heap)
	h.forget(heap)
	if _, ok := h.l.At(heap); ok {
		ended = append(ended, heap)
	}
	return ended
}

// noDefault has no thread use a heap by default.
func (h *Heaps) noDefault(heap uint64) {
	if h.users[heap] == 0 {
		return // each new block's address is asked about, and few are a default's
	}
	delete(h.users, heap)
	maps.DeleteFunc(h.defaults, func(_ int32, of uint64) bool { return of == heap })
}
