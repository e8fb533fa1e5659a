package query

import (
	"context"

	"hdb/capture"
	"hdb/heap"
	"hdb/internal/cond"
	"hdb/report"
)

// BlockStacks describes the stacks of blocks that are found otherwise than by the recording, as by
// how they are reached in memory.
type BlockStacks struct {
	r         *Recording
	alike     *alikeStacks
	owned     func(capture.StackID) bool
	hides     func(capture.StackID, report.LeakKind) int
	allocated map[capture.StackID]heap.Row // by the stack that others are taken for
}

// BlockStacks is for the stacks of the recording. What was allocated with one counts behind event
// #from; see Leaks for strict and suppressions.
func (r *Recording) BlockStacks(from uint64, strict bool, hide *report.Suppressions) *BlockStacks {
	s := &BlockStacks{r: r, alike: r.alikeStacks(), allocated: map[capture.StackID]heap.Row{}}
	s.owned, s.hides = s.alike.runtimeOwned(strict), s.alike.suppressed(hide)
	now := r.Index.Totals(r.Moment)
	for i := range now.Flows {
		f := &now.Flows[i]
		if f.Allocs == 0 {
			continue
		}
		id := s.alike.of(f.Stack)
		row := s.allocated[id]
		row.Bytes += f.Bytes
		row.Count += f.Allocs
		row.Temporary += f.Temporary
		s.allocated[id] = row
	}
	if from == 0 {
		return s
	}
	before := r.Index.Totals(from)
	for i := range before.Flows {
		f := &before.Flows[i]
		if f.Allocs == 0 {
			continue
		}
		id := s.alike.of(f.Stack)
		row := s.allocated[id]
		row.Bytes -= f.Bytes
		row.Count -= f.Allocs
		row.Temporary -= min(row.Temporary, f.Temporary)
		s.allocated[id] = row
	}
	return s
}

// Of is the stack that one is taken for.
func (s *BlockStacks) Of(id capture.StackID) capture.StackID { return s.alike.of(id) }

// Owned reports whether language runtimes keep the blocks of a stack for themselves.
func (s *BlockStacks) Owned(id capture.StackID) bool { return s.owned(id) }

// Suppressed is the suppression that applies to the blocks of a stack which are held in a way, -1 none.
func (s *BlockStacks) Suppressed(id capture.StackID, how report.LeakKind) int {
	return s.hides(id, how)
}

// Row is what was allocated with a stack in all, and its frames; how much of it is live is left to the caller.
func (s *BlockStacks) Row(id capture.StackID) StackRow {
	row := s.allocated[id]
	row.Site = s.r.Site(id, s.r.Index.Named(id))
	return StackRow{row, s.r.namedStack(id)}
}

// Matching are the numbers of the events that made the blocks which are live, were allocated
// behind #from, and match the condition, which may be nil.
func (r *Recording) Matching(ctx context.Context, c *cond.Cond, from uint64) (map[uint64]bool, error) {
	blocks := r.heldSince(from)
	if c != nil {
		var err error
		if blocks, err = r.matching(ctx, blocks, c); err != nil {
			return nil, err
		}
	}
	out := make(map[uint64]bool, len(blocks))
	for i := range blocks {
		out[blocks[i].Seq] = true
	}
	return out, nil
}
