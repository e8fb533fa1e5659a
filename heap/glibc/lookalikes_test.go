package glibc

import (
	"fmt"
	"testing"
)

// TestLookalikes has memory of the program that looks like malloc's: the walk finds what mallinfo2 counts, and no more.
func TestLookalikes(t *testing.T) {
	for _, how := range []string{"segment", "mapping", "advised"} {
		src, lines := stopped(t, "arena", compiled(t, "lookalikes.c"), how)
		h, err := Open(t.Context(), src)
		if err != nil {
			t.Fatal(err)
		}
		var arena, mapped, bytes uint64
		if _, err := fmt.Sscanf(lines[0], "arena %d mapped %d %d", &arena, &mapped, &bytes); err != nil {
			t.Fatal(lines, err)
		}
		system := uint64(0)
		for _, r := range h.Arenas()[0].Heaps {
			system += r.Len()
		}
		if sums := h.Sums(-1); system != arena || sums.Chunks[Mmapped] != mapped || sums.Bytes[Mmapped] > bytes {
			t.Errorf("%s: %d bytes in %v, %d mmapped chunks of %d bytes, want %s", how, system, h.Arenas()[0].Heaps, sums.Chunks[Mmapped], sums.Bytes[Mmapped], lines[0])
		}
		for _, d := range h.Damage() {
			t.Errorf("%s: %v", how, d)
		}
	}
}
