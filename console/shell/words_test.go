package shell

import (
	"fmt"
	"testing"
)

func TestSplitArgs(t *testing.T) {
	for _, tc := range []struct {
		in   string
		want []string
	}{
		{"", nil},
		{"  a  b ", []string{"a", "b"}},
		{`"a b" 'c d'`, []string{"a b", "c d"}},
		{`a\ b "x\"y" 'x\y' "\n"`, []string{"a b", `x"y`, `x\y`, `\n`}},
		{`"" x`, []string{"", "x"}},
		{`#4711 a#b`, []string{"#4711", "a#b"}},
		{QuoteArg(`we"ird \ name`), []string{`we"ird \ name`}},
	} {
		got, err := SplitArgs(tc.in)
		if err != nil || fmt.Sprint(got) != fmt.Sprint(tc.want) || len(got) != len(tc.want) {
			t.Errorf("splitArgs(%q) = %q, %v, want %q", tc.in, got, err, tc.want)
		}
	}
	if _, err := SplitArgs(`"a`); err == nil || err.Error() != `unfinished quote "` {
		t.Errorf("unfinished quote: %v", err)
	}
}
