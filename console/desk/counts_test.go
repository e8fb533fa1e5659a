package desk

import (
	"testing"

	"hdb/console/shell"
)

// TestCounts reads k as 1000 where events, hits and steps are counted.
func TestCounts(t *testing.T) {
	for word, want := range map[string]uint64{"1": 1, "99": 99, "20k": 20_000, "1.5M": 1_500_000, "0x10": 16} {
		if n, ok := CountOf(word); n != want || !ok {
			t.Errorf("%s: %d, %v", word, n, ok)
		}
		if n, err := Times(shell.Input{Name: "step", Raw: word}); n != int(want) || err != nil {
			t.Errorf("step %s: %d, %v", word, n, err)
		}
		if n, c, err := CountAndCondition(shell.Input{Name: "next-alloc", Raw: word + " if size > 20k"}); n != int(want) || err != nil || c.String() != "size > 20KiB" && c.String() != "size > 20480" {
			t.Errorf("next-alloc %s: %d, %v, %v", word, n, c, err)
		}
	}
	for _, word := range []string{"", "-1", "x", "20KiB", "18446744073709551615", "20kB"} {
		if n, ok := CountOf(word); ok {
			t.Errorf("%q: %d", word, n)
		}
	}
	for _, line := range []string{"0", "-1", "1x"} {
		if _, err := Times(shell.Input{Name: "step", Raw: line}); err == nil {
			t.Errorf("step %s: no error", line)
		}
	}
}
