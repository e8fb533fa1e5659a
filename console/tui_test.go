package console

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"hdb/session"
	"hdb/testprogs"
)

// Without a terminal there is one clear line, and the exit code of bad use.
func TestTUINeedsATerminal(t *testing.T) {
	const want = ": a split screen needs a terminal that can move its cursor, and neither -batch nor --json\n"
	for _, line := range []string{"tui", "tui enable", "focus src", "refresh"} {
		word, _ := splitWord(line)
		out, errs, code := play(t, line)
		if out != "" || errs != "error: "+word+want || code != ExitUsage {
			t.Errorf("%s: printed %q and %q, exit code %d", line, out, errs, code)
		}
	}
	if out, errs, code := play(t, "tui disable"); out != "" || errs != "" || code != ExitOK {
		t.Errorf("disable: printed %q and %q, exit code %d", out, errs, code)
	}
	for line, want := range map[string]string{
		"tui frobnicate": "error: tui: \"frobnicate\": enable or disable expected\n",
		"layout asm":     "error: layout: there is one layout, the source above the console: tui enable\n",
	} {
		if _, errs, code := play(t, line); errs != want || code != ExitFailed {
			t.Errorf("%s: printed %q, exit code %d", line, errs, code)
		}
	}
	st := newStage(t, nil)
	if _, words := st.candidates("focus "); !reflect.DeepEqual(words, []string{"cmd", "src"}) {
		t.Errorf("focus is completed by %q", words)
	}
	if _, words := st.candidates("tui "); !reflect.DeepEqual(words, []string{"disable", "enable"}) {
		t.Errorf("tui is completed by %q", words)
	}
}

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
	text := sourceText(t, strings.Repeat("line\n", 100))
	for _, tc := range []struct{ first, last, top, rows, want int }{
		{50, 50, 0, 10, 46}, {50, 50, 45, 10, 45}, {54, 54, 45, 10, 45}, {55, 55, 45, 10, 51},
		{1, 1, 0, 10, 1}, {100, 100, 0, 10, 91}, {20, 29, 0, 10, 20}, {20, 40, 0, 10, 20}, {200, 200, 0, 10, 91}, {1, 1, 90, 200, 1},
	} {
		p := picture{text: text, first: tc.first, last: tc.last}
		if got := p.around(tc.top, tc.rows); got != tc.want {
			t.Errorf("lines %d-%d, top %d of %d rows: %d, want %d", tc.first, tc.last, tc.top, tc.rows, got, tc.want)
		}
	}
}

// sourceText is a source file with that text.
func sourceText(t *testing.T, text string) *session.SourceText {
	t.Helper()
	path := filepath.Join(t.TempDir(), "x.c")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	src, err := newStage(t, nil).s.Source(path)
	if err != nil {
		t.Fatal(err)
	}
	return src
}

// colours are the only escape sequences of a row.
var colours = regexp.MustCompile("\x1b\\[[0-9;]*m")

