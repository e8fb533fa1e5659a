package testprogs

import (
	"os/exec"
	"strings"
	"testing"
)

// TestLocked: a program that locks its memory is recorded without the table of states, of which the kernel
// would make all pages.
func TestLocked(t *testing.T) {
	out, err := exec.Command(HDB(t), "-nx", "-batch", "-ex", "record start", "-ex", "run", "-ex", "record status", Build(t, "locked")).CombinedOutput()
	said := string(out)
	if err != nil || !strings.Contains(said, "exited with code 3") || !strings.Contains(said, "in 100 blocks") {
		t.Errorf("%v\n%s", err, said)
	}
	if !strings.Contains(said, "uses mlockall, which would lock what hdb needs for that") && strings.Contains(said, "the probe") {
		t.Errorf("not said:\n%s", said)
	}
}
