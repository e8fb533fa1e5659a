package cmdline

import (
	"slices"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	for _, c := range []struct {
		line string
		args []string
		r    Redirections
	}{
		{`a "b c" 'd e' f\ g`, []string{"a", "b c", "d e", "f g"}, Redirections{}},
		{`-x # y "" ''`, []string{"-x", "#", "y", "", ""}, Redirections{}},
		{`a>o b<i 2>&1`, []string{"a", "b"}, Redirections{Stdin: "i", Stdout: "o", StderrToStdout: true}},
		{`> "my file" x2>e`, []string{"x2"}, Redirections{Stdout: "e"}},
		{`a 2>> e >> o`, []string{"a"}, Redirections{Stdout: "o", StdoutAppend: true, Stderr: "e", StderrAppend: true}},
		{`&>all`, nil, Redirections{Stdout: "all", StderrToStdout: true}},
		{`">" '2>x'`, []string{">", "2>x"}, Redirections{}},
	} {
		args, r, err := Parse(c.line)
		if err != nil || !slices.Equal(args, c.args) || r != c.r {
			t.Errorf("%s: %q %+v %v, want %q %+v", c.line, args, r, err, c.args, c.r)
		}
	}
	for line, want := range map[string]string{`a >`: "no file name", `a "b`: "unfinished", `a \`: "backslash", `> > x`: "no file name"} {
		if _, _, err := Parse(line); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", line, err, want)
		}
	}
}
