package probe

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hdb/internal/addr"
	"hdb/unwind"

	"golang.org/x/arch/x86/x86asm"
)

const coreState = 0x7777000011112222

func tracedCore(t testing.TB) (*core, frameMap) {
	t.Helper()
	c, err := loadCore(coreState)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := c.trace()
	if err != nil {
		t.Fatal(err)
	}
	return c, rows
}

// Where the CFA is at the marks, counted by hand: a return address, the frame of
// 104 bytes, another return address, the 15 words that record pushes.
func TestCoreRows(t *testing.T) {
	c, rows := tracedCore(t)
	const called = frameSize + 8 + 8
	kept := frameRow{cfa: called + 6*8, bp: -16}
	remembers := frameRow{cfa: kept.cfa + 5*8, bp: -16}
	saved := frameRow{cfa: kept.cfa + 7*8, bp: -16, bx: -22}
	deeper := func(words int32) frameRow { r := saved; r.cfa += 8 * words; return r }
	for row, marks := range map[frameRow][]uint32{
		{cfa: 8}: {markAlloc, markFree, markQuickAlloc, markQuickFree},
		{cfa: frameSize + 8}: {markReturn, markReturnQuick, markResult, markResultEnd, markMatchAlloc, markMatchFree, markMatchGuard, markMatchLeft, markMatchFreeLeft,
			markAgain, markAgainEnd, markFreeFirst},
		{cfa: frameSize + 8 + wideSize}: {markReturnWide, markWide, markWideEnd},
		{cfa: called}: {markFind, markTop, markWithin, markFreedVM, markRecord, markRecordQuick, markIntact, markIntactEnd, markTopDone,
			markFreed, markFreedEnd, markFreedNo, markOffer},
		{cfa: frameSize + 8 + ofFrame}: {markGate, markGateEnd, markTrap, markOffered},
		kept:                           {markQuickMemo, markQuickMemoEnd, markQuickOdd, markTake, markTakeQuick, markMemo, markMemoEnd, markOther, markOtherEnd, markMemoNext},
		saved: {markWalk, markFrame, markFrameEnd, markDeref, markDerefEnd, markSignal, markSignalEnd,
			markPointer, markNoFrame, markFault},
		deeper(1): {markReserve, markBehind, markBehindNo},
		deeper(2): {markWake},
		remembers: {markDeep, markDeepEnd},
	} {
		for _, mark := range marks {
			if got := rows[c.marks[mark]]; got != row {
				t.Errorf("mark %d: %+v, want %+v", mark, got, row)
			}
		}
	}
	if len(rows) != len(c.code) {
		t.Errorf("rows of %d bytes, the core has %d", len(rows), len(c.code))
	}
}

// The core leaves the inferior's vector state, its callee-saved registers, its
// frame pointer and its flags as they are where it must, and makes no call that
// is not its own.
func TestCoreInstructions(t *testing.T) {
	c, rows := tracedCore(t)
	var indirect []int
	syscalls := 0
	for at := range rows.all() {
		in, err := x86asm.Decode(c.code[at:], 64)
		if err != nil {
			t.Fatal(err)
		}
		text := in.String()
		for _, a := range in.Args {
			if r, ok := a.(x86asm.Reg); ok && r >= x86asm.X0 && r <= x86asm.X15 || strings.Contains(text, "MM") {
				t.Errorf("core+%#x: %s touches vector registers", at, text)
			}
			if m, ok := a.(x86asm.Mem); ok && (m.Segment == x86asm.FS || m.Segment == x86asm.GS || m.Base == x86asm.RIP) {
				t.Errorf("core+%#x: %s", at, text)
			}
		}
		switch in.Op {
		case x86asm.SYSCALL:
			syscalls++
		case x86asm.CALL, x86asm.JMP:
			if _, direct := in.Args[0].(x86asm.Rel); !direct {
				indirect = append(indirect, at)
			}
		case x86asm.INT, x86asm.UD2, x86asm.HLT, x86asm.STD:
			t.Errorf("core+%#x: %s", at, text)
		}
		preserved := map[x86asm.Arg]bool{x86asm.RBX: true, x86asm.RBP: true, x86asm.R12: true, x86asm.R13: true, x86asm.R14: true, x86asm.R15: true,
			x86asm.EBX: true, x86asm.EBP: true, x86asm.R12L: true, x86asm.R13L: true, x86asm.R14L: true, x86asm.R15L: true}
		if preserved[in.Args[0]] && rows[at].cfa <= frameSize+16 && in.Op != x86asm.PUSH && in.Op != x86asm.CMP && in.Op != x86asm.TEST {
			t.Errorf("core+%#x: %s before record has saved it", at, text)
		}
	}
	if syscalls != 9 { // gettid twice, to wait, to wake, and five to offer a match
		t.Errorf("%d system calls", syscalls)
	}
	// The original, with copied arguments or not, or instead of it; a condition five times; what
	// looks at the old block of a realloc, twice;
	// the original by the short way, or instead of it; the sum of a stack, from its last
	// word on.
	if len(indirect) != 13 {
		t.Errorf("%d indirect calls and jumps at %#x", len(indirect), indirect)
	}
}

