package unwind

import (
	"errors"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"

	"hdb/internal/addr"
	"hdb/unwind/dwop"
)

// Stacks made by hand over the module of newChain and what the rules below add, for
// the ways in which a walk ends.

// A region is one made-up module with a program for all of its code.
type region struct {
	low, high addr.Run
	program   []byte // nil: no CFI
	signal    bool
}

type regions struct {
	list   []region
	tables []*Table
}

func newRegions(t testing.TB, list ...region) *regions {
	m := &regions{list: list}
	for _, r := range list {
		var s Sections
		switch {
		case r.signal:
			s = ehFrame(t, 0, cieSpec{augmentation: "zS"}, asm(uint64(r.low), uint64(r.high-r.low), 0, r.program))
		case r.program != nil:
			s = debugFrame(t, cieSpec{}, fdeSpec{uint64(r.low), uint64(r.high - r.low), r.program})
		}
		s.Name = "/lib/made.so"
		s.Text = []Range{{Low: addr.File(r.low), High: addr.File(r.high)}}
		m.tables = append(m.tables, newTable(t, s))
	}
	return m
}

func (m *regions) ModuleAt(pc addr.Run) (*Table, addr.Bias, bool) {
	for i, r := range m.list {
		if r.low <= pc && pc < r.high {
			return m.tables[i], 0, true
		}
	}
	return nil, 0, false
}

func words(v ...uint64) []byte {
	var b []byte
	for _, w := range v {
		b = asm(b, w)
	}
	return b
}

func TestEndings(t *testing.T) {
	plain := region{low: 0x1000, high: 0x2000, program: asm(cfaNop)}
	outermost := region{low: 0x2000, high: 0x3000, program: asm(cfaUndefined, int(RA))}
	none := region{low: 0x3000, high: 0x4000}
	known := Regs{}
	known.Set(RIP, 0x1010)
	known.Set(RSP, 0x8000)
	without := func(r Regs, drop Reg) Regs { r.forget(^uint32(1 << drop)); return r }
	from := func(pc uint64) Regs { r := known; r.Set(RIP, pc); return r }

	// The signal trampoline's CFA is the stack pointer that the frame holds: here its own.
	loop := region{low: 0x5000, high: 0x5100, signal: true, program: asm(
		cfaDefCFAExpression, 3, dwop.Breg0+byte(RSP), 0, dwop.Deref,
		cfaExpression, int(RA), 2, dwop.Breg0+byte(RSP), 8,
		cfaExpression, int(RSP), 2, dwop.Breg0+byte(RSP), 0)}

	for _, c := range []struct {
		name    string
		modules []region
		regs    Regs
		stack   []byte // at 0x8000
		limit   int
		frames  int
		want    string
	}{
		{name: "complete", modules: []region{plain, outermost}, regs: known, stack: words(0x1020, 0x2020), frames: 3},
		{name: "no registers", modules: []region{plain}, frames: 1, want: "no CFI for the region at 0x0, which is in no module"},
		{name: "stack pointer lost", modules: []region{plain}, regs: without(known, RSP), frames: 1, want: "frame at 0x1010 needs rsp, which is lost"},
		{name: "register lost", modules: []region{plain, {low: 0x6000, high: 0x7000, program: asm(cfaDefCFA, int(R10), 8)}}, regs: known,
			stack: words(0x6010), frames: 2, want: "frame at 0x6010 needs r10, which is lost"},
		{name: "no CFI", modules: []region{plain, none}, regs: known, stack: words(0x3010), frames: 2, want: "no CFI for /lib/made.so at 0x3010"},
		{name: "no module", modules: []region{plain}, regs: known, stack: words(0x777), frames: 1, want: "return address 0x777 not in any module"},
		{name: "return address 0", modules: []region{plain, {low: 0x6000, high: 0x7000, program: asm(cfaDefCFAOffset, 16)}}, regs: known,
			stack: words(0x6010, 0, 0), frames: 2, want: "return address 0x0 not in any module"},
		{name: "return address 0 of an empty frame", modules: []region{plain}, regs: known, stack: words(0x1020, 0), frames: 2},
		{name: "return address 0 of frame 0", modules: []region{plain}, regs: known, stack: words(0), frames: 1, want: "return address 0x0 not in any module"},
		{name: "end of the stack", modules: []region{plain}, regs: known, stack: words(0x1020, 0x1030), frames: 3, want: "unreadable stack at 0x8010"},
		{name: "no stack", modules: []region{plain}, regs: known, frames: 1, want: "unreadable stack at 0x8000"},
		{name: "CFA goes back", modules: []region{plain, {low: 0x6000, high: 0x7000, program: asm(cfaDefCFASF, int(RSP), 2)}}, regs: known,
			stack: words(0x6010, 0x1020), frames: 2, want: "CFA 0x7ff8 of the frame at 0x6010 does not grow"},
		{name: "CFA stays", modules: []region{plain, {low: 0x6000, high: 0x7000, program: asm(cfaDefCFA, int(RSP), 0)}}, regs: known,
			stack: words(0x6010, 0x1020), frames: 2, want: "CFA 0x8008 of the frame at 0x6010 does not grow"},
		{name: "limit", modules: []region{plain}, regs: known, stack: words(slices.Repeat([]uint64{0x1020}, 50)...), limit: 20, frames: 20, want: "depth limit 20"},
		{name: "default limit", modules: []region{plain}, regs: known, stack: words(slices.Repeat([]uint64{0x1020}, 3000)...), frames: 2048, want: "depth limit 2048"},
		{name: "signal frame of itself", modules: []region{loop}, regs: from(0x5000), stack: words(0x8000, 0x5000), frames: 2, want: "does not grow"},
		{name: "expression over lost register", modules: []region{{low: 0x1000, high: 0x2000, program: asm(cfaDefCFAExpression, 2, dwop.Breg0+3, 0)}}, regs: known,
			frames: 1, want: "expression needs rbx, which is lost"},
		{name: "return address in data", modules: []region{plain}, regs: known, stack: words(0x8123), frames: 1, want: "return address 0x8123 not in any module"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := NewWalker(newRegions(t, c.modules...)).Walk(parts{{0x8000, c.stack}}, c.regs, c.limit)
			if len(got.Frames) != c.frames || got.Truncated != c.want && (c.want == "" || !strings.Contains(got.Truncated, c.want)) {
				t.Errorf("%d frames, truncated %q; expected %d, %q\n%s", len(got.Frames), got.Truncated, c.frames, c.want, describe(&got, &stop{}))
			}
		})
	}
}

