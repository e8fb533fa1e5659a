package heap

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"hdb/capture"
)

// A poolModel is what Pools should do, said plainly: blocks by address, and which of them are
// chunks, that is no blocks any more.
type poolModel struct {
	size, pool map[uint64]uint64 // of blocks; a pool's only
	chunks     map[uint64]uint64 // sizes
}

func (m *poolModel) around(of map[uint64]uint64, at uint64) (uint64, bool) {
	best, found := uint64(0), false
	for a := range of {
		if a <= at && (a == at || a%8 == 0) && (!found || a > best) {
			best, found = a, true
		}
	}
	return best, found && (best == at || at-best < of[best])
}

func (m *poolModel) end(at uint64) {
	delete(m.size, at)
	delete(m.pool, at)
}

func (m *poolModel) made(at, size, pool uint64) {
	if _, in := m.around(m.chunks, at); !in {
		if outer, ok := m.around(m.size, at); ok {
			if p, pooled := m.pool[outer]; !pooled || p != pool {
				m.chunks[outer] = m.size[outer]
				m.end(outer)
			}
		}
	}
	m.size[at], m.pool[at] = size, pool
}

func (m *poolModel) freed(at uint64) {
	size, chunk := m.chunks[at]
	if !chunk {
		m.end(at)
		return
	}
	delete(m.chunks, at)
	for a := range m.size {
		if _, pooled := m.pool[a]; pooled && a-at < size {
			m.end(a)
		}
	}
}

// TestPools holds pools against the model, with two pools whose chunks are blocks of malloc,
// of each other, and of nobody.
func TestPools(t *testing.T) {
	for seed := range uint64(40) {
		rnd := rand.New(rand.NewPCG(seed, 7))
		l := NewLedger()
		p := NewPools(l)
		m := &poolModel{map[uint64]uint64{}, map[uint64]uint64{}, map[uint64]uint64{}}
		seq := uint64(0)
		post := func(e capture.Event) {
			seq++
			e.Seq = seq
			l.Post(&e, true)
		}
		const base = 0x7f0000000000
		for range 400 {
			slot := base + rnd.Uint64N(6)<<20
			at := slot + rnd.Uint64N(60)*[]uint64{8, 16, 4096}[rnd.IntN(3)]
			odd := rnd.IntN(6) == 0 // such blocks have no cells
			if odd {
				at += 3
			}
			pool := 1 + rnd.Uint64N(2)
			switch rnd.IntN(8) {
			case 0: // malloc, where nothing is
				if _, in := m.around(m.size, slot); !in && m.chunks[slot] == 0 && !slices.ContainsFunc(keys(m.size), func(a uint64) bool { return a-slot < 1<<20 }) {
					e := capture.Event{Kind: capture.Alloc, Addr: slot, Size: 1 << (10 + rnd.Uint64N(10))}
					if ends := p.Other(&e); len(ends) > 0 {
						t.Fatal("malloc ended blocks")
					}
					post(e)
					m.size[slot] = e.Size
				}
			case 1: // free
				e := capture.Event{Kind: capture.Free, Addr: slot}
				_, live := m.size[slot]
				size, chunk := m.chunks[slot]
				if live || chunk {
					p.Other(&e)
					if chunk && e.Size != size {
						t.Fatalf("seed %d: free of a chunk of %d has size %d", seed, size, e.Size)
					}
					post(e)
					m.freed(slot)
				}
			case 2:
				e := capture.Event{Kind: capture.Free, Addr: at}
				if _, ours := m.pool[at]; ours != p.Freed(&e) && ours {
					t.Fatalf("seed %d: %#x is a pool's", seed, at)
				} else if ours {
					post(e)
					m.end(at)
				}
			case 3:
				if rnd.IntN(5) == 0 {
					ends := p.Destroyed(&capture.Event{}, pool)
					n := 0
					for a, of := range m.pool {
						if of == pool {
							m.end(a)
							n++
						}
					}
					if len(ends) != n || !slices.IsSortedFunc(ends, func(a, b capture.Event) int { return int(int64(a.Addr - b.Addr)) }) {
						t.Fatalf("seed %d: %d ends of %d blocks: %v", seed, len(ends), n, ends)
					}
				}
			default:
				e := capture.Event{Kind: capture.Alloc, Addr: at, Size: 1 + rnd.Uint64N(100), Aux: pool}
				if odd {
					e.Size = 1
				}
				p.Made(&e, pool)
				post(e)
				m.made(at, e.Size, pool)
			}
			got := map[uint64]uint64{}
			for a, b := range l.All() {
				got[a] = b.Size
			}
			if fmt.Sprint(got) != fmt.Sprint(m.size) {
				t.Fatalf("seed %d, after %d:\n%x, want\n%x", seed, seq, got, m.size)
			}
		}
	}
}

