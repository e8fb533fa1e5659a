package heaps

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"hdb/capture"
	"hdb/heap/graph"
	"hdb/internal/cond"
	"hdb/memory"
	"hdb/query"
	"hdb/report"
	"hdb/session/recordings"
	"hdb/session/target"
)

// LeakQuestion says which blocks are asked for.
type LeakQuestion struct {
	Limit  int          // rows that are named
	Since  query.Moment // blocks that were allocated behind it; Present: all
	Cond   *cond.Cond   // nil: any. Of blocks without an event only the size and the address are known
	Strict bool         // those that language runtimes keep for themselves, too; what is held behind a header only is possibly lost
	Kinds  [4]bool      // by graph.Reach: which make rows

	Suppressions *report.Suppressions // of blocks that are left out; may be nil
	Snapshot     bool                 // while the program runs, a copy of its memory is searched
}

// Leaks are the answer to a LeakQuestion, by one of three bases.
type Leaks struct {
	ByReach *LeakAnswer   // memory was searched for who holds the blocks
	Live    *NotFreed     // it cannot be: blocks that were not freed, held or not
	Since   *query.Growth // it cannot be: the same, of those that were allocated behind a moment
	Why     error         // why memory was not searched, nil with ByReach
}

// NotFreed are stacks of blocks that were not freed.
type NotFreed struct {
	Rows  []query.StackRow
	Total int
	Kept  query.Kept
}

// A LeakRow is the blocks of a stack that are held in one way.
type LeakRow struct {
	memory.LeakRow
	query.StackRow              // with the stack of blocks that have one
	Block          memory.Block // the largest
	Members        []string     // of Circles: what the blocks are
}

// Doubts are what makes it less certain who holds the blocks.
type Doubts = memory.Doubts

// LeakAnswer is what leaks answers from memory.
type LeakAnswer struct {
	Rows     []LeakRow
	Total    int           // rows of the kinds that were asked for
	Sums     [4]graph.Sum  // by graph.Reach, of all kinds
	Usable   [4]graph.Sum  // of Sums: blocks that no recording has, with usable sizes; of the others it is what was asked for
	Behind   memory.Behind // of those still reachable: held behind a header only
	Headers  []Header      // of these, the most frequent first
	Kept     query.Kept    // what is left out
	Go       [4]graph.Sum  // by graph.Reach, of blocks of a Go runtime: what nothing points to of them is collected
	GoRows   []GoRow       // of these, the largest first
	GoTotal  int           // rows in all
	GoKnown  bool          // its heap was read
	GoError  error         // there is one whose heap is not known, for this reason
	Recorded bool          // there is a recording: blocks without stack were made before it or are not in it
	Elapsed  time.Duration // from Since on; 0 without
	Doubts   memory.Doubts
	Copy     *Copy // of a copy of the memory
}

// Mixed reports whether sums add sizes that were asked for and usable ones.
func (a *LeakAnswer) Mixed() bool {
	blocks, usable := 0, 0
	for k := range a.Sums {
		blocks += a.Sums[k].Blocks
		usable += a.Usable[k].Blocks
	}
	return usable > 0 && usable < blocks
}

// Why memory cannot be searched for who holds the blocks.
var (
	errSumsAlone = errors.New("the recording has per-stack totals only, and no single blocks")
	errNoMemory  = errors.New("a capture has no memory to search for pointers to them")
	errEnded     = errors.New("the program has ended, and its memory is gone")
)

// LeaksByReach reports whether memory can be searched for who holds the blocks, or why not.
func (h *Heap) LeaksByReach() error {
	switch {
	case h.target.Saved != nil:
		return errNoMemory
	case h.target.Image == nil:
		return errEnded
	}
	if err := h.target.Readable(); err != nil {
		return err
	}
	if h.recorded.NoEvents() != nil {
		return errSumsAlone
	}
	return nil
}

// FindLeaks answers by reach where memory, or a copy of it, can be searched for who holds the blocks, and else by
// what the recording has that was not freed.
func (h *Heap) FindLeaks(ctx context.Context, q LeakQuestion) (a *Leaks, err error) {
	a = &Leaks{}
	if q.Snapshot && h.Running() {
		if h.recorded.NoEvents() != nil {
			return nil, errSumsAlone
		}
		c, err := h.fromCopy(func() (err error) {
			a.ByReach, err = h.Leaks(ctx, q)
			return err
		})
		if err != nil {
			return nil, err
		}
		a.ByReach.Copy = &c
		return a, nil
	}
	if a.Why = h.LeaksByReach(); a.Why == nil {
		a.ByReach, err = h.Leaks(ctx, q)
		return a, err
	}
	switch {
	case q.Cond != nil:
		return nil, fmt.Errorf("if: %w; `live if CONDITION` lists live blocks", a.Why)
	case q.Since.IsPresent():
		a.Live = &NotFreed{}
		a.Live.Rows, a.Live.Total, a.Live.Kept, err = h.queries.Leaks(q.Limit, q.Strict, q.Suppressions)
	default:
		a.Since, err = h.queries.StacksSince(q.Since, q.Limit, q.Strict, q.Suppressions)
	}
	return a, err
}

