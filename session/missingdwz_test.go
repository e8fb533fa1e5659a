package session

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"hdb/testprogs"
	"hdb/values"
)

// TestMissingDwz has a program whose types are in a file that dwz has made, and that is gone: no value is made up.
func TestMissingDwz(t *testing.T) {
	dir := t.TempDir()
	const source = `#include <cstdlib>
#include <string>
struct Pair { int first; std::string second; };
static void *volatile kept;
__attribute__((noinline)) void make%d(unsigned n, Pair *p) { kept = malloc(n); p->first = n; }
int main() { Pair p; make%d(100, &p); }
`
	progs := make([]string, 2)
	for i := range progs {
		progs[i] = filepath.Join(dir, fmt.Sprintf("prog%d", i))
		src := progs[i] + ".cc"
		if err := os.WriteFile(src, fmt.Appendf(nil, source, i, i), 0o644); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.Command(testprogs.Tool(t, "g++"), "-g", "-O0", "-o", progs[i], src).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	common := filepath.Join(dir, "common.debug")
	if out, err := exec.Command(testprogs.Tool(t, "dwz"), "-m", common, progs[0], progs[1]).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, gone := range []bool{false, true} {
		if gone {
			if err := os.Remove(common); err != nil {
				t.Fatal(err)
			}
		}
		s := open(t, "basic")
		if _, err := s.Load(progs[0]); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Stops.Break("make0", false); err != nil {
			t.Fatal(err)
		}
		must(t)(s.Run(nil))
		n, err := s.Values.Show("n", values.Options{})
		p, err2 := s.Values.Show("*p", values.Options{})
		if err != nil || err2 != nil {
			t.Fatal(err, err2)
		}
		const missing = "<type in common.debug, which is missing>"
		switch {
		case !gone && (n != "100" || strings.Contains(p, "<")):
			t.Errorf("%s, %s", n, p)
		case gone && (n != missing || strings.Count(p, missing) != 2):
			t.Errorf("without the file: %s, %s", n, p)
		}
	}
}
