package units

import (
	"math"
	"testing"
	"time"
)

// TestSizes has the texts of sizes where a unit ends.
func TestSizes(t *testing.T) {
	for _, c := range []struct {
		n                     uint64
		short, long, argument string
	}{
		{0, "0 B", "0 bytes", "0"},
		{1, "1 B", "1 byte", "1"},
		{1023, "1023 B", "1023 bytes", "1023"},
		{1024, "1.0 KiB", "1.0 KiB (1024)", "1 KiB"},
		{1025, "1.0 KiB", "1.0 KiB (1025)", "1.0 KiB"},
		{4194304, "4.0 MiB", "4.0 MiB (4194304)", "4 MiB"},
		{4718600, "4.5 MiB", "4.5 MiB (4718600)", "4.5 MiB"},
		{1023 << 10, "1023.0 KiB", "1023.0 KiB (1047552)", "1023 KiB"},
		{1<<20 - 1, "1.0 MiB", "1.0 MiB (1048575)", "1.0 MiB"},
		{1 << 62, "4.0 EiB", "4.0 EiB (4611686018427387904)", "4 EiB"},
		{math.MaxUint64, "16.0 EiB", "16.0 EiB (18446744073709551615)", "16.0 EiB"},
	} {
		var s Sizes
		if short, long, argument := s.Short(c.n), s.Long(c.n), s.Argument(c.n); short != c.short || long != c.long || argument != c.argument {
			t.Errorf("%d: %q, %q, %q; want %q, %q, %q", c.n, short, long, argument, c.short, c.long, c.argument)
		}
	}
	raw := Sizes{Raw: true}
	for got, want := range map[string]string{
		raw.Short(1 << 20): "1048576 B", raw.Long(1 << 20): "1048576 bytes", raw.Long(1): "1 byte", raw.Argument(1 << 20): "1048576",
		raw.Signed(-1 << 20): "-1048576 B", Sizes{}.Signed(math.MinInt64): "-8.0 EiB", Sizes{}.Signed(0): "+0 B", Sizes{}.Rate(2048): "2.0 KiB/s",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestCounts has nouns and verbs that agree with their numbers.
func TestCounts(t *testing.T) {
	for got, want := range map[string]string{
		Count(0, "block"): "0 blocks", Count(1, "block"): "1 block", Count(2310, "block"): "2,310 blocks",
		CountVerb(0, "block", "is", "are"): "0 blocks are", CountVerb(1, "block", "is", "are"): "1 block is",
		Change(1, "block"): "+1 block", Change(-1, "block"): "-1 block", Change(0, "block"): "+0 blocks", Change(-2310, "block"): "-2,310 blocks",
		Grouped(999): "999", Grouped(-1234): "-1,234", Signed(math.MinInt64): "-9,223,372,036,854,775,808",
		PerSecond(1): "1.0", PerSecond(-99.96): "-100.0", PerSecond(1204.6): "1,205",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestShares has shares that are near to nothing, and those of nothing.
func TestShares(t *testing.T) {
	for got, want := range map[string]string{
		Percent(0, 10): "0.0 %", Percent(0, 0): "0.0 %", Percent(1, 8): "12.5 %", Percent(10, 10): "100.0 %",
		Percent(1, 2000): "0.1 %", Percent(1, 3000): "<0.1 %", PercentCell(1, 3): "33.3",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestTimes(t *testing.T) {
	for got, want := range map[string]string{
		Time(812300 * time.Microsecond): "812.300 ms", Time(2417 * time.Millisecond): "2.417 s", Time(3 * time.Hour): "10800.000 s",
		Clock(12300 * time.Millisecond): "12.3 s", Clock(time.Hour + 123*time.Second): "1h2m3s",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
