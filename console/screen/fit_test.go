package screen

import (
	"bytes"
	"strings"
	"testing"
)

func TestMiddle(t *testing.T) {
	for _, tc := range []struct {
		text  string
		width int
		want  string
	}{
		{"short", 10, "short"},
		{"sds::reserve_arena(unsigned long)", 20, "sds::rese...ed long)"},
		{"漢字漢字漢字漢字", 9, "漢...漢字"},
		{"abcdef", 3, "abcdef"},
	} {
		got := Middle(tc.text, tc.width)
		if got != tc.want {
			t.Errorf("Middle(%q, %d) = %q, want %q", tc.text, tc.width, got, tc.want)
		}
	}
}

func fitting(width int) (*Output, *bytes.Buffer) {
	var buf bytes.Buffer
	return &Output{W: &buf, Width: width, Fit: true}, &buf
}

// Nothing of a table is beyond the width: files are called by their last parts, names lose
// their middles, numbers stay.
func TestTablesFit(t *testing.T) {
	rows := [][]Span{
		{Plain("612.0 MiB"), Func("app::Session::reserve_arena(unsigned long)"), File("/home/user/src/session/arena.cc:12")},
		{Plain("96 B"), Func("app::Session::reserve_arena(int)"), File("/home/user/src/session/arena.cc:120")},
	}
	for width, want := range map[int]string{
		120: "     size  function\n612.0 MiB  app::Session::reserve_arena(unsigned long)  /home/user/src/session/arena.cc:12\n     96 B  app::Session::reserve_arena(int)            /home/user/src/session/arena.cc:120\n",
		70:  "     size  function\n612.0 MiB  app::Session::reserve_arena(unsigned long)  arena.cc:12\n     96 B  app::Session::reserve_arena(int)            arena.cc:120\n",
		50:  "     size  function\n612.0 MiB  app::Sessio...igned long)  arena.cc:12\n     96 B  app::Sessio..._arena(int)  arena.cc:120\n",
	} {
		o, buf := fitting(width)
		o.Table([]Column{{Head: "size", Right: true}, {Head: "function"}, {}}, rows)
		if got := buf.String(); got != want {
			t.Errorf("width %d:\n%s\nwant:\n%s", width, got, want)
		}
	}
	o, buf := fitting(70)
	o.Names.Paths = true
	o.Table([]Column{{Head: "size", Right: true}, {Head: "function"}, {}}, rows)
	for line := range strings.Lines(buf.String()) {
		if textWidth(strings.TrimSuffix(line, "\n")) > 70 {
			t.Errorf("too wide: %q", line)
		}
	}
}

// TestVerbatim: what a user has laid out is neither broken nor loses its tabs.
func TestVerbatim(t *testing.T) {
	o, buf := fitting(20)
	o.Verbatim("a line that is\twider than the terminal\x1b\n")
	if got, want := buf.String(), "a line that is\twider than the terminal\\x1b\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestLinesAreBrokenAtWords(t *testing.T) {
	o, buf := fitting(20)
	o.Text("one two three four five six seven\n  indented as it was before\nnowherebrokenbecausethereisnoblank\n")
	o.Line(Warning("error: "), Plain("a message that is too long"))
	want := "one two three four\n  five six seven\n  indented as it was\n    before\nnowherebrokenbecausethereisnoblank\nerror: a message\n  that is too long\n"
	if got := buf.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	o.Fit = false
	buf.Reset()
	o.Text("what is no terminal has each line as it is\n")
	if got := buf.String(); got != "what is no terminal has each line as it is\n" {
		t.Errorf("got %q", got)
	}
}

// Names that are cut differ where the whole ones do.
func TestCutNamesDiffer(t *testing.T) {
	for _, tc := range []struct {
		width int
		all   map[string]string
	}{
		{28, map[string]string{
			"engine::Index<std::string>::rebuild(unsigned long)":  "...::rebuild(...)",
			"engine::Index<std::string>::lookup(unsigned) const":  "...::lookup(...)",
			"engine::operator new(unsigned long, std::nothrow_t)": "engine::operator new(...)",
			"main": "main",
		}},
		{20, map[string]string{ // both ends are alike
			"a::build_from_snapshot_of_partition(unsigned long)": "...rom_snapshot_o...",
			"a::build_from_journal__of_partition(unsigned long)": "...rom_journal__o...",
		}},
		{20, map[string]string{ // overloads
			"reserve_arena_of(unsigned long)":    "reserve_a...ed long)",
			"reserve_arena_of(int, char const*)": "reserve_a... const*)",
		}},
		{14, map[string]string{
			"倉庫の在庫を確保する(int)":                        "倉庫の...(...)",
			"main::{lambda()#1}::operator()() const": "...::o...(...)",
		}},
	} {
		n := names{width: tc.width}
		for name := range tc.all {
			n.add(name)
		}
		for name, want := range tc.all {
			got := n.of(name)
			if got != want || textWidth(got) > tc.width {
				t.Errorf("%q in %d columns: %q, want %q", name, tc.width, got, want)
			}
		}
	}
}

// A row that cannot be one line is several, without any number cut.
func TestTablesFold(t *testing.T) {
	o, buf := fitting(40)
	columns := []Column{{Head: "change", Right: true}, {Head: "blocks", Right: true}, {Head: "live", Right: true}, {Head: "bytes/s", Right: true}, {Head: "function"}, {}}
	table := NewLongTable(o, columns)
	row := func(name string) []Span {
		return []Span{Plain("+67.8 MiB"), Plain("+1,234"), Plain("67.8 MiB"), Plain("22.5 GiB/s"), Func(name), File("/src/index.cc:36")}
	}
	table.Add([][]Span{row("engine::Index::rebuild_from_journal(unsigned long)")})
	table.Add([][]Span{row("main")}) // would fit, but for the part before
	want := "   change  blocks      live     bytes/s\n    function\n+67.8 MiB  +1,234  67.8 MiB  22.5 GiB/s\n    engine::Index::rebuild_from_journal\n    index.cc:36\n"
	if got := buf.String(); !strings.HasPrefix(got, want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	for line := range strings.Lines(buf.String()) {
		if textWidth(strings.TrimSuffix(line, "\n")) > 40 {
			t.Errorf("too wide: %q", line)
		}
	}
}

// Text in the last column goes on below.
func TestLastColumnIsBrokenAtWords(t *testing.T) {
	o, buf := fitting(40)
	o.Table([]Column{{Head: "setting"}, {Head: "meaning"}}, [][]Span{{Func("listsize"), Guess("the number of lines that are listed")}, {Func("width"), Guess("columns")}})
	want := "setting   meaning\nlistsize  the number of lines that are\n          listed\nwidth     columns\n"
	if got := buf.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// A name longer than a line is broken between its parts, and no frame's number stands alone.
// A path stays whole.
func TestLongNamesAreBroken(t *testing.T) {
	o, buf := fitting(30)
	o.Line(Plain("#0  "), Func("engine::Index<std::string>::rebuild(unsigned long)"), Plain("  "), File("/src/index.cc:36"))
	o.Text("error: /a/path/that/is/longer/than/a::line: gone\n")
	want := "#0  engine::Index<std::\n    string>::rebuild(unsigned\n    long)  /src/index.cc:36\nerror:\n  /a/path/that/is/longer/than/a::line:\n  gone\n"
	if got := buf.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
