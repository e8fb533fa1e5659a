package cpython

import (
	"slices"
	"testing"

	"hdb/inferior"
	"hdb/internal/addr"
	"hdb/python"
)

// TestStackAt finds the stacks of threads that run on their own, and no end of others.
func TestStackAt(t *testing.T) {
	maps := []inferior.Mapping{{Low: 0x1000, High: 0x3000}, {Low: 0x5000, High: 0x9000}, {Low: 0xf000, High: 0x10000, Path: "[stack]"}}
	for _, c := range []struct {
		name     string
		sp, self addr.Run
		main     bool
		end      addr.Run
	}{
		{"main thread", 0xf800, 0x2000, true, 0x10000},
		{"main thread on a coroutine's", 0x5800, 0x2000, true, 0},
		{"thread", 0x5800, 0x8f00, false, 0x8f00},
		{"thread on a coroutine's", 0x1800, 0x8f00, false, 0},
		{"nothing is mapped", 0x4000, 0x8f00, false, 0},
	} {
		if s := stackAt(c.sp, c.self, c.main, maps); s.end != c.end {
			t.Errorf("%s: the stack ends at %v, want %v", c.name, s.end, c.end)
		}
	}
}

// TestApart leaves out stacks of which one has another in it.
func TestApart(t *testing.T) {
	stack := func(self uint64, from, to addr.Run) python.Thread {
		return python.Thread{Self: self, Stack: from.To(to)}
	}
	all := []python.Thread{stack(1, 0x700, 0x800), stack(2, 0x100, 0x400), stack(3, 0x200, 0x250), stack(4, 0x300, 0x350), stack(5, 0x400, 0x500)}
	if got, want := apart(all), []python.Thread{stack(5, 0x400, 0x500), stack(1, 0x700, 0x800)}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
