package screen

import (
	"bytes"
	"errors"
	"strings"
	"testing"
)

func TestTableAligns(t *testing.T) {
	var buf bytes.Buffer
	o := &Output{W: &buf, Width: 80}
	o.Table([]Column{{Head: "size", Right: true}, {Head: "function"}, {}}, [][]Span{
		{{plain, "612.0 MiB"}, {styleFunc, "漢字"}, {plain, "a.c:1"}},
		{{plain, "96 B"}, {styleFunc, "main"}, {plain, "b.c:2"}},
	})
	want := "" +
		"     size  function\n" +
		"612.0 MiB  漢字      a.c:1\n" +
		"     96 B  main      b.c:2\n"
	if got := buf.String(); got != want {
		t.Errorf("table:\n%s\nwant:\n%s", got, want)
	}
}

func TestColorOnlyWhereAsked(t *testing.T) {
	var buf bytes.Buffer
	o := &Output{W: &buf, Color: true, Theme: ThemeNamed("light")}
	o.Line(Span{styleFile, "a.c:1"}, Span{plain, " x"})
	if got, want := buf.String(), "\x1b[32ma.c:1\x1b[0m x\n"; got != want {
		t.Errorf("line = %q, want %q", got, want)
	}
}

func TestPager(t *testing.T) {
	for _, tc := range []struct {
		name   string
		answer bool
		lines  int
		asked  int
	}{{"goes on", true, 10, 2}, {"ends", false, 4, 1}} {
		t.Run(tc.name, func(t *testing.T) {
			var buf bytes.Buffer
			asked := 0
			o := &Output{W: &buf, Width: 80, Height: 5, More: func() bool { asked++; return tc.answer }}
			o.Begin()
			for i := range 10 {
				o.Printf("line %d\n", i)
			}
			if got := strings.Count(buf.String(), "\n"); got != tc.lines || asked != tc.asked {
				t.Errorf("%d lines after %d questions, want %d and %d", got, asked, tc.lines, tc.asked)
			}
			if o.Stopped() == tc.answer {
				t.Errorf("stopped = %v", o.Stopped())
			}
		})
	}
}

type brokenPipe struct{}

func (brokenPipe) Write([]byte) (int, error) { return 0, errors.New("broken pipe") }

func TestOutputStopsAtAWriteError(t *testing.T) {
	o := &Output{W: brokenPipe{}, Width: 80}
	o.Printf("a\nb\n")
	if !o.Stopped() || o.err == nil {
		t.Errorf("stopped = %v, err = %v", o.Stopped(), o.err)
	}
}

func TestSourceWindow(t *testing.T) {
	var buf bytes.Buffer
	o := &Output{W: &buf, Width: 80}
	w := Window{File: "index.cc", Language: "C++", First: 98, Current: 99, Lines: []string{"for (;;) {", "\tx\ty;", "}"}}
	w.Print(o, 8)
	want := "" +
		"    98  for (;;) {\n" +
		"=>  99          x       y;\n" +
		"   100  }\n"
	if got := buf.String(); got != want {
		t.Errorf("window:\n%s\nwant:\n%s", got, want)
	}
}

func TestHighlightKeepsTheText(t *testing.T) {
	lines := []string{"#include <stdio.h>", "int main(void) { /* a", "   comment */ return 0x10; } // \"x\"", "", "\tchar *s = \"a\\n\";"}
	for _, lang := range []string{"C", "C++", "Rust", "Go", "no such language"} {
		w := Window{File: "x.c", Language: lang, Lines: lines, First: 1}
		rows := w.highlight()
		if len(rows) != len(lines) {
			t.Fatalf("%s: %d rows of %d lines", lang, len(rows), len(lines))
		}
		for i, row := range rows {
			text := ""
			for _, s := range row {
				text += s.Text
			}
			if text != lines[i] {
				t.Errorf("%s line %d: %q, want %q", lang, i+1, text, lines[i])
			}
		}
	}
}

func TestHighlightInsideAComment(t *testing.T) {
	w := Window{File: "x.c", Language: "C", First: 3, Before: []string{"int a; /* opened", "still"}, Lines: []string{"text int", "end */ int b;", "int c;"}}
	rows := w.highlight()
	if rows[0][0].style != styleComment {
		t.Errorf("line in the comment: %+v", rows[0])
	}
	if rows[2][0].style != styleType && rows[2][0].style != styleKeyword {
		t.Errorf("line after the comment: %+v", rows[2])
	}
	if opensComment([]string{"int a; /* x */"}) || opensComment([]string{"// see /*"}) {
		t.Error("a closed comment counts as open")
	}
}

func BenchmarkHighlight(b *testing.B) {
	w := Window{File: "x.cc", Language: "C++", First: 1}
	for range 10 {
		w.Lines = append(w.Lines, "        for (int i = 0; i < header.count(); i++) cache_.push_back(std::move(b)); // never trimmed")
	}
	for b.Loop() {
		w.highlight()
	}
}

func BenchmarkClean(b *testing.B) {
	for b.Loop() {
		Clean("std::vector<std::pair<int, long>, std::allocator<std::pair<int, long> > >::push_back(std::pair<int, long> const&)")
	}
}
