package gotext_test

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"hdb/testprogs"
)

// goCases are a question and what its answer contains. Addresses are written as ADDR.
var goCases = []struct{ ask, want string }{
	{"info args", "n = 7\ns = \"hello\"\np = (*main.point)(ADDR)\nxs = []int len: 3, cap: 3, [4, 5, 6]\nsh = main.shape(*main.circle) (*main.circle)(ADDR)\nfs = []float64 len: 2, cap: 2, [1.5, 2.5]\nsum = 0\nerr = error nil"},
	{"info locals", "arr = [3]uint8 [1, 2, 3]\nm = map[int]string [1: \"one\"]\nnilm = map[string]bool nil\nnilp = *main.point nil\nnils = []string len: 0, cap: 0, nil\ne = error(*errors.errorString) (*errors.errorString)(ADDR)\nnone = error nil\nany1 = interface {}(int) 42\nany2 = interface {}(main.point) {x: 3, y: 4}\nc = green (1)\nf = 2.5\nf32 = 0.1\ncx = (1-2i)\nfn = main.work.func1\nch = chan int 1/3\nlist = (*main.node)(ADDR)\nby = []uint8 len: 7, cap: 7, [104, 105, 27, 91, 51, 49, 109]\nlong = []int len: 500, cap: 500, [0 <repeats 200 times>, ...+300 more]\nss = []string len: 2, cap: 2, [\"a\", \"b\\n\"]"},
	{"info locals", "t = time.Time(\"1970-01-01T00:00:00Z\")\nb = true\nr = 120\npp = (**main.point)(ADDR)\nsp = []*main.point len: 2, cap: 2, [(*main.point)(ADDR), *main.point nil]\nms = map[string]main.point [\"k\": {x: 1, y: 2}]\nn = \"shadow\""},
	{"print p", "*main.point {x: 1, y: 2}"},
	{"print list", "*main.node {next: *main.node {next: *main.node nil, v: 2, point: *main.point nil}, v: 1, point: *main.point {x: 1, y: 2}}"},
	{"print -max-depth 1 -- list", "*main.node {next: *main.node {...}, v: 1, point: *main.point {...}}"},
	{"print -max-depth 1 -- ms", "map[string]main.point [\"k\": {...}]"},
	{"print -max-depth 1 -- sp", "[]*main.point len: 2, cap: 2, [*main.point {...}, *main.point nil]"},
	{"set print max-depth 1", ""},
	{"print list", "*main.node {next: *main.node {...}, v: 1, point: *main.point {...}}"},
	{"set print max-depth 20", ""},
	{"print p.x + len(xs)", "4"},
	{"print ms[\"k\"].y", "2"},
	{"print main.global", "map[string]int [\"two\": 2]"},
	{"print/x arr", "[3]uint8 [0x1, 0x2, 0x3]"},
	{"print xs[1:]", "[]int len: 2, cap: 2, [5, 6]"},
	{"whatis p", "type = *main.point"},
	{"whatis sh", "type = main.shape(*main.circle)"},
	{"ptype p", "type = *main.point struct {\n    x int\n    y int\n}"},
	{"ptype main.node", "type = main.node struct {\n    next *main.node\n    v int\n    *main.point\n}"},
	{"ptype c", "type = main.color uint8"},
	{"print nope", "no symbol \"nope\" in the current context"},
	{"print fn(1)", "functions of the program cannot be called"},
	{"print f = 1", "= changes the program"},
	{"print $rip", "<main.work+"},
	{"x/3xb &arr", "0x01  0x02  0x03"},
	{"x/2dg xs", "4  5"},
	{"set var f = 3.5", ""},
	{"print f", "3.5"},
	{"set var xs[0] = 40 + 2", ""},
	{"print xs[0]", "42"},
	{"set var s = \"x\"", "because functions of the program cannot be called"},
	{"up", "main.main"},
	{"info locals", "p = (*main.point)(ADDR)"},
}

// TestGo asks for the values of a Go program, of which delve knows the types.
func TestGo(t *testing.T) {
	prog := filepath.Join(t.TempDir(), "golang")
	build := exec.Command("go", "build", "-gcflags=-N -l", "-o", prog, "./testdata/golang")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", build.Args, err, out)
	}
	source, err := filepath.Abs("testdata/golang/main.go")
	if err != nil {
		t.Fatal(err)
	}
	args := []string{"-nx", "-batch", "-ex", "print main.global", "-ex", "break " + testprogs.StopLine(t, source), "-ex", "run"}
	for _, c := range goCases {
		args = append(args, "-ex", "echo @@", "-ex", c.ask)
	}
	out, _ := exec.Command(testprogs.HDB(t), append(args, prog)...).CombinedOutput()
	parts := strings.Split(regexp.MustCompile(`0xc?[0-9a-f]{8,}`).ReplaceAllString(string(out), "ADDR"), "@@")
	if !strings.Contains(parts[0], "read while it runs") {
		t.Errorf("before the run: %s", parts[0])
	}
	if len(parts) != len(goCases)+1 {
		t.Fatalf("%d answers to %d questions:\n%s", len(parts)-1, len(goCases), out)
	}
	for i, c := range goCases {
		if got := parts[i+1]; !strings.Contains(got, c.want) {
			t.Errorf("%s:\n%s\nwant\n%s", c.ask, got, c.want)
		}
	}
}
