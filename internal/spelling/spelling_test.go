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

func TestKnown(t *testing.T) {
	flags := map[string]bool{"measure": true, "json": true, "n": true, "ex": true, "kill-on-exit": true}
	for in, want := range map[string]string{
		"mesure": "measure", "maesrue": "measure", "jsn": "json", "jsonn": "json", "": "", "m": "", "exx": "ex", "kill-onexit": "kill-on-exit", "nothing": "",
	} {
		if got := Known(in, func(w string) bool { return flags[w] }); got != want {
			t.Errorf("Known(%q) = %q, want %q", in, got, want)
		}
	}
}
