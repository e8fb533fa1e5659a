package glibc

import (
	"encoding/binary"
	"io"
	"math/rand/v2"
	"slices"
	"testing"

	"hdb/heap/resident"
	"hdb/internal/addr"
	"hdb/testprogs"
)

// A picture is memory of a process that was saved, parts of which a test spoils.
type picture struct {
	Source
	parts []section
}

func (p *picture) ReadAt(b []byte, off int64) (int, error) {
	for _, s := range p.parts {
		if at := addr.Run(off); s.Contains(at) {
			n := copy(b, s.data[at-s.Start:])
			if n < len(b) {
				return n, io.EOF
			}
			return n, nil
		}
	}
	return 0, io.ErrUnexpectedEOF
}

// put changes a word.
func (p *picture) put(at addr.Run, v uint64) {
	i := slices.IndexFunc(p.parts, func(s section) bool { return s.Contains(at) })
	p.parts[i].put(int(at-p.parts[i].Start), v)
}

// photograph saves what a walk of the process may read.
func photograph(f *follower, ledger []byte) *picture {
	src := f.source(ledger)
	p := &picture{Source: src}
	for _, x := range src.Mappings {
		if !x.Readable || x.Shared || !x.Writable && x.Path != src.Libcs[0] {
			continue
		}
		parts, err := src.Resident(x.Range)
		if err != nil {
			continue
		}
		for _, r := range parts {
			s := section{r, make([]byte, r.Len())}
			if _, err := src.Memory.ReadAt(s.data, int64(r.Start)); err == nil {
				p.parts = append(p.parts, s)
			}
		}
	}
	p.Source.Memory = p
	p.Source.Resident = func(r addr.Range) (parts []addr.Range, err error) {
		for _, s := range p.parts {
			if k := r.Within(s.Range); !k.Empty() {
				parts = append(parts, k)
			}
		}
		return parts, nil
	}
	return p
}

// use asks a heap whatever can be asked.
func use(t testing.TB, h *Heap) {
	t.Helper()
	last := addr.Run(0)
	n, live := 0, 0
	for c := range h.Chunks() {
		if n++; c.Addr <= last {
			t.Fatalf("chunk %v behind %v", c.Addr, last)
		}
		if last = c.Addr; c.State.Live() {
			live++
		}
	}
	blocks := 0
	for b := range h.Blocks() {
		if found, ok := h.Find(b.Addr); !ok || found.Addr != b.Addr || found.Size != b.Size {
			t.Fatalf("block %v: found %v, %v", b, found, ok)
		}
		blocks++
	}
	if chunks, counted := h.Len(); chunks != n || counted != live || blocks != live {
		t.Fatalf("%d chunks, %d live, %d blocks; counted %d, %d", n, live, blocks, chunks, counted)
	}
	end := addr.Run(0)
	for _, s := range h.Spans() {
		if s.Start < end || s.End < s.Start {
			t.Fatalf("span %v-%v behind %v", s.Start, s.End, end)
		}
		end = s.End
	}
	for _, d := range h.Damage() {
		_ = d.String()
	}
	for i := range h.Arenas() {
		h.Bins(i)
	}
}

