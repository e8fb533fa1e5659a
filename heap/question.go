package heap

import (
	"cmp"
	"slices"
	"strings"

	"hdb/capture"
)

// touches reports whether the event made, moved or ended a block that holds the address.
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
	Site
	Bytes  int64  `json:"change_bytes"` // live, after minus before
	Blocks int64  `json:"change_blocks"`
	Before uint64 `json:"from_live_bytes"`
	After  uint64 `json:"to_live_bytes"`
}

// Diff compares the live bytes of two lists of rows, one for each line, by site. A site
// of several lines has the one that changed most in the direction in which the site did.
// Sites of which nothing changed are left out; those that grew most come first.
func Diff(before, after []Row) []Change {
	lines := map[rowKey]*Change{}
	of := func(s Site) *Change {
		k := s.lineKey()
		if lines[k] == nil {
			lines[k] = &Change{Site: s}
		}
		return lines[k]
	}
	for _, r := range before {
		c := of(r.Site)
		c.Before += r.LiveBytes
		c.Blocks -= int64(r.LiveBlocks)
	}
	for _, r := range after {
		c := of(r.Site)
		c.Site = r.Site // whose linkage name may be another
		c.After += r.LiveBytes
		c.Blocks += int64(r.LiveBlocks)
	}
	sites := map[rowKey][]Change{}
	for _, c := range lines {
		c.Bytes = int64(c.After) - int64(c.Before)
		k := c.Site.key()
		sites[k] = append(sites[k], *c)
	}
	var out []Change
	for _, lines := range sites {
		if c := joinChanges(lines); c.Bytes != 0 || c.Blocks != 0 {
			out = append(out, c)
		}
	}
	slices.SortFunc(out, func(a, b Change) int {
		return cmp.Or(compareChanges(b, a), cmp.Compare(a.Site.Function, b.Site.Function), cmp.Compare(a.Site.File, b.Site.File))
	})
	return out
}

func compareChanges(a, b Change) int {
	return cmp.Or(cmp.Compare(a.Bytes, b.Bytes), cmp.Compare(a.Blocks, b.Blocks))
}

// joinChanges sums the changes of the lines of a site.
func joinChanges(lines []Change) Change {
	slices.SortFunc(lines, func(a, b Change) int { // what grew most comes first
		return cmp.Or(compareChanges(b, a), cmp.Compare(a.Site.Line, b.Site.Line))
	})
	var sum Change
	for _, c := range lines {
		sum.Bytes += c.Bytes
		sum.Blocks += c.Blocks
		sum.Before += c.Before
		sum.After += c.After
	}
	sum.Site = lines[0].Site
	if compareChanges(sum, Change{}) < 0 {
		sum.Site = lines[len(lines)-1].Site
	}
	return sum
}

// OtherBuilds gives sites in code of two builds, whose lines cannot be compared, one line: the
// later build's, or none if the site has several in either.
func OtherBuilds(before, after []Row, other func(s *Site) bool) {
	was, is := lineOfEach(before), lineOfEach(after)
	for _, rows := range [][]Row{before, after} {
		for i := range rows {
			s := &rows[i].Site
			if s.ByLine || !other(s) {
				continue
			}
			k := s.key()
			old, had := was[k]
			line, has := is[k]
			if !has || had && old == 0 {
				line = old
			}
			s.Line = line
		}
	}
}

// lineOfEach is the line of each site that has live blocks, 0 of one with several.
func lineOfEach(rows []Row) map[rowKey]int {
	lines := map[rowKey]int{}
	for _, r := range rows {
		if r.LiveBlocks == 0 {
			continue
		}
		k := r.Site.key()
		if line, ok := lines[k]; ok && line != r.Site.Line {
			lines[k] = 0
		} else {
			lines[k] = r.Site.Line
		}
	}
	return lines
}

// SameFiles gives the sites of one build the files of another: a file that only
// one of them has is taken for the one of that name that only the other has, with
// the most directories in common at the end, or else for the one that has most of its functions. A site that the other does not
// have keeps its file, which its line is in. The files are those of the other.
func SameFiles(rows, other []Row) (moved map[string]bool) {
	mine, others := filesOf(rows), filesOf(other)
	to := map[string]string{}
	for f := range mine {
		best, most := "", 0
		for o := range others {
			n := commonEnd(f, o)<<32 + common(mine[f], others[o])
			switch {
			case mine[o] != nil || others[f] != nil || n < most || n>>32 == 0 && 2*n < len(mine[f]) || n == 0:
			case n > most:
				best, most = o, n
			default:
				best = "" // neither
			}
		}
		if best != "" {
			to[f] = best
		}
	}
	has := map[rowKey]bool{}
	for _, r := range other {
		has[r.Site.key()] = true
	}
	moved = map[string]bool{}
	for i := range rows {
		s := rows[i].Site
		if s.File = to[s.File]; s.File != "" && has[s.key()] {
			rows[i].Site = s
			moved[s.File] = true
		}
	}
	return moved
}

// filesOf are the files of rows, each with its functions.
func filesOf(rows []Row) map[string]map[string]bool {
	files := map[string]map[string]bool{}
	for _, r := range rows {
		switch of := files[r.Site.File]; {
		case r.Site.File == "":
		case of == nil:
			files[r.Site.File] = map[string]bool{r.Site.Function: true}
		default:
			of[r.Site.Function] = true
		}
	}
	return files
}

// common counts what two sets have in common.
func common(a, b map[string]bool) (n int) {
	for f := range a {
		if b[f] {
			n++
		}
	}
	return n
}

// commonEnd counts the last elements that two paths have in common.
func commonEnd(a, b string) (n int) {
	as, bs := strings.Split(a, "/"), strings.Split(b, "/")
	for n < min(len(as), len(bs)) && as[len(as)-1-n] == bs[len(bs)-1-n] {
		n++
	}
	return n
}
