package heap

import (
	"cmp"
	"slices"
	"strings"

	"hdb/capture"
)

// touches tells whether the event made, moved or ended a block that holds the
// address.
func touches(e *capture.Event, addr uint64) bool {
	holds := func(start, size uint64) bool { return start != 0 && start <= addr && addr-start < max(size, 1) }
	switch {
	case e.Failed && e.Ended.Recorded, e.Kind == capture.Realloc && holds(e.Old, e.Ended.Size):
		return holds(e.Old, e.Ended.Size) || holds(e.Addr, e.Size)
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