// TestHostile spoils words of a heap, of its arenas and of libc's data: there is no panic and
// no loop, and what is told holds together.
func TestHostile(t *testing.T) {
	ledger := compiled(t, "ledger.c", "-shared", "-fPIC", "-O2")
	f := follow(t, ledger, 60_000, compiled(t, "churn.cc", "-O2"), "4")
	whole := photograph(f, f.stopped(false, false))
	rng := rand.New(rand.NewPCG(1, 2))
	values := []func(old uint64) uint64{
		func(uint64) uint64 { return rng.Uint64() },
		func(uint64) uint64 { return 0 },
		func(uint64) uint64 { return ^uint64(0) },
		func(old uint64) uint64 { return old ^ 1<<rng.IntN(64) },
		func(old uint64) uint64 { return old + 16 },
		func(uint64) uint64 { return uint64(rng.IntN(1 << 12)) },
		func(uint64) uint64 {
			s := whole.parts[rng.IntN(len(whole.parts))]
			return uint64(s.Start) + uint64(rng.IntN(len(s.data)))&^15
		},
	}
	h, err := Open(t.Context(), whole.Source)
	if err != nil {
		t.Fatal(err)
	}
	use(t, h)
	// Words that matter are spoilt more often than others.
	var hot []addr.Run
	for _, a := range h.arenas {
		for o := addr.Run(0); o < addr.Run(8*a.words); o += 8 {
			hot = append(hot, a.Addr+o)
		}
		for _, r := range a.Heaps {
			hot = append(hot, r.Start, r.Start+8, r.Start+16)
		}
	}
	for o := addr.Run(0); o < 0x80; o += 8 {
		hot = append(hot, h.params.start+o)
	}
	for _, c := range h.tcaches {
		for o := addr.Run(0); o < addr.Run(h.mem.layout.bytes()); o += 8 {
			hot = append(hot, c.Addr+o)
		}
	}
	for c := range h.Chunks() {
		if rng.IntN(40) == 0 {
			hot = append(hot, c.Addr-8, c.Addr, c.Addr+8)
		}
	}
	for range testprogs.Rounds(60, 3000) {
		type undo struct {
			at  []byte
			old uint64
		}
		var undone []undo
		for range 1 + rng.IntN(40) {
			a := hot[rng.IntN(len(hot))]
			for _, s := range whole.parts {
				if s.Contains(a) && s.Contains(a+7) {
					b := s.data[a-s.Start:]
					old := binary.LittleEndian.Uint64(b)
					undone = append(undone, undo{b, old})
					binary.LittleEndian.PutUint64(b, values[rng.IntN(len(values))](old))
				}
			}
		}
		if h, err := Open(t.Context(), whole.Source); err == nil {
			use(t, h)
		}
		for i := len(undone) - 1; i >= 0; i-- {
			binary.LittleEndian.PutUint64(undone[i].at, undone[i].old)
		}
	}
}

// FuzzOpen reads heaps out of bytes that mean nothing.
func FuzzOpen(f *testing.F) {
	for release := range layouts {
		f.Add([]byte{}, uint64(1), uint8(release))
		f.Add([]byte{0x21, 0, 0, 0, 0, 0, 0, 0}, uint64(2), uint8(release))
	}
	f.Fuzz(func(t *testing.T, pattern []byte, seed uint64, release uint8) {
		const base, size = addr.Run(0x10000000), 1 << 20
		s := section{addr.Range{Start: base, End: base + size}, make([]byte, size)}
		rng := rand.New(rand.NewPCG(seed, 1))
		for i := 0; i+8 <= size; i += 8 {
			v := uint64(base) + uint64(rng.IntN(size))&^15
			if k := rng.IntN(4); k == 0 && len(pattern) > 0 {
				copy(s.data[i:i+8], pattern[rng.IntN(len(pattern)):])
				continue
			} else if k == 1 {
				v = uint64(rng.IntN(0x200))
			}
			binary.LittleEndian.PutUint64(s.data[i:], v)
		}
		// An arena that looks right, so that the rest is read at all.
		arena := base + 0x1000
		l := layouts[int(release)%len(layouts)]
		for o := addr.Run(0); o < 0x7f0; o += 16 {
			binary.LittleEndian.PutUint64(s.data[0x1000+l.bins+o:], uint64(arena+l.top+o))
			binary.LittleEndian.PutUint64(s.data[0x1000+l.bins+o+8:], uint64(arena+l.top+o))
		}
		binary.LittleEndian.PutUint64(s.data[0x1000+l.next:], uint64(arena))
		p := &picture{parts: []section{s}}
		p.Source = Source{Libcs: []string{"/libc"}, Source: resident.Source{Memory: p, Threads: []resident.Thread{{TID: 1, FS: base + 0x9000}},
			Mappings: []resident.Mapping{{Range: addr.Range{Start: base, End: base + 0x8000}, Readable: true, Writable: true, Path: "/libc"},
				{Range: (base + 0x8000).To(base + 0x40000), Readable: true, Writable: true, Path: "[heap]"},
				{Range: (base + 0x40000).To(base + size), Readable: true, Writable: true}}}}
		if h, err := Open(t.Context(), p.Source); err == nil {
			use(t, h)
		}
	})
}
