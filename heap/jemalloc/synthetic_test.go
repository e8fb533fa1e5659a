package jemalloc

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"hdb/heap/resident"
	"hdb/internal/addr"
)

// sparse is memory of which only pages that were written to are there.
type sparse map[addr.Run]*[pageSize]byte

func (s sparse) put(a addr.Run, v uint64) {
	p := s[a&^(pageSize-1)]
	if p == nil {
		p = new([pageSize]byte)
		s[a&^(pageSize-1)] = p
	}
	binary.LittleEndian.PutUint64(p[a%pageSize:], v)
}

func (s sparse) get(a addr.Run) uint64 {
	if p := s[a&^(pageSize-1)]; p != nil {
		return binary.LittleEndian.Uint64(p[a%pageSize:])
	}
	return 0
}

// ReadAt reads pages that are there; another one is a mistake of who reads.
func (s sparse) ReadAt(b []byte, off int64) (int, error) {
	for n := 0; n < len(b); {
		a := addr.Run(off) + addr.Run(n)
		p := s[a&^(pageSize-1)]
		if p == nil {
			return n, io.ErrUnexpectedEOF
		}
		n += copy(b[n:], p[a%pageSize:])
	}
	return len(b), nil
}

// resident are the runs of pages of a range.
func (s sparse) resident(r addr.Range) (parts []addr.Range, err error) {
	for _, a := range slices.Sorted(maps.Keys(s)) {
		if a+pageSize <= r.Start || a >= r.End {
			continue
		}
		if n := len(parts); n > 0 && parts[n-1].End == a {
			parts[n-1].End += pageSize
		} else {
			parts = append(parts, addr.Range{Start: a, End: a + pageSize})
		}
	}
	return parts, nil
}

// A builder makes the memory of a process with a heap.
type builder struct {
	sparse
	*layout
	*geometry
	classes classes
	root    addr.Run
	free    addr.Run // of the base block
	next    addr.Run // extent
	want    map[addr.Run]uint64
	words   []addr.Run // that matter
}

// Where things lie.
const (
	dataAt    = addr.Run(0x555555550000)
	baseAt    = addr.Run(0x7fffe0000000)
	baseBytes = 16 << 20
	heapAt    = addr.Run(0x7fffd0000000)
	storageAt = addr.Run(0x7ffff0000000)
	threadAt  = storageAt + 0x8000
)

func newBuilder(l *layout, g *geometry, lgQuantum uint) *builder {
	b := &builder{sparse: sparse{}, layout: l, geometry: g, classes: newClasses(lgQuantum), root: dataAt + 0x1040, next: heapAt, want: map[addr.Run]uint64{}}
	b.free = baseAt + baseRest + edataSize
	b.put(baseAt+baseSize, baseBytes)
	b.alloc(0)
	return b
}

// alloc takes memory of the base block.
func (b *builder) alloc(n uint64) addr.Run {
	at := (b.free + 127) &^ 127
	b.free = at + addr.Run(n)
	b.put(baseAt+baseRest+edataAddr, uint64(b.free))
	b.put(baseAt+baseRest+edataBytes, uint64(baseAt+baseBytes-b.free))
	return at
}

// map has the map say that a page is of an extent.
func (b *builder) mapPage(page, at addr.Run, class int, slab bool, state State) {
	node := b.root
	for level := range len(b.levels) - 1 {
		entry := node + 8*b.index(level, page)
		if b.get(entry) == 0 {
			b.put(entry, uint64(b.alloc(b.bytes(level+1))))
			b.words = append(b.words, entry)
		}
		node = addr.Run(b.get(entry))
	}
	entry := node + addr.Run(b.slot)*b.index(len(b.levels)-1, page)
	flag := uint64(0)
	if slab {
		flag = 1
	}
	lo, hi := uint64(at), uint64(0)
	switch {
	case b.slot == 8 && b.leafState:
		lo |= uint64(class)<<48 | uint64(state)<<2 | flag
	case b.slot == 8:
		lo |= uint64(class)<<48 | flag
	case b.leafState:
		hi = uint64(class)<<5 | uint64(state)<<2 | flag
	default:
		hi = uint64(class) | flag<<32
	}
	b.put(entry, lo)
	b.words = append(b.words, entry)
	if b.slot == 16 {
		b.put(entry+8, hi)
		b.words = append(b.words, entry+8)
	}
}

// extent adds an extent, of which bits are free, and returns where it lies.
func (b *builder) extent(size uint64, offset addr.Run, class int, slab bool, state State, free []uint64) addr.Run {
	at, start := b.alloc(edataSize), b.next
	b.next += addr.Run(size)
	nfree := 0
	for i, w := range free {
		b.put(at+edataBitmap+addr.Run(8*i), w)
		for ; w != 0; w &= w - 1 {
			nfree++
		}
	}
	bits := uint64(class)<<b.class | uint64(state)<<b.state | uint64(nfree)<<b.nfree
	if slab {
		bits |= 1 << slabBit
	}
	b.put(at, bits)
	b.put(at+edataAddr, uint64(start+offset))
	b.put(at+edataBytes, size|7)
	for i := range 16 {
		b.words = append(b.words, at+addr.Run(8*i))
	}
	b.mapPage(start, at, class, slab, state)
	for page := start + pageSize; page < b.next; page += pageSize {
		if slab || page == b.next-pageSize {
			b.mapPage(page, at, class, slab, state)
		}
	}
	return start
}

