package values_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// manualCases ask what chapters "Examining Data" and "Expressions" of gdb's manual are
// about. The questions stand in a file beside the program, one a line, with the reason
// behind a # where the answers differ.
var manualCases = []oracleCase{
	{name: "gcc manual", source: "manual.c", build: []string{"gcc", "-g", "-O0"}},
	{name: "gcc manual DWARF 4", source: "manual.c", build: []string{"gcc", "-g", "-gdwarf-4", "-O0"}},
	{name: "g++ manual", source: "manual.cc", build: []string{"g++", "-std=c++17", "-g", "-O0"}},
}

// TestManualAgainstGDB asks gdb and the built hdb all questions.
func TestManualAgainstGDB(t *testing.T) {
	dir := t.TempDir()
	for _, c := range manualCases {
		if testing.Short() && strings.HasSuffix(c.name, "DWARF 4") {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			readQuestions(t, &c)
			askBoth(t, dir, c)
		})
	}
}

// readQuestions reads the questions of a program. One that is asked again gets a blank, which
// changes nothing: answers are kept by question.
func readQuestions(t *testing.T, c *oracleCase) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", c.source+".ask"))
	if err != nil {
		t.Fatal(err)
	}
	asked := map[string]bool{}
	c.differs = map[string]string{}
	for line := range strings.Lines(string(b)) {
		q, why, differs := strings.Cut(strings.TrimSuffix(line, "\n"), "\t# ")
		for asked[q] {
			q += " "
		}
		asked[q] = true
		c.ask = append(c.ask, q)
		if name, ok := strings.CutPrefix(q, "info locals"); ok && name == "" && differs { // by variable
			for _, name := range []string{"wide", "pw"} {
				c.differs[name] = why
			}
		} else if differs {
			c.differs[q] = why
		}
	}
	if len(c.ask) < 200 {
		t.Fatalf("%d questions", len(c.ask))
	}
}
