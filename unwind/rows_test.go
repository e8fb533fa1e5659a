package unwind

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hdb/internal/addr"
)

// sameRules tells in which register two rows differ; "" in none.
func sameRules(a, b *Row) string {
	differ := func(a, b Rule) bool {
		return a.Kind != b.Kind || a.Reg != b.Reg || a.Offset != b.Offset || !bytes.Equal(a.Expr, b.Expr)
	}
	if differ(a.CFA, b.CFA) {
		return fmt.Sprintf("CFA %s and %s", cfaCell(a.CFA), cfaCell(b.CFA))
	}
	for r := range Reg(numRegs) {
		if differ(a.Rules[r], b.Rules[r]) {
			return fmt.Sprintf("%v %s and %s", r, cell(a.Rules[r]), cell(b.Rules[r]))
		}
	}
	if a.Function != b.Function || a.Signal != b.Signal || a.set != b.set {
		return fmt.Sprintf("function %v signal %v set %#x and %v %v %#x", a.Function, a.Signal, a.set, b.Function, b.Signal, b.set)
	}
	return ""
}

// checkRows holds Rows against RowAt: at both ends of each row, and of what lies
// between them. It returns the number of rows.
func checkRows(t testing.TB, table *Table) int {
	t.Helper()
	n, bad := 0, 0
	end := addr.File(0)
	complain := func(format string, args ...any) {
		t.Helper()
		if bad++; bad < 20 {
			t.Errorf(format, args...)
		}
	}
	gap := func(low, high addr.File) {
		for _, a := range []addr.File{low, low + (high-low)/2, high - 1} {
			if row, ok := table.RowAt(a); ok && low < high {
				complain("no row at %v, where RowAt has %v-%v", a, row.Low, row.High)
			}
		}
	}
	for row := range table.Rows {
		n++
		if row.Low < end || row.High <= row.Low {
			complain("row %v-%v behind %v", row.Low, row.High, end)
		}
		gap(end, row.Low)
		for _, a := range []addr.File{row.Low, row.High - 1} {
			want, ok := table.RowAt(a)
			if !ok {
				complain("row %v-%v, where RowAt has none at %v", row.Low, row.High, a)
			} else if diff := sameRules(row, &want); diff != "" {
				complain("row %v-%v and RowAt(%v): %s", row.Low, row.High, a, diff)
			} else if row.Low < want.Low || want.High < row.High {
				complain("row %v-%v, where RowAt(%v) has %v-%v", row.Low, row.High, a, want.Low, want.High)
			}
		}
		end = row.High
	}
	if end < math.MaxUint64 {
		gap(end, math.MaxUint64)
	}
	return n
}

func TestRowsOfInstalledFilesAreRowAts(t *testing.T) {
	for _, path := range installed {
		if _, err := os.Stat(path); err != nil {
			continue // TestRowsOfInstalledFiles counts them
		}
		t.Run(filepath.Base(path), func(t *testing.T) {
			t.Parallel()
			s := openELF(t, path)
			n := checkRows(t, newTable(t, s))
			s.EhFrameHdr = nil
			if scanned := checkRows(t, newTable(t, s)); n != scanned || n < 10 {
				t.Errorf("%d rows, %d without the search table", n, scanned)
			}
		})
	}
}

// framed is a program whose CFA offsets tell rows apart: at the start, and behind
// each advance.
func framed(offsets ...int) []byte {
	var b []byte
	for i, off := range offsets {
		if i > 0 {
			b = asm(b, cfaAdvanceLoc|4)
		}
		b = asm(b, cfaDefCFAOffset, off)
	}
	return b
}

// withHdr makes an .eh_frame of absolute addresses and a search table at hdrAt, whose
// addresses, relative to it, may differ from those of the FDEs.
func withHdr(hdrAt addr.File, at []int32, fdes ...fdeSpec) Sections {
	const base = 0x100000
	entry := func(id uint32, body []byte) []byte { return asm(uint32(len(body)+4), id, body) }
	b := entry(0, cieSpec{}.body())
	hdr := asm(1, peAbsptr, peUdata4, peDatarel|peSdata4, uint64(base), uint32(len(fdes)))
	for i, f := range fdes {
		hdr = asm(hdr, uint32(at[i]), uint32(base+len(b)-int(hdrAt)))
		b = append(b, entry(uint32(len(b)+4), asm(f.low, f.size, f.program))...)
	}
	return Sections{Name: "made", EhFrame: b, EhFrameAddr: base, EhFrameHdr: hdr, EhFrameHdrAddr: hdrAt}
}

