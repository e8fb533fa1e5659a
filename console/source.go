package console

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/alecthomas/chroma/v2"
)

// A window is a part of a source file to be shown.
type window struct {
	file     string
	language string             // of the unit, as DW_AT_language names it: "C", "C++", "Rust", "Go"; "" by the file's name
	first    int                // number of the first line, 1-based
	lines    []string           // as read: tabs and all
	before   []string           // lines before the window, as far as known, for an open comment
	current  int                // the line the arrow points at, 0 none
	marks    map[int]string     // what stands before the number of a line instead of the arrow
	margin   func(n int) string // what stands before line n, nil nothing
}

// listing is where list goes on.
type listing struct {
	file        string
	language    string
	first, last int // shown last; 0 nothing yet
	current     int // the line of the frame, for the arrow
	found       int // the line that search found: list shows what is around it
	cost        bool
}

// print shows the window: an arrow, numbers, highlighted text.
func (w *window) print(o *output, tab int) {
	rows := make([][]span, len(w.lines))
	if o.color {
		rows = w.highlight()
	} else {
		for i, l := range w.lines {
			rows[i] = []span{{plain, l}}
		}
	}
	digits := max(3, len(strconv.Itoa(w.first+len(w.lines)-1)))
	for i, row := range rows {
		n := w.first + i
		mark := span{plain, "   "}
		switch {
		case n == w.current:
			mark = span{styleArrow, "=> "}
		case w.marks[n] != "":
			mark = span{styleArrow, fmt.Sprintf("%-3s", w.marks[n])}
		}
		number := span{styleGuess, fmt.Sprintf("%*d", digits, n)}
		if n == w.current {
			number.style = styleHead
		}
		lead := []span{mark, number}
		if w.margin != nil {
			lead = []span{{styleNumber, w.margin(n)}, mark, number}
		}
		o.line(append(append(lead, span{plain, "  "}), expandTabs(row, tab)...)...)
	}
}

// expandTabs replaces tabs by blanks up to the next multiple of the width.
func expandTabs(row []span, width int) []span {
	if width <= 0 {
		width = 8
	}
	column := 0
	for i, s := range row {
		if !strings.Contains(s.text, "\t") {
			column += textWidth(clean(s.text))
			continue
		}
		var b strings.Builder
		for n, part := range strings.Split(s.text, "\t") {
			if n > 0 {
				fill := width - column%width
				b.WriteString(strings.Repeat(" ", fill))
				column += fill
			}
			b.WriteString(part)
			column += textWidth(clean(part))
		}
		row[i].text = b.String()
	}
	return row
}

// highlight gives the spans of each line. Only the window is given to chroma,
// which does some 0.3 MB/s; a comment that opens before the window is found by
// a plain search.
func (w *window) highlight() [][]span {
	lexer := w.lexer()
	if lexer == nil {
		return w.plainLines()
	}
	lines := w.lines
	inside := 0
	if opensComment(w.before) {
		// Lines up to the comment's end are comment; the lexer starts behind them.
		for inside < len(lines) && !strings.Contains(lines[inside], "*/") {
			inside++
		}
		inside = min(inside+1, len(lines))
	}
	rows := make([][]span, 0, len(lines))
	for _, l := range lines[:inside] {
		rows = append(rows, []span{{styleComment, l}})
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
		var row []span
		if i < len(tokens) {
			for _, tok := range tokens[i] {
				row = append(row, span{tokenStyle(tok.Type), strings.TrimRight(tok.Value, "\n")})
			}
		}
		rows = append(rows, row)
	}
	return rows
}

func (w *window) plainLines() [][]span {
	rows := make([][]span, len(w.lines))
	for i, l := range w.lines {
		rows[i] = []span{{plain, l}}
	}
	return rows
}

// lexer is chosen by the unit's language: a .h file may be C or C++.
func (w *window) lexer() chroma.Lexer {
	names := map[string]string{"C": "c", "C++": "c++", "Rust": "rust", "Go": "go", "Python": "python", "Assembler": "gas", "D": "d", "Zig": "zig", "Fortran": "fortran"}
	l := lexers().Get(names[w.language])
	if l == nil {
		l = lexers().Match(filepath.Base(w.file))
	}
	if l == nil {
		return nil
	}
	return chroma.Coalesce(l)
}

// opensComment tells whether a /* before the window is still open. It looks at
// text only: a /* in a string can fool it, and costs a wrong colour.
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
