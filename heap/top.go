package heap

import (
	"cmp"
	"slices"

	"hdb/capture"
)

// A Site is the place in the source that allocations are counted for.
type Site struct {
	Function string `json:"function,omitempty"`
	Linkage  string `json:"linkage,omitempty"` // what the linker calls it, "" when that is the same
	File     string `json:"file,omitempty"`    // "" unknown
	Line     int    `json:"line,omitempty"`    // 0 unknown
	Module   string `json:"module,omitempty"`
	Sure     bool   `json:"-"` // named by debug info, not by a symbol table
	ByLine   bool   `json:"-"` // lines of one function are different sites
	Size     uint64 `json:"-"` // of the blocks, where a row represents a size and has no function
}

// A Row is what one function allocated. Bytes are those asked for.
type Row struct {
	Site
	Bytes      uint64 `json:"allocated_bytes"` // in all
	Count      uint64 `json:"allocations"`
	LiveBytes  uint64 `json:"live_bytes"` // not freed
	LiveBlocks uint64 `json:"live_blocks"`
	Temporary  uint64 `json:"temporary_blocks"`     // freed before another one was allocated
	PeakBytes  uint64 `json:"peak_bytes,omitempty"` // live when most bytes were; only ByPeak
}

// Measure is what rows are sorted by, largest first.
type Measure uint8

// The measures.
const (
	ByLive      Measure = iota // bytes not freed
	ByBytes                    // bytes allocated in all
	ByCount                    // number of allocations
	ByTemporary                // blocks freed before another one was allocated
	ByPeak                     // bytes that were live when most were
	ByBlocks                   // blocks not freed
)

// Measures are the words for them, in their order.
var Measures = [...]string{"live", "bytes", "count", "temporary", "peak", "blocks"}

func (m Measure) String() string { return Measures[m] }

// Of is what a row is measured by.
func (m Measure) Of(r Row) uint64 {
	switch m {
	case ByBytes:
		return r.Bytes
	case ByCount:
		return r.Count
	case ByTemporary:
		return r.Temporary
	case ByPeak:
		return r.PeakBytes
	case ByBlocks:
		return r.LiveBlocks
	}
	return r.LiveBytes
}

// NonZero reports whether a row counts by the measure: a block may have no bytes.
func (m Measure) NonZero(r Row) bool {
	switch m {
	case ByLive:
		return r.LiveBlocks > 0
	case ByBytes:
		return r.Count > 0
	}
	return m.Of(r) > 0
}

// Top sums what was allocated up to event #to by the site that each stack has.
// A site of several lines has the one with the largest measure. Rows of the same
// measure keep the order of their names.
func Top(x *Index, to uint64, by Measure, site func(capture.StackID) Site) []Row {
	return Join(Lines(x, to, by, site), by)
}

// Lines is Top with a row for each line of a site.
func Lines(x *Index, to uint64, by Measure, site func(capture.StackID) Site) []Row {
	rows := map[rowKey]*Row{}
	row := func(id capture.StackID) *Row {
		s := site(id)
		k := s.lineKey()
		r := rows[k]
		if r == nil {
			r = &Row{Site: s}
			rows[k] = r
		}
		return r
	}
	for _, f := range x.Totals(to).Flows {
		if x.read.GivenUp() {
			break
		}
		if f.Allocs == 0 {
			continue
		}
		r := row(f.Stack)
		r.Bytes += f.Bytes
		r.Count += f.Allocs
		r.Temporary += f.Temporary
		bytes, blocks := LiveOf(&f)
		r.LiveBytes += bytes
		r.LiveBlocks += blocks
	}
	if by == ByPeak {
		peak, _ := x.PeakBefore(to)
		for _, f := range x.Totals(peak).Flows {
			if bytes, blocks := LiveOf(&f); blocks > 0 {
				row(f.Stack).PeakBytes += bytes
			}
		}
	}
	return sorted(rows, by)
}

// Join sums the rows of lines, largest first, by site. Each keeps the line of
// its first.
func Join(lines []Row, by Measure) []Row { return join(lines, by, Site.key) }

// JoinLines sums rows by site and line.
func JoinLines(rows []Row, by Measure) []Row { return join(rows, by, Site.lineKey) }

func join(list []Row, by Measure, key func(Site) rowKey) []Row {
	rows := map[rowKey]*Row{}
	for _, l := range list {
		k := key(l.Site)
		if r := rows[k]; r == nil {
			rows[k] = &l
		} else {
			r.add(&l)
		}
	}
	return sorted(rows, by)
}

func (r *Row) add(o *Row) {
	r.Bytes += o.Bytes
	r.Count += o.Count
	r.LiveBytes += o.LiveBytes
	r.LiveBlocks += o.LiveBlocks
	r.Temporary += o.Temporary
	r.PeakBytes += o.PeakBytes
}

// rowKey tells sites apart.
type rowKey struct {
	function, file, module string
	line                   int
	size                   uint64
}

// Row is what sites of one row have in common, to be compared.
func (s Site) Row() Site {
	k := s.key()
	return Site{Function: k.function, File: k.file, Module: k.module, Line: k.line, ByLine: s.ByLine, Size: k.size}
}

func (s Site) key() rowKey {
	k := rowKey{function: s.Function, file: s.File, module: s.Module, size: s.Size}
	if s.ByLine {
		k.line = s.Line
	}
	return k
}

// lineKey distinguishes the lines of a site, too.
func (s Site) lineKey() rowKey {
	k := s.key()
	k.line = s.Line
	return k
}

func sorted[K comparable](rows map[K]*Row, by Measure) []Row {
	var out []Row
	for _, r := range rows {
		out = append(out, *r)
	}
	slices.SortFunc(out, func(a, b Row) int {
		return cmp.Or(cmp.Compare(by.Of(b), by.Of(a)), cmp.Compare(a.Site.Function, b.Site.Function), cmp.Compare(a.Site.Line, b.Site.Line), cmp.Compare(a.Site.Module, b.Site.Module), cmp.Compare(a.Site.Size, b.Site.Size))
	})
	return out
}
