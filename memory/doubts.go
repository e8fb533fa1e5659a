package memory

import "hdb/heap/glibc"

// Doubts are what makes the blocks of an Image, and who holds them, less certain.
type Doubts struct {
	Other    string         // the allocator that is not walked; "" none
	Torn     int            // places of jemalloc's and Go's heap that did not hold together: a thread was changing them
	Uncached bool           // no thread's cache of jemalloc was found: what it has would be shown as live
	Foreign  bool           // a copy of the C library is of another release, and not walked
	Locked   int            // arenas that a thread is in the middle of a change of
	Damage   []glibc.Damage // where the heap does not hold together
	More     int            // further such places
	Stale    int            // recorded blocks that the allocator has back
	Unread   uint64         // bytes that could not be read
	Walked   int            // blocks that the walk alone found
}

// Doubts are those of what was asked for so far.
func (m *Image) Doubts() Doubts {
	d := Doubts{}
	if m.blocks != nil {
		d.Stale, d.Walked = m.blocks.stale, m.blocks.walked.Blocks
	}
	if h, err := m.Heap(); err == nil {
		d.Damage, d.More, d.Foreign = h.Damage(), h.MoreDamage(), h.OtherRelease()
		for _, a := range h.Arenas() {
			if a.Locked {
				d.Locked++
			}
		}
	}
	d.Other = m.Allocator()
	if h, err := m.Jemalloc(); err == nil {
		d.Torn, d.Uncached = h.Torn(), len(h.Caches()) == 0
		for _, c := range h.Caches() {
			d.Torn += c.Odd
		}
	}
	if h, _ := m.Go(); h != nil {
		d.Torn += h.Torn()
	}
	if m.graph != nil {
		d.Unread = m.graph.Stats().Unread
	}
	return d
}
