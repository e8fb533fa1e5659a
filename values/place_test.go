package values_test

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"hdb/inferior"
	"hdb/inferior/machine"
	"hdb/testprogs"
)

// TestPlaces asks where variables are and looks at memory by the types of expressions.
func TestPlaces(t *testing.T) { testprogs.OnMachines(t, machine.DebugRegisters, places) }

func places(t *testing.T) {
	registers := "watchpoint 2: shorts\n(6 bytes: it takes 2 of the 4 debug registers)"
	if !inferior.RegistersStop() {
		registers = "watchpoint 2: shorts\n(the debug registers of this machine do not stop threads (hdb doctor): the threads run one instruction at a time, some 20 µs each, thousands of times slower)"
	}
	dir := t.TempDir()
	for _, c := range []struct {
		level string
		ask   []string
		want  []string // parts of the answers
	}{
		{"-O1", []string{"info address n", "info address fl", "info address banner", "info address raw_buf", "watch n", "watch banner", "x/f &fl", "x/f &db", "x/h &sh", "x/d &sh", "x/2d shorts", "x/x &big", "x/s raw_buf"},
			[]string{"n is in $rdi of the selected frame", "fl is at 0x", "banner is optimized out here", "raw_buf is at 0x", "n is in $rdi: the hardware watches memory", "banner is optimized out here",
				"<fl>:  0.100000001\n", "<db>:  0.10000000000000001\n", "<sh>:  -2\n", "<sh>:  -2\n", "<shorts>:  -1  2\n", "<big>:  0xfffffffffffffffb\n", "'raw_buf' has unknown type; cast it to its declared type"}},
		{"-O0", []string{"info address n", "info symbol &fl", "watch shorts", "watch shorts[1]", "watch local", "continue", "continue"},
			[]string{"in the selected frame", " is fl of ", registers, "watchpoint 3: shorts[1]", "watchpoint 4: local", "watchpoint 4, hit 1: ", "watchpoint 4 is disabled: the function that local belonged to has returned"}},
	} {
		prog := filepath.Join(dir, "places"+c.level)
		if out, err := exec.Command("gcc", "-g", c.level, filepath.Join("testdata", "untyped.c"), "-o", prog).CombinedOutput(); err != nil {
			t.Fatalf("gcc: %v\n%s", err, out)
		}
		// A file of commands ends with the first error; -ex goes on.
		args := []string{"-nx", "-batch", "-ex", "break use", "-ex", "run"}
		for _, a := range c.ask {
			args = append(args, "-ex", "echo @@", "-ex", a)
		}
		out, _ := exec.Command(testprogs.HDB(t), append(args, prog)...).CombinedOutput()
		answers := strings.Split(string(out), "@@")[1:]
		for i, want := range c.want {
			if i >= len(answers) || !strings.Contains(answers[i], want) {
				t.Errorf("%s, %s: want %q in\n%s", c.level, c.ask[i], want, out)
			}
		}
	}
}

// TestTemplateNames finds a type by its name as gcc writes it and as clang does, and
// nothing where no program has memory.
func TestTemplateNames(t *testing.T) {
	for _, compiler := range []string{"g++", "clang++"} {
		prog := filepath.Join(t.TempDir(), "bases")
		if out, err := exec.Command(compiler, "-g", filepath.Join("testdata", "bases.cc"), "-o", prog).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", compiler, err, out)
		}
		args := []string{"-nx", "-batch"}
		for _, name := range []string{"geo::Ring<double, 2>", "geo::Ring<double,2u>", "geo::Ring<double, 2U>"} {
			args = append(args, "-ex", "print sizeof("+name+")")
		}
		args = append(args, "-ex", "print sizeof(geo::Ring<double, 3>)", "-ex", "print *(int*)0")
		out, _ := exec.Command(testprogs.HDB(t), append(args, prog)...).CombinedOutput()
		for _, want := range []string{"$1 = 16", "$2 = 16", "$3 = 16", "geo::Ring<double, 3>\" in the current context", "cannot access memory at address 0x0"} {
			if !strings.Contains(string(out), want) {
				t.Errorf("%s: want %q in\n%s", compiler, want, out)
			}
		}
	}
}

// TestInCapture computes what needs no memory beside a capture, and no more: the files
// say how a variable began, not what it was.
func TestInCapture(t *testing.T) {
	dir := t.TempDir()
	prog, file := filepath.Join(dir, "bases"), filepath.Join(dir, "capture.hdb")
	for _, args := range [][]string{{"g++", "-g", filepath.Join("testdata", "bases.cc"), "-o", prog}, {testprogs.HDB(t), "record", "-o", file, "--", prog}} {
		if out, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
	}
	cmd := exec.Command(testprogs.HDB(t), "open", file)
	cmd.Stdin = strings.NewReader("print 1+1\nprint sizeof(struct D)\nptype P1\nprint three\nprint ring\n")
	out, _ := cmd.CombinedOutput()
	for _, want := range []string{"$1 = 2\n", "$2 = 24\n", "long x;"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("want %q in\n%s", want, out)
		}
	}
	if n := strings.Count(string(out), "a capture keeps no values of variables"); n != 2 {
		t.Errorf("%d of 2 variables are said to be not kept:\n%s", n, out)
	}
}
