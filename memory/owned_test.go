package memory

import (
	"encoding/binary"
	"fmt"
	"io"
	"slices"
	"testing"

	"hdb/heap/regions"
	"hdb/internal/addr"
)

// wordMemory is memory of which some words are not 0.
type wordMemory map[addr.Run]uint64

func (m wordMemory) ReadAt(b []byte, at int64) (int, error) {
	if at < 0 {
		return 0, io.EOF
	}
	clear(b)
	for i := 0; i+8 <= len(b); i += 8 {
		binary.LittleEndian.PutUint64(b[i:], m[addr.Run(at)+addr.Run(i)])
	}
	return len(b), nil
}

// TestOwner has memory of allocators that are not walked: it is a layer of their name, and nothing of it is free.
func TestOwner(t *testing.T) {
	const (
		brk, mapped = 0x10000, 0x40000000 // the latter aligned to 32 MiB
		meta        = brk + 24 + 40
		cookie      = 0x1234567890abcdef
	)
	segment := func(m wordMemory, at addr.Run, key uint64) {
		m[at+208], m[at+216], m[at+224], m[at+232] = 3, key^uint64(at), 512, 2
	}
	musl, mimalloc := wordMemory{}, wordMemory{}
	musl[brk], musl[brk+16] = 0x1234567890abcdef, 101
	musl[meta+16], musl[meta+32], musl[mapped] = mapped, 3<<12, meta
	musl[meta+40+16], musl[meta+40+32] = mapped+0x3000, 3<<12 // whose group leads elsewhere
	segment(mimalloc, mapped, cookie)                         // of a thread: only its beginning is committed
	segment(mimalloc, mapped+32<<20, cookie)
	segment(mimalloc, mapped+64<<20, cookie+1) // the program's, which looks like one
	for _, c := range []struct {
		src    Source
		memory wordMemory
		name   string
		owned  uint64
	}{
		{Source{Other: "musl"}, musl, "musl", 3 << 12},
		{Source{Other: "mimalloc"}, mimalloc, "mimalloc", 5<<20 + 32<<20},
		{Source{Other: "tcmalloc"}, wordMemory{}, "tcmalloc", 0},
		{Source{}, wordMemory{}, "unknown allocator", 0},
	} {
		c.src.Memory = c.memory
		c.src.Space.Mappings = []regions.Mapping{{Start: brk, End: brk + 0x2000, Perm: "rw-p", Path: "[heap]"}, {Start: mapped, End: mapped + 5<<20, Perm: "rw-p"},
			{Start: mapped + 5<<20, End: mapped + 32<<20, Perm: "---p"}, {Start: mapped + 32<<20, End: mapped + 96<<20, Perm: "rw-p"}}
		m := New(c.src)
		layers, known, cut := m.Layers()
		for _, r := range m.Space().Regions { // of the layers' allocator, or of nobody's
			if owned := r.Label == "memory of "+c.name; owned && r.Kind != regions.Heap {
				t.Errorf("%s: region %v-%v is %v", c.name, r.Start, r.End, r.Kind)
			}
		}
		size := map[string]uint64{}
		for _, l := range layers {
			size[l.Name] += l.Size
		}
		if _, free := size["heap-free"]; known || free || cut || size[c.name] != 0x2000+c.owned || size["anonymous"] != 69<<20-c.owned {
			t.Errorf("%s: %v, blocks known %v", c.name, size, known)
		}
	}
}

// countedMemory is memory of zeros, of which the second page of each 16 cannot be read.
type countedMemory struct{ reads, bytes int }

func (m *countedMemory) ReadAt(b []byte, at int64) (int, error) {
	m.reads++
	clear(b)
	for i := range len(b) / muslPage {
		if (int(at)/muslPage+i)%16 == 1 {
			m.bytes += i * muslPage
			return i * muslPage, io.EOF
		}
	}
	m.bytes += len(b)
	return len(b), nil
}

// What is read to find musl's groups is bounded, and read some pages at a time.
func TestMuslReadsAreBounded(t *testing.T) {
	for _, size := range []addr.Run{16 << 20, 1 << 30} {
		memory := &countedMemory{}
		src := Source{Other: "musl", Memory: memory}
		src.Space.Mappings = []regions.Mapping{{Start: 0x10000, End: 0x10000 + size, Perm: "rw-p", Path: "[heap]"}}
		m := New(src)
		m.Space()
		if !m.owner().cut {
			t.Errorf("%d bytes, of which pages cannot be read: not told", size)
		}
		pages := int(min(size, ownedRead) / muslPage)
		if m.Layers(); memory.bytes > ownedRead {
			t.Errorf("%d bytes: labels and layers are read %d bytes for", size, memory.bytes)
		}
		if memory.reads > pages/16+2 || memory.bytes < (pages-pages/16-16)*muslPage || memory.bytes > ownedRead {
			t.Errorf("%d bytes: %d reads of %d bytes", size, memory.reads, memory.bytes)
		}
	}
}

