package heap

import (
	"cmp"
	"slices"
	"strings"

	"hdb/capture"
)

// Containing is the live block that holds the address, and where it begins.
func (l *Live) Containing(addr uint64) (start uint64, b Block, ok bool) {
	if b, ok := l.At(addr); ok {
		return addr, b, true
	}
	for a, b := range l.All() {
		if a <= addr && addr-a < b.Size {
			return a, b, true
		}
	}
	return 0, Block{}, false
}

// Nearest are the live blocks that begin before and behind the address, if there
// are such.
func (l *Live) Nearest(addr uint64) (below, above uint64) {
	for a := range l.All() {
		if a <= addr && a > below {
			below = a
		}
		if a > addr && (above == 0 || a < above) {
			above = a
		}
	}
	return below, above
}

// Touches tells whether the event made, moved or ended a block that holds the
// address.
func Touches(e *capture.Event, addr uint64) bool {
	holds := func(start, size uint64) bool { return start != 0 && start <= addr && addr-start < max(size, 1) }
	switch {
	case e.Failed && e.Gone.Recorded, e.Kind == capture.Realloc && holds(e.Old, e.Gone.Size):
		return holds(e.Old, e.Gone.Size) || holds(e.Addr, e.Size)
	case e.Failed:
		return false
	}
	return holds(e.Addr, e.Size)
}

// A Change is how what a site holds differs between two moments.
type Change struct {
	Site          Site
	Bytes, Blocks int64 // live, after minus before
	Before, After uint64
}

// Diff compares the live bytes of two lists of rows by site. Sites of which
// nothing changed are left out; those that grew most come first.
func Diff(before, after []Row) []Change {
	changes := map[rowKey]*Change{}
	of := func(s Site) *Change {
		k := s.key()
		if changes[k] == nil {
			changes[k] = &Change{Site: s}
		}
		return changes[k]
	}
	for _, r := range before {
		c := of(r.Site)
		c.Before += r.LiveBytes
		c.Blocks -= int64(r.LiveBlocks)
	}
	for _, r := range after {
		c := of(r.Site)
		c.Site = r.Site // its line is that of what is live now
		c.After += r.LiveBytes
		c.Blocks += int64(r.LiveBlocks)
	}
	var out []Change
	for _, c := range changes {
		c.Bytes = int64(c.After) - int64(c.Before)
		if c.Bytes != 0 || c.Blocks != 0 {
			out = append(out, *c)
		}
	}
	slices.SortFunc(out, func(a, b Change) int {
		return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(b.Blocks, a.Blocks), cmp.Compare(a.Site.Function, b.Site.Function), cmp.Compare(a.Site.File, b.Site.File))
	})
	return out
}

// SameFiles gives the sites of one build the files of another: a file that only
// one of them has is taken for the one of that name that only the other has, with
// the most directories in common at the end.
func SameFiles(rows, other []Row) {
	mine, others := filesOf(rows), filesOf(other)
	moved := map[string]string{}
	for f := range mine {
		best, common := "", 0
		for o := range others {
			n := commonEnd(f, o)
			switch {
			case mine[o] || others[f] || n < common || n == 0:
			case n > common:
				best, common = o, n
			default:
				best = "" // neither
			}
		}
		if best != "" {
			moved[f] = best
		}
	}
	for i := range rows {
		if to, ok := moved[rows[i].Site.File]; ok {
			rows[i].Site.File = to
		}
	}
}

func filesOf(rows []Row) map[string]bool {
	files := map[string]bool{}
	for _, r := range rows {
		if r.Site.File != "" {
			files[r.Site.File] = true
		}
	}
	return files
}

// commonEnd counts the last elements that two paths have in common.
func commonEnd(a, b string) (n int) {
	as, bs := strings.Split(a, "/"), strings.Split(b, "/")
	for n < min(len(as), len(bs)) && as[len(as)-1-n] == bs[len(bs)-1-n] {
		n++
	}
	return n
}

// TopBy sums what was allocated up to event #to by a key of the allocating event,
// where stacks do not tell it: threads and sizes. It reads all events.
func TopBy(x *Index, to uint64, by Measure, key func(*capture.Event) uint64, site func(uint64) Site) []Row {
	rows := map[uint64]*Row{}
	row := func(k uint64) *Row {
		if rows[k] == nil {
			rows[k] = &Row{Site: site(k)}
		}
		return rows[k]
	}
	peak, _ := x.PeakBefore(to)
	owner := map[uint64]uint64{} // of live blocks, by address
	latest := uint64(0)
	end := func(addr uint64, e *capture.Event) {
		k, ok := owner[addr]
		if !ok || !e.Gone.Recorded {
			return
		}
		delete(owner, addr)
		r := row(k)
		r.LiveBytes -= e.Gone.Size
		r.LiveBlocks--
		if addr == latest && e.Kind != capture.Alloc {
			r.Temporary++
		}
	}
	fresh := x.execStarts()
	for e := range x.src.Events(0) {
		if e.Seq > to {
			break
		}
		for len(fresh) > 0 && e.Seq >= fresh[0] {
			fresh, latest = fresh[1:], 0
			clear(owner)
			for _, r := range rows {
				r.LiveBytes, r.LiveBlocks = 0, 0
			}
		}
		switch {
		case e.Kind == capture.Realloc && e.Old != 0:
			end(e.Old, &e)
		case e.Gone.Recorded:
			end(e.Addr, &e)
		}
		if e.Allocates() {
			k := key(&e)
			r := row(k)
			r.Bytes += e.Size
			r.Count++
			r.LiveBytes += e.Size
			r.LiveBlocks++
			owner[e.Addr], latest = k, e.Addr
		}
		if e.Seq == peak {
			for _, r := range rows {
				r.PeakBytes = r.LiveBytes
			}
		}
	}
	return sorted(rows, by)
}

// execStarts are the numbers of the first events after each exec.
func (x *Index) execStarts() []uint64 {
	var out []uint64
	for _, r := range x.runs {
		if r.Fresh {
			out = append(out, r.First)
		}
	}
	return out
}
