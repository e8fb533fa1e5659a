package pymalloc

import (
	"encoding/binary"
	"io"
	"math/rand/v2"
	"slices"
	"testing"

	"hdb/internal/addr"
	"hdb/python"
	"hdb/python/layout"
)

// pages is memory by the addresses of its pieces.
type pages map[addr.Run][]byte

func (m pages) ReadAt(b []byte, at int64) (int, error) {
	for base, p := range m {
		if from := addr.Run(at) - base; addr.Run(at) >= base && from < addr.Run(len(p)) {
			n := copy(b, p[from:])
			if n < len(b) {
				return n, io.ErrUnexpectedEOF
			}
			return n, nil
		}
	}
	return 0, io.ErrUnexpectedEOF
}

func put(b []byte, at int, n uint64)   { binary.LittleEndian.PutUint64(b[at:], n) }
func put32(b []byte, at int, n uint32) { binary.LittleEndian.PutUint32(b[at:], n) }

// A fakeHeap is a heap as pymalloc would have it, whose blocks in use are known.
type fakeHeap struct {
	pages
	at    variables
	minor int
	used  map[addr.Run]uint64
	free  []addr.Run
}

const (
	fakeVariables = 0x1000
	fakeArray     = 0x10000
	fakeArenas    = 0x7f0000000000
)

// newFakeHeap makes arenas with pools of random blocks.
func newFakeHeap(minor, arenas int, rng *rand.Rand) *fakeHeap {
	arenaSize, poolSize := layout.Of(minor).Pymalloc.Arena, layout.Of(minor).Pymalloc.Pool
	f := &fakeHeap{pages: pages{}, minor: minor, used: map[addr.Run]uint64{},
		at: variables{arenas: fakeVariables, maxArenas: fakeVariables + 8, allocated: fakeVariables + 16, highwater: fakeVariables + 24, mid: fakeVariables + 32, bottom: fakeVariables + 36}}
	vars := make([]byte, 64)
	count := firstArray
	for count < arenas {
		count *= 2
	}
	put(vars, 0, fakeArray)
	put32(vars, 8, uint32(count))
	put(vars, 16, uint64(arenas+7))
	put(vars, 24, uint64(arenas+3))
	put32(vars, 32, 1)
	put32(vars, 36, 2)
	array := make([]byte, count*layout.ArenaSize)
	for i := range arenas {
		// Every second one is not aligned, and the array is not in the order of addresses.
		at := addr.Run(fakeArenas + (arenas-i)*2*arenaSize + i%2*4096*(1-(poolSize>>12)&1))
		body := make([]byte, arenaSize)
		f.pages[at] = body
		first := (int(at) + poolSize - 1) / poolSize * poolSize
		all := (int(at) + arenaSize - first) / poolSize
		made := 1 + rng.IntN(all)
		free := all - made
		for p := range made {
			if !f.pool(addr.Run(first+p*poolSize), body[first-int(at)+p*poolSize:][:poolSize], i, rng) {
				free++
			}
		}
		e := array[i*layout.ArenaSize:]
		put(e, 0, uint64(at))
		put(e, 8, uint64(first+made*poolSize))
		put32(e, 16, uint32(free))
		put32(e, 20, uint32(all))
	}
	f.pages[fakeVariables], f.pages[fakeArray] = vars, array
	return f
}

// pool fills a pool, and tells whether it is in use.
func (f *fakeHeap) pool(at addr.Run, b []byte, arena int, rng *rand.Rand) bool {
	class := rng.IntN(Classes)
	size := layout.Alignment * (class + 1)
	blocks := (len(b) - layout.PoolHeader) / size
	cut := 2 + rng.IntN(blocks-1)
	order := rng.Perm(cut)
	inUse := rng.IntN(cut)
	if rng.IntN(4) == 0 {
		inUse = 0
	}
	next := addr.Run(0)
	for _, i := range order[inUse:] {
		block := at + layout.PoolHeader + addr.Run(i*size)
		put(b, layout.PoolHeader+i*size, uint64(next))
		next = block
		f.free = append(f.free, block)
	}
	for _, i := range order[:inUse] {
		put(b, layout.PoolHeader+i*size, rng.Uint64())
		f.used[at+layout.PoolHeader+addr.Run(i*size)] = uint64(size)
	}
	put32(b, 0, uint32(inUse))
	put(b, 8, uint64(next))
	put32(b, 32, uint32(arena))
	put32(b, 36, uint32(class))
	put32(b, 40, uint32(layout.PoolHeader+cut*size))
	put32(b, 44, uint32(len(b)-size))
	return inUse > 0
}