// The state's address is where it has to be, and nowhere else is a placeholder.
func TestCoreIsLinked(t *testing.T) {
	c, _ := tracedCore(t)
	count := func(v uint64) int { return bytes.Count(c.code, binary.LittleEndian.AppendUint64(nil, v)) }
	if count(coreState) == 0 || count(statePlaceholder) != 0 {
		t.Errorf("state %d times, placeholder %d", count(coreState), count(statePlaceholder))
	}
	other, err := loadCore(coreState + 1<<32)
	if err != nil {
		t.Fatal(err)
	}
	different := 0
	for i := range c.code {
		if c.code[i] != other.code[i] {
			different++
		}
	}
	if different != count(coreState) {
		t.Errorf("%d bytes depend on the state's address, in %d places", different, count(coreState))
	}
}

// Fault regions do not overlap, and each way out sees the frame of the region.
func TestFaultRegions(t *testing.T) {
	c, rows := tracedCore(t)
	if out, ok := c.faultExit(c.marks[markAlloc]); ok {
		t.Errorf("a fault at the entry is expected, and goes on at %#x", out)
	}
	for i, r := range faultRegions {
		low, high := c.marks[r.low], c.marks[r.high]
		if low >= high {
			t.Errorf("region %d is [%#x, %#x)", i, low, high)
		}
		for j, o := range faultRegions[:i] {
			if low < c.marks[o.high] && c.marks[o.low] < high {
				t.Errorf("regions %d and %d overlap", i, j)
			}
		}
		out, ok := c.faultExit(low)
		if !ok || out != c.marks[r.out] {
			t.Errorf("region %d ends at %#x %v", i, out, ok)
		}
		for at, row := range rows.all() {
			if low <= at && at < high && row != rows[out] && reads(t, c, at) {
				t.Errorf("region %d: at core+%#x the frame is %+v, at the exit %+v", i, at, row, rows[out])
			}
		}
	}
}

// reads tells whether an instruction loads from memory other than the stack.
func reads(t *testing.T, c *core, at int) bool {
	t.Helper()
	in, err := x86asm.Decode(c.code[at:], 64)
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range in.Args {
		if m, ok := a.(x86asm.Mem); ok && m.Base != x86asm.RSP && in.Op != x86asm.LEA && in.Op != x86asm.NOP {
			return true
		}
	}
	return false
}

// The .eh_frame that debuggers and exceptions read says what the rows say.
func TestEhFrame(t *testing.T) {
	c, rows := tracedCore(t)
	const low, at = addr.Run(0x400000000000), addr.Run(0x400000002000)
	section, fde := rows.ehFrame(low, len(c.code))
	table, err := unwind.NewTable(unwind.Sections{Name: "core", EhFrame: section, EhFrameAddr: addr.File(at)})
	if err != nil {
		t.Fatal(err)
	}
	rule := func(slot int8) unwind.Rule {
		if slot == 0 {
			return unwind.Rule{Kind: unwind.SameValue}
		}
		return unwind.Rule{Kind: unwind.Offset, Offset: 8 * int64(slot)}
	}
	for off, want := range rows.all() {
		row, ok := table.RowAt(addr.File(low) + addr.File(off))
		if !ok || row.CFA.Kind != unwind.Register || row.CFA.Reg != unwind.RSP || row.CFA.Offset != int64(want.cfa) {
			t.Fatalf("core+%#x: CFA %+v, want %+v", off, row.CFA, want)
		}
		if ra := row.Rules[unwind.RA]; ra.Kind != unwind.Offset || ra.Offset != -8 {
			t.Fatalf("core+%#x: return address %+v", off, ra)
		}
		for reg, slot := range map[unwind.Reg]int8{unwind.RBP: want.bp, unwind.RBX: want.bx} {
			got := row.Rules[reg]
			if got.Kind == unwind.Unspecified {
				got.Kind = unwind.SameValue
			}
			if got.Kind != rule(slot).Kind || got.Offset != rule(slot).Offset {
				t.Fatalf("core+%#x: register %v %+v, want slot %d", off, reg, got, slot)
			}
		}
	}
	if err := table.Damage(); err != nil {
		t.Error(err)
	}
	if _, ok := table.RowAt(addr.File(low) + addr.File(len(c.code))); ok {
		t.Error("a row behind the end")
	}
	// Where the FDE is said to be is one: libgcc finds its CIE and range there.
	if back := binary.LittleEndian.Uint32(section[fde+4:]); back != uint32(fde+4) {
		t.Errorf("the CIE is %d bytes before %d", back, fde+4)
	}
	if got := binary.LittleEndian.Uint64(section[fde+8:]); got != uint64(low) {
		t.Errorf("the FDE is for %#x", got)
	}
	compareReadelf(t, section, low, rows)
}

