package query

import (
	"cmp"
	"slices"
	"time"

	"hdb/capture"
	"hdb/heap"
	"hdb/report"
)

// A Growth is the blocks that were allocated behind a moment and are live at the recording's.
type Growth struct {
	Rows          []StackRow    // the largest; what they allocated counts from the moment on
	Total         int           // stacks
	Bytes, Blocks uint64        // of all
	Kept          Kept          // what is left out
	Elapsed       time.Duration // between the two moments
}

// StacksSince are the stacks of the blocks that were allocated behind a moment and are live now,
// at most limit of them; see Leaks for strict and suppressions.
func (r *Recording) StacksSince(since Moment, limit int, strict bool, s *report.Suppressions) (*Growth, error) {
	from, to, err := r.between(since, Present)
	if err != nil {
		return nil, err
	}
	before, now := r.Index.Totals(from), r.Index.Totals(to)
	g := &Growth{Elapsed: r.elapsed(since, from, to)}
	rows := map[capture.StackID]*heap.Row{}
	alike := r.alikeStacks()
	for _, b := range r.heldSince(from) {
		id := alike.of(b.Stack)
		row := rows[id]
		if row == nil {
			row = &heap.Row{}
			rows[id] = row
		}
		row.LiveBytes += b.Size
		row.LiveBlocks++
	}
	owned, suppressed := alike.runtimeOwned(strict), alike.suppressed(s)
	g.Kept.Suppressed = s.Count()
	var ids []capture.StackID
	for id, row := range rows {
		if one := suppressed(id, report.LeakAny); one >= 0 {
			g.Kept.Suppressed.Add(one, row.LiveBlocks, row.LiveBytes)
			continue
		}
		if owned(id) {
			g.Kept.add(row)
			continue
		}
		g.Bytes += row.LiveBytes
		g.Blocks += row.LiveBlocks
		ids = append(ids, id)
	}
	for i := range now.Flows {
		f := &now.Flows[i]
		if row := rows[alike.of(f.Stack)]; row != nil {
			row.Bytes += f.Bytes
			row.Count += f.Allocs
			row.Temporary += f.Temporary
		}
	}
	for i := range before.Flows {
		f := &before.Flows[i]
		if row := rows[alike.of(f.Stack)]; row != nil {
			row.Bytes -= f.Bytes
			row.Count -= f.Allocs
			row.Temporary -= min(row.Temporary, f.Temporary)
		}
	}
	slices.SortFunc(ids, func(a, b capture.StackID) int {
		return cmp.Or(cmp.Compare(rows[b].LiveBytes, rows[a].LiveBytes), cmp.Compare(rows[b].LiveBlocks, rows[a].LiveBlocks), cmp.Compare(a, b))
	})
	g.Total = len(ids)
	for _, id := range ids[:min(limit, len(ids))] {
		rows[id].Site = r.Site(id, r.Index.Named(id))
		g.Rows = append(g.Rows, StackRow{*rows[id], r.namedStack(id)})
	}
	return g, nil
}

// Elapsed is the time from a moment of the recording to the moment of the answers.
func (r *Recording) Elapsed(since Moment) time.Duration {
	from, to, err := r.between(since, Present)
	if err != nil {
		return 0
	}
	return r.elapsed(since, from, to)
}

func (r *Recording) elapsed(since Moment, from, to uint64) time.Duration {
	before, now := r.Index.Totals(from), r.Index.Totals(to)
	return max(capture.Resolution, r.timeAt(Present, to, now)-r.timeAt(since, from, before))
}

// heldSince are the blocks that were allocated behind event #from and are live.
func (r *Recording) heldSince(from uint64) []capture.Held {
	blocks := r.Index.Held(r.Moment)
	i, _ := slices.BinarySearchFunc(blocks, from+1, func(b capture.Held, seq uint64) int { return cmp.Compare(b.Seq, seq) })
	return blocks[i:]
}
