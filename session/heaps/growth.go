package heaps

import (
	"context"
	"time"

	"hdb/capture"
	"hdb/heap/graph"
	"hdb/memory"
	"hdb/query"
	"hdb/report"
)

// GrowthQuestion says which growth is asked for.
type GrowthQuestion struct {
	Moments []query.Moment // at which live bytes are compared, and now; empty: query.Recording.GrowthMoments
	Over    time.Duration  // of the time up to now, without moments; 0: not told
	Limit   int            // rows that are named
	Strict  bool           // what language runtimes keep for themselves, too
	Lost    bool           // stacks of which blocks are lost
	Held    bool           // stacks whose blocks are all still reachable

	Suppressions *report.Suppressions // of blocks that are left out; may be nil
	Snapshot     bool                 // while the program runs, a copy of its memory is searched
}

// A GrowthRow is a stack whose live bytes grew from moment to moment.
type GrowthRow struct {
	query.StackRow
	Live []query.Amount // at the moments
	Held [4]graph.Sum   // by graph.Reach: how its blocks are held now
}

// Grown is how much more is live at the last moment than at the first.
func (r *GrowthRow) Grown() (bytes, blocks int64) {
	first, last := r.Live[0], r.Live[len(r.Live)-1]
	return int64(last.Bytes - first.Bytes), int64(last.Blocks) - int64(first.Blocks)
}

// GrowthAnswer is the stacks whose live bytes grew from moment to moment.
type GrowthAnswer struct {
	Instants []query.Instant
	Elapsed  time.Duration // from the first moment to the last
	Rows     []GrowthRow   // what grew most first
	Total    int           // rows that were asked for
	Others   int           // rows that were not: all of their blocks are held in the other way
	Unsteady int           // stacks that grew from the first moment to the last, but not at each
	Kept     query.Kept
	Why      error // why memory was not searched for who holds the blocks, nil if it was; all rows are asked for then
	Doubts   memory.Doubts
	Copy     *Copy // of a copy of the memory
}

// Growth tells the stacks whose live bytes grew from moment to moment, and how their blocks are held now, if
// memory, or a copy of it, can be searched for that.
func (h *Heap) Growth(ctx context.Context, q GrowthQuestion) (a *GrowthAnswer, err error) {
	if !q.Snapshot || !h.Running() {
		return h.growth(ctx, q)
	}
	c, err := h.fromCopy(func() (err error) {
		a, err = h.growth(ctx, q)
		return err
	})
	if err != nil {
		return nil, err
	}
	a.Copy = &c
	return a, nil
}

func (h *Heap) growth(ctx context.Context, q GrowthQuestion) (*GrowthAnswer, error) {
	r, err := h.queries.BlockEvents()
	if err != nil {
		return nil, err
	}
	moments, last := q.Moments, query.Present
	if h.recorded.Over() {
		last = r.Working()
	}
	if len(moments) == 0 {
		if moments, err = r.GrowthMoments(q.Over, last); err != nil {
			return nil, err
		}
	}
	g, err := r.Growing(moments, last, q.Strict, q.Suppressions)
	if err != nil {
		return nil, err
	}
	a := &GrowthAnswer{Instants: g.Instants, Elapsed: g.Elapsed(), Kept: g.Kept, Unsteady: g.Unsteady}
	var held map[capture.StackID][4]graph.Sum
	if h.copied == nil {
		a.Why = h.LeaksByReach()
	}
	if a.Why == nil {
		if held, a.Doubts, err = h.heldByStack(ctx, g.AsStack, q.Strict); err != nil {
			return nil, err
		}
	}
	for i := range g.Rows {
		row := &g.Rows[i]
		how := held[row.Stack]
		lost := how[graph.Definite].Blocks+how[graph.Indirect].Blocks+how[graph.Possible].Blocks > 0
		if a.Why == nil && (lost && !q.Lost || !lost && !q.Held) {
			a.Others++
			continue
		}
		if a.Total++; a.Total <= q.Limit {
			a.Rows = append(a.Rows, GrowthRow{g.Named(row), row.Live, how})
		}
	}
	return a, ctx.Err()
}

// heldByStack are the live blocks by the stacks that made them and how they are held.
func (h *Heap) heldByStack(ctx context.Context, alike func(capture.StackID) capture.StackID, strict bool) (map[capture.StackID][4]graph.Sum, memory.Doubts, error) {
	m, err := h.Image()
	if err != nil {
		return nil, memory.Doubts{}, err
	}
	l, err := m.Leaks(ctx, alike, nil, nil, strict)
	if err != nil {
		return nil, memory.Doubts{}, err
	}
	held := map[capture.StackID][4]graph.Sum{}
	for i := range l.Rows {
		row := &l.Rows[i]
		sums := held[row.Stack]
		sums[row.Reach] = graph.Sum{Blocks: int(row.Blocks), Bytes: row.Bytes}
		held[row.Stack] = sums
	}
	return held, m.Doubts(), nil
}
