package query

import (
	"cmp"
	"context"
	"slices"

	"hdb/capture"
	"hdb/internal/cond"
	"hdb/recording"
)

// LiveBlocks are blocks that are live at the moment.
type LiveBlocks struct {
	Largest []*recording.Event // that made them, largest first, the older of two alike first
	Blocks  int                // all
	Bytes   uint64             // of them
}

// Live returns the blocks that were allocated behind since, are live at the moment and match
// the condition, which may be nil, with the events of the largest ones, at most limit; 0 is all.
// Since Present is of all blocks.
func (r *Recording) Live(ctx context.Context, c *cond.Cond, since Moment, limit int) (*LiveBlocks, error) {
	from, err := r.After(since)
	if err != nil {
		return nil, err
	}
	blocks := r.heldSince(from)
	if c != nil {
		if blocks, err = r.matching(ctx, blocks, c); err != nil {
			return nil, err
		}
	}
	out := &LiveBlocks{Blocks: len(blocks)}
	for i := range blocks {
		out.Bytes += blocks[i].Size
	}
	slices.SortStableFunc(blocks, func(a, b capture.Held) int { return cmp.Compare(b.Size, a.Size) })
	if limit > 0 && len(blocks) > limit {
		blocks = blocks[:limit]
	}
	out.Largest = make([]*recording.Event, len(blocks))
	order := make([]int, len(blocks)) // by number, so that no part of the recording is read twice
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(blocks[a].Seq, blocks[b].Seq) })
	for _, i := range order {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		e, ok := r.Source.Event(blocks[i].Seq)
		if !ok { // lost with a damaged part
			e = blocks[i].Event()
		}
		out.Largest[i] = withName(r.Source, e)
	}
	return out, nil
}

// matching returns the blocks whose events match the condition.
func (r *Recording) matching(ctx context.Context, blocks []capture.Held, c *cond.Cond) ([]capture.Held, error) {
	env := r.newEnvironment()
	env.live = true
	var err error
	interrupted := func() bool {
		err = ctx.Err()
		return err != nil
	}
	if !slices.ContainsFunc([]cond.Field{cond.Old, cond.Align, cond.Count, cond.Live, cond.Blocks}, c.Uses) {
		return slices.DeleteFunc(blocks, func(b capture.Held) bool {
			return interrupted() || !c.Eval(env.at(withName(r.Source, b.Event()), nil))
		}), err
	}
	var out []capture.Held
	for step := range r.Index.Steps(0) {
		for len(blocks) > 0 && blocks[0].Seq < step.Seq {
			blocks = blocks[1:]
		}
		if len(blocks) == 0 || interrupted() {
			break
		}
		if step.Seq == blocks[0].Seq && c.Eval(env.at(withName(r.Source, step.Event), step)) {
			out = append(out, blocks[0])
		}
	}
	return out, err
}