func (f *fakeHeap) open(t testing.TB) *Heap {
	t.Helper()
	h, err := newHeap(python.Runtime{Layout: layout.Of(f.minor)}, f.pages, f.at)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func TestBlocks(t *testing.T) {
	for _, minor := range []int{8, 11, 13} {
		rng := rand.New(rand.NewPCG(uint64(minor), 2))
		f := newFakeHeap(minor, 20, rng)
		h := f.open(t)
		got := map[addr.Run]uint64{}
		last := addr.Run(0)
		if err := h.Blocks(func(at addr.Run, size uint64) bool {
			if at <= last {
				t.Errorf("%v comes after %v", at, last)
			}
			got[at], last = size, at
			return true
		}); err != nil {
			t.Fatal(err)
		}
		if len(got) != len(f.used) {
			t.Errorf("3.%d: %d blocks, want %d", minor, len(got), len(f.used))
		}
		bytes := uint64(0)
		for at, size := range f.used {
			bytes += size
			if got[at] != size {
				t.Fatalf("3.%d: %v has %d bytes, want %d", minor, at, got[at], size)
			}
			if w, ok := h.Find(at + addr.Run(size) - 1); !ok || !w.InUse || w.Block != at {
				t.Fatalf("3.%d: the last byte of %v lies in %+v", minor, at, w)
			}
		}
		for _, at := range f.free {
			if w, ok := h.Find(at); !ok || w.InUse || w.Pool.Used > 0 && (w.Block != at || !w.Cut) {
				t.Fatalf("3.%d: %v, which is free, lies in %+v", minor, at, w)
			}
		}
		if s := h.Stats(); s.UsedBytes != bytes || len(s.Damaged) > 0 {
			t.Errorf("3.%d: %d bytes in use, want %d; %v", minor, s.UsedBytes, bytes, s.Damaged)
		}
		n := 0
		if err := h.Blocks(func(addr.Run, uint64) bool { n++; return n < 5 }); err != nil || n != 5 {
			t.Errorf("3.%d: %d calls, want 5; %v", minor, n, err)
		}
	}
}

// TestDamage has lists of free blocks that were written over be told of, and no block of such a
// pool be taken for one in use.
func TestDamage(t *testing.T) {
	f := newFakeHeap(11, 4, rand.New(rand.NewPCG(1, 1)))
	h := f.open(t)
	var pool Pool
	for _, a := range h.Arenas {
		h.Pools(a, func(p *Pool, err error) bool {
			if err != nil {
				t.Fatal(err)
			}
			if p.Used > 0 && p.free != 0 {
				pool = *p
			}
			return true
		})
	}
	w, _ := h.Find(pool.free)
	body := f.pages[w.Arena.At]
	link := int(pool.free - w.Arena.At)
	before := slices.Clone(body)
	for _, c := range []struct {
		name string
		at   int
		to   uint64
	}{
		{"to itself", link, uint64(pool.free)},
		{"out of the pool", link, uint64(pool.At) - 16},
		{"into a block", link, uint64(pool.free) + 8},
		{"of nothing", int(pool.At-w.Arena.At) + 8, 0},
		{"class", int(pool.At-w.Arena.At) + 36, 99},
		{"count", int(pool.At - w.Arena.At), 1 << 20},
	} {
		put(body, c.at, c.to)
		err := h.Blocks(func(at addr.Run, _ uint64) bool {
			if at >= pool.At && at < pool.At+addr.Run(h.PoolSize) {
				t.Errorf("%s: %v counts as in use", c.name, at)
				return false
			}
			return true
		})
		if err == nil {
			t.Errorf("%s: no error", c.name)
		}
		if w, ok := h.Find(pool.free); !ok || w.Err == nil {
			t.Errorf("%s: Find says %+v", c.name, w)
		}
		copy(body, before)
	}
}

// TestSerial tells blocks with a serial number, as PYMEM_DEBUG_SERIALNO builds have them,
// from others, and reads what is behind both.
func TestSerial(t *testing.T) {
	for _, serial := range []bool{false, true} {
		f := newFakeHeap(11, 4, rand.New(rand.NewPCG(1, 1)))
		h := f.open(t)
		n := 0
		_ = h.pools(func(p *Pool, used []bool) bool {
			body := f.pages[h.arenaOf(p.At).At][p.At-h.arenaOf(p.At).At:]
			for i := range used {
				n++
				fillDebug(body[layout.PoolHeader+i*p.Size:][:p.Size], used[i], serial, uint64(n))
			}
			return true
		})
		d := h.Debug()
		if d.Serial != serial {
			t.Fatalf("serial numbers: %t, want %t", d.Serial, serial)
		}
		checked, err := d.Damaged(func(x DebugBlock) bool {
			t.Errorf("%+v", x)
			return false
		})
		if err != nil || checked < n/2 {
			t.Errorf("%d blocks, %v", checked, err)
		}
	}
}

func (h *Heap) arenaOf(at addr.Run) Arena { a, _ := h.ArenaOf(at); return a }

// fillDebug makes a block as the debug hooks do. Blocks of 16 bytes are too small for that.
func fillDebug(b []byte, used, serial bool, n uint64) {
	extra := debugHeader + debugTail
	if serial {
		extra += debugSerial
	}
	if len(b) < extra || !used {
		for i := 8; i < len(b); i++ {
			b[i] = DeadByte
		}
		return
	}
	size := max(len(b)-extra-int(n%16), 0)
	binary.BigEndian.PutUint64(b, uint64(size))
	b[8] = 'o'
	for i := 9; i < 16; i++ {
		b[i] = Forbidden
	}
	for i := range size {
		b[debugHeader+i] = CleanByte
	}
	for i := range debugTail {
		b[debugHeader+size+i] = Forbidden
	}
	if serial {
		binary.BigEndian.PutUint64(b[debugHeader+size+debugTail:], n)
	}
}

// TestArrays has arrays of arenas that do not hold together be refused.
func TestArrays(t *testing.T) {
	for name, bend := range map[string]func(array []byte){
		"overlapping": func(b []byte) { copy(b[layout.ArenaSize:2*layout.ArenaSize], b[:layout.ArenaSize]) },
		"pools":       func(b []byte) { put32(b, 20, 65) },
		"free":        func(b []byte) { put32(b, 16, 65) },
		"next":        func(b []byte) { put(b, 8, binary.LittleEndian.Uint64(b[8:])+8) },
		"end":         func(b []byte) { put(b, 8, binary.LittleEndian.Uint64(b[8:])+1<<21) },
		"address":     func(b []byte) { put(b, 0, ^uint64(15)) },
	} {
		f := newFakeHeap(12, 4, rand.New(rand.NewPCG(1, 1)))
		bend(f.pages[fakeArray])
		if h, err := newHeap(python.Runtime{Layout: layout.Of(12)}, f.pages, f.at); err == nil {
			t.Errorf("%s: %+v", name, h)
		}
	}
}

// bent is memory that repeats some bytes everywhere.
type bent []byte

func (m bent) ReadAt(b []byte, at int64) (int, error) {
	if len(m) == 0 || at < 0 {
		return 0, io.ErrUnexpectedEOF
	}
	for i := 0; i < len(b); {
		i += copy(b[i:], m[(uint64(at)+uint64(i))%uint64(len(m)):])
	}
	return len(b), nil
}

// FuzzHeap reads a heap from memory that may hold anything: all of it, or a pool and the list
// of its free blocks.
func FuzzHeap(f *testing.F) {
	f.Add([]byte{0}, uint8(8))
	f.Add([]byte("\x00\x10\x00\x00\x00\x00\x00\x00\x10\x00\x00\x00\x00\x00\x00\x00"), uint8(12))
	f.Add([]byte("\x8b\x05\x00\x10\x00\x00\x8b\x05\x00\x10\x00\x00\xeb\xf0"), uint8(11))
	f.Add(slices.Concat([]byte{3, 0, 0, 0, 0, 0, 0, 0}, make([]byte, 80)), uint8(9))
	f.Fuzz(func(t *testing.T, mem []byte, minor uint8) {
		rt := python.Runtime{Layout: layout.Of(8 + int(minor)%6), At: 0x1000, Interpreters: []python.InterpreterState{{ID: 0, At: 0x2000}}}
		symbols := func(string) (addr.Run, bool) { return 0x4000, true }
		heaps, err := Open(rt, bent(mem), symbols)
		if err == nil {
			for _, h := range heaps {
				walk(t, h)
			}
		}
		lists, _ := FreeLists(rt, bent(mem), symbols, 0x2000) // hostile memory has no right answer
		for _, l := range lists {
			if l.Count < 0 || l.Count > maxTuples {
				t.Errorf("%+v", l)
			}
		}
		_, _ = DecodeBlock(bent(mem), 0x1000, true)
		fake := newFakeHeap(rt.Layout.Minor, 1, rand.New(rand.NewPCG(1, 1)))
		h := fake.open(t)
		pool := rt.Layout.Pymalloc.Pool
		first := h.firstPool(h.Arenas[0])
		copy(fake.pages[h.Arenas[0].At][first-h.Arenas[0].At:][:pool], mem)
		walk(t, h)
	})
}

func walk(t *testing.T, h *Heap) {
	n := 0
	_ = h.Blocks(func(at addr.Run, size uint64) bool { // hostile memory has no right answer
		if _, ok := h.ArenaOf(at); !ok {
			t.Errorf("block %v of %d bytes lies in no arena", at, size)
		}
		n++
		return n < 1000
	})
	for _, a := range h.Arenas[:min(len(h.Arenas), 2)] {
		for at := a.At; at < a.At+addr.Run(h.ArenaSize); at += 4000 {
			h.Find(at)
		}
	}
	if len(h.Arenas) < 16 {
		h.Stats()
		_, _ = h.Debug().Damaged(func(x DebugBlock) bool { return len(x.Damages) > 0 })
	}
}

// BenchmarkBlocks walks a heap of 64 MiB: bytes are those of its arenas.
func BenchmarkBlocks(b *testing.B) {
	f := newFakeHeap(12, 64, rand.New(rand.NewPCG(1, 1)))
	h := f.open(b)
	b.SetBytes(int64(len(h.Arenas) * h.ArenaSize))
	for b.Loop() {
		n := 0
		if err := h.Blocks(func(addr.Run, uint64) bool { n++; return true }); err != nil || n != len(f.used) {
			b.Fatal(n, err)
		}
	}
}
