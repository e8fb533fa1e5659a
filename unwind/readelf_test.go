package unwind

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"hdb/internal/addr"
)

// installed are files whose every row is compared with readelf's: compiled C, C++
// and hand-written assembly, from a few compilers. A system lacks some of them.
var installed = []string{
	"/lib/x86_64-linux-gnu/libc.so.6",
	"/lib64/ld-linux-x86-64.so.2",
	"/usr/lib/x86_64-linux-gnu/libstdc++.so.6",
	"/lib/x86_64-linux-gnu/libgcc_s.so.1",
	"/lib/x86_64-linux-gnu/libm.so.6",
	"/usr/lib/x86_64-linux-gnu/libcrypto.so.3",
	"/usr/bin/bash",
	"/usr/bin/python3",
	"/usr/bin/perl",
}

// A readelfRow is one line of readelf --debug-dump=frames-interp.
type readelfRow struct {
	low, high, end uint64 // the row's range, and the end of its FDE
	cfa            string
	regs           [numRegs]string // "" where readelf has no column
}

var fdeLine = regexp.MustCompile(`^[0-9a-f]{8,16} [0-9a-f]+ [0-9a-f]+ FDE .*pc=([0-9a-f]+)\.\.([0-9a-f]+)`)

// readelfRows parses readelf's interpretation of all FDEs in the section.
func readelfRows(t testing.TB, path, section string) []readelfRow {
	t.Helper()
	needTool(t, "readelf", "binutils")
	out, err := exec.Command("readelf", "--wide", "--debug-dump=frames-interp,no-follow-links", path).Output()
	if err != nil {
		t.Fatalf("readelf %s: %v", path, err)
	}
	var rows []readelfRow
	var columns []string
	var end uint64
	inside := false
	for line := range strings.Lines(string(out)) {
		fields := strings.Fields(line)
		var m []string
		if strings.Contains(line, " FDE ") {
			m = fdeLine.FindStringSubmatch(line)
		}
		switch {
		case strings.HasPrefix(line, "Contents of the "):
			inside, columns = fields[3] == section, nil
		case !inside || len(fields) == 0:
		case m != nil:
			end = hex(t, m[2])
			columns = nil
		case len(fields) > 3 && fields[3] == "CIE":
			end, columns = 0, nil
		case len(fields) > 1 && fields[1] == "ZERO": // a terminator
			columns = nil
		case fields[0] == "LOC":
			columns = fields[2:]
		case end != 0 && columns != nil:
			rows = appendRow(t, rows, fields, columns, end)
		}
	}
	return rows
}

func appendRow(t testing.TB, rows []readelfRow, fields, columns []string, end uint64) []readelfRow {
	t.Helper()
	var cells []string
	for _, f := range fields[1:] {
		if strings.HasPrefix(f, "(") { // "r10 (r10)" is one cell
			cells[len(cells)-1] = strings.Trim(f, "()")
			continue
		}
		cells = append(cells, f)
	}
	if len(cells) != len(columns)+1 {
		t.Fatalf("readelf row %q has %d cells for columns %q", fields, len(cells), columns)
	}
	row := readelfRow{low: hex(t, fields[0]), high: end, end: end, cfa: cells[0]}
	for i, c := range columns {
		if reg := slices.Index(regNames[:], c); reg >= 0 {
			row.regs[reg] = cells[i+1]
		} else if c == "ra" {
			row.regs[RA] = cells[i+1]
		}
	}
	if n := len(rows); n > 0 && rows[n-1].end == end {
		if rows[n-1].low == row.low { // location advanced by 0
			rows = rows[:n-1]
		} else {
			rows[n-1].high = row.low
		}
	}
	return append(rows, row)
}

