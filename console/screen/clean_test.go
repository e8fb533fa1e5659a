package screen

import (
	"bytes"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestClean(t *testing.T) {
	for _, tc := range []struct{ name, in, want string }{
		{"plain", "std::vector<int>::push_back", "std::vector<int>::push_back"},
		{"umlaut and wide", "größe 漢字", "größe 漢字"},
		{"color", "\x1b[31mred\x1b[0m", `\x1b[31mred\x1b[0m`},
		{"title", "\x1b]0;owned\a", `\x1b]0;owned\x07`},
		{"C1", "a\u009b31m", `a\u009b31m`},
		{"newline", "a\nb\tc\r", `a\nb\tc\r`},
		{"bidi", "if (x \u202e) {", `if (x \u202e) {`},
		{"isolate", "\u2066x\u2069", `\u2066x\u2069`},
		{"zero width", "a\u200bb\ufeff", `a\u200bb\ufeff`},
		{"separator", "a\u2028b", `a\u2028b`},
		{"tag", "a\U000e0041", `a\U000e0041`},
		{"not UTF-8", "a\xffb\xc3", `a\xffb\xc3`},
		{"replacement character is a character", "\ufffd", "\ufffd"},
		{"delete", "\x7f", `\x7f`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := Clean(tc.in); got != tc.want {
				t.Errorf("clean(%q) = %q, want %q", tc.in, got, tc.want)
			}
		})
	}
	if got, want := CleanTabs("a\tb\n\x1b"), "a\tb\n\\x1b"; got != want {
		t.Errorf("CleanTabs: %q, want %q", got, want)
	}
	if got, want := CleanText("a\nb\x1b"), "a\nb\\x1b"; got != want {
		t.Errorf("cleanText = %q, want %q", got, want)
	}
}

// Hostile tells text that a terminal would act upon.
func Hostile(s, keep string) bool {
	if !utf8.ValidString(s) {
		return true
	}
	return strings.ContainsFunc(s, func(r rune) bool {
		return !strings.ContainsRune(keep, r) && (unicode.Is(unicode.C, r) || unicode.Is(unicode.Zl, r) || unicode.Is(unicode.Zp, r))
	})
}

var hostileSeeds = []string{
	"main", "\x1b[2J", "\u202etxt.exe", "\x9b31m", "\xc2\x9b31m", "a\nerror: fake", "\xff\xfe", "\u2028", "\U000e0001", "%s%n", "=> 1", "\t", "漢", "\u0301",
}

func FuzzHostileNames(f *testing.F) {
	for _, s := range hostileSeeds {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, name string) {
		if got := Clean(name); Hostile(got, "") {
			t.Errorf("clean(%q) = %q", name, got)
		}
		var buf bytes.Buffer
		o := &Output{W: &buf, Width: 80}
		o.Printf("in %s\n", name)
		o.Line(Span{styleFunc, name}, Span{plain, name})
		o.Table([]Column{{Head: "a"}, {Head: "b", Right: true}}, [][]Span{{{plain, name}, {styleFile, name}}})
		w := Window{File: name, First: 1, Lines: []string{name}, Current: 1}
		w.Print(o, 8)
		if Hostile(buf.String(), "\n") {
			t.Errorf("output of %q: %q", name, buf.String())
		}
		if !strings.ContainsRune(name, '\n') && strings.Count(buf.String(), "\n") != 5 {
			t.Errorf("output of %q has not 5 lines: %q", name, buf.String())
		}
	})
}

// FuzzHostileColors is the same with colour: only our own sequences may stand
// in the output.
func FuzzHostileColors(f *testing.F) {
	for _, s := range hostileSeeds {
		f.Add(s, "C")
	}
	f.Fuzz(func(t *testing.T, text, language string) {
		var buf bytes.Buffer
		o := &Output{W: &buf, Width: 80, Color: true, Theme: ThemeNamed("light")}
		o.Line(Span{styleFunc, text})
		w := Window{File: "a.c", Language: language, First: 1, Lines: strings.Split(text, "\n")}
		w.Print(o, 8)
		bare := buf.String()
		for _, sgr := range ThemeNamed("light") {
			bare = strings.ReplaceAll(bare, "\x1b["+sgr+"m", "")
		}
		bare = strings.ReplaceAll(bare, "\x1b[0m", "")
		if Hostile(bare, "\n") {
			t.Errorf("output of %q: %q", text, bare)
		}
	})
}