// slab adds a slab in which one region in three is in use.
func (b *builder) slab(class int) addr.Run {
	size, bytes := b.classes.size(class), b.classes.slabBytes(class)
	free := make([]uint64, slabWords)
	start := b.next
	for n := range bytes / size {
		if n%3 == 0 {
			b.want[start+addr.Run(n*size)] = size
		} else {
			free[n/64] |= 1 << (n % 64)
		}
	}
	return b.extent(bytes, 0, class, true, Active, free)
}

// block adds a large block.
func (b *builder) block(class int) addr.Run {
	size := b.classes.size(class)
	at := b.extent(size+pageSize, 0x140, class, false, Active, nil) + 0x140
	b.want[at] = size
	return at
}

// cache adds the tcache of the thread, which has some regions.
func (b *builder) cache(cached map[int][]addr.Run) {
	stacks := b.block(b.classes.small + 2)
	delete(b.want, stacks)
	at, slow := threadAt-0x2000, threadAt-0x4000
	small := b.classes.small
	descriptor := at + oldBins + addr.Run(binBytes*small) + 5*8
	if b.leafState {
		b.put(at, uint64(slow))
		b.put(slow, uint64(slow))
		b.put(slow+slowBin, uint64(at+newBins))
		dyn := slow + addr.Run(52+3*small+7)&^7
		b.put(dyn, uint64(stacks))
		b.put(dyn+8, uint64(at))
		b.words = append(b.words, slow, slow+slowBin, dyn, dyn+8)
	} else {
		b.put(descriptor-5*8, uint64(at))
		b.put(descriptor+16, uint64(at+oldBins))
		b.put(descriptor+24, uint64(descriptor+88))
		b.words = append(b.words, descriptor-40, descriptor+16, descriptor+24)
	}
	b.words = append(b.words, at)
	end := stacks
	for class := range small {
		regions := cached[class]
		end += 8 * 20
		for i, r := range regions {
			b.put(end-addr.Run(8*(i+1)), uint64(r))
			b.words = append(b.words, end-addr.Run(8*(i+1)))
			delete(b.want, r)
		}
		bin := at + oldBins + addr.Run(binBytes*class)
		if b.leafState {
			bin = at + newBins + addr.Run(binBytes*class)
			b.put(bin, uint64(end)-8*uint64(len(regions)))
			b.put(bin+16, uint64(end)&0xffff<<32)
		} else {
			b.put(bin, uint64(len(regions))<<32)
			b.put(bin+16, uint64(end))
		}
		b.words = append(b.words, bin, bin+8, bin+16)
	}
}

func (b *builder) source() Source {
	return Source{Source: resident.Source{
		Memory: b.sparse,
		Mappings: []resident.Mapping{
			{Range: addr.Range{Start: dataAt, End: dataAt + pageSize}, Readable: true, Writable: true, Path: "/prog"},
			{Range: (dataAt + pageSize).To(dataAt + 0x300000), Readable: true, Writable: true},
			{Range: addr.Range{Start: heapAt, End: baseAt}, Readable: true, Writable: true},
			{Range: addr.Range{Start: baseAt, End: baseAt + baseBytes}, Readable: true, Writable: true},
			{Range: addr.Range{Start: storageAt, End: storageAt + 0x10000}, Readable: true, Writable: true},
		},
		Threads:  []resident.Thread{{TID: 7, FS: threadAt}},
		Resident: b.resident,
	}}
}

// built is a heap with all kinds of extents.
func built(l *layout, g *geometry, lgQuantum uint) *builder {
	b := newBuilder(l, g, lgQuantum)
	none := len(b.classes.sizes)
	b.extent(0x5000, 0, none, false, Retained, nil)
	cached := map[int][]addr.Run{}
	for class := range b.classes.small {
		at := b.slab(class)
		cached[class] = append(cached[class], at)
	}
	for class := b.classes.small; class < b.classes.small+8; class++ {
		b.block(class)
	}
	b.extent(0x3000, 0, none, true, Dirty, nil)
	b.slab(4)
	b.cache(cached)
	return b
}

// shapes calls a function for each layout, geometry and quantum.
func shapes(visit func(name string, l *layout, g *geometry, lgQuantum uint)) {
	for i := range layouts {
		for k := range geometries {
			for _, q := range quanta {
				visit(fmt.Sprintf("%s/%d levels/quantum %d", layouts[i].version, len(geometries[k].levels), 1<<q), &layouts[i], &geometries[k], q)
			}
		}
	}
}

