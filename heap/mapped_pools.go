package heap

import "hdb/capture"

// A mapping that has blocks of the program's own allocator in it is the allocator's, as a whole: the
// blocks count, and the rest counts for no caller, as the rest of a chunk from malloc (see Pools). The
// first block that is seen in a mapping has an event before it that says so: a capture.Protect, which
// changes no protection, by the function capture.PoolChunk.

// pool notes that the mappings from low to high are an allocator's.
func (m *Mappings) pool(low, high uint64) {
	if m.pools == nil {
		m.pools = map[uint64]bool{}
	}
	m.overlapping(low, high, func(p *Mapping) { m.pools[p.Seq], p.Pool = true, true })
}

// inherit has the mapping of event #seq be an allocator's if the one of event #old is, whose pages it has.
func (m *Mappings) inherit(seq, old uint64) {
	if m.pools[old] {
		m.pools[seq] = true
	}
}

// overlapping calls do for the mappings that have a byte from low to high.
func (m *Mappings) overlapping(low, high uint64, do func(*Mapping)) {
	i, j, ok := m.find(low)
	if !ok {
		return
	}
	for ; i < len(m.list); i, j = i+1, 0 {
		for ; j < len(m.list[i]); j++ {
			if m.list[i][j].Low >= high {
				return
			}
			do(&m.list[i][j])
		}
	}
}

// Pooled prepares an event by which an allocator of the program's own hands out a block. For each recorded
// mapping that the block is in, and in which none was seen before, it returns an event without number,
// function and stack, to be recorded before e.
func (l *Ledger) Pooled(e *capture.Event) (chunks []capture.Event) {
	if !e.Allocates() {
		return nil
	}
	low := e.Addr
	high := max(low+e.Size, low+1)
	l.mapped.overlapping(low, high, func(p *Mapping) {
		if !l.mapped.pools[p.Seq] {
			chunks = append(chunks, capture.Event{
				Time: e.Time, TID: e.TID, Kind: capture.Protect, Addr: p.Low, Size: p.High - p.Low, Aux: uint64(p.Mode.Prot()),
			})
		}
	})
	if chunks != nil {
		l.mapped.pool(low, high)
	}
	return chunks
}
