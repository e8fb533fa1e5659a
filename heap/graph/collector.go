package graph

// A Collector is a garbage collector that knows which words are pointers to the blocks that it
// manages. Others hold nothing for it, and those that it takes for pointers hold the whole block,
// wherever in it they point.
type Collector interface {
	// Manages reports whether a block at an address is one of its.
	Manages(address uint64) bool
	// Shared reports whether a block is one of several that may share 16 bytes, and live as long as one of them
	// does.
	Shared(address uint64) bool
	// Words describes words; each is for one goroutine.
	Words() Words
}

// Words tells what a word whose value is the address of a managed block is for the collector.
type Words interface {
	// See is asked of a word that is at an address of a block, where root is -1, or in
	// Roots.Ranges[root]. Addresses mostly ascend. piece is memory that was read, from base on.
	See(at uint64, root int, piece []uint64, base uint64) Sight
}

// Sight is what a collector takes a word for.
type Sight uint8

const (
	// Unseen: the word is memory that the collector looks at, and no pointer: it is no edge.
	Unseen Sight = iota
	// Hidden: the collector does not look there. The edge is as one into the interior: a block to which only such edges
	// lead is [Possible].
	Hidden
	// Seen: it is a pointer.
	Seen
)

// sharedBytes is the size of the slots that several managed blocks may share, which begin at multiples of it.
const sharedBytes = 16

// inside is set in the word of a pointer to a managed block that is not one to its start. Where it may be set words have a
// bit less.
const inside = 1 << 31

// far is the number of a word that is too far from the start of its block to be kept.
func (o *Options) far() uint64 {
	if o.Collector != nil {
		return inside - 1
	}
	return farAway
}

// manages reports whether a block is managed by the collector.
func (o *Options) manages(address uint64) bool {
	return o.Collector != nil && o.Collector.Manages(address)
}

// sight is what the collector takes a hit in the unit in hand for, of which the target is a managed block.
func (w *worker) sight(h *hit) Sight {
	if w.sees == nil {
		w.sees = w.o.Collector.Words()
	}
	return w.sees.See(h.at, w.u.root, w.words[:w.have], w.base)
}

// sharers finds the blocks that share slots.
func (m *marker) sharers() {
	c := m.o.Collector
	if c == nil {
		return
	}
	addr := m.Graph.blocks.addr
	for i := 1; i < len(addr); i++ {
		if addr[i]/sharedBytes != addr[i-1]/sharedBytes || !c.Manages(addr[i]) || !c.Shared(addr[i]) {
			continue
		}
		if m.Graph.sharing == nil {
			m.Graph.sharing = newBitset(len(addr))
		}
		m.Graph.sharing.set(uint32(i - 1))
		m.Graph.sharing.set(uint32(i))
	}
}

// slot appends the blocks that share a slot with one to a list.
func (g *Graph) slot(block uint32, to []uint32) []uint32 {
	addr := g.blocks.addr
	for i := block; i > 0 && addr[i-1]/sharedBytes == addr[block]/sharedBytes; i-- {
		to = append(to, i-1)
	}
	for i := block + 1; int(i) < len(addr) && addr[i]/sharedBytes == addr[block]/sharedBytes; i++ {
		to = append(to, i)
	}
	return to
}

// Sharers are the blocks that live as long as a block does since they share its slot.
func (g *Graph) Sharers(block int) []uint32 {
	if g.sharing == nil || !g.sharing.has(uint32(block)) {
		return nil
	}
	return g.slot(uint32(block), nil)
}

// fromGarbage reaches what only garbage of the collector points to: blocks that it does not manage. Their end is up to
// finalizers that have not run yet.
func (m *marker) fromGarbage() {
	if m.o.Collector == nil || m.Graph.edges.Len() == 0 {
		return
	}
	for _, weakToo := range []bool{false, true} {
		before := append(bitset(nil), m.seen...)
		for i := range m.Graph.blocks.addr {
			low, high := m.first[i], m.first[i+1]
			if low == high || before.has(uint32(i)) || !m.o.Collector.Manages(m.Graph.blocks.addr[i]) {
				continue
			}
			for n := low; n < high; n++ {
				to := m.Graph.edges.At(int(n)).to
				if (weakToo || to&weak == 0) && !m.o.Collector.Manages(m.Graph.blocks.addr[to&^weak]) {
					m.push(to &^ weak)
				}
			}
		}
		m.flood(weakToo)
		if weakToo {
			for i := range before {
				before[i] ^= m.seen[i]
			}
			for b := range before.all() {
				m.reach[b] = Possible
			}
		}
	}
}
