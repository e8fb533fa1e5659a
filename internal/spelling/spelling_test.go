package spelling

import (
	"strings"
	"testing"
)

func TestNearest(t *testing.T) {
	words := []string{"break", "backtrace", "continue", "print", "info"}
	for in, want := range map[string]string{
		"brak": "break", "breka": "break", "contniue": "continue", "zzz": "", "inof": "info", "b": "", "": "",
		strings.Repeat("break", 100): "",
	} {
		if got := Nearest(in, words); got != want {
			t.Errorf("Nearest(%.20q) = %q, want %q", in, got, want)
		}
	}
}
