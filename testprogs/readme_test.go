package testprogs

import (
	"os"
	"os/exec"
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

// TestDemoKeepsFiles: scripts/demo leaves a demo.hdb that is not its own.
func TestDemoKeepsFiles(t *testing.T) {
	script, err := filepath.Abs("../scripts/demo")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	own := filepath.Join(dir, "demo.hdb")
	if err := os.WriteFile(own, []byte("a user's"), 0o666); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(script, "true", "program")
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "demo.hdb is here already") {
		t.Errorf("%v\n%s", err, out)
	}
	if b, err := os.ReadFile(own); string(b) != "a user's" {
		t.Errorf("the file has %q: %v", b, err)
	}
}
