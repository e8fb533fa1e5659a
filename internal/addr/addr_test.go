package addr

import "testing"

func TestReturnAddressIsLookedUpInsideItsCall(t *testing.T) {
	for _, tc := range []struct {
		code Code
		want Run
	}{
		{PC(0x1000), 0x1000},
		{Return(0x1000), 0xfff},
		{Return(0), 0},
	} {
		if got := tc.code.Lookup(); got != tc.want {
			t.Errorf("%+v: got %v, want %v", tc.code, got, tc.want)
		}
	}
}

func TestCompareFindsTheRange(t *testing.T) {
	for a, want := range map[File]int{0xf: 1, 0x10: 0, 0x1f: 0, 0x20: -1} {
		if got := Compare(0x10, 0x20, a); got != want {
			t.Errorf("%v: got %d, want %d", a, got, want)
		}
	}
}

func TestBiasWraps(t *testing.T) {
	// The vDSO of some kernels is linked above where it is loaded.
	const file File = 0xffffffffff700000
	run := Run(0x7ffff7fc1000)
	bias := Bias(run) - Bias(file)
	if got := file.Run(bias); got != run {
		t.Errorf("got %v", got)
	}
	if got := run.File(bias); got != file {
		t.Errorf("got %v", got)
	}
}
