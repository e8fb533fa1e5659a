package heaps

import (
	"cmp"
	"context"
	"slices"

	"hdb/capture"
	"hdb/heap"
	"hdb/heap/graph"
	"hdb/heap/regions"
	"hdb/internal/addr"
	"hdb/memory"
	"hdb/query"
	"hdb/session/recordings"
)

// A RetainedRow is the blocks of a site, or of a type, and what only they keep alive.
type RetainedRow struct {
	Site     heap.Site
	Live     graph.Sum
	Retained graph.Sum // with Live
}

// RetainedAnswer is what groups of blocks keep alive, the most first.
type RetainedAnswer struct {
	Rows    []RetainedRow
	Doubts  memory.Doubts
	Unknown graph.Sum // per type: blocks of Go of no type that is known, which have no row
}

// TopRetained tells for each function, line, module or type which bytes only its blocks keep alive: what would go if
// nothing pointed to any of them. A block counts once in a row, and in each row that all ways to it lead through.
// Blocks of which neither stack nor type is known have no row.
func (h *Heap) TopRetained(ctx context.Context, per query.Per) (*RetainedAnswer, error) {
	if err := h.LeaksByReach(); err != nil {
		return nil, err
	}
	r, err := h.recording()
	if err != nil {
		return nil, err
	}
	if r == nil && per != query.PerType && per != query.PerGlobal {
		_, err := h.queries.BlockEvents()
		return nil, cmp.Or(err, recordings.ErrNothingRecorded)
	}
	m, err := h.Image()
	if err != nil {
		return nil, err
	}
	if err := m.Walkable(); err != nil && m.Len() == 0 {
		return nil, err
	}
	g, err := m.Graph(ctx)
	if err != nil {
		return nil, err
	}
	a := &RetainedAnswer{Doubts: m.Doubts()}
	if per == query.PerGlobal {
		return a, h.retainedByGlobals(ctx, g, a)
	}
	s := siteGroups{at: map[heap.Site]uint32{}, byStack: map[capture.StackID]uint32{}}
	if r != nil {
		s.ofStack = r.Sites(per)
	}
	if per == query.PerType {
		if s.types, err = h.types.ofImage(ctx, m, true); err != nil {
			return nil, err
		}
	}
	of := make([]uint32, m.Len())
	for i, b := range m.Blocks() {
		if i&1023 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if of[i] = s.group(i, &b); of[i] != graph.NoGroup {
			s.sites[of[i]].Live.Blocks++
			s.sites[of[i]].Live.Bytes += b.Size
		} else if s.types != nil && s.types.ofGo(&b) {
			a.Unknown.Blocks++
			a.Unknown.Bytes += atSlotSize(m, b).Size
		}
	}
	a.Rows = s.join(of)
	sums, err := g.RetainedBy(ctx, of, len(a.Rows))
	if err != nil {
		return nil, err
	}
	a.take(sums)
	return a, nil
}

// take gives the rows what they retain, and orders them.
func (a *RetainedAnswer) take(sums []graph.Sum) {
	for i := range a.Rows {
		a.Rows[i].Retained = sums[i]
	}
	slices.SortFunc(a.Rows, func(a, b RetainedRow) int {
		return cmp.Or(cmp.Compare(b.Retained.Bytes, a.Retained.Bytes), cmp.Compare(b.Retained.Blocks, a.Retained.Blocks),
			cmp.Compare(a.Site.Function, b.Site.Function), cmp.Compare(a.Site.Line, b.Site.Line), cmp.Compare(a.Site.Module, b.Site.Module))
	})
}

// retainedByGlobals makes the rows of global variables: what would go if a variable pointed to nothing. Live is what it points to
// itself.
func (h *Heap) retainedByGlobals(ctx context.Context, g *memory.Graph, a *RetainedAnswer) error {
	at := map[heap.Site]uint32{}
	type held struct {
		group uint32
		block int
	}
	seen := map[held]bool{}
	of := func(e graph.Edge) uint32 {
		r := g.Root(e)
		if r.Kind != memory.InRegion || e.At == 0 || r.Region.Kind != regions.Data && r.Region.Kind != regions.BSS {
			return graph.NoGroup
		}
		site := heap.Site{Function: addr.Run(e.At).String(), Module: r.Region.Module, Sure: true}
		if sym, err := h.target.Names.Symbols.At(addr.Run(e.At)); err == nil {
			site.Function = sym.Name
		}
		k, ok := at[site]
		if !ok {
			k = uint32(len(a.Rows))
			at[site] = k
			a.Rows = append(a.Rows, RetainedRow{Site: site})
		}
		if !seen[held{k, e.To}] {
			seen[held{k, e.To}] = true
			a.Rows[k].Live.Blocks++
			a.Rows[k].Live.Bytes += g.Block(e.To).Size
		}
		return k
	}
	for e := range g.RootEdges() { // all groups are known then
		of(e)
	}
	sums, err := g.RetainedByRoots(ctx, of, len(a.Rows))
	if err != nil {
		return err
	}
	a.take(sums)
	return ctx.Err()
}

// siteGroups numbers the sites that blocks belong to.
type siteGroups struct {
	sites   []RetainedRow // of which lines of one function may have several
	at      map[heap.Site]uint32
	byStack map[capture.StackID]uint32
	ofStack func(id capture.StackID) heap.Site
	types   *imageTypes // nil: rows represent something else
}

// group is the number of the row of block i, or graph.NoGroup.
func (s *siteGroups) group(i int, b *memory.Block) uint32 {
	if s.types != nil {
		if t := s.types.of(i, b); t != nil {
			return s.number(query.TypeSite(t))
		}
		if s.types.ofGo(b) {
			return graph.NoGroup
		}
	}
	if b.Seq == 0 {
		return graph.NoGroup
	}
	k, ok := s.byStack[b.Stack]
	if !ok {
		site := s.ofStack(b.Stack)
		if s.types != nil {
			site = query.UntypedSite(site)
		}
		k = s.number(site)
		s.byStack[b.Stack] = k
	}
	return k
}

// number is the number of a site.
func (s *siteGroups) number(site heap.Site) uint32 {
	k, ok := s.at[site]
	if !ok {
		k = uint32(len(s.sites))
		s.at[site] = k
		s.sites = append(s.sites, RetainedRow{Site: site})
	}
	return k
}

// join adds up the sites of a row, as top does, and turns the numbers of sites into those of rows. A row has the line
// with the most live bytes.
func (s *siteGroups) join(of []uint32) (rows []RetainedRow) {
	numbers, byRow := make([]uint32, len(s.sites)), map[heap.Site]uint32{}
	largest := []uint64{} // live bytes of the line that a row has
	for i := range s.sites {
		site := &s.sites[i]
		k, ok := byRow[site.Site.Row()]
		if !ok {
			k = uint32(len(rows))
			byRow[site.Site.Row()] = k
			rows, largest = append(rows, RetainedRow{Site: site.Site}), append(largest, site.Live.Bytes)
		}
		r := &rows[k]
		if more := site.Live.Bytes; more > largest[k] || more == largest[k] && site.Site.Line < r.Site.Line {
			r.Site, largest[k] = site.Site, more
		}
		r.Live.Blocks += site.Live.Blocks
		r.Live.Bytes += site.Live.Bytes
		numbers[i] = k
	}
	for i, k := range of {
		if k != graph.NoGroup {
			of[i] = numbers[k]
		}
	}
	return rows
}
