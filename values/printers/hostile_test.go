package printers_test

import (
	"errors"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hdb/testprogs"
)

// TestHostileMemory prints containers whose memory is nonsense: they end soon, in
// bounded text, and with nothing that a terminal would obey.
func TestHostileMemory(t *testing.T) {
	prog := filepath.Join(t.TempDir(), "hostile")
	source, err := filepath.Abs("testdata/hostile.cc")
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("g++", "-g", "-O0", source, "-o", prog).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	began := time.Now()
	cmd := exec.Command(testprogs.HDB(t), "-nx", "-batch", "-ex", "break "+testprogs.StopLine(t, source), "-ex", "run", "-ex", "echo @@", "-ex", "info locals",
		"-ex", "print self.next.next.next.v", "-ex", "set print elements 0", "-ex", "print ring", "-ex", "print huge", prog)
	out, _ := cmd.Output()
	if d := time.Since(began); d > time.Minute {
		t.Errorf("took %v", d)
	}
	_, got, _ := strings.Cut(string(out), "@@")
	if len(got) > 8<<20 {
		t.Errorf("%d bytes of text", len(got))
	}
	for _, want := range []string{
		`esc = "a\033[31m\n\a"`, "cut = std::__cxx11::list = {[0] = 1, ", "<error: the chain of elements is broken>", "many = std::map with 1000000000 elements = {[1] = 2, [", "$1 = 1\n",
		"ring = std::__cxx11::list = {[0] = 1, [1] = 1, ", "back = {<std::_Vector_base",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%.4000s", want, got)
		}
	}
	if strings.ContainsAny(got, "\x1b\x07") {
		t.Error("control characters reach the terminal")
	}
}

// TestHostileLibrary prints iterators, holders and other values of the library whose bytes
// are nonsense, and asks their member functions: all ends soon.
func TestHostileLibrary(t *testing.T) {
	prog := filepath.Join(t.TempDir(), "hostilelibrary")
	source, err := filepath.Abs("testdata/hostilelibrary.cc")
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("g++", "-std=c++17", "-g", "-O0", source, "-o", prog).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	args := []string{"-nx", "-batch", "-ex", "break " + testprogs.StopLine(t, source), "-ex", "run", "-ex", "set print elements 0", "-ex", "info locals"}
	for _, n := range []string{"0", "1", "2", "3", "4"} {
		for _, ask := range []string{"mp#[1]", "um#[1]", "mp#.contains(2)", "ls#.size()", "ls#.back()", "fl#.front()", "il#.size()", "st#.top()", "pq#.top()", "*li#", "*mi#", "pa#.string()", "sp#.use_count()", "an#.has_value()", "*up#"} {
			args = append(args, "-ex", "print "+strings.ReplaceAll(ask, "#", n))
		}
	}
	began := time.Now()
	out, err := exec.Command(testprogs.HDB(t), append(args, prog)...).CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) || exit != nil && exit.ExitCode() > 2 {
		t.Errorf("%v\n%.2000s", err, out)
	}
	if d := time.Since(began); d > time.Minute {
		t.Errorf("took %v", d)
	}
	if len(out) > 8<<20 {
		t.Errorf("%d bytes of text", len(out))
	}
	for _, want := range []string{
		"\nvi0 = <error: Cannot access memory at address 0xffffffffffffffff>\n", "\nvb1 = {<", "\nmp3 = std::map with 1099511627776 elements = {",
		"\nls0 = {<", "\nan1 = {_M_manager = 0x4141414141414141, ", "\nfn1 = {<", "\nec1 = {_M_value = 1094795585, ", "\nmu1 = {<", "\ncv0 = {", "\npa3 = filesystem::path <error: ",
		"the chain of elements is broken", "no element has this key among the first", "sp3 = std::shared_ptr<int> <error: Cannot access memory at address 0x10000000000>",
	} {
		if !strings.Contains(string(out), want) {
			t.Errorf("no %q in\n%.3000s", want, out)
		}
	}
}