// Lost adds up the blocks that nothing holds, with those that no recording knows.
func (h *Heap) Lost(ctx context.Context) (sum graph.Sum, err error) {
	if err := h.LeaksByReach(); err != nil {
		return sum, err
	}
	a, err := h.Leaks(ctx, LeakQuestion{Strict: true})
	if err != nil {
		return sum, err
	}
	for _, k := range []graph.Reach{graph.Definite, graph.Indirect} {
		sum.Blocks += a.Sums[k].Blocks
		sum.Bytes += a.Sums[k].Bytes
	}
	return sum, nil
}

// Leaks adds up the live blocks by how they are held and by stack.
func (h *Heap) Leaks(ctx context.Context, q LeakQuestion) (*LeakAnswer, error) {
	m, err := h.Image()
	if err != nil {
		return nil, err
	}
	r, err := h.recording()
	if err != nil {
		return nil, err
	}
	if err := h.noBlocks(m, r); err != nil {
		return nil, err
	}
	keep, err := h.keep(ctx, m, r, q)
	if err != nil {
		return nil, err
	}
	var stacks *query.BlockStacks
	alike := func(id capture.StackID) capture.StackID { return id }
	if r != nil {
		from, err := r.After(q.Since)
		if err != nil {
			return nil, err
		}
		stacks = r.BlockStacks(from, q.Strict, q.Suppressions)
		alike = stacks.Of
	}
	l, err := m.Leaks(ctx, alike, keep, h.types.holds(m), q.Strict)
	if err != nil {
		return nil, err
	}
	a := &LeakAnswer{Recorded: r != nil, Doubts: m.Doubts(), Kept: query.Kept{Suppressed: q.Suppressions.Count()}}
	if r != nil && !q.Since.IsPresent() {
		a.Elapsed = r.Elapsed(q.Since)
	}
	for i := range l.Rows {
		if row := &l.Rows[i]; h.counts(a, m, stacks, row) {
			a.add(&q, m, stacks, row)
		}
	}
	for i := range a.Rows {
		a.Rows[i].nameCircle(h.types, m, r)
	}
	if a.Behind.Blocks > 0 {
		if a.Headers, err = h.headers(ctx, m, r); err != nil {
			return nil, err
		}
	}
	goHeap, goErr := m.Go()
	if a.GoKnown, a.GoError = goHeap != nil, goErr; a.GoKnown {
		a.Go = l.Go
		if err := h.goRows(ctx, m, l, stacks, keep, a, q.Limit); err != nil {
			return nil, err
		}
	}
	return a, ctx.Err()
}

// noBlocks tells why no block is known, neither by a walk of the heap nor by a recording; nil if some are.
func (h *Heap) noBlocks(m *memory.Image, r *query.Recording) error {
	walk := m.Walkable()
	switch {
	case walk == nil:
		return nil
	case r == nil:
		if _, err := h.queries.BlockEvents(); !h.Unrecorded(err) && h.target.Mode() == target.Live {
			return err
		}
		return walk
	case h.recorded.NoAllocatorKnown():
		return fmt.Errorf("%w; %w", walk, recordings.ErrUnfollowed)
	}
	return nil
}

// counts reports whether a row is among those that the question is about, and adds it to what is left out if not.
func (h *Heap) counts(a *LeakAnswer, m *memory.Image, stacks *query.BlockStacks, row *memory.LeakRow) bool {
	one := -1
	if row.Stack != 0 {
		one = stacks.Suppressed(row.Stack, leakKinds[row.Reach])
	}
	switch {
	case one >= 0:
		a.Kept.Suppressed.Add(one, row.Blocks, row.Bytes)
	case row.Go: // GoRows has it
	case row.Stack != 0 && h.madeByGo(m.Block(row.Largest).Seq): // its heap was not read
		a.Go[graph.Reachable].Blocks += int(row.Blocks)
		a.Go[graph.Reachable].Bytes += row.Bytes
	case row.Stack != 0 && stacks.Owned(row.Stack):
		a.Kept.Bytes += row.Bytes
		a.Kept.Blocks += row.Blocks
	default:
		return true
	}
	return false
}

// add adds a row to the sums, and shows it if it is of a kind that is asked for and there is room.
func (a *LeakAnswer) add(q *LeakQuestion, m *memory.Image, stacks *query.BlockStacks, row *memory.LeakRow) {
	a.Sums[row.Reach].Blocks += int(row.Blocks)
	a.Sums[row.Reach].Bytes += row.Bytes
	a.Usable[row.Reach].Blocks += row.Usable.Blocks
	a.Usable[row.Reach].Bytes += row.Usable.Bytes
	a.Behind.Add(row.Behind)
	if !q.Kinds[row.Reach] {
		return
	}
	if a.Total++; a.Total > q.Limit {
		return
	}
	out := LeakRow{LeakRow: *row, Block: m.Block(row.Largest)}
	if row.Stack != 0 {
		out.StackRow = stacks.Row(row.Stack)
	}
	a.Rows = append(a.Rows, out)
}

// maxMembers is how many blocks of a circle are named.
const maxMembers = 32

