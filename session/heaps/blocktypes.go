package heaps

import (
	"hdb/capture"
	"hdb/internal/addr"
	"hdb/memory"
	"hdb/query"
	"hdb/recording"
	"hdb/session/target"
	"hdb/session/variables"
	"hdb/symbols"
	"hdb/values/blocktype"
)

// BlockTypes describes which types blocks of the heap are.
type BlockTypes struct {
	target   *target.Target
	recorded history
	values   *variables.Values
	heap     *Heap
	kept     query.BlockTypes
}

// NewBlockTypes tells types of the recorded blocks and of those in memory; New gives it the heap.
func NewBlockTypes(c *target.Target, r history, v *variables.Values) *BlockTypes {
	t := &BlockTypes{target: c, recorded: r, values: v}
	t.kept = query.BlockTypes{Program: &v.World.Program, Object: c.Names.ObjectAt, GoTypeOf: c.Names.GoType, Memory: t.present}
	return t
}

// present tells that memory is what it was at the moment that is asked about.
func (t *BlockTypes) present() bool {
	return t.target.Image != nil && t.target.Mode() != target.Saved && !t.target.Past
}

// Types is what tells types now.
func (t *BlockTypes) Types() *query.BlockTypes {
	t.kept.Attribution = t.target.Attribution
	return &t.kept
}

// held is a block of the recording as its event tells, nil if it has none.
func (t *BlockTypes) held(b *memory.Block) (capture.Source, *capture.Held) {
	src := t.recorded.Source()
	if b.Seq == 0 || src == nil {
		return nil, nil
	}
	e, ok := src.Event(b.Seq)
	if !ok {
		return nil, nil
	}
	return src, &capture.Held{Seq: b.Seq, Addr: b.Addr, Size: b.Size, Stack: e.Stack, TID: e.TID, Func: e.Func, Kind: e.Kind}
}

// withoutDebug tells that the code that allocated a block has no debug information.
func (t *BlockTypes) withoutDebug(b *memory.Block) bool {
	src, held := t.held(b)
	return held != nil && t.Types().NoDebug(src, held)
}

// Of is the type of a block, nil if it is not known: of one of the recording by the code that allocated it
// and by its memory, of another by its memory alone.
func (t *BlockTypes) Of(b *memory.Block) (typ *blocktype.Type) {
	_ = symbols.Guard(func() { // a file that is cut meanwhile tells nothing
		if b.Seq == 0 {
			typ = t.Types().OfMemory(addr.Run(b.Addr), b.Size)
			return
		}
		if src, held := t.held(b); held != nil {
			typ = t.Types().Of(src, held)
		}
	})
	return typ
}

// OfEvent is the type of the live block that an event has made, as Of tells it.
func (t *BlockTypes) OfEvent(e *recording.Event) *blocktype.Type {
	return t.Of(&memory.Block{Addr: e.Addr, Size: e.Size, Seq: e.Seq})
}