func TestRows(t *testing.T) {
	both := func(eh, debug Sections) Sections {
		eh.DebugFrame = debug.DebugFrame
		return eh
	}
	for _, c := range []struct {
		name     string
		sections Sections
		want     string // low-high:CFA offset, in hexadecimal
	}{
		{"nothing", Sections{}, ""},
		{"a gap", debugFrame(t, cieSpec{}, fdeSpec{0x20, 8, framed(16, 24)}, fdeSpec{0x10, 4, nil}), "10-14:8 20-24:10 24-28:18"},
		{"a location advanced by 0", debugFrame(t, cieSpec{}, fdeSpec{0x10, 8, asm(cfaDefCFAOffset, 16, cfaAdvanceLoc, framed(24, 32))}),
			"10-14:18 14-18:20"},
		{"code that ends before the program", debugFrame(t, cieSpec{}, fdeSpec{0x10, 6, framed(16, 24, 32)}), "10-14:10 14-16:18"},
		{"an FDE inside of another", debugFrame(t, cieSpec{}, fdeSpec{0x10, 16, framed(16, 24)}, fdeSpec{0x12, 4, framed(32)}),
			"10-12:10 12-16:20 16-20:18"},
		{"FDEs that overlap", debugFrame(t, cieSpec{}, fdeSpec{0x10, 16, framed(16)}, fdeSpec{0x18, 16, framed(32)}), "10-18:10 18-28:20"},
		{"FDEs of the same address", debugFrame(t, cieSpec{}, fdeSpec{0x10, 16, framed(16)}, fdeSpec{0x10, 8, framed(32)}), "10-18:20 18-20:10"},
		{"an instruction that cannot be read", debugFrame(t, cieSpec{}, fdeSpec{0x10, 16, asm(framed(16, 24), 0x3f)}, fdeSpec{0x30, 4, nil}),
			"10-14:10 30-34:8"},
		{"a row without CFA", debugFrame(t, cieSpec{initial: asm(cfaNop)}, fdeSpec{0x10, 8, asm(cfaAdvanceLoc|4, cfaDefCFA, 7, 16)}), "14-18:10"},
		{"a CIE with an advance", debugFrame(t, cieSpec{initial: asm(cfaDefCFA, 7, 8, cfaAdvanceLoc|4)}, fdeSpec{0x10, 8, framed(16)},
			fdeSpec{0x20, 8, framed(16)}), "10-14:8 20-24:8"},
		{"a CIE that cannot be read", debugFrame(t, cieSpec{initial: asm(0x3f)}, fdeSpec{0x10, 8, framed(16)}), ""},
		{"restored states", debugFrame(t, cieSpec{}, fdeSpec{0x10, 16, asm(cfaDefCFAOffset, 16, cfaRememberState, cfaAdvanceLoc|4, cfaDefCFAOffset, 8,
			cfaAdvanceLoc|4, cfaRestoreState)}), "10-14:10 14-18:8 18-20:10"},
		{"a search table", withHdr(0, []int32{0x10, 0x20}, fdeSpec{0x10, 8, framed(16)}, fdeSpec{0x20, 8, framed(24)}), "10-18:10 20-28:18"},
		{"a search table whose FDEs overlap", withHdr(0, []int32{0x10, 0x18}, fdeSpec{0x10, 32, framed(16)}, fdeSpec{0x18, 4, framed(24)}),
			"10-18:10 18-1c:18"},
		{"a search table of other addresses", withHdr(0, []int32{0x10, 0x20, 0x30}, fdeSpec{0x14, 64, framed(16, 24)}, fdeSpec{0x10, 20, framed(32)},
			fdeSpec{0x80, 4, nil}), "14-18:10 18-20:18 20-24:20 80-84:8"},
		{"a search table with an address below 0", withHdr(0x18, []int32{-32, -16}, fdeSpec{0x10, 8, framed(16)}, fdeSpec{0x8, 4, framed(24)}), "8-c:18"},
		{".debug_frame around .eh_frame", both(withHdr(0, []int32{0x10, 0x20}, fdeSpec{0x10, 8, framed(16)}, fdeSpec{0x20, 8, asm(framed(24, 32), 0x3f)}),
			debugFrame(t, cieSpec{}, fdeSpec{0x8, 0x40, framed(40)})), "8-10:28 10-18:10 18-20:28 20-24:18 24-48:28"},
	} {
		t.Run(c.name, func(t *testing.T) {
			table := newTable(t, c.sections)
			var got []string
			for row := range table.Rows {
				got = append(got, fmt.Sprintf("%x-%x:%x", uint64(row.Low), uint64(row.High), row.CFA.Offset))
			}
			if rows := strings.Join(got, " "); rows != c.want {
				t.Errorf("%s\nwant %s", rows, c.want)
			}
			checkRows(t, table)
			for range table.Rows { // stops at the first
				break
			}
		})
	}
}

