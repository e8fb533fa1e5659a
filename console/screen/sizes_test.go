package screen

import "testing"

// TestSizesAsSet has each form of a size, with units and as bytes.
func TestSizesAsSet(t *testing.T) {
	for n, want := range map[uint64][6]string{
		96:       {"96", "96 B", "96 bytes", "96", "96 B", "96 bytes"},
		4 << 20:  {"4 MiB", "4.0 MiB", "4 MiB (4194304)", "4194304", "4194304 B", "4194304 bytes"},
		67947725: {"64.8 MiB", "64.8 MiB", "64.8 MiB (67947725)", "67947725", "67947725 B", "67947725 bytes"},
	} {
		u, raw := Sizes{}, Sizes{Raw: true}
		if got := [6]string{u.Argument(n), u.Short(n), u.Long(n), raw.Argument(n), raw.Short(n), raw.Long(n)}; got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
	if got := (Sizes{}).Signed(-2048) + (Sizes{Raw: true}).Signed(5000) + (Sizes{}).Rate(-3000); got != "-2.0 KiB+5000 B-2.9 KiB/s" {
		t.Errorf("signed: %q", got)
	}
}
