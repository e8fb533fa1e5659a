package recording

import (
	"slices"
	"testing"

	"hdb/breakpoints"
	"hdb/capture"
)

// A block of a heap ends with it, also where a pool of the program has cut it up, and each end has a number
// that the core hears of.
func TestHeapWithPool(t *testing.T) {
	named := func(name string) *breakpoints.Function {
		f, ok := breakpoints.Named(name)
		if !ok {
			t.Fatalf("%s is not in the catalogue", name)
		}
		return &f
	}
	functions := []*breakpoints.Function{named("mi_heap_malloc"), named("mi_heap_calloc"), named("mi_heap_realloc"), named("mi_free"),
		named(breakpoints.HeapDestroy), named("HDB_ALLOC"), named("malloc")}
	bothWays(t, func(t *testing.T, r *Recording, out *transcript) {
		p := &numbered{}
		r.run.process = p
		const heap, other = 0x9000, 0x9800
		r.Batch([]capture.Event{
			{Func: 0, Addr: heap, Size: 3064, Aux: 1},                                         // as mi_heap_new makes it
			{Func: 0, Addr: 0x1000, Size: 0x100, Aux: heap},                                   // becomes a chunk
			{Func: 1, Addr: 0x2000, Size: 60, Old: heap, Aux: 3},                              // the heap is where there is room
			{Func: 1, Addr: 0x3000, Size: 60, Old: heap, Aux: 3},                              // given back before
			{Func: 1, Addr: 0x4000, Size: 60, Old: heap, Aux: 3},                              // resized in place
			{Func: 0, Addr: 0x5000, Size: 60, Aux: other},                                     // lives on
			{Func: 5, Addr: 0x1000, Size: 16, Aux: 7},                                         // #7 and #8: the first of the chunk
			{Func: 5, Addr: 0x1040, Size: 16, Aux: 7},                                         //
			{Func: 3, Addr: 0x3000, Kind: capture.Free},                                       //
			{Func: 2, Addr: 0x4000, Old: 0x4000, Size: 64, Aux: other, Kind: capture.Realloc}, //
			{Func: 6, Addr: 0x3000, Size: 60},                                                 // of no heap
			{Func: 4, Addr: heap, Kind: capture.Free},
			{Func: 6, Addr: 0x1000, Size: 8},
		}, functions)
		want := []string{"#1 alloc 0x9000", "#2 alloc 0x1000", "#3 alloc 0x2000", "#4 alloc 0x3000", "#5 alloc 0x4000", "#6 alloc 0x5000",
			"#7 free 0x1000", "#8 alloc 0x1000", "#9 alloc 0x1040", "#10 free 0x3000", "#11 realloc 0x4000", "#12 alloc 0x3000",
			"#13 free 0x1000", "#14 free 0x1040", "#15 free 0x2000", "#16 free 0x4000", "#17 free 0x9000", "#18 alloc 0x1000"}
		if !slices.Equal(out.lines, want) || p.n != 6 {
			t.Errorf("recorded %q, %d of no call, want %q", out.lines, p.n, want)
		}
		if e, _ := out.Event(3); e.Old != 0 || e.Aux != 3 {
			t.Errorf("the calloc is %+v", e)
		}
		if bytes, blocks := r.Heap(); bytes != 60+60+8 || blocks != 3 {
			t.Errorf("live are %d bytes in %d blocks", bytes, blocks)
		}
	})
}