// TestSynthetic reads heaps of all versions and shapes that are known.
func TestSynthetic(t *testing.T) {
	shapes(func(name string, l *layout, g *geometry, q uint) {
		t.Run(name, func(t *testing.T) {
			b := built(l, g, q)
			h, err := Open(t.Context(), b.source())
			if err != nil {
				t.Fatal(err)
			}
			use(t, h)
			got := map[addr.Run]uint64{}
			for x := range h.Blocks() {
				got[x.Addr] = x.Size
			}
			if !maps.Equal(got, b.want) {
				t.Errorf("%d blocks, want %d", len(got), len(b.want))
			}
			caches := h.Caches()
			if len(caches) != 1 || caches[0].Regions != b.classes.small || caches[0].Odd != 0 || caches[0].TID != 7 {
				t.Errorf("caches %+v", caches)
			}
			if h.Version() != l.version || h.Torn() != 0 || h.root.at != b.root || len(h.Own()) != 1 || h.Own()[0] != (addr.Range{Start: baseAt, End: baseAt + baseBytes}) {
				t.Errorf("version %s, root %v, own %v, %d torn", h.Version(), h.root.at, h.Own(), h.Torn())
			}
			mapped, used := h.Metadata()
			if want := uint64(b.free - baseAt); mapped != baseBytes || used != want {
				t.Errorf("metadata %d of %d, want %d", used, mapped, want)
			}
		})
	})
}

// TestUnknownTCache has a tcache_slow_t of another size: a version that is not known is refused.
func TestUnknownTCache(t *testing.T) {
	b := built(&layouts[0], &geometries[0], quanta[0])
	slow := threadAt - 0x4000
	b.put(slow+168, 0)
	b.put(slow+168+32, uint64(threadAt-0x2000))
	_, err := Open(t.Context(), b.source())
	var layout *LayoutError
	if !errors.As(err, &layout) {
		t.Errorf("error %v", err)
	}
}

// use asks a heap whatever can be asked.
func use(t testing.TB, h *Heap) {
	t.Helper()
	last, n, bytes := addr.Run(0), uint64(0), uint64(0)
	for b := range h.Blocks() {
		if b.Addr <= last || b.Size == 0 {
			t.Fatalf("block %+v behind %v", b, last)
		}
		last = b.Addr
		n++
		bytes += b.Size
		if r, ok := h.Find(b.Addr + addr.Run(b.Size) - 1); !ok || r.Addr != b.Addr || r.Size != b.Size || r.Use != Live {
			t.Fatalf("block %+v: found %+v, %v", b, r, ok)
		}
	}
	blocks, sum := uint64(0), uint64(0)
	for _, a := range h.Arenas() {
		blocks += a.Blocks
		sum += a.Bytes
	}
	if blocks != n || sum != bytes {
		t.Fatalf("%d blocks of %d bytes, the arenas have %d of %d", n, bytes, blocks, sum)
	}
	blocks = 0
	for _, b := range h.Bins(-1) {
		blocks += b.Regions[Live]
	}
	if blocks != n {
		t.Fatalf("%d blocks, the bins have %d", n, blocks)
	}
	end := addr.Run(0)
	for _, s := range h.Spans() {
		if s.Start < end || s.End <= s.Start {
			t.Fatalf("span %+v behind %v", s, end)
		}
		end = s.End
	}
	h.Resident()
}

// spoil changes words that matter.
func (b *builder) spoil(rng *rand.Rand, times int) {
	values := []func(old uint64) uint64{
		func(uint64) uint64 { return rng.Uint64() },
		func(uint64) uint64 { return 0 },
		func(uint64) uint64 { return ^uint64(0) },
		func(old uint64) uint64 { return old ^ 1<<rng.IntN(64) },
		func(old uint64) uint64 { return old + pageSize },
		func(uint64) uint64 { return b.get(b.words[rng.IntN(len(b.words))]) },
		func(uint64) uint64 { return uint64(baseAt) + uint64(rng.IntN(baseBytes))&^63 },
	}
	for range times {
		a := b.words[rng.IntN(len(b.words))]
		b.put(a, values[rng.IntN(len(values))](b.get(a)))
	}
}

// FuzzOpen reads heaps whose words were changed: there is no panic and no loop, and what is told holds together.
func FuzzOpen(f *testing.F) {
	for seed := range uint64(16) {
		f.Add(seed, uint16(seed*seed*3), []byte{byte(seed)})
	}
	f.Fuzz(func(t *testing.T, seed uint64, times uint16, words []byte) {
		rng := rand.New(rand.NewPCG(seed, 1))
		b := built(&layouts[seed%2], &geometries[seed/2%2], quanta[seed/4%2])
		b.spoil(rng, int(times%2048))
		for len(words) >= 8 {
			b.put(b.words[rng.IntN(len(b.words))], binary.LittleEndian.Uint64(words))
			words = words[8:]
		}
		if h, err := Open(t.Context(), b.source()); err == nil {
			use(t, h)
		}
	})
}
