package unwind

import (
	"io"
	"testing"

	"hdb/internal/addr"
	"hdb/unwind/dwop"
)

// chain is a stack of a given depth over one function: made up, so that the
// benchmark needs no debugger.
type chain struct{ table *Table }

func (c chain) ModuleAt(pc addr.Run) (*Table, addr.Bias, bool) {
	return c.table, 0, 0x1000 <= pc && pc < 0x3000
}

// newChain is a table of two functions: one with a frame of 64 bytes that saved rbx
// and rbp, and one without a caller.
func newChain(t testing.TB) chain {
	t.Helper()
	frame := asm(cfaDefCFA, 7, 64, cfaOffset|byte(RBX), 3, cfaOffset|byte(RBP), 2)
	s := debugFrame(t, cieSpec{}, fdeSpec{0x1000, 0x1000, frame}, fdeSpec{0x2000, 0x1000, asm(cfaUndefined, byte(RA))})
	return chain{newTable(t, s)}
}

// newStack is the memory and registers of a stack of that many frames at 0x10000,
// each called from a place of its own.
func newStack(depth int) (parts, Regs) {
	mem := make([]byte, 64*depth+4096)
	for i := range depth {
		ra := uint64(0x1100 + 8*i%0xe00)
		if i == depth-2 {
			ra = 0x2010
		}
		put64(mem[64*i+56:], ra)
	}
	var r Regs
	r.Set(RIP, 0x1080)
	r.Set(RSP, 0x10000)
	r.Set(RBP, 1)
	r.Set(RBX, 2)
	return parts{{0x10000, mem}}, r
}

func TestWalkAllocatesNothing(t *testing.T) {
	w := NewWalker(newChain(t))
	mem, regs := newStack(25)
	var reader io.ReaderAt = mem
	var got Stack
	allocs := testing.AllocsPerRun(100, func() { got = w.Walk(reader, regs, 0) })
	if allocs != 0 {
		t.Errorf("%v allocations in a walk", allocs)
	}
	if len(got.Frames) != 25 || got.Truncated != "" {
		t.Errorf("%d frames, truncated %q", len(got.Frames), got.Truncated)
	}
}

func BenchmarkWalk25(b *testing.B) {
	w := NewWalker(newChain(b))
	mem, regs := newStack(25)
	var reader io.ReaderAt = mem
	b.ReportAllocs()
	for b.Loop() {
		if got := w.Walk(reader, regs, 0); len(got.Frames) != 25 {
			b.Fatalf("%d frames, truncated %q", len(got.Frames), got.Truncated)
		}
	}
}

func BenchmarkRowUncached(b *testing.B) {
	table := newTable(b, openELF(b, "/lib/x86_64-linux-gnu/libc.so.6"))
	row, ok := table.RowAt(table.sec.Entry)
	if !ok {
		b.Fatal("no row at libc's entry")
	}
	b.ReportAllocs()
	for b.Loop() {
		clear(table.rows)
		if _, ok := table.RowAt(row.Low); !ok {
			b.Fatal("row lost")
		}
	}
}

func BenchmarkIndexWithoutHdr(b *testing.B) {
	s := openELF(b, "/lib/x86_64-linux-gnu/libc.so.6")
	s.EhFrameHdr = nil
	for b.Loop() {
		newTable(b, s).RowAt(s.Entry)
	}
}

// BenchmarkExpression computes the CFA of a procedure linkage table.
func BenchmarkExpression(b *testing.B) {
	expr := asm(dwop.Breg0+7, 8, dwop.Breg0+16, 0, dwop.Lit0+15, dwop.And, dwop.Lit0+11, dwop.Ge, dwop.Lit0+3, dwop.Shl, dwop.Plus)
	var mem memory
	var regs Regs
	regs.Set(RSP, 0x7ff0)
	regs.Set(RIP, 0x102b)
	e := evaluator{mem: &mem, regs: &regs}
	b.ReportAllocs()
	for b.Loop() {
		if got, err := e.eval(expr, 0, false); err != nil || got != 0x8000 {
			b.Fatalf("%#x, error %v", got, err)
		}
	}
}
