package glibc

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"slices"
	"sync/atomic"
	"testing"

	"hdb/heap/resident"
	"hdb/internal/addr"
)

func blank(start addr.Run, size int) section {
	return section{addr.Range{Start: start, End: start + addr.Run(size)}, make([]byte, size)}
}

func (s section) put(off int, v uint64) { binary.LittleEndian.PutUint64(s.data[off:], v) }

// arena writes a malloc_state with empty bins, whose next one in the list and top chunk are given.
func (s section) arena(l *layout, off int, next, top addr.Run) {
	for k := range 2 * bins {
		s.put(off+int(l.bins)+8*k, uint64(s.Start)+uint64(off)+uint64(l.top)+uint64(k/2)*16)
	}
	s.put(off+int(l.top), uint64(top))
	s.put(off+int(l.next), uint64(next))
	s.put(off+int(l.system), 1)
}

// TestHeapLinks breaks the links between the heaps of an arena: what is behind the break, and the first one, are
// walked all the same.
func TestHeapLinks(t *testing.T) {
	const (
		main  = libcStart + 0x1000
		first = 0x40000000
		size  = 0x2000 // of each heap
		state = 0x20   // of the arena, behind its heap_info
	)
	for _, c := range []struct {
		name  string
		spoil func(heaps []section)
		kind  DamageKind // if any is told
		want  []int      // heaps
	}{
		{"whole", func([]section) {}, 0, []int{0, 1, 2}},
		{"ar_ptr", func(h []section) { h[1].put(0, 1) }, HeapArena, []int{0, 2}},
		{"prev", func(h []section) { h[1].put(8, 1) }, HeapLink, []int{0, 1, 2}},
		{"loop", func(h []section) { h[1].put(8, uint64(h[2].Start)) }, HeapLink, []int{0, 1, 2}},
		{"size", func(h []section) { h[1].put(16, 8) }, HeapSize, []int{0, 2}},
		{"size of the last", func(h []section) { h[2].put(16, 8) }, HeapSize, []int{0}},
		{"of the first", func(h []section) { h[0].put(0, 1) }, HeapArena, []int{1, 2}},
	} {
		t.Run(c.name, func(t *testing.T) {
			libc := blank(libcStart, 0x4000)
			libc.arena(&layouts[0], 0x1000, first+state, main+layouts[0].top)
			libc.put(0, ^uint64(0)-15) // where thread_arena is: -16
			heaps := []section{blank(first, size), blank(first+heapMax, size), blank(first+2*heapMax, size)}
			threads := blank(0x30000000, 0x1000)
			threads.put(0xff0, first+state)
			heaps[0].arena(&layouts[0], state, main, heaps[2].Start+0x1000)
			var want []addr.Run
			for i, s := range heaps {
				prev, start := uint64(0), 0x20
				if i > 0 {
					prev = uint64(heaps[i-1].Start)
				} else {
					start = 0x8c0 // behind the malloc_state
				}
				s.put(0, first+state)
				s.put(8, prev)
				s.put(16, size)
				end := size - 0x20
				if i == 2 {
					end = 0x1000
					s.put(end+8, 0x1000|prevInUse)
				} else {
					s.put(end+8, granule|prevInUse|nonMainArena)
					s.put(end+0x18, prevInUse)
				}
				s.put(start+8, uint64(end-start)|prevInUse|nonMainArena)
				if slices.Contains(c.want, i) {
					want = append(want, s.Start+addr.Run(start)+header)
				}
			}
			c.spoil(heaps)
			p := &picture{parts: append(heaps, libc, threads)}
			src := Source{Libcs: []string{"/libc"}, Source: resident.Source{Memory: p, Threads: []resident.Thread{{TID: 1, FS: threads.End}}, Mappings: []resident.Mapping{{Range: libc.Range, Readable: true, Writable: true, Path: "/libc"}}}}
			for _, s := range append([]section{threads}, heaps...) {
				src.Mappings = append(src.Mappings, resident.Mapping{Range: s.Range, Readable: true, Writable: true})
			}
			h, err := Open(t.Context(), src)
			if err != nil {
				t.Fatal(err)
			}
			var got, starts []addr.Run
			for b := range h.Blocks() {
				got = append(got, b.Addr)
			}
			if !slices.Equal(got, want) {
				t.Errorf("blocks %v, want %v", got, want)
			}
			for _, r := range h.arenas[1].Heaps {
				starts = append(starts, r.Start)
			}
			if !slices.IsSorted(starts) || len(starts) != len(c.want) {
				t.Errorf("heaps at %v, want %v", starts, c.want)
			}
			if d := h.Damage(); len(d) > 1 || (len(d) == 1) != (c.kind != 0) || len(d) == 1 && d[0].Kind != c.kind {
				t.Errorf("damage %v", d)
			}
			// No tcache is found at any offset, so that all are tried.
			if !slices.Equal(h.arenas[1].Threads, []int{1}) {
				t.Errorf("threads %v", h.arenas[1].Threads)
			}
		})
	}
}

