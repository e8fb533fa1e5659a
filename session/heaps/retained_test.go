package heaps

import (
	"slices"
	"testing"

	"hdb/capture"
	"hdb/heap"
	"hdb/heap/graph"
	"hdb/memory"
)

// TestRetainedRows: lines of one function have one row, unless rows stand for lines.
func TestRetainedRows(t *testing.T) {
	for _, byLine := range []bool{false, true} {
		s := siteGroups{at: map[heap.Site]uint32{}, byStack: map[capture.StackID]uint32{}}
		s.ofStack = func(id capture.StackID) heap.Site {
			if id == 9 {
				return heap.Site{Function: "other", File: "a.c", Line: 9, ByLine: byLine}
			}
			return heap.Site{Function: "load", File: "a.c", Line: int(id), ByLine: byLine}
		}
		var of []uint32
		for i, stack := range []capture.StackID{5, 9, 7, 5, 7} {
			b := memory.Block{Seq: uint64(i) + 1, Stack: stack}
			b.Size = 10 * uint64(stack)
			k := s.group(i, &b)
			s.sites[k].Live.Blocks++
			s.sites[k].Live.Bytes += b.Size
			of = append(of, k)
		}
		of = append(of, graph.NoGroup)
		rows := s.join(of)
		want, wantOf := []RetainedRow{{heap.Site{Function: "load", File: "a.c", Line: 7}, graph.Sum{Blocks: 4, Bytes: 240}, graph.Sum{}},
			{heap.Site{Function: "other", File: "a.c", Line: 9}, graph.Sum{Blocks: 1, Bytes: 90}, graph.Sum{}}}, []uint32{0, 1, 0, 0, 0, graph.NoGroup}
		if byLine {
			want, wantOf = []RetainedRow{{heap.Site{Function: "load", File: "a.c", Line: 5, ByLine: true}, graph.Sum{Blocks: 2, Bytes: 100}, graph.Sum{}},
				{heap.Site{Function: "other", File: "a.c", Line: 9, ByLine: true}, graph.Sum{Blocks: 1, Bytes: 90}, graph.Sum{}},
				{heap.Site{Function: "load", File: "a.c", Line: 7, ByLine: true}, graph.Sum{Blocks: 2, Bytes: 140}, graph.Sum{}}}, []uint32{0, 1, 2, 0, 2, graph.NoGroup}
		}
		if !slices.Equal(rows, want) || !slices.Equal(of, wantOf) {
			t.Errorf("by line %v: %+v, %v", byLine, rows, of)
		}
	}
}
