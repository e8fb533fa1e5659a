package addr

import "testing"

func TestRange(t *testing.T) {
	r := Run(0x1000).To(0x2000)
	if r.Len() != 0x1000 || r.Empty() || r.Contains(0xfff) || !r.Contains(0x1000) || r.Contains(0x2000) {
		t.Errorf("%v: %d bytes", r, r.Len())
	}
	for _, c := range []struct {
		o, want Range
		empty   bool
	}{
		{Run(0).To(0x1800), Run(0x1000).To(0x1800), false},
		{Run(0x1800).To(0x3000), Run(0x1800).To(0x2000), false},
		{Run(0x1100).To(0x1200), Run(0x1100).To(0x1200), false},
		{Run(0x2000).To(0x3000), Run(0x2000).To(0x2000), true},
		{Run(0x3000).To(0x4000), Run(0x3000).To(0x2000), true},
	} {
		if got := r.Within(c.o); got != c.want || got.Empty() != c.empty {
			t.Errorf("%v within %v is %v, want %v", r, c.o, got, c.want)
		}
	}
}
