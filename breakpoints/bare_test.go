package breakpoints

import (
	"fmt"
	"slices"
	"testing"

	"hdb/inferior"
)

func TestBare(t *testing.T) {
	enter := func(n uint64, args ...uint64) inferior.SystemCall {
		c := inferior.SystemCall{Number: n}
		copy(c.Args[:], args)
		return c
	}
	back := func(result int64, n uint64, args ...uint64) inferior.SystemCall {
		c := enter(n, args...)
		c.Returned, c.Result = true, result
		return c
	}
	var b Bare
	for _, c := range []struct {
		call inferior.SystemCall
		want string
	}{
		{enter(sysMmap, 0, 4096), ""},
		{back(0x7000, sysMmap, 0, 4096), "mmap(4096) = 0x7000"},
		{back(-12, sysMmap, 0, 1<<62), "mmap(4611686018427387904) = -1"},
		{back(0x9000, sysMremap, 0x7000, 4096, 8192), "mremap(0x7000, 8192) = 0x9000"},
		{enter(sysMunmap, 0x9000, 8192), "munmap(0x9000, 8192)"},
		{back(0, sysMunmap, 0x9000, 8192), ""},
		{enter(sysMprotect, 0x9000, 4096, 3), ""},
		{back(0, sysMprotect, 0x9000, 4096, 3), "mprotect(0x9000, 4096, PROT_READ|PROT_WRITE)"},
		{back(0x10010, sysBrk, 0), ""}, // the first tells where the break is
		{back(0x13010, sysBrk, 0x13010), "brk(0x13010) map 0x11000 12288"},
		{back(0x13020, sysBrk, 0x13020), ""}, // in the same page
		{back(0x12000, sysBrk, 0x12000), "brk(0x12000) unmap 0x12000 8192"},
		{back(0x12000, sysBrk, 1<<62), ""}, // it failed
	} {
		call, ok := b.Call(c.call)
		got := ""
		if ok {
			got = call.String()
		}
		if e := call.Event; c.call.Number == sysBrk && ok {
			got += fmt.Sprintf(" %v %#x %d", e.Kind, e.Addr, e.Size)
		}
		if got != c.want {
			t.Errorf("%+v: %q, want %q", c.call, got, c.want)
		}
		if ok && !slices.Contains(b.Numbers(), c.call.Number) {
			t.Errorf("system call %d is not asked for", c.call.Number)
		}
	}
	b.Break(0x20fff)
	if call, ok := b.Call(back(0x22000, sysBrk, 0x22000)); !ok || call.Event.Addr != 0x21000 || call.Event.Size != 4096 {
		t.Errorf("after a break that was told: %+v, %v", call.Event, ok)
	}
}
