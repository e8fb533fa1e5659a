// Package golang reads the heap of a Go runtime from memory: its spans, which of their slots are
// in use, which words of these the garbage collector takes for pointers, what types are known of
// blocks, and where the collector begins: global variables, stacks of goroutines, finalizers.
//
// It knows no process and no file: it is given a reader of memory, the addresses of four
// variables of the runtime, and the version's layout ([goruntime.HeapLayout]). What it reads is
// foreign: every number is checked, and nothing that memory says makes it read without bound.
//
// A slot of a span is in use if it is below the span's freeindex, or was in use at the last sweep
// (allocBits). So blocks that the collector has found dead count until their span is swept, as they
// do for runtime.MemStats. Where pointers are depends on the version (Go's src/runtime/mbitmap.go):
//
//	1.18, 1.19  two bits a word in the arena of 64 MiB
//	1.20, 1.21  one bit a word there
//	1.22 on     slots of up to 512 bytes: a bitmap at the end of the span; larger ones begin with
//	            the type (8 bytes, not part of the block); what has a span of its own: mspan.largeType
//
// Spans that are "noscan" have no pointers.
//
// Which words of a goroutine's stack are pointers is in the tables that the compiler makes for each call
// (Go's src/runtime/stkframe.go, mgcmark.go). Where they do not apply every word counts.
package golang
