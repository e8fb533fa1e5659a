package heaps

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"hdb/capture"
	"hdb/goruntime"
	"hdb/heap/golang"
	"hdb/heap/graph"
	"hdb/internal/addr"
	"hdb/memory"
	"hdb/query"
	"hdb/values/blocktype"
)

// A GoRow is the live blocks of a Go runtime of one stack, or, of those that are not recorded, of one type; those whose
// type is not known have a row for each size of slots.
type GoRow struct {
	query.StackRow                 // with the stack; empty of blocks without one
	Type           *blocktype.Type // of these, nil if it is not known
	Slot           uint64          // without a type: the bytes of each slot, 0 where they are more than goruntime.MaxSmallSlot
	Live           graph.Sum       // bytes are those of slots
	Garbage        graph.Sum       // of Live: what the next collection finds dead
	OfC            graph.Sum       // of Live: what only memory of C points to
	Block          memory.Block    // the largest
	HeldBy         string          // a way to it: "main.cache[].next"; "" without
	index          int             // of Block
	stack          capture.StackID
}

// add adds a block, or those of a row of memory.Leaks.
func (r *GoRow) add(reach graph.Reach, blocks int, bytes uint64) {
	sums := []*graph.Sum{&r.Live}
	switch reach {
	case graph.Definite, graph.Indirect:
		sums = append(sums, &r.Garbage)
	case graph.Possible:
		sums = append(sums, &r.OfC)
	}
	for _, s := range sums {
		s.Blocks += blocks
		s.Bytes += bytes
	}
}

// goRows makes the rows of Go's blocks: of l those that have a stack, and all others by type.
func (h *Heap) goRows(ctx context.Context, m *memory.Image, l *memory.Leaks, stacks *query.BlockStacks, keep func(memory.Block) bool, a *LeakAnswer, limit int) error {
	var rows []*GoRow
	byStack := map[capture.StackID]*GoRow{}
	largest := func(r *GoRow, i int) {
		if b := m.Block(i); r.index < 0 || b.Room > r.Block.Room {
			r.index, r.Block = i, b
		}
	}
	older := false
	for i := range l.Rows {
		row := &l.Rows[i]
		switch {
		case !row.Go:
		case row.Stack == 0:
			older = true
		default:
			r := byStack[row.Stack]
			if r == nil {
				r = &GoRow{index: -1, stack: row.Stack}
				byStack[row.Stack] = r
				rows = append(rows, r)
			}
			r.add(row.Reach, int(row.Blocks), row.Bytes)
			largest(r, row.Largest)
		}
	}
	g, err := m.Graph(ctx)
	if err != nil {
		return err
	}
	n := h.namer(m, g)
	if older {
		if rows, err = n.goTypes().rows(ctx, rows, keep); err != nil {
			return err
		}
	}
	slices.SortStableFunc(rows, func(a, b *GoRow) int {
		return cmp.Or(cmp.Compare(b.Live.Bytes, a.Live.Bytes), cmp.Compare(b.Live.Blocks, a.Live.Blocks))
	})
	a.GoTotal = len(rows)
	for _, r := range rows[:min(len(rows), limit)] {
		if r.stack != 0 {
			r.StackRow = stacks.Row(r.stack)
		}
		r.HeldBy = n.way(r.index)
		a.GoRows = append(a.GoRows, *r)
	}
	return nil
}

// rows appends those of blocks without a stack, by type.
func (t *goTyper) rows(ctx context.Context, rows []*GoRow, keep func(memory.Block) bool) ([]*GoRow, error) {
	if err := t.infer(ctx); err != nil {
		return nil, err
	}
	byName, bySlot := map[string]*GoRow{}, map[uint64]*GoRow{}
	byNumber := make([]*GoRow, len(t.list)) // nil: not seen yet, or of no known type
	for i, b := range t.n.m.Blocks() {
		if b.Stack != 0 || !t.n.m.InGo(b.Addr) || keep != nil && !keep(b) {
			continue
		}
		slot := golang.Block{Addr: b.Addr, Size: b.Room}.Slot()
		r := byNumber[t.all[i]]
		if r == nil {
			if typ := t.typeOf(t.list[t.all[i]]); typ != nil {
				typ.How = blocktype.Declared // one row of a type, however it is known
				r = rowOf(byName, typ.Name, GoRow{Type: typ}, &rows)
				byNumber[t.all[i]] = r
			} else {
				of := slot
				if of > goruntime.MaxSmallSlot {
					of = 0
				}
				r = rowOf(bySlot, of, GoRow{Slot: of}, &rows)
			}
		}
		r.add(t.n.g.Reach(i), 1, slot)
		if r.index < 0 || b.Room > r.Block.Room {
			r.index, r.Block = i, b
		}
	}
	return rows, nil
}

// rowOf is the row of a key. A new one is of that kind.
func rowOf[K comparable](known map[K]*GoRow, key K, kind GoRow, rows *[]*GoRow) *GoRow {
	r := known[key]
	if r == nil {
		kind.index = -1
		r = &kind
		known[key] = r
		*rows = append(*rows, r)
	}
	return r
}

// Bounds of a way that is printed in a line.
const (
	wayBegin = 3 // steps from its beginning,
	wayEnd   = 2 // and from its end
)

// way is the way from a root to a block, as memory.Graph.Path finds it, in words, "" without one. Of a block of no known
// type it has the offset of the word.
func (n *namer) way(block int) string {
	path := n.g.Path(block, n.nameless)
	if len(path) == 0 {
		return ""
	}
	var b strings.Builder
	named := false
	for i, e := range path {
		if i >= wayBegin && i < len(path)-wayEnd {
			if i == wayBegin {
				b.WriteString(" ... ")
			}
			continue
		}
		h := n.holder(e)
		switch {
		case i > 0 && h.Name != "":
			if !named { // 1[3] is no goroutine
				b.WriteString(": ")
			}
			b.WriteString(h.Name)
		case i > 0:
			fmt.Fprintf(&b, " -> +%#x", h.Field)
		default:
			var text string
			text, named = rootText(&h)
			b.WriteString(text)
			continue
		}
		named = true
	}
	return strings.TrimSpace(b.String())
}

// rootText says what a root is. named: it is a name, which those of members may follow.
func rootText(h *Holder) (text string, named bool) {
	switch {
	case h.Kind == HeldByGoroutine:
		return "a stack of goroutine " + strconv.FormatUint(h.Goroutine, 10), false
	case h.Kind == HeldByRegister:
		return "a register", false
	case h.Kind == HeldByRuntime:
		return "a " + h.Name, false
	case h.Name != "":
		for _, part := range []string{".array", ".str", ".data"} { // of slices, strings and interfaces
			if name, ok := strings.CutSuffix(h.Name, part); ok && h.Kind == HeldByGlobal {
				return name, true
			}
		}
		return h.Name, true
	case h.Region != nil:
		return h.Region.Kind.String() + " at " + addr.Run(h.At).String(), false
	}
	return "memory", false
}