// TestEntryPoint ends the walk in the code of the entry point, which has no CFI in
// ld.so and in musl.
func TestEntryPoint(t *testing.T) {
	m := newRegions(t, region{low: 0x1000, high: 0x2000, program: asm(cfaNop)}, region{low: 0x3000, high: 0x4000})
	m.tables[1].sec.Entry = 0x3000
	var regs Regs
	regs.Set(RIP, 0x1010)
	regs.Set(RSP, 0x8000)
	got := NewWalker(m).Walk(parts{{0x8000, words(0x3008, 1, 2, 3)}}, regs, 0)
	if len(got.Frames) != 2 || got.Truncated != "" {
		t.Errorf("%d frames, truncated %q", len(got.Frames), got.Truncated)
	}
}

func TestCallPatterns(t *testing.T) {
	for _, c := range []struct {
		code []byte
		want bool
	}{
		{asm(0xe8, 1, 2, 3, 4), true},
		{asm(0xff, 0xd0), true},                   // call *%rax
		{asm(0x41, 0xff, 0xd4), true},             // call *%r12
		{asm(0xff, 0x10), true},                   // call *(%rax)
		{asm(0xff, 0x14, 0xc8), true},             // call *(%rax,%rcx,8)
		{asm(0xff, 0x14, 0xc5, 1, 2, 3, 4), true}, // call *disp32(,%rax,8)
		{asm(0xff, 0x50, 8), true},                // call *8(%rax)
		{asm(0xff, 0x54, 0x24, 8), true},          // call *8(%rsp)
		{asm(0xff, 0x15, 1, 2, 3, 4), true},       // call *disp32(%rip)
		{asm(0xff, 0x90, 1, 2, 3, 4), true},       // call *disp32(%rax)
		{asm(0xff, 0x94, 0x24, 1, 2, 3, 4), true}, // call *disp32(%rsp)
		{asm(0xff, 0x25, 1, 2, 3, 4), false},      // jmp *disp32(%rip)
		{asm(0xff, 0x15, 1, 2), false},            // cut
		{asm(0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90), false},
	} {
		for _, lead := range []int{0, 3, 16} { // at a mapping's start, and inside
			var w Walker
			code := asm(make([]byte, lead), c.code)
			w.mem.reset(parts{{0x4000, code}})
			if got := w.afterCall(addr.Run(0x4000 + len(code))); got != c.want {
				t.Errorf("% x with %d bytes before: %v", c.code, lead, got)
			}
		}
	}
}

