package heap

import (
	"cmp"
	"slices"

	"hdb/capture"
)

// A Site is the place in the source that allocations are counted for.
type Site struct {
	Function string
	Linkage  string // what the linker calls it, "" when that is the same
	File     string // "" unknown
	Line     int    // 0 unknown
	Module   string
	Sure     bool // named by debug info, not by a symbol table
}

// A Row is what one function allocated. Bytes are those asked for.
type Row struct {
	Site       Site
	Bytes      uint64 // allocated in all
	Count      uint64 // allocations
	LiveBytes  uint64 // not given back
	LiveBlocks uint64
}

// Measure is what rows are sorted by, largest first.
type Measure uint8

// The measures.
const (
	ByLive  Measure = iota // bytes not given back
	ByBytes                // bytes allocated in all
	ByCount                // number of allocations
)

// Measures are the words for them, in their order.
var Measures = [...]string{"live", "bytes", "count"}

func (m Measure) String() string { return Measures[m] }

func (m Measure) of(r Row) uint64 {
	switch m {
	case ByBytes:
		return r.Bytes
	case ByCount:
		return r.Count
	}
	return r.LiveBytes
}

// Top sums the allocations of src by function; site names the place of a stack
// as it was at the event. Rows of the same size keep the order of their names.
func Top(src capture.Source, by Measure, site func(id capture.StackID, seq uint64) Site) []Row {
	rows := map[rowKey]*Row{}
	row := func(id capture.StackID, seq uint64) *Row {
		s := site(id, seq)
		k := rowKey{s.Function, s.File, s.Module}
		r := rows[k]
		if r == nil {
			r = &Row{Site: s}
			rows[k] = r
		}
		return r
	}
	live := NewLive()
	for e := range src.Events(0) {
		live.Follow(&e, false)
		if e.Allocates() {
			r := row(e.Stack, e.Seq)
			r.Bytes += e.Size
			r.Count++
		}
	}
	for _, b := range live.All() {
		r := row(b.Stack, b.Seq)
		r.LiveBytes += b.Size
		r.LiveBlocks++
	}
	return sorted(rows, by)
}

type rowKey struct{ function, file, module string }

func sorted[K comparable](rows map[K]*Row, by Measure) []Row {
	var out []Row
	for _, r := range rows {
		out = append(out, *r)
	}
	slices.SortFunc(out, func(a, b Row) int {
		return cmp.Or(-cmp.Compare(by.of(a), by.of(b)), cmp.Compare(a.Site.Function, b.Site.Function), cmp.Compare(a.Site.Line, b.Site.Line), cmp.Compare(a.Site.Module, b.Site.Module))
	})
	return out
}
