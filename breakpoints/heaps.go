package breakpoints

import (
	"slices"
	"strings"

	"hdb/capture"
)

// mimalloc's functions for a whole first-class heap.
const (
	HeapDestroy    = "mi_heap_destroy"     // frees the heap with all of its blocks
	HeapDelete     = "mi_heap_delete"      // frees the heap; its blocks move to another
	HeapSetDefault = "mi_heap_set_default" // the thread's malloc uses the heap from now on
)

func wholeHeapFn(name string) Function {
	f := freeFn(name, arg(1))
	f.Whole = true
	return f
}

// OfHeaps reports whether a call names a first-class heap.
func (f *Function) OfHeaps() bool {
	return f.Heap.From != Nowhere || f.Whole && f.Group != GroupPool
}

// OfMimalloc reports whether the function is mimalloc's, under whatever name it was found.
func (f *Function) OfMimalloc() bool {
	mi := func(name string) bool { return strings.HasPrefix(name, "mi_") }
	return mi(f.Symbol) || slices.ContainsFunc(f.Also, mi)
}

// HeapInOld reports whether a record of the probe has the heap in the place of the old block. A
// record has two words for operands. The heap takes one that the function does not need; the few
// functions with an old block and a count lose the count.
func (f *Function) HeapInOld() bool {
	return f.Heap.From != Nowhere && f.Old.From == Nowhere && (f.Count.From != Nowhere || f.Align.From != Nowhere)
}

// LosesCount reports whether events of the function do not have the count of its calls.
func (f *Function) LosesCount() bool {
	return f.Count.From != Nowhere && f.Heap.From != Nowhere && f.Old.From != Nowhere
}

// CountKnown reports whether an event of the function has a count: aux, its second number. 0 is none
// where the function loses it.
func (f *Function) CountKnown(aux uint64) bool {
	return f.Count.From != Nowhere && (aux != 0 || !f.LosesCount())
}

// TakeHeap takes the heap out of an event of the function as the probe made it; 0 if there is none.
func (f *Function) TakeHeap(e *capture.Event) (heap uint64) {
	switch {
	case f.Heap.From == Nowhere || e.Kind == capture.Free:
	case f.HeapInOld():
		heap, e.Old = e.Old, 0
	default:
		heap, e.Aux = e.Aux, 0
	}
	return heap
}

// Heap is the first-class heap of a call that was followed, 0 if there is none.
func (c *Call) Heap() uint64 { return c.value(c.Function.Heap) }
