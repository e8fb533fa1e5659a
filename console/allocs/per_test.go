package allocs

import (
	"testing"

	"hdb/console/shell"
)

// TestPerComesLast: words behind per are not of another kind of row, and the error says where they belong.
func TestPerComesLast(t *testing.T) {
	for _, c := range []struct {
		words []string
		want  string
	}{
		{[]string{"per", "line", "5"}, "top: \"per line 5\": `per line` comes last: top 5 per line"},
		{[]string{"per", "line", "by", "bytes"}, "top: \"per line by bytes\": `per line` comes last: top by bytes per line"},
	} {
		if _, _, err := perOf(shell.Input{Name: "top"}, c.words, topPers); err == nil || err.Error() != c.want {
			t.Errorf("%v: %v, want %s", c.words, err, c.want)
		}
	}
}