// Groups are found up to a bound, and in all pages that were reported before these could not be read further: what is left
// out then is told.
func TestMuslGroupsAreCut(t *testing.T) {
	const mapped = 0x40000000
	for _, c := range []struct {
		groups, found int
		pages         error
		cut           bool
	}{
		{3, 3, nil, false},
		{3, 3, io.EOF, true},
		{ownedSingle, ownedSingle, nil, false},
		{ownedSingle + 1, ownedSingle, nil, true},
	} {
		const brk = 0x10000
		memory := wordMemory{}
		metas := addr.Run(0)
		for i := range addr.Run(c.groups) {
			metas = i/muslMetas + 1
			page := brk + (metas-1)*muslPage
			at, group := page+muslMetaFirst+i%muslMetas*muslMetaSize, mapped+2*i*muslPage // no two touch
			memory[page], memory[page+16] = 0x1234567890abcdef, muslMetas
			memory[at+16], memory[at+32], memory[group] = uint64(group), 1<<12, uint64(at)
		}
		src := Source{Other: "musl", Memory: memory}
		src.Space.Mappings = []regions.Mapping{{Start: brk, End: brk + metas*muslPage, Perm: "rw-p", Path: "[heap]"},
			{Start: mapped, End: mapped + 2*ownedSingle*muslPage + 1<<20, Perm: "rw-p"}}
		src.Space.Pages = func(start, end addr.Run, yield func(regions.PageRun)) error {
			yield(regions.PageRun{Start: start, End: end, Resident: true})
			return c.pages
		}
		if o := New(src).owner(); len(o.mappings) != c.found || o.cut != c.cut {
			t.Errorf("%d groups, pages end with %v: found %d, cut %v", c.groups, c.pages, len(o.mappings), o.cut)
		}
	}
}

// Of mimalloc's segments, those of the lowest key are taken where as many have another one; those looked at are bounded.
func TestMimallocSegments(t *testing.T) {
	const mapped = 0x40000000
	memory := wordMemory{}
	for i := range addr.Run(8) { // each of another key
		at := mapped + i*mimallocAlign
		memory[at+208], memory[at+216], memory[at+224], memory[at+232] = 3, uint64(8-i)^uint64(at), 512, 2
	}
	src := Source{Other: "mimalloc", Memory: memory}
	src.Space.Mappings = []regions.Mapping{{Start: mapped, End: mapped + 8*mimallocAlign, Perm: "rw-p"}}
	for range 4 {
		o := New(src).owner()
		if want := (regions.Range{Start: mapped + 7*mimallocAlign, End: mapped + 8*mimallocAlign}); o.cut || len(o.mappings) != 1 || o.mappings[0] != want {
			t.Errorf("%v, want %v", o.mappings, want)
		}
	}
	counted := &countedMemory{}
	src.Memory = counted
	src.Space.Mappings[0].End = mapped + 1<<46
	if o := New(src).owner(); !o.cut || counted.reads > ownedSingle {
		t.Errorf("%d reads, cut %v", counted.reads, o.cut)
	}
}

// An allocator's ranges that overlap or touch are one region, and the rest of their mapping is the program's.
func TestOwnedAreRegions(t *testing.T) {
	const page = addr.Run(0x1000)
	src := Source{}
	for _, r := range [][2]addr.Run{{0, 1}, {1, 4}, {4, 6}, {6, 7}, {7, 8}, {8, 9}, {10, 13}} {
		src.Space.Mappings = append(src.Space.Mappings, regions.Mapping{Start: r[0] * page, End: r[1] * page, Perm: "rw-p"})
	}
	m := New(src)
	m.owned = &owner{name: "musl", cut: true, mappings: owned{{Start: 7 * page, End: 9 * page}, {Start: page, End: 3 * page}, {Start: 2 * page, End: 5 * page},
		{Start: 2 * page, End: 3 * page}, {Start: 11 * page, End: 12 * page}}.merged()}
	var got []string
	for _, r := range m.Space().Regions {
		got = append(got, fmt.Sprintf("%d-%d %s %s", r.Start/page, r.End/page, r.Kind, r.Label))
	}
	want := []string{"0-1 anonymous ", "1-4 heap memory of musl", "4-5 heap memory of musl", "5-6 anonymous ", "6-7 anonymous ", "7-8 heap memory of musl",
		"8-9 heap memory of musl", "10-11 anonymous ", "11-12 heap memory of musl", "12-13 anonymous "}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
