package printers_test

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hdb/testprogs"
)

var rustMapQuestions = []struct{ ask, want string }{
	{"print arc_str", "Arc(strong=1, weak=0) {value = \"arc str\"}\n"},
	{"print arc_slice", "Arc(strong=1, weak=0) {value = [..](size=2) [3, 4]}\n"},
	{"print vec[2] as u8 + 1", " = 31\n"},
	{"print vec[2]", " = 30\n"},
	{"print vec[3]", "no element 3: there are 3\n"},
	{"print hs", "HashSet(size=1) {7}\n"},
	{"print he", "HashMap(size=0) {}\n"},
	{"print bm", "BTreeMap(size=100) {0: 0, 1: 1, 2: 4, 3: 9, 4: 16, 5: 25, 6: 36, "},
	{"print bm", ", 98: 9604, 99: 9801}\n"},
	{"print bs", "BTreeSet(size=2) {\"a\", \"b\"}\n"},
	{"print be", "BTreeMap(size=0) {}\n"},
	{"print bk", "BTreeMap(size=1) {\"k\": 1}\n"},
	{"print vd", "VecDeque(size=4) [1, 2, 3, 9]\n"},
	{"print vz", "VecDeque(size=0) []\n"},
	{"print cell", "Cell {value = 5}\n"},
	{"print rc", "RefCell(borrow=0) {value = Vec(size=2) [1, 2]}\n"},
	{"print/r bk", "BTreeMap<alloc::string::String, u8"},
	{"print hm", "HashMap(size=3) {"},
	{"print hm", "1: \"v1\""},
	{"set print elements 5", ""},
	{"print bm", "BTreeMap(size=100) {0: 0, 1: 1, 2: 4, 3: 9, 4: 16, ...}\n"},
	// What follows has no end, or none that is there.
	{"set var hs.base.map.table.table.items = 1000000", ""},
	{"print hs", "HashSet(size=1000000) {7<error: some elements were not found>}\n"},
	{"set var hs.base.map.table.table.bucket_mask = 0x7fffffffffffff", ""},
	{"print hs", "HashSet(size=1000000) {7, "},
	{"set var bm.length = 0x7fffffffffffff", ""},
	{"set print elements 0", ""},
	{"print bm", "99: 9801<error: some elements were not found>}\n"},
	{"set var vd.len = 0x7fffffffffffff", ""},
	{"print vd", "VecDeque<i32"}, // it cannot be one: shown as the struct
}

// TestRustMaps shows the collections of Rust's library as what they hold, and ends
// where they do not.
func TestRustMaps(t *testing.T) {
	prog := filepath.Join(t.TempDir(), "maps")
	source, err := filepath.Abs("testdata/maps.rs")
	if err != nil {
		t.Fatal(err)
	}
	build := exec.Command("rustc", "-g", "-C", "opt-level=0", source, "-o", prog)
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", build.Args, err, out)
	}
	args := []string{"-nx", "-batch", "-ex", "break " + testprogs.StopLine(t, source), "-ex", "run"}
	for _, q := range rustMapQuestions {
		args = append(args, "-ex", "echo @@", "-ex", q.ask)
	}
	began := time.Now()
	out, _ := exec.Command(testprogs.HDB(t), append(args, prog)...).CombinedOutput()
	if d := time.Since(began); d > time.Minute {
		t.Errorf("took %v", d)
	}
	parts := strings.Split(string(out), "@@")
	if len(parts) != len(rustMapQuestions)+1 {
		t.Fatalf("%d answers:\n%.4000s", len(parts)-1, out)
	}
	for i, q := range rustMapQuestions {
		if !strings.Contains(parts[i+1], q.want) {
			t.Errorf("%s: %.600s\nwant %s", q.ask, parts[i+1], q.want)
		}
	}
}