// TestHeapSize has heaps of 8 MiB, some of which are where heaps of 64 MiB might be.
func TestHeapSize(t *testing.T) {
	for _, c := range []struct {
		size  addr.Run
		heaps []addr.Run // the last has the top chunk
	}{
		{64 << 20, []addr.Run{0x40000000}},
		{64 << 20, []addr.Run{0x40000000, 0x48000000}},
		{8 << 20, []addr.Run{0x40800000}},
		{8 << 20, []addr.Run{0x42000000, 0x40000000}},
		{8 << 20, []addr.Run{0x40000000, 0x44800000, 0x48000000}},
		{8 << 20, []addr.Run{0x40000000, 0x40800000}},
	} {
		p := &picture{}
		src := Source{Source: resident.Source{Memory: p}}
		a := Arena{Addr: c.heaps[0] + 0x30, Top: c.heaps[len(c.heaps)-1] + 0x1000}
		prev := addr.Run(0)
		for _, at := range c.heaps {
			s := blank(at, 0x2000)
			s.put(0, uint64(a.Addr))
			s.put(8, uint64(prev))
			s.put(16, 0x2000)
			p.parts = append(p.parts, s)
			src.Mappings = append(src.Mappings, resident.Mapping{Range: s.Range, Readable: true, Writable: true})
			prev = at
		}
		slices.SortFunc(src.Mappings, func(x, y resident.Mapping) int { return cmp.Compare(x.Start, y.Start) })
		if got := newMemory(t.Context(), src, mostSteps).heapSize(&a); got != c.size {
			t.Errorf("heaps at %v: size %v, want %v", c.heaps, got, c.size)
		}
	}
}

