package screen

import (
	"io"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestDivide(t *testing.T) {
	for _, tc := range []struct {
		rows, cols, source, console int
		fits                        bool
	}{
		{0, 80, 0, 0, false}, {5, 80, 0, 0, false}, {7, 80, 0, 0, false}, {8, 23, 0, 0, false},
		{8, 24, 3, 4, true}, {12, 80, 7, 4, true}, {24, 80, 15, 8, true}, {60, 200, 39, 20, true}, {5000, 9000, 300, 4699, true},
	} {
		d := divide(tc.rows, tc.cols)
		if d.fits() != tc.fits || tc.fits && (d.source != tc.source || d.console != tc.console || d.source+1+d.console != tc.rows) {
			t.Errorf("%d by %d: %+v, fits %t", tc.rows, tc.cols, d, d.fits())
		}
	}
}

func TestWindowMoves(t *testing.T) {
	text := textLines(strings.Split(strings.Repeat("line\n", 99)+"line", "\n"))
	for _, tc := range []struct{ first, last, top, rows, want int }{
		{50, 50, 0, 10, 46}, {50, 50, 45, 10, 45}, {54, 54, 45, 10, 45}, {55, 55, 45, 10, 51},
		{1, 1, 0, 10, 1}, {100, 100, 0, 10, 91}, {20, 29, 0, 10, 20}, {20, 40, 0, 10, 20}, {200, 200, 0, 10, 91}, {1, 1, 90, 200, 1},
	} {
		p := Picture{Text: text, First: tc.first, Last: tc.last}
		if got := p.around(tc.top, tc.rows); got != tc.want {
			t.Errorf("lines %d-%d, top %d of %d rows: %d, want %d", tc.first, tc.last, tc.top, tc.rows, got, tc.want)
		}
	}
}

// textLines is a source file that is all there.
type textLines []string

func (t textLines) Line(n int) (string, bool) {
	if n < 1 || n > len(t) {
		return "", false
	}
	return t[n-1], true
}
func (t textLines) Last() int { return len(t) }
func (textLines) Whole() bool { return true }

// colours are the only escape sequences of a row.
var colours = regexp.MustCompile("\x1b\\[[0-9;]*m")

// badRow tells what is wrong with a row of the screen.
func badRow(row string, width int) string {
	bare := colours.ReplaceAllString(row, "")
	switch {
	case !utf8.ValidString(bare):
		return "not UTF-8"
	case Clean(bare) != bare:
		return "not clean"
	case cells(bare) > width:
		return "too wide"
	case strings.Count(row, "\x1b[0m") == 0 && bare != row:
		return "its colour does not end"
	}
	return ""
}

var hostileLines = []string{
	"int plain;", "\x1b[2J\x1b[Hcleared", "a\tb\t\tc", strings.Repeat("x", 100000), strings.Repeat("宽", 300), strings.Repeat("e\u0301\u0302\u0303\u0304\u0305\u0306", 200),
	"\u202eoverride\u202c", "\xff\xfe broken \xc3", "/* an open comment", "👩‍👩‍👧‍👦 family 👩🏽", "\u0301 begins with a mark", "\r\x08\x7f\x00\x9b31m", strings.Repeat("\u0300", 5000), "\u2028\u2029",
}

func TestHostileSources(t *testing.T) {
	path := filepath.Join(t.TempDir(), "evil\x1b[2J宽.c")
	p := Picture{File: path, Text: textLines(hostileLines), First: 3, Last: 3, Current: 3, Function: "f\x1b]0;title\x07<" + strings.Repeat("宽", 200) + ">",
		Where: "#0  thread 1 \"\x1b[2J\"", Marks: map[int]string{2: "b+", 3: "B-"}}
	for _, o := range []*Output{{}, {Color: true, Theme: ThemeNamed("dark")}} {
		for _, width := range []int{2, 3, 5, 9, 10, 11, 24, 25, 80, 131} {
			for _, left := range []int{0, 1, 7, 8} {
				for i, row := range p.lines(o, 8, 1, left, len(hostileLines)+3, width) {
					if bad := badRow(row, width); bad != "" {
						t.Fatalf("line %d in %d columns from %d: %s: %q", i+1, width, left, bad, row)
					}
				}
			}
			if width < minCols {
				continue
			}
			if bad := badRow(p.bar(o, width%2 == 0, width), width); bad != "" {
				t.Fatalf("bar in %d columns: %s: %q", width, bad, p.bar(o, true, width))
			}
		}
	}
}

func FuzzFit(f *testing.F) {
	for _, line := range hostileLines {
		f.Add(line[:min(len(line), 200)], 0, 20)
		f.Add(line[:min(len(line), 200)], 7, 1)
	}
	f.Fuzz(func(t *testing.T, text string, left, width int) {
		left, width = min(max(left, 0), 1000), min(max(width, 0), 1000)
		for _, o := range []*Output{{}, {Color: true, Theme: ThemeNamed("dark")}} {
			row := o.fit(expandTabs([]Span{{plain, "a"}, {styleFunc, text}, {plain, text}}, 8), left, width)
			if bad := badRow(row, width); bad != "" {
				t.Errorf("%q from %d, %d columns: %s: %q", text, left, width, bad, row)
			}
		}
	})
}

func TestFit(t *testing.T) {
	for _, tc := range []struct {
		text        string
		left, width int
		want        string
	}{
		{"abcdef", 0, 3, "abc"}, {"abcdef", 2, 3, "cde"}, {"abc", 5, 3, ""}, {"abc", 0, 0, ""},
		{"a宽b", 0, 2, "a "}, {"a宽b", 2, 2, " b"}, {"a宽b", 0, 3, "a宽"}, {"e\u0301x", 0, 1, "e\u0301"}, {"a\x1bb", 0, 9, `a\x1bb`},
	} {
		if got := (&Output{}).fit([]Span{{plain, tc.text}}, tc.left, tc.width); got != tc.want {
			t.Errorf("%q from %d, %d columns: %q, want %q", tc.text, tc.left, tc.width, got, tc.want)
		}
	}
	if got := shortened("/a/very/long/path/to/file.c", 14); got != ".../to/file.c" {
		t.Errorf("a path is shortened to %q", got)
	}
	if got := shortened("averyveryverylongname.c", 14); got != "averyveryverylongname.c" {
		t.Errorf("a name is shortened to %q", got)
	}
}

// A queue is a host that counts what is posted.
type queue struct {
	Host
	posted int
}

func (q *queue) Post(func()) { q.posted++ }

func TestSplitKeys(t *testing.T) {
	host := queue{}
	tu := NewSplit(&host, &Output{W: io.Discard}, nil)
	tu.screen.w = io.Discard
	take := func(typed ...string) (rest string, done int) {
		for _, s := range typed {
			rest += string(tu.take([]byte(s)))
		}
		done, host.posted = host.posted, 0
		return rest, done
	}
	for _, tc := range []struct {
		split, source bool
		typed         []string
		rest          string
		done          int
	}{
		{false, false, []string{"abc\x1b[5~\x0c"}, "abc\x1b[5~\x0c", 0},
		{false, false, []string{"a\x18ab\x18\x01"}, "ab", 2},
		{false, false, []string{"\x18", "a", "\x18x"}, "x", 1},
		{true, false, []string{"abc\x1b[5~d\x1b[6~\x0c"}, "abcd", 3},
		{true, false, []string{"\x1b[A\x1bOB"}, "\x1b[A\x1bOB", 0},
		{true, true, []string{"\x1b[A\x1bOBx\x1b[C\x1b[D"}, "x", 4},
		{true, true, []string{"\x1b", "[A", "\x1b[", "5~"}, "\x1b[A\x1b[5~", 0}, // in pieces
		{true, true, []string{"\x1b[H\x1b[3~\x1b[1;5C"}, "\x1b[H\x1b[3~\x1b[1;5C", 0},
		{true, false, []string{"\x18o\x18\x18a"}, "\x18a", 1},
	} {
		tu.screen.on.Store(tc.split)
		tu.onSource.Store(tc.source)
		if rest, done := take(tc.typed...); rest != tc.rest || done != tc.done {
			t.Errorf("%q: rest %q, %d done; want %q, %d", tc.typed, rest, done, tc.rest, tc.done)
		}
		tu.ctrlX = false
	}
}

func TestTranscript(t *testing.T) {
	var n Notices
	n.Keep("not kept\n")
	if got := n.lastLines(5); got != nil {
		t.Errorf("kept %q", got)
	}
	n.said = &transcript{}
	n.Keep("one\ntw")
	n.Keep("o\nthree\n")
	if got := n.lastLines(2); !reflect.DeepEqual(got, []string{"two", "three"}) {
		t.Errorf("the last two are %q", got)
	}
	if got := n.lastLines(-1); len(got) != 0 {
		t.Errorf("the last -1 are %q", got)
	}
	for range 10000 {
		n.Keep("x\n")
	}
	for range 10000 {
		n.Keep("no end ")
	}
	if got := n.lastLines(100000); len(got) > 2*maxSaid || len(got[len(got)-1]) > maxSaidLine {
		t.Errorf("%d lines are kept, the last has %d bytes", len(got), len(got[len(got)-1]))
	}
}
