package golden

import (
	"os"
	"strings"
	"testing"
)

func TestDiffNamesTheLinesThatDiffer(t *testing.T) {
	for _, tc := range []struct {
		name, want, got, diff string
	}{
		{"equal", "a\nb\n", "a\nb\n", ""},
		{"both empty", "", "", ""},
		{"changed line", "a\nb\nc\nd\ne\n", "a\nb\nX\nd\ne\n", "line 3:\n  a\n  b\n- c\n+ X\n  d\n  e\n"},
		{"added line", "a\n", "a\nb\n", "line 2:\n  a\n+ b\n  \n"},
		{"missing line end", "a\n", "a", "line 1:\n- a\n- \n+ a (no line end)\n"},
		{"space at the end", "a \n", "a\n", "line 1:\n- a·\n+ a\n  \n"},
		{"control sequence", "\x1b[1ma\n", "a\n", "line 1:\n- \\x1b[1ma\n+ a\n  \n"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := Diff([]byte(tc.want), []byte(tc.got)); got != tc.diff {
				t.Errorf("got\n%s\nwant\n%s", got, tc.diff)
			}
		})
	}
}

func TestDiffOfBytesIsAHexDump(t *testing.T) {
	got := Diff([]byte{0, 1, 2}, []byte{0, 9, 2})
	for _, part := range []string{"- 00000000  00 01 02", "+ 00000000  00 09 02"} {
		if !strings.Contains(got, part) {
			t.Errorf("no %q in\n%s", part, got)
		}
	}
}

// recorder is a testing.TB that keeps failures to itself.
type recorder struct {
	testing.TB
	failed bool
}

func (r *recorder) Helper()               {}
func (r *recorder) Errorf(string, ...any) { r.failed = true }

func TestCheck(t *testing.T) {
	t.Chdir(t.TempDir())
	fails := func(got string) bool {
		r := &recorder{TB: t}
		Check(r, "folder/case", []byte(got))
		return r.failed
	}
	if !fails("x") {
		t.Error("a missing golden file passed")
	}
	*update = true
	wrote := !fails("x")
	*update = false
	if b, err := os.ReadFile("testdata/folder/case"); !wrote || err != nil || string(b) != "x" {
		t.Errorf("-update wrote %q, %v", b, err)
	}
	if fails("x") || !fails("y") {
		t.Error("comparison is wrong")
	}
}