// TestLayouts has a small heap for each release: a tcache with a chunk of one size and, where lists have several sizes,
// a large one, and a mapping.
func TestLayouts(t *testing.T) {
	const (
		heapAt = 0x40000000
		mapAt  = 0x50000000
		params = 0x200 // of sbrk_base in libc's data
		block  = 0x30  // chunk sizes
		large  = 0x850
	)
	for i := range layouts {
		l := &layouts[i]
		t.Run(l.releases, func(t *testing.T) {
			libc, heap, threads, mapped := blank(libcStart, 0x4000), blank(heapAt, 0x4000), blank(0x30000000, 0x1000), blank(mapAt, 0x3000)
			sizes := []uint64{ChunkSize(uint64(l.bytes())), block, block, large, 0x1000}
			starts := make([]int, len(sizes))
			at := 0
			for k, n := range sizes {
				starts[k] = at
				heap.put(at+8, n|prevInUse)
				at += int(n)
			}
			heap.put(at+8, uint64(len(heap.data)-at)|prevInUse)
			libc.arena(l, 0x1000, libcStart+0x1000, heapAt+addr.Run(at))
			libc.put(0x1000+int(l.system), uint64(len(heap.data)))
			libc.put(params, heapAt)
			libc.put(params-32, 1|1<<16<<32) // n_mmaps_max
			libc.put(params-40, 1<<32)       // n_mmaps
			for k, v := range l.tunables {
				libc.put(params+8*(k+1), v)
			}
			// As many counts or free places as the chunks say, one of them large.
			user := func(k int) uint64 { return uint64(heapAt + starts[k] + header) }
			lists := map[int]uint64{1: user(1)}
			want := []addr.Run{addr.Run(user(2)), addr.Run(user(3)), addr.Run(user(4))}
			if l.lists > tcacheBins {
				lists[65] = user(3)
				want = append(want[:1], want[2])
			}
			for k := range l.lists {
				n := uint16(0)
				if lists[k] != 0 {
					n = 1
				}
				if l.slots {
					n = uint16(l.tunables[2]) - n
				}
				binary.LittleEndian.PutUint16(heap.data[header+2*k:], n)
				heap.put(header+l.entries+8*k, lists[k])
			}
			for _, at := range lists {
				heap.put(int(at-heapAt), at>>12) // the end of a list
				heap.put(int(at-heapAt)+8, 0x1234567890abcdef)
			}
			threads.put(0xff0, heapAt+header)
			libc.put(0, ^uint64(0)-15) // where the tcache is: -16
			mapped.put(8, 0x3000-l.mmappedTail|isMmapped)
			p := &picture{parts: []section{libc, heap, threads, mapped}}
			src := Source{Libcs: []string{"/libc"}, Source: resident.Source{Memory: p, Threads: []resident.Thread{{TID: 1, FS: threads.End}}, Mappings: []resident.Mapping{{Range: libc.Range, Readable: true, Writable: true, Path: "/libc"},
				{Range: threads.Range, Readable: true, Writable: true}, {Range: heap.Range, Readable: true, Writable: true, Path: "[heap]"}, {Range: mapped.Range, Readable: true, Writable: true}}}}
			h, err := Open(t.Context(), src)
			if err != nil {
				t.Fatal(err)
			}
			var got []addr.Run
			for b := range h.Blocks() {
				got = append(got, b.Addr)
			}
			if want = append(want, mapAt+header); !slices.Equal(got, want) {
				t.Errorf("blocks %v, want %v", got, want)
			}
			if c, _ := h.Find(mapAt + 0x100); c.Size != 0x3000-header-l.mmappedTail/2 {
				t.Errorf("the mapping has %#x usable bytes", c.Size)
			}
			if h.mem.layout != *l || len(h.TCaches()) != 1 || len(h.TCaches()[0].Bins) != len(lists) {
				t.Errorf("layout of %s, tcaches %v", h.mem.layout.releases, h.TCaches())
			}
			for _, d := range h.Damage() {
				t.Errorf("damage %v", d)
			}
		})
	}
}

// A mirage is memory of any size that a core file may claim to have: behind libc's data, each page is a copy of
// one, but for 4 MiB of zeros in each 124.
type mirage struct {
	picture
	page  []byte
	reads atomic.Int64
	after func() // called after a hundred reads
}

func (m *mirage) ReadAt(b []byte, off int64) (int, error) {
	if m.reads.Add(1) == 100 && m.after != nil {
		m.after()
	}
	if off < mirageStart {
		return m.picture.ReadAt(b, off)
	}
	for o := 0; o < len(b); {
		at := off + int64(o)
		n := copy(b[o:], m.page[at%pageSize:])
		if at/(cachePages*pageSize)%31 == 30 {
			clear(b[o : o+n])
		}
		o += n
	}
	return len(b), nil
}

const (
	libcStart   = 0x10000000
	mirageStart = 0x20000000
	mirageEnd   = 1 << 46
)