// nameCircle names the blocks of the circle: by their types, or else by the functions that they belong to.
func (row *LeakRow) nameCircle(types *BlockTypes, m *memory.Image, r *query.Recording) {
	for _, i := range row.Circles.Blocks[:min(len(row.Circles.Blocks), maxMembers)] {
		b, name := m.Block(i), "a block"
		if r != nil && b.Stack != 0 {
			name += " of " + r.Site(b.Stack, b.Seq).Function
		}
		if typ := types.Of(&b); typ != nil && !typ.Unnamed() {
			name = typ.Object()
		}
		row.Members = append(row.Members, name)
	}
}

// A Header is what users of a function's blocks skip: they have pointers behind it.
type Header struct {
	graph.Header
	Function string `json:"function,omitempty"` // that the blocks belong to; "": no stack is known, and these are all of such sizes as have it
}

// maxHeaders are named.
const maxHeaders = 8

// headers are those of all blocks that are held behind one only.
func (h *Heap) headers(ctx context.Context, m *memory.Image, r *query.Recording) (all []Header, err error) {
	g, err := m.Graph(ctx)
	if err != nil {
		return nil, err
	}
	at := map[uint64]int{} // those without a function, by offset
	for _, x := range g.BehindSums().Headers {
		b := m.Block(x.Block)
		out := Header{Header: x}
		if r != nil && b.Stack != 0 {
			out.Function = r.Site(b.Stack, b.Seq).Function
		} else if i, ok := at[x.Offset]; ok {
			all[i].Blocks, all[i].Of, all[i].Heads = all[i].Blocks+x.Blocks, all[i].Of+x.Of, all[i].Heads+x.Heads
			continue
		} else {
			at[x.Offset] = len(all)
		}
		if all = append(all, out); len(all) == maxHeaders {
			break
		}
	}
	slices.SortStableFunc(all, func(a, b Header) int { return b.Heads - a.Heads })
	return all, nil
}

// madeByGo tells a recorded event of a Go runtime.
func (h *Heap) madeByGo(seq uint64) bool {
	src := h.recorded.Source()
	if seq == 0 || src == nil {
		return false
	}
	e, ok := src.Event(seq)
	fns := src.Functions()
	return ok && int(e.Func) < len(fns) && capture.OfGo(fns[e.Func])
}

// leakKinds are the ways in which blocks are held, in the terms of suppressions.
var leakKinds = [4]report.LeakKind{
	graph.Definite: report.LeakDefinite, graph.Indirect: report.LeakIndirect, graph.Possible: report.LeakPossible, graph.Reachable: report.LeakReachable,
}

// recording is what questions about the blocks' stacks are asked of, nil without.
func (h *Heap) recording() (*query.Recording, error) {
	if h.target.Mode() != target.Live {
		return nil, nil
	}
	r, err := h.queries.BlockEvents()
	if err != nil && h.target.Reading.GivenUp() {
		return nil, h.target.Reading.Cut()
	}
	if err != nil {
		return nil, nil // nothing is recorded
	}
	return r, nil
}

// keep tells which blocks are asked for, nil all.
func (h *Heap) keep(ctx context.Context, m *memory.Image, r *query.Recording, q LeakQuestion) (func(memory.Block) bool, error) {
	if q.Cond == nil && q.Since.IsPresent() {
		return nil, nil
	}
	if r == nil && !q.Since.IsPresent() {
		_, err := h.queries.BlockEvents()
		return nil, err
	}
	var of map[uint64]bool
	if r != nil {
		from, err := r.After(q.Since)
		if err != nil {
			return nil, err
		}
		if q.Cond == nil {
			return func(b memory.Block) bool { return b.Seq > from }, nil
		}
		if of, err = r.Matching(ctx, q.Cond, from); err != nil {
			return nil, err
		}
	}
	older := func(b memory.Block) bool { return q.Cond.Eval(blockEnv{&b}) }
	if q.Since.IsPresent() && q.Cond.UsesPredicate(cond.Type) {
		types, err := h.types.ofImage(ctx, m, true)
		if err != nil {
			return nil, err
		}
		older = func(b memory.Block) bool {
			i, ok := m.Find(b.Addr)
			return ok && types.matches(q.Cond, i, &b)
		}
	}
	return func(b memory.Block) bool {
		if b.Seq != 0 {
			return of[b.Seq]
		}
		return q.Since.IsPresent() && older(b)
	}, nil
}

// blockEnv is what a condition can ask of a block whose event is not known.
type blockEnv struct{ b *memory.Block }

func (e blockEnv) Number(f cond.Field) (uint64, bool) {
	switch f {
	case cond.Size:
		return e.b.Size, true
	case cond.Addr:
		return e.b.Addr, true
	}
	return 0, false
}

func (blockEnv) Func(string) bool   { return false }
func (blockEnv) Module(string) bool { return false }
func (blockEnv) Caller(string) bool { return false }
func (blockEnv) PyFile(string) bool { return false }
func (blockEnv) Like(string) bool   { return false }
func (blockEnv) Kind(string) bool   { return false }
func (blockEnv) Type(string) bool   { return false }
func (blockEnv) ThreadName() string { return "" }
