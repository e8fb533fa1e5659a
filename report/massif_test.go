package report

import (
	"os/exec"
	"regexp"
	"strings"
	"testing"

	_ "hdb/testprogs" // the same environment everywhere
)

// ms_print draws what massif would have written.
func TestMassif(t *testing.T) {
	t.Parallel()
	p := timed(sampleProfile("/src/a.c"))
	p.Peak = p.Snapshots[0].Moment
	p.Threads = true
	path := exported(t, "massif", p, Live)
	out, err := exec.Command("ms_print", "--threshold=0", path).CombinedOutput()
	if err != nil {
		t.Fatalf("ms_print (valgrind): %v\n%s", err, out)
	}
	for _, want := range []string{
		`Command: +prog --flag`, `Detailed snapshots: \[1 \(peak\), 2\]`, `(?m)^  1 +1,000 +4,250 +4,250 +0 +0$`, `(?m)^  2 +3,000 +1,500 +1,500 +0 +0$`,
		`->86\.67% \(1,300B\) 0x5555555551A8: grab\(unsigned long\) \(/src/a\.c:2\)`, `->66\.67% \(1,000B\) 0x55555555507F: main \(/src/a\.c:9\)`,
		`->13\.33% \(200B\) 0x7F0000001233: \?\?\? \(in /lib/libc\.so\.6\)`, `->20\.00% \(300B\) \[worker\]`,
	} {
		if !regexp.MustCompile(want).Match(out) {
			t.Errorf("ms_print shows no %s:\n%s", want, out)
		}
	}
	for _, p := range []*Profile{{}, timed(hugeProfile(300)), timed(deepProfile(20, 100))} {
		out, err := exec.Command("ms_print", exported(t, "massif", p, Live)).CombinedOutput()
		if err != nil && !(len(p.Stacks) == 0 && strings.Contains(string(out), "zero")) {
			t.Errorf("%q: ms_print: %v\n%s", p.Title, err, out)
		}
	}
}
