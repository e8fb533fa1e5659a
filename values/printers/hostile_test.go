package printers_test

import (
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
