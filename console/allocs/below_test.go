package allocs

import (
	"testing"

	"hdb/heap"
)

// TestBelow has a row with nearly all whose source is not known, and others.
func TestBelow(t *testing.T) {
	row := func(function, file string, bytes uint64) heap.Row {
		return heap.Row{Site: heap.Site{Function: function, File: file}, LiveBytes: bytes}
	}
	for _, c := range []struct {
		name string
		rows []heap.Row
		want string
	}{
		{"all work in libraries", []heap.Row{row("swipl+0x1090", "", 999), row("start", "", 1)}, "swipl+0x1090 has 99.9 % of all, with what it calls in libraries: `tree --full` shows the functions there"},
		{"as much as two have", []heap.Row{row("swipl+0x1090", "", 500), row("start", "", 500)}, ""},
		{"a function with its source", []heap.Row{row("main", "a.c", 1000)}, ""},
		{"nothing", nil, ""},
		{"empty blocks", []heap.Row{row("f", "", 0)}, ""},
	} {
		if got := belowText(heap.ByLive, c.rows); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
