package heap

import "hdb/capture"

// A Key is what allocations are summed up by where stacks do not tell it.
type Key uint8

// The keys.
const (
	KeyThread Key = iota // the TID, as a uint32
	KeySize              // bytes asked for
)

// of is the key of a block of a size that a thread made.
func (k Key) of(tid int32, size uint64) uint64 {
	if k == KeyThread {
		return uint64(uint32(tid))
	}
	return size
}

// byKey sums up by a key.
type byKey struct {
	key   Key
	site  func(uint64) Site
	rows  map[uint64]*Row
	owner *Live // the key of each block, for its Seq
}

func (t *byKey) row(k uint64) *Row {
	r := t.rows[k]
	if r == nil {
		r = &Row{Site: t.site(k)}
		t.rows[k] = r
	}
	return r
}

// TopBy sums what was allocated up to event #to by a key of the blocks.
func TopBy(x *Index, to uint64, by Measure, key Key, site func(uint64) Site) []Row {
	t := &byKey{key: key, site: site, rows: map[uint64]*Row{}, owner: NewLive()}
	fresh, next := x.src.Execs(), uint64(0)
	if c := x.src.Checkpoint(to); c != nil {
		t.checkpoint(c)
		next = c.Seq + 1
	}
	for len(fresh) > 0 && fresh[0] < next {
		fresh = fresh[1:]
	}
	for e := range x.src.Events(next) {
		if e.Seq > to {
			break
		}
		for len(fresh) > 0 && e.Seq >= fresh[0] {
			fresh = fresh[1:]
			t.replaced()
		}
		t.event(&e)
	}
	if by == ByPeak {
		peak, _ := x.PeakBefore(to)
		for _, b := range x.Held(peak) {
			t.row(key.of(b.TID, b.Size)).PeakBytes += b.Size
		}
	}
	return sorted(t.rows, by)
}

// checkpoint begins with what a checkpoint knows.
func (t *byKey) checkpoint(c *capture.Checkpoint) {
	if t.key == KeySize {
		for _, s := range c.Sizes {
			r := t.row(s.Size)
			r.Bytes, r.Count, r.Temporary = s.Size*s.Allocs, s.Allocs, s.Temporary
		}
	} else {
		for _, s := range c.Threads {
			r := t.row(uint64(uint32(s.TID)))
			r.Bytes, r.Count, r.Temporary = s.Bytes, s.Allocs, s.Temporary
		}
	}
	for i := range c.Blocks {
		b := &c.Blocks[i]
		t.made(b.Addr, b.Size, t.key.of(b.TID, b.Size))
	}
}

// replaced ends all blocks.
func (t *byKey) replaced() {
	t.owner = NewLive()
	for _, r := range t.rows {
		r.LiveBytes, r.LiveBlocks = 0, 0
	}
}

// event counts an event.
func (t *byKey) event(e *capture.Event) {
	if e.Ended.Recorded {
		t.end(e)
	}
	if !e.Allocates() {
		return
	}
	k := t.key.of(e.TID, e.Size)
	r := t.row(k)
	r.Bytes += e.Size
	r.Count++
	t.made(e.Addr, e.Size, k)
}

// made makes a block of that key live.
func (t *byKey) made(addr, size, k uint64) {
	r := t.row(k)
	r.LiveBytes += size
	r.LiveBlocks++
	t.owner.Put(addr, Block{Seq: k, Size: size})
}

// end counts the end of the block that an event ended.
func (t *byKey) end(e *capture.Event) {
	b, ok := t.owner.Take(e.EndedAt())
	if !ok {
		return
	}
	r := t.row(b.Seq)
	r.LiveBytes -= b.Size
	r.LiveBlocks--
	if e.Ended.Temporary {
		r.Temporary++
	}
}
