package testprogs

import (
	"encoding/json"
	"maps"
	"os/exec"
	"path/filepath"
	"testing"
)

// replacedBook is what the functions of replaced.c have lost: blocks and bytes.
var replacedBook = map[string][2]uint64{"lose_one": {10, 8045}, "lose_two": {10, 8075}}

// TestReplacedCode has libraries, and programs, of equal return addresses one after the other: blocks and stacks
// are named by those that were there then, at a stop, in captures and in copies of them.
func TestReplacedCode(t *testing.T) {
	for _, c := range []struct {
		title string
		args  []string
		book  map[string][2]uint64 // what is live at the end
	}{
		{"libraries", nil, replacedBook},
		{"programs", []string{"exec"}, map[string][2]uint64{"lose_two": replacedBook["lose_two"]}},
	} {
		for _, plane := range []string{"set probe on", "set probe off"} {
			t.Run(c.title+" "+plane, func(t *testing.T) {
				t.Parallel()
				program := append([]string{"--args", Build(t, "replaced")}, c.args...)
				capture := filepath.Join(t.TempDir(), "run.hdb")
				answers := ask(t, true, program, []string{plane, "record start", "break puts", "run", "top 100", "leaks 100 --all", "save " + capture, "kill"})
				lostAs(t, "at a stop, top", answers["top 100"], c.book)
				lostAs(t, "at a stop, leaks", answers["leaks 100 --all"], c.book)
				written, sums, trimmed, merged := capture+"1", capture+"2", capture+"3", capture+"4"
				hdb := func(args ...string) string {
					t.Helper()
					out, err := exec.Command(HDB(t), args...).Output()
					if err != nil {
						t.Fatalf("%v: %v: %s", args, err, out)
					}
					return string(out)
				}
				hdb("capture", "trim", capture, "--to", "end", "-o", trimmed)
				hdb("capture", "merge", capture, capture, "-o", merged)
				captures := []string{capture, trimmed}
				if plane == "set probe on" {
					hdb(append([]string{"record", "-o", written}, program[1:]...)...)
					hdb(append([]string{"record", "--aggregate", "-o", sums}, program[1:]...)...)
					captures = append(captures, written, sums)
				}
				for _, of := range captures {
					lostAs(t, "top "+of, hdb("--json", "top", "100", of), c.book)
					lostAs(t, "leaks "+of, hdb("--json", "leaks", "100", of), c.book)
				}
				twice := map[string][2]uint64{}
				for name, n := range c.book {
					twice[name] = [2]uint64{2 * n[0], 2 * n[1]}
				}
				lostAs(t, "top of two merged", hdb("--json", "top", "100", merged), twice)
				allocated := map[string][2]uint64{}
				for _, row := range rowsOf(t, hdb("--json", "top", "100", "by", "bytes", capture)) {
					if _, ok := replacedBook[row.Function]; ok {
						allocated[row.Function] = [2]uint64{row.Allocs, row.Allocated}
					}
				}
				if !maps.Equal(allocated, replacedBook) {
					t.Errorf("top by bytes: %v allocated, the program %v", allocated, replacedBook)
				}
			})
		}
	}
}

// A replacedRow is a row of top or of leaks.
type replacedRow struct {
	Function  string
	Reach     string
	Frames    []struct{ Function string }
	Blocks    uint64 `json:"live_blocks"`
	Bytes     uint64 `json:"live_bytes"`
	Allocs    uint64 `json:"allocations"`
	Allocated uint64 `json:"allocated_bytes"`
}

func rowsOf(t *testing.T, answer string) []replacedRow {
	t.Helper()
	var got struct{ Rows []replacedRow }
	if err := json.Unmarshal([]byte(answer), &got); err != nil {
		t.Fatalf("%v: %s", err, answer)
	}
	return got.Rows
}

// lostAs holds an answer of top or leaks against the program's book, of which each function has one row, or one for each way its blocks are held.
func lostAs(t *testing.T, what, answer string, book map[string][2]uint64) {
	t.Helper()
	got, seen := map[string][2]uint64{}, map[string]bool{}
	for _, row := range rowsOf(t, answer) {
		name := row.Function
		if len(row.Frames) > 0 {
			name = row.Frames[0].Function
		}
		if _, ok := replacedBook[name]; !ok || row.Blocks == 0 {
			continue
		}
		if seen[name+row.Reach] {
			t.Errorf("%s: %s has two rows", what, name)
		}
		seen[name+row.Reach] = true
		got[name] = [2]uint64{got[name][0] + row.Blocks, got[name][1] + row.Bytes}
	}
	if !maps.Equal(got, book) {
		t.Errorf("%s: %v, the program's book has %v", what, got, book)
	}
}
