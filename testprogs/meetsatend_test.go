package testprogs

import (
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// TestMetAtEnd: a condition on state that becomes true shortly before the program ends is reported,
// with a stop or with the end, and nothing says that an ended program was stopped.
func TestMetAtEnd(t *testing.T) {
	program := Build(t, "meetsatend")
	ended := regexp.MustCompile(`exited with code 3\nbreakpoint 1, hit 1: #\d+ malloc\(1000\) = 0x[0-9a-f]+\n   live\(func\("hold"\)\) .*; the program ended \d+ events? later, before it could be stopped\n`)
	for range 10 {
		b, err := exec.Command(HDB(t), "-nx", "-batch", "-ex", `break when live(func("hold")) > 90000`, "-ex", "run", "-ex", "info threads", program).CombinedOutput()
		said := string(b)
		switch {
		case strings.Contains(said, "exited with code 3"):
			if !ended.MatchString(said) {
				t.Errorf("%v\n%s", err, said)
			}
		case !strings.Contains(said, "breakpoint 1, hit 1: #") || !strings.Contains(said, "meetsatend"):
			t.Errorf("%v\n%s", err, said)
		}
	}
}
