package memory

import (
	"cmp"
	"context"
	"slices"

	"hdb/capture"
	"hdb/heap/golang"
	"hdb/heap/graph"
)

// A LeakRow is the blocks of one stack that are held in one way.
type LeakRow struct {
	Reach   graph.Reach
	Go      bool            // blocks of a Go runtime: what is lost of them is garbage
	Stack   capture.StackID // 0: blocks without one
	Seq     uint64          // of the last event that made one of them, 0 of blocks without
	Blocks  uint64
	Bytes   uint64
	Largest int       // index of the largest block
	With    graph.Sum // of Definite: what is lost with them
	Behind  Behind    // of Blocks: those that are held behind a header only
	Circles Circles   // of Definite: those that the blocks are on
	Usable  graph.Sum // of Blocks: those that no recording has, whose sizes are usable ones
	most    uint64    // bytes of Largest
}

// Leaks are the live blocks by how they are held.
type Leaks struct {
	Rows []LeakRow    // the worst first: definitely, indirectly, possibly lost, still reachable; of one kind the largest first
	Sums [4]graph.Sum // by graph.Reach, but for blocks of Go
	Go   [4]graph.Sum // those: blocks that share a slot are one, and bytes are those of slots, as the runtime counts
}

// Behind are blocks that pointers behind a header alone hold.
type Behind struct {
	graph.Sum
	Heads graph.Sum // to which such pointers lead themselves
	Pools int       // blocks of Heads to which words point at many offsets
}

// Add adds others.
func (b *Behind) Add(o Behind) {
	b.Blocks, b.Bytes, b.Pools = b.Blocks+o.Blocks, b.Bytes+o.Bytes, b.Pools+o.Pools
	b.Heads.Blocks, b.Heads.Bytes = b.Heads.Blocks+o.Heads.Blocks, b.Heads.Bytes+o.Heads.Bytes
}

// block adds one.
func (b *Behind) block(bytes uint64, head bool) {
	b.Blocks++
	if b.Bytes += bytes; head {
		b.Heads.Blocks++
		b.Heads.Bytes += bytes
	}
}

// Leaks adds up the blocks by how they are held and by their stacks, of which alike tells which
// are taken for one, nil none. Only blocks of which keep holds are counted; nil keeps all. What is held behind a header only
// is still reachable, and of a circle, whose edges holds tells as Graph.Circle does, nil: circles are not looked for, the block of the earliest stack is definitely lost, unless strict has both as memcheck does.
func (m *Image) Leaks(ctx context.Context, alike func(capture.StackID) capture.StackID, keep func(Block) bool, holds func(graph.Edge) bool, strict bool) (*Leaks, error) {
	g, err := m.Graph(ctx)
	if err != nil {
		return nil, err
	}
	type key struct {
		reach graph.Reach
		stack capture.StackID
		ofGo  bool
	}
	slot := uint64(0) // the last one of Go
	at := map[key]int{}
	out := &Leaks{}
	var last key // its row is the one with most of the other blocks
	n := -1
	rings := circles{m: m, g: g.Graph, alike: alike, holds: holds, move: !strict && keep == nil, heads: map[int]circleHead{}}
	for i, b := range m.Blocks() {
		if keep != nil && !keep(b) {
			continue
		}
		k := key{g.Reach(i), b.Stack, m.inArenas(b.Addr)}
		behind := !strict && g.Behind(i)
		if behind {
			k.reach = graph.Reachable
		}
		if holds != nil && !k.ofGo && k.reach == graph.Definite && rings.at(i) {
			k.reach = graph.Indirect
		}
		head, heads := rings.heads[i]
		if heads {
			k.reach = graph.Definite
		}
		if n < 0 || k != last {
			last = k
			if alike != nil && b.Stack != 0 {
				k.stack = alike(b.Stack)
			}
			var ok bool
			if n, ok = at[k]; !ok {
				n = len(out.Rows)
				at[k] = n
				out.Rows = append(out.Rows, LeakRow{Reach: k.reach, Go: k.ofGo, Stack: k.stack, Largest: i, most: b.Room})
			}
		}
		row := &out.Rows[n]
		row.Blocks++
		row.Bytes += b.Room
		row.Seq = max(row.Seq, b.Seq)
		if b.Seq == 0 {
			row.Usable.Blocks++
			row.Usable.Bytes += b.Room
		}
		if behind {
			row.Behind.block(b.Size, g.Head(i))
			if g.Pool(i) {
				row.Behind.Pools++
			}
		}
		if b.Room > row.most {
			row.Largest, row.most = i, b.Room
		}
		if k.ofGo {
			sum := &out.Go[k.reach]
			sum.Bytes += golang.Block{Addr: b.Addr, Size: b.Room}.Slot()
			if b.Addr/golang.SharedBytes != slot || !m.golang.Shared(b.Addr) {
				sum.Blocks++
			}
			slot = b.Addr / golang.SharedBytes
			continue
		}
		if k.reach == graph.Definite {
			lost := g.Lost(i)
			if heads {
				lost = head.with
				row.Circles.add(head)
			}
			row.With.Blocks += lost.Blocks
			row.With.Bytes += lost.Bytes
		}
		out.Sums[k.reach].Blocks++
		out.Sums[k.reach].Bytes += b.Size
	}
	slices.SortFunc(out.Rows, func(a, b LeakRow) int {
		return cmp.Or(cmp.Compare(severity(a.Reach), severity(b.Reach)), cmp.Compare(b.Bytes+b.With.Bytes, a.Bytes+a.With.Bytes), cmp.Compare(b.Blocks, a.Blocks), cmp.Compare(a.Stack, b.Stack))
	})
	return out, nil
}

// severity orders the kinds: what is surely a mistake first.
func severity(r graph.Reach) int {
	return [...]int{graph.Definite: 0, graph.Indirect: 1, graph.Possible: 2, graph.Reachable: 3}[r]
}
