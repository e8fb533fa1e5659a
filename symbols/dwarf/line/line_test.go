package line_test

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"hdb/symbols/dwarf"
	"hdb/symbols/dwarf/line"
	"hdb/symbols/elf"
	"hdb/testprogs"
)

var dumpedRow = regexp.MustCompile(`(?m)^0x([0-9a-f]{16})\s+(\d+)\s+(\d+)\s+(\d+)\s+\d+\s+(\d+) (.*)$`)

// TestAgainstDwarfdump compares every row with llvm-dwarfdump's.
func TestAgainstDwarfdump(t *testing.T) {
	for _, c := range []string{
		"gcc -g -O2 -gdwarf-2 inline.c", "g++ -g -O2 -gdwarf-4 mix.cc", "g++ -g -O2 -gdwarf-5 mix.cc",
		"clang++ -g -O2 -gdwarf-4 mix.cc", "clang++ -g -O2 -gdwarf-5 mix.cc",
	} {
		t.Run(strings.ReplaceAll(c, " ", "_"), func(t *testing.T) {
			args := strings.Fields(c)
			prog := filepath.Join(t.TempDir(), "prog")
			args[len(args)-1] = filepath.Join("..", "..", "testdata", args[len(args)-1])
			if out, err := exec.Command(testprogs.Tool(t, args[0]), append(args[1:], "-o", prog)...).CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			out, err := exec.Command(testprogs.Tool(t, "llvm-dwarfdump"), "--debug-line", prog).Output()
			if err != nil {
				t.Fatal(err)
			}
			want := map[string]int{}
			for _, m := range dumpedRow.FindAllStringSubmatch(string(out), -1) {
				row := fmt.Sprintf("%s %s:%s:%s", strings.TrimLeft(m[1], "0"), m[4], m[2], m[3])
				for _, flag := range []string{"is_stmt", "prologue_end", "end_sequence"} {
					if strings.Contains(m[6], flag) {
						row += " " + flag
					}
				}
				want[row]++
			}
			for _, row := range ourRows(t, prog) {
				want[row]--
			}
			for row, n := range want {
				if n != 0 {
					t.Errorf("row %s: %+d in llvm-dwarfdump's", row, n)
				}
			}
		})
	}
}

func ourRows(t *testing.T, prog string) []string {
	f, err := elf.Open(prog)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	get := func(name string) []byte {
		b, err := f.Section(name)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	d := dwarf.New(dwarf.Sections{
		Info: get(".debug_info"), Abbrev: get(".debug_abbrev"), Str: get(".debug_str"), LineStr: get(".debug_line_str"),
		StrOffsets: get(".debug_str_offsets"), Line: get(".debug_line"),
	}, nil)
	units, err := d.Units()
	if err != nil || len(units) != 1 {
		t.Fatalf("%d units, %v", len(units), err)
	}
	root, err := units[0].Load()
	if err != nil {
		t.Fatal(err)
	}
	table, err := new(line.Reader).Read(units[0], root.StmtList, func(uint64) bool { return true })
	if err != nil {
		t.Fatal(err)
	}
	var rows []string
	for _, r := range table.Rows {
		row := fmt.Sprintf("%x %d:%d:%d", r.Addr, r.File, r.Line, r.Col)
		if r.Is(line.Stmt) {
			row += " is_stmt"
		}
		if r.Is(line.PrologueEnd) {
			row += " prologue_end"
		}
		if r.Is(line.EndSequence) {
			row += " end_sequence"
		}
		rows = append(rows, row)
	}
	return rows
}

func TestJoinDir(t *testing.T) {
	for _, c := range [][3]string{
		{"/build", "a.c", "/build/a.c"},
		{"/build", "../x/a.c", "/x/a.c"},
		{"/build", "/abs/./a.c", "/abs/a.c"},
		{"", "a.c", "a.c"},
		{"./malloc", "malloc.c", "malloc/malloc.c"},
		{"/build", "", ""},
	} {
		if got := line.JoinDir(c[0], c[1]); got != c[2] {
			t.Errorf("JoinDir(%q, %q) = %q, want %q", c[0], c[1], got, c[2])
		}
	}
}
