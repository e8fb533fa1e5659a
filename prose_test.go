package hdb_test

import (
	"bytes"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"hdb/python/layout"
)

// prosePaths are the texts that TestProse reads. The pages in docs/commands and their index are
// made from help texts in Go code.
var prosePaths = []string{"README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "docs/*.md", "docs/commands/*.md", "docs/internals/*.md", "docs/tutorial/*.md"}

// refused are phrases that readers stumbled over, with what to write instead. A space stands for
// any white space, so that a line break hides nothing.
var refused = []struct{ phrase, instead string }{
	{`what of`, "name the thing"},
	{`that of`, "repeat the noun, or use 's"},
	{`(is|are) about (a|an|the|that|this|those|what|it|its|how)`, "say what it does: matches, applies to, describes"},
	{`as of (there|then|here)`, "for that moment"},
	{`which is asked`, "say who asks whom, as a sentence of its own"},
	{`beside`, "next to, in addition to, or during"},
	{`do(es)? so with`, "name the action"},
	{`nobody`, "use the passive, or name who"},
	{`somebody`, "name who"},
	{`none can be`, "say what cannot be done, and why"},
	{`stands?`, "is, means, or is stopped"},
	{`stood`, "was, or was stopped"},
	{`(has|have|had) them`, "name the things"},
	{`tells? of`, "shows, reports or describes"},
	{`(is|are|be|was|were) told`, "say who reports what"},
	{`knows? of`, "knows, or sees"},
	{`for ever`, "without end"},
	{`so many`, "a number of, or N"},
	{`hears? of`, "sees, or misses"},
	{`lies? (in|at|on|beside|behind|elsewhere)`, "is in, is at"},
	{`have to be there`, "must exist"},
	{`for want of`, "because there is no"},
	{`(but|save) for (a|the|those|what)`, "except"},
	{`(tells?|told) (apart|from)`, "distinguishes"},
	{`as .{1,20} have it`, "as in"},
	{`further in`, "inner"},
	{`comes? by`, "reaches"},
	{`(given|gives?|gave|giving) back`, "free, or return"},
	{`goes on|go on|going on|went on`, "continues, or runs on"},
	{`in vain`, "without effect"},
	{`of each of`, "each ...'s"},
	{`unless told`, "the default is"},
	{`by turns`, "alternating, or in turn"},
	{`(not|never) any more`, "no longer"},
	{`is no (block|root|event|leak|reason|error|signature|part)`, "is not a"},
	{`as .{1,20} has it`, "as in"},
	{`less sure`, "less certain; or the noun: caveat"},
}

// proseExceptions are texts in which a refused phrase is right. One that is not there any more fails.
var proseExceptions = []struct{ path, text, reason string }{
	{"docs/glossary.md", "given back, not given back", "names words that are not used"},
	{"docs/glossary.md", "not given back |", "names words that are not used"},
	{"docs/glossary.md", "| beside |", "explains a name in the code"},
}

// commentExceptions are comments' texts in which a refused phrase is right.
var commentExceptions = []struct{ path, text string }{
	{"goruntime/layout.go", "that Of knows"},    // a function's name
	{"unwind/switch.go", "of Go on the stack"},  // the language
	{"breakpoints/doc.go", "There is no event"}, // as in "no block is there"
	{"capture/file/packer.go", "there is no error"},
	{"capture/file/wire.go", "there is no error"},
	{"heap/ledger_plain.go", "there is no block"},
}

var (
	link   = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	inSlug = regexp.MustCompile(`[^\p{L}\p{N}_ -]`)
)

// anchors are the names that links to the headings of a page use.
func anchors(t *testing.T, path string) map[string]bool {
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		if title, ok := strings.CutPrefix(strings.TrimLeft(line, "#"), " "); ok && line[0] == '#' {
			found[strings.ReplaceAll(inSlug.ReplaceAllString(strings.ToLower(strings.TrimSpace(title)), ""), " ", "-")] = true
		}
	}
	return found
}

// TestLinks follows the links between the documents, to the headings that they name.
func TestLinks(t *testing.T) {
	for _, glob := range prosePaths {
		paths, err := filepath.Glob(glob)
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range link.FindAllSubmatch(text, -1) {
				file, heading, _ := strings.Cut(string(m[1]), "#")
				if strings.Contains(file, "://") {
					continue
				}
				to := path
				if file != "" {
					to = filepath.Join(filepath.Dir(path), file)
				}
				if _, err := os.Stat(to); err != nil {
					t.Errorf("%s: %s leads nowhere", path, m[1])
				} else if heading != "" && !anchors(t, to)[heading] {
					t.Errorf("%s: %s: no such heading", path, m[1])
				}
			}
		}
	}
}

var codeSpan = regexp.MustCompile("``[^`]+``|`[^`]+`")

// proseOf blanks out code, which has what programs print, and keeps every line in its place.
func proseOf(text []byte) []byte {
	lines := bytes.Split(text, []byte("\n"))
	fenced := false
	for i, line := range lines {
		fence := bytes.HasPrefix(line, []byte("```"))
		if fence {
			fenced = !fenced
		}
		if fence || fenced || bytes.HasPrefix(line, []byte("    ")) {
			lines[i] = nil
		}
	}
	return codeSpan.ReplaceAllFunc(bytes.Join(lines, []byte("\n")), func(span []byte) []byte {
		return append([]byte("CODE"), bytes.Repeat([]byte("\n"), bytes.Count(span, []byte("\n")))...) // a word that no phrase has
	})
}

// TestProse refuses phrases that have to be read twice, and lines that are too long to read.
func TestProse(t *testing.T) {
	for _, glob := range prosePaths {
		paths, err := filepath.Glob(glob)
		if err != nil || len(paths) == 0 {
			t.Fatalf("%s: no such files (%v)", glob, err)
		}
		for _, path := range paths {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			checkProse(t, path, text)
		}
	}
}

// TestComments refuses the same phrases in the comments of the code, tests and the programs for tests excluded.
func TestComments(t *testing.T) {
	allowed := map[string]string{}
	for _, e := range commentExceptions {
		allowed[e.path] = e.text
	}
	set := token.NewFileSet()
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "testdata" || d.Name() == "testprogs" || d.Name() == "bench" || d.Name() == "node_modules" || len(d.Name()) > 1 && d.Name()[0] == '.'):
			return fs.SkipDir
		case d.IsDir() || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		f, err := parser.ParseFile(set, path, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, c := range f.Comments {
			text := c.Text()
			if e := allowed[path]; strings.Contains(text, e) && e != "" {
				text = strings.ReplaceAll(text, e, "")
				delete(allowed, path)
			}
			for _, r := range refusals() {
				for _, found := range r.re.FindAllString(codeSpan.ReplaceAllString(text, "CODE"), -1) {
					t.Errorf("%s: %q: %s", set.Position(c.Pos()), found, r.instead)
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for path, text := range allowed {
		t.Errorf("%s has no comment with %q: drop the exception", path, text)
	}
}

// A refusal is a phrase that is refused.
type refusal struct {
	re      *regexp.Regexp
	instead string
}

var refusals = sync.OnceValue(func() (all []refusal) {
	for _, r := range refused {
		all = append(all, refusal{regexp.MustCompile(`(?i)\b(` + strings.ReplaceAll(r.phrase, " ", `\s+`) + `)\b`), r.instead})
	}
	return all
})

func checkProse(t *testing.T, path string, text []byte) {
	made := strings.HasPrefix(path, "docs/commands") // with a paragraph on a line
	for i, line := range strings.Split(string(text), "\n") {
		if !made && utf8.RuneCountInString(line) > 140 && !strings.HasPrefix(line, "|") {
			t.Errorf("%s:%d: more than 140 characters", path, i+1)
		}
	}
	prose := proseOf(text)
	for _, e := range proseExceptions {
		if e.path == path {
			if !bytes.Contains(prose, []byte(e.text)) {
				t.Errorf("%s has no %q: drop the exception", path, e.text)
			}
			prose = bytes.ReplaceAll(prose, []byte(e.text), nil)
		}
	}
	for _, r := range refusals() {
		for _, at := range r.re.FindAllIndex(prose, -1) {
			t.Errorf("%s:%d: %q: %s", path, 1+bytes.Count(prose[:at[0]], []byte("\n")), prose[at[0]:at[1]], r.instead)
		}
	}
}

var pythonVersions = regexp.MustCompile(`\b3\.8 to 3\.\d+\b`)

// TestVersionsOfPython holds the versions that documents and help name against those that have a layout.
func TestVersionsOfPython(t *testing.T) {
	found := 0
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "testdata" || d.Name() == "node_modules" || len(d.Name()) > 1 && d.Name()[0] == '.'):
			return fs.SkipDir
		case d.IsDir() || filepath.Ext(path) != ".md" && filepath.Ext(path) != ".go":
			return nil
		}
		text, err := os.ReadFile(path)
		for _, named := range pythonVersions.FindAllString(string(text), -1) {
			found++
			if named != layout.Known() {
				t.Errorf("%s names %s, known are %s", path, named, layout.Known())
			}
		}
		return err
	})
	if err != nil || found < 5 {
		t.Errorf("%d places, %v", found, err)
	}
}