// TestRowsOfForeignColumn: a return address in a column of its own is RA's.
func TestRowsOfForeignColumn(t *testing.T) {
	s := debugFrame(t, cieSpec{initial: asm(cfaDefCFA, 7, 8, cfaOffset|byte(R15), 1)}, fdeSpec{0x10, 12, framed(8, 16, 24)})
	s.DebugFrame[bytes.IndexByte(s.DebugFrame, byte(RA))] = byte(R15)
	table := newTable(t, s)
	if n := checkRows(t, table); n != 3 {
		t.Errorf("%d rows", n)
	}
	for row := range table.Rows {
		if row.Rules[RA].Kind != Offset || row.Rules[R15].Kind != Unspecified {
			t.Errorf("row %v: RA %s, r15 %s", row.Low, cell(row.Rules[RA]), cell(row.Rules[R15]))
		}
	}
}

// TestRowsOfNests: what is nested deeper than a sound file ever has it costs the
// outermost FDEs only, and bounded work.
func TestRowsOfNests(t *testing.T) {
	var fdes []fdeSpec
	for i := range uint64(1000) {
		fdes = append(fdes, fdeSpec{0x10 + i, 4000 - 2*i, nil})
	}
	n, last := 0, addr.File(0)
	for row := range newTable(t, debugFrame(t, cieSpec{}, fdes...)).Rows {
		if row.Low < last {
			t.Fatalf("row at %v behind %v", row.Low, last)
		}
		n, last = n+1, row.High
	}
	if want := 1000 + maxNested - 1; n != want {
		t.Errorf("%d rows, want %d", n, want)
	}
}

// TestRowsOfRepeatedFDE: a damaged search table may name a long program many times.
func TestRowsOfRepeatedFDE(t *testing.T) {
	long := fdeSpec{0x10, 1 << 20, bytes.Repeat(asm(cfaAdvanceLoc|1), 50_000)}
	s := withHdr(0, []int32{0x10}, long)
	first := slices.Clone(s.EhFrameHdr[len(s.EhFrameHdr)-8:])
	for i := range 20_000 {
		first[0], first[1] = byte(0x10+i), byte((0x10+i)>>8)
		s.EhFrameHdr = append(s.EhFrameHdr, first...)
	}
	put32 := s.EhFrameHdr[12:16]
	copy(put32, asm(uint32(20_001)))
	n := 0
	for range newTable(t, s).Rows {
		n++
	}
	if n < 10 || n > 30_000 {
		t.Errorf("%d rows", n)
	}
}

func TestRowsAllocateForNone(t *testing.T) {
	table := newTable(t, openELF(t, "/lib/x86_64-linux-gnu/libc.so.6"))
	n := 0
	allocs := testing.AllocsPerRun(3, func() {
		for range table.Rows {
			n++
		}
	})
	if allocs > 40 || n < 4*20_000 {
		t.Errorf("%v allocations, %d rows", allocs, n/4)
	}
}

func BenchmarkRows(b *testing.B) {
	table := newTable(b, openELF(b, "/lib/x86_64-linux-gnu/libc.so.6"))
	n := 0
	for b.Loop() {
		n = 0
		for range table.Rows {
			n++
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/row")
}

// TestRowAtInAnyOrder: what was asked before does not change an answer, where FDEs
// overlap neither.
func TestRowAtInAnyOrder(t *testing.T) {
	table := newTable(t, debugFrame(t, cieSpec{}, fdeSpec{0x10, 0x40, framed(16, 24)}, fdeSpec{0x14, 4, framed(32)}))
	if row, ok := table.RowAt(0x20); !ok || row.Low != 0x14 || row.CFA.Offset != 24 {
		t.Errorf("row %v of CFA %s", row.Low, cfaCell(row.CFA))
	}
	if row, ok := table.RowAt(0x14); !ok || row.CFA.Offset != 32 {
		t.Errorf("row %v of CFA %s at the inner FDE", row.Low, cfaCell(row.CFA))
	}
}
