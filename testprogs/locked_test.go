package testprogs

import (
	"os/exec"
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
