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
