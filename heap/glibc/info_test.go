package glibc

import (
	"fmt"
	"strings"
	"testing"
)

// TestMallocInfo compares the walk with what malloc_info(3) and mallinfo2(3) said in the program.
func TestMallocInfo(t *testing.T) {
	program := compiled(t, "info.c")
	for _, threads := range []string{"1", "5"} {
		t.Run(threads, func(t *testing.T) {
			src, text := stopped(t, "mallinfo2", program, threads)
			// Without the threads chunks in tcaches are used ones, as malloc sees it itself.
			h, err := Open(t.Context(), src)
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range h.Damage() {
				t.Error(d)
			}
			flags := make([]uint64, len(h.arenas)) // malloc_info adds those of chunks in bins to their sizes
			for c := range h.Chunks() {
				if c.State == Free {
					x, _, _ := h.Header(c.Addr)
					flags[x.Arena] += x.Size - x.Bytes()
				}
			}
			var all Sums
			system := uint64(0)
			for i, a := range h.arenas {
				all.Add(h.Sums(i))
				system += a.SystemMem
			}
			avail := all.Bytes[Free] + all.Bytes[FastBin] + all.Bytes[Top]
			want := fmt.Sprintf("mallinfo2 %d %d %d %d %d %d %d %d %d", system, all.Chunks[Free]+uint64(len(h.arenas)), all.Chunks[FastBin],
				h.Sums(-1).Chunks[Mmapped], h.Settings().MmappedBytes, all.Bytes[FastBin], system-avail, avail, h.Sums(0).Bytes[Top])
			if got := text[len(text)-1]; got != want {
				t.Errorf("the program says\n%s\nthe walk\n%s", got, want)
			}
			if mapped := h.Sums(-1).Bytes[Mmapped]; mapped > h.Settings().MmappedBytes {
				t.Errorf("mmapped chunks have %d bytes, malloc says %d", mapped, h.Settings().MmappedBytes)
			}
			// Each <heap nr="N"> is an arena: its totals of chunks in fastbins and of others.
			nr := -1
			for _, line := range text {
				var count, size uint64
				switch {
				case strings.HasPrefix(strings.TrimSpace(line), "<heap nr"):
					nr++
				case strings.HasPrefix(line, "</heap>"):
					continue
				}
				if nr < 0 || nr >= len(h.arenas) {
					continue
				}
				s := h.Sums(nr)
				if n, _ := fmt.Sscanf(line, `<total type="fast" count="%d" size="%d"/>`, &count, &size); n == 2 {
					if count != s.Chunks[FastBin] || size != s.Bytes[FastBin] {
						t.Errorf("arena %d: malloc_info has %d chunks of %d bytes in fastbins, the walk %d of %d", nr, count, size, s.Chunks[FastBin], s.Bytes[FastBin])
					}
				}
				if n, _ := fmt.Sscanf(line, `<total type="rest" count="%d" size="%d"/>`, &count, &size); n == 2 {
					if count != s.Chunks[Free]+1 || size != s.Bytes[Free]+s.Bytes[Top]+flags[nr] {
						t.Errorf("arena %d: malloc_info has %d other chunks of %d bytes, the walk %d of %d and the top of %d", nr, count, size, s.Chunks[Free], s.Bytes[Free], s.Bytes[Top])
					}
					if nr == len(h.arenas)-1 {
						break // then come the sums of all
					}
				}
				if n, _ := fmt.Sscanf(line, `<system type="current" size="%d"/>`, &size); n == 1 && size != h.arenas[nr].SystemMem {
					t.Errorf("arena %d: malloc_info has %d bytes of the system, the walk %d", nr, size, h.arenas[nr].SystemMem)
				}
				if strings.HasPrefix(line, "</heap>") && nr == len(h.arenas)-1 {
					break
				}
			}
			if nr != len(h.arenas)-1 {
				t.Errorf("malloc_info has %d arenas, the walk %d", nr+1, len(h.arenas))
			}
		})
	}
}
