package desk

import (
	"strings"
	"testing"
	"time"

	"hdb/recording"
)

func TestBounds(t *testing.T) {
	for text, want := range map[string]int64{"1": 1, "64K": 64 << 10, "1.5MiB": 3 << 19, "2g": 2 << 30, "10MB": 10 << 20, "0": 0, "": 0, "x": 0, "-1M": 0, "K": 0, "NaN": 0, "9999999T": 0} {
		var got int64
		if err := parseBytes(&got)(text); (err == nil) != (want > 0) || got != want {
			t.Errorf("%q is %d, want %d; %v", text, got, want, err)
		}
	}
	for words, want := range map[string]recording.Bounds{
		"":                            {},
		"--ring 64M --last 1.5":       {Ring: 64 << 20, Last: 1500 * time.Millisecond},
		"-max-size=2G":                {MaxSize: 2 << 30},
		"--aggregate --max-size 100K": {Aggregate: true, MaxSize: 100 << 10},
	} {
		b, _, err := ParseBounds(strings.Fields(words))
		if err != nil || b != want {
			t.Errorf("%s: %+v, %v", words, b, err)
		}
		if again, _, err := ParseBounds(strings.Fields(b.String())); err != nil || again != b {
			t.Errorf("%s is shown as %s: %v", words, b, err)
		}
	}
	for _, words := range []string{"--aggregate --last 3s", "--ring", "--ring x", "now", "--aggregate=1", "--filter x", "--max-size 1M --ring 1M"} {
		if b, _, err := ParseBounds(strings.Fields(words)); err == nil {
			t.Errorf("%s: %+v", words, b)
		}
	}
}
