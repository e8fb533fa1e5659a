package session

import (
	"cmp"
	"context"
	"slices"

	"hdb/capture"
	"hdb/heap"
	"hdb/internal/cond"
)

// LiveBlocks are blocks that are live at the moment.
type LiveBlocks struct {
	Largest []*Event // that made them, largest first, the older of two alike first
	Blocks  int      // all
	Bytes   uint64   // of them
}

// Live are the recorded blocks that match the condition and are live at the moment,
// with the events of the largest; limit 0 is of all.
func (s *Session) Live(ctx context.Context, c *cond.Cond, limit int) (*LiveBlocks, error) {
	src, x, err := s.countedEvents()
	if err != nil {
		return nil, err
	}
	blocks := x.Held(s.moment())
	if c != nil {
		if blocks, err = s.matching(ctx, src, x, blocks, c); err != nil {
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
	out.Largest = make([]*Event, len(blocks))
	order := make([]int, len(blocks)) // by number, so that no part of the recording is read twice
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(blocks[a].Seq, blocks[b].Seq) })
	for _, i := range order {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		e, ok := src.Event(blocks[i].Seq)
		if !ok { // lost with a damaged part
			e = blocks[i].Event()
		}
		out.Largest[i] = withName(src, e)
	}
	return out, nil
}

// matching are those blocks whose events match the condition.
func (s *Session) matching(ctx context.Context, src capture.Source, x *heap.Index, blocks []capture.Held, c *cond.Cond) ([]capture.Held, error) {
	env := newRecordedEnv(s, src)
	var err error
	interrupted := func() bool {
		err = ctx.Err()
		return err != nil
	}
	if !slices.ContainsFunc([]cond.Field{cond.Old, cond.Align, cond.Count, cond.Live, cond.Blocks}, c.Uses) {
		return slices.DeleteFunc(blocks, func(b capture.Held) bool {
			return interrupted() || !c.Eval(env.at(withName(src, b.Event()), nil))
		}), err
	}
	var out []capture.Held
	for step := range x.Steps(0) {
		for len(blocks) > 0 && blocks[0].Seq < step.Seq {
			blocks = blocks[1:]
		}
		if len(blocks) == 0 || interrupted() {
			break
		}
		if step.Seq == blocks[0].Seq && c.Eval(env.at(withName(src, step.Event), step)) {
			out = append(out, blocks[0])
		}
	}
	return out, err
}
