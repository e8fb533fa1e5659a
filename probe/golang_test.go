package probe

import (
	"strings"
	"testing"

	"hdb/breakpoints"
	"hdb/goruntime"
)

// TestGoSizes has functions of a Go runtime whose sizes, which the program's symbols tell, are
// none: nothing is read of them.
func TestGoSizes(t *testing.T) {
	st := &siteTable{}
	for _, size := range []uint64{0, 9, 10, 1 << 40, ^uint64(0)} {
		s := &site{Site: &breakpoints.Site{Addr: 0x40100a, Before: 10, Size: size}}
		if err := st.hookReturns(nil, s, goruntime.Layout{}, nil); err == nil || !strings.Contains(err.Error(), "not that of a function") {
			t.Errorf("%d bytes: %v", size, err)
		}
	}
	if n, err := goCodeSize(300, 10); n != 290 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
}