func hex(t testing.TB, s string) uint64 {
	t.Helper()
	v, err := strconv.ParseUint(s, 16, 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// cell writes a rule the way readelf does.
func cell(r Rule) string {
	switch r.Kind {
	case SameValue:
		return "s"
	case Offset:
		return fmt.Sprintf("c%+d", r.Offset)
	case ValOffset:
		return fmt.Sprintf("v%+d", r.Offset)
	case Register:
		return r.Reg.String()
	case Expression:
		return "exp"
	case ValExpression:
		return "vexp"
	}
	return "u"
}

func cfaCell(r Rule) string {
	if r.Kind == ValExpression {
		return "exp"
	}
	return fmt.Sprintf("%v%+d", r.Reg, r.Offset)
}

// compareRows checks all of readelf's rows at their first and last byte.
func compareRows(t *testing.T, table *Table, want []readelfRow) {
	t.Helper()
	bad := 0
	for _, w := range want {
		if w.low >= w.high {
			continue
		}
		for _, at := range []uint64{w.low, w.high - 1} {
			if diff := diffRow(table, at, &w); diff != "" {
				t.Errorf("row at %#x: %s", at, diff)
				bad++
			}
		}
		if bad > 20 {
			t.Fatal("and so on")
		}
	}
}

func diffRow(table *Table, at uint64, want *readelfRow) string {
	row, ok := table.RowAt(addr.File(at))
	if !ok {
		return fmt.Sprintf("missing; readelf has CFA %s", want.cfa)
	}
	if row.Low != addr.File(want.low) || row.High != addr.File(want.high) {
		return fmt.Sprintf("range %v-%v, readelf has %#x-%#x", row.Low, row.High, want.low, want.high)
	}
	if got := cfaCell(row.CFA); got != want.cfa {
		return fmt.Sprintf("CFA %s, readelf has %s", got, want.cfa)
	}
	for r := range Reg(numRegs) {
		wanted := want.regs[r]
		if wanted == "" {
			wanted = "u"
		}
		if got := cell(row.Rules[r]); got != wanted {
			return fmt.Sprintf("%v %s, readelf has %s", r, got, wanted)
		}
	}
	return ""
}

func TestRowsOfInstalledFiles(t *testing.T) {
	found := 0
	for _, path := range installed {
		if _, err := os.Stat(path); err != nil {
			t.Logf("not installed: %s", path)
			continue
		}
		found++
		t.Run(filepath.Base(path), func(t *testing.T) {
			t.Parallel()
			want := readelfRows(t, path, ".eh_frame")
			if len(want) < 10 {
				t.Fatalf("readelf has only %d rows", len(want))
			}
			s := openELF(t, path)
			table := newTable(t, s)
			compareRows(t, table, want)
			if table.eh.search == nil {
				t.Error("the search table of .eh_frame_hdr was not used")
			}
			s.EhFrameHdr = nil
			scanned := newTable(t, s)
			compareRows(t, scanned, want)
			for _, table := range []*Table{table, scanned} {
				if err := table.Damage(); err != nil {
					t.Error(err)
				}
			}
			t.Logf("%d rows", len(want))
		})
	}
	if found < 4 {
		t.Errorf("%d of %q are installed: too few to compare (apt-get install bash python3 libssl3 libstdc++6)", found, installed)
	}
}

const debugFrameSource = `
int leaf(int *p) { return *p + 1; }
int frame(int n) { volatile char a[n + 1]; a[n] = n; return leaf((int *)a) + a[n]; }
int main(int argc, char **argv) { return frame(argc) + frame(2); }
`

func TestRowsOfDebugFrame(t *testing.T) {
	needTool(t, "gcc", "gcc")
	for _, flags := range []string{"-O2", "-O0", "-O2 -gdwarf64", "-O2 -gdwarf-3", "-O2 -gdwarf-2", "-O2 -gz"} {
		t.Run(flags, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "a.c"), []byte(debugFrameSource), 0o666); err != nil {
				t.Fatal(err)
			}
			args := append([]string{"-g", "-fno-asynchronous-unwind-tables", "-o", "a", "a.c"}, strings.Fields(flags)...)
			run(t, dir, "gcc", args...)
			path := filepath.Join(dir, "a")
			want := readelfRows(t, path, ".debug_frame")
			if len(want) < 6 {
				t.Fatalf("readelf has only %d rows in .debug_frame", len(want))
			}
			table := newTable(t, openELF(t, path))
			compareRows(t, table, want)
			if len(table.debugIndex().fdes) == 0 {
				t.Error("rows did not come from .debug_frame")
			}
		})
	}
}