func keys(m map[uint64]uint64) (all []uint64) {
	for k := range m {
		all = append(all, k)
	}
	return all
}

// TestPoolsRealloc has a pool move a block, and a chunk be resized under it.
func TestPoolsRealloc(t *testing.T) {
	l := NewLedger()
	p := NewPools(l)
	seq := uint64(0)
	post := func(e capture.Event) {
		seq++
		e.Seq = seq
		l.Post(&e, true)
	}
	post(capture.Event{Kind: capture.Alloc, Addr: 0x1000, Size: 0x1000})
	e := capture.Event{Kind: capture.Alloc, Addr: 0x1000, Size: 16, Aux: 5}
	if ends := p.Made(&e, 5); len(ends) != 1 || ends[0].Size != 0x1000 || ends[0].Ended.Seq != 1 {
		t.Fatalf("%+v", ends)
	}
	post(e)
	e = capture.Event{Kind: capture.Realloc, Addr: 0x1100, Old: 0x1000, Size: 32, Aux: 5}
	if ends := p.Made(&e, 5); len(ends) != 0 || e.Old != 0x1000 {
		t.Fatalf("%+v %+v", ends, e)
	}
	post(e)
	if l.Bytes() != 32 || l.Blocks() != 1 {
		t.Fatalf("%d bytes in %d blocks", l.Bytes(), l.Blocks())
	}
	e = capture.Event{Kind: capture.Realloc, Addr: 0x9000, Old: 0x1000, Size: 0x2000}
	if ends := p.Other(&e); len(ends) != 1 || ends[0].Addr != 0x1100 {
		t.Fatalf("%+v", ends)
	}
	post(e)
	if l.Bytes() != 0x2000 || l.Blocks() != 1 || l.Strays() != 0 {
		t.Fatalf("%d bytes in %d blocks, %d strays", l.Bytes(), l.Blocks(), l.Strays())
	}
	// Another allocator's block at an address that a pool frees stays.
	e = capture.Event{Kind: capture.Free, Addr: 0x9000}
	if p.Freed(&e) {
		t.Error("a pool freed what is not its own")
	}
}

// BenchmarkPools makes and frees blocks of a pool in a chunk of malloc.
func BenchmarkPools(b *testing.B) {
	l := NewLedger()
	p := NewPools(l)
	post := func(e *capture.Event) { l.Post(e, true) }
	post(&capture.Event{Seq: 1, Kind: capture.Alloc, Addr: 0x100000, Size: 1 << 20})
	b.ReportAllocs()
	for i := range b.N {
		e := capture.Event{Seq: uint64(2 * i), Kind: capture.Alloc, Addr: 0x100000 + uint64(i)%10000*64, Size: 64, Aux: 1}
		p.Made(&e, 1)
		post(&e)
		e = capture.Event{Seq: uint64(2*i + 1), Kind: capture.Free, Addr: e.Addr}
		p.Freed(&e)
		post(&e)
	}
}
