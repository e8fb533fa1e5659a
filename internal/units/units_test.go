package units

import "testing"

// TestLong has the texts of sizes where a unit ends.
func TestLong(t *testing.T) {
	for n, want := range map[uint64]string{
		0: "0 bytes", 1: "1 byte", 1023: "1,023 bytes", 1024: "1.0 KiB (1024)", 1<<20 - 1: "1.0 MiB (1048575)",
		1023 << 10: "1023.0 KiB (1047552)", 1<<64 - 1: "16.0 EiB (18446744073709551615)",
	} {
		if got := Long(n); got != want {
			t.Errorf("%d: %q, not %q", n, got, want)
		}
	}
}

// TestCountVerb has one thing be, and more or none are.
func TestCountVerb(t *testing.T) {
	for n, want := range map[int]string{0: "0 blocks are", 1: "1 block is", 2310: "2,310 blocks are"} {
		if got := CountVerb(n, "block", "is", "are"); got != want {
			t.Errorf("%d: %q, not %q", n, got, want)
		}
	}
}