func TestPLTDepth(t *testing.T) {
	plain := asm(0xff, 0x25, uint32(1), 0x68, uint32(2), 0xe9, uint32(3))
	ibt := asm(0xf3, 0x0f, 0x1e, 0xfa, 0x68, uint32(2), 0xf2, 0xe9, uint32(3), 0x90)
	sec := asm(0xf3, 0x0f, 0x1e, 0xfa, 0xf2, 0xff, 0x25, uint32(1), 0x0f, 0x1f, 0x44, 0, 0)
	first := asm(0xff, 0x35, uint32(1), 0xff, 0x25, uint32(2), 0x0f, 0x1f, 0x40, 0)
	firstIBT := asm(0xff, 0x35, uint32(1), 0xf2, 0xff, 0x25, uint32(2), 0x0f, 0x1f, 0)
	for _, c := range []struct {
		name  string
		entry []byte
		want  map[int]uint64 // depth by distance from the entry's start
	}{
		{"plain", plain, map[int]uint64{0: 0, 6: 0, 11: 8}},
		{"IBT", ibt, map[int]uint64{0: 0, 4: 0, 9: 8}},
		{"second PLT", sec, map[int]uint64{0: 0, 4: 0}},
		{"first entry", first, map[int]uint64{0: 8, 6: 16}},
		{"first entry with IBT", firstIBT, map[int]uint64{0: 8, 6: 16}},
	} {
		for at, want := range c.want {
			var w Walker
			w.mem.reset(parts{{0x4000, asm(c.entry, make([]byte, 8))}}) // it begins the mapping
			if got, known := w.pltDepth(addr.Run(0x4000 + at)); !known || got != want {
				t.Errorf("%s, %d bytes in: %d, %v; expected %d", c.name, at, got, known, want)
			}
		}
	}
}

// TestSharedTable has goroutines ask one table, as the sessions of one file do.
func TestSharedTable(t *testing.T) {
	table := newTable(t, openELF(t, "/lib/x86_64-linux-gnu/libc.so.6"))
	var group sync.WaitGroup
	for n := range addr.File(4) {
		group.Go(func() {
			for a := range addr.File(2000) {
				if at := table.sec.Entry + 16*a*(n+1); at > 0 {
					table.RowAt(at)
				}
			}
		})
	}
	group.Wait()
	if err := table.Damage(); err != nil {
		t.Error(err)
	}
}

// counting counts the reads of a walk.
type counting struct {
	io.ReaderAt
	reads int
}

func (c *counting) ReadAt(b []byte, off int64) (int, error) {
	c.reads++
	return c.ReaderAt.ReadAt(b, off)
}

func TestFewReads(t *testing.T) {
	mem, regs := newStack(1000)
	c := &counting{ReaderAt: mem}
	got := NewWalker(newChain(t)).Walk(c, regs, 0)
	if len(got.Frames) != 1000 || c.reads > 5 {
		t.Errorf("%d reads for %d frames over 64 KiB of stack", c.reads, len(got.Frames))
	}
}

// rude is a reader that breaks io.ReaderAt's contract.
type rude struct{}

func (rude) ReadAt(b []byte, off int64) (int, error) { return len(b) + 10, errors.New("rude") }

func TestRudeReader(t *testing.T) {
	_, regs := newStack(1)
	NewWalker(newChain(t)).Walk(rude{}, regs, 0)
}