// compareReadelf has readelf interpret the section.
func compareReadelf(t *testing.T, section []byte, low addr.Run, rows frameMap) {
	t.Helper()
	dir := t.TempDir()
	object, data := filepath.Join(dir, "empty.o"), filepath.Join(dir, "eh_frame")
	if err := os.WriteFile(data, section, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, command := range [][]string{
		{"gcc", "-c", "-x", "assembler", "/dev/null", "-o", object},
		{"objcopy", "--add-section", ".eh_frame=" + data, "--set-section-flags", ".eh_frame=alloc,readonly,data", object},
	} {
		if out, err := exec.Command(command[0], command[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v (Debian package build-essential)\n%s", command[0], err, out)
		}
	}
	if f, err := elf.Open(object); err != nil || f.Section(".eh_frame") == nil {
		t.Fatal("no .eh_frame", err)
	}
	out, err := exec.Command("readelf", "--debug-dump=frames-interp", object).Output()
	if err != nil {
		t.Fatalf("readelf: %v (Debian package binutils)", err)
	}
	got := map[addr.Run]string{}
	for line := range strings.Lines(string(out)) {
		f := strings.Fields(line)
		var at addr.Run
		if n, _ := fmt.Sscanf(line, "%x", &at); n == 1 && len(f) > 2 && len(f[0]) == 16 && strings.HasPrefix(f[1], "rsp+") {
			got[at] = strings.Join(f[1:], " ")
		}
	}
	now, before := "", ""
	seen := 0
	for off, r := range rows.all() {
		saved := func(slot int8) string {
			if slot == 0 {
				return "s"
			}
			return fmt.Sprintf("c%d", 8*int(slot))
		}
		want := fmt.Sprintf("rsp+%d %s %s c-8", r.cfa, saved(r.bx), saved(r.bp))
		if line, ok := got[low+addr.Run(off)]; ok {
			now = line
			seen++
		}
		// Before the first row with a rule readelf has no columns for registers.
		now = strings.Replace(now, "u u", "s s", 1)
		if now != want && !(now == fmt.Sprintf("rsp+%d c-8", r.cfa) && r.bx == 0 && r.bp == 0) {
			t.Fatalf("core+%#x: readelf says %q, want %q (before: %s)", off, now, want, before)
		}
		before = want
	}
	if seen < 30 {
		t.Errorf("readelf shows %d rows", seen)
	}
}

// Between the instructions that can be reached the walker's table has the row
// before: there is nothing but padding.
func TestFrameTable(t *testing.T) {
	c, rows := tracedCore(t)
	tables, err := newTables(newShared(t), 0)
	if err != nil {
		t.Fatal(err)
	}
	table := rows.table(tables.rules)
	if !slices.IsSorted(table.Offs) || table.Offs[0] != 0 {
		t.Error("rows out of order")
	}
	list := tables.rules.List()
	for off, row := range rows.all() {
		if got := list[table.At(addr.File(off))]; got != row.rule() {
			t.Fatalf("core+%#x: %v, want %v", off, got, row.rule())
		}
	}
	if n := len(table.Offs); n > 200 {
		t.Errorf("%d rows for %d bytes", n, len(c.code))
	}
}

// Two ways to one instruction with different frames are an error.
func TestTraceRefuses(t *testing.T) {
	for name, code := range map[string][]byte{
		"two frames":      {0x74, 0x01, 0x50, 0xc3},             // je +1; push %rax; ret
		"no instruction":  {0x06},                               // push %es, gone in 64-bit mode
		"sub then bypass": {0x75, 4, 0x48, 0x83, 0xec, 8, 0xc3}, // jne +4; sub $8,%rsp; ret
	} {
		c := &core{code: append(code, make([]byte, 16)...), marks: map[uint32]int{markAlloc: 0, markFree: 0, markReturn: 1 << 20}}
		for _, r := range faultRegions {
			c.marks[r.low] = 1 << 20
		}
		if rows, err := c.trace(); err == nil {
			t.Errorf("%s: %v", name, rows)
		}
	}
}
