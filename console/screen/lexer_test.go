package screen

import (
	"bytes"
	"encoding/xml"
	"flag"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/chroma/v2"
	all "github.com/alecthomas/chroma/v2/lexers"
)

var update = flag.Bool("update", false, "write the descriptions of languages instead of comparing them")

// shownLanguages are those that compile to native code, by chroma's names.
var shownLanguages = []string{
	"Ada", "C", "C++", "C3", "COBOL", "Crystal", "Cython", "D", "Fortran", "FortranFixed", "GAS", "Go", "Hare", "Haskell", "Java",
	"Julia", "Kotlin", "LLVM", "Modula-2", "NASM", "Nim", "OCaml", "ObjectPascal", "Objective-C", "Odin", "Python", "Rust", "Swift",
	"Vala", "Zig",
}

// lexerOf is chroma's lexer for a language. The raw strings of Go are strings, not
// templates, which chroma cannot write.
func lexerOf(t *testing.T, name string) *chroma.RegexLexer {
	t.Helper()
	l, ok := all.Get(name).(*chroma.RegexLexer)
	if !ok {
		t.Fatalf("%s: chroma has it in another form", name)
	}
	if name != "Go" {
		return l
	}
	rules, err := l.Rules()
	if err != nil {
		t.Fatal(err)
	}
	rules = rules.Clone()
	i := slices.IndexFunc(rules["root"], func(r chroma.Rule) bool { return strings.HasPrefix(r.Pattern, "(`)") })
	if i < 0 {
		t.Fatal("Go: chroma has no rule for raw strings")
	}
	rules["root"][i].Type = chroma.LiteralString
	if l, err = chroma.NewLexer(l.Config(), func() chroma.Rules { return rules }); err != nil {
		t.Fatal(err)
	}
	return l
}

// described is a lexer in the form that chroma reads, its states by name: chroma writes
// them in the order of a map, another each time.
func described(t *testing.T, l *chroma.RegexLexer) []byte {
	t.Helper()
	type state struct {
		Name  string        `xml:"name,attr"`
		Rules []chroma.Rule `xml:"rule"`
	}
	type lexer struct {
		XMLName xml.Name      `xml:"lexer"`
		Config  chroma.Config `xml:"config"`
		States  []state       `xml:"rules>state"`
	}
	rules, err := l.Rules()
	if err != nil {
		t.Fatal(err)
	}
	desc := lexer{Config: *l.Config()}
	for _, name := range slices.Sorted(maps.Keys(rules)) {
		desc.States = append(desc.States, state{name, rules[name]})
	}
	b, err := xml.MarshalIndent(desc, "", "  ")
	if err != nil {
		t.Fatalf("%s: %v", l.Config().Name, err)
	}
	return append(emptyElement.ReplaceAll(b, []byte("/>")), '\n')
}

// emptyElement is what encoding/xml has no short form for. Text has no bare ">".
var emptyElement = regexp.MustCompile(`></[a-z]+>`)

// TestLexerFiles: the descriptions are those of the chroma that is linked with, and no others.
func TestLexerFiles(t *testing.T) {
	want := map[string]bool{}
	for _, name := range shownLanguages {
		path := "lexers/" + strings.ToLower(name) + ".xml"
		want[path] = true
		theirs := described(t, lexerOf(t, name))
		if *update {
			if err := os.WriteFile(path, theirs, 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if ours, err := os.ReadFile(path); err != nil || !bytes.Equal(ours, theirs) {
			t.Errorf("%s is not what chroma has (%v): go generate ./console/screen", path, err)
		}
		if ours, ok := lexers().Get(name).(*chroma.RegexLexer); !ok || !bytes.Equal(described(t, ours), theirs) {
			t.Errorf("%s: what is read of it is not what chroma has", path)
		}
	}
	have, err := filepath.Glob("lexers/*.xml")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range have {
		if !want[path] {
			t.Errorf("%s is of no language", path)
		}
	}
}

// TestLexerChoice: a file has the lexer that chroma would choose from all of its own, and
// the same tokens. .s is x86's here, not ARM's, and .m no mathematics.
func TestLexerChoice(t *testing.T) {
	text := "/* a */ int main(void) { return f(0x10, \"b\\n\", 'c'); } // d\n# e\n-- f\nmov $1, %eax\nlet mut x: u8 = 1;\n"
	for _, file := range []string{
		"a.adb", "a.c", "a.h", "a.cc", "a.cpp", "a.hpp", "a.hh", "a.cxx", "a.C", "a.c3", "a.cob", "a.cr", "a.pyx", "a.d", "a.f90", "a.f",
		"a.go", "a.hs", "a.java", "a.jl", "a.kt", "a.ll", "a.asm", "a.nim", "a.ml", "a.pas",
		"a.odin", "a.py", "a.rs", "a.swift", "a.vala", "a.zig",
	} {
		ours, theirs := lexers().Match(file), all.Match(file)
		if ours == nil || theirs == nil || ours.Config().Name != theirs.Config().Name {
			t.Errorf("%s: %v, chroma chooses %v", file, ours, theirs)
			continue
		}
		a, err := ours.Tokenise(nil, text)
		if err != nil {
			t.Fatal(err)
		}
		b, err := theirs.Tokenise(nil, text)
		if err != nil {
			t.Fatal(err)
		}
		if x, y := a.Tokens(), b.Tokens(); !reflect.DeepEqual(x, y) {
			t.Errorf("%s: %v, chroma says %v", file, x, y)
		}
	}
}
