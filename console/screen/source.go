package screen

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/alecthomas/chroma/v2"
)

// A Window is a part of a source file to be shown.
type Window struct {
	File     string
	Language string             // of the unit, "c", "c++", "rust", "go", "python"; "" by the file's name
	First    int                // number of the first line, 1-based
	Lines    []string           // as read: tabs and all
	Before   []string           // lines before the window, as far as known, for an open comment
	Current  int                // the line the arrow points at, 0 none
	marks    map[int]string     // what is before the number of a line instead of the arrow
	Margin   func(n int) string // what is before line n, nil nothing
}

// ContextLines is how far back an open comment is looked for.
const ContextLines = 200

// Print shows the window: an arrow, numbers, highlighted text.
func (w *Window) Print(o *Output, tab int) {
	rows := make([][]Span, len(w.Lines))
	if o.Color {
		rows = w.highlight()
	} else {
		for i, l := range w.Lines {
			rows[i] = []Span{{plain, l}}
		}
	}
	digits := max(3, len(strconv.Itoa(w.First+len(w.Lines)-1)))
	for i, row := range rows {
		n := w.First + i
		mark := Span{plain, "   "}
		switch {
		case n == w.Current:
			mark = Span{styleArrow, "=> "}
		case w.marks[n] != "":
			mark = Span{styleArrow, fmt.Sprintf("%-3s", w.marks[n])}
		}
		number := Span{styleGuess, fmt.Sprintf("%*d", digits, n)}
		if n == w.Current {
			number.style = styleHead
		}
		lead := []Span{mark, number}
		if w.Margin != nil {
			lead = []Span{{styleNumber, w.Margin(n)}, mark, number}
		}
		o.unbroken(append(append(lead, Span{plain, "  "}), expandTabs(row, tab)...))
	}
}

// expandTabs replaces tabs by blanks up to the next multiple of the width.
func expandTabs(row []Span, width int) []Span {
	if width <= 0 {
		width = 8
	}
	column := 0
	for i, s := range row {
		if !strings.Contains(s.Text, "\t") {
			column += textWidth(Clean(s.Text))
			continue
		}
		var b strings.Builder
		for n, part := range strings.Split(s.Text, "\t") {
			if n > 0 {
				fill := width - column%width
				b.WriteString(strings.Repeat(" ", fill))
				column += fill
			}
			b.WriteString(part)
			column += textWidth(Clean(part))
		}
		row[i].Text = b.String()
	}
	return row
}

// highlight gives the spans of each line. Only the window is given to chroma,
// which does some 0.3 MB/s; a comment that opens before the window is found by
// a plain search.
func (w *Window) highlight() [][]Span {
	lexer := w.lexer()
	if lexer == nil {
		return w.plainLines()
	}
	lines := w.Lines
	inside := 0
	if opensComment(w.Before) {
		// Lines up to the comment's end are comment; the lexer starts behind them.
		for inside < len(lines) && !strings.Contains(lines[inside], "*/") {
			inside++
		}
		inside = min(inside+1, len(lines))
	}
	rows := make([][]Span, 0, len(lines))
	for _, l := range lines[:inside] {
		rows = append(rows, []Span{{styleComment, l}})
	}
	text := strings.Join(lines[inside:], "\n")
	if !utf8.ValidString(text) {
		// chroma would replace the bytes that the cleaning shows.
		return append(rows, w.plainLines()[inside:]...)
	}
	it, err := lexer.Tokenise(&chroma.TokeniseOptions{State: "root", EnsureLF: true}, text)
	if err != nil {
		return append(rows, w.plainLines()[inside:]...)
	}
	tokens := chroma.SplitTokensIntoLines(it.Tokens())
	for i := range lines[inside:] {
		var row []Span
		if i < len(tokens) {
			for _, tok := range tokens[i] {
				row = append(row, Span{tokenStyle(tok.Type), strings.TrimRight(tok.Value, "\n")})
			}
		}
		rows = append(rows, row)
	}
	return rows
}

func (w *Window) plainLines() [][]Span {
	rows := make([][]Span, len(w.Lines))
	for i, l := range w.Lines {
		rows[i] = []Span{{plain, l}}
	}
	return rows
}

// lexer is chosen by the unit's language: a .h file may be C or C++.
func (w *Window) lexer() chroma.Lexer {
	names := map[string]string{"c": "c", "c++": "c++", "rust": "rust", "go": "go", "python": "python", "cython": "cython", "assembler": "gas", "d": "d", "zig": "zig", "fortran": "fortran"}
	l := lexers().Get(names[strings.ToLower(w.Language)])
	if l == nil {
		l = lexers().Match(filepath.Base(w.File))
	}
	if l == nil {
		return nil
	}
	return chroma.Coalesce(l)
}

// opensComment reports whether a /* before the window is still open. It looks at text only: a /* in
// a string can fool it, and costs a wrong colour.
func opensComment(before []string) bool {
	for i := len(before) - 1; i >= 0; i-- {
		line := before[i]
		if cut := strings.Index(line, "//"); cut >= 0 && !strings.Contains(line[cut:], "*/") {
			line = line[:cut]
		}
		open, shut := strings.LastIndex(line, "/*"), strings.LastIndex(line, "*/")
		if open >= 0 || shut >= 0 {
			return open > shut
		}
	}
	return false
}

// tokenStyle maps chroma's many kinds to the few that a terminal can show.
func tokenStyle(t chroma.TokenType) style {
	switch {
	case t == chroma.CommentPreproc, t == chroma.CommentPreprocFile:
		return stylePreproc
	case t.InCategory(chroma.Comment):
		return styleComment
	case t == chroma.KeywordType, t == chroma.NameClass, t == chroma.NameBuiltin:
		return styleType
	case t.InCategory(chroma.Keyword):
		return styleKeyword
	case t.InSubCategory(chroma.LiteralString):
		return styleString
	case t.InSubCategory(chroma.LiteralNumber):
		return styleNumber
	case t == chroma.NameFunction:
		return styleFunc
	}
	return plain
}
