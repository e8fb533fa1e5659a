package values

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"hdb/testprogs"
	"hdb/unwind"
	"hdb/unwind/dwop"
)

// TestPieces assembles values of pieces that are there, that are empty, and that are in
// registers which the frame does not know.
func TestPieces(t *testing.T) {
	w := &Program{}
	f := &Frame{}
	f.Regs.Set(unwind.RBX, 8)
	long := w.cType("long")
	known := dwop.Location{Kind: dwop.InRegister, Reg: uint64(unwind.RBX), Bits: 64}
	unsaved := dwop.Location{Kind: dwop.InRegister, Reg: uint64(unwind.RAX), Bits: 64}
	vector := dwop.Location{Kind: dwop.InRegister, Reg: regXMM0, Bits: 64}
	empty := dwop.Location{Kind: dwop.Lost, Bits: 64}
	half := dwop.Location{Kind: dwop.InRegister, Reg: uint64(unwind.RBX), Bits: 32}
	for _, c := range []struct {
		name   string
		pieces []dwop.Location
		want   string
	}{
		{"known", []dwop.Location{known, known}, "{8, 8}"},
		{"unsaved first", []dwop.Location{unsaved, known}, "{<optimized out>, 8}"},
		{"unsaved second", []dwop.Location{known, unsaved}, "{8, <optimized out>}"},
		{"unsaved vector", []dwop.Location{known, vector}, "{8, <optimized out>}"},
		{"empty", []dwop.Location{empty, known}, "{<optimized out>, 8}"},
		{"all lost", []dwop.Location{unsaved, empty}, "<optimized out>"},
		{"too short", []dwop.Location{known}, "{8, <optimized out>}"},
		{"half of a member", []dwop.Location{known, half}, "{8, <optimized out>}"},
		{"halves of a member", []dwop.Location{known, half, half}, "{8, 34359738376}"},
		{"half of it unsaved", []dwop.Location{known, half, {Kind: dwop.InRegister, Reg: uint64(unwind.RCX), Bits: 32}}, "{8, <optimized out>}"},
	} {
		if got := w.Format(f, (&locator{mod: &modState{prog: w}, frame: f}).assemble(long.ArrayOf(2), c.pieces), Options{}); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// TestLostPointer has no type before what is not there.
func TestLostPointer(t *testing.T) {
	w := &Program{}
	long := w.cType("long")
	v := (&locator{mod: &modState{prog: w}, frame: &Frame{}}).assemble(long.PointerTo().ArrayOf(2), []dwop.Location{{Kind: dwop.Lost, Bits: 64}, {Kind: dwop.Inline, Data: make([]byte, 8), Bits: 64}})
	if got := w.FormatTop(nil, v.Part(long.PointerTo(), 0), Options{}); got != "<optimized out>" {
		t.Errorf("lost: %s", got)
	}
	if got := w.FormatTop(nil, v.Part(long.PointerTo(), 8), Options{}); got != "(long *) 0x0" {
		t.Errorf("known: %s", got)
	}
}

// TestPiecesOfCaller looks at the variables of a caller, some of whose registers the
// called function has not saved: they are right, or said to be optimized out.
func TestPiecesOfCaller(t *testing.T) {
	const lost = "<optimized out>"
	right := map[string]string{
		"up": `std::unique_ptr<Node> = \{get\(\) = (0x[1-9a-f][0-9a-f]+|L)\}|L`,
		"pr": `\{a = (4|L), b = (8|L)\}|L`,
		"mx": `\{i = (4|L), f = (2|L), p = (0x[1-9a-f][0-9a-f]+|L)\}|L`,
		"sv": `\{(static npos = \S+, |static npos = L, )?_M_len = (4|L), _M_str = L\}|"hell"|L`,
		"sp": `\{first = (4|L), second = (12|L)\}|L`,
		"op": `std::optional<int> = \{\[contained value\] = (4|L)\}|L`,
	}
	builds := [][]string{{"g++", "-O2"}, {"g++", "-O1", "-gdwarf-4"}, {"clang++", "-O1"}, {"clang++", "-O2", "-gdwarf-4"}}
	if testing.Short() {
		builds = builds[:1]
	}
	for _, build := range builds {
		prog := filepath.Join(t.TempDir(), "pieces")
		args := append(build[1:], "-std=c++17", "-g", filepath.Join("testdata", "pieces.cc"), "-o", prog)
		if out, err := exec.Command(build[0], args...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", build, err, out)
		}
		out, err := exec.Command(testprogs.HDB(t), "-nx", "-batch", "-ex", "break use", "-ex", "run", "-ex", "frame 1 info locals", prog).Output()
		if err != nil {
			t.Fatalf("%v: %v\n%s", build, err, out)
		}
		found := 0
		for line := range strings.Lines(string(out)) {
			name, v, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " = ")
			if right[name] == "" {
				continue
			}
			found++
			if !regexp.MustCompile("^(" + strings.ReplaceAll(right[name], "L", lost) + ")$").MatchString(v) {
				t.Errorf("%v: %s = %s", build, name, v)
			}
		}
		if found < len(right)-1 {
			t.Errorf("%v: %d of %d variables in\n%s", build, found, len(right), out)
		}
	}
}
