package testprogs

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// TestLimited: a program whose memory is limited gets what it gets alone. What the probe takes would count.
func TestLimited(t *testing.T) {
	for _, limit := range []string{"--data=80000000", "--as=200000000"} {
		out, err := exec.Command(HDB(t), "-nx", "-batch", "-ex", "record start", "-ex", "run", "-ex", "record status", "--args", "prlimit", limit, Build(t, "limited")).CombinedOutput()
		if said := string(out); err != nil || !strings.Contains(said, "exited with code 0") || !strings.Contains(said, "in 600 blocks") {
			t.Errorf("%s: %v\n%s", limit, err, said)
		}
	}
}

// TestLocked: a program that locks its memory is recorded. The kernel would make all pages of the table of states.
func TestLocked(t *testing.T) {
	out, err := exec.Command(HDB(t), "-nx", "-batch", "-ex", "record start", "-ex", "run", "-ex", "record status", Build(t, "locked")).CombinedOutput()
	if said := string(out); err != nil || !strings.Contains(said, "exited with code 3") || !strings.Contains(said, "in 100 blocks") {
		t.Errorf("%v\n%s", err, said)
	}
}

// TestLockedBySearch: the program's call of mlockall does what it does alone, though nothing in the program's symbols tells that
// there will be one, and hdb sees wrong frees before they run.
func TestLockedBySearch(t *testing.T) {
	program := filepath.Join(t.TempDir(), "sought")
	if b, err := exec.Command(Tool(t, "gcc"), "-g", "-o", program, "testdata/locks/sought.c").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, b)
	}
	for flags := range 8 { // MCL_CURRENT, MCL_FUTURE and MCL_ONFAULT
		alone, _ := exec.Command(program, strconv.Itoa(flags)).Output() // the C library aborts it
		out, _ := exec.Command(HDB(t), "-nx", "-batch", "-ex", "record start", "-ex", "run", "-ex", "kill", "--args", program, strconv.Itoa(flags)).CombinedOutput()
		if !bytes.Contains(alone, []byte(" pages\n")) || !bytes.Contains(out, alone) || !bytes.Contains(out, []byte("double free")) {
			t.Errorf("flags %d: alone %s\n%s", flags, alone, out)
		}
	}
	alone, _ := exec.Command(program, "3", "child").Output()
	out, _ := exec.Command(HDB(t), "-nx", "-batch", "-ex", "record start", "-ex", "run", "--args", program, "3", "child").CombinedOutput()
	if !bytes.Contains(alone, []byte(" pages\n")) || !bytes.Contains(out, alone) || !bytes.Contains(out, []byte("exited with code 0")) {
		t.Errorf("a child: alone %s\n%s", alone, out)
	}
	// What is mapped behind mlockall(MCL_FUTURE) is locked: there can be no table.
	out, _ = exec.Command(HDB(t), "-nx", "-batch", "-ex", "break resident", "-ex", "run", "-ex", "record start", "-ex", "kill", "--args", program, "2").CombinedOutput()
	if !bytes.Contains(out, []byte("not before they run: the process locks what it maps")) {
		t.Errorf("a recording begins under mlockall(MCL_FUTURE):\n%s", out)
	}
}
