package planes

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"hdb/heap"
)

// TestHeaps holds the live blocks of a recording against the book that a program with first-class heaps of
// mimalloc keeps of them, at each of its steps.
func TestHeaps(t *testing.T) {
	for _, p := range planes {
		r := record(t, p, program(t, "mimalloc_heaps", nil, "book"))
		books := strings.Split(strings.TrimSuffix(r.out, "step\n"), "step\n")
		live, foreign, step := heap.NewLive(), map[uint64]bool{}, 0
		for e := range r.Events(1) {
			if e.Allocates() && e.Size == 424242 {
				if step >= len(books) {
					t.Fatalf("%s plane, #%d: step %d, the program made %d", p, e.Seq, step, len(books))
				}
				book := entries(t, books[step])
				got := map[uint64]uint64{}
				for at, b := range live.All() {
					switch size, ours := book[at]; {
					case ours && size == 0: // a heap, whose size mimalloc knows
						got[at] = 0
					case step == 0 && !ours:
						foreign[at] = true
					case !foreign[at]:
						got[at] = b.Size
					}
				}
				if !maps.Equal(got, book) {
					t.Errorf("%s plane, step %d, before #%d: live are\n%s\nnot\n%s", p, step, e.Seq, listed(got), listed(book))
				}
				step++
			}
			live.Apply(&e)
		}
		if step != len(books) || step < 20 {
			t.Errorf("%s plane: %d steps, the program made %d", p, step, len(books))
		}
	}
}

// entries are the blocks of a page of the book.
func entries(t *testing.T, page string) map[uint64]uint64 {
	t.Helper()
	all := map[uint64]uint64{}
	for line := range strings.Lines(page) {
		var at, size uint64
		if _, err := fmt.Sscanf(line, "0x%x %d", &at, &size); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		all[at] = size
	}
	return all
}

func listed(blocks map[uint64]uint64) string {
	var b strings.Builder
	for _, at := range slices.Sorted(maps.Keys(blocks)) {
		fmt.Fprintf(&b, "%#x %d\n", at, blocks[at])
	}
	return b.String()
}