// badRow tells what is wrong with a row of the screen.
func badRow(row string, width int) string {
	bare := colours.ReplaceAllString(row, "")
	switch {
	case !utf8.ValidString(bare):
		return "not UTF-8"
	case clean(bare) != bare:
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
	dir := t.TempDir()
	path := filepath.Join(dir, "evil\x1b[2J宽.c")
	if err := os.WriteFile(path, []byte(strings.Join(hostileLines, "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	st := newStage(t, nil)
	text, err := st.s.Source(path)
	if err != nil {
		t.Fatal(err)
	}
	p := picture{file: path, text: text, first: 3, last: 3, current: 3, function: "f\x1b]0;title\x07<" + strings.Repeat("宽", 200) + ">",
		where: "#0  thread 1 \"\x1b[2J\"", marks: map[int]string{2: "b+", 3: "B-"}}
	for _, o := range []*output{{}, {color: true, theme: theme("dark")}} {
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
		for _, o := range []*output{{}, {color: true, theme: theme("dark")}} {
			row := o.fit(expandTabs([]span{{plain, "a"}, {styleFunc, text}, {plain, text}}, 8), left, width)
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
		if got := (&output{}).fit([]span{{plain, tc.text}}, tc.left, tc.width); got != tc.want {
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

func TestSplitKeys(t *testing.T) {
	st := newStage(t, nil)
	tu := st.tui
	tu.screen.w = io.Discard
	take := func(typed ...string) (rest string, done int) {
		for _, s := range typed {
			rest += string(tu.take([]byte(s)))
		}
		for len(st.sig.beside) > 0 {
			<-st.sig.beside
			done++
		}
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
	var n notices
	n.keep("not kept\n")
	if got := n.lastLines(5); got != nil {
		t.Errorf("kept %q", got)
	}
	n.said = &transcript{}
	n.keep("one\ntw")
	n.keep("o\nthree\n")
	if got := n.lastLines(2); !reflect.DeepEqual(got, []string{"two", "three"}) {
		t.Errorf("the last two are %q", got)
	}
	if got := n.lastLines(-1); len(got) != 0 {
		t.Errorf("the last -1 are %q", got)
	}
	for range 10000 {
		n.keep("x\n")
	}
	for range 10000 {
		n.keep("no end ")
	}
	if got := n.lastLines(100000); len(got) > 2*maxSaid || len(got[len(got)-1]) > maxSaidLine {
		t.Errorf("%d lines are kept, the last has %d bytes", len(got), len(got[len(got)-1]))
	}
}

func TestTUITinyTerminal(t *testing.T) {
	t.Parallel()
	for _, size := range [][2]int{{5, 80}, {7, 40}, {24, 20}} {
		g := newGlass(t, size[0], size[1], "HDB_CONSOLE_TEST_CHILD=1")
		g.say("clear; " + os.Args[0])
		g.see("(hdb)")
		g.say("tui")
		g.until("a refusal", func(rows []string) bool {
			text := strings.Join(rows, "")
			return strings.Contains(text, "error: tui: the terminal is too small for a split screen: ") && strings.HasSuffix(text, " are needed(hdb)")
		})
		g.say("shell clear")
		g.until("an empty screen", func(rows []string) bool { return rows[0] == "(hdb)" })
		g.write("ec")
		g.see("(hdb) ec")
		g.press("C-x", "a")
		g.until("the line again", func(rows []string) bool { return strings.HasSuffix(strings.Join(rows, ""), "(hdb) ec") })
		g.write("ho on")
		g.press("Enter")
		g.until("the line that goes on", func(rows []string) bool {
			text := strings.Join(rows, "")
			return strings.HasPrefix(text, "error: tui: the terminal is too small") && strings.HasSuffix(text, "(hdb) echo onon(hdb)")
		})
	}
}

// A capture is shown with the lines that it kept, where the source is not.
func TestTUIOnACapture(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	text, err := os.ReadFile("../testprogs/testdata/sizes.c")
	if err != nil {
		t.Fatal(err)
	}
	source, prog, saved := filepath.Join(dir, "sizes.c"), filepath.Join(dir, "sizes"), filepath.Join(dir, "s.hdb")
	long := strings.Repeat("// not kept\n", 60)
	if err := os.WriteFile(source, []byte(long+string(text)), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(testprogs.Tool(t, "gcc"), "-g", "-o", prog, source).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if out, errs, code := hdb(t, nil, prog, "break alloc if size >= 1MiB", "run", "save "+saved); code != 0 {
		t.Fatalf("%s%s", out, errs)
	}
	if err := os.Remove(source); err != nil {
		t.Fatal(err)
	}
	g := newGlass(t, 30, 90)
	g.start("open", saved)
	rows := g.hdb("frame")
	if got, _ := bar(t, rows); !strings.Contains(got, "sizes.c  main  line 111") || !strings.Contains(got, "  #0  stop 1, ") {
		t.Errorf("bar %q", got)
	}
	if !strings.HasPrefix(arrow(rows), "=> 111 ") || !strings.Contains(arrow(rows), "free(memset(malloc(n), 1, n))") {
		t.Errorf("current line %q:\n%s", arrow(rows), strings.Join(rows, "\n"))
	}
	rows = g.hdb("list 1,3")
	if !strings.Contains(strings.Join(rows, "\n"), "error: ") {
		t.Errorf("lines that were not kept:\n%s", strings.Join(rows, "\n"))
	}
	g.hdb("up")
	g.see("no source: ")
}

func TestTUIHighlights(t *testing.T) {
	t.Parallel()
	g := newGlass(t, 30, 90)
	g.say(testprogs.HDB(t) + " -nx -q -ex tui -ex start " + testprogs.Build(t, "stepping"))
	g.see("=>  28 ", "#0  main", "\n(hdb)")
	painted := g.tell("capture-pane", "-p", "-e")
	for _, want := range []string{"\x1b[34mreturn\x1b", "\x1b[7m=>  28  "} {
		if !strings.Contains(painted, want) {
			t.Errorf("%q is not on the screen:\n%q", want, painted)
		}
	}
}