// newMirage is 64 TiB whose pages fill makes, behind a main arena with its top at their end; how is the
// kind of mapping that they are.
func newMirage(path string, flags uint32, fill func(word func(off int, v uint64))) *mirage {
	s := blank(libcStart, 0x4000)
	s.arena(&layouts[0], 0x1000, libcStart+0x1000, mirageEnd-pageSize)
	s.put(0x1000+stateFlags&^7, uint64(flags)<<32)
	m := &mirage{picture: picture{parts: []section{s}}, page: make([]byte, pageSize)}
	fill(section{data: m.page}.put)
	m.Source = Source{Libcs: []string{"/libc"}, Source: resident.Source{Memory: m, Mappings: []resident.Mapping{
		{Range: s.Range, Readable: true, Writable: true, Path: "/libc"},
		{Range: addr.Range{Start: mirageStart, End: mirageEnd}, Readable: true, Writable: true, Path: path}}}}
	return m
}

// TestBounds has heaps that would be read for hours: the walk gives up, says so, and ends with its context before.
func TestBounds(t *testing.T) {
	const most = 1 << 20
	for _, c := range []struct {
		name, path string
		flags      uint32
		fill       func(word func(off int, v uint64))
	}{
		// Each place may begin a chain, of chunks so large that each lies in a page that is in the same slot of the cache.
		{"strides", "[heap]", 0, func(word func(int, uint64)) {
			for o := 0x20; o < pageSize; o += granule {
				word(o+8, cachePages*pageSize|prevInUse)
			}
		}},
		// Each chain is short.
		{"chains", "[heap]", 0, func(word func(int, uint64)) {
			for o := 0x20; o < pageSize-0x40; o += 0x40 {
				word(o+8, 0x20|prevInUse)
				word(o+0x28, granule|prevInUse)
			}
		}},
		{"mappings of the main arena", "", noncontiguous, func(word func(int, uint64)) { word(8, 0x20|prevInUse) }},
		{"short mappings of the main arena", "", noncontiguous, func(word func(int, uint64)) {
			word(8, 0x20|prevInUse)
			word(0x28, granule|prevInUse)
			word(0x38, granule|prevInUse)
		}},
		{"nothing", "", noncontiguous, func(func(int, uint64)) {}},
		{"mmapped", "", 0, func(word func(int, uint64)) { word(8, pageSize|isMmapped) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := newMirage(c.path, c.flags, c.fill)
			h, err := open(t.Context(), m.Source, most)
			if err != nil {
				t.Fatal(err)
			}
			use(t, h)
			if most, n := int64(4*most/readSteps), m.reads.Load(); n > most {
				t.Errorf("%d reads, at most %d", n, most)
			}
			if !slices.ContainsFunc(h.Damage(), func(d Damage) bool { return d.Kind == Unsearched }) {
				t.Errorf("it does not tell that it gave up: %v", h.Damage())
			}
			ctx, end := context.WithCancel(t.Context())
			m.reads.Store(0)
			m.after = end
			if _, err := Open(ctx, m.Source); !errors.Is(err, context.Canceled) || m.reads.Load() > 101+readers {
				t.Errorf("its context ended after 100 reads: %d reads, %v", m.reads.Load(), err)
			}
		})
	}
}

// TestChunkSize has the sizes of malloc.c's request2size.
func TestChunkSize(t *testing.T) {
	for _, c := range []struct{ asked, chunk, usable uint64 }{
		{0, 0x20, 24}, {1, 0x20, 24}, {24, 0x20, 24}, {25, 0x30, 40}, {40, 0x30, 40}, {41, 0x40, 56}, {1000, 0x3f0, 1000}, {1001, 0x400, 1016},
	} {
		if chunk, usable := ChunkSize(c.asked), Usable(c.asked); chunk != c.chunk || usable != c.usable {
			t.Errorf("%d bytes: a chunk of %#x with %d usable, want %#x with %d", c.asked, chunk, usable, c.chunk, c.usable)
		}
	}
}
