package testprogs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hdb/internal/golden"
)

// TestReadmeShowsTheDemo holds the README's session against demo.session, which
// TestSessions holds against hdb: what a reader sees is what hdb prints.
func TestReadmeShowsTheDemo(t *testing.T) {
	root, err := Root()
	if err != nil {
		t.Fatal(err)
	}
	readme, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(readme), "```\n$ hdb ./demo\n")
	block, _, found := strings.Cut(rest, "```\n")
	if !found {
		t.Fatal("README.md has no session that begins with $ hdb ./demo")
	}
	got := NewNormaliser([2]string{"./demo", "{demo}"}, [2]string{" demo.cc", " {src}/demo.cc"}).Normalise(block)

	session, err := os.ReadFile("testdata/demo.session")
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for line := range strings.Lines(string(session)) {
		if strings.HasPrefix(line, "#") && len(want) == 0 || strings.HasPrefix(line, "[exit ") || line == "$ hdb {demo}\n" {
			continue
		}
		// At a terminal somebody answers.
		want = append(want, strings.Replace(line, "[answered y: input is not from a terminal]", "y", 1))
	}
	if diff := golden.Diff([]byte(strings.Join(want, "")), []byte(got)); diff != "" {
		t.Errorf("README.md does not show testdata/demo.session (scripts/demo prints it):\n%s", diff)
	}
}
