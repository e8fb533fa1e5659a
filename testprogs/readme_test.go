package testprogs

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"hdb/internal/golden"
)

// shownSession is the session in docs/session.md.
func shownSession(t *testing.T) string {
	root, err := Root()
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join(root, "docs/session.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(page), "```\n$ hdb ./demo\n")
	block, _, found := strings.Cut(rest, "```\n")
	if !found {
		t.Fatal("docs/session.md has no session that begins with $ hdb ./demo")
	}
	return block
}

// TestDocsShowTheDemo holds the session of docs/session.md against demo.session, which
// TestSessions holds against hdb: what a reader sees is what hdb prints.
func TestDocsShowTheDemo(t *testing.T) {
	got := NewNormaliser([2]string{"./demo", "{demo}"}, [2]string{" demo.cc", " {src}/demo.cc"}).Normalise(shownSession(t))
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
		t.Errorf("docs/session.md does not show testdata/demo.session (scripts/demo prints it):\n%s", diff)
	}
}

// TestReadmeShowsLeaks holds what the README shows of hdb leaks against readme.session.
func TestReadmeShowsLeaks(t *testing.T) {
	root, err := Root()
	if err != nil {
		t.Fatal(err)
	}
	readme, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	session, err := os.ReadFile("testdata/readme.session")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(readme), "    $ hdb leaks -- ./demo\n")
	block, _, found := strings.Cut(rest, "\n\n")
	if !found {
		t.Fatal("README.md does not show hdb leaks")
	}
	for line := range strings.Lines(block) {
		line = strings.Join(strings.Fields(strings.ReplaceAll(line, " demo.cc", " {src}/demo.cc")), " ")
		if !strings.Contains(strings.Join(strings.Fields(string(session)), " "), line) {
			t.Errorf("README.md shows what hdb does not print: %s", line)
		}
	}
}

// TestTutorials holds the sessions in docs/tutorial, of which the pages show parts, against those that TestSessions plays.
func TestTutorials(t *testing.T) {
	root, err := Root()
	if err != nil {
		t.Fatal(err)
	}
	pages, err := filepath.Glob(filepath.Join(root, "docs/tutorial/*.md"))
	if err != nil || len(pages) == 0 {
		t.Fatalf("no tutorials: %v", err)
	}
	for _, page := range pages {
		name := strings.TrimSuffix(filepath.Base(page), ".md")
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		session, err := os.ReadFile("testdata/tutorial_" + name + ".session")
		if err != nil {
			t.Error(err)
			continue
		}
		played := tutorialText(string(session))
		parts := strings.Split(string(text), "```")
		for i := 1; i < len(parts); i += 2 {
			for line := range strings.Lines(strings.TrimPrefix(parts[i], "\n")) {
				if !strings.Contains(played, tutorialText(line)) {
					t.Errorf("%s shows what hdb does not print: %s", page, line)
				}
			}
		}
	}
}

// tutorialWords have what a page and the session that the tests play write differently, in the form that both become.
var tutorialWords = []struct {
	re   *regexp.Regexp
	form string
}{
	{regexp.MustCompile(`(?m)^\(hdb\) pipe (.*?) \| .*$`), "(hdb) $1"},                                       // which the page shows shortened, too
	{regexp.MustCompile(`\(hdb\) (?:source refs\.hdb|(?:py refs|refs -path) \{addr[0-9]+\})`), "(hdb) refs"}, // sessions write the address to a file
	{regexp.MustCompile(`#(?:N|[0-9]{3,})`), "#N"},
	{regexp.MustCompile(`/usr/bin/python3 -I -S \{src\}/python/`), "python3 "},
	{regexp.MustCompile(`\{src\}/(?:python/)?|\{build\}/`), ""},
	{regexp.MustCompile(`\{(?:addr|pid)[0-9]+\}`), "{one}"},
	{regexp.MustCompile(`\{(\w+) -DFIXED\}|\./fixed/(\w+)\.so`), "{fixed $1$2}"},
	{regexp.MustCompile(`\./(\w+)(?:\.so)?`), "{$1}"},
	{regexp.MustCompile(`goroutine (?:N|[0-9]+)`), "goroutine"},
	{regexp.MustCompile(` \(0x[0-9a-f]{4}\)`), ""}, // where the compiler has put a function
	{regexp.MustCompile(`\s+`), " "},
	{regexp.MustCompile(`(?:SIZE|[0-9.]+ KiB) chan send`), "chan send"}, // stacks, whose size the version of Go decides
}

// tutorialText is text of a tutorial's page, or of its session, so that they can be compared.
func tutorialText(text string) string {
	text = NewNormaliser().Normalise(text)
	for _, w := range tutorialWords {
		text = w.re.ReplaceAllString(text, w.form)
	}
	return strings.TrimSpace(text)
}

// TestPicture draws the beginning of that session as the picture of the README: -update writes it.
func TestPicture(t *testing.T) {
	lines := append([]string{"$ hdb ./demo"}, strings.Split(shownSession(t), "\n")...)
	golden.Check(t, "../../docs/pictures/session.svg", terminalSVG(lines[:min(len(lines), 33)]))
}

// terminalSVG draws lines like a terminal, with typed ones in another colour.
func terminalSVG(lines []string) []byte {
	const width, height, size = 8.4, 19, 14 // of a character, a line, the letters
	columns := 0
	for _, l := range lines {
		columns = max(columns, min(utf8.RuneCountInString(l), 112))
	}
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%.0f" height="%d" font-family="DejaVu Sans Mono, Menlo, Consolas, monospace" font-size="%d">`+"\n",
		width*float64(columns)+24, height*len(lines)+24, size)
	b.WriteString(`<rect width="100%" height="100%" rx="6" fill="#1b1f27"/>` + "\n")
	for i, l := range lines {
		colour := "#c8ccd4"
		switch {
		case strings.HasPrefix(l, "$ "), strings.HasPrefix(l, "(hdb) "):
			colour = "#8ec07c"
		case strings.HasPrefix(l, "=>"):
			colour = "#fabd2f"
		case strings.HasPrefix(l, "#"), strings.Contains(l, "breakpoint "):
			colour = "#83a598"
		}
		if runes := []rune(l); len(runes) > 112 {
			l = string(runes[:111]) + "…"
		}
		text := strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(l)
		fmt.Fprintf(&b, `<text x="12" y="%d" fill="%s" xml:space="preserve">%s</text>`+"\n", 12+height*(i+1)-5, colour, text)
	}
	b.WriteString("</svg>\n")
	return []byte(b.String())
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
